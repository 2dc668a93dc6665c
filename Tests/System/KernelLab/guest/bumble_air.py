"""In the machine: Bumble's controllers, and Bumble itself as a host, on an air of their own.

bumble_air.py ADDRESS... [--server ADDRESS] [--display | --keyboard] [--eatt] [--subrating] [--devices JSON]

Each ADDRESS is a controller that the kernel gets over /dev/vhci, with links of their own, as
many as come: the emulated controllers of btvirt have one handle for all. `--server` adds a
Bumble host with a GATT server that advertises. Lines of standard input are commands to Bumble's
host as a client, and what happens is a JSON object per line of standard output.

`--subrating` says in the features of the kernel's controllers that links can be subrated. Bumble's controllers
change to a factor of 2, whatever the request.

`--devices` adds hosts with the same server, each an object: `name`, `address`, and if wanted `service`
(a UUID to advertise), `passkey` (shows it when it pairs), `private` (advertises with a private address),
`rssi` (how strong the kernel's controllers receive it), `notifications` (for each subscription), `eatt`
(a number: so many enhanced bearers, of MTU 128), and `silent` (asks a question when a peer pairs, and nobody answers it). The commands `off NAME`, `on NAME` and
`renew NAME` take one off the air, put it there again, and give it another private address. `unplug ADDRESS`
and `plug ADDRESS` take a controller away from the kernel and give it back.

Run by the interpreter that has Bumble (see Tests/System/Interoperability/bumble_python.py).
"""

import argparse
import asyncio
import collections
import contextlib
import json
import os
import sys

from bumble import att, core, hci, l2cap, ll
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
from patience import PATIENCE

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


    def send_advertising_pdu(self, sender_controller, packet):
        """Advertisements go only to controllers that listen: many would cost an emulated machine all its
        time."""
        for controller in self.controllers:
            if controller is not sender_controller and (
                    isinstance(packet, ll.ConnectInd) or controller.le_scan_enable
                    or controller.pending_le_connection):
                asyncio.get_running_loop().call_soon(controller.on_ll_advertising_pdu, packet)


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
        if isinstance(packet, hci.HCI_LE_Extended_Advertising_Report_Event):
            for report in packet.reports:
                report.rssi = strengths.get(bytes(report.address), report.rssi)
        super().send_hci_packet(packet)

    def on_hci_reset_command(self, command):
        """A reset ends the links. Linux 6.1 sends one to an adapter that it has blocked, without a
        disconnection before."""
        self.lose_links()
        return super().on_hci_reset_command(command)

    def lose_links(self) -> None:
        """The links end for their peers, as out of range."""
        for connection in list(self.le_connections.values()):
            connection.send_ll_control_pdu(ll.TerminateInd(hci.HCI_CONNECTION_TIMEOUT_ERROR))
        self.le_connections.clear()


# How strong devices are received, by address.
strengths: dict[bytes, int] = {}


class Person(PairingDelegate):
    """Shows what is to be shown, and enters what comes on standard input."""

    def __init__(
            self, capability, entries: asyncio.Queue, passkey: int | None = None, silent: bool = False):
        super().__init__(io_capability=capability)
        self.entries = entries
        self.passkey = passkey
        self.silent = silent

    async def accept(self) -> bool:
        if self.silent:
            tell("asked to pair")
            await asyncio.Event().wait()
        return True

    async def generate_passkey(self) -> int:
        return await super().generate_passkey() if self.passkey is None else self.passkey

    async def display_number(self, number: int, digits: int = 6) -> None:
        tell("show", passkey=f"{number:06}")

    async def get_number(self) -> int | None:
        tell("enter")
        return int(await self.entries.get())

    async def compare_numbers(self, number: int, digits: int = 6) -> bool:
        tell("compare", passkey=f"{number:06}")
        return (await self.entries.get()).startswith("y")


def scarce(manager, limit: int, mtu: int) -> None:
    """Accepts so many enhanced bearers of this MTU, and refuses others for lack of resources, as hosts of
    devices do."""
    take = manager.on_l2cap_credit_based_connection_request
    server = manager.le_coc_servers[att.EATT_PSM]
    server.mtu = mtu
    accepted = collections.Counter()

    def asked(connection, cid, request):
        accepted[connection.handle] += 1
        if accepted[connection.handle] <= limit:
            return take(connection, cid, request)
        refusal = l2cap.L2CAP_Credit_Based_Connection_Response
        manager.send_control_frame(connection, cid, refusal(
            identifier=request.identifier, destination_cid=[0] * len(request.source_cid), mtu=mtu, mps=server.mps,
            initial_credits=0, result=refusal.Result.SOME_CONNECTIONS_REFUSED_INSUFFICIENT_RESOURCES_AVAILABLE))

    manager.on_l2cap_credit_based_connection_request = asked


