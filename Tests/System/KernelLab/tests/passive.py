"""Passive scans by advertisement monitors: what the controller is told, what is heard without the scan
response, scans beside each other, what a killed one leaves, and the gateway's."""
import re

from gateway import Gateway
from monitor import Monitor
from peers import *

SERVICES, NAME = 0x03, 0x09


def data(*structures: tuple[int, bytes]) -> bytes:
    return b"".join(bytes([len(octets) + 1, kind]) + octets for kind, octets in structures)


def scans(path: str) -> list[list[str]]:
    """What btmon shows of each command to hci0 with the parameters of a scan."""
    found: list[list[str] | None] = [None]
    for line in run(["btmon", "-r", path]).output.splitlines():
        if re.match(r"[<>@=] ", line):
            # LE Set Extended Scan Parameters, LE Set Scan Parameters
            is_wanted = re.search(r"\(0x08\|0x00(41|0b)\).*\[hci0\]", line) is not None
            found.append([] if is_wanted else None)
        elif found[-1] is not None:
            found[-1].append(line)
    return [lines for lines in found if lines]


def kinds(path: str) -> list[str]:
    """The types of scan that hci0 was told of since the monitor was saved last."""
    trace.save(path)
    return [kind[1] for lines in scans(path) for line in lines if (kind := re.match(r"\s+Type: (Passive|Active) ", line))]


def timings(path: str) -> set[str]:
    """The intervals and windows that hci0 was told."""
    found = set()
    for lines in scans(path):
        values = [value for line in lines if (value := re.match(r"\s+(Interval|Window): ([0-9.]+) msec", line))]
        # Those of the coded PHY follow, three times as long.
        found |= {f"{value[1]} {float(value[2]):g}" for value in values[:2]}
    return found


def monitors() -> list[int]:
    # What is supported and enabled, the limits, and the number of handles before them.
    octets = control.command(mgmt.READ_MONITORS, 0)[13:]
    return list(struct.unpack(f"<{len(octets) // 2}H", octets))


split = (data((SERVICES, bytes.fromhex("0d18"))), data((NAME, b"Split")))
trace = Monitor()
with on_air({1: split}):
    # 1. Only passive, and without the scan response.
    found = atto(
        "scan", "le:@hci0", "--passive", "--json", "--count", 1, "--for", PATIENCE, "--address",
        ADDRESSES[1]).objects()[0]
    check(found["services"] == ["180d"] and found["scanResponse"] == "", found)
    check(found.get("name") is None, found)
    told = kinds("passive.btsnoop")
    print(f"a passive scan: {told}")
    check(told and set(told) == {"Passive"}, told)
    check(monitors() == [], "a monitor is left", monitors())

    # 2. Another program scans actively meanwhile; the passive scan goes on afterwards.
    first = client("scan", "le:@hci0", "--passive", "--json", "--duplicates", "--address", ADDRESSES[1])
    first.expect('"found"')
    active = atto(
        "scan", "le:@hci0", "--json", "--name", "Split", "--count", 1, "--for", PATIENCE).objects()
    check(active[-1]["name"] == "Split", active)
    told = kinds("both.btsnoop")
    print(f"an active scan beside it: {told}")
    check({"Passive", "Active"} == set(told), told)
    first.drain()
    lines = [json.loads(line) for line in first.expect('"seen"', 3)]
    check(lines[-1].get("name") is None, lines)

    # 3. A killed scan leaves its monitor. The next one removes it, and not that of a scan that lives.
    killed = client("scan", "le:@hci0", "--passive", "--json", "--address", ADDRESSES[1])
    killed.expect('"found"')
    check(len(monitors()) == 2, monitors())
    killed.signal(signal.SIGKILL)
    killed.wait()
    check(len(monitors()) == 2, monitors())
    atto(
        "scan", "le:@hci0", "--passive", "--count", 1, "--for", PATIENCE, "--address", ADDRESSES[1])
    check(len(monitors()) == 1, monitors())
    first.drain()
    first.expect('"seen"')

    # 4. What ends in order leaves nothing.
    for ending in (signal.SIGINT, signal.SIGTERM):
        ended = client("scan", "le:@hci0", "--passive", "--json", "--address", ADDRESSES[1])
        ended.expect('"found"')
        ended.signal(ending)
        ended.wait()
        check(len(monitors()) == 1, ending, monitors())
    first.signal(signal.SIGINT)
    check(first.wait() == 0, first.errors)
    check(monitors() == [], monitors())

    # 5. When the radio listens: as the kernel has it, as it was asked, and then as before. The timing is the adapter's.
    once = ["scan", "le:@hci0", "--count", 1, "--for", PATIENCE, "--address", ADDRESSES[1]]
    asked = ["--scan-window", "45ms", "--scan-interval", "90ms"]
    trace.save("between.btsnoop")
    for kind, usual in ((["--passive"], {"Interval 60", "Window 30"}), ([], {"Interval 11.25", "Window 11.25"})):
        for options, wanted in (([], usual), (asked, {"Interval 90", "Window 45"}), ([], usual)):
            check(atto(*once, *kind, *options).status == 0, kind, options)
            trace.save("timing.btsnoop")
            told = timings("timing.btsnoop")
            print(f"a scan with {kind + options}: {sorted(told)}")
            check(told == wanted, told, wanted)
    told = [line for line in atto("doctor", status=None).output.splitlines() if "passive scan listens" in line]
    check(len(told) >= 1 and "30 of each 60 ms" in told[0], told)

# 6. A gateway whose devices have addresses scans passively, and connects; with names it scans actively.
trace.save("before.btsnoop")
with Server("edges"):
    match = {"address": ADDRESSES[1]}
    gateway = Gateway(adapters=["hci0"], devices=[{"name": "edges", "match": match}],
                      advertisements={"scanWindowMilliseconds": 45, "scanIntervalMilliseconds": 90})
    gateway.until(lambda status: status["devices"][0]["state"] == "connected", "no link")
    told = kinds("gateway.btsnoop")
    print(f"a gateway with an address: {told} {sorted(timings('gateway.btsnoop'))}")
    check({"Interval 90", "Window 45"} <= timings("gateway.btsnoop"), timings("gateway.btsnoop"))
    check(told and set(told) == {"Passive"}, told)
    check(len(monitors()) == 1, monitors())
    gateway.reload(devices=[{"name": "edges", "match": match}, {"name": "other", "match": {"localName": "x"}}])
    gateway.until(lambda status: len(status["devices"]) == 2, "not reloaded")
    deadline = time.monotonic() + PATIENCE
    while monitors() and time.monotonic() < deadline:
        time.sleep(0.2)
    check(not monitors(), monitors())
    told = kinds("named.btsnoop")
    print(f"with a name: {told}")
    check("Active" in told, told)
    gateway.signal(signal.SIGTERM)
    check(gateway.wait() == 0, gateway.errors[-2000:])
check(monitors() == [], monitors())
