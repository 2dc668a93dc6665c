"""--capture: files for other tools."""

import os
import shutil
import struct
import subprocess
import time

from harness import PATIENCE, contains, equal, expect, test

WANTED = [(True, "026400"), (False, "03f700"), (True, "0a1500"), (False, "0b01")]


def unwrap(hci, is_sent):
    """The attribute PDU in H4, ACL data and L2CAP; every field of those is checked."""
    kind, handle, acl, l2cap, channel = struct.unpack_from("<BHHHH", hci)
    pdu = hci[9:]
    equal((kind, handle & 0xFFF, channel), (2, 0x40, 4))
    equal(handle >> 12, 0 if is_sent else 2, "the packet boundary flag")
    equal((acl, l2cap), (len(pdu) + 4, len(pdu)))
    return pdu.hex()


def btsnoop(path, dropped=0):
    """The PDUs of a file whose last records say that this many are missing."""
    octets = open(path, "rb").read()
    size = len(octets)
    equal(octets[:16], b"btsnoop\0" + struct.pack(">II", 1, 1002))
    at, found = 16, []
    while at < len(octets):
        original, included, flags, drops, stamp = struct.unpack_from(">IIIIQ", octets, at)
        equal((original, drops), (included, drops if dropped and at < size - 72 else dropped))
        hci = octets[at + 24:at + 24 + included]
        found.append((flags == 0, unwrap(hci, flags == 0), (stamp - 0x00DCDDB30F2F8000) / 1e6))
        at += 24 + included
    return found


def pcapng(path, dropped=0):
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
    ended = b.run("raw", at, "0a1500", "ff", "--listen", "0.02", "--capture", own, "--trace")
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
    while os.path.getsize(path) < 16 + 24 + 12:
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
    equal((ended.code, ended.lines), (0, ["0x0015  01"]))
    equal(len(ended.err.splitlines()), 1)
    contains(ended.err, "capture stopped", "No space left")


@test("capture: a wrong command line leaves an existing file unchanged")
def kept(b):
    path = b.file("c.btsnoop", "precious")
    b.refuses(2, ["0x0001 to 0xFFFF"], "read", "unix:/tmp/none", "0", "--capture", path)
    b.refuses(3, ["no such socket"], "read", "unix:/tmp/none", "1", "--capture", path)
    equal(open(path).read(), "precious")


@test("capture: tshark, if installed, decodes it")
def tshark(b):
    if not shutil.which("tshark"):
        return
    _, at = b.serve("heart-rate.json")
    for ending in ("btsnoop", "pcapng"):
        path = b.path(f"c.{ending}")
        b.run("discover", at, "--mtu", "100", "--capture", path)
        done = subprocess.run(
            ["tshark", "-r", path, "-T", "fields", "-e", "btatt.opcode", "-e", "_ws.malformed"],
            capture_output=True, text=True, timeout=PATIENCE, env=dict(b.environment, HOME=b.path("")))
        parse = btsnoop if ending == "btsnoop" else pcapng
        equal([line.rstrip("\t") for line in done.stdout.splitlines()],
              [f"0x{pdu[:2]}" for _, pdu, _ in parse(path)])
