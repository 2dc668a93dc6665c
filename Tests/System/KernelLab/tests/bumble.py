"""Bumble as an independent host: its server with atto's client, its client with atto's server, and its
benchmark with ours."""
from peers import *

NOTIFICATIONS = 300


def told(process: Process, name: str) -> dict:
    while True:
        line = process.line()
        check(line is not None, "no", name, process.errors)
        event = json.loads(line)
        if event["event"] == name:
            return event


def handles(to: str) -> dict[str, str]:
    """The value's handle of each characteristic, by UUID."""
    services = atto("discover", to, "--json").objects()[0]["services"]
    return {
        characteristic["uuid"]: f"0x{characteristic['valueHandle']:04X}"
        for service in services for characteristic in service["characteristics"]}


# Bumble can show a passkey.
with BumbleAir(1, "--display", host=True) as air:
    peer = air.endpoint(None, 0)
    # These controllers tell how strong a signal is, and every advertisement that they receive.
    scan = ["scan", air.listen(0), "--name", "Bumble", "--json"]
    seen = atto(*scan, "--rssi", "-50", "--count", "1", "--for", "10").objects()[0]
    check(seen["rssi"] == -50 and seen["address"] == air.host, seen)
    check(not atto(*scan, "--rssi", "-49", "--for", "3").output, "too weak")
    repeated = client(*scan, "--duplicates")
    repeated.expect('"seen"', 3)
    repeated.signal(signal.SIGINT)
    check(repeated.wait() == 0, repeated.errors)
    found = handles(peer)
    read = atto("read", peer, found["a001"], "--long", "--json")
    check(read.objects()[0]["value"] == bytes(range(100)).hex(), read)
    values = atto("subscribe", peer, found["a004"], "--count", NOTIFICATIONS, "--json").objects()
    numbers = [int.from_bytes(bytes.fromhex(line["value"]), "little") for line in values]
    check(numbers == list(range(NOTIFICATIONS)), numbers)
    refused = atto("read", peer, found["a002"], status=1)
    check("Insufficient" in refused.errors, refused)

    # A passkey that Bumble shows and atto enters; with the bond nobody is asked again.
    control.disconnect_all(air.indexes[0])
    control.await_no_connections()
    pairing = client("pair", peer, "--io", "keyboard", "--json", "--timeout", PATIENCE)
    shown = air.event("show")["passkey"]
    told(pairing, "enter")
    pairing.say(shown)
    check(pairing.wait() == 0, pairing.errors)
    check(air.event("paired")["authenticated"], air.errors)
    for uuid, text in (("a002", b"encrypted"), ("a003", b"authenticated")):
        read = atto("read", peer, found[uuid], "--security", "fips", "--json")
        check(read.objects()[0]["value"] == text.hex(), read)
    print("Bumble's server: discovered, read, subscribed, paired with a passkey")

    # The other way round: Bumble's client, unpaired, then with a passkey that it shows. (It keeps
    # no keys beyond a link.)
    atto("unpair", peer)
    control.await_no_connections()
    with Server("edges", "--io", "keyboard", listen=air.listen(0)) as server:
        air.say(f"visit {air.addresses[0]}")
        visited = air.event("visited")["values"]
        check(visited["0x0025"] == "01" and visited["0x0104"] == "error 02", visited)
        check(visited["0x010a"] == "error 0f" and visited["0x010e"] == "error 05", visited)
        server.event("disconnected")
        air.say(f"pair {air.addresses[0]}")
        shown = air.event("show")["passkey"]
        told(server, "enter")
        server.say(shown)
        told(server, "paired")
        visited = air.event("visited")["values"]
        check(visited["0x010a"] == "14" and visited["0x010e"] == "16", visited)
        check(visited["0x0112"] == "18", visited)
    print("Bumble's client: refused in the clear, and let in with a passkey")

    # Bumble's benchmark over GATT and over L2CAP channels, as a peripheral and as a central.
    control.disconnect_all(air.indexes[0])
    control.await_no_connections()
    for mode, scenario, words in (
            ("l2cap-server", "receive", ["--scenario", "send", "--over", "channel"]),
            ("gatt-server", "pong", ["--scenario", "ping", "--mtu", "247"])):
        air.say(f"bench {mode} {scenario}")
        air.event("bench waits")
        row = atto("bench", peer, *words, "--count", 20, "--size", 200, "--json").objects()[0]
        told_by_bumble = air.event("bench")
        check((row["count"], row["size"], row["partial"]) == (20, 200, False), row)
        if scenario == "receive":
            check(told_by_bumble["octets"] == 20 * 198, told_by_bumble)
        control.disconnect_all(air.indexes[0])
        control.await_no_connections()
    for mode, scenario, words in (
            ("l2cap-client", "send", ["--scenario", "receive", "--over", "channel"]),
            ("l2cap-client", "ping", ["--scenario", "pong", "--over", "channel"])):
        waiting = client("bench", "--listen", air.listen(0), *words, "--json")
        deadline = time.monotonic() + PATIENCE
        while "listening on PSM" not in waiting.errors:
            check(time.monotonic() < deadline, waiting.errors)
            time.sleep(0.02)
        check("PSM 128 " in waiting.errors, waiting.errors)
        air.say(f"bench {mode} {scenario} {air.addresses[0]}")
        air.event("bench")
        row = json.loads(waiting.line())
        # Bumble's ping does not count the length before a packet.
        size = 202 if scenario == "ping" else 200
        check((row["count"], row["lost"], row["size"]) == (20, 0, size), row)
        check(waiting.wait() == 0, waiting.errors)
        control.await_no_connections()
    print("Bumble's benchmark: sent, received and answered, over GATT and over channels")
