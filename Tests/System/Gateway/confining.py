"""Starts a program under the system call filter of the gateway's unit, as systemd does.

    python3 confining.py FILTER PROGRAM [ARGUMENT...]

FILTER is a file from `write_filter()`. systemd's process is not needed, only `systemd-analyze`, which knows the
groups of system calls, and libseccomp. A call that the filter does not have kills the program here, whatever the
unit says to do with it: nothing that the gateway does may depend on it.
"""

import ctypes
import os
import pathlib
import re
import subprocess
import sys

UNIT = pathlib.Path(__file__).resolve().parents[3] / "Sources/Gateway/atto-gateway/Packaging/atto-gateway.service"
# <linux/prctl.h>, <linux/seccomp.h> and <seccomp.h>.
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38
SECCOMP_MODE_FILTER = 2
SCMP_ACT_KILL_PROCESS, SCMP_ACT_ALLOW = 0x80000000, 0x7FFF0000


class Program(ctypes.Structure):
    """struct sock_fprog."""
    _fields_ = [("count", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def allowed_calls() -> set:
    """The calls that the unit allows: its first list and systemd's own, changed by the lists that follow."""
    listing = subprocess.run(
        ["systemd-analyze", "syscall-filter"], check=True, capture_output=True, text=True).stdout
    groups = {name: re.findall(r"^    ([@\w-]+)$", members, re.M)
              for name, members in re.findall(r"^(@[\w-]+)\n((?: .*\n)*)", listing, re.M)}

    def calls(names: list) -> set:
        """These system calls, and those of the groups."""
        return set().union(*(calls(groups[name]) if name.startswith("@") else {name} for name in names))

    allowed = calls(["@default"])
    for but, names in re.findall(r"^SystemCallFilter=(~?)(.*)$", UNIT.read_text(), re.M):
        listed = calls(names.split())
        allowed = allowed - listed if but else allowed | listed
    # Only root makes these calls, and the unit has a user of its own: SQLite gives new files to the owner of the
    # store, and the process of the broker's connection drops its privileges.
    return allowed | {"fchown", "capset"} if os.geteuid() == 0 else allowed


def write_filter(file) -> None:
    """Writes the unit's filter to an open file."""
    library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    rules = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(SCMP_ACT_KILL_PROCESS)))
    for name in sorted(allowed_calls()):
        number = library.seccomp_syscall_resolve_name(name.encode())
        # Negative numbers stand for calls that this processor lacks.
        if number >= 0:
            done = library.seccomp_rule_add(rules, ctypes.c_uint32(SCMP_ACT_ALLOW), number, ctypes.c_uint(0))
            if done != 0:
                raise OSError(-done, f"cannot allow {name}")
    if library.seccomp_export_bpf(rules, file.fileno()) != 0:
        raise OSError("cannot write the filter")


def main() -> None:
    octets = pathlib.Path(sys.argv[1]).read_bytes()
    process = ctypes.CDLL(None, use_errno=True)
    program = Program(len(octets) // 8, octets)
    if (process.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            or process.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0):
        raise OSError(ctypes.get_errno(), "cannot install the filter")
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
