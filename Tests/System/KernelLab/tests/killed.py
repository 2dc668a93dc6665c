"""The link of a killed process ends, and the peer notices soon."""
from peers import *

with Server("heart-rate") as server:
    subscriber = client("subscribe", endpoint(), "0x0012", "--json")
    subscriber.line()
    start = time.monotonic()
    server.signal(signal.SIGKILL)
    status = subscriber.wait()
    seconds = time.monotonic() - start
    print(f"the client ended {seconds:.2f} s after its server: {subscriber.errors}")
    check(status == 3, status, subscriber.errors)
    check(seconds < 20, seconds)
    check("disconnected" in subscriber.errors, subscriber.errors)
reset()
with Server("heart-rate") as server:
    subscriber = client("subscribe", endpoint(), "0x0012", "--json")
    subscriber.line()
    start = time.monotonic()
    subscriber.signal(signal.SIGKILL)
    server.event("disconnected")
    print(f"the server noticed {time.monotonic() - start:.2f} s after its client")
    # And takes the next.
    atto("read", endpoint(), "0x0003")
    server.event("connected")
