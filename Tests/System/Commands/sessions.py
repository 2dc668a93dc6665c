"""`atto session`: requests as JSON, scripts, and several connections at once."""

import json
import threading

from harness import FIXTURES, PATIENCE, contains, equal, expect, test


class JSONSession:
    """A running `atto session --json`."""

    def __init__(self, bench, *words):
        self.running = bench.start("session", "--json", *words, input=True)
        self.early = []
        equal(self._read()["session"], 1, "version")

    def _read(self):
        return json.loads(self.running.line())

    def send(self, id, command, *arguments, connection=None, **options):
        request = {"id": id, "command": command, "arguments": arguments,
                   "options": {name.replace("_", "-"): value for name, value in options.items()}}
        if connection:
            request["connection"] = connection
        self.running.say(json.dumps(request))

    def line(self, matches):
        """The next object that matches; others are kept."""
        for index, found in enumerate(self.early):
            if matches(found):
                return self.early.pop(index)
        while not matches(found := self._read()):
            self.early.append(found)
        return found

    def ended(self, id):
        """The results of a request, and its last line."""
        results = []
        while True:
            found = self.line(lambda found: found.get("id") == id)
            if "result" not in found:
                return results, found
            results.append(found["result"])

    def ask(self, id, command, *arguments, connection=None, **options):
        """The results of a request that succeeds."""
        self.send(id, command, *arguments, connection=connection, **options)
        results, last = self.ended(id)
        equal(last, {"id": id, "done": True}, command)
        return results

    def fail(self, id, command, *arguments, connection=None, **options):
        """The error of a request that fails."""
        self.send(id, command, *arguments, connection=connection, **options)
        return self.ended(id)[1]["error"]


@test("session: reads, writes and discovers on one connection")
def one_connection(bench):
    server, endpoint = bench.serve("heart-rate.json")
    session = JSONSession(bench, endpoint)
    equal(session.ended("connect")[0][0]["mtu"], 23, "MTU")
    equal(session.ask(1, "read", "0x0003"), [{"handle": 3, "value": b"Atto Strap".hex()}])
    equal(session.ask("two", "read", 3), [{"handle": 3, "value": b"Atto Strap".hex()}])
    equal(session.ask(3, "mtu", exchange=True), [{"mtu": 247}])
    equal(len(session.ask(4, "discover")[0]["services"]), 5, "services")
    equal(session.ask(5, "write", 23, "01"), [{"handle": 23, "value": "01"}])
    error = session.fail(6, "write", 18, "01")
    equal((error["kind"], error["code"], error["handle"], error["status"]), ("att", 3, 18, 1))
    equal(session.running.end().code, 0, "status")
    # All of it was one connection.
    server.signal()
    equal(server.end().out.count("connected"), 2, "connected and disconnected")


@test("session: a subscription delivers values while requests go on, and cancel clears it")
def subscription(bench):
    server, endpoint = bench.serve("heart-rate.json")
    session = JSONSession(bench, endpoint)
    session.send(1, "subscribe", "0x0012")
    # It begins after the subscription, and need not wait for its end.
    equal(session.ask(2, "read", 19), [{"handle": 19, "value": "0100"}])
    value = session.line(lambda found: found.get("id") == 1)["result"]
    equal(value["handle"], 18, "handle")
    equal([found["request"] for found in session.ask(3, "requests")], [1])
    session.ask(4, "cancel", 1)
    equal(session.ended(1)[1], {"id": 1, "done": True})
    equal(session.ask(5, "read", 19), [{"handle": 19, "value": "0000"}])
    equal(session.fail(6, "cancel", 1)["kind"], "usage")
    equal(session.running.end().code, 0, "status")


