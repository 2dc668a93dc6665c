"""What the command line asks for is what is sent: octets, handles, ranges and UUIDs as given."""

import json

from harness import contains, equal, expect, script, test

NOBODY = "unix:/tmp/atto-nobody-here"


@test("asking: octets are pairs of hex digits everywhere, and nothing else is a value")
def hex_forms(b):
    server, at = b.serve("edges.json")
    handle = b.run("characteristics", at, "0x0001-0xFFFF", "--uuid", "b202", "--json").json[0]["valueHandle"]
    for text, value in (("0102", "0102"), ("0x0102", "0102"), ("01:0a:FF", "010aff"), ("01 02", "0102"),
                        ("0x01 0x02", "0102"), (" 01  02 ", "0102"), ("", "")):
        equal(b.run("write", at, handle, text, "--json").json[-1]["value"], value, repr(text))
        equal(b.run("read", at, handle, "--json").json[0]["value"], value, repr(text))
    equal(b.run("raw", at, "0x0a:03:00", "--json", "--for", "0.02").json[0]["pdu"], "0a0300")
    equal(b.run("decode", "0x0a0300", "0a:03:00", "0a 03 00").lines, ["0a0300  Read Request 0x0003"] * 3)
    for wrong in (":::", ":", " ", "0x", "01:", ":01", "01::02", "01-02", "0", "001", "0x0x01", "01:0", "gg"):
        for words in (["write", NOBODY, "5", wrong], ["raw", NOBODY, wrong]):
            b.refuses(2, ["invalid hex", "expected pairs of digits"], *words)
        if wrong not in (".",):
            ended = b.run("decode", "0a0300", wrong)
            equal((ended.code, "invalid hex" in ended.err), (2, True), f"decode {wrong!r}: {ended}")
    ended = b.run("write", NOBODY, "5", "00" * 300 + "x")
    expect(len(ended.err.splitlines()[0]) < 200, ended.err)


@test("asking: - reads hex from standard input")
def standard_input(b):
    server, at = b.serve("edges.json")
    handle = b.run("characteristics", at, "0x0001-0xFFFF", "--uuid", "b205", "--json").json[0]["valueHandle"]
    for text, value in (("0102\n", "0102"), ("01 02\n03:04\n", "01020304"), ("0x05", "05")):
        equal(b.run("write", at, handle, "-", input=text).code, 0)
        equal(b.run("read", at, handle, "--json").json[0]["value"], value)
    with open(b.file("value.hex", "6869"), encoding="ascii") as file:
        equal(b.start("write", at, handle, "-", stdin=file).end().code, 0)
    equal(b.run("read", at, handle, "--json").json[0]["value"], "6869")
    b.refuses(2, ["standard input is empty", 'the empty value is ""'], "write", at, handle, "-", input=" \n")
    b.refuses(2, ["standard input is empty"], "write", at, handle, "-")
    b.refuses(2, ["invalid hex"], "write", at, handle, "-", input="hello\n")
    b.refuses(2, ["only one argument can be -"], "write", at, "--reliable", handle, "-", handle, "-", input="00")
    equal(b.run("read", at, handle, "--json").json[0]["value"], "6869")
    b.refuses(2, ["invalid handle"], "read", at, "-", input="5")


@test("asking: raw - sends the lines of standard input as they arrive")
def raw_lines(b):
    peer = b.peer(script(("0a0100", "0b01"), ("0a0200", "0b02")))
    running = b.start("raw", peer.endpoint, "-", "ff", "--json", "--for", "0.02", input=True)
    running.say("# a comment")
    running.say("")
    running.say("0a0100")
    equal(json.loads(running.line("received"))["pdu"], "0b01")
    running.say(" 0x0a 02 00")
    equal(json.loads(running.line("received"))["pdu"], "0b02")
    equal(running.end().code, 0)
    equal(peer.heard(), ["0a0100", "0a0200", "ff"])
    peer = b.peer(script(("0a0100", "0b01")), name="other")
    ended = b.run("raw", peer.endpoint, "-", input="0a0100\nnonsense\n0a0100\n")
    equal(ended.code, 2)
    contains(ended.err, 'line 2 of standard input: invalid hex "nonsense"')
    equal(peer.heard(), ["0a0100"])
    with open(b.file("pdus.hex", "0a0100"), encoding="ascii") as file:
        peer = b.peer(script(("0a0100", "0b01")), name="third")
        equal(b.start("raw", peer.endpoint, "-", stdin=file).end().code, 0)
    equal(peer.heard(), ["0a0100"])


