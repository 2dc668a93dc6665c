"""bench: what it says about its results, and which of them are failures."""

import json
import re
import struct

from harness import contains, equal, expect, test


@test("bench: ping asks for a handle that exists, and an error is no round trip")
def ping(b):
    FIRST, AGAIN = "040100ffff", "0410001000"
    found = "0501100000281100032812000029"
    errors = []
    peer = b.peer(lambda pdu: [found] if pdu == FIRST else ["050110000028"])
    ended = b.run("bench", peer.endpoint, "--test", "ping", "--count", 9, "--warm-up", 0, "--json")
    equal((ended.code, ended.err, ended.json[0]["count"]), (0, "", 9))
    equal(peer.heard(), [FIRST] + 9 * [AGAIN])

    def failing(pdu):
        if pdu == FIRST:
            return [found]
        errors.append(pdu)
        return ["050110000028"] if len(errors) < 4 else ["010410000e"]

    peer = b.peer(failing, name="failing")
    ended = b.run("bench", peer.endpoint, "--test", "ping", "--count", 9, "--warm-up", 0, "--json")
    equal(ended.code, 1)
    row = ended.json[0]
    equal((row["count"], row["partial"]), (3, True))
    contains(row["error"], "0x0E", "0x0010")
    # No attributes, and another server's attribute.
    for answer, code, part in [("010401000a", 1, "0x0A"), ("0501000000ff", 3, "0x0000")]:
        peer = b.peer(lambda pdu: [answer], name=answer)
        ended = b.run("bench", peer.endpoint, "--test", "ping", "--count", 9)
        equal(ended.code, code, answer)
        contains(ended.err, part)


@test("bench: --fail-on-loss and --fail-over-p99 fail, also where nothing can be checked")
def checks(b):
    def profile(uuid, **behaviour):
        return {"automatic": False, "services": [{"uuid": uuid, "characteristics": [{
            "uuid": "1524", "properties": ["read", "writeWithoutResponse", "notify"],
            "value": "hex:" + struct.pack("<III", 10, 200, 8000).hex(), "behaviour": behaviour}]}]}

    # It says that it received 10 of 20 writes.
    _, at = b.serve(profile("0483dadd-6c9d-6ca9-5d41-03ad4fff4abb", writeError="0x80"), name="losing")
    losing = ["bench", at, "--test", "write-command", "--count", 20]
    equal(b.run(*losing, "--fail-on-loss", 10, "--fail-over-p99", "1000s", "--fail-under", 0).code, 0)
    ended = b.run(*losing, "--fail-on-loss", 9, "--fail-under", "1e9", "--json")
    equal((ended.code, ended.json[0]["lost"]), (4, 10))
    contains(json.loads(ended.err)["error"]["message"], "rate below 1000000000.0/s: write-command ",
             "; more than 9 values lost: write-command 10")
    _, at = b.serve(profile("180D", notifyEveryMilliseconds=50), name="notifying")
    notify = ["bench", at, "--test", "notify", "--count", 2, "--warm-up", 0]
    ended = b.run(*notify, "--fail-on-loss", 0)
    equal(ended.code, 4)
    contains(ended.err, "atto bench: losses are unknown: notify\n", "hint: losses are known with")
    # The time between two values is never shorter than the timer makes it.
    ended = b.run(*notify, "--fail-over-p99", "10ms")
    equal(ended.code, 4)
    expect(re.search(r"atto bench: p99 over 10 ms: notify \d+(\.\d+)? ms\n", ended.err), ended.err)
    equal(b.run(*notify, "--fail-over-p99", "900s").code, 0)
    # With all, a peer without values of its own does not end the tests.
    _, at = b.serve(profile("180D"), name="silent")
    ended = b.run("bench", at, "--test", "all", "--for", 0.05, "--warm-up", 0, "--fail-on-loss", 0)
    equal(ended.code, 4)
    contains(ended.err, "losses are unknown: notify; nothing was measured: notify\n")
    for option, value in [("--fail-on-loss", "x"), ("--fail-on-loss", -1), ("--fail-over-p99", 0),
                          ("--fail-over-p99", "fast"), ("--fail-over-p99", "1e9s")]:
        b.refuses(2, [f'invalid value "{value}" for {option}'], "bench", at, option, value)


@test("bench: checks hold for each run of a scenario, also for those that are not kept")
def checked_runs(b):
    listening = b.start("bench", "--listen", "air:Runs", "--scenario", "pong", "--linger", "--over",
                        "channel", "--fail-over-p99", "1us", "--csv")
    listening.line("listening", where="err")
    ended = b.run("bench", "air:Runs", "--scenario", "ping", "--count", 2, "--repeat", 1005,
                  "--repeat-delay", 0, "--over", "channel", "--fail-on-loss", 0, "--fail-over-p99", "1us",
                  "--json")
    equal((ended.code, len(ended.json)), (4, 1006))
    contains(json.loads(ended.err.splitlines()[-1])["error"]["message"], "p99 over 0.001 ms: ping over channel ",
             "ping over channel, run 19 ", "ms, and 986 more")
    ended = listening.end()
    equal(ended.code, 4)
    contains(ended.err, "p99 over 0.001 ms: pong over channel ", ", and 986 more")


