"""The one test command: installs what is missing, builds Atto and checks everything.

    Tests/run            a debug build and the steps that it is enough for: no emulated kernel, no
                         Bumble, no simulation, counts, leaks, fuzzing or sanitizers
    Tests/run --all      everything but the soak and the steps that run only where they are named
    Tests/run STEP...    these steps and the builds that they need; Tests/run --steps lists them
    Tests/run --all STEP...
                         these steps, with the optimised build and the sanitizers
    Tests/run soak [--minutes N]
                         an hour, or N minutes, of clients that come and go; only where it is named

Debian packages that are missing are installed with apt-get, as root or through sudo where that asks
for no password. Otherwise the line to run is printed, and what needs one of them is left out: it counts
as skipped, and with --all as failed. Downloads stay in ~/.cache/atto, or in $XDG_CACHE_HOME/atto.

Each step has a time limit and must not leave a process behind. The output of each step is kept in
.build/test-logs, and the output of a failed step is printed. The run ends with the failures, the time of
each step, the reasons for what was skipped, and `N passed, N failed, N skipped`. The exit status is 0 if
nothing failed.
"""

import argparse
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import packages
import running
import steps
from running import LOGS, ROOT, Job

# Steps start together while the sum of their loads is at most this. A build waits now and then for
# one compilation, so that light steps fit beside it.
CAPACITY = 2.0


class Run:
    def __init__(self, chosen: list):
        self.waiting = chosen
        self.missing = {}
        self.left_out = set()
        self.running = []
        self.has_passed = {}
        self.ended = []
        self.lines = []
        self.passed = self.failed = 0
        # What was left out, each with its reason.
        self.skipped = []
        self.begun = time.monotonic()

    def install(self) -> None:
        names = [step.name for step in self.waiting]
        self.missing = packages.missing(names, steps.is_short_run)
        if self.missing:
            packages.install(list(self.missing), LOGS / "packages.log")
            self.missing = packages.missing(names, steps.is_short_run)
        if self.missing:
            print(f"run: {packages.install_line(list(self.missing))}", flush=True)

    def go(self) -> None:
        while self.waiting or self.running:
            for step in list(self.waiting):
                self.consider(step)
            for job in [job for job in self.running if job.has_ended()]:
                self.running.remove(job)
                self.end(job)
            time.sleep(0.05)

    def consider(self, step) -> None:
        """Starts a step if its time has come."""
        lacking = [name for name, users in self.missing.items() if step.name in users]
        if steps.is_short_run and step.name in packages.SKIPPING:
            lacking = []
        broken = [name for name in step.after if self.has_passed.get(name) is False]
        left_out = [name for name in step.after if name in self.left_out]
        if lacking and steps.is_short_run:
            self.leave_out(step, f"not installed: {' '.join(lacking)}")
        elif lacking:
            self.refuse(step, f"not installed: {' '.join(lacking)}")
        elif left_out:
            self.leave_out(step, f"not run, like {' '.join(left_out)}")
        elif broken:
            self.refuse(step, f"not run, because of {' '.join(broken)}")
        elif all(name in self.has_passed for name in step.after):
            load = sum(job.step.load for job in self.running)
            if not self.running or load + step.load <= CAPACITY:
                self.waiting.remove(step)
                self.running.append(Job(step))

    def refuse(self, step, reason: str) -> None:
        self.waiting.remove(step)
        self.has_passed[step.name] = False
        self.failed += 1
        self.say(f"{step.name:18}               0 passed, 1 failed   {reason}")

    def leave_out(self, step, reason: str) -> None:
        self.waiting.remove(step)
        self.left_out.add(step.name)
        self.skipped.append(f"skipped: {step.name}: {reason}")
        self.say(f"{step.name:18}               skipped   {reason}")

    def say(self, line: str) -> None:
        self.lines.append(line)
        print(line, flush=True)

    def end(self, job: Job) -> None:
        name = job.step.name
        self.ended.append(job)
        self.has_passed[name] = job.failed == 0
        self.passed += job.passed
        self.failed += job.failed
        self.skipped += [f"{line}   ({name})" for line in job.skipped]
        skipped = f", {len(job.skipped)} skipped" if job.skipped else ""
        self.say(f"{name:18} {job.seconds:5.0f} s {job.cpu:5.0f} s   "
                 f"{job.passed} passed, {job.failed} failed{skipped}")
        for line in job.shown() if job.failed else job.notable():
            print(f"  | {line}", flush=True)

    def finish(self) -> int:
        print()
        for job in self.ended:
            if job.failed:
                print(f"failures of {job.step.name}:")
                print("".join(f"    {line}\n" for line in job.culprits()))
        print(f"{'step':18} {'time':>7} {'CPU':>7}")
        print("\n".join(self.lines))
        cpu = sum(job.cpu for job in self.ended)
        print(f"{'total':18} {time.monotonic() - self.begun:5.0f} s {cpu:5.0f} s")
        if self.missing and steps.is_short_run:
            print(f"to run what was left out: {packages.install_line(list(self.missing))}")
        print("".join(f"{line}\n" for line in dict.fromkeys(self.skipped)), end="")
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        print(f"{self.passed} passed, {self.failed} failed{skipped}", flush=True)
        return 1 if self.failed else 0


