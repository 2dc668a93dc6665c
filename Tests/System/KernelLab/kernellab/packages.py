"""Debian packages: tools that are installed, and a kernel that is only unpacked.

Nothing of the system's configuration of apt is changed: kernels come from suites that are named in a
private configuration in the cache.
"""

import os
import re
import shutil
import subprocess
import tempfile
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
# The suite that each kernel comes from. Its meta package names the release.
KERNELS = {"6.1": "bookworm", "6.12": "trixie", "newest": "trixie-backports"}
DEFAULT_KERNEL = "6.12"
KERNEL_HELP = f"{', '.join(KERNELS)}, or a folder with unpacked packages ({DEFAULT_KERNEL})"
META = "linux-image-amd64"
# Where bluetoothd of a version is looked for.
BLUEZ_SUITES = ["bookworm", "trixie", "sid"]
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
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
    """One suite of Debian, from the mirror of this system, with lists and a cache of its own."""

    def __init__(self, cache: Path, suite: str):
        if which("apt-get") is None:
            raise LabError("apt-get is needed to fetch packages of Debian")
        self.suite = suite
        self.folder = cache / "apt" / suite
        self.configuration = self.folder / "apt.conf"
        for name in ("lists/partial", "archives/partial"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        mirror, key = mirror_and_key()
        (self.folder / "sources.list").write_text(
            f"deb {f'[signed-by={key}] ' if key else ''}{mirror} {suite} main\n")
        # Read after the system's configuration, whose proxies stay. Its hooks would change the
        # system's cache.
        self.configuration.write_text(f"""
Dir::State::lists "{self.folder}/lists";
Dir::State::status "/dev/null";
Dir::Cache "{self.folder}";
Dir::Cache::archives "{self.folder}/archives";
Dir::Etc::sourcelist "{self.folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Sandbox::User "root";
Acquire::Languages "none";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
""")
        say(f"reading the list of packages of {suite}")
        self.run("apt-get", "update")

    def run(self, program: str, *words: str, **more) -> subprocess.CompletedProcess:
        return run([program, "-c", str(self.configuration), *words], capture_output=True, **more)

    def fields(self, package: str) -> dict[str, str]:
        """The description of the newest version; empty if the suite lacks the package."""
        shown = self.run("apt-cache", "--no-all-versions", "show", package).stdout
        return dict(re.findall(r"^([A-Z][\w-]*): (.*)$", shown, re.MULTILINE))

    def depends(self, package: str) -> list[str]:
        """The packages that one depends on, of alternatives the first."""
        fields = self.fields(package)
        lists = ",".join(fields.get(name, "") for name in ("Pre-Depends", "Depends"))
        return [words[0].partition(":")[0] for one in lists.split(",") if (words := one.split())]

    def unpack(self, packages: list[str], root: Path) -> None:
        """Downloads packages and unpacks them into a folder."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            done = self.run("apt-get", "download", *packages, cwd=folder)
            files = sorted(Path(folder).glob("*.deb"))
            if done.returncode != 0 or len(files) < len(packages):
                raise LabError(f"cannot fetch {' '.join(packages)}: {done.stderr.strip()}")
            for file in files:
                done = run(["dpkg", "-x", str(file), str(root)], capture_output=True)
                if done.returncode != 0:
                    raise LabError(f"cannot unpack {file.name}: {done.stderr.strip()}")


def mirror_and_key() -> tuple[str, str]:
    """The mirror of Debian that this system uses, and the key that its list names, if it names one."""
    listing = run(
        ["apt-get", "indextargets", "--format", "$(ORIGIN)|$(RELEASE)|$(REPO_URI)|$(SIGNED_BY)",
         "Created-By: Packages"], capture_output=True).stdout
    for line in listing.splitlines():
        origin, release, mirror, key = line.split("|")
        # Suites with a suffix, such as those of security updates, may have another mirror.
        if origin == "Debian" and release.isalpha():
            return mirror, key if key.startswith("/") else KEYRING
    return "http://deb.debian.org/debian", KEYRING


def fetch_kernel(cache: Path, name: str, root: Path) -> str:
    """Unpacks the present kernel of a name of `KERNELS`; returns its version."""
    apt = Apt(cache, KERNELS[name])
    # The meta package depends on one of a release. From 7.3 on, that is a meta package again.
    found, waiting = [], [META]
    while waiting:
        for package in apt.depends(waiting.pop()):
            if re.match(r"linux-(image|binary|base|modules)-\d", package) and package not in found:
                found.append(package)
                waiting.append(package)
    if not found:
        raise LabError(
            f"apt finds no {META} in {apt.suite}; is the network there? Try: apt-get update")
    say(f"fetching {' '.join(found)}")
    apt.unpack(found, root)
    return apt.fields(META)["Version"]


def fetch_bluez(cache: Path, version: str, root: Path) -> None:
    """Unpacks bluetoothd of a version, with its libraries, into a root of its own."""
    seen = {}
    for suite in BLUEZ_SUITES:
        apt = Apt(cache, suite)
        seen[suite] = apt.fields("bluez").get("Version", "none")
        if seen[suite].split("-")[0] != version:
            continue
        found = ["bluez"]
        for package in found:
            found += [
                name for name in apt.depends(package) if name.startswith(("lib", "zlib")) and name not in found]
        # Older packages hold folders that later ones have moved.
        for name in ("lib", "lib64"):
            (root / "usr" / name).mkdir(parents=True)
            (root / name).symlink_to(f"usr/{name}")
        say(f"fetching bluez {seen[suite]} and {len(found) - 1} libraries")
        apt.unpack(found, root)
        return
    raise LabError(f"no bluetoothd {version}; there are {seen}")
