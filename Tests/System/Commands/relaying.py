"""atto capture --listen: a relay between clients and a peer."""

import json
import os
import re
import signal
import socket
import struct
import threading
import time

from capturing import btsnoop, pcapng
from harness import PATIENCE, contains, equal, expect, test

NUMBERED = 3000


def relay(b, peer, *options, at=None, name="between", **more):
    """Starts a relay and waits until it listens. Returns it with its endpoint."""
    at = at or f"unix:{b.path(name)}"
    running = b.start("capture", "--listen", at, peer, *options, **more)
    running.line("listening on", where="err")
    return running, at


def shown(ended):
    """The text output, as (is sent, hex)."""
    found = []
    for line in ended.lines:
        match = re.fullmatch(r"\d\d:\d\d:\d\d\.\d{6} client \d+ ([<>]) (\S+)  .*", line)
        expect(match, line)
        found.append((match[1] == ">", match[2].replace("(empty)", "")))
    return found


def pdus(parsed):
    return [(is_sent, pdu) for is_sent, pdu, _ in parsed]


class Ends:
    """A relay between two sockets of the test, its client and its server."""

    def __init__(self, b, *options):
        client, near = b.pair()
        far, server = b.pair()
        fds = (near.fileno(), far.fileno())
        self.running = b.start(
            "capture", "--listen", f"fd:{fds[0]}", f"fd:{fds[1]}", *options, fds=fds)
        near.close()
        far.close()
        self.client, self.server = client, server
        self.running.line("listening on", where="err")


@test("relay: does not change a discovery and a long read, on unix: and air:")
def same(b):
    for listen, at, between in (("unix:" + b.path("s"), "unix:" + b.path("s"), "unix:" + b.path("r")),
                                ("air:Strap", "air:Strap", "air:Between")):
        server, _ = b.serve("heart-rate.json", endpoint=listen)
        running, _ = relay(b, at, at=between)
        for words in (["discover", "--json", "--mtu", "100"], ["discover"],
                      ["read", "0x0029", "--long"]):
            straight = b.run(words[0], at, *words[1:])
            relayed = b.run(words[0], between, *words[1:])
            equal((straight.code, relayed.code), (0, 0), f"{words} {relayed}")
            equal(relayed.out, straight.out, f"{words} over {between}")
        equal(running.stop().code, 0)
        server.stop()


@test("relay: its file and output match the client's own --capture")
def files(b):
    _, at = b.serve("heart-rate.json")
    for ending, parse in (("btsnoop", btsnoop), ("pcapng", pcapng)):
        own, theirs = b.path(f"own.{ending}"), b.path(f"theirs.{ending}")
        running, between = relay(b, at, "--capture", theirs, "--once", name=ending)
        ended = b.run("discover", between, "--mtu", "80", "--capture", own)
        equal(ended.code, 0, ended)
        ended = running.end()
        equal(ended.code, 0, ended)
        contains(ended.err, "client 1 connected", "client 1 ended: the client closed its connection")
        expect(len(pdus(parse(own))) > 10, "a discovery has more PDUs")
        equal(pdus(parse(theirs)), pdus(parse(own)))
        equal(shown(ended), pdus(parse(own)))
        stamps = [stamp for _, _, stamp in parse(theirs)]
        equal(stamps, sorted(stamps), "times")


@test("relay: --json prints one object per PDU and nothing else")
def objects(b):
    _, at = b.serve("heart-rate.json")
    path = b.path("c.btsnoop")
    running, between = relay(b, at, "--json", "--once", "--capture", path)
    b.run("raw", between, "0a1500", "0aff0f")
    ended = running.end()
    equal(ended.code, 0, ended)
    stamps = [round(line.pop("time"), 6) for line in ended.json]
    wanted = [("sent", "0a1500", "Read Request 0x0015"), ("received", "0b01", "Read Response 01"),
              ("sent", "0aff0f", "Read Request 0x0FFF"),
              ("received", "010aff0f01", "Error Response: Invalid Handle (0x01) for Read Request"
               " (0x0A) at handle 0x0FFF")]
    found = [json.loads(line) for line in ended.lines]
    for line in found:
        line.pop("time")
    equal(found, [{"client": 1, "direction": way, "pdu": pdu, "text": text}
                  for way, pdu, text in wanted])
    equal(stamps, [round(stamp, 6) for _, _, stamp in btsnoop(path)], "times")


