"""bluetoothd, which shares no code with us: as a server to our client, as a client to our server,
and as the neighbour that the doctor warns of."""
from daemon import *
from gateway import *
from peers import *

SERVICE, READ, WRITE, NOTIFY, SECRET = (
    f"a770{number:04x}-0000-4000-8000-00805f9b34fb" for number in range(5))


with Daemon() as daemon:
    app = daemon.app("server", "hci1")
    event(app, "ready")
    told = {line["check"]: line for line in atto("doctor", "--json").objects()}
    print(told["bluetoothd"]["text"])
    check(told["bluetoothd"]["mark"] == "warn", told)
    check(f"process {daemon.daemon.process.pid}" in told["bluetoothd"]["text"], told)
    check("systemctl stop bluetooth" in told["bluetoothd"]["remedy"], told)

    # Its server, our client.
    advertise(1)
    found = atto("discover", endpoint(), "--json", "--mtu", "517").objects()[0]
    service = next(it for it in found["services"] if it["uuid"] == SERVICE)
    ours = {it["uuid"]: it for it in service["characteristics"]}
    check({uuid: it["properties"] for uuid, it in ours.items()} == {
        READ: ["read"], WRITE: ["read", "writeWithoutResponse", "write"], NOTIFY: ["notify"],
        SECRET: ["read"]}, ours)
    handle = {uuid: it["valueHandle"] for uuid, it in ours.items()}
    wanted = (bytes(range(250)) + bytes(50)).hex()
    for words in ([], ["--mtu", "517"]):
        value = atto("read", endpoint(), handle[READ], "--long", "--json", *words).objects()[0]
        check(value["value"] == wanted, words, value)
    atto("write", endpoint(), handle[WRITE], "beef")
    written = event(app, "written")
    check(written["value"] == "beef", written)
    atto("write", endpoint(), handle[WRITE], "0bad", "--no-response")
    written = event(app, "written")
    check(written["value"] == "0bad", written)
    lines = atto("subscribe", endpoint(), handle[NOTIFY], "--count", "500", "--json").objects()
    numbers = [int.from_bytes(bytes.fromhex(line["value"])[:4], "little") for line in lines]
    check(numbers == list(range(numbers[0], numbers[0] + 500)), numbers[:5], numbers[-5:])
    refused = atto("read", endpoint(), handle[SECRET], status=1)
    check("Insufficient" in refused.errors, refused)
    hashes = atto("read", endpoint(), "--uuid", "2B2A", "--json").objects()
    check(len(bytes.fromhex(hashes[0]["value"])) == 16, hashes)
    app.end()
    reset()

    # Our server, its client. Ours listens later than the daemon, and so gets the connection.
    with open("same.json", "w") as file:
        json.dump({"name": "Same", "services": [{"uuid": SERVICE, "characteristics": [
            {"uuid": READ, "properties": ["read"], "value": f"hex:{wanted}"},
            {"uuid": WRITE, "properties": ["read", "write"], "value": "hex:00", "maxLength": 20},
            {"uuid": NOTIFY, "properties": ["notify"],
             "behaviour": {"burst": {"count": 200, "size": 20, "on": "subscribe"}}}]}]}, file)
    # As many as fit the daemon's receive buffer: beyond, it loses some where it is slow.
    server = Server("", listen="le:@hci1", path="same.json")
    warned = time.monotonic() + PATIENCE
    while "the newest gets the connections" not in server.errors:
        check(time.monotonic() < warned, server.errors)
        time.sleep(0.02)
    reader = daemon.app("client", "hci0", ADDRESSES[1], READ, WRITE, NOTIFY, 200, 20)
    told = event(reader, "discovered")["characteristics"]
    check(told.get(READ) == ["read"] and told.get(WRITE) == ["read", "write"]
          and told.get(NOTIFY) == ["notify"], told)
    check(event(reader, "read")["value"] == wanted)
    event(reader, "wrote")
    written = server.event("written")
    check(written["value"] == "c0ffee", written)
    told = event(reader, "notifications")
    print(f"{told['count']} notifications over D-Bus in {told['seconds']:.2f} s")
    check(told["count"] == 200 and told["inOrder"], told)
    event(reader, "disconnected")
    check(reader.wait() == 0, reader.errors)
    server.event("disconnected")

    # The gateway beside it says what it leaves to bluetoothd, and holds its links.
    held = {"name": "same", "match": {"address": ADDRESSES[1]}}
    with Gateway(adapters=["hci0"], devices=[held]) as gateway:
        gateway.logged(
            f"not loaded into the kernel, because bluetoothd (process {daemon.daemon.process.pid})")
        gateway.connected("same")
        gateway.stop()
    server.end()
    reset()
