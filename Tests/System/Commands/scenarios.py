"""bench --scenario: packets of bumble-bench between two ends."""

import select
import time
import zlib

from harness import contains, equal, expect, test

SERVICE = "50db505c-8ac4-4738-8448-3b1d9cc09cc5"
TO_SERVER, TO_CLIENT = ("e789c754-41a1-45f4-a948-a0a1a90dba53", "016a2cc7-e14b-4819-935f-1f56eae4098d")


def listen(b, scenario, *words, endpoint=None):
    endpoint = endpoint or f"unix:{b.path('peer')}"
    running = b.start("bench", "--listen", endpoint, "--scenario", scenario, "--json", *words)
    running.line("listening on", "err")
    return running, endpoint


@test("scenarios: each one with its counterpart, over GATT and over a channel, in both roles")
def pairs(b):
    for over, endpoint, size in (("gatt", None, 60), ("channel", "air:Scenario", 500)):
        for ours, theirs in (("send", "receive"), ("receive", "send"), ("ping", "pong"), ("pong", "ping")):
            words = ["--over", over]
            sending = ["--count", 50, "--size", size]
            mtu = ["--mtu", 100] if over == "gatt" else []
            server, at = listen(b, theirs, *words, *(sending if ours in ("receive", "pong") else []),
                                endpoint=endpoint)
            ended = b.run("bench", at, "--scenario", ours, *words, *mtu, "--json",
                          *(sending if ours in ("send", "ping") else []))
            equal((ended.code, ended.err), (0, ""), f"{ours} over {over}")
            other = server.end()
            equal(other.code, 0, f"{theirs} over {over}")
            for name, row in ((ours, ended.json[0]), (theirs, other.json[0])):
                equal((row["test"], row["over"], row["run"]), (name, over, 0))
                equal((row["count"], row["lost"], row["size"], row["partial"]), (50, 0, size, False),
                      f"{name} over {over}: {row}")
                expect(row["rate"] > 0 and row["limitedBy"]["kind"], row)
                if name != "ping":
                    equal(row["damaged"], 0)
                if name in ("send", "ping"):
                    expect(row["peerCPUMicrosecondsPerOperation"] > 0, row)


def subscribe(b, at):
    """A scripted client that has subscribed, and a function that writes packets."""
    characteristics = b.run("discover", at, "--json").json[0]["services"][-1]["characteristics"]
    handles = {c["uuid"]: c["valueHandle"].to_bytes(2, "little").hex() for c in characteristics}
    equal(set(handles), {TO_SERVER, TO_CLIENT})
    client = b.connect(at)
    configuration = characteristics[1]["descriptors"][0]["handle"].to_bytes(2, "little").hex()

    def send(octets):
        client.send("52" + handles[TO_SERVER] + octets.hex())

    send(b"\0")  # Who has not subscribed takes no part.
    equal(client.ask("12" + configuration + "0100"), "13")
    return client, send, handles[TO_CLIENT]


@test("scenarios: lost, repeated, reordered and damaged values are counted and named")
def faults(b):
    server, at = listen(b, "receive")
    client, send, to_client = subscribe(b, at)

    def value(number, last=False, flaw=0):
        octets = bytes([1, 3 if last else 2]) + number.to_bytes(4, "little") + bytes(6)
        send(octets + (zlib.crc32(octets) ^ flaw).to_bytes(4, "little"))

    send(b"\0")
    for number in (0, 1):
        value(number)
    value(2, flaw=1)
    for number in (3, 3, 6, 5):
        value(number)
    for malformed in (b"", b"\7", b"\1\0"):
        send(malformed)
    value(7, last=True)
    # The acknowledgement of the last value: what has arrived, damaged ones, and the CPU time.
    answer = bytes.fromhex(client.receive())
    equal(answer[:3], bytes.fromhex("1b" + to_client))
    equal((answer[3:9], len(answer)), (b"\2\3\7\0\0\0", 21))
    equal([int.from_bytes(answer[at:at + 4], "little") for at in (9, 13)], [7, 4])
    client.close()
    row = server.end().json[0]
    equal((row["count"], row["lost"], row["doubled"], row["outOfOrder"], row["damaged"]), (11, 2, 1, 1, 4))
    equal(row["faults"], {"lost": "2, 4", "doubled": "3", "outOfOrder": "5", "damaged": "2, 7-9"})


@test("scenarios: repeated, paced and lingering")
def repeated(b):
    server, at = listen(b, "pong", "--linger")
    ended = b.run("bench", at, "--scenario", "ping", "--count", 5, "--repeat", 2, "--repeat-delay", 0,
                  "--start-delay", 0.01, "--pace", 5, "--json")
    equal([(row["run"], row["count"], row["lost"]) for row in ended.json], [(n, 5, 0) for n in range(3)])
    for row in ended.json:
        # Four pauses between five values; a busy machine makes them longer.
        expect(row["seconds"] >= 0.02, row)
    # It ends with its peer.
    rows = server.end().json
    equal([(row["run"], row["count"]) for row in rows], [(n, 5) for n in range(3)])
    server, at = listen(b, "receive")
    ended = b.run("bench", at, "--scenario", "send", "--for", 2, "--pace", 10)
    equal(ended.code, 0)
    contains(ended.out, "send over gatt", "limited by the pace: --pace asks for 100.0 values a second")
    server.end()


