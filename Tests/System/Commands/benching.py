"""link and bench: the throughput of links, computed and measured."""

import json
import re

from harness import contains, equal, expect, test


@test("link: the table, and the same as JSON")
def link_table(b):
    ended = b.run("link", "--phy", "2M", "--interval", "15ms", "--dle", 251, "--mtu", 247)
    equal((ended.code, ended.err), (0, ""))
    contains(ended.out, "phy=2M&interval=15ms&dle=251, MTU 247", "1.392ms")
    rows = {line.split()[0]: line.split() for line in ended.lines if line[:1].isalpha()}
    equal(rows["notify"][1:3], ["244", "600.0"])
    equal(rows["write"][1:3], ["244", "33.3"])
    equal(rows["read"][1:3], ["246", "33.3"])
    found = b.run("link", "--phy", "2M", "--interval", "15ms", "--json").json
    equal(len(found), 1)
    equal((found[0]["phy"], found[0]["intervalMicroseconds"], found[0]["mtu"]), ("2M", 15000, 247))
    tests = {row["test"]: row for row in found[0]["tests"]}
    equal(set(tests), {"notify", "write-command", "write", "read"})
    equal(tests["notify"]["bytesPerSecond"], 146400)


@test("link: an invalid parameter is an error that names the valid range")
def link_ranges(b):
    for words, part in [
            (["--phy", "3M"], "1M, 2M, S2 or S8"), (["--interval", "300us"], "375us to 4s in steps"),
            (["--interval", "8.1ms"], "steps of 125us"), (["--dle", "26"], "27 to 251"),
            (["--per", "1"], "0 to 0.9"), (["--packets", "0"], "1 to 10000"),
            (["--mtu", "22"], "23 to 517"), (["--event-length", "1ms"], "2.468ms"),
            (["--phy", "S8", "--interval", "7.5ms"], "17.875ms to 4s"), (["--size", "245"], "at most 244"),
            (["extra"], '"extra"')]:
        b.refuses(2, [part, "usage: atto link"], "link", *words)


TESTS = ["read", "write", "write-command", "notify", "indicate", "long-read", "discover", "ping"]


@test("bench: all tests over a Unix socket, counted by the receiver")
def all_tests(b):
    server, at = b.serve("bench.json")
    ended = b.run("bench", at, "--test", "all", "--mtu", 247, "--size", 100, "--count", 200,
                  "--warm-up", 0.01, "--json")
    equal((ended.code, ended.err), (0, ""))
    found = {row["test"]: row for row in ended.json}
    equal(list(found), TESTS)
    for name, row in found.items():
        equal((row["count"], row["lost"], row["partial"], row["mtu"]), (200, 0, False, 247), name)
        latency = row["latencyMicroseconds"]
        expect(0 < latency["min"] <= latency["p50"] <= latency["p90"] <= latency["p99"]
               <= latency["max"], f"{name}: {latency}")
        expect(row["rate"] > 0 and row["seconds"] > 0, f"{name}: {row}")
        expect(row["cpuMicrosecondsPerPDU"] > 0, f"{name}: {row}")
        equal(row["countedAt"], "receiver")
    sizes = {name: row["size"] for name, row in found.items()}
    equal(sizes, {"read": 20, "write": 100, "write-command": 100, "notify": 100, "indicate": 100,
                  "long-read": 512, "discover": 0, "ping": 0})
    for name in ("write", "write-command", "notify", "indicate"):
        equal((found[name]["doubled"], found[name]["outOfOrder"]), (0, 0), name)


