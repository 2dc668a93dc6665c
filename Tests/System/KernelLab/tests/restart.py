"""A server that is started again while the kernel still keeps the link of the one before.

The kernel gives no listener a link that was there before it: what a client sends falls into a
hole until the link goes, some 4 s after the end of the old server.
"""
from peers import *

with Server("edges") as server:
    atto("read", endpoint(), "0x0025")
    server.signal(signal.SIGKILL)
    server.wait()
with Server("edges") as server:
    # The link's end is told, long before the response's 30 s are over.
    lost = atto("read", endpoint(), "0x0025", status=3)
    check(lost.seconds < 20 and "disconnected" in lost.errors, lost)
    print(f"told after {lost.seconds:.2f} s")
    found = atto("read", endpoint(), "0x0025", "--json")
    check(found.objects()[0]["value"] == "01", found)
    server.event("connected")
