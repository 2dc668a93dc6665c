"""serve: the behaviours of a profile."""

import time

from harness import contains, equal, expect, test

KINDS = ["read", "write", "writeWithoutResponse", "notify", "indicate"]


def profile(*characteristics, **top):
    return dict({"automatic": False, "services": [
        {"uuid": "180D", "characteristics": list(characteristics)}]}, **top)


def one(behaviour, **more):
    return profile(dict({"uuid": "2A37", "properties": KINDS, "value": "hex:00",
                         "behaviour": behaviour}, **more))


@test("behaviour: readError and writeError")
def errors(b):
    server, at = b.serve(one({"readError": "0x80", "writeError": "0x0E"}))
    b.refuses(1, ["(0x80)", "0x0003"], "read", at, "3")
    b.refuses(1, ["(0x0E)", "0x0003"], "write", at, "3", "01")
    client = b.connect(at)
    equal(client.ask("0c03000000"), "010c030080")
    client.send("52030001")
    equal(client.ask("0a0300"), "010a030080")
    equal(client.ask("160300000001"), "17" + "0300000001")
    equal(client.ask("1801"), "0118" + "03000e")


@test("behaviour: delayMilliseconds delays only its own client")
def delay(b):
    server, at = b.serve(profile(
        {"uuid": "2A37", "properties": KINDS, "value": "hex:07", "behaviour": {"delayMilliseconds": 400}},
        {"uuid": "2A38", "properties": ["read"], "value": "hex:08"}))
    slow, quick = b.connect(at), b.connect(at)
    begun = time.monotonic()
    slow.send("0a0300")
    equal(quick.ask("0a0600"), "0b08")
    expect(time.monotonic() - begun < 0.35, "the other client waited")
    equal(slow.receive(), "0b07")
    expect(0.38 < time.monotonic() - begun < 3, "the delay")
    begun = time.monotonic()
    equal(slow.ask("12030009"), "13")
    expect(time.monotonic() - begun > 0.38, "the delay of a write")
    ended = b.run("read", at, "3", "--timeout", "0.1")
    equal(ended.code, 3)
    slow.send("0a0300")
    slow.close()
    equal(quick.ask("0a0600"), "0b08")


@test("behaviour: delay, then the error")
def late_error(b):
    server, at = b.serve(one({"readError": "0x81", "delayMilliseconds": 100}))
    begun = time.monotonic()
    equal(b.connect(at).ask("0a0300"), "010a030081")
    expect(time.monotonic() - begun > 0.09, "the delay")


@test("behaviour: echoTo sends written values back to their writer, in order")
def echo(b):
    server, at = b.serve("uart.json", "--mtu", 100)
    found = b.run("discover", at, "--json").json[0]["services"]
    uart = next(s for s in found if s["uuid"].startswith("6e400001"))
    rx, tx = uart["characteristics"]
    configuration = tx["descriptors"][0]["handle"]
    client, other = b.connect(at), b.connect(at)
    for each in (client, other):
        equal(each.ask(f"12{configuration:02x}000100"), "13")
    head, tail = f"{rx['valueHandle']:02x}00", f"1b{tx['valueHandle']:02x}00"
    for number in range(200):
        client.send(f"52{head}{number:04x}")
    for number in range(200):
        equal(client.receive(), f"{tail}{number:04x}")
    client.send(f"12{head}0102")
    equal(sorted([client.receive(), client.receive()]), ["13", f"{tail}0102"])
    equal(other.ask(f"12{configuration:02x}000000"), "13", "nothing came to the other")


@test("behaviour: writes to an echo, a sink or a slow value are reported")
def told(b):
    server, at = b.serve(profile(
        {"uuid": "2A37", "properties": KINDS, "behaviour": {"sink": True}},
        {"uuid": "2A38", "properties": KINDS, "behaviour": {"delayMilliseconds": 1}}), "--json")
    client = b.connect(at)
    equal(client.ask("1203000102"), "13")
    equal(client.ask("12030003"), "13")
    equal(client.ask("1206000304"), "13")
    found = server.event("written")
    equal((found["handle"], found.get("value")), (6, "0304"))
    client.close()
    equal(server.event("sunk"),
          {"event": "sunk", "client": 1, "handle": 3, "writes": 2, "octets": 3})


@test("behaviour: counter grows with each read and notification, and wraps")
def counter(b):
    server, at = b.serve(one({"counter": 1}, value="hex:feaa"), "--control", input=True)
    client = b.connect(at)
    equal([client.ask("0a0300") for _ in range(3)], ["0bfeaa", "0bffaa", "0b00aa"])
    server, at = b.serve(one({"counter": 2, "notifyEveryMilliseconds": 5}, value="hex:ff00"), name="n")
    client = b.connect(at)
    client.send("1204000100")
    found = [client.receive() for _ in range(4)]
    equal(found[0], "13")
    equal(found[1:], ["1b0300ff00", "1b03000001", "1b03000101"])


