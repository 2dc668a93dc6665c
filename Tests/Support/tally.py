"""Counts of checks, for test programs that end with `N passed, N failed`."""

import threading


class Tally:
    """Counts the checks of a program or one of its parts, and prints those that fail. Threads may share it."""

    def __init__(self, part: str = "") -> None:
        self.part = part
        self.where = ""
        self.passed = 0
        self.failed = 0
        self.lock = threading.Lock()

    def add(self, passed: int, failed: int) -> None:
        with self.lock:
            self.passed += passed
            self.failed += failed

    def check(self, passed: object, what: str, detail: object = "") -> bool:
        self.add(bool(passed), not passed)
        if not passed:
            place = " ".join(word for word in (self.part, self.where) if word)
            detail = f": {detail}" if detail != "" else ""
            print(f"FAILED {place + ': ' if place else ''}{what}{detail}", flush=True)
        return bool(passed)

    def equal(self, found, expected, what: str) -> bool:
        return self.check(found == expected, what, f"found {found!r}, expected {expected!r}")

    def end(self) -> int:
        """Prints the counts, and returns the status of the program."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0