@test("scenarios: a channel at a PSM of the user's choice")
def chosen_psm(b):
    server, at = listen(b, "receive", "--over", "channel", "--psm", 200, endpoint="air:Chosen")
    ended = b.run("bench", at, "--scenario", "send", "--over", "channel", "--count", 3)
    equal(ended.code, 3)
    contains(ended.err, "nothing is published there")
    ended = b.run("bench", at, "--scenario", "send", "--over", "channel", "--psm", 200, "--count", 3)
    equal((ended.code, server.end().code), (0, 0))


@test("scenarios: a response to each value halves the rate of a link, and its limit")
def responses(b):
    server, _ = listen(b, "receive", endpoint="air:Responses")
    row = b.run("bench", "air:Responses?phy=2M&interval=30ms", "--scenario", "send", "--count", 5,
                "--response", "--json").json[0]
    equal(server.end().code, 0)
    model = b.run("link", "--phy", "2M", "--interval", "30ms", "--size", 20, "--json").json[0]["tests"]
    limit = next(test["limitBytesPerSecond"] for test in model if test["test"] == "write")
    equal(row["link"]["limitBytesPerSecond"], limit)


@test("scenarios: a peer that leaves, or does not answer")
def leaving(b):
    server, at = listen(b, "receive")
    client, send, _ = subscribe(b, at)
    for packet in (b"\0", b"\1" + bytes(9)):
        send(packet)
    client.close()
    ended = server.end()
    equal(ended.code, 3)
    contains(ended.err, "disconnected before its last value")
    equal([(row["count"], row["partial"]) for row in ended.json], [(1, True)])
    # It acknowledges only what a scenario sends.
    _, at = b.serve({"services": [{"uuid": SERVICE, "characteristics": [
        {"uuid": TO_SERVER, "properties": ["write"], "behaviour": {"sink": True}, "maxLength": 512},
        {"uuid": TO_CLIENT, "properties": ["notify"]}]}]}, name="silent")
    ended = b.run("bench", at, "--scenario", "send", "--count", 3, "--timeout", 0.3, "--json")
    equal(ended.code, 3)
    contains(ended.err, "did not acknowledge the last value")
    row = ended.json[0]
    equal((row["count"], row["partial"], row.get("lost")), (3, True, None))
    _, at = b.serve("heart-rate.json", name="other")
    b.refuses(2, ["no service for --scenario", "bumble-bench"], "bench", at, "--scenario", "ping")


@test("scenarios: a peer that never stops, and Ctrl-C at any moment",
      unless_emulated="CPU time does not tell when a run begins")
def endless(b):
    server, at = listen(b, "receive", "--linger")
    client, send, _ = subscribe(b, at)
    for number in range(3000):
        send(b"\0")
        send(b"\1\1" + bytes(8))
        # A server holds back a client that does not read.
        while select.select([client.link], [], [], 0)[0] and client.link.recv(1000):
            pass
    client.close()
    ended = server.end(within=120)
    # Its acknowledgements may find nobody.
    expect(ended.code in (0, 3), ended)
    expect(1 <= len(ended.json) <= 3000, len(ended.json))
    # While it waits for a peer, and within a run of either end.
    for words in (["--scenario", "receive", "--over", "channel"], ["--scenario", "pong"]):
        waiting = b.start("bench", "--listen", "air:Endless", *words)
        waiting.line("listening on", "err")
        equal(waiting.stop().code, 3, words)
    for over in ("gatt", "channel"):
        for victim in ("send", "receive"):
            server, at = listen(b, "receive", "--over", over, "--linger", endpoint="air:Endless")
            client = b.start("bench", at, "--scenario", "send", "--over", over, "--for", 60, "--json")
            # A run has begun when the processes have used CPU time for a while.
            used = lambda: sum(map(int, open(f"/proc/{client.process.pid}/stat").read().split()[13:15]))
            before = used()
            while used() < before + 10:
                time.sleep(0.01)
            first, second = (client, server) if victim == "send" else (server, client)
            ended = first.stop()
            equal(ended.code, 3, f"{victim} over {over}: {ended}")
            equal([row["partial"] for row in ended.json], [True], f"{victim} over {over}")
            ended = second.end()
            equal(ended.code, 3, f"the peer of {victim} over {over}: {ended}")
            contains(ended.err, '"kind":"link"')


@test("scenarios: wrong command lines")
def mistakes(b):
    _, at = b.serve("bench.json")
    for words, part in [
            (["--scenario", "sned"], "send, receive, ping or pong"),
            (["--over", "channel"], "requires --scenario"), (["--pace", 5], "requires --scenario"),
            (["--scenario", "send", "--linger"], "is for receive and pong"),
            (["--scenario", "receive", "--pace", 5], "is for send and ping"),
            (["--scenario", "send", "--size", 9], "at least 10 octets"),
            (["--scenario", "send", "--over", "channel", "--size", 11], "at least 12 octets"),
            (["--scenario", "send", "--psm", 130], "requires --over channel"),
            (["--scenario", "send", "--listen", "air:Here"], 'unexpected argument "unix:'),
            (["--scenario", "send", "--test", "read"], "--test"),
            (["--scenario", "send", "--handle", "3"], "--handle"),
            (["--scenario", "send", "--size", 21], "--mtu 24"),
            (["--scenario", "send", "--over", "channel"], "invalid peer"),
            (["--size", 8193], "to 8192 with --scenario"),
            (["--size", 513, "--test", "write", "--mtu", 517], "at most 512 octets")]:
        b.refuses(2, [part], "bench", at, *words)
    b.refuses(2, ["is for a GATT client"],
              "bench", "--listen", "air:Here", "--scenario", "send", "--response")
    b.refuses(2, ["--listen requires --scenario"], "bench", "--listen", "air:Here")
