"""The normal case of each command: as text, as JSON, on each kind of endpoint."""

import json

from harness import contains, equal, expect, test

STRAP = "heart-rate.json"


@test("results: services, as text and as JSON")
def services(b):
    _, at = b.serve(STRAP)
    equal(b.run("services", at).lines, [
        "0x0001-0x0005  1800 Generic Access", "0x0006-0x000F  1801 Generic Attribute",
        "0x0010-0x0017  180D Heart Rate", "0x0018-0x001C  180F Battery",
        "0x001D-0x0029  180A Device Information"])
    equal(b.run("services", at, "--json").json[2],
          {"handle": 16, "endHandle": 23, "uuid": "180d", "primary": True})
    equal(b.run("services", at, "--uuid", "180f", "--json").json,
          [{"handle": 24, "endHandle": 28, "uuid": "180f", "primary": True}])
    equal(b.run("services", "--uuid", "180F", at).lines, ["0x0018-0x001C  180F Battery"])
    ended = b.run("services", at, "--uuid", "1234")
    equal((ended.code, ended.out, ended.err), (0, "", ""))


@test("results: includes, secondary services and long UUIDs, lowercase in JSON")
def includes(b):
    _, at = b.serve("edges.json")
    secondary = b.run("services", at, "--secondary", "--json").json
    expect(all(not s["primary"] for s in secondary) and secondary, secondary)
    equal(secondary[0]["uuid"], "a005")
    found = b.run("includes", at, "0x0001-0xFFFF", "--json").json
    expect(found, "no includes")
    for include in found:
        equal(sorted(include), ["endHandle", "handle", "startHandle", "uuid"])
        equal(include["uuid"], include["uuid"].lower())
        expect(all(isinstance(include[k], int) for k in ("handle", "startHandle", "endHandle")),
               include)
    table = b.run("includes", at, "0x0420-0x0430").lines
    expect(table and table[0].startswith("0x0421  0x0400-"), table)


@test("results: characteristics, as text and as JSON")
def characteristics(b):
    _, at = b.serve(STRAP)
    equal(b.run("characteristics", at, "0x0010-0x0017").lines, [
        "0x0011  value 0x0012  2A37 Heart Rate Measurement  [notify]",
        "0x0014  value 0x0015  2A38 Body Sensor Location  [read]",
        "0x0016  value 0x0017  2A39 Heart Rate Control Point  [write]"])
    equal(b.run("characteristics", at, "16-23", "--uuid", "2a38", "--json").json,
          [{"handle": 20, "valueHandle": 21, "properties": ["read"], "uuid": "2a38"}])


@test("results: descriptors, with the names of their types")
def descriptors(b):
    _, at = b.serve(STRAP)
    equal(b.run("descriptors", at, "0x0010-0x0013").lines, [
        "0x0010  2800 Primary Service", "0x0011  2803 Characteristic",
        "0x0012  2A37 Heart Rate Measurement", "0x0013  2902 Client Characteristic Configuration"])
    equal(b.run("descriptors", at, "0x0012-0x0013", "--json").json,
          [{"handle": 18, "uuid": "2a37"}, {"handle": 19, "uuid": "2902"}])


@test("results: discover, as a tree and as one object")
def discover(b):
    _, at = b.serve("edges.json")
    ended = b.run("discover", at, "--json")
    equal(len(ended.lines), 1, "lines")
    equal(ended.err, "", "standard error")
    services = ended.json[0]["services"]
    keys = ["characteristics", "endHandle", "handle", "includes", "primary", "uuid"]
    for service in services:
        equal(sorted(service), keys)
        for characteristic in service["characteristics"]:
            equal(sorted(characteristic),
                  ["descriptors", "handle", "properties", "uuid", "valueHandle"])
            for descriptor in characteristic["descriptors"]:
                equal(sorted(descriptor), ["handle", "uuid"])
        for include in service["includes"]:
            equal(sorted(include), ["endHandle", "handle", "startHandle", "uuid"])
    texts = json.dumps([[s["uuid"]] + [c["uuid"] for c in s["characteristics"]] for s in services])
    equal(texts, texts.lower())
    expect(any(not s["primary"] for s in services), "no secondary service")
    tree = b.run("discover", at)
    contains(tree.out, "0x0001-0x0005  1800 Generic Access\n  0x0002  2A00 Device Name  value "
             "0x0003  [read", "(secondary)", "includes 0x0400-")
    equal(tree.code, 0)


