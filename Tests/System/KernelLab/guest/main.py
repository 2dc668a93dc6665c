"""In the machine: controllers, the trace, and the command."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import mgmt
from patience import PATIENCE

WORK = Path("/run/lab")


def start_controllers(count: int) -> subprocess.Popen:
    """Controllers that hear each other, powered."""
    radio = subprocess.Popen(
        ["btvirt", f"-l{count}"], stdin=subprocess.DEVNULL, stdout=open(WORK / "btvirt.log", "w"),
        stderr=subprocess.STDOUT)
    control = mgmt.Mgmt()
    deadline = time.monotonic() + PATIENCE
    # Asked again and again: an index is announced before it is ready to be set up.
    while len(control.indexes()) < count:
        if time.monotonic() > deadline or radio.poll() is not None:
            raise SystemExit("lab: the controllers did not come")
        time.sleep(0.02)
    for index in range(count):
        control.setup(index)
    # Off in some kernels; `doctor` and `enhanced` try both.
    parameter = Path("/sys/module/bluetooth/parameters/enable_ecred")
    if parameter.exists():
        parameter.write_text("1")
    return radio


def start_trace() -> subprocess.Popen:
    file = WORK / "trace.btsnoop"
    trace = subprocess.Popen(
        [sys.executable, "-B", str(Path(__file__).with_name("monitor.py")), str(file)],
        stdin=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE
    while not (file.exists() and file.stat().st_size >= 16):
        if time.monotonic() > deadline or trace.poll() is not None:
            raise SystemExit("lab: the recorder did not begin")
        time.sleep(0.02)
    return trace


def main() -> None:
    os.environ["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    job = json.loads((WORK / "job.json").read_text())
    os.environ.update(job["environment"])
    os.environ["TMPDIR"] = "/run/tmp"
    radio = start_controllers(job["controllers"])
    trace = start_trace() if job["trace"] else None
    try:
        status = subprocess.run(
            job["command"], cwd=job["folder"], stdin=subprocess.DEVNULL,
            stdout=open(WORK / "stdout", "wb"), stderr=open(WORK / "stderr", "wb")).returncode
    except OSError as error:
        (WORK / "stderr").write_text(f"lab: {error}\n")
        status = 127
    # A signal's end as a shell tells it.
    (WORK / "status").write_text(str(status if status >= 0 else 128 - status))
    if trace:
        trace.send_signal(signal.SIGTERM)
        trace.wait(5)
    radio.kill()
    radio.wait()


if __name__ == "__main__":
    main()