@test("behaviour: sink accepts values that fit and stores nothing")
def sink(b):
    server, at = b.serve(one({"sink": True}, maxLength=10, value="hex:55"))
    client = b.connect(at)
    equal(client.ask("120300" + "01" * 10), "13")
    equal(client.ask("120300" + "01" * 11), "011203000d")
    equal(client.ask("0a0300"), "0b55")
    for _ in range(500):
        client.send("520300" + "02" * 10)
    equal(client.ask("0a0300"), "0b55")
    equal(client.ask("1603000000" + "01"), "1703000000" + "01")
    equal(client.ask("1801"), "19")


@test("behaviour: a burst on subscribe: all of it, in order, cut to the MTU")
def burst_subscribe(b):
    server, at = b.serve(one({"burst": {"count": 300, "size": 30, "on": "subscribe"}}))
    client = b.connect(at)
    equal(client.ask("1204000100"), "13")
    for number in range(300):
        wanted = number.to_bytes(4, "little") + bytes((number + i) % 256 for i in range(4, 30))
        equal(client.receive(), "1b0300" + wanted[:20].hex())
    equal(client.ask("1204000000"), "13")
    equal(client.ask("1204000100"), "13", "the second time")
    equal(client.receive()[6:14], "00000000")


@test("behaviour: a burst on a write, and on a Write Command")
def burst_write(b):
    server, at = b.serve(one({"burst": {"count": 50, "size": 8, "on": "write"}}))
    client = b.connect(at)
    equal(client.ask("12030001"), "13", "a write without a subscription")
    equal(client.ask("1204000100"), "13")
    client.send("12030001")
    found = [client.receive() for _ in range(51)]
    equal(found.count("13"), 1)
    found.remove("13")
    equal([int.from_bytes(bytes.fromhex(p)[3:7], "little") for p in found], list(range(50)))
    client.send("52030001")
    equal([int.from_bytes(bytes.fromhex(client.receive())[3:7], "little") for _ in range(50)],
          list(range(50)))


@test("behaviour: a client that subscribes again during a burst or a stream gets a new one, and the old one ends")
def subscribes_again(b):
    for behaviour in ({"burst": {"count": 100000, "size": 20, "on": "subscribe"}}, {"stream": {"size": 20}}):
        server, at = b.serve(one(behaviour))
        client = b.connect(at)
        numbers = []
        for _ in range(2):
            client.send("1204000100")
            while (pdu := client.receive()) != "13":
                numbers.append(pdu)
        numbers += [client.receive() for _ in range(3000)]
        numbers = [int.from_bytes(bytes.fromhex(pdu)[3:7], "little") for pdu in numbers]
        equal([new for last, new in zip([-1] + numbers, numbers) if new != last + 1], [0])
        client.close()
        equal(server.stop().code, 0)


@test("behaviour: a burst to a client that leaves or does not read disturbs no other client")
def burst_gone(b):
    server, at = b.serve(one({"burst": {"count": 100000, "size": 20, "on": "subscribe"}}))
    client = b.connect(at)
    client.send("1204000100")
    stuck = b.connect(at)
    stuck.send("1204000100")
    client.receive()
    client.close()
    server.line("client 1 disconnected")
    other = b.connect(at)
    equal(other.ask("0a0300"), "0b00")
    equal(server.stop().code, 0)


@test("behaviour: notifyEvery sends the current value to subscribers only")
def every(b):
    server, at = b.serve(one({"notifyEveryMilliseconds": 20}, value="hex:11"), "--control", input=True)
    client, other = b.connect(at), b.connect(at)
    equal(client.ask("1204000100"), "13")
    begun = time.monotonic()
    for _ in range(5):
        equal(client.receive(), "1b030011")
    expect(0.06 < time.monotonic() - begun < 3, "the interval")
    server.say("set 3 22")
    for _ in range(100):
        if client.receive() == "1b030022":
            break
    else:
        expect(False, "the new value never came")
    equal(other.ask("0a0300"), "0b22")


@test("behaviour: indicateEvery waits for confirmations; a silent client delays no other client")
def indicate_every(b):
    server, at = b.serve(one({"indicateEveryMilliseconds": 10}, value="hex:11"))
    silent, client = b.connect(at), b.connect(at)
    equal(silent.ask("1204000200"), "13")
    equal(silent.receive(), "1d030011")
    equal(client.ask("1204000200"), "13")
    for _ in range(5):
        equal(client.receive(), "1d030011")
        client.send("1e")
    equal(silent.ask("0a0300"), "0b11", "nothing more before the confirmation")
    silent.send("1e")
    equal(silent.receive(), "1d030011")


@test("behaviour: applies to a request that was queued in an inherited descriptor")
def at_once(b):
    left, right = b.pair()
    right.send(bytes.fromhex("0a0300"))
    right.send(bytes.fromhex("52030005"))
    path = b.file("p.json", one({"readError": "0x80"}))
    server = b.start("serve", path, "--listen", f"fd:{left.fileno()}", fds=(left.fileno(),))
    equal(right.recv(100).hex(), "010a030080")
    right.close()
    left.close()
    equal(server.end().code, 0)
