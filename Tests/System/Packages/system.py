"""A Debian system in a folder."""

import contextlib
import hashlib
import os
import pathlib
import shutil
import subprocess
from dataclasses import dataclass

# Seconds until a part counts as hanging.
PATIENCE = 500
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "atto"
SUITE = "bookworm"
MIRROR = "http://deb.debian.org/debian"
# What programs of the system write at any time.
KEPT = ("proc/", "sys/", "dev/", "tmp/", "debs/", "run/", "var/cache/", "var/log/", "var/lib/dpkg/",
        "var/lib/apt/", "var/lib/systemd/", "etc/.pwd.lock", "etc/passwd-", "etc/group-", "etc/shadow-",
        "etc/gshadow-")


@dataclass
class Image:
    """A system as mmdebstrap makes it: beside the packages that every Debian has, those that are installed
    in it, and those that apt can install without a network."""
    installed: tuple = ()
    downloaded: tuple = ()
    # The files of packages that are left out, for dpkg.
    excluded: tuple = ()


# What the packages depend on and recommend, and what they are tried with.
FULL = Image(installed=(
    "bash-completion", "gcc", "libc6-dev", "libsqlite3-0", "man-db", "pkg-config", "python3", "systemd"))
# The packages and the files of debian:bookworm-slim, and what the packages depend on.
SLIM = Image(
    downloaded=("python3", "systemd"),
    excluded=("path-exclude /usr/share/doc/*", "path-include /usr/share/doc/*/copyright",
              *(f"path-exclude /usr/share/{name}/*" for name in ("info", "lintian", "locale", "man"))))


class Trouble(Exception):
    """A part cannot be tried; the message has the fix."""


def call(*words, **more) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        errors="replace", timeout=PATIENCE, **more)


def files_of(root: pathlib.Path) -> set:
    """The paths of all files and folders, without those that change by themselves."""
    found = set()
    for folder, folders, names in os.walk(root):
        inside = os.path.relpath(folder, root)
        prefix = "" if inside == "." else inside + "/"
        folders[:] = [name for name in folders if f"{prefix}{name}/" not in KEPT]
        found |= {prefix + name for name in folders + names}
    return {path for path in found if not path.startswith(KEPT) and "/__pycache__" not in path}


class System:
    """A system in a folder, with processes of its own and without a network."""

    def __init__(self, root: pathlib.Path):
        self.root = root

    @classmethod
    @contextlib.contextmanager
    def fresh(cls, root: pathlib.Path, image: Image):
        if os.geteuid() != 0:
            raise Trouble(
                "the packages cannot be tried in a fresh system without root\n"
                "hint: sudo Tests/System/Packages/run .build/release")
        archive = cls.archive(image)
        root.mkdir()
        try:
            unpacked = call("tar", "--extract", "--numeric-owner", "--file", archive, "--directory", root)
            if unpacked.returncode != 0:
                raise Trouble(f"{archive}: {unpacked.stderr[-2000:]}\nhint: remove it; it is made again")
            (root / "debs").mkdir()
            (root / "etc" / "dpkg" / "dpkg.cfg.d" / "image").write_text(
                "\n".join(["force-unsafe-io", *image.excluded, ""]))
            yield cls(root)
        finally:
            shutil.rmtree(root, ignore_errors=True)

    @staticmethod
    def archive(image: Image) -> pathlib.Path:
        """The system as mmdebstrap has made it, once."""
        key = hashlib.sha256(f"{SUITE} {image.installed} {image.downloaded}".encode()).hexdigest()[:12]
        archive = CACHE / f"{SUITE}-{key}.tar"
        if not archive.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            part = archive.with_suffix(f".{os.getpid()}.tar")
            print(f"making {archive}", flush=True)
            options = [f"--include={','.join(image.installed)}"] if image.installed else []
            if image.downloaded:
                options += ["--skip=cleanup/apt", "--customize-hook=APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get "
                            "install --download-only -qq -y --no-install-recommends " + " ".join(image.downloaded)]
            made = subprocess.run(
                ["mmdebstrap", "--quiet", "--variant=minbase", *options, SUITE, str(part), MIRROR],
                stdin=subprocess.DEVNULL)
            if made.returncode != 0:
                part.unlink(missing_ok=True)
                raise Trouble(f"mmdebstrap failed with status {made.returncode}: is {MIRROR} reachable?")
            part.rename(archive)
        return archive

    def path(self, path: str) -> pathlib.Path:
        return self.root / path.lstrip("/")

    def run(self, script: str) -> subprocess.CompletedProcess:
        """Runs a script of the shell. Its processes end with it."""
        return call(
            "unshare", "--mount", "--pid", "--net", "--ipc", "--fork", "--kill-child", "sh", "-c",
            'ip link set lo up 2>/dev/null; mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/run" '
            '&& exec chroot "$0" /bin/sh -c "$1"', self.root, script,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LC_ALL": "C.UTF-8",
                 "DEBIAN_FRONTEND": "noninteractive", "MANWIDTH": "80", "PYTHONDONTWRITEBYTECODE": "1"})

    def packages(self) -> set:
        """The names of the installed packages."""
        return set(self.run("dpkg-query -W -f '${Package}\\n'").stdout.split())

    def install(self, packages) -> subprocess.CompletedProcess:
        """As users do, with the files of packages."""
        for old in self.path("/debs").iterdir():
            old.unlink()
        for package in packages:
            shutil.copy(package, self.path("/debs"))
        return self.run("apt-get install -y --no-install-recommends /debs/*.deb")
