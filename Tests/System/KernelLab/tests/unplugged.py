"""Controllers vanish during a transfer: each user of them ends, soon and with the reason."""
from peers import *

# A second emulator, so that the machine keeps its first four controllers. The addresses begin
# anew in it, so only its last two have addresses of their own.
FIRST, LAST = 8, 9


def plug() -> subprocess.Popen:
    radio = subprocess.Popen(["btvirt", "-l6"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE
    while not {FIRST, LAST} <= set(control.indexes()):
        check(time.monotonic() < deadline, "the controllers did not come", control.indexes())
        time.sleep(0.05)
    for index in (FIRST, LAST):
        control.setup(index)
    return radio


def ends(process: Process, status: int, *parts: str) -> None:
    start = time.monotonic()
    found = process.wait()
    print(f"{time.monotonic() - start:.2f} s, status {found}: {process.errors.strip()}")
    check(found == status, found, process.errors)
    for part in parts:
        check(part in process.errors, part, "in", process.errors)


there = control.indexes()
radio = plug()
watcher = client("adapters", "--watch", "--json")
for _ in range(len(control.indexes())):
    watcher.line()
server = Server("uart", listen=f"le:@hci{LAST}")
peer = f"le:{control.address(LAST)}@hci{FIRST}"
subscriber = client("subscribe", peer, "0x001A", "--mtu", "517", "--json")
for _ in range(200):
    subscriber.line()
radio.kill()
radio.wait()
ends(subscriber, 3, f"hci{FIRST} was removed")
ends(server, 3, f"hci{LAST}", "was removed")
removed = {json.loads(watcher.line())["adapter"] for _ in range(6)}
check({f"hci{FIRST}", f"hci{LAST}"} <= removed, removed)
watcher.signal(signal.SIGINT)
watcher.wait()

# What waits: a scan, an advertisement, an attempt to connect, one to pair.
radio = plug()
names = {line["adapter"] for line in atto("adapters", "--json").objects()}
check({f"hci{FIRST}", f"hci{LAST}"} <= names, names)
scan = client("scan", f"le:@hci{FIRST}", "--json")
advertiser = client("advertise", f"le:@hci{LAST}", "--name", "Brief", "--json")
check(json.loads(advertiser.line())["event"] == "advertising")
found = json.loads(scan.line())
check(found["name"] == "Brief", found)
absent = client("read", f"le:00:11:22:33:44:55@hci{FIRST}", "1", "--timeout", "100")
pairing = client("pair", f"le:00:11:22:33:44:56@hci{LAST}")
time.sleep(0.5)
radio.kill()
radio.wait()
ends(scan, 3, f"hci{FIRST}", "was removed")
ends(advertiser, 3, f"hci{LAST}", "was removed")
ends(pairing, 3, f"hci{LAST}")
ends(absent, 3)
check(sorted(control.indexes()) == sorted(there), control.indexes())
missing = atto("scan", f"le:@hci{FIRST}", status=3)
check(f"no adapter hci{FIRST}" in missing.errors, missing)
missing = atto("read", f"le:00:11:22:33:44:55@hci{FIRST}", "1", status=3)
check("no such adapter" in missing.errors and missing.seconds < 10, missing)