@test("bench: table, CSV, report, --compare and --fail-under")
def forms(b):
    server, at = b.serve("bench.json")
    common = ["--count", 50, "--warm-up", 0]
    ended = b.run("bench", at, "--test", "read,notify", *common, "--report", b.path("r.html"))
    equal((ended.code, ended.err), (0, ""))
    contains(ended.lines[0], "rate/s", "p99 us", "lost")
    equal([line.split()[0] for line in ended.lines[1:3]], ["read", "notify"])
    page = open(b.path("r.html")).read()
    contains(page, "<!doctype html>", "prefers-color-scheme", "<h2>read</h2>", "<h2>notify</h2>",
             "<polyline", "class=\"bar\"", "p99", "Linux")
    for outside in ("http://", "https://", "<script", "src="):
        expect(outside not in page, f"the page has {outside}")
    ended = b.run("bench", at, *common, "--csv")
    equal((ended.code, len(ended.lines)), (0, 2))
    equal(len(ended.lines[0].split(",")), len(ended.lines[1].split(",")))
    table = dict(zip(*(line.split(",") for line in ended.lines)))
    expect(table["size"].isdigit() and int(table["size"]) > 0, f"the size {table['size']!r}")
    earlier = b.file("earlier.json", b.run("bench", at, *common, "--json").out)
    row = b.run("bench", at, *common, "--json", "--compare", earlier).json[0]
    expect(row["compared"]["rate"] > 0 and row["compared"]["p99"] > 0, f"{row}")
    contains(b.run("bench", at, *common, "--compare", earlier).out, "compared with before: rate x")
    equal(b.run("bench", at, *common, "--fail-under", 1).code, 0)
    ended = b.run("bench", at, *common, "--fail-under", "1e9", "--json")
    equal((ended.code, len(ended.json)), (4, 1))
    contains(ended.err, "read ", "rate below 1000000000.0/s")
    # The error names all slow tests; a warning names the missing results.
    ended = b.run("bench", at, "--test", "ping,write", *common, "--fail-under", "1e9", "--compare",
                  earlier)
    equal(ended.code, 4)
    contains(ended.err, "ping ", "write ", "the earlier results have no ping", "the first one is read")
    row = b.run("bench", at, *common, "--mtu", 100, "--json", "--compare", earlier).json[0]
    equal(row["compared"]["unlike"], "MTU 23")
    contains(b.run("bench", at, *common, "--mtu", 100, "--compare", earlier).out, "(before: MTU 23)")
    head, row = (line.split(",") for line in b.run("bench", at, *common, "--csv", "--compare",
                                                   earlier).lines)
    ratio = dict(zip(head, row))["rateRatio"]
    expect(float(ratio) > 0, f"the ratio is {ratio}")


@test("bench: progress on a terminal, but not on standard output")
def bench_progress(b):
    server, at = b.serve("bench.json")
    shown, ended = b.on_terminal("bench", at, "--test", "read,notify", "--seconds", 0.9,
                                 "--warm-up", 0.3)
    equal(ended.code, 0)
    equal([line.split()[0] for line in ended.lines[1:]], ["read", "notify"])
    lines = [line for line in shown.split("\r\x1b[K") if line]
    for name in ("read", "notify"):
        expect(f"{name}  warming up" in lines, f"no warm-up in {lines}")
        expect(any(re.fullmatch(rf"{name}  0\.\d of 0\.9 s  [1-9]\d*  [\d.]+/s", line)
                   for line in lines), f"no rate in {lines}")
    shown, _ = b.on_terminal("bench", at, "--count", 100_000, "--warm-up", 0)
    expect(re.search(r"read  [\d.]+ s  \d+ of 100000  [\d.]+/s", shown), f"no count in {shown!r}")


@test("bench: wrong command lines and files")
def bench_mistakes(b):
    server, at = b.serve("bench.json")
    for words, part in [
            (["--test", "rread"], "read, write, write-command, notify"),
            (["--size", 3], "4 to 512"), (["--count", 0], "from 1"), (["--seconds", "x"], "seconds"),
            (["--link", "phy=4M"], "1M, 2M, S2 or S8"), (["--fail-under", "x"], "a rate"),
            (["--json", "--csv"], "cannot be combined"), (["--compare", b.path("none")], "cannot read"),
            (["--compare", b.file("e.json", "{}\n")], ":1: not a result"),
            (["--compare", b.file("empty.json", "")], "no results"),
            (["--report", b.path("no/r.html")], "cannot write"),
            (["--handle", "0x0FFF"], "no characteristic at 0x0FFF"),
            (["--handle", "0x0003", "--test", "notify"], "cannot use 0x0003"),
            (["--handle", "0x0003", "--test", "read,write"], "a single test"),
            (["--test", "write", "--size", 100], "--mtu 103")]:
        b.refuses(2, [part], "bench", at, *words)


