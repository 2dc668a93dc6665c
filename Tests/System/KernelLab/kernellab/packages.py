"""Debian packages: tools that are installed, and a kernel that is only unpacked.

Nothing of the system's configuration of apt is changed. Where its sources lack the kernel, a
private configuration under the cache adds the backports of the same mirror.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from .trouble import LabError

# What each package is needed for: an executable that shows whether it is there.
TOOLS = {
    "qemu-system-x86": "qemu-system-x86_64",
    "busybox-static": "busybox",
    "bluez": "btmon",
    "bluez-test-tools": "btvirt",
    "dbus": "dbus-daemon",
}
# What Debian's own Python needs to speak to bluetoothd.
MODULES = {
    "python3-dbus": "/usr/lib/python3/dist-packages/dbus",
    "python3-gi": "/usr/lib/python3/dist-packages/gi",
}
WANTED_SERIES = "6.12"
SEARCH_PATH = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"


def which(tool: str) -> str | None:
    return shutil.which(tool, path=SEARCH_PATH)


def is_static(path: str) -> bool:
    """Whether a program runs in an initramfs: one with an interpreter does not."""
    return b"/ld-linux" not in Path(path).read_bytes()[:8192]


def missing_packages() -> list[str]:
    missing = []
    for package, tool in TOOLS.items():
        path = which(tool)
        if path is None or (tool == "busybox" and not is_static(path)):
            missing.append(package)
    return missing + [package for package, path in MODULES.items() if not Path(path).exists()]


def say(text: str) -> None:
    print(f"lab: {text}", file=os.sys.stderr, flush=True)


def run(command: list[str], **more) -> subprocess.CompletedProcess:
    return subprocess.run(command, text=True, stdin=subprocess.DEVNULL, **more)


def as_root(command: list[str]) -> list[str] | None:
    """The command with what makes it run as root without a question; nil if that cannot be."""
    if os.geteuid() == 0:
        return command
    if which("sudo") and run(["sudo", "-n", "true"], capture_output=True).returncode == 0:
        return ["sudo", "-n"] + command
    return None


def install_tools() -> None:
    """Sees to it that all tools are there."""
    missing = missing_packages()
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
    if done.returncode != 0 or missing_packages():
        raise LabError(f"apt-get failed; run: sudo {' '.join(line)}\n{done.stderr.strip()}")


class Apt:
    """apt with the system's configuration, or with a private one under the cache."""

    def __init__(self, options: list[str] = ()):
        self.options = list(options)

    def image(self) -> str | None:
        """The package that holds the newest kernel of the wanted series."""
        for meta in (f"linux-image-{WANTED_SERIES}-amd64", "linux-image-amd64"):
            package = self.image_behind(meta)
            if package and package.startswith(f"linux-image-{WANTED_SERIES}."):
                return package
        return None

    def image_behind(self, meta: str) -> str | None:
        shown = run(["apt-cache", *self.options, "show", meta], capture_output=True).stdout
        found = re.search(r"^Depends:.*?\b(linux-image-\d\S*?)[\s,(]", shown + " ", re.MULTILINE)
        return found.group(1) if found else None

    def download(self, package: str, folder: Path) -> Path | None:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(f"{package}_*.deb"):
            old.unlink()
        # A folder of root's is closed to apt's own user; it says so and goes on.
        command = ["apt-get", *self.options, "download", package]
        run(command, cwd=folder, capture_output=True)
        return next(folder.glob(f"{package}_*.deb"), None)


def private_apt(cache: Path, with_backports: bool) -> Apt:
    """apt with lists of its own: the system's sources, and backports from the same mirror."""
    home = cache / "apt"
    for name in ("lists/partial", "archives/partial", "sources"):
        (home / name).mkdir(parents=True, exist_ok=True)
    options = [
        "-o", f"Dir::State::lists={home}/lists",
        "-o", f"Dir::Cache={home}",
        "-o", f"Dir::Cache::archives={home}/archives",
        "-o", f"Dir::Etc::sourceparts={home}/sources",
        "-o", "APT::Sandbox::User=" + (os.environ.get("USER") or "root"),
    ]
    for source in Path("/etc/apt/sources.list.d").glob("*"):
        shutil.copy(source, home / "sources")
    if with_backports:
        listing = run(
            ["apt-get", "indextargets", "--format", "$(REPO_URI)|$(RELEASE)|$(SIGNED_BY)|$(ORIGIN)",
             "Created-By: Packages"],
            capture_output=True).stdout
        for line in listing.splitlines():
            mirror, release, key, origin = (line.split("|") + [""] * 4)[:4]
            if not re.fullmatch(r"[a-z]+", release):
                continue
            signed = f"[signed-by={key}] " if key else ""
            (home / "sources" / "backports.list").write_text(
                f"deb {signed}{mirror} {release}-backports main\n")
            break
    apt = Apt(options)
    say("reading the lists of packages")
    run(["apt-get", *options, "update"], capture_output=True)
    return apt


def download_kernel(cache: Path) -> tuple[str, Path]:
    """A kernel's package of the wanted series, or the newest there is: its name and its file."""
    if which("apt-get") is None:
        raise LabError("apt-get is needed to fetch a kernel with Bluetooth")
    downloads = cache / "downloads"
    apt = Apt()
    sources = [lambda: apt, lambda: private_apt(cache, False), lambda: private_apt(cache, True)]
    for make in sources:
        apt = make()
        package = apt.image()
        if package:
            say(f"fetching {package}")
            file = apt.download(package, downloads)
            if file:
                return package, file
    package = apt.image_behind("linux-image-amd64")
    file = apt.download(package, downloads) if package else None
    if file is None:
        raise LabError("apt finds no kernel; is the network there? Try: apt-get update")
    say(f"no kernel {WANTED_SERIES} can be had; taking {package}, which has faults of its own")
    return package, file
