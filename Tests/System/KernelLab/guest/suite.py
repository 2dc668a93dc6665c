"""In the machine: runs lab tests in turn and prints the result of each.

suite.py TEST...     these
suite.py             the tests in the file $LAB_TESTS, a line each, which the host extends until it
                     writes the line "."
"""

import faulthandler
import json
import os
import select
import shutil
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent))
from kernellab.trouble import complaints, readable_log
import mgmt
import peers
from state import State, mount_debugfs, processes, restore

# Seconds until a process that was killed counts as one that remains.
PATIENCE = 60
# Seconds that a test may take. It ends one that hangs in something else than a wait of its own, so it is many
# times what the longest takes on a machine that is busy with other work.
DEADLINE = 1200


class KernelLog:
    """The kernel's messages since the last call."""

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


def run(test: Path, log: KernelLog, before: State) -> dict:
    folder = Path("/run/tmp") / test.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    log.rest()
    start = time.monotonic()
    said_by_test = folder.with_suffix(".output")
    process = begin(test, folder, said_by_test)
    ending = os.pidfd_open(process)
    status = None
    if select.select([ending], [], [], DEADLINE)[0]:
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    os.close(ending)
    # A test is a session of its own. Its processes end with it.
    try:
        os.killpg(process, 9)
    except ProcessLookupError:
        pass
    if status is None:
        os.waitpid(process, 0)
        trouble = f"timed out after {DEADLINE} s"
    else:
        trouble = f"exit {status}" if status not in (0, peers.SKIPPED) else None
    output = said_by_test.read_text(errors="replace")
    left = clear(before)
    if left:
        output += "".join(f"left behind: {one}\n" for one in left)
        trouble = trouble or "the machine is not as the test found it"
        try:
            restore(peers.control, before)
        except Exception as error:
            output += f"cannot be restored: {error!r}\n"
    seconds = time.monotonic() - start
    said = log.rest()
    if complaints(said):
        trouble = "the kernel complains"
        output += said
    elif trouble:
        output += said[-3000:]
    result = "failed" if trouble else "skipped" if status == peers.SKIPPED else "passed"
    return {"test": test.stem, "seconds": seconds, "result": result, "trouble": trouble,
            "output": output, "isLast": bool(left and clear(before))}


def clear(before: State) -> list[str]:
    """Ends what every test makes, and returns what it has left beyond that."""
    try:
        # A killed process may take a while to end.
        deadline = time.monotonic() + PATIENCE
        while processes().keys() - before.processes.keys() and time.monotonic() < deadline:
            time.sleep(0.02)
        peers.control.await_adapters(before.adapters)
        peers.leave()
        return State(peers.control).differences(before)
    except Exception as error:
        return [repr(error)]


def begin(test: Path, folder: Path, output: Path) -> int:
    """Starts a test in a process and a session of its own; returns the process.

    The process is a fork of this one: to start Python and to compile the modules takes an emulated
    machine a second or more.
    """
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        os.setsid()
        os.chdir(folder)
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.close(descriptor)
        os.environ.update(TMPDIR=str(folder), ATTO_STORE=str(folder / "store.sqlite"))
        if test.suffix != ".py":
            os.execv(test, [str(test)])
        sys.stdout.reconfigure(line_buffering=True)
        # A test that hangs says where.
        faulthandler.dump_traceback_later(DEADLINE - 1, exit=True)
        # Each process has its own queue of events.
        peers.control.socket.close()
        peers.control = mgmt.Mgmt()
        own = {"__name__": "__main__", "__file__": str(test)}
        exec(compile(test.read_bytes(), str(test), "exec"), own)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1 if end.code else 0
        if status and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def named() -> Iterator[str]:
    """The tests in $LAB_TESTS. The host adds one when the result of the previous one was printed."""
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
    mount_debugfs()
    peers.leave()
    before = State(peers.control)
    for test in tests or named():
        print(json.dumps({"begins": Path(test).stem}), flush=True)
        result = run(Path(test), log, before)
        print(json.dumps(result), flush=True)
        if result["isLast"]:
            # What the test has left cannot be undone. The host takes another machine.
            break
    return 0


sys.exit(main(sys.argv[1:]))
