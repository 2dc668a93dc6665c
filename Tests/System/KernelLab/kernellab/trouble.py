"""What the lab says when it cannot do its work, and what a kernel's log may not hold."""

import re


class LabError(Exception):
    """The lab itself has failed, not the command in it."""


COMPLAINT = re.compile(
    r"\bBUG\b|WARNING: |\bOops\b|general protection fault|Kernel panic|blocked for more than|"
    r"rcu: INFO|refcount_t: |UBSAN: |KASAN: |soft lockup|hard LOCKUP|Call Trace:|"
    r"unable to handle"
)


def complaints(log: str) -> list[str]:
    """The lines of a kernel's log that mean a fault of the kernel."""
    return [line for line in log.splitlines() if COMPLAINT.search(line)]


def readable_log(records: str) -> str:
    """The records of /dev/kmsg (priority,sequence,microseconds,flags;text) as dmesg shows them."""
    lines = []
    for record in records.splitlines():
        head, separator, text = record.partition(";")
        fields = head.split(",")
        if separator and len(fields) > 2 and fields[2].isdigit():
            lines.append(f"[{int(fields[2]) / 1e6:12.6f}] {text}")
    return "\n".join(lines) + ("\n" if lines else "")