@test("relay: PDUs of any form pass unchanged in both directions")
def anything(b):
    ends = Ends(b)
    sent = ["", "00", "ff", "0a", "0a0100", "02", "1e", "1e00", "01", "52" + "ab" * 300, "1b",
            "0b" + "07" * 65534, "d2", "3f00", ""]
    for pdu in sent:
        ends.client.send(bytes.fromhex(pdu))
        equal(ends.server.recv(70000).hex(), pdu, "to the server")
        ends.server.send(bytes.fromhex(pdu))
        equal(ends.client.recv(70000).hex(), pdu, "to the client")
    ends.client.close()
    equal(ends.server.recv(100), b"")
    ended = ends.running.end()
    equal(ended.code, 0, ended)
    equal(shown(ended), [(way, pdu) for pdu in sent for way in (True, False)])


def flood(link, count=NUMBERED, size=20, rest=True):
    """Numbered notifications; how many went before the link had no room for a while, and a
    thread that sends the rest, unless it is not wanted."""
    link.setblocking(False)
    sent = 0
    while sent < count:
        try:
            link.send(struct.pack("<BHI", 0x1B, 3, sent) + bytes(size - 7))
        except BlockingIOError:
            link.settimeout(0.5)
            try:
                link.send(struct.pack("<BHI", 0x1B, 3, sent) + bytes(size - 7))
            except TimeoutError:
                break
            link.setblocking(False)
        sent += 1
    link.settimeout(PATIENCE)
    if not rest:
        return sent, None

    def send():
        for number in range(sent, count):
            link.send(struct.pack("<BHI", 0x1B, 3, number) + bytes(size - 7))

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return sent, thread


def numbers(link, count=NUMBERED):
    return [struct.unpack_from("<I", link.recv(1000), 3)[0] for _ in range(count)]


@test("relay: a side that does not read slows the other; no PDU is lost or reordered")
def pressure(b):
    for is_up in (True, False):
        path = b.path("flood.btsnoop")
        ends = Ends(b, "--capture", path, "--json")
        writer, reader = (ends.client, ends.server) if is_up else (ends.server, ends.client)
        before, thread = flood(writer)
        # The buffers of two sockets, and one PDU.
        expect(100 < before < NUMBERED - 1000, f"{before} PDUs went before anybody read")
        # The other direction still works.
        reader.send(b"\x1e")
        equal(writer.recv(100), b"\x1e")
        equal(numbers(reader), list(range(NUMBERED)))
        thread.join(PATIENCE)
        writer.close()
        equal(reader.recv(100), b"")
        ended = ends.running.end(within=PATIENCE)
        equal(ended.code, 0, ended)
        way = [int.from_bytes(bytes.fromhex(pdu)[3:7], "little")
               for is_sent, pdu in pdus(btsnoop(path)) if is_sent == is_up and pdu[:2] == "1b"]
        equal(way, list(range(NUMBERED)), "the file")
        equal(len(ended.json), NUMBERED + 1)


@test("relay: a blocked standard output slows the relay, and no PDU is lost")
def deaf(b):
    client, near = b.pair()
    far, server = b.pair()
    fds = (near.fileno(), far.fileno())
    # Not read by the harness.
    read, write = os.pipe()
    running = b.start("capture", "--listen", f"fd:{fds[0]}", f"fd:{fds[1]}", fds=fds, stdout=write)
    os.close(write)
    near.close()
    far.close()
    running.line("listening on", where="err")
    before, thread = flood(server)
    expect(before < NUMBERED, "the server was not held back")
    found = []
    with os.fdopen(read) as lines:
        reading = threading.Thread(target=lambda: found.extend(lines), daemon=True)
        reading.start()
        equal(numbers(client), list(range(NUMBERED)))
        thread.join(PATIENCE)
        server.close()
        equal(client.recv(100), b"")
        equal(running.end().code, 0)
        reading.join(PATIENCE)
    equal(len(found), NUMBERED)


@test("relay: notifications of a server on a timed link of the air, in order")
def timed(b):
    _, at = b.serve("bench.json", endpoint="air:Bench")
    running, between = relay(b, at, "--once", at="air:Between")
    ended = b.run("bench", between + "?phy=2M&interval=7.5ms&dle=251", "--mtu", "247",
                  "--test", "notify,write-command", "--count", "300", "--json", "--quiet",
                  within=PATIENCE)
    equal(ended.code, 0, ended)
    equal([(line["test"], line["count"], line["lost"], line["outOfOrder"]) for line in ended.json],
          [("notify", 300, 0, 0), ("write-command", 300, 0, 0)])
    ended = running.end()
    equal(ended.code, 0, ended)
    expect(len(ended.lines) > 600, f"{len(ended.lines)} PDUs")


