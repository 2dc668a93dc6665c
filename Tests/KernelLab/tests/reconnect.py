"""A client that comes back at once, on the link that the kernel has kept, is a new client."""
from peers import *

with Server("edges") as server:
    for round in range(4):
        start = time.monotonic()
        # An MTU that the client before had, and this one does not.
        words = ["--mtu", "517"] if round % 2 == 0 else []
        found = atto("read", endpoint(), "0x0035", "--json", *words)
        length = len(found.objects()[0]["value"]) // 2
        print(f"round {round}: {length} octets, {found.seconds:.2f} s")
        check(length == (512 if words else 22), round, length)
    time.sleep(0.3)
    print([event["event"] for event in server.events("connected", 0.2) and server.seen])
