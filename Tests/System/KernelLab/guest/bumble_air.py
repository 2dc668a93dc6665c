"""In the machine: Bumble's controllers, and Bumble itself as a host, on an air of their own.

bumble_air.py ADDRESS... [--server ADDRESS] [--display | --keyboard] [--eatt]

Each ADDRESS is a controller that the kernel gets over /dev/vhci, with links of their own, as
many as come: the emulated controllers of btvirt have one handle for all. `--server` adds a
Bumble host with a GATT server that advertises. Lines of standard input are commands to Bumble's
host as a client, and what happens is a JSON object per line of standard output.

Run by the interpreter that has Bumble (see Tests/System/Interoperability/bumble_python.py).
"""

import argparse
import asyncio
import json
import sys

from bumble import core, hci
from bumble.apps import bench
from bumble.controller import Controller
from bumble.core import AdvertisingData
from bumble.device import Device, DeviceConfiguration, Peer
from bumble.gatt import Characteristic, Service
from bumble.gatt_client import Client
from bumble.host import Host
from bumble.link import LocalLink
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.transport import open_transport

SERVICE, PLAIN, ENCRYPTED, AUTHENTICATED, NOTIFYING = "A000", "A001", "A002", "A003", "A004"
NOTIFICATIONS = 300


def tell(event: str, **fields) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


class Air(LocalLink):
    """Data goes out under the address that the link was made with: Bumble 0.0.236 gives it the
    sender's random address, so that links of public addresses lose all of it."""

    def send_acl_data(self, sender_controller, destination_address, transport, data):
        if transport != core.PhysicalTransport.LE:
            return super().send_acl_data(sender_controller, destination_address, transport, data)
        link = sender_controller.le_connections.get(destination_address)
        if link is None:
            return
        for controller in self.controllers:
            other = controller.le_connections.get(link.self_address)
            if other is not None and other.self_address == destination_address:
                asyncio.get_running_loop().call_soon(
                    controller.on_link_acl_data, link.self_address, transport, data)
                return


class KernelController(Controller):
    """A controller for the kernel, which unmasks LE Enhanced Connection Complete and then gets no LE
    Connection Complete (Vol 4, Part E, 7.7.65.10). Bumble 0.0.236 sends the latter always. The kernel
    goes on waiting for the former then, and carries out no command for the 20 s that a connection may
    take to come about, unless another command ends by chance."""

    def send_hci_packet(self, packet) -> None:
        if isinstance(packet, hci.HCI_LE_Connection_Complete_Event):
            packet = hci.HCI_LE_Enhanced_Connection_Complete_Event(
                local_resolvable_private_address=hci.Address.ANY_RANDOM,
                peer_resolvable_private_address=hci.Address.ANY_RANDOM,
                **{name: getattr(packet, name) for name in (
                    "status", "connection_handle", "role", "peer_address_type", "peer_address",
                    "connection_interval", "peripheral_latency", "supervision_timeout",
                    "central_clock_accuracy")})
        super().send_hci_packet(packet)


class Person(PairingDelegate):
    """Shows what is to be shown, and enters what comes on standard input."""

    def __init__(self, capability, entries: asyncio.Queue):
        super().__init__(io_capability=capability)
        self.entries = entries

    async def display_number(self, number: int, digits: int = 6) -> None:
        tell("show", passkey=f"{number:06}")

    async def get_number(self) -> int | None:
        tell("enter")
        return int(await self.entries.get())

    async def compare_numbers(self, number: int, digits: int = 6) -> bool:
        tell("compare", passkey=f"{number:06}")
        return (await self.entries.get()).startswith("y")


