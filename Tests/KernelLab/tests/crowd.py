"""Several links on one adapter at once, both roles at the same time, and nothing lost."""
# deadline: 240
from peers import *

COUNT = 400

with BumbleAir(5) as air:
    with Server("uart", listen=air.listen(0)) as server:
        clients = []
        for number in (1, 2, 3, 4):
            # One after the other: on this air two centrals may take one advertisement.
            clients.append(client(
                "subscribe", air.endpoint(0, number), "0x001A", "--count", COUNT, "--json",
                "--mtu", 22 + number, "--timeout", "20"))
            server.event("connected", 30)
        check(len(control.connections(air.indexes[0])) == 4, "links", server.errors)
        # Meanwhile one of its clients is a server itself, to the server and to another client.
        with Server("edges", listen=air.listen(1)) as other:
            for number in (0, 2):
                found = atto(
                    "read", air.endpoint(1, number), "0x0025", "--json", "--timeout", "30",
                    timeout=60)
                check(found.objects()[0]["value"] == "01", found)
        for number, process in enumerate(clients):
            for count in range(COUNT):
                line = process.line(60)
                check(line is not None, number, count, process.errors)
                value = bytes.fromhex(json.loads(line)["value"])
                check(int.from_bytes(value[:4], "little") == count, number, count, value.hex())
                check(len(value) == 20 + number, number, len(value))
            check(process.wait(20) == 0, process.errors)
        print(f"{len(clients)} clients had {COUNT} notifications each")
