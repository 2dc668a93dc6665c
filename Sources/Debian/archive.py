"""Packages of Debian that are only unpacked.

Nothing of the system's configuration of apt is changed: packages come from suites that are named in a
private configuration in the cache.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
ONE_ARCHITECTURE = """APT::Architecture "{0}";
#clear APT::Architectures;
APT::Architectures {{ "{0}"; }};"""
SEARCH_PATH = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"


class ArchiveError(Exception):
    """A package cannot be had."""


def which(tool: str) -> str | None:
    return shutil.which(tool, path=SEARCH_PATH)


def run(command: list[str], **more) -> subprocess.CompletedProcess:
    return subprocess.run(command, text=True, stdin=subprocess.DEVNULL, **more)


class Apt:
    """One suite of Debian for one architecture, from the mirror of this system, with lists and a cache of
    its own."""

    def __init__(self, cache: Path, suite: str, architecture: str = ""):
        if which("apt-get") is None:
            raise ArchiveError("apt-get is needed to fetch packages of Debian")
        self.suite = suite
        self.folder = cache / "apt" / "-".join(filter(None, [suite, architecture]))
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
{ONE_ARCHITECTURE.format(architecture) if architecture else ""}
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
""")
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

    def closure(self, packages: list[str]) -> list[str]:
        """The packages with all that they depend on; empty if one of them is not to be had."""
        planned = self.run("apt-get", "--print-uris", "--yes", "--no-install-recommends", "install", *packages)
        return re.findall(r"^'.*?' ([^\s_]+)_", planned.stdout, re.MULTILINE)

    def unpack_system(self, packages: list[str], root: Path) -> None:
        """Unpacks packages, with all that they depend on, into a new folder as a system of its own."""
        found = self.closure(packages)
        if not found:
            raise ArchiveError(f"apt finds not all of {' '.join(packages)} in {self.suite}")
        link_folders(root, "bin", "lib", "sbin")
        self.unpack(found, root)

    def unpack(self, packages: list[str], root: Path, parts: tuple[str, ...] = ()) -> None:
        """Downloads packages and unpacks them into a folder, or only some parts of them."""
        for file in self.download(packages):
            words = ["dpkg", "-x", str(file), str(root)]
            if parts:
                words = ["sh", "-c", 'dpkg --fsys-tarfile "$0" | tar -x -C "$@"', str(file), str(root), *parts]
            self.unpacked(file, words)

    def unpack_control(self, package: str, folder: Path) -> None:
        """Downloads a package and unpacks what describes it into a new folder."""
        for file in self.download([package]):
            self.unpacked(file, ["dpkg", "-e", str(file), str(folder)])

    def unpacked(self, file: Path, words: list[str]) -> None:
        done = run(words, capture_output=True)
        if done.returncode != 0:
            raise ArchiveError(f"cannot unpack {file.name}: {done.stderr.strip()}")

    def download(self, packages: list[str]) -> Iterator[Path]:
        """The files of packages, which exist until all have been asked for."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            done = self.run("apt-get", "download", *packages, cwd=folder)
            files = sorted(Path(folder).glob("*.deb"))
            if done.returncode != 0 or len(files) < len(packages):
                raise ArchiveError(f"cannot fetch {' '.join(packages)}: {done.stderr.strip()}")
            yield from files


def link_folders(root: Path, *names: str) -> None:
    """Makes folders of a new system links into its /usr, where later packages have what earlier ones have there."""
    for name in names:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")


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