@test("relay: when the server disconnects, the client gets the earlier PDUs and is disconnected")
def server_gone(b):
    for way in ("close", "kill"):
        if way == "kill":
            server, at = b.serve("heart-rate.json", name="victim")
            running, between = relay(b, at, name="kills")
            client = b.connect(between)
            equal(client.ask("0a1500"), "0b01")
            server.process.kill()
            # The kernel ends a process's connections before its listening socket: a client that
            # connects in between is accepted and then reset.
            server.process.wait()
        else:
            peer = b.peer(lambda pdu: ["1b030001", "1b030002", "0b01", "close"])
            running, between = relay(b, peer.endpoint, name="closes")
            client = b.connect(between)
            client.send("0a1500")
            equal([client.receive() for _ in range(3)], ["1b030001", "1b030002", "0b01"])
        equal(client.receive(), "")
        running.line("client 1 ended: the peer closed its connection", where="err")
        # The next client's end has the reason.
        if way == "kill":
            client = b.connect(between)
            equal(client.receive(), "")
            contains(running.line("client 2 ended", where="err"), "cannot connect to the peer",
                     "nothing listens")
        equal(running.stop().code, 0)


@test("relay: when the client disconnects, the server gets the earlier PDUs and is disconnected")
def client_gone(b):
    peer = b.peer(lambda pdu: [])
    running, between = relay(b, peer.endpoint)
    client = b.connect(between)
    for number in range(50):
        client.send(f"5203{number:04x}")
    client.close()
    equal(peer.heard(), [f"5203{number:04x}" for number in range(50)])
    running.line("client 1 ended: the client closed its connection", where="err")
    # A client that is killed.
    reader = b.start("raw", between, "520300", "--for", "60")
    running.line("client 2 connected", where="err")
    reader.line("520300")
    peer.ended.clear()
    reader.process.kill()
    expect(peer.ended.wait(PATIENCE), "the server was not told")
    equal(running.stop().code, 0)


@test("relay: a client disconnects while its PDUs wait for a server that does not read")
def client_gone_full(b):
    ends = Ends(b)
    sent, _ = flood(ends.client, 1000, rest=False)
    expect(sent < 1000, "the client was not held back")
    ends.client.close()
    # All accepted PDUs arrive in order, then the end.
    found = []
    while pdu := ends.server.recv(1000):
        found.append(struct.unpack_from("<I", pdu, 3)[0])
    equal(found, list(range(sent)))
    equal(ends.running.end().code, 0)


@test("relay: a server disconnects while PDUs wait for a client that does not read")
def undelivered(b):
    ends = Ends(b)
    sent, _ = flood(ends.server, 1000, rest=False)
    ends.client.close()
    ended = ends.running.end()
    equal(ended.code, 0, ended)
    contains(ended.err, "client 1 ended: the client closed its connection",
             "1 PDU shown here did not reach the other side")
    expect(sent < 1000, sent)


@test("relay: a PDU that is too long ends both connections with an error")
def too_long(b):
    for is_up in (True, False):
        ends = Ends(b)
        writer, reader = (ends.client, ends.server) if is_up else (ends.server, ends.client)
        writer.send(b"\x52\x03\x00")
        writer.send(bytes(65536))
        equal(reader.recv(100), b"\x52\x03\x00")
        equal(reader.recv(100), b"")
        equal(writer.recv(100), b"")
        ended = ends.running.end()
        equal((ended.code, len(ended.lines)), (3, 1), ended)
        contains(ended.err, f"a PDU of 65536 octets from the {'client' if is_up else 'peer'}",
                 "cannot relay", "the limit is 65535")


@test("relay: several clients at a time, each with its own number, connection and handle")
def several(b):
    path = b.path("all.btsnoop")
    server, at = b.serve("heart-rate.json", "--json")
    running, between = relay(b, at, "--json", "--capture", path)
    clients = []
    for number in range(1, 4):
        clients.append(b.connect(between))
        running.line(f"client {number} connected", where="err")
    for client in reversed(clients):
        equal(client.ask("0a1500"), "0b01")
    for number, client in enumerate(clients, 1):
        client.close()
        running.line(f"client {number} ended", where="err")
    ended = running.stop()
    equal((ended.code, [line["client"] for line in ended.json]), (0, [3, 3, 2, 2, 1, 1]), ended)
    octets = open(path, "rb").read()
    starts = [found.start() for found in re.finditer(
        rb"(?s)\x02[\x40-\x42][\x00\x20]...\x00\x04\x00", octets)]
    handles = [struct.unpack_from("<H", octets, at + 1)[0] & 0xFFF for at in starts]
    equal(handles, [0x42, 0x42, 0x41, 0x41, 0x40, 0x40])
    server.stop()


