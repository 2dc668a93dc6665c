"""The clients in Python: client.py CLIENT PATH. They read and print what client.h says."""

import asyncio
import json
import os
import sys
import time

SIZE, MTU = 20, 247
# Of Fixtures/bench.json.
READ, STREAM = (f"a77b000{number}-0d3e-4f6b-9c11-5a2e7b600001" for number in (2, 5))


async def python(path: str) -> tuple:
    import atto
    client = atto.Client(f"unix:{path}", mtu=MTU)
    await client.connect()
    value, stream = await client.find(READ), await client.find(STREAM)
    return lambda: client.read(value), lambda receive: client.subscribe(stream, lambda it: receive(it.data))


async def bleak(path: str) -> tuple:
    from atto.bleak import AttoClient
    from bleak import BleakClient
    client = BleakClient(f"unix:{path}", backend=AttoClient, mtu=MTU)
    await client.connect()
    return lambda: client.read_gatt_char(READ), lambda receive: client.start_notify(STREAM, lambda _, it: receive(it))


async def bumble(path: str) -> tuple:
    from bumble import core, gatt_client
    from bumble_bearer import SocketBearer, connect
    bearer = SocketBearer(await connect(path, timeout=10))
    client = bearer.client = gatt_client.Client(bearer)
    bearer.start()
    await client.request_mtu(MTU)
    await client.discover_services()
    await client.discover_characteristics((), None)
    value, stream = (client.get_characteristics_by_uuid(core.UUID(uuid))[0] for uuid in (READ, STREAM))
    await stream.discover_descriptors()
    return value.read_value, stream.subscribe


class Test:
    """Counts in the same way as client.h."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.began = seconds, None
        self.count = self.lost = self.disordered = self.next = 0
        self.done = asyncio.Event()

    def add(self, size: int) -> None:
        if size != SIZE:
            sys.exit("no value, or of another size")
        ended = time.monotonic()
        # The first value only starts the clock.
        self.count += self.began is not None
        self.began = self.began or ended
        if ended - self.began >= self.seconds:
            # At once, because the processor's time is taken then.
            print(json.dumps({"count": self.count, "seconds": ended - self.began, "lost": self.lost,
                              "disordered": self.disordered}), flush=True)
            self.done.set()

    def receive(self, value: bytes) -> None:
        if self.done.is_set():
            return
        number = int.from_bytes(value[:4], "little")
        self.disordered += number < self.next
        self.lost += max(0, number - self.next)
        self.next = max(self.next, number + 1)
        self.add(len(value))


async def main(client: str, path: str) -> None:
    read, subscribe = await {"python": python, "bleak": bleak, "bumble": bumble}[client](path)
    print("ready", flush=True)
    # Nothing may happen between the tests, so this blocks.
    for line in sys.stdin:
        name, seconds = line.split()
        test = Test(float(seconds))
        if name == "read":
            test.began = time.monotonic()
            while not test.done.is_set():
                test.add(len(await read()))
        else:
            await subscribe(test.receive)
            await test.done.wait()
    # Without waiting for a stream that does not end.
    os._exit(0)


asyncio.run(main(*sys.argv[1:]))
