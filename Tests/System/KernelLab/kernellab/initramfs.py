"""The first file system of the machine: busybox, the kernel's modules, and an init."""

import lzma
import re
import subprocess
from pathlib import Path

from .trouble import LabError

# In no order; what each of them needs comes before it. Without drbg and ctr the kernel cannot
# make the keys that pairing wants. What a kernel has built in is left out.
MODULES = """
  virtio_pci 9pnet_virtio 9p overlay
  hmac sha256_generic sha512_generic ctr jitterentropy_rng drbg cmac ecb ecdh_generic
  af_alg algif_hash algif_skcipher bluetooth hci_vhci rfcomm bnep uhid
""".split()


def read_module(path: Path) -> bytes:
    """A module as the kernel wants it, without compression."""
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes())
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout
    return path.read_bytes()


def module_name(path: str) -> str:
    return Path(path).name.split(".ko")[0].replace("-", "_")


def ordered_modules(tree: Path) -> list[tuple[str, bytes]]:
    """The modules with what they depend on, each after what it needs."""
    files = {module_name(path.name): path for path in tree.rglob("*.ko*")}
    built_in = {module_name(line) for line in (tree / "modules.builtin").read_text().split()}
    ordered: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name in ordered or name in built_in:
            return
        if name not in files:
            # Kernels rename modules and fold one into another; a lack shows when it matters.
            return
        content = read_module(files[name])
        depends = re.search(rb"\0depends=([^\0]*)\0", content)
        for other in (depends.group(1).decode().split(",") if depends else []):
            if other:
                add(other.replace("-", "_"))
        ordered[name] = content

    for name in MODULES:
        add(name)
    if "bluetooth" not in ordered or "hci_vhci" not in ordered:
        raise LabError("this kernel has no modules for Bluetooth and for virtual controllers")
    return list(ordered.items())


class Archive:
    """A cpio archive in the form that the kernel unpacks ("newc")."""

    def __init__(self):
        self.octets = bytearray()
        self.count = 0

    def add(self, path: str, mode: int, content: bytes = b"") -> None:
        self.count += 1
        name = path.encode() + b"\0"
        fields = [self.count, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0]
        self.octets += b"070701" + b"".join(b"%08X" % field for field in fields) + name
        self.pad()
        self.octets += content
        self.pad()

    def pad(self) -> None:
        self.octets += bytes(-len(self.octets) % 4)

    def finished(self) -> bytes:
        self.add("TRAILER!!!", 0)
        return bytes(self.octets)


def build(tree: Path, busybox: Path, init: Path) -> bytes:
    archive = Archive()
    for folder in ("bin", "dev", "proc", "sys", "host", "upper", "system", "modules"):
        archive.add(folder, 0o040755)
    archive.add("bin/busybox", 0o100755, busybox.read_bytes())
    archive.add("init", 0o100755, init.read_bytes())
    order = []
    for name, content in ordered_modules(tree):
        archive.add(f"modules/{name}.ko", 0o100644, content)
        order.append(f"{name}.ko\n")
    archive.add("modules/order", 0o100644, "".join(order).encode())
    return archive.finished()
