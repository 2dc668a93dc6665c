"""Thousands of Write Commands without a pause: the sender waits for room, and none is lost."""
from peers import *

COUNT = 3000

with Server("edges") as server:
    def commands(count: int) -> list[str]:
        return ["520a02" + number.to_bytes(4, "little").hex() for number in range(count)]

    # The kernel takes some 400 at once; then EAGAIN, and POLLOUT when there is room again.
    start = time.monotonic()
    atto("raw", endpoint(), *commands(COUNT), "0a0a02", "--json", "--for", "0.01")
    print(f"{COUNT} in {time.monotonic() - start:.2f} s")
    values = [event["value"] for event in server.events("written", 1)]
    check(values == [number.to_bytes(4, "little").hex() for number in range(COUNT)],
          len(values), values[:3], values[-3:])