@test("bench: a stated link that cannot be this one has no limit; one that can has one share")
def another_link(b):
    b.serve("bench.json", endpoint="air:Bench")
    # Without timing, hundreds of reads a second.
    link = "phy=2M&interval=4000ms&dle=251"
    words = ["--test", "read,ping,long-read", "--count", 100, "--warm-up", 0]
    for row in b.run("bench", "air:Bench", *words, "--link", link, "--json").json:
        stated = row["link"]
        equal((stated["source"], stated["parameters"], stated["another"]), ("stated", link, True))
        expect("shareOfLimit" not in stated and "limitPerSecond" not in stated, row)
        expect("limitBytesPerSecond" not in stated, row)
        expect("limit" not in row["limitedBy"]["text"] and "link takes" not in row["limitedBy"]["text"], row)
    ended = b.run("bench", "air:Bench", *words, "--link", link, "--report", b.path("r.html"))
    said = f"another link than {link}, which cannot carry this rate; its limit is unknown"
    contains(ended.out, f"read: {said}\n", f"ping: {said}\n", f"long-read: {said}\n")
    expect(not re.search(r"% of the [\d.]+( B)?/s limit", ended.out), ended.out)
    page = open(b.path("r.html")).read()
    contains(page, said.replace("&", "&amp;"))
    expect("limit of the link: " not in page, page)
    # The endpoint's own timing is this link's. Each test has a share, and one.
    link = "phy=2M&interval=15ms&dle=251"
    for row in b.run("bench", f"air:Bench?{link}", "--test", "all", "--for", 0.3, "--warm-up", 0,
                     "--json").json:
        timed = row["link"]
        equal((timed.get("another"), timed["parameters"]), (None, link), row)
        expect(abs(row["rate"] / timed["limitPerSecond"] - timed["shareOfLimit"]) < 0.001, row)
        # 20 intervals: 2 of rounding.
        expect(0 < timed["shareOfLimit"] < 1.13, row)
        equal("limitBytesPerSecond" in timed, row["size"] > 0, row)
    text = b.run("bench", f"air:Bench?{link}", "--test", "ping", "--count", 4).out
    expect(re.search(r"ping: ([\d.]+ %) of the 33.3/s limit of phy=2M&interval=15ms&dle=251(; over 100 % "
                     r"by rounding)?\n(?s:.*)this run is \1 of the link's limit; ", text), text)


@test("bench: the limit of a paced ping does not await answers")
def paced_ping(b):
    listening = b.start("bench", "--listen", "air:Paced", "--scenario", "pong")
    listening.line("listening", where="err")
    row, = b.run("bench", "air:Paced?phy=2M&interval=30ms", "--scenario", "ping", "--count", 30, "--pace", 5,
                 "--json").json
    # An answer takes two intervals, of which there are 16.7 a second.
    expect(row["link"]["limitPerSecond"] > 1000 and row["link"]["shareOfLimit"] < 0.5, row)
    equal(listening.end().code, 0)


@test("bench: results name the value, and --compare another one")
def values(b):
    profile = {"automatic": False, "services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A37", "properties": ["read"], "value": "hex:01"},
        {"uuid": "a77b0009-0d3e-4f6b-9c11-5a2e7b600001", "properties": ["read"], "value": "hex:02"}]}]}
    _, at = b.serve(profile)
    read = ["bench", at, "--count", 2, "--warm-up", 0, "--test"]
    row, ping = b.run(*read, "read,ping", "--json").json
    equal((row["handle"], row["uuid"], ping.get("handle"), ping.get("uuid")), (3, "2a37", None, None))
    expect("handles" not in row and "handles" not in ping, row)
    named = "value 0x0003, 2A37 Heart Rate Measurement"
    ended = b.run(*read, "read,ping", "--report", b.path("r.html"))
    contains(ended.out, f"read: {named}\n")
    expect("ping: value" not in ended.out, ended.out)
    contains(open(b.path("r.html")).read(), f"<dt>value</dt><dd>{named}</dd>")
    before = b.file("before.json", row)
    equal(b.run(*read, "read", "--compare", before, "--json").json[0]["compared"].get("unlike"), None)
    other = b.run(*read, "read", "--handle", 5, "--compare", before, "--json").json[0]
    equal((other["handle"], other["uuid"], other["compared"]["unlike"]),
          (5, "a77b0009-0d3e-4f6b-9c11-5a2e7b600001", named))
    contains(b.run(*read, "read", "--handle", 5, "--compare", before).out, f"compared with before (before: {named})")
    # Older results name no value.
    old = b.file("old.json", {name: row[name] for name in row if name not in ("handle", "uuid")})
    equal(b.run(*read, "read", "--compare", old, "--json").json[0]["compared"].get("unlike"), None)
    for change in ({"handle": 0}, {"handle": 65536}, {"handles": [1] * 65}, {"uuid": "x"}, {"uuid": ""}):
        b.refuses(2, [":1: not a result"], *read, "read", "--compare", b.file("wrong.json", {**row, **change}))
    head, cells = (line.split(",") for line in b.run(*read, "read", "--csv").lines)
    equal([dict(zip(head, cells))[name] for name in ("handle", "uuid")], ["3", "2a37"])