@test("asking: serve --control needs a value, and keeps a fixed length")
def control(b):
    server, at = b.serve({"automatic": False, "services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A37", "properties": ["read"], "value": "hex:0102", "fixedLength": True},
        {"uuid": "2A38", "properties": ["read"], "value": "hex:0102"}]}]}, "--control", input=True)
    for line, answer in (
            ("set 3", 'missing value: the empty value is ""'), ("set 5", "missing value"),
            ("notify 3", "missing value"), ("set", "missing handle"), ("set 3 :::", "invalid hex"),
            ('set 3 ""', "wrong length: 0 octets (the length of 0x0003 is fixed at 2)"),
            ("set 3 010203", "wrong length: 3 octets"), ("set 0 00", "invalid handle")):
        server.say(line)
        contains(server.line("control: ", where="err"), answer)
    server.say("set 3 0x03 04")
    server.say('set 5 ""')
    server.say("nonsense")
    server.line("nonsense", where="err")
    equal(b.run("read", at, "3", "--json").json[0]["value"], "0304")
    equal(b.run("read", at, "5", "--json").json[0]["value"], "")


@test("asking: handle 0x0000 is sent, and the peer's Invalid Handle is reported")
def handle_zero(b):
    _, at = b.serve("heart-rate.json")
    for words in (["read", at, "0"], ["read", at, "0x0000", "--long"], ["read", at, "0", "--offset", "3"],
                  ["read", at, "0x0015", "0"], ["read", at, "0", "0x0015", "--variable"],
                  ["write", at, "0", "01"], ["write", at, "0", "01", "--long"],
                  ["write", at, "--reliable", "0x0017", "01", "0", "01"],
                  ["includes", at, "0-0xFFFF"], ["characteristics", at, "0x0000-0x0010"],
                  ["characteristics", at, "0-9", "--uuid", "2a37"], ["descriptors", at, "0-0"],
                  ["read", at, "--uuid", "2a37", "--range", "0-0xffff"]):
        ended = b.run(*words, "--json")
        equal((ended.code, ended.out), (1, ""), " ".join(words))
        error = json.loads(ended.err)["error"]
        equal((error["code"], error["handle"]), (1, 0), " ".join(words))
    equal(b.run("write", at, "0", "01", "--no-response").code, 0)
    b.refuses(2, ["0x0001 to 0xFFFF"], "subscribe", at, "0")


@test("asking: a peer that accepts handle 0x0000 in a search fails the check")
def zero_accepted(b):
    peer = b.peer(script(("0400000500", "050101000028"), ("0800000500" + "0228", "0908010002000500" + "0f18")))
    ended = b.run("descriptors", peer.endpoint, "0-5")
    equal((ended.code, ended.out), (4, ""))
    contains(ended.err, "expected Invalid Handle for 0x0000-0x0005, received Find Information Response")
    equal(b.run("includes", peer.endpoint, "0-5").code, 4)


@test("asking: handles and ranges are hexadecimal after 0x, else decimal without leading zeros")
def handles(b):
    _, at = b.serve("heart-rate.json")
    for text in ("0x0015", "0x15", "0X15", "21"):
        equal(b.run("read", at, text, "--json").json[0]["handle"], 21)
    for text in ("0x10-0x17", "16-23", "0x10-23", "0X0010-0x0017"):
        equal(len(b.run("characteristics", at, text).lines), 3, text)
    for text in ("0015", "00", "0x", "15h", "2A"):
        b.refuses(2, ["invalid handle", "or decimal"], "read", NOBODY, text)
    b.refuses(2, ["invalid range"], "descriptors", NOBODY, "0010-0017")
    for name in ("read", "write", "subscribe"):
        contains(" ".join(b.run(name, "--help").out.split()), "hexadecimal after 0x, else decimal")
    contains(b.run("descriptors", "--help").out, "16-23")


@test("asking: --uuid-as-is requires --uuid, and is not needed for other UUIDs")
def uuid_as_is(b):
    b.refuses(2, ["--uuid-as-is requires --uuid"], "services", NOBODY, "--uuid-as-is")
    b.refuses(2, ["--uuid-as-is requires --uuid"], "read", NOBODY, "5", "--uuid-as-is")
    _, at = b.serve("heart-rate.json")
    full = "00002a38-0000-1000-8000-00805f9b34fb"
    equal(b.run("read", at, "--uuid", full, "--uuid-as-is", "--json").json[0]["handle"], 21)


@test("asking: subscribe with the handle of a declaration subscribes to its value, and says so")
def declaration(b):
    _, at = b.serve("heart-rate.json")
    ended = b.run("subscribe", at, "0x0011", "--count", 1, "--json")
    equal((ended.code, ended.json[0]["handle"]), (0, 0x12))
    contains(ended.err, "0x0011 is a declaration: subscribing to its value, 0x0012")
    b.refuses(2, ["cannot subscribe"], "subscribe", at, "0x0013", "--for", "5")
