"""atto capture: what passes on the links of all adapters, held against btmon's file and the client's
own; and a relay between two adapters."""
import shutil

from peers import *



def said(process: Process, text: str) -> None:
    """Waits for a text on standard error."""
    deadline = time.monotonic() + PATIENCE
    while text not in process.errors:
        check(time.monotonic() < deadline and process.process.poll() is None, text, process.errors)
        time.sleep(0.02)


def btsnoop(path: str) -> tuple[int, list[tuple[int, bytes]]]:
    """The datalink, and the records: flags and octets."""
    octets = open(path, "rb").read()
    check(octets[:8] == b"btsnoop\0", path, octets[:16])
    at, found = 16, []
    while at < len(octets):
        original, included, flags = struct.unpack_from(">III", octets, at)
        check(original == included, path, at)
        found.append((flags, octets[at + 24:at + 24 + included]))
        at += 24 + included
    check(at == len(octets), "the file ends within a record", at, len(octets))
    return struct.unpack_from(">I", octets, 12)[0], found


def attribute_pdus(records: list[tuple[int, bytes]]) -> list[tuple[bool, str]]:
    return [(flags == 0, octets[9:].hex()) for flags, octets in records if octets[0] == 2]


def address(adapter: int) -> bytes:
    return bytes.fromhex(ADDRESSES[adapter].replace(":", ""))[::-1]


def stopped(process: Process) -> list[dict]:
    process.signal(signal.SIGINT)
    check(process.wait() == 0, process.errors)
    return [json.loads(line) for line in process.drain() if line is not None]


def shown(lines: list[dict], adapter: int) -> list[tuple[bool, str]]:
    return [(line["direction"] == "sent", line["pdu"]) for line in lines
            if line["adapter"] == f"hci{adapter}"]


# Everything, on both adapters of a link.
theirs = Process("btmon", "-w", "theirs.btsnoop")
deadline = time.monotonic() + PATIENCE
while not (os.path.exists("theirs.btsnoop") and os.path.getsize("theirs.btsnoop") > 16):
    check(time.monotonic() < deadline, theirs.errors)
    time.sleep(0.02)
own = client("capture", "--json", "--capture", "own.btsnoop")
packed = client("capture", "hci0", "--capture", "own.pcapng")
filtered = client("capture", "--peer", ADDRESSES[1], "--json")
others = client("capture", "--peer", ADDRESSES[3], "--json")
for process in (own, packed, filtered, others):
    said(process, "capturing on ")
with Server("heart-rate"):
    atto("discover", endpoint(), "--mtu", "100", "--capture", "client.btsnoop")
    atto("read", endpoint(), "0x0029", "--long", "--capture", "reader.btsnoop")
    control.disconnect_all(0)
    control.await_no_connections()
# Whatever is shown after that is shown before its own end.
time.sleep(0.5)
lines = stopped(own)
packed.signal(signal.SIGINT)
check(packed.wait() == 0, packed.errors)
theirs.signal(signal.SIGTERM)
theirs.wait()
check("lost here" not in own.errors, own.errors)

wanted = []
for name in ("client", "reader"):
    datalink, records = btsnoop(f"{name}.btsnoop")
    check(datalink == 1002, name, datalink)
    events = [octets for _, octets in records if octets[0] == 4]
    check([octets[1] for octets in events] == [0x0E, 0x3E, 0x3E, 0x05], name, events)
    check(events[0][-6:] == address(0) and events[2][9:15] == address(1), name, events)
    wanted += attribute_pdus(records)
check(len(wanted) > 15, len(wanted))
check(shown(lines, 0) == wanted, "hci0", shown(lines, 0), wanted)
check(shown(lines, 1) == [(not is_sent, pdu) for is_sent, pdu in wanted], "hci1",
      shown(lines, 1), wanted)
check({(line["adapter"], line["peer"]) for line in lines}
      == {("hci0", ADDRESSES[1]), ("hci1", "00:AA:01:00:00:00")}, lines[:3])
