"""What the parts share."""

import functools
import pathlib
import sys
import tempfile

import confining

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TESTS / "Support"))
from listening import free_port, listens  # noqa: E402, F401

FIXTURES = TESTS.parent / "Fixtures"
# Seconds until something counts as hanging.
PATIENCE = 60


@functools.cache
def unit_filter():
    """A file with the filter of system calls of the gateway's unit. It is removed with this process."""
    file = tempfile.NamedTemporaryFile(prefix="atto-")
    confining.write_filter(file)
    return file


def confined(programs: pathlib.Path) -> list:
    """The words that start the gateway as systemd does, which allows only the system calls that its unit has."""
    return [sys.executable, "-IS", confining.__file__, unit_filter().name, programs / "atto-gateway"]


class Tally:
    """Counts the checks of a part, and prints those that fail."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.passed = 0
        self.failed = 0
        self.where = ""

    def check(self, passed: bool, what: str, detail: object = "") -> None:
        if passed:
            self.passed += 1
        else:
            self.failed += 1
            detail = f": {detail}" if detail != "" else ""
            print(f"FAILED {self.part} {self.where}: {what}{detail}")

    def equal(self, found, expected, what: str) -> None:
        self.check(found == expected, what, f"found {found!r}, expected {expected!r}")