@test("relay: clients beyond the limit are reported; the others stay connected")
def crowd(b):
    peer_listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer_listener.bind(b.path("crowd"))
    peer_listener.listen(100)
    b.cleaning.append(peer_listener.close)
    running, between = relay(b, f"unix:{b.path('crowd')}")
    clients = [b.connect(between) for _ in range(65)]
    contains(running.line("cannot accept a client", where="err"), "the limit is 64")
    equal(clients[64].receive(), "")
    ends = []
    for _ in range(64):
        link, _ = peer_listener.accept()
        link.settimeout(PATIENCE)
        b.cleaning.append(link.close)
        ends.append(link)
    clients[0].send("0a0100")
    equal(ends[0].recv(100), bytes.fromhex("0a0100"))
    equal(running.stop().code, 0)
    equal(clients[0].receive(), "")


@test("relay: Ctrl-C ends both connections and leaves a complete file, with PDUs or without")
def interrupted(b):
    for number in (signal.SIGINT, signal.SIGTERM):
        for ending, parse in (("btsnoop", btsnoop), ("pcapng", pcapng)):
            path = b.file(f"{number}.{ending}", "an earlier one")
            peer = b.peer(lambda pdu: ["0b01"], name=f"p{number}{ending}")
            running, between = relay(b, peer.endpoint, "--capture", path, name=f"{number}{ending}")
            # A thread replaces the file.
            deadline = time.monotonic() + PATIENCE
            while open(path, "rb").read() == b"an earlier one" or not os.path.getsize(path):
                expect(time.monotonic() < deadline, "the file is not begun")
                time.sleep(0.005)
            equal(parse(path), [], "the file before a PDU")
            client = b.connect(between)
            equal(client.ask("0a0300"), "0b01")
            ended = running.stop(number)
            equal(ended.code, 0, ended)
            equal(pdus(parse(path)), [(True, "0a0300"), (False, "0b01")])
            equal(client.receive(), "")
            expect(peer.ended.wait(PATIENCE), "the server was not told")


@test("relay: a missing peer is reported; with --once the status is 3")
def nobody(b):
    nowhere = f"unix:{b.path('nowhere')}"
    running, between = relay(b, nowhere, "--once")
    client = b.connect(between)
    equal(client.receive(), "")
    ended = running.end()
    equal((ended.code, ended.out), (3, ""), ended)
    contains(ended.err, "cannot connect to the peer", "no such socket")
    running, between = relay(b, "air:Nobody", "--once", "--timeout", "4", name="aired")
    client = b.connect(between)
    contains(running.line("waiting for air:Nobody", where="err"), "not on the air yet")
    ended = running.end()
    equal(ended.code, 3, ended)
    contains(ended.err, 'no radio "Nobody" found within 4.0 seconds')
    # PDUs sent before the peer is connected are not lost.
    running, between = relay(b, f"unix:{b.path('late')}", name="early")
    client = b.connect(between)
    equal(client.receive(), "")
    running.line("cannot connect to the peer", where="err")
    equal(running.line(where="err"), "hint: start the server first, or check the path")
    running, between = relay(b, "air:Late", name="waits")
    client = b.connect(between)
    client.send("0a1500")
    b.serve("heart-rate.json", endpoint="air:Late", name="latecomer")
    equal(client.receive(), "0b01")


@test("relay: --security applies to the link to the peer")
def secure(b):
    profile = {"services": [{"uuid": "180D", "handle": "0x0010", "characteristics": [
        {"uuid": "2A39", "valueHandle": "0x0012", "properties": ["read"], "value": "hex:2a",
         "permissions": ["readEncrypted"]}]}]}
    _, at = b.serve(profile, endpoint="air:Safe")
    running, between = relay(b, at, "--once")
    equal(b.run("read", between, "0x0012").code, 1)
    running.end()
    running, between = relay(b, at, "--once", "--security", "medium", name="again")
    equal(b.run("read", between, "0x0012").lines, ["0x0012  2a"])
    equal(running.end().code, 0)


