"""Two links to one server, each with its own MTU and its own subscription."""
from peers import *

# The emulated controllers carry one link each, so there are two pairs; one server listens on
# all adapters.
with Server("uart", listen="le:") as server:
    advertise(1)
    advertise(3)
    first = client("subscribe", endpoint(1, client=0), "0x001A", "--count", "1000", "--json",
                   "--mtu", "517")
    second = client("subscribe", endpoint(3, client=2), "0x001A", "--count", "1000", "--json",
                    "--mtu", "64")
    for process, length in ((first, 512), (second, 61)):
        for count in range(1000):
            line = process.line()
            check(line is not None, count, process.errors)
            value = bytes.fromhex(json.loads(line)["value"])
            number = int.from_bytes(value[:4], "little")
            check((number, len(value)) == (count, length), count, value.hex())
        check(process.wait() == 0, process.errors)
    time.sleep(0.2)
    server.events("disconnected", 0.5)
    peers_seen = {event["peer"] for event in server.seen if event["event"] == "connected"}
    check(peers_seen == {f"le:{ADDRESSES[0]}", f"le:{ADDRESSES[2]}"}, server.seen)
