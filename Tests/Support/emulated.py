#!/usr/bin/env python3
"""Runs a command where programs of another processor start as this machine's do.

    Tests/Support/emulated.py ARCHITECTURE INTERPRETER LIBRARIES COMMAND...

The kernel hands a file of another processor to the interpreter that binfmt_misc names. Since Linux 6.7 each
user namespace can have a binfmt_misc of its own: the command runs in one in which every user and group is what
it is outside, so nothing is registered on the machine, and all of it ends with the command. It needs root. The
interpreter is opened when it is registered, so it also serves where a command changes its root. LIBRARIES is the
folder of a system with the libraries that programs load, mounted where every user may read them, or "".
"""

import ctypes
import os
import pathlib
import platform
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Sources" / "Debian"))
from archive import Apt  # noqa: E402
from cache import cache_folder, kept  # noqa: E402

# Of Debian's names: that of the kernel, the machine of ELF, and that of qemu.
PROCESSORS = {"amd64": ("x86_64", 62, "x86_64"), "arm64": ("aarch64", 183, "aarch64")}
# Its qemu is linked statically, and the newest that is not in motion.
SUITE = "trixie"
# Nothing else is mounted here by itself.
LIBRARIES = "/mnt"
NEW_USER, NEW_MOUNTS = 0x10000000, 0x00020000
REGISTERED = "/proc/sys/fs/binfmt_misc"


def starter(architecture: str = "", libraries: pathlib.Path | str = "") -> list:
    """The words before a command that make programs of an architecture of Debian start; none for this machine's."""
    if not architecture or PROCESSORS[architecture][0] == platform.machine():
        return []
    name = f"qemu-{PROCESSORS[architecture][2]}"
    folder = kept(
        cache_folder() / f"{name}-{SUITE}",
        lambda part: Apt(cache_folder(), SUITE).unpack(["qemu-user"], part, (f"./usr/bin/{name}",)))
    return [sys.executable, __file__, architecture, str(folder / "usr" / "bin" / name), str(libraries)]


def is_emulated(program: str | pathlib.Path) -> bool:
    """Whether a program is of another processor than this machine's."""
    with open(program, "rb") as file:
        head = file.read(20)
    own = [number for kernel, number, _ in PROCESSORS.values() if kernel == platform.machine()]
    return head[:4] == b"\x7fELF" and int.from_bytes(head[18:20], "little") not in own


def pattern(machine: int) -> bytes:
    """How the kernel knows little-endian programs and libraries of 64 bits for a machine: magic octets and their mask,
    in the form that binfmt_misc reads."""
    magic = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00" + machine.to_bytes(2, "little")
    # The system that the file is for and its version may be any; 2 is a program, and 3 one at any address.
    mask = b"\xff" * 7 + bytes(9) + b"\xfe\xff\xff\xff"
    return b":".join(b"".join(b"\\x%02x" % octet for octet in one) for one in (magic, mask))


def enter() -> None:
    """Makes the namespaces. The kernel lets only a process outside of one map all users into it."""
    library = ctypes.CDLL(None, use_errno=True)
    made, writer = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(writer)
        os.read(made, 1)
        for name in ("uid_map", "gid_map"):
            pathlib.Path(f"/proc/{parent}/{name}").write_text("0 0 4294967295\n")
        os._exit(0)
    if library.unshare(NEW_USER | NEW_MOUNTS) != 0:
        sys.exit(f"emulated: no user namespace can be made: {os.strerror(ctypes.get_errno())}")
    os.close(writer)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("emulated: the users cannot be mapped: it needs root")
    os.close(made)


def main() -> None:
    architecture, interpreter, libraries, *command = sys.argv[1:]
    enter()
    if libraries:
        subprocess.run(["mount", "--bind", libraries, LIBRARIES], check=True)
        os.environ["QEMU_LD_PREFIX"] = LIBRARIES
    mounted = subprocess.run(["mount", "-t", "binfmt_misc", "none", REGISTERED], capture_output=True, text=True)
    if mounted.returncode != 0:
        sys.exit(f"emulated: a user namespace has no binfmt_misc before Linux 6.7: {mounted.stderr.strip()}")
    # F opens the interpreter now.
    with open(f"{REGISTERED}/register", "wb", buffering=0) as file:
        file.write(b":atto:M::" + pattern(PROCESSORS[architecture][1]) + b":" + interpreter.encode() + b":F")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
