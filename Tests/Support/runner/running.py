"""Runs steps, each in a session of its own with a time limit and a log."""

import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
LOGS = ROOT / ".build" / "test-logs"
MAIN = pathlib.Path(__file__).with_name("main.py")

# Lines of a failed step's log that are printed.
SHOWN = 200
# Seconds that a process may outlive its step: a sanitizer's symbolizer ends a moment after its
# program.
GRACE = 5

COUNT = re.compile(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?($| )")
SKIPPED = re.compile(r"^(?:skipped:? .*|[^ ]+ Test .* skipped: .*)$", re.MULTILINE)
NOISE = re.compile(
    r"^\[\d+/\d+\] (Compiling|Emitting|Write|Wrapping|Linking) |Cannot export local symbol")
CULPRIT = re.compile(
    r"^ *(FAILED|failed|FAIL) |recorded an issue|^✘ Test \S+ failed|(^|[^a-z])error: |"
    r": runtime error: |^(SUMMARY|WARNING): [A-Z]|did not end within|left processes behind|"
    r"^there are warnings|is missing")


def processes_of(session: int) -> list:
    """The processes of a session that have not ended."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            # After the name in parentheses: state, parent, group, session.
            fields = path.read_text(errors="replace").rpartition(") ")[2].split()
        except OSError:
            continue
        if fields[3] == str(session) and fields[0] not in "ZX":
            found.append(int(path.parent.name))
    return found


def kill(processes: list) -> None:
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


def command_line(process: int) -> str:
    try:
        words = pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return ""
    return words.replace(b"\0", b" ").decode(errors="replace").strip()


class Job:
    """A step that is running, or has run."""

    def __init__(self, step):
        self.step = step
        self.log = LOGS / f"{step.name}.log"
        self.passed = self.failed = 0
        # What was left out, each with its reason.
        self.skipped = []
        self.begun = time.monotonic()
        self.seconds = self.cpu = 0.0
        self.is_late = False
        with open(self.log, "wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-B", str(MAIN), "--inside", step.name],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True)

    def has_ended(self) -> bool:
        """Looks once; kills a step that has taken too long."""
        process, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if process == 0:
            if not self.is_late and time.monotonic() - self.begun > self.step.limit:
                self.is_late = True
                self.kill()
            return False
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = time.monotonic() - self.begun
        self.cpu = usage.ru_utime + usage.ru_stime
        self._judge()
        return True

    def kill(self) -> None:
        kill(processes_of(self.process.pid))

    def _judge(self) -> None:
        status = self.process.returncode
        notes = []
        if self.is_late:
            status = 1
            notes.append(f"{self.step.name} did not end within {self.step.limit} s")
        deadline = time.monotonic() + GRACE
        while (left := processes_of(self.process.pid)) and time.monotonic() < deadline:
            time.sleep(0.1)
        if left:
            status = 1
            notes += [
                f"{self.step.name} left processes behind: {process} {command_line(process)}"
                for process in left]
            kill(left)
        with open(self.log, "a") as log:
            log.writelines(f"{note}\n" for note in notes)
        text = self.log.read_text(errors="replace")
        self.passed, self.failed = counts(text, status)
        self.skipped = SKIPPED.findall(text)

    def shown(self) -> list:
        """The log of a failed step, without the names of compiled files."""
        lines = [
            line for line in self.log.read_text(errors="replace").splitlines()
            if not NOISE.search(line)]
        if len(lines) > SHOWN:
            lines = [*lines[:SHOWN // 2], "[...]", *lines[-SHOWN // 2:]]
        return [*lines, f"(complete log: {self.log.relative_to(ROOT)})"]

    def notable(self) -> list:
        """The lines of a passed step's log that its definition asks to show."""
        if not self.step.shows:
            return []
        lines = self.log.read_text(errors="replace").splitlines()
        return [line[:120] for line in lines if re.search(self.step.shows, line)]

    def culprits(self) -> list:
        """The lines that say what failed, for a reader who sees only the end of the output."""
        lines = self.log.read_text(errors="replace").splitlines()
        found = []
        for number, line in enumerate(lines):
            if not CULPRIT.search(line):
                continue
            # With the end of what is indented further below it, which says why.
            margin = indent(line) + 1
            below = list(itertools.takewhile(lambda line: indent(line) >= margin, lines[number + 1:]))
            found += [one[:300] for one in [line, *below[-6:]]]
        return list(dict.fromkeys(found))[:60] or lines[-5:]


def indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def counts(text: str, status: int) -> tuple:
    """The checks that passed and failed: from a last line `N passed, N failed`, perhaps with `, N skipped`, or from what Swift's
    tests print; one check otherwise. A step that ends with an error has at least one failure."""
    last = text.rstrip("\n").rpartition("\n")[2]
    passed = failed = 0
    if match := COUNT.match(last):
        passed, failed = int(match[1]), int(match[2])
    elif runs := re.findall(r"Test run with (\d+) tests?", text):
        failed = len(re.findall(r"^✘ Test (?!run with ).* failed after", text, re.MULTILINE))
        passed = max(0, sum(map(int, runs)) - failed)
    elif status == 0:
        passed = 1
    return passed, failed if status == 0 or failed else 1
