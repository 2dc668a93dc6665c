"""Enhanced bearers: --bearers of the clients and of serve, on the virtual air."""

import json
import re

from capturing import tshark
from harness import FIXTURES, contains, equal, expect, test
from sessions import JSONSession, asked_server

BRIEF = ["--count", 40, "--warm-up", 0]
BENCH, CASES = str(FIXTURES / "transcripts/bench.json"), FIXTURES / "transcripts/bearers.att"


@test("bearers: as many as both ends allow, and each is shown")
def agreed(b):
    for offered, wanted, expected in ((5, 5, 5), (5, 2, 2), (2, 5, 2)):
        name = f"air:Two{offered}{wanted}"
        b.serve("heart-rate.json", "--bearers", offered, endpoint=name)
        ended = b.run("read", name, "2A00", "2A38", "--bearers", wanted, "--link-info", "--trace")
        equal(ended.code, 0, f"status ({ended})")
        shown = re.search(r"^bearers: 0 \(MTU 23\)(.*)$", ended.err, re.M)
        expect(shown is not None, ended.err)
        equal(shown[1], "".join(f", {n} (MTU 247)" for n in range(1, expected + 1)), ended.err)
        contains(ended.err, ">1 ", "<1 ")
        equal("warning: only" in ended.err, expected < wanted, ended.err)


@test("bearers: a peer without them is read over the unenhanced bearer, with a warning")
def refused(b):
    b.serve("heart-rate.json", endpoint="air:Plain")
    ended = b.run("read", "air:Plain", "2A00", "--bearers", 3)
    equal(ended.code, 0, f"status ({ended})")
    contains(ended.err, "warning: no enhanced bearers: the peer does not offer enhanced bearers")
    expect(ended.out != "", "nothing was read")


@test("bearers: transcripts with several bearers are played")
def played(b):
    b.serve(BENCH, "--bearers", 5, endpoint="air:Bench")
    ended = b.run("play", "air:Bench", CASES)
    equal(ended.code, 0, f"status ({ended})")
    contains(ended.out, "8 passed, 0 broken, 1 skipped", "it needs a bond")
    # A difference on one of them.
    wrong = b.file("wrong.att", "profile x\n# A  wrong\n> 0a 0300\n< ...\nbearers 2\n>2 0a 0300\n<2 0b 01\n")
    ended = b.run("play", "air:Bench", wrong, "--trace")
    equal(ended.code, 4, f"status ({ended})")
    contains(ended.out, "line 7: received another PDU", ">2 0a 03 00", "<2 0b 42 65 6e 63 68")
    contains(ended.err, " >2 0a0300", " <2 0b")
    exchange = b.run("play", "air:Bench", wrong, "--json").json[0]["exchange"]
    equal([pdu.get("bearer") for pdu in exchange], [None, None, 2, 2])
    b.refuses(2, [":3:1: expected the number of an open bearer (1, 2)"], "play", "air:Bench",
              b.file("no.att", "# A\nbearers 2\n>3 0a\n"))


@test("bearers: transcripts with several bearers, where there are none")
def unplayed(b):
    _, at = b.serve(BENCH)
    b.serve(BENCH, endpoint="air:Plain")
    for place in (at, "air:Plain"):
        ended = b.run("play", place, CASES)
        equal(ended.code, 4, f"status ({ended})")
        contains(ended.out, "0 passed, 0 broken, 9 skipped", "no enhanced bearers: ")


@test("bearers: conform checks a server's, where it offers them")
def conforming(b):
    b.serve(BENCH, "--bearers", 5, endpoint="air:Five")
    ended = b.run("conform", "air:Five", "--allow-writes", "--case", "bearers/*", "--timeout", 0.5)
    equal(ended.code, 0, f"status ({ended})")
    contains(ended.out, "9 passed, 0 broken")
    ended = b.run("conform", "air:Five", "--case", "bearers/*", "--timeout", 0.5)
    contains(ended.out, "4 passed, 0 broken, 5 skipped")
    b.serve(BENCH, "--bearers", 1, endpoint="air:One")
    ended = b.run("conform", "air:One", "--allow-writes", "--case", "bearers/*", "--timeout", 0.5)
    contains(ended.out, "5 passed, 0 broken, 4 skipped", "the peer accepts 1 of 2 enhanced bearers")
    b.serve(BENCH, endpoint="air:None")
    ended = b.run("conform", "air:None", "--allow-writes", "--case", "bearers/*", "--timeout", 0.5)
    equal(ended.code, 4, f"status ({ended})")
    contains(ended.out, "1 passed, 0 broken, 8 skipped",
             "the server does not offer enhanced bearers: bit 0 of Server Supported Features")


