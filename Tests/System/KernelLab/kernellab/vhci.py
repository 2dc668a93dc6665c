"""The driver of virtual controllers for a kernel that Debian builds without it, such as that for arm64: its
source in Debian's package of the same version, compiled with the headers of that kernel."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from . import packages
from .processors import Processor
from .trouble import LabError

SOURCE = "drivers/bluetooth/hci_vhci.c"


def has_driver(modules: Path) -> bool:
    return any(modules.rglob("hci_vhci.ko*"))


def build(cache: Path, suite: str, processor: Processor, root: Path) -> None:
    """Adds the driver to the unpacked packages of a kernel."""
    modules = next(path for pattern in ("lib/modules/*", "usr/lib/modules/*") for path in root.glob(pattern))
    if has_driver(modules):
        return
    release = modules.name
    apt = packages.apt_of(cache, suite, processor.name)
    headers = f"linux-headers-{release}"
    common = next((name for name in apt.depends(headers) if name.endswith("-common")), None)
    kbuild = next((name for name in apt.depends(headers) if name.startswith("linux-kbuild-")), None)
    if common is None or kbuild is None:
        raise LabError(f"apt finds no {headers} in {suite}, with which to compile {SOURCE}")
    source = f"linux-source-{re.match(r'[0-9]+[.][0-9]+', release)[0]}"
    packages.say(f"compiling {SOURCE} of {source} for {release}")
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        work = Path(folder)
        packages.unpack(apt, [headers, common], work)
        # These run here, or are text.
        packages.unpack(packages.apt_of(cache, suite), [kbuild, source], work)
        tree = work / "usr/src" / headers
        # It includes the common part by its path on a system where it is installed.
        makefile = tree / "Makefile"
        makefile.write_text(makefile.read_text().replace("/usr/src", f"{work}/usr/src"))
        module = work / "module"
        module.mkdir()
        run("tar", "-xf", work / "usr/src" / f"{source}.tar.xz", "-C", module, "--strip-components=3",
            f"{source}/{SOURCE}")
        (module / "Makefile").write_text("obj-m := hci_vhci.o\n")
        cross = f"{processor.triple}-"
        run("make", "-C", tree, f"M={module}", f"CROSS_COMPILE={cross}", f"CC={cross}gcc",
            "CONFIG_BT_HCIVHCI=m", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules")
        run(f"{cross}strip", "--strip-debug", module / "hci_vhci.ko")
        made = modules / "updates"
        made.mkdir()
        os.replace(module / "hci_vhci.ko", made / "hci_vhci.ko")


def run(*words) -> None:
    done = subprocess.run(
        [str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise LabError(f"{words[0]} failed\n{done.stdout.strip()[-2000:]}")