@test("session: several connections, a server and a scan at once")
def several(bench):
    session = JSONSession(bench)
    profile = str(FIXTURES / "heart-rate.json")
    for name in ("one", "two"):
        session.send(name, "serve", profile, listen=f"unix:{bench.path(name)}")
        session.line(lambda found: found.get("result", {}).get("event") == "listening")
        session.ask(f"connect {name}", "connect", f"unix:{bench.path(name)}", connection=name)
    session.send("air", "serve", profile, listen="air:Third")
    session.line(lambda found: found.get("result", {}).get("event") == "listening")
    equal(session.ask("scan", "scan", "air:", count=1)[0]["name"], "Atto Strap")
    equal(session.ask(1, "control", "set", "0x0003", "41", server="one"), [])
    equal(session.ask(2, "read", 3, connection="one")[0]["value"], "41")
    equal(session.ask(3, "read", 3, connection="two")[0]["value"], b"Atto Strap".hex())
    contains(session.fail(4, "control", "set", "0x0003", "41")["message"], "--server")
    contains(session.fail(5, "read", 3)["message"], 'no connection "main"')
    equal([found["connection"] for found in session.ask(6, "connections")], ["one", "two"])
    session.send(7, "subscribe", 18, connection="two", count=1)
    session.ask(8, "read", 3, connection="two")
    equal(session.ask(9, "control", "notify 18 0648", server="two"), [{"clients": 1}])
    # The server sends values of its own too.
    expect(session.ended(7)[0], "no value")
    session.ask(10, "disconnect", "one")
    equal(session.line(lambda found: found.get("event") == "disconnected")["connection"], "one")
    equal(session.running.end().code, 0, "status")


@test("session: the end of a connection is an event, and fails what waits for it")
def connection_lost(bench):
    peer = bench.peer(lambda pdu: ["close"])
    session = JSONSession(bench, peer.endpoint)
    session.send(1, "read", 3)
    session.send(2, "read", 4)
    equal(session.ended(1)[1]["error"]["kind"], "link")
    session.ended(2)[1]["error"]
    ended = session.line(lambda found: found.get("event") == "disconnected")
    equal((ended["connection"], ended["error"]["kind"]), ("main", "link"))
    contains(session.fail(3, "read", 3)["message"], "there is no connection")
    equal(session.running.end().code, 0, "status")


@test("session: requests that make no sense are answered, with their ID where there is one")
def wrong_requests(bench):
    server, endpoint = bench.serve("heart-rate.json")
    session = JSONSession(bench, endpoint)
    session.ended("connect")
    for line, id, part in (
        ("nonsense", None, "not JSON"),
        ("[]", None, "expected an object"),
        ("{}", None, '"id"'),
        ('{"id":1.5,"command":"read"}', None, '"id"'),
        ('{"id":1}', 1, '"command"'),
        ('{"id":2,"command":"raed"}', 2, "unknown command"),
        ('{"id":3,"command":"read","argument":[3]}', 3, "unknown field"),
        ('{"id":4,"command":"read","arguments":[[3]]}', 4, "arguments"),
        ('{"id":5,"command":"read","arguments":[3],"options":{"longer":true}}', 5, "--longer"),
        ('{"id":6,"command":"read","arguments":["--long"]}', 6, "invalid handle"),
        ('{"id":7,"command":"session"}', 7, "unknown command"),
        ('{"id":8,"command":"read","id":9}', None, "not JSON"),
        ("[" * 5000, None, "not JSON"),
        ('{"id":9,"command":"read","arguments":["' + "a" * 70000 + '"]}', None, "dropped a line"),
    ):
        session.running.say(line)
        found = session.line(lambda found: "error" in found)
        equal(found.get("id"), id, line[:60])
        equal(found["error"]["kind"], "usage", line[:60])
        text = found["error"]["message"] + " ".join(found["error"].get("hints", []))
        contains(text, part)
    # The position counts bytes from 0.
    for octets, place in ((b"\xff", "at byte 0, found the byte 0xff"),
                          (b'{"id":12,"command":"\xc3\xa4\xc3("}', "at byte 22, found the byte 0xc3"),
                          (b'{"id":12,"connection":"\xed\xa0\x80"}', "at byte 23, found the byte 0xed")):
        session.running.process.stdin.buffer.write(octets + b"\n")
        session.running.process.stdin.buffer.flush()
        found = session.line(lambda found: "error" in found)
        equal((found.get("id"), found["error"]["kind"]), (None, "usage"), repr(octets))
        contains(found["error"]["message"], "expected UTF-8 text " + place)
    session.send(10, "subscribe", 18)
    session.send(10, "read", 3)
    contains(session.ended(10)[1]["error"]["message"], "still in progress")
    equal(session.ask(11, "read", 3)[0]["handle"], 3, "still works")
    equal(session.running.end().code, 0, "status")


