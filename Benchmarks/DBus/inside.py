"""In the lab's machine: measures the pairs, one JSON object each, in turns."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["ATTO_LAB"]) / "guest"))

from daemon import *  # noqa: E402,F401,F403
from peers import *  # noqa: E402,F403

COUNT = 5000
READS = 1000
SERVICE, READ, WRITE, NOTIFY, SECRET = (
    f"a770{number:04x}-0000-4000-8000-00805f9b34fb" for number in range(5))
PROFILE = {"name": "Same", "services": [{"uuid": SERVICE, "characteristics": [
    {"uuid": READ, "properties": ["read"], "value": {"repeat": "5a", "count": 20}},
    {"uuid": WRITE, "properties": ["read", "write"], "value": "hex:00", "maxLength": 20},
    {"uuid": NOTIFY, "properties": ["notify"], "behaviour": {
        "burst": {"count": COUNT, "size": 20, "on": "subscribe"}}}]}]}


def cpu(*processes) -> float:
    """Seconds of a processor that all threads of these have used so far, to the nanosecond."""
    total = 0
    for process in processes:
        for thread in Path(f"/proc/{process.process.pid}/task").iterdir():
            total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e9


def event(process, name: str) -> dict:
    while True:
        line = process.line(60)
        check(line is not None, "no", name, process.errors)
        told = json.loads(line)
        if told["event"] == name:
            return told


def ours_as_client(server_processes) -> dict:
    """Atto as the client of whoever serves at hci1. Its lines are read here, and cost too."""
    start = time.monotonic()
    atto("--help")
    began = time.monotonic() - start
    start = time.monotonic()
    found = atto("discover", endpoint(), "--json").objects()[0]
    took = time.monotonic() - start
    handle = {it["uuid"]: it["valueHandle"] for service in found["services"]
              for it in service["characteristics"]}
    request = f"0a{handle[READ].to_bytes(2, 'little').hex()}"
    reader = client("raw", endpoint(), *[request] * (READS + 1), "--json", "--for", "0.01")
    reader.line()
    reader.line()
    start = time.monotonic()
    for _ in range(2 * READS):
        reader.line()
    reads = READS / (time.monotonic() - start)
    reader.wait()
    before = cpu(*server_processes)
    subscriber = client("subscribe", endpoint(), handle[NOTIFY], "--count", COUNT, "--json")
    subscriber.line()
    used, served, start = cpu(subscriber), cpu(*server_processes), time.monotonic()
    for _ in range(COUNT - 2):
        subscriber.line(20)
    rate = (COUNT - 2) / (time.monotonic() - start)
    client_cpu = cpu(subscriber) - used
    server_cpu = cpu(*server_processes) - served
    subscriber.wait()
    return {"notifications": rate, "lost": 0, "reads": reads, "found": took * 1e3,
            "start": began * 1e3, "serverCPU": server_cpu / COUNT * 1e6, "clientCPU": client_cpu / COUNT * 1e6}


def our_server() -> Server:
    with open("same.json", "w") as file:
        json.dump(PROFILE, file)
    return Server("", "--mtu", "517", listen="le:@hci1", path="same.json")


def atto_to_atto() -> dict:
    with our_server() as server:
        return ours_as_client([server])


def dbus_to_atto() -> dict:
    """The D-Bus side serves."""
    with Daemon() as daemon:
        app = daemon.app("server", "hci1")
        event(app, "ready")
        advertise(1)
        result = ours_as_client([app, daemon.daemon, daemon.bus])
        app.end()
        reset()
        return result


def atto_to_dbus() -> dict:
    """The D-Bus side is the client."""
    with Daemon() as daemon, our_server() as server:
        app = daemon.app("client", "hci0", ADDRESSES[1], READ, "", NOTIFY, COUNT, READS)
        found = event(app, "connected")
        reads = event(app, "reads")
        processes = [app, daemon.daemon, daemon.bus]
        used, served = cpu(*processes), cpu(server)
        told = event(app, "notifications")
        client_cpu, server_cpu = cpu(*processes) - used, cpu(server) - served
        app.wait()
        server.end()
        reset()
        check(told["inOrder"], told)
        return {"notifications": told["count"] / told["seconds"],
                "lost": 100 * (COUNT - told["count"]) / COUNT,
                "reads": reads["count"] / reads["seconds"], "found": found["discovered"] * 1e3,
                "start": 0,
                "serverCPU": server_cpu / told["count"] * 1e6,
                "clientCPU": client_cpu / told["count"] * 1e6}


os.makedirs("/run/tmp/dbus", exist_ok=True)
os.chdir("/run/tmp/dbus")
# The first round has everything read from the disk and is not told.
for run_number in range(-1, int(sys.argv[1])):
    for pair, measure in (("atto -> atto", atto_to_atto), ("atto -> D-Bus", atto_to_dbus),
                          ("D-Bus -> atto", dbus_to_atto)):
        found = {"pair": pair, "run": run_number, **measure()}
        if run_number >= 0:
            print(json.dumps(found), flush=True)
        reset()
