"""link and bench: what links carry, by the model and by measurement."""

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


@test("link: parameters out of range are refused, with the legal range")
def link_ranges(b):
    for words, part in [
            (["--phy", "3M"], "1M, 2M, S2 or S8"), (["--interval", "5ms"], "7.5ms to 4s in steps"),
            (["--interval", "8ms"], "steps of 1.25ms"), (["--dle", "26"], "27 to 251"),
            (["--per", "1"], "0 to 0.9"), (["--packets", "0"], "1 to 10000"),
            (["--mtu", "22"], "23 to 517"), (["--event-length", "1ms"], "2.468ms"),
            (["--phy", "S8", "--interval", "7.5ms"], "18.75ms to 4s"), (["--size", "245"], "1 to 244"),
            (["extra"], '"extra"')]:
        b.refuses(2, [part, "usage: atto link"], "link", *words)
