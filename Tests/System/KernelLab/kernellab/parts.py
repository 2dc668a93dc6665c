"""What the machine is made of, in the cache: a kernel and an initramfs that fits it."""

import fcntl
import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

from . import initramfs, packages, system, vhci
from .processors import DEFAULT, PROCESSORS, Processor
from .trouble import LabError

FOLDER = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(FOLDER.parents[1] / "Support"))
import cache  # noqa: E402


def lab_folder() -> Path:
    return cache.cache_folder() / "lab"


@dataclass
class Parts:
    release: str
    # Of the package.
    version: str
    kernel: Path
    initramfs: Path
    processor: Processor
    # Whose files the machine sees: this machine's, or those of a system of its own.
    root: Path

    @property
    def python(self) -> str:
        """The interpreter in the machine."""
        return sys.executable if self.processor.is_ours else "/usr/bin/python3"

    def __str__(self) -> str:
        return self.release + (f" ({self.version})" if self.version else "")


def prepare(
    kernel: str = packages.DEFAULT_KERNEL, renews: bool = False, architecture: str = DEFAULT,
) -> Parts:
    """Fetches and builds what is not there yet, or with `renews` the present kernel. Two at once take
    turns. `kernel` is a name of `packages.KERNELS`, or a folder with unpacked packages."""
    processor = PROCESSORS[architecture]
    packages.install_tools(processor)
    folder = lab_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        root = Path(kernel)
        if kernel in packages.KERNELS:
            root = kernel_root(folder, kernel, processor, renews)
        image = kernel_image(root)
        if image is None:
            raise LabError(
                f"no kernel in {root}: give a folder with the unpacked packages of one, or "
                f"{', '.join(packages.KERNELS)}")
        release = image.name.removeprefix("vmlinuz-")
        if release == "vmlinuz":
            release = image.parent.name
        version = root / "complete"
        files = Path("/")
        if not processor.is_ours:
            files = cache.kept(
                folder / "systems" / processor.name, lambda part: system.fetch(folder, processor, part), renews)
        return Parts(
            release, version.read_text().strip() if version.exists() else "", image,
            current_initramfs(folder, root, release, files), processor, files)


def kernel_image(root: Path) -> Path | None:
    """The kernel of unpacked packages: beside its modules from 7.3 on."""
    return next(
        (path for pattern in ("boot/vmlinuz-*", "usr/lib/modules/*/vmlinuz")
         for path in sorted(root.glob(pattern))), None)


def kernel_root(folder: Path, name: str, processor: Processor, renews: bool) -> Path:
    """The unpacked packages of a kernel in the cache."""
    def fetch(part: Path) -> None:
        version = packages.fetch_kernel(folder, name, processor, part)
        if not processor.is_ours:
            vhci.build(folder, packages.suite_of(name, processor), processor, part)
        (part / "complete").write_text(f"{version}\n")

    suffix = "" if processor.is_ours else f"-{processor.name}"
    return cache.kept(folder / "kernels" / f"{name}{suffix}", fetch, renews)


def bluez_root(version: str) -> Path:
    """The root of a version of bluetoothd in the cache."""
    folder = lab_folder()
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return cache.kept(
            folder / "bluez" / version, lambda part: packages.fetch_bluez(folder, version, part))


def current_initramfs(folder: Path, root: Path, release: str, files: Path) -> Path:
    """The initramfs that belongs to this kernel, this busybox and these scripts."""
    busybox = Path(packages.which("busybox")) if files == Path("/") else files / "bin" / "busybox"
    init = FOLDER / "guest" / "init"
    digest = hashlib.sha256(release.encode())
    for source in (Path(initramfs.__file__), init, busybox):
        digest.update(source.read_bytes())
    name = f"initramfs-{release}"
    file = folder / f"{name}-{digest.hexdigest()[:16]}"
    if file.exists():
        return file
    tree = next(
        (path for path in (root / "lib/modules" / release, root / "usr/lib/modules" / release)
         if path.is_dir()), None)
    if tree is None:
        raise LabError(f"the package of the kernel {release} holds no modules")
    content = initramfs.build(tree, busybox, init)
    for old in folder.glob(f"{name}-*"):
        old.unlink()
    part = file.with_suffix(".part")
    part.write_bytes(content)
    part.rename(file)
    return file
