"""Peers that are missing, silent, or break the rules: statuses 1, 3 and 4."""

import json
import os
import signal
import socket
import time

from harness import Failed, contains, equal, expect, script, test

LONG = "unix:/tmp/" + "x" * 120


@test("peers: missing and stale sockets, missing permission, a path that is too long")
def sockets(b):
    b.refuses(3, ["no such socket", "start the server first", b.path("none")],
              "services", f"unix:{b.path('none')}")
    stale = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    stale.bind(b.path("stale"))
    stale.close()
    b.refuses(3, ["nothing listens"], "services", f"unix:{b.path('stale')}")
    b.refuses(3, ["path too long", "shorter"], "services", LONG)
    b.refuses(3, ["path too long", "shorter"], "serve", b.file("p.json", {"services": []}),
              "--listen", LONG)
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stream.bind(b.path("stream"))
    stream.listen(1)
    b.refuses(3, ["SOCK_SEQPACKET"], "services", f"unix:{b.path('stream')}")
    stream.close()
    b.file("plain", "x")
    b.refuses(3, ["plain"], "services", f"unix:{b.path('plain')}")
    b.refuses(3, ["not a socket"], "serve", b.file("p.json", {"services": []}),
              "--listen", f"unix:{b.path('plain')}")
    b.refuses(3, ["no such directory"], "serve", b.file("p.json", {"services": []}),
              "--listen", f"unix:{b.path('no/such')}")


@test("peers: a socket without write permission")
def permission(b):
    _, at = b.serve("heart-rate.json")
    path = at.removeprefix("unix:")
    os.chmod(path, 0)
    options = {}
    if os.geteuid() == 0:
        os.chmod(b.folder, 0o755)
        options = {"user": 65534}
    try:
        os.access(b.atto, os.X_OK)
        b.refuses(3, ["Permission denied", "hint: the socket must be writable"], "services", at, **options)
    except PermissionError:
        pass  # Another user may not run the binary from where it lies.


@test("peers: descriptors that do not exist or are not SEQPACKET sockets")
def descriptors(b):
    b.refuses(3, ["no such descriptor"], "services", "fd:99")
    read, write = os.pipe()
    b.refuses(3, ["not a socket"], "services", f"fd:{read}", fds=(read,))
    os.close(read)
    os.close(write)
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    b.refuses(3, ["SOCK_SEQPACKET"], "services", f"fd:{left.fileno()}", fds=(left.fileno(),))
    left.close()
    right.close()


@test("peers: le: without kernel support gives a hint")
def no_bluetooth(b):
    try:
        socket.socket(31, socket.SOCK_SEQPACKET, 0).close()
        return
    except OSError as error:
        if error.errno != 97:
            return
    for words in (["services", "le:AA:BB:CC:DD:EE:FF"],
                  ["serve", b.file("p.json", {"services": []}), "--listen", "le:"],
                  ["raw", "le:AA:BB:CC:DD:EE:FF/random", "0a0100"]):
        b.refuses(3, ["no Bluetooth", "modprobe bluetooth", "air:"], *words)


REQUESTS = [
    (["services"], "Read By Group Type Request"),
    (["services", "--uuid", "180d"], "Find By Type Value Request"),
    (["includes", "1-65535"], "Read By Type Request"),
    (["characteristics", "1-65535"], "Read By Type Request"),
    (["descriptors", "1-65535"], "Find Information Request"),
    (["discover"], "Read By Group Type Request"),
    (["read", "5"], "Read Request"),
    (["read", "5", "--offset", "1"], "Read Blob Request"),
    (["read", "5", "6"], "Read Multiple Request"),
    (["read", "5", "6", "--variable"], "Read Multiple Variable Request"),
    (["read", "--uuid", "2a00"], "Read By Type Request"),
    (["write", "5", "00"], "Write Request"),
    (["write", "5", "00", "--long"], "Prepare Write Request"),
    (["subscribe", "5"], "Find Information Request"),
    (["subscribe", "5", "--cccd", "6"], "Write Request"),
    (["raw", "0a0500"], "Read Request"),
    (["read", "5", "--mtu", "100"], "Exchange MTU Request"),
    (["raw", "0a0500", "--mtu", "100"], "Exchange MTU Request"),
]


@test("peers: no response: status 3 after --timeout, naming the request")
def silence(b):
    peer = b.peer(lambda pdu: [])
    for words, name in REQUESTS:
        ended = b.run(words[0], peer.endpoint, *words[1:], "--timeout", "0.05")
        equal(ended.code, 3, f"{words}: status ({ended.err})")
        contains(ended.err, name)
        if words[0] != "raw":
            equal(ended.out, "")


