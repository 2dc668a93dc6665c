"""What a value costs the gateway, counted exactly: system calls, allocations and wake-ups.

The gateway is stopped while a device sends a burst, so that it finds all of its values at once: otherwise the
scheduler would decide how many turns of the loop they take.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parents[2] / "Benchmarks" / "Gateway"))
from measuring import Air, Usage, until  # noqa: E402
from support import Tally, free_port  # noqa: E402

# Values of a burst: they fit into one turn of the loop, and into the socket.
BURST = 32
# Of a burst of values from one link to the broker at QoS 0. Each value is received with one call. The others are: the
# call that finds no further value, the one that sends all, and the waits around the turn. Two waits are due to the
# stop: it interrupts the loops of the log and of the store too, which then look for what has arrived.
CALLS = BURST + 8
# Seconds in which no alarm rings.
QUIET = 8
# Allocations for each value.
ALLOCATIONS = 5


class Bench:
    """A gateway with one device and a subscriber."""

    def __init__(self, programs: pathlib.Path, **more) -> None:
        self.air = Air(programs / "atto", programs / "atto-gateway")
        try:
            self.begin(more)
        except BaseException:
            self.air.close()
            raise

    def begin(self, more: dict) -> None:
        self.device, = self.air.devices(1)
        self.subscriber = self.air.subscriber("atto/hall/+/a001")
        self.gateway = self.air.gateway(
            1, broker={"keepAliveSeconds": 3600}, limits={"attemptSeconds": 2}, **more)

        def arrives() -> list:
            self.device.notify(bytes(4))
            return self.subscriber.receive(0.2)
        until(arrives, "no value arrives")
        while self.subscriber.receive(0.5):
            pass

    def alarms(self) -> list:
        """The seconds until the timers ring that the gateway's loops have left to the kernel."""
        found = []
        for file in pathlib.Path(f"/proc/{self.gateway.pid}/fdinfo").iterdir():
            with contextlib.suppress(FileNotFoundError):
                if value := re.search(r"it_value: \((\d+), (\d+)\)", file.read_text()):
                    found.append(int(value[1]) + int(value[2]) / 1e9)
        return [seconds for seconds in found if seconds > 0]

    def settle(self) -> None:
        """Waits until no alarm rings soon. An alarm stays when its timer is cancelled, as that of a connection's
        attempt, and then causes one empty turn; the deadline of an ATT transaction does so after 30 s."""
        until(lambda: all(alarm > QUIET for alarm in self.alarms()), "an alarm is left")
        # The turn in which it rang ends.
        time.sleep(0.5)

    def bursts(self, count: int) -> None:
        for number in range(count):
            os.kill(self.gateway.pid, signal.SIGSTOP)
            self.device.notify(*[bytes([number % 256, index]) for index in range(BURST)])
            self.device.sent()
            os.kill(self.gateway.pid, signal.SIGCONT)
            found = 0
            while found < BURST and (payloads := self.subscriber.receive(10)):
                found += len(payloads)
            if found != BURST:
                raise RuntimeError(f"{found} of {BURST} values arrived")


def calls(programs: pathlib.Path, tally: Tally) -> None:
    """System calls of a burst."""
    if not shutil.which("strace"):
        raise RuntimeError("strace is missing: apt-get install strace")
    bench = Bench(programs)
    try:
        log = bench.air.path / "strace"
        tracer = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", log, "-p", str(bench.gateway.pid)], stdin=subprocess.DEVNULL)
        status = pathlib.Path(f"/proc/{bench.gateway.pid}/status")
        until(lambda: "TracerPid:\t0" not in status.read_text(), "strace does not attach")
        bench.settle()
        bench.bursts(1)
        bench.subscriber.receive(0.3)
        before = len(log.read_text().splitlines())
        bench.bursts(4)
        bench.subscriber.receive(0.3)
        lines = log.read_text(errors="replace").splitlines()[before:]
        tracer.terminate()
        tracer.wait()
        counts: dict = {}
        for line in lines:
            if "resumed" not in line and (name := re.match(r"\d+ +(\w+)\(", line)):
                counts[name[1]] = counts.get(name[1], 0) + 1
        text = ", ".join(f"{name} {count / 4:g}" for name, count in sorted(counts.items()))
        tally.check(sum(counts.values()) <= 4 * CALLS, f"a burst of {BURST} takes at most {CALLS} calls", text)
        tally.equal(counts.get("sendto"), 4, "one call sends the values of a burst")
        tally.equal(counts.get("futex", 0), 0, "no other thread is woken")
        tally.check(counts.get("recvfrom", 0) >= 4 * BURST, "the calls were counted", text)
    finally:
        bench.air.close()


def allocations(programs: pathlib.Path, tally: Tally) -> None:
    """Allocations of a value, by the difference between two runs."""
    def run(bursts: int, library: pathlib.Path) -> int:
        report = library.parent / "report"
        bench = Bench(programs, environment={"LD_PRELOAD": str(library), "ATTO_ALLOCATIONS": str(report)})
        try:
            bench.bursts(bursts)
            bench.air.stop(bench.gateway)
            return int(report.read_text())
        finally:
            bench.air.close()
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder) / "allocations.so"
        subprocess.run(
            [FOLDER.parents[2] / "Sources" / "toolchain", "clang", "-O2", "-fno-builtin", "-shared", "-fPIC",
             "-o", library, FOLDER.parent / "Counts" / "Allocations" / "allocations.c"], check=True)
        found = (run(60, library) - run(20, library)) / (40 * BURST)
    # A start differs from another by a few hundred.
    tally.check(found <= ALLOCATIONS + 0.5, f"a value takes at most {ALLOCATIONS} allocations", f"{found:.2f}")
    tally.check(found >= 1, "allocations were counted", found)
    if os.environ.get("ATTO_TIMES"):
        print(f"allocations of a value: {found:.2f}")


def idle(programs: pathlib.Path, tally: Tally) -> None:
    """A gateway with links on which nothing happens does not run at all."""
    seconds = QUIET - 2
    bench = Bench(
        programs, esphome={"listen": f"127.0.0.1:{free_port()}", "encryption": False},
        metrics=f"127.0.0.1:{free_port()}")
    try:
        bench.settle()
        before = Usage(bench.gateway.pid)
        time.sleep(seconds)
        after = Usage(bench.gateway.pid)
        tally.equal(after.switches - before.switches, 0, f"wake-ups in {seconds} s")
        tally.check(bench.alarms(), "the alarm of the broker's keep-alive was seen")
    finally:
        bench.air.close()


TESTS = [calls, allocations, idle]


def main(programs: pathlib.Path, names: list) -> tuple:
    tally = Tally("lean")
    for test in TESTS:
        if names and not any(name in test.__name__ for name in names):
            continue
        tally.where = test.__name__
        began = time.monotonic()
        try:
            test(programs, tally)
        except Exception as error:
            tally.check(False, type(error).__name__, error)
        if os.environ.get("ATTO_TIMES"):
            print(f"{test.__name__}: {time.monotonic() - began:.1f} s")
    return tally.passed, tally.failed
