"""Debian packages: tools that are installed, and a kernel that is only unpacked."""

import os
import re
import subprocess
import sys
from pathlib import Path

from .processors import Processor
from .trouble import LabError

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "Sources" / "Debian"))
from archive import SEARCH_PATH, Apt as Archive, ArchiveError, link_folders, run, which  # noqa: E402, F401

# What each package is needed for, beside the emulator: an executable that shows whether it is there. A machine
# with another processor has them in its own system.
TOOLS = {
    "busybox-static": "busybox",
    "bluez": "btmon",
    "bluez-test-tools": "btvirt",
    "dbus": "dbus-daemon",
    "mosquitto": "mosquitto",
    # It brings the library that the gateway loads.
    "mosquitto-clients": "mosquitto_sub",
}
# What Debian's own Python needs to speak to bluetoothd.
MODULES = {
    "python3-dbus": "/usr/lib/python3/dist-packages/dbus",
    "python3-gi": "/usr/lib/python3/dist-packages/gi",
}
# The suite that each kernel comes from. Its meta package names the release.
KERNELS = {"6.1": "bookworm", "6.12": "trixie", "newest": "trixie-backports"}
# The same for another processor than ours, whose kernel gets a driver that is compiled with the tools of the
# suite: they must run here.
FOREIGN_KERNELS = {"6.1": "bookworm", "6.12": "bookworm-backports"}
DEFAULT_KERNEL = "6.12"
KERNEL_HELP = f"{', '.join(KERNELS)}, or a folder with unpacked packages ({DEFAULT_KERNEL})"
META = "linux-image-"
# Where bluetoothd of a version is looked for.
BLUEZ_SUITES = ["bookworm", "trixie", "sid"]


def is_static(path: str) -> bool:
    """Whether a program runs in an initramfs: one with an interpreter does not."""
    return b"/ld-linux" not in Path(path).read_bytes()[:8192]


def missing_packages(processor: Processor) -> list[str]:
    missing = []
    tools = {processor.package: processor.emulator} | (TOOLS if processor.is_ours else {
        f"gcc-{processor.triple.replace('_', '-')}": f"{processor.triple}-gcc", "make": "make", "xz-utils": "xz"})
    for package, tool in tools.items():
        path = which(tool)
        if path is None or (tool == "busybox" and not is_static(path)):
            missing.append(package)
    modules = MODULES.items() if processor.is_ours else []
    return missing + [package for package, path in modules if not Path(path).exists()]


def say(text: str) -> None:
    print(f"lab: {text}", file=os.sys.stderr, flush=True)


def apt_of(cache: Path, suite: str, architecture: str = "") -> Archive:
    """The suite, for this machine's architecture or another."""
    say(f"reading the list of packages of {' for '.join(filter(None, [suite, architecture]))}")
    try:
        return Archive(cache, suite, architecture)
    except ArchiveError as error:
        raise LabError(str(error)) from None


def unpack(apt: Archive, packages: list[str], root: Path) -> None:
    try:
        apt.unpack(packages, root)
    except ArchiveError as error:
        raise LabError(str(error)) from None


def unpack_system(apt: Archive, packages: list[str], root: Path) -> None:
    try:
        apt.unpack_system(packages, root)
    except ArchiveError as error:
        raise LabError(str(error)) from None


def as_root(command: list[str]) -> list[str] | None:
    """The command with what makes it run as root without a question; nil if that cannot be."""
    if os.geteuid() == 0:
        return command
    if which("sudo") and run(["sudo", "-n", "true"], capture_output=True).returncode == 0:
        return ["sudo", "-n"] + command
    return None


def install_tools(processor: Processor) -> None:
    """Sees to it that all tools are there."""
    missing = missing_packages(processor)
    if not missing:
        return
    line = ["apt-get", "install", "-y", "--no-install-recommends"] + missing
    command = as_root(["env", "DEBIAN_FRONTEND=noninteractive"] + line)
    if which("apt-get") is None or command is None:
        raise LabError(f"packages are missing; run: sudo {' '.join(line)}")
    say(f"installing {' '.join(missing)}")
    done = run(command, capture_output=True)
    if done.returncode != 0:
        # Perhaps the lists are not there yet, or have grown old.
        run(as_root(["apt-get", "update"]), capture_output=True)
        done = run(command, capture_output=True)
    if done.returncode != 0 or missing_packages(processor):
        raise LabError(f"apt-get failed; run: sudo {' '.join(line)}\n{done.stderr.strip()}")


def suite_of(name: str, processor: Processor) -> str:
    """The suite that a name of `KERNELS` stands for."""
    suite = (KERNELS if processor.is_ours else FOREIGN_KERNELS).get(name)
    if suite is None:
        raise LabError(f"no kernel {name} for {processor.name}: there are {', '.join(FOREIGN_KERNELS)}")
    return suite


def fetch_kernel(cache: Path, name: str, processor: Processor, root: Path) -> str:
    """Unpacks the present kernel of a name of `KERNELS`; returns its version."""
    suite = suite_of(name, processor)
    apt = apt_of(cache, suite, "" if processor.is_ours else processor.name)
    meta = META + processor.name
    # The meta package depends on one of a release. From 7.3 on, that is a meta package again.
    found, waiting = [], [meta]
    while waiting:
        for package in apt.depends(waiting.pop()):
            if re.match(r"linux-(image|binary|base|modules)-\d", package) and package not in found:
                found.append(package)
                waiting.append(package)
    if not found:
        raise LabError(
            f"apt finds no {meta} in {apt.suite}; is the network there? Try: apt-get update")
    say(f"fetching {' '.join(found)}")
    unpack(apt, found, root)
    return apt.fields(meta)["Version"]


def fetch_bluez(cache: Path, version: str, root: Path) -> None:
    """Unpacks bluetoothd of a version, with its libraries, into a root of its own."""
    seen = {}
    for suite in BLUEZ_SUITES:
        apt = apt_of(cache, suite)
        seen[suite] = apt.fields("bluez").get("Version", "none")
        if seen[suite].split("-")[0] != version:
            continue
        found = ["bluez"]
        for package in found:
            found += [
                name for name in apt.depends(package) if name.startswith(("lib", "zlib")) and name not in found]
        link_folders(root, "lib", "lib64")
        say(f"fetching bluez {seen[suite]} and {len(found) - 1} libraries")
        unpack(apt, found, root)
        return
    raise LabError(f"no bluetoothd {version}; there are {seen}")