@test("bench: the error for an unsuitable peer names the requirement")
def unsuitable(b):
    server, at = b.serve("heart-rate.json", "--json")
    for name, part in [("write", "property write"), ("write-command", "writeWithoutResponse"),
                       ("indicate", "that indicates")]:
        b.refuses(2, [part, "Fixtures/bench.json"], "bench", at, "--test", name)
    # Values of other profiles have no numbers.
    row = b.run("bench", at, "--test", "notify", "--count", 1, "--warm-up", 0, "--json").json[0]
    equal((row["count"], row.get("lost")), (1, None))
    row = b.run("bench", at, "--test", "read", "--count", 5, "--json").json[0]
    equal((row["count"], row["lost"]), (5, 0))
    expect("written" not in "\n".join(server.stop().lines), "something was written unasked")


@test("bench: a lost link leaves partial results and status 3")
def dying(b):
    server, at = b.serve("bench.json")
    for name in ("read", "notify", "write-command"):
        running = b.start("bench", at, "--test", name, "--seconds", 30, "--warm-up", 0, "--json")
        server.line("connected")
        if name == "notify":
            server.line("subscribed")
        # Long enough for a value on a slow machine.
        while True:
            try:
                running.process.wait(0.3)
                break
            except Exception:
                server.process.kill()
        ended = running.end()
        equal(ended.code, 3, name)
        row = ended.json[0]
        expect(row["partial"] and row["error"], f"{name}: {row}")
        equal(json.loads(ended.err)["error"]["status"], 3)
        server, at = b.serve("bench.json", name=f"next-{name}")


@test("bench: Ctrl-C leaves partial results")
def interrupted(b):
    server, at = b.serve("bench.json")
    running = b.start("bench", at, "--test", "ping", "--seconds", 30, "--warm-up", 0, "--json")
    server.line("connected")
    ended = running.stop()
    equal(ended.code, 3)
    contains(ended.err, "interrupted")
    for row in ended.json:
        equal(row["partial"], True)


@test("bench: a sink tallies numbered writes: lost, doubled, out of order")
def tallies(b):
    server, at = b.serve({"automatic": False, "services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A37", "properties": ["read", "write", "writeWithoutResponse"],
         "behaviour": {"tally": True}}]}]}, "--mtu", 100)
    client, other = b.connect(at), b.connect(at)
    client.ask("026400")

    def tally(of):
        octets = bytes.fromhex(of.ask("0a0300"))[1:]
        return [int.from_bytes(octets[at:at + 8], "little") for at in range(0, 40, 8)]

    other.ask("026400")
    for number in (0, 1, 3, 2, 2, 6):
        client.send("520300" + number.to_bytes(4, "little").hex() + "ff")
    equal(tally(client), [6, 30, 2, 1, 1])
    equal(tally(other), [0, 0, 0, 0, 0], "another client's")
    equal(client.ask("120300"), "13")
    equal(tally(client), [0, 0, 0, 0, 0], "cleared")


@test("bench: a stream is numbered, takes its size from the client, and ends")
def streams(b):
    server, at = b.serve({"automatic": False, "services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A37", "properties": ["write", "notify"], "maxLength": 2,
         "behaviour": {"stream": {"size": 8}}}]}]})
    client = b.connect(at)
    equal(client.ask("1203000300"), "0112030013", "too small")
    equal(client.ask("12030001"), "011203000d", "no size")
    equal(client.ask("1203000600"), "13")
    client.send("1204000100")
    numbers = []
    while len(numbers) < 1000:
        pdu = client.receive()
        if pdu == "13":
            continue
        equal((pdu[:6], len(pdu)), ("1b0300", 18))
        numbers.append(int.from_bytes(bytes.fromhex(pdu[6:14]), "little"))
    equal(numbers, list(range(1000)))
    client.send("1204000000")
    while client.receive() != "13":
        pass