class BumbleHost:
    def __init__(
            self, address: str, air: Air, capability, eatt: bool | int = False, name: str = "Bumble",
            service: str | None = None, passkey: int | None = None, private: bool = False,
            rssi: int | None = None, notifications: int = NOTIFICATIONS, silent: bool = False):
        self.name, self.service, self.private, self.rssi = name, service, private, rssi
        self.notifications = notifications
        self.entries: asyncio.Queue = asyncio.Queue()
        controller = Controller(name, link=air, public_address=f"{address}/P")
        host = Host()
        host.controller = controller  # source and sink of HCI
        controller.host = host
        host.set_packet_sink(controller)
        self.device = Device(
            host=host, config=DeviceConfiguration(
                name=name, address=hci.Address(f"{address}/P"), eatt_enabled=bool(eatt)))
        # True for as many as come.
        self.bearers = None if eatt is True else int(eatt)
        # Its default is the same for all devices.
        self.device.irk = bytes(hci.Address(f"{address}/P")) * 2 + bytes(4)
        self.device.pairing_config_factory = lambda _: PairingConfig(
            sc=True, mitm=capability != PairingDelegate.NO_OUTPUT_NO_INPUT, bonding=True,
            delegate=Person(capability, self.entries, passkey, silent))
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
        self.notifying.on("subscription", lambda connection, on, _: on and asyncio.create_task(
            self.notify(connection)))
        self.device.on("connection", self.connected)
        await self.device.power_on()
        if self.bearers:
            scarce(self.device.l2cap_channel_manager, self.bearers, 128)

    async def advertise(self) -> None:
        data = [(AdvertisingData.COMPLETE_LOCAL_NAME, self.name.encode())]
        if self.service:
            data.append((AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS,
                         core.UUID(self.service).to_bytes()))
        address = self.device.public_address
        if self.private:
            address = hci.Address.generate_private_address(self.device.irk)
            await self.device.send_sync_command(
                hci.HCI_LE_Set_Random_Address_Command(random_address=address))
            self.device.random_address = address
        if self.rssi is not None:
            strengths[bytes(address)] = self.rssi
        await self.device.start_advertising(
            advertising_data=bytes(AdvertisingData(data)), auto_restart=True,
            own_address_type=hci.OwnAddressType.RANDOM if self.private
            else hci.OwnAddressType.PUBLIC,
            advertising_interval_min=500, advertising_interval_max=500)
        tell("advertising", device=self.name, address=str(address))

    async def withdraw(self) -> None:
        """Goes off the air, with its links."""
        await self.device.stop_advertising()
        for connection in list(self.device.connections.values()):
            await connection.disconnect()
        tell("off", device=self.name)

    def connected(self, connection) -> None:
        tell("connected", device=self.name, peer=str(connection.peer_address))
        connection.on("connection_parameters_update", lambda: tell(
            "parameters", device=self.name, interval=connection.parameters.connection_interval))
        connection.on("disconnection", lambda reason: tell(
            "disconnected", device=self.name, reason=reason))
        connection.on("pairing", lambda keys: tell("paired", device=self.name, authenticated=bool(
            keys.ltk and keys.ltk.authenticated)))
        connection.on("pairing_failure", lambda reason: tell(
            "pairing failed", device=self.name, reason=int(reason)))

    async def notify(self, connection) -> None:
        for number in range(self.notifications):
            await self.device.notify_subscriber(
                connection, self.notifying, number.to_bytes(4, "little"))

    async def visit(self, address: str, pairs: bool) -> None:
        """As a central: connects, discovers, reads, perhaps after pairing."""
        connection = await self.device.connect(
            f"{address}/P", own_address_type=hci.OwnAddressType.PUBLIC, timeout=PATIENCE)
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
            f"{address}/P", own_address_type=hci.OwnAddressType.PUBLIC, timeout=PATIENCE)
        await connection.pair()
        opened = await Client.connect_eatt(connection, count=count)
        clients = opened if count > 1 else [opened]
        values = await asyncio.gather(*(client.read_value(handle) for client in clients))
        tell("read in parallel", values=[value.hex() for value in values])
        await connection.disconnect()

    async def open_channels(self, psm: int, count: int, address: str) -> None:
        """Opens channels of LE credit-based flow control, also where enhanced ones are listened for."""
        connection = await self.device.connect(
            f"{address}/P", own_address_type=hci.OwnAddressType.PUBLIC, timeout=PATIENCE)
        await connection.pair()
        results = []
        for _ in range(count):
            try:
                await asyncio.wait_for(connection.create_l2cap_channel(
                    l2cap.LeCreditBasedChannelSpec(psm=psm)), PATIENCE)
                results.append("open")
            except Exception as error:
                results.append(repr(error))
        tell("channels", results=results)
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
                f"{address}/P", own_address_type=hci.OwnAddressType.PUBLIC, timeout=PATIENCE)
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


