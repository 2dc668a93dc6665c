"""What the machine is made of, in the cache: a kernel and an initramfs that fits it."""

import fcntl
import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import initramfs, packages
from .trouble import LabError

FOLDER = Path(__file__).resolve().parent.parent


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "atto" / "lab"


@dataclass
class Parts:
    release: str
    kernel: Path
    initramfs: Path


def prepare() -> Parts:
    """Fetches and builds what is not there yet. Two at once take turns."""
    packages.install_tools()
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        root = kernel_root(cache)
        kernel = next((root / "boot").glob("vmlinuz-*"))
        release = kernel.name.removeprefix("vmlinuz-")
        return Parts(release, kernel, current_initramfs(cache, root, release))


def kernel_root(cache: Path) -> Path:
    """The unpacked package of the kernel."""
    root = cache / "kernel"
    if (root / "complete").exists():
        return root
    package, file = packages.download_kernel(cache)
    shutil.rmtree(root, ignore_errors=True)
    done = subprocess.run(["dpkg", "-x", file, root], capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"cannot unpack {file}: {done.stderr.strip()}")
    file.unlink()
    (root / "complete").write_text(package + "\n")
    return root


def current_initramfs(cache: Path, root: Path, release: str) -> Path:
    """The initramfs that belongs to this kernel, this busybox and these scripts."""
    busybox = Path(packages.which("busybox"))
    init = FOLDER / "guest" / "init"
    digest = hashlib.sha256(release.encode())
    for source in (Path(initramfs.__file__), init, busybox):
        digest.update(source.read_bytes())
    file = cache / f"initramfs-{digest.hexdigest()[:16]}"
    if file.exists():
        return file
    tree = next(
        (path for path in (root / "lib/modules" / release, root / "usr/lib/modules" / release)
         if path.is_dir()), None)
    if tree is None:
        raise LabError(f"the package of the kernel {release} holds no modules")
    content = initramfs.build(tree, busybox, init)
    for old in cache.glob("initramfs-*"):
        old.unlink()
    part = file.with_suffix(".part")
    part.write_bytes(content)
    part.rename(file)
    return file
