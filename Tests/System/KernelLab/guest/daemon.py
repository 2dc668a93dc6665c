"""bluetoothd and the bus that it needs, for a test; Debian's Python for what speaks to it."""

import os
import time
from pathlib import Path

from peers import Process, check, control

HERE = Path(__file__).parent
SYSTEM_BUS = "/run/dbus/system_bus_socket"
DAEMONS = ["/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd"]


class Daemon:
    """bluetoothd with all adapters; they are set up anew when it has ended."""

    def __enter__(self) -> "Daemon":
        os.makedirs("/run/dbus", exist_ok=True)
        self.bus = Process("dbus-daemon", "--system", "--nofork", "--nopidfile")
        self.until(lambda: os.path.exists(SYSTEM_BUS), self.bus)
        program = next((path for path in DAEMONS if os.path.exists(path)), "bluetoothd")
        self.daemon = Process(program, "-n")
        # Only then it listens; who shall get its connections listens later.
        waiting = self.app("wait", len(control.indexes()))
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