@test("results: discover finds the same 820 attributes at any MTU")
def reference(b):
    _, at = b.serve("reference-820.json")
    small = b.run("discover", at, "--json")
    equal(small.json, b.run("discover", at, "--json", "--mtu", 517).json)
    services = small.json[0]["services"]
    equal(len([s for s in services if len(s["characteristics"]) == 10]), 20)


@test("results: each way to read")
def reads(b):
    _, at = b.serve(STRAP)
    equal(b.run("read", at, "0x0003").lines, ['0x0003  4174746f205374726170  "Atto Strap"'])
    equal(b.run("read", at, "0x0003", "--json").json, [{"handle": 3, "value": "4174746f205374726170"}])
    equal(b.run("read", at, "3", "--offset", 5, "--json").json, [{"handle": 3, "value": "5374726170"}])
    long = b"1.0.0, built for a demonstration of long reads"
    equal(b.run("read", at, "0x0029", "--json").json[0]["value"], long[:22].hex())
    equal(b.run("read", at, "0x0029", "--long", "--json").json[0]["value"], long.hex())
    equal(b.run("read", at, "0x0029", "--long", "--offset", 7, "--json").json[0]["value"], long[7:].hex())
    equal(b.run("read", at, "0x0015", "0x001A", "--json").json, [{"value": "0164"}])
    equal(b.run("read", at, "0x0015", "0x001A").lines, ["0164"])
    equal(b.run("read", at, "0x0015", "0x001A", "--variable", "--json").json,
          [{"handle": 21, "value": "01"}, {"handle": 26, "value": "64"}])
    equal(b.run("read", at, "--uuid", "2a19", "--json").json,
          [{"handle": 26, "value": "64", "decoded": {"level": 100}, "units": {"level": "%"},
            "text": "100 %"}])
    equal(b.run("read", at, "--uuid", "battery level").lines, ["0x001A  64  100 %"])
    equal(b.run("read", at, "--uuid", "2a19", "--range", "0x0001-0x0010").code, 1)


@test("read: --every reads until it is told to end, or a read fails")
def read_every(b):
    reads = []
    def answer(pdu):
        reads.append(pdu)
        return [f"0b{len(reads):02x}"] if len(reads) < 4 else ["010a030002"]
    ended = b.run("read", b.peer(answer).endpoint, 3, "--every", "0.001", "--json")
    equal((ended.code, [value["value"] for value in ended.json[:3]]), (1, ["01", "02", "03"]), ended)
    server, at = b.serve("heart-rate.json")
    ended = b.run("read", at, 3, 0x15, "--variable", "--every", "0.001", "--count", 3)
    equal((ended.code, len(ended.lines)), (0, 6), ended)
    running = b.start("read", at, 3, "--every", "0.001")
    running.line("0x0003")
    equal(running.stop().code, 0)
    running = b.start("read", at, 3, "--every", "1000", "--count", 2)
    running.line("0x0003")
    ended = running.stop()
    equal(ended.code, 4)
    contains(ended.err, "read 1 of 2 times")
    equal(b.run("read", at, 3, "--every", "1000", "--max-time", "0.1").code, 0)
    b.refuses(2, ["--count requires --every"], "read", at, 3, "--count", 2)
    b.refuses(2, ["--every"], "read", at, 3, "--every", 0)
    # In a session the lines after it go on, and it ends with the session.
    ended = b.run("session", at, input="read 3 --every 0.001\nread 0x15\n")
    equal(ended.code, 0, ended)
    contains(ended.out, "0x0003", "0x0015")


@test("results: an empty value, and one of 512 octets")
def extremes(b):
    _, at = b.serve("edges.json")
    equal(b.run("read", at, "0x0023").lines, ["0x0023  (empty)"])
    equal(b.run("read", at, "0x0023", "--json").json, [{"handle": 35, "value": ""}])
    listed = b.run("characteristics", at, "0x0020-0x00FF", "--uuid", "b512", "--json").json
    value = b.run("read", at, listed[0]["valueHandle"], "--long", "--json").json[0]["value"]
    equal(value, "000102030405060708090a0b0c0d0e0f" * 32)


