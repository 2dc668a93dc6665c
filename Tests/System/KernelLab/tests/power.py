"""An adapter that is switched off ends its links, and refuses new ones."""
from peers import *

with Server("heart-rate") as server:
    subscriber = client("subscribe", endpoint(), "0x0012", "--json")
    subscriber.line()
    with off(0):
        check(subscriber.wait() == 3, subscriber.errors)
        print(subscriber.errors.strip())
        check("powered off" in subscriber.errors, subscriber.errors)
        off = atto("read", endpoint(), "0x0003", "--timeout", "3", status=3)
        print(off.errors.strip())
        check("powered" in off.errors, off)
    server.event("disconnected")
    control.await_no_connections()
    atto("read", endpoint(), "0x0003")
