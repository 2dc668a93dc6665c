"""What the parts share."""

import pathlib
import socket

FIXTURES = pathlib.Path(__file__).resolve().parents[3] / "Fixtures"
# Seconds until something counts as hanging.
PATIENCE = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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
