"""--capture: files for other tools."""

import os
import struct
import subprocess
import time

from harness import PATIENCE, contains, equal, expect, test

WANTED = [(True, "026400"), (False, "03f700"), (True, "0a1500"), (False, "0b01")]


def unwrap(hci, is_sent):
    """The attribute PDU in H4, ACL data and L2CAP; every field of those is checked."""
    kind, handle, acl, l2cap, channel = struct.unpack_from("<BHHHH", hci)
    pdu = hci[9:]
    expect(0x40 <= handle & 0xFFF < 0x80, f"handle {handle:04x}")
    equal((kind, channel), (2, 4))
    equal(handle >> 12, 0 if is_sent else 2, "the packet boundary flag")
    equal((acl, l2cap), (len(pdu) + 4, len(pdu)))
    return pdu.hex()


class Links:
    """The connections of a file: each PDU is on one, with known addresses."""

    def __init__(self):
        self.own, self.open, self.all = None, {}, []

    def event(self, hci):
        code, length = hci[1:3]
        body = hci[3:]
        equal((hci[0], len(body)), (4, length))
        if code == 0x0E:
            equal(body[:4], bytes.fromhex("01091000"), "Read BD_ADDR")
            self.own = body[4:]
        elif code == 0x05:
            status, handle, reason = struct.unpack("<BHB", body)
            equal((status, reason in (0x13, 0x16)), (0, True))
            self.open.pop(handle)["reason"] = reason
        elif body[0] == 1:
            status, handle, role, kind = struct.unpack_from("<BHBB", body, 1)
            equal((code, status, len(body)), (0x3E, 0, 19))
            expect(handle not in self.open, f"handle {handle:04x} is in use")
            self.open[handle] = dict(
                handle=handle, own=self.own, peer=body[6:12], kind=kind, role=role)
            self.all.append(self.open[handle])
        else:
            equal((code, body[0]), (0x3E, 2), "an advertising report")

    def pdu(self, hci):
        handle = struct.unpack_from("<H", hci, 1)[0] & 0xFFF
        expect(self.own and handle in self.open, f"a PDU outside of connections: {hci.hex()}")


def links(path):
    """The connections of a file."""
    found = Links()
    (pcapng if path.endswith("pcapng") else btsnoop)(path, links=found)
    return found.all


def btsnoop(path, dropped=0, links=None):
    """The PDUs of a file whose last records say that this many are missing."""
    links = links or Links()
    octets = open(path, "rb").read()
    size = len(octets)
    equal(octets[:16], b"btsnoop\0" + struct.pack(">II", 1, 1002))
    at, found = 16, []
    while at < len(octets):
        original, included, flags, drops, stamp = struct.unpack_from(">IIIIQ", octets, at)
        equal((original, drops), (included, drops if dropped and at < size - 72 else dropped))
        hci = octets[at + 24:at + 24 + included]
        at += 24 + included
        if flags == 3:
            links.event(hci)
            continue
        links.pdu(hci)
        found.append((flags == 0, unwrap(hci, flags == 0), (stamp - 0x00DCDDB30F2F8000) / 1e6))
    return found