@test("session: at most 1024 requests at a time")
def too_many(bench):
    release = threading.Event()
    peer = bench.peer(lambda pdu: ["close"] if release.wait(PATIENCE) else None)
    session = JSONSession(bench, peer.endpoint)
    session.ended("connect")
    for number in range(1025):
        session.send(number, "read", 3)
    found = session.line(lambda found: "error" in found)
    equal(found["id"], 1024)
    contains(found["error"]["message"], "1024")
    release.set()
    for number in range(1024):
        session.ended(number)
    equal(session.running.end().code, 0, "status")


@test("session: at most 64 connections")
def too_many_connections(bench):
    server, endpoint = bench.serve("heart-rate.json")
    session = JSONSession(bench)
    for number in range(64):
        session.ask(number, "connect", endpoint, connection=f"c{number}")
    error = session.fail(64, "connect", endpoint, connection="c64")
    equal(error["kind"], "usage")
    contains(error["message"], "64 connections")
    session.ask(65, "disconnect", "c0")
    session.line(lambda found: found.get("event") == "disconnected")
    session.ask(66, "connect", endpoint, connection="c64")
    equal(session.running.end().code, 0, "status")


@test("session: of values that a script does not expect, the newest 4096 are kept")
def unexpected_values(bench):
    values = [f"1b1200{number:04x}" for number in range(5000)]
    peer = bench.peer(lambda pdu: ["13"] + values if pdu == "1213000100" else ["13"])
    running = bench.start("session", peer.endpoint, input=True)
    running.say("subscribe 18 --cccd 19")
    running.line(f"0x0012  {4999:04x}")
    running.say(f"expect value 18 {5000 - 4096:04x}")
    equal(running.end().code, 0, "status")


@test("session: an interruption ends all, and clears subscriptions")
def interrupted(bench):
    server, endpoint = bench.serve("heart-rate.json", "--json")
    session = JSONSession(bench, endpoint)
    session.send(1, "subscribe", 18)
    server.event("configured")
    session.running.signal()
    equal(session.running.end().code, 3, "status")
    equal(server.event("configured")["notify"], False, "subscription")


@test("session: a question of pairing is answered by a request")
def pairing(bench):
    server, endpoint = bench.serve(
        "heart-rate.json", "--io", "display", "--json", endpoint="air:Strap")
    session = JSONSession(bench)
    session.send(1, "connect", endpoint, security="high", io="keyboard-display")
    shown = server.event("show")["passkey"]
    session.line(lambda found: found.get("result", {}).get("event") == "enter")
    session.ask(2, "answer", shown)
    equal(session.ended(1)[0][-1]["security"], "fips")
    contains(session.fail(3, "answer", "yes")["message"], "nothing was asked")
    equal(session.running.end().code, 0, "status")


@test("session: Ctrl-C ends a script that waits for a peer that does not answer")
def interrupted_script(bench):
    for name, line in (("read", "read 3"), ("subscribe", "subscribe 18"), ("wait", "read 3 &")):
        asked = threading.Event()
        peer = bench.peer(lambda pdu: asked.set(), name=name)
        path = bench.file("lines.session", line + "\nwait 1000")
        running = bench.start("session", peer.endpoint, "--script", path, "--timeout", "1000")
        expect(asked.wait(PATIENCE), f"{line}: no request came")
        equal(running.stop().code, 3, line)


SCRIPT = """# What a tester does with a strap
find rate 2A37
expect read 3 41 74 ...
subscribe $rate
expect value $rate 00 ??
write 0x17 01
expect error write-not-permitted write $rate 00
expect error 0x01 read 0x0099
echo "the rate is at $rate"
serve {profile} --listen unix:{other} &
connect unix:{other} --as other
use other
control set 0x0003 4142
expect read 3 4142
disconnect other
use main
"""


@test("session: a script")
def script(bench):
    server, endpoint = bench.serve("heart-rate.json")
    path = bench.file(
        "strap.session",
        SCRIPT.format(profile=FIXTURES / "heart-rate.json", other=bench.path("other")))
    done = bench.run("session", endpoint, "--script", path)
    equal((done.code, done.err), (0, ""), repr(done))
    contains(done.out, f"connected to {endpoint}", "the rate is at 0x0012", "0x0012  0048")
    # The same lines on standard input.
    with open(path) as file:
        done = bench.run("session", endpoint, input=file.read())
    equal((done.code, done.err), (0, ""), repr(done))


