"""bluetoothd and the bus that it needs, for a test; Debian's Python for what speaks to it."""

import json
import os
import shutil
import time
from pathlib import Path

from peers import PATIENCE, Process, check, control, run

HERE = Path(__file__).parent
SYSTEM_BUS = "/run/dbus/system_bus_socket"
DAEMONS = ["/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd"]

# In a root of its own, with the machine's bus and devices; the mounts end with it.
ENTER = """
for name in proc sys dev run; do mkdir -p "$0/$name"; mount --rbind "/$name" "$0/$name"; done
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket
exec chroot "$0" "$@"
"""


def event(process: Process, name: str) -> dict:
    """The next event of this name."""
    while True:
        line = process.line()
        check(line is not None, "the app ended before", name, process.errors)
        told = json.loads(line)
        if told["event"] == name:
            return told


class Daemon:
    """bluetoothd with all adapters, which are set up again when it has ended.

    `configuration` is its main.conf; without one it has Debian's. Adapters `without` are not waited for.
    """

    def __init__(self, configuration: str | None = None, without: int = 0):
        self.words = []
        self.without = without
        if configuration is not None:
            Path("main.conf").write_text(configuration)
            self.words = ["-f", os.path.abspath("main.conf")]

    def __enter__(self) -> "Daemon":
        os.makedirs("/run/dbus", exist_ok=True)
        self.bus = Process("dbus-daemon", "--system", "--nofork", "--nopidfile")
        self.until(lambda: os.path.exists(SYSTEM_BUS), self.bus)
        root = os.environ.get("BLUEZ_ROOT")
        start = ["unshare", "--mount", "sh", "-c", ENTER, root] if root else []
        program = next((path for path in DAEMONS if os.path.exists(f"{root or ''}{path}")), "bluetoothd")
        self.version = run([*start, program, "--version"]).output.strip()
        print("bluetoothd", self.version, flush=True)
        self.daemon = Process(*start, program, "-n", *self.words)
        # Only then it listens; who shall get its connections listens later.
        waiting = self.app("wait", len(control.indexes()) - self.without)
        check(waiting.wait() == 0, waiting.errors, self.daemon.errors)
        return self

    def until(self, is_so, process: Process) -> None:
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            check(time.monotonic() < deadline and process.process.poll() is None, process.errors)
            time.sleep(0.02)

    def app(self, *words) -> Process:
        return Process("/usr/bin/python3", "-B", str(HERE / "bluez.py"), *map(str, words))

    def __exit__(self, *_) -> None:
        self.daemon.end()
        self.bus.end()
        os.unlink(SYSTEM_BUS)
        # Its bonds, and what it knows of peers.
        shutil.rmtree(f"{os.environ.get('BLUEZ_ROOT', '')}/var/lib/bluetooth", ignore_errors=True)
        for index in control.indexes():
            control.setup(index)
