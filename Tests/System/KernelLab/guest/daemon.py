"""bluetoothd and the bus that it needs, for a test; Debian's Python for what speaks to it."""

import json
import os
import time
from pathlib import Path

from peers import Process, check, control

HERE = Path(__file__).parent
SYSTEM_BUS = "/run/dbus/system_bus_socket"
DAEMONS = ["/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd"]


def event(process: Process, name: str, seconds: float = 30) -> dict:
    """The next event of this name."""
    while True:
        line = process.line(seconds)
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
        program = next((path for path in DAEMONS if os.path.exists(path)), "bluetoothd")
        self.daemon = Process(program, "-n", *self.words)
        # Only then it listens; who shall get its connections listens later.
        waiting = self.app("wait", len(control.indexes()) - self.without)
        check(waiting.wait(30) == 0, waiting.errors, self.daemon.errors)
        return self

    def until(self, is_so, process: Process) -> None:
        deadline = time.monotonic() + 10
        while not is_so():
            check(time.monotonic() < deadline and process.process.poll() is None, process.errors)
            time.sleep(0.02)

    def app(self, *words) -> Process:
        return Process("/usr/bin/python3", "-B", str(HERE / "bluez.py"), *map(str, words))

    def __exit__(self, *_) -> None:
        self.daemon.end()
        self.bus.end()
        os.unlink(SYSTEM_BUS)
        for index in control.indexes():
            control.setup(index)
