"""One run of the machine, from power-on to power-off."""

import ctypes
import json
import mmap
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import packages
from .parts import FOLDER, Parts, lab_folder
from .trouble import COMPLAINT, complaints, readable_log

# Which a machine with a system of its own sees in the same place.
PROJECT = FOLDER.parents[2]
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
# Beside the command's own status.
DEADLINE_STATUS = 124
LAB_STATUS = 125


@dataclass
class Job:
    """What shall be done inside."""

    command: list[str]
    controllers: int = 2
    timeout: float = 60
    environment: dict[str, str] = field(default_factory=dict)
    trace: bool = True
    shows_faults: bool = True
    # Called with the folder that the machine sees as /run/lab, before power-on.
    prepares: Callable[[Path], None] = lambda folder: None


def tsc_rate() -> str:
    """The kernel's option for the rate of the time stamp counter, which is this processor's. A kernel that
    measures it on a busy host may be wrong by a factor of ten. All its time limits are too short then."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
    code.write(bytes.fromhex("0f31 48c1e220 4809d0 c3"))
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def moment() -> tuple[int, int]:
        """Nanoseconds and the counter, read with the least time between them."""
        clock = lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)  # noqa: E731
        tries = [(clock(), read(), clock()) for _ in range(20)]
        before, count, after = min(tries, key=lambda one: one[2] - one[0])
        return (before + after) // 2, count

    (begin, first), _, (end, last) = moment(), time.sleep(0.1), moment()
    return f"tsc_early_khz={(last - first) * 1_000_000 // (end - begin)}"


class Run:
    """A run in a folder of its own, where what the machine brings back is written."""

    def __init__(self, parts: Parts, job: Job, folder: Path, output):
        self.parts = parts
        self.job = job
        self.folder = folder
        self.streams = {"stdout": output, "stderr": sys.stderr.buffer}
        self.shown = {"stdout": 0, "stderr": 0}

    def go(self) -> int:
        """Boots, follows the command's output, and gives the status to end with."""
        self.describe_job()
        self.job.prepares(self.folder)
        start = time.monotonic()
        # Where this process is killed, `finally` is not reached.
        prctl = ctypes.CDLL(None).prctl
        machine = subprocess.Popen(
            self.qemu(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(self.folder / "qemu.log", "w"),
            preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        late = False
        try:
            while machine.poll() is None:
                self.forward()
                if time.monotonic() - start > self.job.timeout:
                    late = True
                    break
                time.sleep(0.05)
        finally:
            # Also when we are interrupted: the machine does not outlive us.
            machine.kill()
            machine.wait()
        self.forward()
        return self.judge(late)

    def describe_job(self) -> None:
        environment = {
            name: value for name, value in os.environ.items()
            if name in ("LANG", "HOME", "TERM", "XDG_CACHE_HOME") or name.startswith("ATTO")}
        environment.update(self.job.environment)
        environment["PATH"] = f"{FOLDER}/guest:" + packages.SEARCH_PATH
        (self.folder / "job.json").write_text(json.dumps({
            "command": self.job.command, "folder": os.getcwd(), "environment": environment,
            "controllers": self.job.controllers, "trace": self.job.trace}))
        # What the init starts in the host's root, or in that of its own system.
        (self.folder / "start").write_text(f"{self.parts.python} -I {FOLDER}/guest/main.py\n")
        if not self.parts.processor.is_ours:
            (self.folder / "project").write_text(f"{PROJECT}\n")

    def qemu(self) -> list[str]:
        processor = self.parts.processor
        words = [
            packages.which(processor.emulator),
            # Software only: a KVM that is there need not work inside another machine.
            "-accel", "tcg,thread=multi", *processor.machine, "-smp", "2", "-m", "1024",
            "-nodefaults", "-display", "none", "-no-reboot",
            "-serial", f"file:{self.folder}/console.log",
            "-kernel", str(self.parts.kernel), "-initrd", str(self.parts.initramfs),
            "-append", f"{processor.kernel_options} loglevel=5 panic=-1 oops=panic rdinit=/init mitigations=off "
            f"{tsc_rate() if processor.name == 'amd64' and processor.is_ours else ''} "
            # At addresses that stay Python starts in two thirds of the time.
            "norandmaps nokaslr",
            "-virtfs", f"local,path={self.parts.root},mount_tag=host,security_model=none,readonly=on,"
            "multidevs=remap",
            "-virtfs", f"local,path={self.folder},mount_tag=work,security_model=none",
        ]
        if not processor.is_ours:
            words += [
                "-virtfs", f"local,path={PROJECT},mount_tag=project,security_model=none,readonly=on,"
                "multidevs=remap"]
        return words

    def forward(self) -> None:
        """Shows what the command has written since."""
        for name, stream in self.streams.items():
            path = self.folder / name
            if not path.exists():
                continue
            with open(path, "rb") as file:
                file.seek(self.shown[name])
                octets = file.read()
            if octets:
                self.shown[name] += len(octets)
                stream.write(octets)
                stream.flush()

    def judge(self, late: bool) -> int:
        log = self.kernel_log()
        (self.folder / "kernel.log").write_text(log)
        faults = complaints(log)
        status = self.folder / "status"
        if faults and (self.job.shows_faults or not status.exists()):
            self.report("the kernel complains", log, faults[0])
        if faults:
            return LAB_STATUS
        if late:
            self.report(f"the deadline of {self.job.timeout:g} s has passed", log)
            return DEADLINE_STATUS
        if not status.exists():
            self.report("the machine ended before the command did", log)
            return LAB_STATUS
        return int(status.read_text())

    def kernel_log(self) -> str:
        """From the machine's own record; what it could not write any more is on the console."""
        path = self.folder / "kmsg"
        log = readable_log(path.read_text(errors="replace")) if path.exists() else ""
        console = (self.folder / "console.log").read_text(errors="replace")
        if not log or COMPLAINT.search(console):
            log += "--- console\n" + console
        return log

    def report(self, what: str, log: str, first: str | None = None) -> None:
        lines = log.splitlines()
        start = lines.index(first) - 3 if first else len(lines) - 40
        for line in lines[max(0, start):][:60]:
            print(f"  {line}", file=sys.stderr)
        qemu = (self.folder / "qemu.log").read_text().strip()
        if qemu:
            print(f"  qemu: {qemu}", file=sys.stderr)
        packages.say(what)


def run(parts: Parts, job: Job, keep: Path | None = None, output=None) -> int:
    """Runs a job; with `keep` what it brings back stays in that folder. The command's output
    goes to `output`, which takes bytes, and else to our own."""
    output = output or sys.stdout.buffer
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        for name in ("stdout", "stderr", "status", "kmsg", "kernel.log", "trace.btsnoop", "tests"):
            (keep / name).unlink(missing_ok=True)
        return Run(parts, job, keep.resolve(), output).go()
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=lab_folder()))
    try:
        return Run(parts, job, folder, output).go()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
