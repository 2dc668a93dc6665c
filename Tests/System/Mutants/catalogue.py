"""A fault of a peer, and the table of all."""

import fnmatch
from dataclasses import dataclass


@dataclass
class Fault:
    name: str
    section: str
    # The cases that must find it, and patterns of others that may break too.
    must: list
    may: list
    # Makes the peer.
    make: object
    # Of habits: the host at which it was seen, and what a long write says that it cannot do.
    stack: str = ""
    cannot: str = ""

    def missed(self, broken):
        return set(self.must) - broken

    def unexpected(self, broken):
        return {name for name in broken - set(self.must)
                if not any(fnmatch.fnmatch(name, pattern) for pattern in self.may)}


def adding(faults, correct):
    """What adds a peer to the faults: it has these methods or constants instead of those of the correct one."""
    def fault(name, section, cases, **changes):
        must, _, may = cases.partition("|")
        faults.append(
            Fault(name, "Vol 3, Part " + section, must.split(), may.split(), type("Faulty", (correct,), changes)))
    return fault


def table(faults):
    """The faults with their cases, as a table."""
    has_stacks = any(fault.stack for fault in faults)
    lines = ["| Habit | Host | Section | Found by | May break too |", "|---|---|---|---|---|"] if has_stacks else [
        "| Fault | Section | Found by | May break too |", "|---|---|---|---|"]
    for fault in faults:
        must, may = (" ".join(f"`{name}`" for name in names) for names in (fault.must, fault.may))
        stack = f"{fault.stack} | " if has_stacks else ""
        lines.append(f"| {fault.name} | {stack}{fault.section} | {must} | {may} |")
    return "\n".join(lines)
