"""In the lab's machine: bleak on Atto and bleak on BlueZ against the same peer, `atto serve` on hci1.

Prints a JSON object for each backend. Run by `compare`.
"""

import asyncio
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

from bleak import BleakClient, BleakScanner

from atto.bleak import AttoClient, AttoScanner

READS, NOTIFICATIONS, WRITES, CONNECTIONS = 200, 2000, 1000, 3
SIZE = 20
PROFILE = {"name": "Compared", "advertising": {"localName": "Compared"}, "services": [
    {"uuid": "A000", "characteristics": [
        {"uuid": "A001", "properties": ["read"], "value": {"repeat": "31", "count": SIZE}},
        {"uuid": "A002", "properties": ["notify"],
         "behaviour": {"burst": {"count": NOTIFICATIONS, "size": SIZE, "on": "subscribe"}}},
        {"uuid": "A003", "properties": ["read", "write", "writeWithoutResponse"], "maxLength": SIZE,
         "behaviour": {"tally": True}}]}]}
DAEMONS = ["/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd"]
PATIENCE = 60
TICKS = os.sysconf("SC_CLK_TCK")
# The peer.
server = 0


def ticks(name):
    """The processor time of all processes of a name, in ticks."""
    total = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            before, _, after = stat.read_text().rpartition(") ")
            if before.partition("(")[2] == name and int(stat.parent.name) != server:
                total += sum(map(int, after.split()[11:13]))
    return total


class Processor:
    """The processor time of this process and of those that work for it."""

    def __init__(self, helpers):
        self.helpers = helpers

    def __enter__(self):
        self.begun = self.used()
        self.start = time.monotonic()
        return self

    def used(self):
        return time.process_time() + sum(map(ticks, self.helpers)) / TICKS

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self.start
        self.cpu = self.used() - self.begun


async def measure(name, helpers, scanner, client):
    found = {"backend": name}
    device = await BleakScanner.find_device_by_name("Compared", timeout=PATIENCE, **scanner)
    assert device is not None, f"{name} finds no device"
    times = []
    for _ in range(CONNECTIONS):
        begun = time.monotonic()
        async with BleakClient(device, timeout=PATIENCE, **client):
            times.append(time.monotonic() - begun)
    found["connectSeconds"] = sorted(times)[len(times) // 2]
    async with BleakClient(device, timeout=PATIENCE, **client) as connected:
        with Processor(helpers) as used:
            for _ in range(READS):
                assert len(await connected.read_gatt_char("A001")) == SIZE
        found["readsPerSecond"] = READS / used.seconds
        found["readCPU"] = used.cpu / READS * 1e6
        numbers, last = [], time.monotonic()
        complete = asyncio.Event()

        def receive(_, data):
            nonlocal last
            numbers.append(int.from_bytes(data[:4], "little"))
            last = time.monotonic()
            if numbers[-1] == NOTIFICATIONS - 1:
                complete.set()

        with Processor(helpers) as used:
            begun = time.monotonic()
            await connected.start_notify("A002", receive)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(complete.wait(), PATIENCE)
        found["notified"] = len(numbers)
        found["notificationsPerSecond"] = len(numbers) / (last - begun)
        found["notificationCPU"] = used.cpu / max(1, len(numbers)) * 1e6
        with Processor(helpers) as used:
            for number in range(WRITES):
                await connected.write_gatt_char(
                    "A003", number.to_bytes(4, "little") + bytes(SIZE - 4), response=False)
            # Answered after them.
            tally = await connected.read_gatt_char("A003")
        found["written"] = int.from_bytes(tally[:8], "little")
        found["writesPerSecond"] = WRITES / used.seconds
        found["writeCPU"] = used.cpu / WRITES * 1e6
    print(json.dumps(found), flush=True)


@contextlib.contextmanager
def running(*words, ready=None):
    process = subprocess.Popen(words, stdout=subprocess.PIPE if ready else subprocess.DEVNULL, text=True)
    try:
        if ready:
            while ready not in process.stdout.readline():
                assert process.poll() is None, words
        yield process
    finally:
        process.kill()
        process.wait()


def main():
    with open("compared.json", "w", encoding="utf-8") as file:
        json.dump(PROFILE, file)
    serving = [os.environ["ATTO"], "serve", "compared.json", "--listen", "le:@hci1"]
    global server
    with running(*serving, ready="listening") as peer:
        server = peer.pid
        asyncio.run(measure(
            "atto", ["atto"], {"backend": AttoScanner, "radio": "le:@hci0"},
            {"backend": AttoClient}))
    os.makedirs("/run/dbus", exist_ok=True)
    daemon = next(path for path in DAEMONS if os.path.exists(path))
    with running("dbus-daemon", "--system", "--nofork", "--nopidfile"):
        while not os.path.exists("/run/dbus/system_bus_socket"):
            time.sleep(0.05)
        with running(daemon, "-n"):
            waiter = pathlib.Path(__file__).parents[1] / "KernelLab" / "guest" / "bluez.py"
            subprocess.run(["/usr/bin/python3", "-B", str(waiter), "wait", "2"], check=True)
            # It listens later than the daemon, and so gets the connections.
            with running(*serving, ready="listening"):
                adapter = {"bluez": {"adapter": "hci0"}}
                asyncio.run(measure("bluez", ["bluetoothd", "dbus-daemon"], adapter, adapter))


sys.exit(main())