def chosen_steps(parser, names: list) -> list:
    known = {step.name: step for step in steps.STEPS}
    if steps.is_short_run:
        for step in steps.STEPS:
            step.after = ["build" if name == "release" else name for name in step.after]
    if not names:
        return [
            step for step in steps.STEPS
            if step.is_default and (step.is_short or not steps.is_short_run)]
    wanted = set()

    def add(name: str) -> None:
        if name not in known:
            parser.error(f'unknown step "{name}"; Tests/run --steps lists them')
        wanted.add(name)
        for other in known[name].after:
            add(other)

    for name in names:
        add(name)
    return [step for step in steps.STEPS if step.name in wanted]


def yield_processors() -> None:
    """Takes a tenth of the time of another process that computes, also of another session where the kernel
    groups processes by session. With less, a step would not end within its limit on a machine that
    somebody else uses."""
    os.nice(10)
    try:
        pathlib.Path("/proc/self/autogroup").write_text("10")
    except OSError:
        pass


def run_inside(name: str) -> int:
    """Runs one step in this process, which the runner has started for it."""
    step = next(step for step in steps.STEPS if step.name == name)
    if step.is_patient:
        yield_processors()
    try:
        step.run()
    except steps.Failure as failure:
        print(failure)
        return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="Tests/run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="Tests/run [--all] [--minutes N] [STEP...]")
    parser.add_argument("--all", action="store_true", help=argparse.SUPPRESS)
    # The former name of the run without --all.
    parser.add_argument("--quick", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--steps", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--minutes", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="STEP", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    os.chdir(ROOT)
    if arguments.inside:
        steps.is_short_run = "ATTO_SHORT" in os.environ
        return run_inside(arguments.inside)
    if arguments.steps:
        print("\n".join(step.name for step in steps.STEPS))
        return 0
    if arguments.all and arguments.quick:
        parser.error("--all cannot be combined with --quick")
    # A step that only --all has needs the builds of --all.
    steps.is_short_run = not arguments.all and all(
        step.is_short for step in steps.STEPS if step.name in arguments.names)
    os.environ.pop("ATTO_SHORT", None)
    if steps.is_short_run:
        os.environ["ATTO_SHORT"] = "1"
    if arguments.minutes is not None:
        os.environ["ATTO_SOAK_MINUTES"] = str(arguments.minutes)
        soak = next(step for step in steps.STEPS if step.name == "soak")
        soak.limit = int(60 * (arguments.minutes + 30))
    run = Run(chosen_steps(parser, arguments.names))

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))
    LOGS.mkdir(parents=True, exist_ok=True)
    # Files of a test that is cut short are removed with this folder. Its path is short, because a
    # Unix socket's has at most 107 bytes.
    folder = tempfile.mkdtemp(prefix="atto-")
    os.environ |= {"TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        run.install()
        run.go()
        return run.finish()
    finally:
        for job in run.running:
            job.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
