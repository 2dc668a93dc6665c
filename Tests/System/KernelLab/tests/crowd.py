"""Several links on one adapter at once, in both roles: nothing is lost."""
from peers import *

COUNT = 150

# Short bursts, one after another: while the controllers carry several, those of an emulated machine
# under load do not answer the kernel's commands within the two seconds that it waits.
short = json.loads(Path(profile("uart")).read_text())
for service in short["services"]:
    for one in service["characteristics"]:
        if one.get("behaviour", {}).get("burst", {}).get("on") == "subscribe":
            one["behaviour"]["burst"]["count"] = COUNT
Path("short.json").write_text(json.dumps(short))


def burst(number: int, process: Process) -> None:
    for count in range(COUNT):
        line = process.line()
        check(line is not None, number, count, process.errors)
        value = bytes.fromhex(json.loads(line)["value"])
        check(int.from_bytes(value[:4], "little") == count, number, count, value.hex())
        check(len(value) == 19 + number, number, len(value))


with BumbleAir(5) as air:
    with Server("uart", path="short.json", listen=air.listen(0)) as server:
        clients = []
        for number in (1, 2, 3, 4):
            # One after the other: on this air two centrals may take one advertisement.
            clients.append(client(
                "subscribe", air.endpoint(0, number), "0x001A", "--json", "--mtu", 22 + number,
                "--timeout", PATIENCE))
            server.event("connected")
            burst(number, clients[-1])
        check(len(control.connections(air.indexes[0])) == 4, "links", server.errors)
        # Meanwhile one of its clients is a server itself, to two others.
        with Server("edges", listen=air.listen(1)) as other:
            for number in (2, 3):
                found = atto(
                    "read", air.endpoint(1, number), "0x0025", "--json", "--timeout", PATIENCE)
                check(found.objects()[0]["value"] == "01", found)
        for process in clients:
            process.signal(signal.SIGINT)
            check(process.wait() == 0, process.errors)
        print(f"{len(clients)} clients had {COUNT} notifications each")