@test("bearers: no Unix socket has them")
def elsewhere(b):
    b.refuses(2, ["--bearers requires an le: or air: endpoint"], "read", "unix:/tmp/none", "1", "--bearers", 2)
    b.refuses(2, ["--bearers"], "serve", "Fixtures/heart-rate.json", "--listen", "unix:/tmp/none", "--bearers", 2)
    b.refuses(2, ["0 to 5"], "read", "air:X", "1", "--bearers", 6)
    b.refuses(2, ["--bearers cannot be used with fuzz"], "fuzz", "air:X", "--bearers", 2)


@test("bearers: bench has a procedure in flight on each, and says so in JSON, CSV, text and the report")
def benched(b):
    b.serve("bench.json", "--bearers", 5, endpoint="air:Bench")
    tests = ["read", "write", "write-command", "notify", "indicate", "long-read", "ping"]
    words = ["air:Bench", "--mtu", 247, "--size", 100, "--test", ",".join(tests), *BRIEF]
    for bearers, further, expected in (
            (0, [], (None, None)), (1, [], (1, None)), (5, [], (5, 5)), (5, ["--in-flight", 12], (5, 12)),
            (0, ["--in-flight", 3], (None, 3))):
        found = b.run("bench", *words, "--bearers", bearers, *further, "--json").json
        equal([row["test"] for row in found], tests)
        for row in found:
            equal((row["count"], row["lost"], row["partial"]), (40, 0, False), f"{row}")
            if row["test"] in ("notify", "indicate"):
                equal((row.get("bearers"), row.get("inFlight")), (expected[0], None), f"{row}")
            else:
                equal((row.get("bearers"), row.get("inFlight")), expected, f"{row}")
            if row["test"].startswith("write"):
                equal((row["doubled"], row["outOfOrder"], row["damaged"]), (0, 0, 0), f"{row}")
    ended = b.run("bench", "air:Bench", *BRIEF, "--bearers", 3, "--report", b.path("page.html"))
    contains(ended.out, "read: 3 enhanced bearers, 3 procedures in flight")
    with open(b.path("page.html")) as page:
        contains(page.read(), "3 enhanced bearers, 3 procedures in flight")
    earlier = b.file("earlier.json", b.run("bench", "air:Bench", *BRIEF, "--json").out)
    head, row = (line.split(",") for line in b.run(
        "bench", "air:Bench", *BRIEF, "--bearers", 2, "--csv").lines)
    row = dict(zip(head, row))
    equal((row["bearers"], row["inFlight"]), ("2", "2"))
    row = b.run("bench", "air:Bench", *BRIEF, "--bearers", 2, "--compare", earlier, "--json").json[0]
    contains(row["compared"]["unlike"], "0 enhanced bearers, 1 in flight")
    # A peer without them: a warning, and the unenhanced bearer is measured.
    b.serve("bench.json", endpoint="air:Plain", name="plain")
    ended = b.run("bench", "air:Plain", *BRIEF, "--bearers", 2, "--json")
    contains(ended.err, "warning: no enhanced bearers")
    equal((ended.json[0].get("bearers"), ended.json[0].get("inFlight")), (None, None))
    for words in (["--in-flight", 0], ["--in-flight", 65]):
        b.refuses(2, ["1 to 64"], "bench", "air:Bench", *words)
    b.refuses(2, ["--in-flight cannot be combined with --scenario"], "bench", "air:Bench", "--scenario",
              "send", "--in-flight", 2)


