"""A client that comes back at once, on the link that the kernel has kept, is a new client."""
from peers import *

with Server("edges") as server:
    # Each has another MTU than the one before, which the server goes on with until it is told.
    for offered, wanted in [(517, 512), (64, 63), (None, None), (517, 512), (23, 22)]:
        words = ["--mtu", offered] if offered else []
        found = atto("read", endpoint(), "0x0035", "--json", *words)
        length = len(found.objects()[0]["value"]) // 2
        print(f"MTU {offered}: {length} octets, {found.seconds:.2f} s")
        # Without an exchange it may be as long as the client before had it.
        check(length == wanted if wanted else length in (22, 63), offered, length)
        atto("read", endpoint(), "0x0035", "--long", "--json")
    print([event["event"] for event in server.events("connected", 0.2) and server.seen])

    # After the link has gone the next client is new to the server.
    control.await_no_connections()
    found = atto("read", endpoint(), "0x0035", "--json")
    check(len(found.objects()[0]["value"]) == 44, "an MTU of 23 on a new link", found)