@test("session: a script stops at the first line that fails, with its place and status")
def failing_script(bench):
    server, endpoint = bench.serve("heart-rate.json")
    for lines, status, place, part in (
        ("read 3\nread 0x99\nread 3", 1, 2, "Invalid Handle"),
        ("read 3\n\nraed 3", 2, 3, "unknown command"),
        ('echo "a', 2, 1, 'missing "'),
        ("echo $a", 2, 1, 'unknown variable "$a"'),
        ("use other", 2, 1, 'no connection "other"'),
        ("expect read 3 41", 4, 1, "expected 41"),
        ("expect read 3 ... 41", 2, 1, "nothing can follow"),
        ("expect error 0x05 read 3", 4, 1, "accepted"),
        ("expect error 0x05 read 0x99", 4, 1, "answered Invalid Handle"),
        ("expect error nothing read 3", 2, 1, "unknown error"),
        ("expect value 18 00 --within 0.1", 4, 1, "no value of 0x0012"),
        ("subscribe 18\nexpect silence 60", 4, 2, "0x0012 sent"),
        ("expect disconnect --within 0.1", 4, 1, "did not disconnect"),
        ("subscribe 18 --count 1\nexpect value 18 99 ??", 4, 2, "expected 99 ??"),
        ("wait 0", 2, 1, "invalid time"),
        ("read 3 --long --max-time 0", 2, 1, "--max-time"),
        ("subscribe", 2, 1, "missing argument HANDLE"),
        ("&", 2, 1, "unknown command"),
        (f"connect {endpoint}", 2, 1, 'a connection "main" already'),
        ("let a-b 1", 2, 1, "invalid name"),
        ("find a 2A99", 1, 1, "no attribute 2A99"),
        ("find a 2A05@180D", 1, 1, "no attribute"),
    ):
        path = bench.file("lines.session", lines)
        done = bench.run("session", endpoint, "--script", path)
        equal(done.code, status, f"{lines!r}: {done}")
        contains(done.err, f"{path}:{place}: ", part)
    done = bench.run("session", endpoint, input="read 3\nread 0x99\n")
    equal(done.code, 1, "status")
    contains(done.err, "line 2: the peer answered Invalid Handle")
    bench.refuses(2, ["cannot be combined"], "session", "--json", "--script", "x")
    bench.refuses(2, ["cannot read"], "session", "--script", bench.path("none"))


@test("session: a script ends with 3 at the line that meets the end of its link")
def link_lost_in_script(bench):
    # The peer answers one read, and then leaves.
    for number, (lines, place, part) in enumerate((
            ("read 3\nwait 1000\necho never", 2, "disconnected"),
            ("read 3\nexpect value 18 00 --within 1000", 2, "disconnected"),
            ("read 3\nexpect silence 1000", 2, "disconnected"),
            ("read 3\nexpect disconnect --within 1000\nwait 0.01\nexpect disconnect\nread 3", 4, "no connection"),
            ("read 3\nexpect disconnect --within 1000\nread 3", 3, "no connection"))):
        peer = bench.peer(lambda pdu: ["0b01", "close"], name=f"peer{number}")
        path = bench.file("lines.session", lines)
        done = bench.run("session", peer.endpoint, "--script", path)
        equal(done.code, 3 if part == "disconnected" else 2, f"{lines!r}: {done}")
        contains(done.err, f"{path}:{place}: ", part)
        expect("never" not in done.out, repr(done))
    # A line that needs no link meets no loss.
    server, endpoint = bench.serve("heart-rate.json", name="Second")
    peer = bench.peer(lambda pdu: ["0b01", "close"], name="lost")
    running = bench.start("session", peer.endpoint, input=True)
    running.say("read 3")
    running.line("main: ", where="err")
    running.say(f"connect {endpoint} --as other")
    running.say("use main # the connection that was lost")
    done = running.end()
    equal(done.code, 3, repr(done))
    contains(done.err, "line 3: ", "disconnected")