class KernelSink:
    """Writes to the kernel. An adapter that was switched off refuses packets, for which asyncio's transport
    would take it away."""

    def __init__(self, transport):
        self.file = transport.sink.transport.get_extra_info("pipe")

    def on_packet(self, packet: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):
            os.write(self.file.fileno(), packet)


class KernelControllers:
    """The controllers of the kernel, by address."""

    def __init__(self, air: Air, features: hci.LeFeatureMask):
        self.air = air
        self.features = features
        self.transports = {}

    async def plug(self, address: str) -> None:
        transport = await open_transport("vhci")
        controller = KernelController(
            f"hci-{address}", host_source=transport.source, host_sink=KernelSink(transport),
            link=self.air, public_address=f"{address}/P")
        controller.le_features |= self.features
        self.transports[address] = transport, controller

    async def unplug(self, address: str) -> None:
        transport, controller = self.transports.pop(address)
        controller.lose_links()
        self.air.remove_controller(controller)
        await transport.close()


async def commands(
        host: BumbleHost | None, devices: dict[str, BumbleHost],
        controllers: KernelControllers) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := (await reader.readline()).decode().strip():
        match line.split():
            case ["plug", address]: await controllers.plug(address)
            case ["unplug", address]: await controllers.unplug(address)
            case ["off", name]: await devices[name].withdraw()
            case ["on", name]: await devices[name].advertise()
            case ["renew", name]:
                await devices[name].withdraw()
                await devices[name].advertise()
            case ["visit", address]: asyncio.create_task(attempt(host.visit(address, False)))
            case ["pair", address]: asyncio.create_task(attempt(host.visit(address, True)))
            case ["bench", mode, scenario, *address]:
                asyncio.create_task(attempt(host.bench(mode, scenario, *(address or [None]))))
            case ["eatt", count, handle, address]:
                asyncio.create_task(attempt(
                    host.read_in_parallel(int(count), int(handle, 16), address)))
            case ["coc", psm, count, address]:
                asyncio.create_task(attempt(host.open_channels(int(psm), int(count), address)))
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
    parser.add_argument("--subrating", action="store_true")
    parser.add_argument("--devices", type=json.loads, default=[])
    arguments = parser.parse_args()
    air = Air()
    controllers = KernelControllers(
        air, hci.LeFeatureMask.CONNECTION_SUBRATING if arguments.subrating else hci.LeFeatureMask(0))
    for address in arguments.addresses:
        await controllers.plug(address)
    host = None
    if arguments.server:
        capability = (
            PairingDelegate.DISPLAY_OUTPUT_ONLY if arguments.display
            else PairingDelegate.KEYBOARD_INPUT_ONLY if arguments.keyboard
            else PairingDelegate.NO_OUTPUT_NO_INPUT)
        host = BumbleHost(arguments.server, air, capability, arguments.eatt)
        await host.start()
        await host.advertise()
    devices = {}
    for described in arguments.devices:
        capability = (
            PairingDelegate.DISPLAY_OUTPUT_ONLY if "passkey" in described
            else PairingDelegate.NO_OUTPUT_NO_INPUT)
        device = BumbleHost(air=air, capability=capability, **described)
        await device.start()
        await device.advertise()
        devices[device.name] = device
    tell("ready")
    if host or devices:
        await commands(host, devices, controllers)
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main())