@test("peers: disconnects during a request: status 3")
def leaving(b):
    peer = b.peer(lambda pdu: ["close"])
    for words, _ in REQUESTS:
        ended = b.run(words[0], peer.endpoint, *words[1:])
        equal(ended.code, 3, f"{words}: status ({ended.err})")
        contains(ended.err, "disconnected")


@test("peers: disconnects before the first request")
def gone_at_once(b):
    peer = b.peer(lambda pdu: ["close"])
    ended = b.run("write", peer.endpoint, "5", "00")
    equal(ended.code, 3)


@test("peers: response to another request: status 3")
def mismatched(b):
    peer = b.peer(lambda pdu: ["0b00"])
    for words, name in REQUESTS:
        if words[0] == "raw" or name == "Read Request":
            # raw does not check responses; for the other command this is the requested one.
            continue
        ended = b.run(words[0], peer.endpoint, *words[1:], "--timeout", "3")
        equal(ended.code, 3, f"{words}: status ({ended.err})")
        equal(ended.out, "")
        expect("Read Response" in ended.err or name in ended.err, ended.err)


@test("peers: error response for another request: status 3")
def mismatched_error(b):
    peer = b.peer(lambda pdu: ["0112050001"])
    ended = b.run("read", peer.endpoint, "5", "--timeout", "0.3")
    equal(ended.code, 3)


@test("peers: garbage of all kinds is an error")
def garbage(b):
    answers = ["", "00", "ff", "ffffffff", "01", "0101", "010a0500", "010a05000100", "11", "1100",
               "1106", "1106010005000018ff", "110601000000", "11060500010000180a", "11020100",
               "09", "0901", "0907", "09070200020300002a", "05", "0501", "0503010000", "07", "0701",
               "1b", "1d", "1d0100", "1e", "d2", "12", "0b" + "00" * 600]
    for answer in answers:
        peer = b.peer(lambda pdu, a=answer: [a], name="g")
        for words in (["services"], ["characteristics", "1-65535"], ["descriptors", "1-65535"],
                      ["services", "--uuid", "180d"]):
            ended = b.run(words[0], peer.endpoint, *words[1:], "--timeout", "0.05", "--json")
            expect(ended.code in (0, 3), f"{words} {answer}: {ended}")
            ended.json
            expect(ended.code == 0 or "error" in json.loads(ended.err), ended)
        peer.close()
        os.unlink(b.path("g"))


@test("peers: a discovery that does not advance ends")
def endless(b):
    peer = b.peer(lambda pdu: ["1106" + "0100" + "0100" + "0018"])
    ended = b.run("services", peer.endpoint, "--timeout", "2")
    equal(ended.code, 3)
    contains(ended.err, "broke the protocol")


@test("peers: ATT errors: status 1, with name, code and handle")
def refusals(b):
    peer = b.peer(lambda pdu: ["010a0500" + "80"])
    b.refuses(1, ["0x80", "0x0005"], "read", peer.endpoint, "5")
    for code, part in (("01", "Invalid Handle (0x01)"), ("05", "(0x05)"), ("0f", "(0x0F)"),
                       ("42", "0x42"), ("9f", "0x9F"), ("fc", "(0xFC)"), ("00", "0x00")):
        peer = b.peer(lambda pdu, c=code: ["010a0500" + c], name=f"c{code}")
        b.refuses(1, [part, "Read Request", "0x0005"], "read", peer.endpoint, "5")
    peer = b.peer(lambda pdu: [f"01{pdu[:2]}0500e7"], name="all")
    for words, name in REQUESTS:
        if words[0] in ("raw",) or "--mtu" in words:
            continue
        ended = b.run(words[0], peer.endpoint, *words[1:], "--json")
        equal(ended.code, 1, f"{words}: status ({ended})")
        contains(ended.err, "0xE7", "0x0005", name)
        ended.json


@test("peers: a refused MTU exchange leaves the MTU at 23")
def refused_mtu(b):
    peer = b.peer(lambda pdu: ["0102000006"] if pdu[:2] == "02" else ["0b01"])
    ended = b.run("read", peer.endpoint, "5", "--mtu", "100", "--json")
    equal((ended.code, ended.json), (0, [{"handle": 5, "value": "01"}]))