@test("session: repeat carries out a command again and again, source the lines of a file")
def repeated_lines(bench):
    server, endpoint = bench.serve("heart-rate.json")
    inner = bench.file("inner.session", "let handle 3\nread $handle\n")
    done = bench.run("session", endpoint, input=f"source {inner}\nrepeat 3 read $handle\necho end\n")
    equal((done.code, done.err, done.out.count("0x0003")), (0, "", 4), repr(done))
    # As often as a command succeeds; nested, with commands of scripts, and quit ends all of it.
    done = bench.run("session", endpoint, input="repeat 2 repeat --every 0.001 3 echo x\n")
    equal((done.code, "invalid" in done.err or "unknown command" in done.err), (2, True), repr(done))
    done = bench.run("session", endpoint, input="repeat 2 repeat 3 --every 0.001 echo x\nrepeat quit\necho y\n")
    equal((done.code, done.out.count("x\n"), "y" in done.out.splitlines()), (0, 6, False), repr(done))
    # Without end: until it fails, the link ends, or Ctrl-C.
    reads = []
    def answer(pdu):
        reads.append(pdu)
        return ["0b01"] if len(reads) < 5 else ["010a030002"]
    done = bench.run("session", bench.peer(answer, name="five").endpoint, input="repeat read 3\n")
    equal((done.code, len(reads)), (1, 5), repr(done))
    peer = bench.peer(lambda pdu: ["0b01", "close"], name="leaves")
    done = bench.run("session", peer.endpoint, input="repeat --every 1000 read 3\n")
    equal(done.code, 3, repr(done))
    for line in "repeat echo x", "repeat --every 0.001 echo x", "repeat repeat 2 echo x":
        running = bench.start("session", endpoint, input=True)
        running.say(line)
        running.line("x")
        equal(running.stop().code, 3, line)


@test("session: repeat and source are refused with the reason and the place")
def repeated_mistakes(bench):
    server, endpoint = bench.serve("heart-rate.json")
    itself = bench.path("itself.session")
    bench.file("itself.session", f"source {itself}\n")
    wrong = bench.file("wrong.session", "read 3\nread 0x99\n")
    unknown = bench.file("unknown.session", "\nraed 3\n")
    for line, status, *parts in (
            ("repeat", 2, "missing argument COMMAND"), ("repeat 3", 2, "missing argument COMMAND"),
            ("repeat 0 read 3", 2, 'invalid number "0"'), ("repeat -1 read 3", 2, 'invalid number "-1"'),
            ("repeat --every", 2, "requires a value"), ("repeat --every x read 3", 2, 'invalid time "x"'),
            ("repeat 2 raed 3", 2, 'unknown command "raed"'), ("source", 2, "missing argument FILE"),
            (f"source {itself}", 2, "16 deep", f"line 1: {itself}:1: {itself}:1: "),
            (f"source {wrong}", 1, f"line 1: {wrong}:2: the peer answered Invalid Handle"),
            (f"source {unknown}", 2, f'line 1: {unknown}:2: unknown command "raed"'),
            ("source /", 2, "cannot read /"), ("source /dev/zero", 2, "larger than"),
            (" ".join(["repeat 1"] * 17) + " read 3", 2, "16 deep")):
        done = bench.run("session", endpoint, input=line + "\n")
        equal(done.code, status, f"{line!r}: {done}")
        contains(done.err, *parts)


@test("session: raw PDUs on the open connection, beside its own requests")
def raw_pdus(bench):
    server, endpoint = bench.serve("heart-rate.json")
    session = JSONSession(bench, endpoint)
    equal(session.ended("connect")[0][0]["mtu"], 23, "MTU")
    found = session.ask(1, "raw", "0a0300", "0a", "52170001", "0aff0f", **{"for": 0.001})
    equal([(row["direction"], row["pdu"]) for row in found], [
        ("sent", "0a0300"), ("received", "0b4174746f205374726170"), ("sent", "0a"),
        ("received", "010a000004"), ("sent", "52170001"), ("sent", "0aff0f"), ("received", "010aff0f01")])
    # What the session subscribes to meanwhile is shown as well; afterwards nothing is.
    session.send(2, "raw", "0a0300", **{"for": 1000})
    session.line(lambda found: found.get("id") == 2 and found["result"]["direction"] == "received")
    session.ask(3, "cancel", 2)
    equal(session.ended(2)[1], {"id": 2, "done": True})
    equal(session.ask(4, "read", 3), [{"handle": 3, "value": b"Atto Strap".hex()}])
    contains(session.fail(5, "raw", "021700")["hints"][0], "mtu --exchange")
    contains(session.fail(6, "raw", "0a0300", mtu=100)["message"], "--mtu requires an ENDPOINT")
    contains(session.fail(7, "raw", "0a03zz")["message"], "0a03zz")
    contains(session.fail(8, "raw", "12030041" + "41" * 30)["message"], "too long")
    # A connection of its own, as before.
    found = session.ask(9, "raw", endpoint, "021700", **{"for": 0.001})
    equal([row["pdu"] for row in found], ["021700", "03f700"])
    equal(session.running.end().code, 0, "status")
    # Without a connection; and a peer that answers with nonsense.
    ended = bench.run("session", input="raw 0a0300\n")
    equal(ended.code, 2, repr(ended))
    contains(ended.err, "there is no connection")
    peer = bench.peer(lambda pdu: ["09ff"], name="nonsense")
    ended = bench.run("session", peer.endpoint, input="raw 080100ffff0328\n")
    equal(ended.code, 3, repr(ended))