@test("bench: several procedures in flight name all values that they write")
def several_values(b):
    _, at = b.serve("bench.json")
    write = ["bench", at, "--test", "write", "--count", 6, "--warm-up", 0, "--in-flight"]
    row = b.run(*write, 3, "--json").json[0]
    equal((len(set(row["handles"])), "handle" in row), (3, False))
    texts = [f"0x{handle:04X}" for handle in row["handles"]]
    contains(b.run(*write, 3).out, f"write: values {', '.join(texts)}, {row['uuid']}\n")
    equal(b.run(*write, 1, "--json").json[0]["handle"], row["handles"][0])
    head, cells = (line.split(",") for line in b.run(*write, 3, "--csv").lines)
    equal(dict(zip(head, cells))["handle"], " ".join(map(str, row["handles"])))


@test("bench: values that come in the warm-up only are told")
def warm_up(b):
    profile = {"automatic": False, "services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A37", "properties": ["notify"], "value": "hex:48"}]}]}
    _, at = b.serve(profile)
    server = b.connect(at)

    def answer(pdu):
        # Its values follow the answer to the subscription at once.
        return [server.ask(pdu)] + (3 if pdu == "1204000100" else 0) * ["1b030048"]

    early = ["bench", b.peer(answer).endpoint, "--test", "notify", "--for", 0.2]
    ended = b.run(*early)
    equal(ended.code, 4)
    contains(ended.err, "notify: the peer sent no values of 0x0003 after the warm-up, in which it sent 3\n",
             "hint: --warm-up 0 measures from the first value")
    row = b.run(*early, "--warm-up", 0, "--json").json[0]
    equal((row["count"], row["partial"]), (2, False))
    # Without any values there is nothing to tell.
    ended = b.run("bench", at, "--test", "notify", "--for", 0.1)
    equal(ended.code, 4)
    contains(ended.err, "notify: the peer sent no values of 0x0003\n", "hint: the peer has to send values")


@test("bench: the chart of write commands shows what the receiver has counted")
def receivers_rate(b):
    _, at = b.serve("bench.json")
    commands = ["--test", "write-command", "--count", 3000, "--warm-up", 0]
    row = b.run("bench", at, *commands, "--json").json[0]
    (step,) = row["rateOverTime"]
    expect(abs(step["rate"] / row["rate"] - 1) < 0.001 and abs(step["seconds"] / row["seconds"] - 1) < 0.001, row)
    equal(b.run("bench", at, *commands, "--report", b.path("r.html")).code, 0)
    line, = re.findall('<polyline class="line" points="([^"]*)"', open(b.path("r.html")).read())
    begin, end = (point.split(",") for point in line.split())
    equal((begin[0], begin[1]), ("60.0", end[1]))
    # Ten writes of 20 octets at 8 kb/s.
    _, at = b.serve({"services": [{"uuid": "0483dadd-6c9d-6ca9-5d41-03ad4fff4abb", "characteristics": [
        {"uuid": "1524", "properties": ["read", "writeWithoutResponse"], "value": "hex:" + struct.pack(
            "<III", 10, 200, 8000).hex(), "behaviour": {"writeError": "0x80"}}]}]}, name="metrics")
    row = b.run("bench", at, "--test", "write-command", "--count", 2000, "--json").json[0]
    equal((row["rateOverTime"], row["countedAt"]), ([{"seconds": 0.2, "rate": 50}], "sender"))
    # A peer that reports what cannot be: the times are those of this end.
    _, at = b.serve({"services": [{"uuid": "0483dadd-6c9d-6ca9-5d41-03ad4fff4abb", "characteristics": [
        {"uuid": "1524", "properties": ["read", "writeWithoutResponse"], "value": "hex:" + struct.pack(
            "<III", 2**32 - 1, 1, 0).hex(), "behaviour": {"writeError": "0x80"}}]}]}, name="odd")
    row = b.run("bench", at, "--test", "write-command", "--count", 2000, "--json").json[0]
    expect(0 < row["rateOverTime"][-1]["seconds"] < 60, row)
    # The receiver of a scenario counts too.
    listening = b.start("bench", "--listen", "air:Chart", "--scenario", "receive", "--json")
    listening.line("listening", where="err")
    row = b.run("bench", "air:Chart", "--scenario", "send", "--count", 3000, "--json").json[0]
    (step,) = row["rateOverTime"]
    expect(abs(step["rate"] * row["seconds"] - 3000) < 3, row)
    equal(listening.end().code, 0)