def pcapng(path, dropped=0, links=None):
    links = links or Links()
    octets = open(path, "rb").read()
    at, found, kinds = 0, [], []
    while at < len(octets):
        kind, length = struct.unpack_from("<II", octets, at)
        equal(struct.unpack_from("<I", octets, at + length - 4)[0], length)
        body = octets[at + 8:at + length - 4]
        kinds.append(kind)
        if kind == 1:
            equal(struct.unpack_from("<H", body)[0], 201)
        elif kind == 6:
            _, high, low, included, original = struct.unpack_from("<IIIII", body)
            equal(included, original)
            data = body[20:20 + included]
            options = body[20 + (included + 3) // 4 * 4:]
            dropped -= struct.unpack_from("<Q", options, 4)[0] if options else 0
            is_sent = struct.unpack_from(">I", data)[0] == 0
            if data[4] == 4:
                expect(not is_sent, "an event")
                links.event(data[4:])
                at += length
                continue
            links.pdu(data[4:])
            found.append((is_sent, unwrap(data[4:], is_sent), (high << 32 | low) / 1e6))
        at += length
    equal(kinds[:2], [0x0A0D0D0A, 1])
    equal(dropped, 0, "dropped PDUs")
    return found


@test("capture: btsnoop and pcapng hold each PDU, its direction and its time")
def both(b):
    _, at = b.serve("heart-rate.json")
    for ending, parse in (("btsnoop", btsnoop), ("pcapng", pcapng)):
        path = b.path(f"c.{ending}")
        ended = b.run("read", at, "0x0015", "--mtu", "100", "--capture", path, "--json")
        equal((ended.code, ended.json), (0, [{"handle": 21, "value": "01"}]))
        found = parse(path)
        equal([(s, p) for s, p, _ in found], WANTED)
        for _, _, stamp in found:
            expect(abs(stamp - time.time()) < 60, f"the time {stamp}")


@test("capture: with raw, with serve, and together with --trace")
def others(b):
    path = b.path("serve.pcapng")
    server, at = b.serve("heart-rate.json", "--capture", path, "--once")
    own = b.path("raw.btsnoop")
    ended = b.run("raw", at, "0a1500", "ff", "--for", "0.02", "--capture", own, "--trace")
    equal(len(ended.err.splitlines()), 3)
    equal([(s, p) for s, p, _ in btsnoop(own)], [(True, "0a1500"), (False, "0b01"), (True, "ff")])
    equal(server.end().code, 0)
    equal([(s, p) for s, p, _ in pcapng(path)], [(False, "0a1500"), (True, "0b01"), (False, "ff")])


@test("capture: each PDU is in the file at once, also after a kill")
def killed(b):
    peer = b.peer(lambda pdu: [])
    path = b.path("k.btsnoop")
    running = b.start("raw", peer.endpoint, "0a1500", "--capture", path, "--trace")
    running.line("Read Request", where="err")
    # A thread writes it.
    deadline = time.monotonic() + PATIENCE
    while b"\x0a\x15\x00" not in open(path, "rb").read():
        expect(time.monotonic() < deadline, "the PDU is not in the file")
        time.sleep(0.005)
    expect(running.process.poll() is None, "it has ended")
    running.process.kill()
    running.end()
    equal([(s, p) for s, p, _ in btsnoop(path)], [(True, "0a1500")])


@test("capture: an unknown file name extension, a path that cannot be written")
def wrong(b):
    b.refuses(2, [".btsnoop or .pcapng", '"x.txt"'], "read", "unix:/tmp/none", "1", "--capture", "x.txt")
    b.refuses(2, ["/nowhere/x.pcapng", "No such file"], "read", "unix:/tmp/none", "1",
              "--capture", "/nowhere/x.pcapng")
    b.refuses(2, [".btsnoop or .pcapng"], "serve", b.file("p.json", {"services": []}),
              "--capture", "")
    full = b.path("full.pcapng")
    os.symlink("/dev/full", full)
    _, at = b.serve("heart-rate.json")
    ended = b.run("read", at, "0x0015", "--capture", full)
    equal((ended.code, ended.lines), (2, ["0x0015  01"]))
    equal(len(ended.err.splitlines()), 1)
    contains(ended.err, "capture stopped", "No space left")


@test("capture: a wrong command line leaves an existing file unchanged")
def kept(b):
    path = b.file("c.btsnoop", "precious")
    b.refuses(2, ["invalid value"], "read", "unix:/tmp/none", "1", "--mtu", "1", "--capture", path)
    b.refuses(3, ["no such socket"], "read", "unix:/tmp/none", "1", "--capture", path)
    equal(open(path).read(), "precious")


def address(text):
    """The made-up address of an endpoint's text: FNV-1a, as a static random address."""
    number = 0xCBF29CE484222325
    for octet in text.encode():
        number = (number ^ octet) * 0x100000001B3 % (1 << 64)
    return ((number ^ number >> 48) & 0xFFFFFFFFFFFF | 0xC00000000000).to_bytes(6, "little")


@test("capture: connections have a beginning, an end, roles and addresses, at both ends the same")
def connections(b):
    for ending in ("btsnoop", "pcapng"):
        theirs, own = b.path(f"theirs.{ending}"), b.path(f"own.{ending}")
        server, at = b.serve("heart-rate.json", "--capture", theirs, name=ending)
        equal(b.run("read", at, "0x0015", "--capture", own).code, 0)
        server.line("disconnected")
        first, second = b.connect(at), b.connect(at)
        for client in (second, first):
            equal(client.ask("0a1500"), "0b01")
        equal(server.stop().code, 0)
        listener, clients = address(at), [address(f"client {n} of {at}") for n in (1, 2)]
        equal(links(own), [dict(handle=0x40, own=clients[0], peer=listener, kind=1, role=0,
                                reason=0x16)])
        found = links(theirs)
        equal([link.get("reason") for link in found], [0x13, 0x16, 0x16])
        # The first client's handle is free again.
        equal([(link["handle"], link["own"], link["peer"], link["role"]) for link in found],
              [(handle, listener, clients[handle - 0x40], 1) for handle in (0x40, 0x41, 0x40)])


@test("capture: radios of the air have their own addresses, and the peer its name")
def radios(b):
    path = b.path("air.pcapng")
    _, at = b.serve("heart-rate.json", endpoint="air:C0:11:22:33:44:5F")
    equal(b.run("read", at, "0x0015", "--capture", path).code, 0)
    link, = links(path)
    equal((link["peer"].hex(), link["kind"], link["role"]), ("5f44332211c0", 1, 0))
    expect(link["own"][5] >= 0xC0, link)
    long = "air:" + "\u00e9" * 20
    b.serve("heart-rate.json", endpoint=long, name="long")
    equal(b.run("read", long + "?phy=2M", "0x0015", "--capture", path).code, 0)
    octets = open(path, "rb").read()
    expect(bytes([28, 8]) + ("air:" + "\u00e9" * 11).encode() in octets
           or bytes([29, 8]) + ("air:" + "\u00e9" * 12).encode() in octets, "the short name")


@test("capture: each case of a conformance run is a connection")
def cases(b):
    path = b.path("cases.btsnoop")
    _, at = b.serve("heart-rate.json")
    expect(b.run("conform", at, "--case", "*mtu*", "--capture", path).code in (0, 4), "conform")
    found = links(path)
    expect(len(found) > 2, found)
    # Cases with a second client have two at a time.
    expect({(link["handle"], "reason" in link) for link in found} <= {(0x40, True), (0x41, True)}, found)
    decoded = b.run("decode", path, "--json")
    expect(len({line["incarnation"] for line in decoded.json}) > 2, decoded)
    equal(decoded.code, 0, decoded)


@test("capture: what it writes decodes without remarks about connections")
def reading(b):
    path = b.path("back.pcapng")
    _, at = b.serve("heart-rate.json")
    b.run("read", at, "0x0015", "--mtu", "100", "--capture", path)
    ended = b.run("decode", path, "--check")
    equal((ended.code, len(ended.lines)), (0, len(WANTED)), ended)
    equal(len(ended.err.splitlines()), 1, ended)
    contains(ended.err, "4 attribute PDUs; not shown: 4 HCI commands and events")


def tshark(b, *words):
    done = subprocess.run(["tshark", *words], capture_output=True, text=True, timeout=PATIENCE,
                          env=dict(b.environment, HOME=b.path("")))
    equal(done.returncode, 0, done.stderr)
    return done.stdout


def faultless(b, path, minimum):
    """Has tshark judge a file: nothing malformed, no remarks, and addresses on each PDU."""
    fields = ("btatt.opcode", "bthci_acl.src.bd_addr", "bthci_acl.dst.bd_addr", "_ws.malformed",
              "_ws.expert.message")
    options = [word for field in fields for word in ("-e", field)]
    lines = [line.split("\t") for line in tshark(
        b, "-r", path, "-Y", "btl2cap", "-T", "fields", *options).splitlines()]
    expect(len(lines) >= minimum, f"{len(lines)} PDUs")
    for line in lines:
        equal(line[3:], ["", ""], line)
        for place in line[1:3]:
            expect(place.count(":") == 5 and place != "00:00:00:00:00:00", line)
    equal(tshark(b, "-r", path, "-q", "-z", "expert").strip(), "")
    return lines


@test("capture: tshark finds no fault, and shows addresses and names", needs=["tshark"])
def judged(b):
    _, at = b.serve("heart-rate.json")
    for ending, parse in (("btsnoop", btsnoop), ("pcapng", pcapng)):
        path, theirs = b.path(f"c.{ending}"), b.path(f"s.{ending}")
        server, own = b.serve("heart-rate.json", "--capture", theirs, name=ending)
        for end in (b.connect(own), b.connect(own)):
            equal(end.ask("0a1500"), "0b01")
        b.run("discover", own, "--mtu", "100", "--capture", path)
        equal(server.stop().code, 0)
        equal([line[0] for line in faultless(b, path, 10)],
              [f"0x{pdu[:2]}" for _, pdu, _ in parse(path)])
        contains(tshark(b, "-r", path, "-Y", "btatt"), f"({own[:29]})")
        faultless(b, theirs, 10)
        conversations = tshark(b, "-r", theirs, "-q", "-z", "conv,bluetooth")
        equal(conversations.count("<->"), 4, conversations)
        relayed = b.path(f"r.{ending}")
        between = f"unix:{b.path('between' + ending)}"
        relay = b.start("capture", "--listen", between, at, "--capture", relayed)
        relay.line("listening", where="err")
        b.run("discover", between)
        equal(relay.stop().code, 0)
        faultless(b, relayed, 10)