@test("session: raw PDUs on a link whose security was raised")
def raw_pdus_secured(bench):
    _, endpoint = bench.serve({"automatic": False, "services": [{"uuid": "A000", "characteristics": [
        {"uuid": "A001", "properties": ["read"], "value": "hex:2a", "permissions": ["readAuthenticated"]}]}]},
        "--io", "yes-no", "--yes", endpoint="air:Lock")
    words = ["session", endpoint, "--io", "yes-no", "--yes"]
    contains(bench.run(*words, "--security", "high", input="raw 0a0300 --for 0.001\n").out, "< 0b2a")
    contains(bench.run(*words, input="raw 0a0300 --for 0.001\n").out, "< 010a030005")


@test("session: a subscription in the background that falls short fails the script")
def background_failure(bench):
    server, endpoint = bench.serve("heart-rate.json")
    done = bench.run("session", endpoint, "--script", bench.file(
        "lines.session", "subscribe 18 --count 100000 --for 0.1"))
    equal(done.code, 4, repr(done))
    contains(done.err, "subscribe in the background", "of 100000 values")


@test("session: --max-time of a line ends that line")
def max_time(bench):
    peer = bench.peer(lambda pdu: None)
    path = bench.file("lines.session", "read 3 --max-time 0.1")
    done = bench.run("session", peer.endpoint, "--script", path)
    equal(done.code, 3, repr(done))
    contains(done.err, "lines.session:1: stopped after 0.1 s")


def asked_server(session, count=1, **options):
    """Serves a profile whose values the program answers for: their handles."""
    profile = {"services": [{"uuid": "A000", "characteristics": [
        {"uuid": f"A{number:03}", "properties": ["read", "write", "writeWithoutResponse"],
         "behaviour": {"application": True}} for number in range(1, count + 1)]}]}
    session.running.say(json.dumps(
        {"id": "serve", "command": "serve", "profile": profile, "options": options}))
    listening = session.line(lambda found: found.get("id") == "serve")["result"]
    equal(listening["event"], "listening")
    return [value["handle"] for value in listening["values"]]


def question(session, event):
    return session.line(
        lambda found: found.get("id") == "serve" and found["result"].get("event") == event)["result"]


@test("session: a program answers for the values of a server")
def answered_values(bench):
    endpoint = f"unix:{bench.path('asked')}"
    session = JSONSession(bench)
    handle, = asked_server(session, listen=endpoint)
    session.ask("connect", "connect", endpoint)
    session.send(1, "read", handle, long=True)
    asked = question(session, "read")
    equal((asked["handle"], asked["client"]), (handle, 1))
    session.ask(2, "reply", asked["question"], "00" * 100)
    # The rest of a long value is asked for too.
    while True:
        found = session.line(lambda found: found.get("id") == 1
                             or "question" in found.get("result", {}))
        if found["id"] == 1:
            break
        session.ask("more", "reply", found["result"]["question"], "00" * 100)
    equal(found["result"]["value"], "00" * 100)
    session.ended(1)
    session.send(3, "write", handle, "0102")
    asked = question(session, "write")
    equal(asked["parts"], [{"offset": 0, "value": "0102"}])
    session.ask(4, "reply", asked["question"], error="value-not-allowed")
    equal(session.ended(3)[1]["error"]["code"], 0x13)
    session.send(5, "write", handle, "ab" * 40, long=True)
    asked = question(session, "write")
    equal("".join(part["value"] for part in asked["parts"]), "ab" * 40)
    session.ask(6, "reply", asked["question"])
    session.ended(5)
    session.ask(7, "write", handle, "03", no_response=True)
    asked = question(session, "write")
    equal((asked["parts"], asked.get("question")), ([{"offset": 0, "value": "03"}], None))
    for id, words, part in (
        (8, [1, "00"], "does not wait"), (9, ["x"], "invalid question"),
        (10, [99, "00", "11"], "unexpected"), (11, [99, "0"], "hex"),
        (12, [99, "00" * 513], "too long")):
        contains(session.fail(id, "reply", *words)["message"], part)
    contains(session.fail(13, "reply", 99, "00", error=1)["message"], "either")
    contains(session.fail(14, "reply", 99, error="nonsense")["message"], "unknown error")
    equal(session.running.end().code, 0, "status")