@test("peers: results before an error are shown, then the error")
def partly(b):
    _, at = b.serve("edges.json")
    ended = b.run("read", at, "--uuid", "2a00", "0x0001")
    equal(ended.code, 2)
    profile = {"automatic": False, "services": [{"uuid": "180A", "characteristics": [
        {"uuid": "2A29", "properties": ["read"], "value": "hex:01"},
        {"uuid": "2A29", "properties": ["read"], "permissions": [], "value": "hex:02"}]}]}
    _, at = b.serve(profile, name="partly")
    ended = b.run("read", at, "--uuid", "2a29", "--json")
    equal([(v["handle"], v["value"]) for v in ended.json], [(3, "01")])
    equal(ended.code, 1)
    contains(ended.err, "Read Not Permitted (0x02)", "0x0005")


@test("peers: Ctrl-C ends a waiting request at once")
def interrupted(b):
    for number in (signal.SIGINT, signal.SIGTERM):
        peer = b.peer(lambda pdu: [], name=f"s{number}")
        running = b.start("read", peer.endpoint, "5", "--trace")
        running.line("Read Request", where="err")
        ended = running.stop(number)
        equal(ended.code, 3, f"status ({ended})")
        contains(ended.err, "interrupted")


@test("peers: waiting for a missing peer is explained once, and Ctrl-C ends it at once")
def interrupted_connecting(b):
    for words, status in ((["read", "air:Nobody", "5"], 3), (["raw", "air:Nobody", "0a0500"], 3),
                          (["fuzz", "air:Nobody"], 3), (["conform", "air:Nobody"], 3),
                          (["pair", "air:Nobody"], 3),
                          (["channel", "air:Nobody", "--psm", "128"], 3)):
        running = b.start(*words)
        said = running.line("waiting for air:Nobody", where="err")
        contains(said, "not on the air yet")
        running.line("hint: atto scan air:", where="err")
        began = time.monotonic()
        ended = running.stop()
        expect(time.monotonic() - began < 2, f"Ctrl-C took {time.monotonic() - began} s")
        equal(ended.code, status, f"status of {words} ({ended})")
        equal(ended.err.count("waiting for"), 1, f"{ended}")


@test("peers: no note about a peer that responds, nor before three seconds")
def not_waited(b):
    server, at = b.serve("heart-rate.json")
    equal(b.run("subscribe", at, "0x0012", "--for", 3.3, "--json").err, "")
    ended = b.run("read", "air:Nobody", "5", "--timeout", 0.5)
    expect("waiting for" not in ended.err, f"{ended}")


@test("peers: a note about a request without a response appears once, before its timeout")
def unanswered(b):
    peer = b.peer(lambda pdu: [])
    for words in (["read", peer.endpoint, "5"], ["raw", peer.endpoint, "0a0500"]):
        running = b.start(*words, "--timeout", 9)
        said = running.line("for the response to Read Request (0x0A)", where="err")
        contains(said, "waiting up to ", " s more", "--timeout")
        ended = running.stop()
        equal((ended.code, ended.err.count("waiting up to")), (3, 1), f"{ended}")


@test("peers: a note about missing values and devices; Ctrl-C ends the wait")
def nothing_comes(b):
    profile = {"services": [{"uuid": "180D", "handle": "0x0010", "characteristics": [
        {"uuid": "2A37", "valueHandle": "0x0012", "properties": ["notify"]}]}]}
    _, at = b.serve(profile, name="quiet")
    running = b.start("subscribe", at, "0x0012")
    contains(running.line("waiting for values of 0x0012", where="err"), "Ctrl-C")
    equal(running.stop().code, 0)
    running = b.start("scan", "air:")
    contains(running.line("waiting for advertisements", where="err"), "Ctrl-C")
    equal(running.stop().code, 0)


@test("peers: the error for a missing radio names it as written")
def named(b):
    for words in (["read", "air:Nobody", "5"], ["pair", "air:Nobody"],
                  ["channel", "air:Nobody", "--psm", "128"]):
        b.refuses(3, ['no radio "Nobody" found within 0.2 seconds'], *words,
                  "--timeout", 0.2)


@test("peers: cases for a missing peer end with status 3")
def nobody_to_check(b):
    ended = b.run("conform", f"unix:{b.path('none')}", "--json")
    equal(ended.code, 3)
    contains(ended.err, "no case was run", "no such socket",
             "no such socket yet\nhint: start the server")
    equal([line.get("outcome") for line in ended.json], ["unreachable", None])
    equal(ended.json[-1], {"summary": {
        "passed": 0, "broken": 0, "skipped": 0, "notExercised": 0, "unreachable": 1}})
    transcript = b.file("one.att", "# ONE  a case\nprofile bench.json\n> 0a0300\n< 0b09\n")
    ended = b.run("play", f"unix:{b.path('none')}", transcript)
    equal(ended.code, 3)
    contains(ended.err, "no case was run")
