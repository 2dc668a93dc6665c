"""A Debian system in a folder."""

import contextlib
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support"))
import cache  # noqa: E402
import emulated  # noqa: E402
from archive import ArchiveError  # noqa: E402

# Seconds until a part counts as hanging.
PATIENCE = 500
CACHE = cache.cache_folder()
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
    suite: str = "bookworm"
    # Debian's name of the processor, if it is not this machine's.
    architecture: str = ""


# What the packages depend on and recommend, and what they are tried with.
FULL = Image(installed=(
    "bash-completion", "gcc", "libc6-dev", "libsqlite3-0", "man-db", "pkg-config", "python3", "systemd"))
# The packages and the files of debian:bookworm-slim, and what the packages depend on.
SLIM = Image(
    downloaded=("python3", "systemd", "ca-certificates", "libmosquitto1", "libsodium23", "libsqlite3-0"),
    excluded=("path-exclude /usr/share/doc/*", "path-include /usr/share/doc/*/copyright",
              *(f"path-exclude /usr/share/{name}/*" for name in ("info", "lintian", "locale", "man"))))


class Trouble(Exception):
    """A part cannot be tried; the message has the fix."""


def call(*words, patience: float = PATIENCE, **more) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        errors="replace", timeout=patience, **more)


def c_examples(sources: str) -> str:
    """A script that compiles the examples of the installed C library, and runs them against each other."""
    return f"""cd "$(mktemp -d)" || exit
for name in client server; do
  cc -Wall -Werror {sources}/$name.c $(pkg-config --cflags --libs atto) -o $name || exit
done
./server unix:strap & server=$!
until [ -S strap ] || ! kill -0 $server; do sleep 0.02; done
./client unix:strap 1; status=$?; kill $server; rm -r "$PWD"; exit $status"""


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
    """A system in a folder, with processes and mounts of its own, and without a network unless it is given
    this machine's."""

    # Folders of this machine by their paths in the system, which can only read them.
    folders = {}
    has_network = False
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
                   "DEBIAN_FRONTEND": "noninteractive", "MANWIDTH": "80", "PYTHONDONTWRITEBYTECODE": "1"}

    def __init__(self, root: pathlib.Path, starter: tuple = ()):
        self.root = root
        self.starter = starter

    @classmethod
    @contextlib.contextmanager
    def fresh(cls, root: pathlib.Path, image: Image):
        if os.geteuid() != 0:
            raise Trouble(f"a fresh system needs root\nhint: sudo {' '.join(sys.argv)}")
        starter = cls.starter_of(image)
        archive = cls.archive(image, starter)
        root.mkdir()
        try:
            unpacked = call("tar", "--extract", "--numeric-owner", "--file", archive, "--directory", root)
            if unpacked.returncode != 0:
                raise Trouble(f"{archive}: {unpacked.stderr[-2000:]}\nhint: remove it; it is made again")
            (root / "debs").mkdir()
            (root / "etc" / "dpkg" / "dpkg.cfg.d" / "image").write_text(
                "\n".join(["force-unsafe-io", *image.excluded, ""]))
            yield cls(root, starter)
        finally:
            shutil.rmtree(root, ignore_errors=True)

    @staticmethod
    def starter_of(image: Image) -> list:
        try:
            return emulated.starter(image.architecture)
        except ArchiveError as error:
            raise Trouble(f"an emulator for {image.architecture}: {error}")

    @staticmethod
    def archive(image: Image, starter: list) -> pathlib.Path:
        """The system as mmdebstrap has made it, once."""
        key = hashlib.sha256(f"{image.suite} {image.installed} {image.downloaded}".encode()).hexdigest()[:12]
        archive = CACHE / f"{'-'.join(filter(None, [image.suite, image.architecture]))}-{key}.tar"
        if not archive.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            part = archive.with_suffix(f".{os.getpid()}.tar")
            print(f"making {archive}", flush=True)
            options = [f"--include={','.join(image.installed)}"] if image.installed else []
            if image.downloaded:
                options += ["--skip=cleanup/apt", "--customize-hook=APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get "
                            "install --download-only -qq -y --no-install-recommends " + " ".join(image.downloaded)]
            if starter:
                # The emulator's namespace can mount no sysfs, and only a proc of its own processes; and mmdebstrap does
                # not know the emulator.
                starter = [*starter, "unshare", "--pid", "--fork", "--kill-child"]
                options += [f"--architectures={image.architecture}", "--skip=check/qemu,chroot/mount/sys"]
            made = subprocess.run(
                [*starter, "mmdebstrap", "--quiet", "--variant=minbase", *options,
                 # A mirror may be some weeks behind.
                 '--aptopt=Acquire::Check-Valid-Until "false"', image.suite, str(part), MIRROR],
                stdin=subprocess.DEVNULL)
            if made.returncode != 0:
                part.unlink(missing_ok=True)
                raise Trouble(f"mmdebstrap failed with status {made.returncode}: is {MIRROR} reachable?")
            part.rename(archive)
        return archive

    def path(self, path: str) -> pathlib.Path:
        return self.root / path.lstrip("/")

    def run(self, script: str, user: str = "", patience: float = PATIENCE) -> subprocess.CompletedProcess:
        """Runs a script of the shell, as a user in their home or as root in /tmp. Its processes and mounts
        end with it, and with this process."""
        mounts = [f'mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/run" && '
                  'mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts" && '
                  'mkdir -p "$0/dev/shm" && mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm"']
        for inside, outside in self.folders.items():
            self.path(inside).mkdir(parents=True, exist_ok=True)
            mounts.append(f'mount --bind -o ro {shlex.quote(str(outside))} "$0{inside}"')
        network = [] if self.has_network else ["--net"]
        return call(
            *self.starter, "setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", *network, "--ipc", "--fork",
            "--kill-child", "sh", "-c",
            f'ip link set lo up 2>/dev/null; {" && ".join(mounts)} && '
            # Not by exec: the kernel forgets --kill-child where a process changes its user.
            'chroot --userspec="$1" "$0" /bin/sh -c "export HOME=$2; cd || exit\n$3"; exit $?',
            self.root, user or "root", f"~{user}" if user else "/tmp", script, env=self.environment,
            patience=patience)

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


class Connected(System):
    """A system that reaches other machines as this one does."""

    has_network = True
    environment = System.environment | {
        name: value for name, value in os.environ.items()
        if re.fullmatch(r"PIP_(INDEX_URL|CERT)|(http|https|no)_proxy", name, re.IGNORECASE)}

    def connect(self) -> None:
        for path in ("/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt"):
            if pathlib.Path(path).exists():
                shutil.copyfile(path, self.path(path))
