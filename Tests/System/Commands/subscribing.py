"""subscribe: values, and each way to end."""

import json
import signal

from harness import contains, equal, expect, script, test


def profile(**behaviour):
    kinds = ["read", "write", "notify", "indicate"]
    return {"automatic": False, "services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A37", "properties": kinds, "value": "hex:00000000", "behaviour": behaviour}]}]}


@test("subscribe: --count ends with 0, in order, and unsubscribes")
def count(b):
    server, at = b.serve(profile(notifyEveryMilliseconds=10, counter=4))
    ended = b.run("subscribe", at, "3", "--count", "5", "--json")
    equal(ended.code, 0)
    values = [int.from_bytes(bytes.fromhex(v["value"]), "little") for v in ended.json]
    equal(values, list(range(values[0], values[0] + 5)))
    server.line("subscribed to notifications of 0x0003")
    server.line("unsubscribed from 0x0003")


@test("subscribe: --indicate confirms each")
def indicate(b):
    server, at = b.serve(profile(indicateEveryMilliseconds=10, counter=1))
    ended = b.run("subscribe", at, "3", "--indicate", "--count", "3", "--json")
    equal([v["indication"] for v in ended.json], [True] * 3)
    server.line("subscribed to indications of 0x0003")
    table = b.run("subscribe", at, "3", "--indicate", "--count", "1")
    expect(table.lines[0].startswith("0x0003  "), table)


@test("subscribe: --notify and --indicate subscribe to both kinds at once")
def both(b):
    server, at = b.serve(profile(notifyEveryMilliseconds=10, indicateEveryMilliseconds=10, counter=1), "--json")
    for words in (["3"], ["2A37"]):
        running = b.start("subscribe", at, *words, "--notify", "--indicate", "--json")
        event = server.event("configured")
        equal((event["notify"], event["indicate"]), (True, True), str(words))
        kinds = set()
        while kinds != {True, False}:
            kinds.add(json.loads(running.line())["indication"])
        equal(running.stop().code, 0)
        equal(server.event("configured")["indicate"], False)
    # A characteristic that is given by its UUID gets what it has.
    server, at = b.serve({"services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A37", "properties": ["notify"], "behaviour": {"notifyEveryMilliseconds": 10}}]}]},
        "--json", name="one")
    running = b.start("subscribe", at, "2A37", "--notify", "--indicate")
    event = server.event("configured")
    equal((event["notify"], event["indicate"]), (True, False))
    # The server tells before its response has arrived: an interruption of the write ends with 3.
    running.line("0x0012")
    equal(running.stop().code, 0)


@test("subscribe: --for ends with 0, or with 4 before --count is reached")
def time(b):
    server, at = b.serve(profile(notifyEveryMilliseconds=20))
    ended = b.run("subscribe", at, "3", "--for", "0.2", "--json")
    equal((ended.code, ended.err), (0, ""))
    # Ten in the time, and more on a busy machine.
    expect(2 <= len(ended.json) <= 100, ended.json)
    ended = b.run("subscribe", at, "3", "--for", "0.1", "--count", "1000")
    equal(ended.code, 4)
    contains(ended.err, "of 1000 values")
    ended = b.run("subscribe", at, "3", "--for", "5", "--count", "2")
    equal((ended.code, ended.err), (0, ""))


@test("subscribe: --for unsubscribes too")
def polite(b):
    server, at = b.serve(profile(notifyEveryMilliseconds=20))
    equal(b.run("subscribe", at, "3", "--for", "0.05").code, 0)
    server.line("unsubscribed from 0x0003")
    running = b.start("subscribe", at, "3")
    running.line("0x0003")
    equal(running.stop().code, 0)
    server.line("unsubscribed from 0x0003")


@test("subscribe: Ctrl-C and SIGTERM end with 0, or with 4 before --count is reached")
def interrupted(b):
    _, at = b.serve(profile(notifyEveryMilliseconds=10))
    for number in (signal.SIGINT, signal.SIGTERM):
        running = b.start("subscribe", at, "3")
        running.line("0x0003")
        ended = running.stop(number)
        equal((ended.code, ended.err), (0, ""))
    running = b.start("subscribe", at, "3", "--count", "100000")
    running.line("0x0003")
    ended = running.stop()
    equal(ended.code, 4, f"status ({ended})")
    contains(ended.err, "of 100000 values")


@test("subscribe: a disconnection ends with 3, after the received values")
def server_ends(b):
    peer = b.peer(script(("1204000100", "13", "1b030001", "1b030002", "close")))
    ended = b.run("subscribe", peer.endpoint, "3", "--cccd", "4", "--json")
    equal(ended.code, 3)
    equal([v["value"] for v in ended.json], ["01", "02"])
    contains(ended.err, "disconnected")
    peer = b.peer(script(("1204000100", "13", "1b030001", "close")), name="short")
    ended = b.run("subscribe", peer.endpoint, "3", "--cccd", "4", "--count", "2")
    equal(ended.code, 3)


@test("subscribe: an unsuitable characteristic, a refused configuration")
def cannot(b):
    server, at = b.serve("heart-rate.json")
    b.refuses(2, ["0x0015", "supports neither notifications nor indications"], "subscribe", at, "0x0015")
    b.refuses(2, ["0xFFFF"], "subscribe", at, "0xFFFF")
    b.refuses(1, ["0x0013", "Write Request"], "subscribe", at, "0x0012", "--indicate")
    peer = b.peer(script(("1204000100", "0112040005")))
    b.refuses(1, ["(0x05)", "0x0004"], "subscribe", peer.endpoint, "3", "--cccd", "4")


@test("subscribe: values of other characteristics and malformed notifications are ignored")
def others(b):
    peer = b.peer(script(("1204000100", "1b090001", "1b", "1b03", "23", "2303000100aa",
                          "2303000100aa05000100bb", "13", "1b030002"),
                         ("1204000000", "13")))
    ended = b.run("subscribe", peer.endpoint, "3", "--cccd", "4", "--count", "2", "--json")
    equal([v["value"] for v in ended.json], ["aa", "02"])
    equal(ended.code, 0)


@test("subscribe: a burst of 1000 notifications, none lost, in order")
def burst(b):
    _, at = b.serve("uart.json")
    found = b.run("characteristics", at, "1-65535", "--uuid",
                  "6e400012-b5a3-f393-e0a9-e50e24dcca9e", "--json").json
    ended = b.run("subscribe", at, found[0]["valueHandle"], "--count", "1000", "--json", "--mtu", 517)
    equal(ended.code, 0, f"status ({ended.err})")
    equal([int.from_bytes(bytes.fromhex(v["value"])[:4], "little") for v in ended.json],
          list(range(1000)))
    for number, value in enumerate(ended.json):
        octets = bytes.fromhex(value["value"])
        equal(len(octets), 512)
        equal(octets[4:], bytes((number + i) % 256 for i in range(4, 512)), "the pattern")


@test("subscribe: --resume sends nothing, and tells of values that it does not show")
def resumed(b):
    peer = b.peer(script(("026400", "036400", "1b030047", "1b020048", "1b030049")))
    ended = b.run("subscribe", peer.endpoint, "2", "--mtu", "100", "--resume", "--count", "1", "--for", "30")
    equal(ended.code, 0, f"{ended}")
    contains(ended.out, "0x0002  48")
    equal(ended.err.count("values of 0x0003 arrive too, and are not shown"), 1, ended.err)
    equal(peer.heard(), ["026400"], "nothing else is sent")