@test("session: a question that is not answered in time is refused, and forgotten with its client")
def unanswered_question(bench):
    endpoint = f"unix:{bench.path('asked')}"
    session = JSONSession(bench)
    handle, = asked_server(session, listen=endpoint, **{"reply-timeout": 0.2})
    session.ask("connect", "connect", endpoint)
    session.send(1, "read", handle)
    asked = question(session, "read")
    equal(session.ended(1)[1]["error"]["code"], 0x0E)
    contains(session.fail(2, "reply", asked["question"], "00")["message"], "does not wait")
    session.send(3, "read", handle)
    asked = question(session, "read")
    session.ask(4, "disconnect")
    session.ended(3)
    question(session, "disconnected")
    contains(session.fail(5, "reply", asked["question"], "00")["message"], "does not wait")
    equal(session.running.end().code, 0, "status")


@test("session: a profile that a program answers for needs one, and a wrong profile is refused")
def wrong_inline_profiles(bench):
    file = bench.file("asked.json", {"services": [{"uuid": "A000", "characteristics": [
        {"uuid": "A001", "properties": ["read"], "behaviour": {"application": True}}]}]})
    alone = bench.run("serve", file, "--listen", f"unix:{bench.path('alone')}")
    equal(alone.code, 2)
    contains(alone.err, "atto session --json")
    session = JSONSession(bench)
    for id, more, part in (
        (1, {"command": "read", "profile": {"services": []}}, "is for serve"),
        (2, {"command": "serve", "profile": []}, '"profile"'),
        (3, {"command": "serve", "profile": {"services": [{"uuid": "x"}]}}, "services[0].uuid"),
        (4, {"command": "serve", "profile": {}}, "services")):
        session.running.say(json.dumps({"id": id, **more}))
        error = session.ended(id)[1]["error"]
        equal(error["kind"], "usage")
        contains(error["message"], part)
    equal(session.running.end().code, 0, "status")


@test("session: the end of one of two subscriptions to a value leaves the other")
def shared_subscription(bench):
    server, endpoint = bench.serve({"automatic": False, "services": [
        {"uuid": "180D", "characteristics": [
            {"uuid": "2A37", "properties": ["notify", "indicate"], "value": "hex:00",
             "behaviour": {"notifyEveryMilliseconds": 20}}]}]})
    session = JSONSession(bench, endpoint)
    value = lambda id: session.line(lambda found: found.get("id") == id and "result" in found)
    for id, options in ((1, {}), (2, {}), (3, {"indicate": True})):
        session.send(id, "subscribe", 3, **options)
    for id in (1, 2, 3):
        value(id)
    for ended in (1, 3):
        session.ask(10 + ended, "cancel", str(ended))
        session.ended(ended)
        session.early = []
        value(2)
        value(2)
    session.ask(20, "cancel", "2")
    server.line("unsubscribed")
    kinds = [line for line in server.seen["out"] if "subscribed" in line]
    equal([line for line in kinds if "unsubscribed" in line], kinds[-1:], "the end")


@test("session: raw opens a connection of its own")
def raw(bench):
    server, endpoint = bench.serve("heart-rate.json")
    session = JSONSession(bench, endpoint)
    found = session.ask(1, "raw", endpoint, "0a0300", listen=0.01)
    equal([line["direction"] for line in found], ["sent", "received"])
    contains(session.fail(2, "raw", endpoint, "-")["message"], "session")