@test("bearers: on a timed link they are no faster than the model, and a slow server is named as the limit")
def timed(b):
    b.serve("bench.json", "--bearers", 5, endpoint="air:Bench")
    b.serve("slow.json", "--bearers", 5, endpoint="air:Slow", name="slow")
    link = "phy=2M&interval=15ms&dle=251"
    words = [f"--{part}" for part in link.split("&")]
    for bearers in (1, 5):
        model = {row["test"]: row for row in b.run(
            "link", *words, "--mtu", 247, "--size", 100, "--bearers", bearers, "--json").json[0]["tests"]}
        # Requests on several bearers share an event.
        expect(abs(model["write"]["rate"] - bearers * 1000 / 30) < 0.5, model)
        for row in b.run("bench", f"air:Bench?{link}", "--mtu", 247, "--size", 100, "--for", 0.4,
                         "--warm-up", 0.1, "--test", "write,notify", "--bearers", bearers, "--json").json:
            expect(0 < row["rate"] < 1.15 * model[row["test"]]["rate"], f"{row}, {model[row['test']]}")
            equal(row["lost"], 0)
        row = b.run("bench", f"air:Slow?{link}", "--mtu", 247, "--count", 10, "--warm-up", 0,
                    "--bearers", bearers, "--json").json[0]
        equal((row["bearers"], row.get("inFlight", 1), row["count"]), (bearers, bearers, 10))
        # No answer comes before its time, whatever else is in flight.
        expect(row["latencyMicroseconds"]["min"] >= 50_000, row)
        equal(row["limitedBy"]["kind"], "peer", row)
    b.refuses(2, ["0 to 5"], "link", "--bearers", 6)


@test("bearers: --capture shows each on a channel of its own, which decode and tshark read",
      needs=["tshark"])
def captured(b):
    b.serve("heart-rate.json", "--bearers", 3, endpoint="air:Strap")
    for ending in ("btsnoop", "pcapng"):
        path = b.path(f"c.{ending}")
        # Wireshark 4.0 applies the unenhanced bearer's ATT_MTU to all.
        ended = b.run("read", "air:Strap", "2A00", "2A38", "--bearers", 3, "--mtu", 247, "--capture", path,
                      "--trace")
        traced = re.findall(r"^\S+ ([<>]\d*) ([0-9a-f]+)  ", ended.err, re.M)
        expect({mark for mark, _ in traced} >= {">", "<", ">1", "<1"}, ended.err)
        decoded = b.run("decode", path, "--check")
        equal(decoded.code, 0, f"{decoded}")
        equal(re.findall(r"^ *\d+ +\S+  \S+ ([<>]\d*) ([0-9a-f]+)  ", decoded.out, re.M), traced)
        equal([(">" if row["direction"] == "sent" else "<") + str(row.get("bearer", ""))
               for row in b.run("decode", path, "--json").json], [mark for mark, _ in traced])
        made = b.run("decode", path, "--transcript").out
        contains(made, "/host  ")
        equal(made.count("\nbearers 1 247\n"), len({mark[1:] for mark, _ in traced} - {""}), made)
        # It is played again, against the same server.
        played = b.run("play", "air:Strap", b.file("made.att", made))
        equal(played.code, 0, f"{played}")
        contains(played.out, "1 passed")
        found = tshark(b, "-r", path, "-T", "fields", "-e", "_ws.malformed", "-e", "_ws.expert.message")
        remarks = {line.strip() for line in found.splitlines()} - {""}
        used = {mark[1:] for mark, _ in traced} - {""}
        equal(remarks, set() if ending == "btsnoop" else {
            f"enhanced bearer {n}, shown as a channel of LE credit-based flow control with the PSM of ATT"
            for n in used})
        lines = [line.split("\t") for line in tshark(
            b, "-r", path, "-Y", "btatt", "-T", "fields", "-e", "btl2cap.cid", "-e", "btatt.opcode").splitlines()]
        equal(lines, [[f"0x{int(mark[1:]) + 0x3F:04x}" if mark[1:] else "0x0004", f"0x{pdu[:2]}"]
                      for mark, pdu in traced])


