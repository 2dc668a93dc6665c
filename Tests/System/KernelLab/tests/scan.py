"""Scans: what each option lets through and holds back, repetitions, the time, two programs, and
devices that go. The strength of signals is in the test `bumble`: these controllers tell none."""
from peers import *

SERVICES, LONG_SERVICES, NAME = 0x03, 0x07, 0x09
LONG = "12345678-1234-1234-1234-123456789abc"


def data(*structures: tuple[int, bytes]) -> bytes:
    return b"".join(bytes([len(octets) + 1, kind]) + octets for kind, octets in structures)


def scan(*words, status=0, adapter=0) -> list[dict]:
    return atto("scan", f"le:@hci{adapter}", "--json", *words, status=status).objects()


def uuid(text: str) -> bytes:
    return bytes.fromhex(text.replace("-", ""))[::-1]


# A device of which another program is told, and that goes in the end.
watcher = client("scan", "le:@hci2", "--json", "--service", "1816")
with on_air({3: (data((SERVICES, uuid("1816"))), data((NAME, b"Brief")))}):
    watcher.expect(ADDRESSES[3] + '.*"found"')

# One that says its services in the advertisement and its name in the scan response, and one that
# says all in the one.
split = (data((SERVICES, uuid("180D")), (LONG_SERVICES, uuid(LONG))), data((NAME, b"Split")))
whole = (data((SERVICES, uuid("180F")), (NAME, b"Whole")), b"")
with on_air({1: split, 2: whole}):
    for words, wanted in [
        (["--name", "Split"], 1), (["--name", "Whole"], 2),
        (["--service", "180D"], 1), (["--service", "180f"], 2), (["--service", LONG], 1),
        (["--address", ADDRESSES[2]], 2), (["--address", f"{ADDRESSES[1]}/public"], 1),
        (["--service", "180D", "--name", "Split"], 1),
        (["--service", "180F", "--name", "Whole", "--address", ADDRESSES[2]], 2),
    ]:
        found = scan(*words, "--count", 1, "--for", PATIENCE)[0]
        check((found["event"], found["address"]) == ("found", ADDRESSES[wanted]), words, found)
        if "--name" in words:
            services = [LONG, "180d"] if wanted == 1 else ["180f"]
            check(found["name"] == words[words.index("--name") + 1], words, found)
            check(sorted(found["services"]) == services, words, found)
    for words in [
        ["--name", "split"], ["--name", "Spli"], ["--service", "1810"], ["--address", ADDRESSES[0]],
        ["--address", f"{ADDRESSES[1]}/random"], ["--service", "180F", "--name", "Split"],
        # A strength that nobody tells is not known to be enough.
        ["--rssi", "-127"],
    ]:
        found = scan(*words, "--for", 3)
        check(not found, words, found)

    # It ends at its time, though nothing is wrong; each device is found once, and seen again only
    # with news: here the scan response.
    ended = atto("scan", "le:@hci0", "--json", "--for", 3, "--address", ADDRESSES[1])
    check(ended.seconds >= 3, ended)
    told = ended.objects()
    check([line["event"] for line in told] in (["found"], ["found", "seen"]), told)
    check(told[-1]["name"] == "Split", told)
    # With duplicates it goes on.
    repeated = client("scan", "le:@hci0", "--json", "--duplicates", "--address", ADDRESSES[2])
    lines = [json.loads(line) for line in repeated.expect('"seen"', 3)]
    check(lines[-1] == lines[-2], lines)
    repeated.signal(signal.SIGINT)
    check(repeated.wait() == 0, repeated.errors)

# While one program looks for a service, another on the same adapter hears everything. (The
# kernel's discovery is the first one's for 10.24 s.)
first = client("scan", "le:@hci0", "--json", "--service", "1816")
time.sleep(1)
other = client("scan", "le:@hci0", "--json", "--name", "Late", "--count", 1, "--for", 5)
deadline = time.monotonic() + PATIENCE
while other.process.poll() is None and time.monotonic() < deadline:
    # Told once each time.
    control.advertise(1, data((SERVICES, uuid("180D"))), data((NAME, b"Late")))
    time.sleep(0.5)
check(other.wait() == 0, other.errors)
first.signal(signal.SIGINT)
check(first.wait() == 0 and not first.drain()[:-1], first.errors)

# 25 s after it was heard last.
start = time.monotonic()
watcher.expect(ADDRESSES[3] + '.*"gone"')
print(f"gone after {time.monotonic() - start:.1f} s more")
check(not [line for line in watcher.drain() if ADDRESSES[1] in line])
watcher.signal(signal.SIGINT)
check(watcher.wait() == 0, watcher.errors)