@test("bench: a timed link on the air is no faster than the model")
def timed(b):
    server, at = b.serve("bench.json", endpoint="air:Bench")
    for link in ("phy=2M&interval=15ms&dle=251", "phy=1M&interval=7.5ms&dle=27"):
        words = [f"--{part}" for part in link.split("&")]
        model = {row["test"]: row for row in
                 b.run("link", *words, "--mtu", 247, "--size", 100, "--json").json[0]["tests"]}
        found = b.run("bench", f"air:Bench?{link}", "--mtu", 247, "--size", 100, "--seconds", 0.6,
                      "--warm-up", 0.1, "--test", "notify,write-command,write", "--json").json
        for row in found:
            wanted = model[row["test"]]["rate"]
            # How near it comes depends on what else this machine does. A run of 0.6 s ends within
            # a connection event, hence the tenth.
            expect(0 < row["rate"] < 1.1 * wanted,
                   f"{link}: {row['test']} at {row['rate']}, modelled {wanted}")
            equal(row["lost"], 0)
            equal(row["link"]["phy"], link[4:6])
            expect(0 < row["link"]["shareOfLimit"] < 1.1, f"{row}")


@test("bench: invalid timing of a link, and timing stated by a listener")
def timing_mistakes(b):
    b.refuses(2, ["375us to 4s in steps of 125us"], "read", "air:x?interval=5.1ms", 3)
    b.refuses(2, ["one of phy, interval"], "bench", "air:x?speed=9")
    b.refuses(2, ["the connecting end chooses"], "serve", "/dev/stdin", "--listen", "air:x?phy=2M",
              input='{"services": []}')


@test("bench: the latency of values is the time between them, and so is the rate")
def intervals(b):
    profile = {"services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A37", "properties": ["notify"], "value": "hex:0048",
         "behaviour": {"notifyEveryMilliseconds": 200}}]}]}
    _, at = b.serve(profile)
    # Values come before, during and after the warm-up. Its end is not the begin of an interval.
    found = b.run("bench", at, "--test", "notify", "--count", 4, "--warm-up", 0.1, "--json").json[0]
    equal(found["count"], 4)
    # Five values: four intervals. Their sum is never shorter than the timer makes it.
    expect(found["rate"] <= 5.3, found)
    expect(found["latencyMicroseconds"]["max"] >= 180_000, found)
    expect(abs(found["count"] / found["seconds"] - found["rate"]) < 0.01, found)
    expect(abs(found["latencyMicroseconds"]["mean"] * 4 / 1e6 - found["seconds"]) < 0.001, found)


@test("bench: a single value has no interval")
def single(b):
    profile = {"services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A37", "properties": ["notify"], "value": "hex:0048",
         "behaviour": {"notifyEveryMilliseconds": 400}}]}]}
    _, at = b.serve(profile)
    ended = b.run("bench", at, "--test", "notify", "--seconds", 0.6, "--warm-up", 0)
    equal(ended.code, 4)
    contains(ended.err, "the peer sent only one value of 0x")


@test("bench: --test all leaves out what the peer has no value for")
def all_tests(b):
    _, at = b.serve("heart-rate.json")
    common = ["--count", 3, "--seconds", 4, "--warm-up", 0, "--json"]
    ended = b.run("bench", at, "--test", "all", *common)
    equal(ended.code, 0)
    tests = [result["test"] for result in ended.json]
    equal([name for name in tests if name in ("read", "long-read", "discover", "ping")],
          ["read", "long-read", "discover", "ping"])
    contains(ended.err, "skipped: --test write requires", "skipped: --test indicate requires")
    expect("write" not in tests and "indicate" not in tests, tests)
    equal(b.run("bench", at, "--test", "write", *common).code, 2)
    # An error of one test does not end the others, but is the status.
    refusing = {"services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A37", "properties": ["read"], "value": "hex:00", "behaviour": {"readError": "0x80"}}]}]}
    refusing["automatic"] = False
    _, at = b.serve(refusing, name="refusing")
    ended = b.run("bench", at, "--test", "all", *common)
    equal(ended.code, 1)
    results = {result["test"]: result.get("error") for result in ended.json}
    equal(results["ping"], None)
    contains(results["read"], "0x80")