@test("relay: mistakes")
def mistakes(b):
    b.refuses(2, ["expected hciN", "--listen ENDPOINT ENDPOINT"], "capture",
              "unix:/tmp/x")
    b.refuses(2, ["--once requires --listen"], "capture", "--once")
    b.refuses(2, ["for --peer: expected an address"], "capture", "--peer", "strap")
    b.refuses(2, ["--peer cannot be combined with --listen"], "capture", "--listen", "unix:/tmp/x",
              "unix:/tmp/y", "--peer", "AA:BB:CC:DD:EE:FF")
    b.refuses(2, ["unexpected argument"], "capture", "hci0", "hci1")
    b.refuses(2, [".btsnoop or .pcapng"], "capture", "hci0", "--capture", "x.txt")
    b.refuses(2, ["missing argument ENDPOINT"], "capture", "--listen", "unix:/tmp/x")
    b.refuses(2, ["must be different endpoints"], "capture", "--listen", "unix:/tmp/x", "unix:/tmp/x")
    b.refuses(2, ["invalid endpoint"], "capture", "--listen", "/tmp/x", "unix:/tmp/x")
    b.refuses(2, ["invalid endpoint"], "capture", "--listen", "unix:/tmp/x", "strap")
    b.refuses(2, ["cannot listen at"], "capture", "--listen", "le:AA:BB:CC:DD:EE:FF", "air:X")
    b.refuses(2, ["it names no peer"], "capture", "--listen", f"unix:{b.path('n')}", "air:")
    b.refuses(2, ["it names no peer"], "capture", "--listen", f"unix:{b.path('n')}", "le:")
    b.refuses(2, ["the connecting end chooses the link parameters"], "capture", "--listen", "air:A?phy=2M", "air:B")
    b.refuses(2, [".btsnoop or .pcapng"], "capture", "--listen", "unix:/tmp/x", "unix:/tmp/y",
              "--capture", "x.txt")
    b.refuses(2, ["unexpected argument"], "capture", "--listen", "unix:/tmp/x", "unix:/tmp/y", "unix:/tmp/z")
    b.refuses(2, ["for --security: expected low, medium, high or fips"], "capture", "--listen", "unix:/tmp/x", "unix:/tmp/y",
              "--security", "auto")
    b.refuses(2, ["unknown option --mtu"], "capture", "--listen", "unix:/tmp/x", "unix:/tmp/y",
              "--mtu", "100")
    for words in (["--listen", "fd:77", "unix:/tmp/y"],):
        b.refuses(3, ["no such descriptor"], "capture", *words)
    b.refuses(3, ["no such directory"], "capture", "--listen", "unix:/nowhere/x", "unix:/tmp/y")
    _, at = b.serve("heart-rate.json")
    b.refuses(3, ["another process listens there"], "capture", "--listen", at, "unix:/tmp/y")


@test("relay: --change drops, answers and replaces, says so, and names the line of a mistake")
def changing(b):
    _, at = b.serve({"services": [{"uuid": "180F", "characteristics": [
        {"uuid": "2A19", "handle": "0x0020", "properties": ["read", "write"], "value": "hex:2a"},
        {"uuid": "2A6E", "handle": "0x0030", "properties": ["read", "write"], "value": "hex:0001"}]}]})
    path = b.file("rules", "# A server that is not ours.\n"
                    "> 0a 2100 : once error 05\n< 0b 2a : replace 0b 63\n"
                    "> 12 3100 ... : answer 13   # and nothing is written\nmtu 64\n")
    running, between = relay(b, at, "--change", path, "--json")
    # The turns of a rule are those of one client.
    for _ in range(2):
        told = b.run("raw", between, "0a2100", "0a2100").lines
        equal([line.split()[:2] for line in told if line[0] == "<"], [["<", "010a210005"], ["<", "0b63"]])
    equal(b.run("write", between, "0x0031", "ffff").code, 0)
    contains(b.run("read", at, "0x0031").out, "0001")
    contains(b.run("raw", between, "02f701").out, "034000")
    running.signal(signal.SIGINT)
    changed = [line for line in running.end().json if "changed" in line]
    equal([line["line"] for line in changed], [2, 3, 2, 3, 4, 5, 5])
    b.file("rules", "> 0a : drop\n< 1b : dorp\n")
    b.refuses(2, [":2:8: expected drop, delay, replace, repeat, answer or error", '"dorp"'],
              "capture", "--listen", f"unix:{b.path('x')}", at, "--change", path)
    b.refuses(2, ["requires --listen"], "capture", "hci0", "--change", path)
