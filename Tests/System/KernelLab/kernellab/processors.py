"""The processors that the machine may have."""

import platform
from dataclasses import dataclass


@dataclass(frozen=True)
class Processor:
    """One, with qemu's options for it and what its kernel is told."""

    # As Debian names it, and as compilers do.
    name: str
    triple: str
    emulator: str
    # The package of the emulator.
    package: str
    machine: tuple[str, ...]
    kernel_options: str

    @property
    def is_ours(self) -> bool:
        """Whether this machine's programs run on it. Elsewhere the machine has a system of its own."""
        return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine()) == self.name


PROCESSORS = {one.name: one for one in [
    # One without AVX, which the C library would use for each string, and whose emulation makes a program
    # start in thrice the time.
    Processor(
        "amd64", "x86_64-linux-gnu", "qemu-system-x86_64", "qemu-system-x86", ("-cpu", "Nehalem,+rdrand"),
        "console=ttyS0 tsc=reliable random.trust_cpu=on"),
    # That of a Raspberry Pi 4. Later ones sign pointers, which takes an emulator long.
    Processor(
        "arm64", "aarch64-linux-gnu", "qemu-system-aarch64", "qemu-system-arm",
        ("-machine", "virt,gic-version=3", "-cpu", "cortex-a72"),
        "console=ttyAMA0 random.trust_bootloader=on"),
]}
# This machine's, so far.
DEFAULT = "amd64"
