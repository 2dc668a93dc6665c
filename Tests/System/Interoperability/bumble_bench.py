#!/usr/bin/env python3
"""Bumble's benchmark (`bumble-bench`) as a peer, over GATT on a Unix SEQPACKET socket.

    bumble_bench.py central|peripheral|throughput PATH SCENARIO [--size N] [--count N] [--mtu N]

The scenario and the GATT mode are Bumble's own (bumble.apps.bench); the connection is that of
bumble_bearer. Prints `listening` and, at the end, a JSON object with the octets that a sender has
sent, the values that a receiver has counted, and the round trips of a ping in milliseconds.

Bumble 0.0.236 lacks `can_receive` in its GATT modes, so a sender fails after its last value instead
of waiting for the acknowledgement: it is added here.

`throughput` serves Nordic's throughput service (nRF Connect SDK, subsys/bluetooth/services/throughput.c):
a write of one octet clears the metrics, and a read returns writes, octets and bits per second.
"""

import argparse
import asyncio
import json
import struct
import time

from bumble import gatt, gatt_client, gatt_server
from bumble.apps import bench

import bumble_bearer


class Bearer(bumble_bearer.SocketBearer):
    """With what Bumble's benchmark asks of a connection beyond its GATT parts."""

    EVENT_CONNECTION_ATT_MTU_UPDATE = "connection_att_mtu_update"

    @property
    def gatt_client(self):
        return self.client


class Device(bumble_bearer.SocketDevice):
    def __init__(self) -> None:
        super().__init__()
        self.gatt_server = gatt_server.Server(self)

    def add_services(self, services) -> None:
        self.gatt_server.add_services(services)

    async def notify_subscribers(self, attribute, value) -> None:
        await self.gatt_server.notify_subscribers(attribute, value)


def scenario(arguments, mode):
    if arguments.scenario in ("receive", "pong"):
        kind = bench.Receiver if arguments.scenario == "receive" else bench.Pong
        return kind(mode, linger=False)
    kind = bench.Sender if arguments.scenario == "send" else bench.Ping
    return kind(
        mode, start_delay=0, repeat=0, repeat_delay=0, pace=0, packet_size=arguments.size,
        packet_count=arguments.count)


async def central(arguments):
    bearer = Bearer(await bumble_bearer.connect(arguments.path))
    bearer.client = gatt_client.Client(bearer)
    bearer.start()
    mode = bench.GattClient(None, att_mtu=arguments.mtu)
    running = scenario(arguments, mode)
    await mode.on_connection(bearer)
    return bearer, running


async def peripheral(arguments):
    device = Device()
    mode = bench.GattServer(device)
    running = scenario(arguments, mode)
    sock = bumble_bearer.listen(arguments.path)
    print("listening", flush=True)
    peer, _ = await asyncio.get_running_loop().sock_accept(sock)
    bearer = Bearer(peer)
    bearer.server = device.gatt_server
    device.bearers[bearer.handle] = bearer
    await mode.on_connection(bearer)
    bearer.start()
    return bearer, running


class Throughput:
    def __init__(self) -> None:
        self.metrics, self.start = (0, 0, 0), time.monotonic()

    def write(self, _, value: bytes) -> None:
        if len(value) == 1:
            self.metrics, self.start = (0, 0, 0), time.monotonic()
            return
        octets = self.metrics[1] + len(value)
        rate = octets * 8 / max(1e-6, time.monotonic() - self.start)
        self.metrics = self.metrics[0] + 1, octets, min(int(rate), 2**32 - 1)

    def read(self, _) -> bytes:
        return struct.pack("<III", *self.metrics)


async def throughput(arguments) -> None:
    counter = Throughput()
    properties = gatt.Characteristic.Properties
    device = Device()
    device.add_services([gatt.Service("0483DADD-6C9D-6CA9-5D41-03AD4FFF4ABB", [gatt.Characteristic(
        "1524", properties.READ | properties.WRITE_WITHOUT_RESPONSE,
        gatt.Characteristic.READABLE | gatt.Characteristic.WRITEABLE,
        gatt.CharacteristicValue(read=counter.read, write=counter.write))])])
    sock = bumble_bearer.listen(arguments.path)
    print("listening", flush=True)
    peer, _ = await asyncio.get_running_loop().sock_accept(sock)
    bearer = Bearer(peer)
    bearer.server = device.gatt_server
    device.bearers[bearer.handle] = bearer
    bearer.start()
    await bearer.is_closed.wait()


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["central", "peripheral", "throughput"])
    parser.add_argument("path")
    parser.add_argument("scenario", choices=["send", "receive", "ping", "pong"])
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--mtu", type=int, default=247)
    arguments = parser.parse_args()
    if arguments.role == "throughput":
        return await throughput(arguments)
    for mode in (bench.GattClient, bench.GattServer):
        mode.can_receive = lambda self: True
    bearer, running = await (central if arguments.role == "central" else peripheral)(arguments)
    await running.run()
    # The last acknowledgement is sent by a task of its own.
    await asyncio.sleep(0.1)
    await bearer.drained.wait()
    print(json.dumps({
        "sent": getattr(running, "bytes_sent", None),
        "octets": getattr(running, "total_bytes_received", None),
        "expected": getattr(running, "expected_packet_index", None),
        "roundTrips": len(getattr(running, "rtts", []))}), flush=True)
    bearer.close()


asyncio.run(main())