@test("bench: --stages divides each latency, and names what a Unix socket cannot tell")
def stages(b):
    _, at = b.serve("bench.json")
    found = b.run("bench", at, "--test", "all", "--count", 20, "--warm-up", 0, "--stages", "--json").json
    for row in found:
        stages = row.get("stages")
        equal(stages is not None, row["test"] not in ("long-read", "discover"), row["test"])
        if stages is None:
            continue
        names = [part["stage"] for part in stages["parts"]]
        trips = row["test"] in ("read", "write", "ping")
        command = row["test"] == "write-command"
        equal(names, ["queue", "outside", "application"] if trips else ["queue"] if command else ["application"],
              row["test"])
        equal(stages["missing"]["stages"],
              ["kernel", "controller", "peer", "delivery"] if trips else
              ["kernel", "controller"] if command else ["delivery"], row["test"])
        expect(stages["leftOut"] == 0 and stages["count"] >= 20, f"{stages}")
        if trips:
            mean = sum(part["latencyMicroseconds"]["mean"] for part in stages["parts"])
            expect(abs(mean - row["latencyMicroseconds"]["mean"]) < 0.1, f"{row}")
    ended = b.run("bench", at, "--count", 20, "--stages", "--report", b.path("stages.html"))
    equal((ended.code, ended.err), (0, ""))
    contains(ended.out, "read: where the time of 20 round trips went", "in the socket and at the peer",
             "read: stages not known: kernel, controller, peer, delivery, because the kernel stamps",
             " % of the time is spent ")
    contains(open(b.path("stages.html")).read(), "<h3>read: where the time of 20 round trips went</h3>",
             '<rect class="stage outside"', '<span class="swatch outside"></span>in the socket and at the peer')
    for words, part in [(["--test", "long-read"], "--stages cannot be combined with --test long-read"),
                        (["--in-flight", 2], "--stages requires a single procedure in flight"),
                        (["--scenario", "receive"], "--stages cannot be combined with this scenario"),
                        (["--scenario", "send", "--response"], "--stages cannot be combined with this scenario"),
                        (["--scenario", "send", "--over", "channel"], "--stages cannot be combined with this"),
                        (["--scenario", "ping", "--over", "channel", "--pace", 5],
                         "--stages cannot be combined with this scenario")]:
        b.refuses(2, [part], "bench", at, "--stages", *words)


@test("bench: --stages divides the packets of scenarios over GATT")
def scenario_stages(b):
    for scenario, counterpart, names in (("send", "receive", ["queue"]),
                                         ("ping", "pong", ["queue", "outside", "application"])):
        at = f"unix:{b.path(scenario)}"
        listening = b.start("bench", "--listen", at, "--scenario", counterpart)
        listening.line("listening", where="err")
        row = b.run("bench", at, "--scenario", scenario, "--count", 20, "--size", 20, "--stages", "--json").json[0]
        equal(listening.end().code, 0)
        stages = row["stages"]
        equal([part["stage"] for part in stages["parts"]], names)
        equal((stages["count"], stages["leftOut"]), (20, 0))
        mean = sum(part["latencyMicroseconds"]["mean"] for part in stages["parts"])
        expect(abs(mean - row["latencyMicroseconds"]["mean"]) < 0.1, f"{row}")


@test("bench: --stages divides the pings of a channel")
def channel_stages(b):
    listening = b.start("bench", "--listen", "air:Stages", "--scenario", "pong", "--over", "channel", "--json")
    psm = listening.line("listening", where="err").split("PSM ")[1].split()[0]
    row = b.run("bench", "air:Stages", "--scenario", "ping", "--over", "channel", "--psm", psm, "--count", 20,
                "--stages", "--json").json[0]
    equal(listening.end().code, 0)
    stages = row["stages"]
    equal([part["stage"] for part in stages["parts"]], ["queue", "outside", "application"])
    equal((stages["count"], stages["leftOut"]), (20, 0))
    mean = sum(part["latencyMicroseconds"]["mean"] for part in stages["parts"])
    expect(abs(mean - row["latencyMicroseconds"]["mean"]) < 0.1, f"{row}")
