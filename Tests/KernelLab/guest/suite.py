"""In the machine: runs lab tests one after the other and writes what became of each.

suite.py TEST...     these
suite.py             those that are named, a line each, in a file that grows: $LAB_TESTS; the line
                     "." is its end
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent))
from kernellab.trouble import complaints, readable_log
import peers


def deadline(test: Path) -> float:
    """Seconds that a test may take; it says so in a line `# deadline: N` if more than 120."""
    found = re.search(r"^# deadline: (\d+)$", test.read_text(), re.MULTILINE)
    return float(found.group(1)) if found else 120


class KernelLog:
    """What the kernel has said since the last look."""

    def __init__(self):
        self.descriptor = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        self.rest()

    def rest(self) -> str:
        records = []
        while True:
            try:
                records.append(os.read(self.descriptor, 8192).decode(errors="replace"))
            except BlockingIOError:
                return readable_log("".join(records))
            except BrokenPipeError:
                continue  # some were overwritten


def run(test: Path, log: KernelLog) -> dict:
    folder = Path("/run/tmp") / test.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [str(test)] if test.suffix != ".py" else [sys.executable, "-B", str(test)]
    environment = dict(
        os.environ, PYTHONPATH=str(HERE), TMPDIR=str(folder), ATTO_STORE=str(folder / "store.sqlite"))
    log.rest()
    start = time.monotonic()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=deadline(test))
        trouble = f"exit {process.returncode}" if process.returncode else None
    except subprocess.TimeoutExpired:
        trouble = f"no end within {deadline(test):g} s"
        output = None
    # Whatever the test has started ends with it: it is a session of its own.
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass
    if output is None:
        output, _ = process.communicate()
    try:
        peers.reset()
    except Exception as error:
        trouble = trouble or f"links remain: {error}"
    seconds = time.monotonic() - start
    said = log.rest()
    if complaints(said):
        trouble = "the kernel complains"
        output += said
    elif trouble:
        output += said[-3000:]
    return {"test": test.stem, "seconds": seconds, "trouble": trouble, "output": output}


def named() -> Iterator[str]:
    """The tests that the host names; it names one when the one before has been reported."""
    path = Path(os.environ["LAB_TESTS"])
    taken = 0
    while True:
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        for line in lines[taken:]:
            if line == ".":
                return
            yield line
        taken = len(lines)
        time.sleep(0.05)


def main(tests: list[str]) -> int:
    log = KernelLog()
    peers.reset()
    for test in tests or named():
        print(json.dumps({"begins": Path(test).stem}), flush=True)
        print(json.dumps(run(Path(test), log)), flush=True)
    return 0


sys.exit(main(sys.argv[1:]))