@test("bearers: an MTU grows when it is asked to, and longer values follow")
def raised(b):
    b.serve("bench.json", "--bearers", 2, endpoint="air:Bench")
    found = b.run("discover", "air:Bench", "--json").json[0]["services"][-1]["characteristics"]
    handle = found[1]["valueHandle"]
    ended = b.run("session", "air:Bench", "--bearers", 2, "--mtu", 64, "--json", input="".join(
        json.dumps({"id": number, "command": command, "arguments": words, "options": options}) + "\n"
        for number, (command, words, options) in enumerate([
            ("read", [handle], {}), ("mtu", [], {}), ("mtu", [], {"raise": 100}), ("read", [handle], {}),
            ("read", [handle], {"long": True}), ("mtu", [], {"raise": 80}), ("mtu", [], {"raise": 65535}),
            ("read", [handle], {})])))
    equal(ended.code, 0, f"{ended}")
    results = {row["id"]: row["result"] for row in ended.json if "result" in row}
    equal([len(results[number]["value"]) // 2 for number in (0, 3, 4, 7)], [63, 99, 512, 512], f"{ended}")

    def mtus(*numbers):
        return {"mtu": 64, "bearers": [{"number": n, "mtu": mtu} for n, mtu in enumerate(numbers)]}

    equal([results[number] for number in (1, 2, 5, 6)],
          [mtus(64, 64, 64), mtus(64, 100, 100), mtus(64, 100, 100), mtus(64, 517, 517)])
    for value in (63, 65536):
        ended = b.run("session", "air:Bench", input=f"mtu --raise {value}\n")
        contains(ended.err, "64 to 65535")
    ended = b.run("session", "air:Bench", input="mtu --raise 100\n")
    contains(ended.err, "--raise is for enhanced bearers, and the connection has none\nhint: connect with")


def question(server):
    """The next question of a server, which may be a read or a write."""
    return server.line(lambda found: "question" in found.get("result", {}))["result"]


@test("bearers: requests of a session run side by side, each on its bearer")
def side_by_side(b):
    server = JSONSession(b)
    handles = asked_server(server, 5, listen="air:Held", bearers=5)
    client = JSONSession(b, "air:Held", "--bearers", "4")
    client.ended("connect")
    for handle in handles:
        client.send(handle, "read", handle)
    # All are at the server before one is answered. They are answered from the last to the first.
    asked = {found["handle"]: found["question"] for found in (question(server) for _ in handles)}
    equal(sorted(asked), handles)
    for handle in reversed(handles):
        server.ask(f"reply {handle}", "reply", asked[handle], f"{handle:02x}")
        equal(client.ended(handle), ([{"handle": handle, "value": f"{handle:02x}"}], {"id": handle, "done": True}))
    equal(client.running.end().code, 0, "status")
    equal(server.running.end().code, 0, "status of the server")


@test("bearers: requests of a session on one value keep their order, and others wait for all")
def one_value(b):
    server = JSONSession(b)
    one, other = asked_server(server, 2, listen="air:Order", bearers=5)
    client = JSONSession(b, "air:Order", "--bearers", "3")
    client.ended("connect")
    for number, words in enumerate((
            ("write", one, "01"), ("write", one, "02"), ("read", one), ("read", other), ("write", one, "03"),
            ("security",), ("read", other))):
        client.send(number, *words)
    # All lines are read: the client sends what it can before it sees an answer.
    client.ask("lines", "requests")
    # The read of the other value overtakes the second write; the server has held it behind the first.
    for event, handle, value in (
            ("write", one, "01"), ("read", other, None), ("write", one, "02"), ("read", one, None),
            ("write", one, "03"), ("read", other, None)):
        found = question(server)
        written = found["parts"][0]["value"] if event == "write" else None
        equal((found["event"], found["handle"], written), (event, handle, value))
        server.ask(f"reply {found['question']}", "reply", found["question"], *["05"] * (event == "read"))
    # `security` has waited for all before it, and the last read for `security`. The answers to the first
    # write and to the read of the other value come on two bearers, and may be seen in either order.
    ends = [client.line(lambda found: "done" in found)["id"] for _ in range(7)]
    equal(([id for id in ends if id != 3], ends[-2:], sorted(ends)), ([0, 1, 2, 4, 5, 6], [5, 6], list(range(7))))
    equal(client.running.end().code, 0, "status")
    equal(server.running.end().code, 0, "status of the server")