def value_handle(b, at, uuid):
    found = b.run("characteristics", at, "0x0001-0xFFFF", "--uuid", uuid, "--json").json
    return found[0]["valueHandle"]


@test("results: each way to write")
def writes(b):
    server, at = b.serve("edges.json")
    handle = value_handle(b, at, "b202")
    ended = b.run("write", at, handle, "6869")
    equal((ended.code, ended.out, ended.err), (0, "", ""))
    equal(b.run("read", at, handle, "--json").json[0]["value"], "6869")
    equal(b.run("write", at, handle, "AB:CD 01", "--json").json, [{"handle": handle, "value": "abcd01"}])
    equal(b.run("write", at, handle, "ff", "--offset", 1).code, 0)
    equal(b.run("read", at, handle, "--json").json[0]["value"], "abff")
    equal(b.run("write", at, handle, "").code, 0)
    equal(b.run("read", at, handle, "--json").json[0]["value"], "")
    big = value_handle(b, at, "b205")
    equal(b.run("write", at, big, "5a" * 300, "--long").code, 0)
    equal(b.run("read", at, big, "--long", "--json").json[0]["value"], "5a" * 300)
    equal(b.run("write", at, big, "01", "--no-response").code, 0)
    server.line(f"wrote 0x{big:04X} = 01")
    one = value_handle(b, at, "b206")
    equal(b.run("write", at, "--reliable", one, "0102", handle, "03").code, 0)
    equal(b.run("read", at, one, "--json").json[0]["value"], "0102")
    equal(b.run("read", at, handle, "--json").json[0]["value"], "03")


@test("results: raw shows both directions")
def raw(b):
    _, at = b.serve(STRAP)
    equal(b.run("raw", at, "0a1500", "--for", "0.02").lines,
          ["> 0a1500  Read Request 0x0015", "< 0b01  Read Response 01"])
    found = b.run("raw", at, "0a1500", "0a", "ff", "--for", "0.05", "--json").json
    equal([(p["direction"], p["pdu"]) for p in found], [
        ("sent", "0a1500"), ("received", "0b01"), ("sent", "0a"), ("received", "010a000004"),
        ("sent", "ff")])
    expect(all(sorted(p) == ["direction", "pdu", "text"] for p in found), found)


@test("results: an inherited descriptor in both roles")
def descriptors_of_the_process(b):
    left, right = b.pair()
    server = b.start("serve", FIXTURE(STRAP), "--listen", f"fd:{left.fileno()}",
                     fds=(left.fileno(),))
    server.line("listening")
    left.close()
    equal(b.run("read", f"fd:{right.fileno()}", 21, "--json", fds=(right.fileno(),)).json,
          [{"handle": 21, "value": "01"}])
    right.close()
    ended = server.end()
    equal(ended.code, 0, "the server, whose only client is gone")
    contains(ended.out, "client 1 connected", "client 1 disconnected")


def FIXTURE(name):
    from harness import FIXTURES
    return FIXTURES / name


@test("results: commands over the air")
def over_the_air(b):
    _, _ = b.serve(STRAP, endpoint="air:", name="strap")
    equal(b.run("read", "air:Atto Strap", "0x0015", "--json").json, [{"handle": 21, "value": "01"}])
    equal(len(b.run("services", "air:Atto Strap").lines), 5)
    equal(b.run("discover", "air:Atto Strap", "--mtu", "100").code, 0)
    equal(b.run("subscribe", "air:Atto Strap", "0x0012", "--count", 1, "--json").json,
          [{"handle": 18, "value": "0048", "indication": False, "decoded": {"heartRate": 72},
            "units": {"heartRate": "bpm"}, "text": "72 bpm"}])


@test("results: demo succeeds and prints its throughput")
def demo(b):
    ended = b.run("demo")
    equal(ended.code, 0, f"status ({ended.err})")
    expect(ended.lines, "nothing was said")