moments = [line["time"] for line in lines]
check(moments == sorted(moments) and abs(moments[-1] - time.time()) < 60, moments)
print(f"{len(lines)} PDUs; the first: {lines[0]}")

# What is for people, and hci0 only.
plain = [line for line in packed.drain() if line is not None]
check(len(plain) == len(wanted), len(plain), len(wanted))
check(all(re.fullmatch(rf"\d\d:\d\d:\d\d\.\d{{6}} hci0 {ADDRESSES[1]} [<>] [0-9a-f]+  .+", line)
          for line in plain), plain[:3])

# By peer: the client's end names it, and the server's does not.
found = stopped(filtered)
check(shown(found, 0) == wanted and shown(found, 1) == [], found[:3])
check(stopped(others) == [])

# The file: what btmon has, octet for octet, in its order.
datalink, records = btsnoop("own.btsnoop")
check(datalink == 2001, datalink)
COMMAND, ACL_RECEIVED = 2, 5


def hci(records, adapter):
    return [(flags, octets) for flags, octets in records
            if COMMAND <= flags & 0xFFFF <= ACL_RECEIVED and flags >> 16 == adapter]


# Adapter by adapter: what two of them do at once the kernel may tell one monitor in another order
# than the next.
btmons = btsnoop("theirs.btsnoop")[1]
for adapter in range(2):
    ours, whole = hci(records, adapter), hci(btmons, adapter)
    # It looked on a little earlier.
    begin = next((at for at in range(len(whole)) if whole[at:at + len(ours)] == ours), None)
    check(begin is not None and len(ours) > 25, adapter, len(ours), len(whole))
    print(f"hci{adapter}: {len(ours)} of btmon's {len(whole)} records, from record {begin}")
decoded = run(["btmon", "-r", "own.btsnoop"]).output
check(decoded.count("ATT: ") >= len(lines), decoded.count("ATT: "), len(lines))
if shutil.which("tshark"):
    read = run(["tshark", "-r", "own.pcapng", "-Y", "btatt", "-T", "fields", "-e", "btatt.opcode"])
    check([line.split(",")[0] for line in read.output.split()]
          == [f"0x{pdu[:2]}" for _, pdu in wanted], read)

# Who may not is told how.
program = "/run/tmp/atto-of-nobody"
shutil.copy(ATTO, program)
os.chmod(program, 0o755)
os.chmod("/run/tmp", 0o755)
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
refused = run([*NOBODY, program, "capture"], 3)
check("CAP_NET_RAW is missing" in refused.errors
      and f"sudo setcap cap_net_raw,cap_net_admin+ep {program}" in refused.errors, refused)
refused = run([*NOBODY, "--no-new-privs", program, "capture", "hci0"], 3)
check("NoNewPrivs" in refused.errors, refused)
granted = Process(*NOBODY, "--inh-caps=+net_raw", "--ambient-caps=+net_raw", program, "capture")
said(granted, "capturing on ")
stopped(granted)
check("atto adapters" in atto("capture", "hci9", status=3).errors)
check("network namespace" in run(["unshare", "--net", ATTO, "capture"], 3).errors)

# A relay: the client hears hci1, and the server is heard by hci2.
reset()
with Server("heart-rate", adapter=3):
    straight = atto("discover", endpoint(server=3, client=2), "--json").output
    reset()
    relay = client("capture", "--listen", "le:@hci1", endpoint(server=3, client=2), "--once",
                   "--json", "--capture", "relay.btsnoop")
    said(relay, "listening on le:@hci1")
    relayed = atto("discover", endpoint(), "--json", "--capture", "relayed.btsnoop")
    check(relayed.output == straight, relayed, straight)
    control.disconnect_all(0)
    check(relay.wait() == 0, relay.errors)
check("client 1 connected: le:" in relay.errors, relay.errors)
passed = attribute_pdus(btsnoop("relay.btsnoop")[1])
check(passed == attribute_pdus(btsnoop("relayed.btsnoop")[1]), passed)
print(f"{len(passed)} PDUs were passed")