class BumbleHost:
    def __init__(self, address: str, air: Air, capability, eatt: bool):
        self.entries: asyncio.Queue = asyncio.Queue()
        controller = Controller("bumble", link=air, public_address=f"{address}/P")
        host = Host()
        host.controller = controller  # source and sink of HCI
        controller.host = host
        host.set_packet_sink(controller)
        self.device = Device(
            host=host, config=DeviceConfiguration(
                name="Bumble", address=hci.Address(f"{address}/P"), eatt_enabled=eatt))
        self.device.pairing_config_factory = lambda _: PairingConfig(
            sc=True, mitm=capability != PairingDelegate.NO_OUTPUT_NO_INPUT, bonding=True,
            delegate=Person(capability, self.entries))
        self.device.le_enabled = True

    async def start(self) -> None:
        read = Characteristic.Properties.READ
        self.notifying = Characteristic(
            NOTIFYING, read | Characteristic.Properties.NOTIFY, Characteristic.READABLE, b"\0")
        self.device.add_service(Service(SERVICE, [
            Characteristic(PLAIN, read, Characteristic.READABLE, bytes(range(100))),
            Characteristic(
                ENCRYPTED, read, Characteristic.READABLE
                | Characteristic.Permissions.READ_REQUIRES_ENCRYPTION, b"encrypted"),
            Characteristic(
                AUTHENTICATED, read, Characteristic.READABLE
                | Characteristic.Permissions.READ_REQUIRES_AUTHENTICATION, b"authenticated"),
            self.notifying,
        ]))
        self.device.on("connection", self.connected)
        await self.device.power_on()

    async def advertise(self) -> None:
        data = bytes(AdvertisingData([(AdvertisingData.COMPLETE_LOCAL_NAME, b"Bumble")]))
        await self.device.start_advertising(
            advertising_data=data, auto_restart=True, own_address_type=hci.OwnAddressType.PUBLIC)

    def connected(self, connection) -> None:
        tell("connected", peer=str(connection.peer_address))
        connection.on("disconnection", lambda reason: tell("disconnected", reason=reason))
        connection.on("pairing", lambda keys: tell("paired", authenticated=bool(
            keys.ltk and keys.ltk.authenticated)))
        connection.on("pairing_failure", lambda reason: tell("pairing failed", reason=int(reason)))
        self.notifying.on("subscription", lambda connection, on, _: on and asyncio.create_task(
            self.notify(connection)))

    async def notify(self, connection) -> None:
        for number in range(NOTIFICATIONS):
            await self.device.notify_subscriber(
                connection, self.notifying, number.to_bytes(4, "little"))

    async def visit(self, address: str, pairs: bool) -> None:
        """As a central: connects, discovers, reads, perhaps after pairing."""
        connection = await self.device.connect(
            f"{address}/P", own_address_type=hci.OwnAddressType.PUBLIC, timeout=20)
        peer = Peer(connection)
        if pairs:
            await connection.pair()
        await peer.request_mtu(247)
        await peer.discover_services()
        await peer.discover_characteristics()
        values = {}
        for service in peer.services:
            for characteristic in service.characteristics:
                if characteristic.properties & Characteristic.Properties.READ:
                    try:
                        value = await characteristic.read_value()
                        values[f"{characteristic.handle:#06x}"] = value.hex()
                    except core.BaseBumbleError as error:
                        values[f"{characteristic.handle:#06x}"] = f"error {error.error_code:02x}"
        tell("visited", encryption=connection.encryption, values=values)
        await connection.disconnect()

    async def read_in_parallel(self, count: int, handle: int, address: str) -> None:
        """Opens enhanced bearers in one request, and reads a value on each at the same time."""
        connection = await self.device.connect(
            f"{address}/P", own_address_type=hci.OwnAddressType.PUBLIC, timeout=20)
        await connection.pair()
        opened = await Client.connect_eatt(connection, count=count)
        clients = opened if count > 1 else [opened]
        values = await asyncio.gather(*(client.read_value(handle) for client in clients))
        tell("read in parallel", values=[value.hex() for value in values])
        await connection.disconnect()

    async def bench(self, mode: str, scenario: str, address: str | None) -> None:
        """A scenario of Bumble's benchmark, as a central if there is an address."""
        # Bumble 0.0.236 lacks it in its GATT modes, whose senders fail at their end.
        bench.GattClient.can_receive = bench.GattServer.can_receive = lambda self: True
        mode = {"gatt-client": bench.GattClient, "gatt-server": bench.GattServer,
                "l2cap-client": bench.L2capClient, "l2cap-server": bench.L2capServer}[mode](self.device)
        if scenario in ("receive", "pong"):
            kind = bench.Receiver if scenario == "receive" else bench.Pong
            running = kind(mode, linger=False)
        else:
            kind = bench.Sender if scenario == "send" else bench.Ping
            running = kind(mode, 0, 0, 0, 0, packet_size=200, packet_count=20)
        if address:
            connection = await self.device.connect(
                f"{address}/P", own_address_type=hci.OwnAddressType.PUBLIC, timeout=20)
        else:
            connected = asyncio.get_running_loop().create_future()
            self.device.once("connection", connected.set_result)
            tell("bench waits")
            connection = await connected
        await mode.on_connection(connection)
        await running.run()
        tell("bench", scenario=scenario, octets=getattr(running, "total_bytes_received", None),
             sent=getattr(running, "bytes_sent", None), roundTrips=len(getattr(running, "rtts", [])))
        if address:
            await asyncio.sleep(0.5)
            await connection.disconnect()


async def commands(host: BumbleHost) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := (await reader.readline()).decode().strip():
        match line.split():
            case ["visit", address]: asyncio.create_task(attempt(host.visit(address, False)))
            case ["pair", address]: asyncio.create_task(attempt(host.visit(address, True)))
            case ["bench", mode, scenario, *address]:
                asyncio.create_task(attempt(host.bench(mode, scenario, *(address or [None]))))
            case ["eatt", count, handle, address]:
                asyncio.create_task(attempt(
                    host.read_in_parallel(int(count), int(handle, 16), address)))
            case [entry]: host.entries.put_nowait(entry)


async def attempt(work) -> None:
    try:
        await work
    except Exception as error:
        tell("failed", error=repr(error))


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("addresses", nargs="*")
    parser.add_argument("--server")
    parser.add_argument("--display", action="store_true")
    parser.add_argument("--keyboard", action="store_true")
    parser.add_argument("--eatt", action="store_true")
    arguments = parser.parse_args()
    air = Air()
    kept = []
    for number, address in enumerate(arguments.addresses):
        transport = await open_transport("vhci")
        kept.append((transport, KernelController(
            f"hci-{number}", host_source=transport.source, host_sink=transport.sink, link=air,
            public_address=f"{address}/P")))
    host = None
    if arguments.server:
        capability = (
            PairingDelegate.DISPLAY_OUTPUT_ONLY if arguments.display
            else PairingDelegate.KEYBOARD_INPUT_ONLY if arguments.keyboard
            else PairingDelegate.NO_OUTPUT_NO_INPUT)
        host = BumbleHost(arguments.server, air, capability, arguments.eatt)
        await host.start()
        await host.advertise()
    tell("ready")
    if host:
        await commands(host)
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main())
