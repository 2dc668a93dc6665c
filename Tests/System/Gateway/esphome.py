"""ESPHome's native API, with the clients that Home Assistant is made of.

aioesphomeapi makes every Bluetooth call that it has; bleak-esphome and habluetooth give a plain BleakClient
the proxy as its radio; and raw sockets misbehave. Devices are `atto serve` on the virtual air.
`ATTO_TIMES=1` prints how long each test takes.
"""

import asyncio
import base64
import contextlib
import json
import logging
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import aioesphomeapi as api
from aioesphomeapi.core import BluetoothGATTAPIError
from noise.connection import NoiseConnection

import support
from support import FIXTURES, PATIENCE, Tally, confined, free_port

KEY = bytes(range(32))
RATE = "00002a37"
POINT = "00002a39"
VERSION = "00002a28"
BATTERY = "00002a19"
STREAM = "0000a001"
EXAMPLES = FIXTURES.parent / "Documentation/Examples/gateway"
AVAHI = FIXTURES.parent / "Sources/Gateway/atto-gateway/Packaging/atto-gateway.avahi.service"
# A device that floods its subscribers.
FLOOD = {
    "name": "Flood", "mtu": 517, "advertising": {"localName": "Flood"},
    "services": [{"uuid": "A000", "characteristics": [
        {"uuid": "A001", "properties": ["notify"], "maxLength": 512,
         "behaviour": {"burst": {"count": 3000, "size": 500, "on": "subscribe"}}}]}],
}


class Bench(support.Bench):
    """A gateway, devices, and clients of Home Assistant."""

    def __init__(self, programs: pathlib.Path, tally: Tally) -> None:
        super().__init__(programs)
        self.tally = tally
        self.clients = []

    async def until(self, found, what: str):
        """Waits until `found` returns something, and returns it."""
        limit = time.monotonic() + PATIENCE
        while not (result := found()):
            if time.monotonic() > limit:
                raise TimeoutError(f"{what}\n{self.log()}")
            await asyncio.sleep(0.01)
        return result

    async def gateway(self, key: bytes | None = KEY, clients: int = 16, **others) -> None:
        self.port = free_port()
        esphome = {"listen": f"127.0.0.1:{self.port}", "clients": clients}
        esphome |= {"key": base64.b64encode(key).decode()} if key else {"encryption": False}
        configuration = {"name": "hall", "adapters": ["air"], "esphome": esphome} | others
        file = self.write("gateway.json", configuration)
        self.process = self.start(*confined(self.programs), file, log="gateway.log")
        await self.logged("listening at")

    async def logged(self, text: str, count: int = 1) -> None:
        await self.until(lambda: self.log().count(text) >= count, f"no \"{text}\" logged")

    async def device(self, profile, name: str, *options) -> subprocess.Popen:
        return super().device(profile, name, *options)

    async def client(self, key: bytes | None = KEY, name: str = "test") -> api.APIClient:
        psk = base64.b64encode(key).decode() if key else None
        client = api.APIClient("127.0.0.1", self.port, None, noise_psk=psk, client_info=name)
        await asyncio.wait_for(client.connect(), PATIENCE)
        self.clients.append(client)
        return client

    async def fragile(self, name: str) -> tuple:
        """A client, and a function that cuts its connection without a word, as a crash does."""
        pipes, writers = [], []

        async def pipe(reader, writer) -> None:
            with contextlib.suppress(OSError):
                while octets := await reader.read(65536):
                    writer.write(octets)

        async def accept(reader, writer) -> None:
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", real)
            writers.extend([writer, to_writer])
            pipes.extend(asyncio.ensure_future(pipe(*ends))
                         for ends in [(reader, to_writer), (to_reader, writer)])

        def cut() -> None:
            server.close()
            for writer in writers:
                writer.transport.abort()

        real = self.port
        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            return await self.client(name=name), cut
        finally:
            self.port = real

    async def refusal(self, key: bytes | None) -> Exception | None:
        """What a client reports that cannot connect."""
        try:
            await self.client(key)
        except api.APIConnectionError as error:
            return error
        return None

    async def raw(self, octets: bytes = b"") -> tuple:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(octets)
        return reader, writer

    async def find(self, client, name: str):
        """The first advertisement of the device."""
        queue = asyncio.Queue()
        stop = client.subscribe_bluetooth_le_raw_advertisements(queue.put_nowait)
        try:
            while True:
                message = await asyncio.wait_for(queue.get(), PATIENCE)
                self.tally.check(len(message.advertisements) <= 16, "at most 16 in a message")
                for found in message.advertisements:
                    if name.encode() in found.data:
                        return found
        finally:
            stop()

    async def connect(self, client, found, has_cache: bool = False) -> "Peer":
        states = asyncio.Queue()
        await asyncio.wait_for(
            client.bluetooth_device_connect(
                found.address, lambda *state: states.put_nowait(state), feature_flags=0xFF,
                has_cache=has_cache, address_type=found.address_type, timeout=PATIENCE), PATIENCE)
        return Peer(self, client, found.address, states, await states.get())

    async def end(self) -> None:
        for client in self.clients:
            with contextlib.suppress(api.APIConnectionError):
                await client.disconnect(force=True)
        super().end()


class Peer:
    """A device as one client sees it."""

    def __init__(self, bench, client, address, states, state) -> None:
        self.bench = bench
        self.client = client
        self.address = address
        self.states = states
        self.state = state
        self.values = asyncio.Queue()

    async def discover(self) -> dict:
        services = await self.client.bluetooth_gatt_get_services(self.address)
        self.characteristics = {
            characteristic.uuid[:8]: characteristic
            for service in services.services for characteristic in service.characteristics}
        return self.characteristics

    def handle(self, uuid: str) -> int:
        return self.characteristics[uuid].handle

    def cccd(self, uuid: str) -> int:
        return next(
            descriptor.handle for descriptor in self.characteristics[uuid].descriptors
            if descriptor.uuid.startswith("00002902"))

    async def read(self, uuid: str) -> bytes:
        return bytes(await self.client.bluetooth_gatt_read(self.address, self.handle(uuid)))

    async def subscribe(self, uuid: str) -> None:
        """As bleak-esphome does it."""
        await self.client.bluetooth_gatt_start_notify(
            self.address, self.handle(uuid),
            lambda handle, value: self.values.put_nowait(bytes(value)))
        await self.client.bluetooth_gatt_write_descriptor(
            self.address, self.cccd(uuid), b"\x01\x00")

    async def value(self) -> bytes:
        return await asyncio.wait_for(self.values.get(), PATIENCE)

    async def ended(self) -> tuple:
        return await asyncio.wait_for(self.states.get(), PATIENCE)


# ---- Tests: each gets a bench.

async def every_call(bench: Bench) -> None:
    """Every Bluetooth call of aioesphomeapi."""
    tally = bench.tally
    await bench.device("heart-rate.json", "Strap")
    await bench.gateway(limits={"connections": 3})
    client = await bench.client()
    info = await client.device_info()
    tally.equal((info.name, info.api_encryption_supported), ("hall", True), "device info")
    tally.equal(info.bluetooth_proxy_feature_flags, 0xFF, "features")
    tally.check(f"<txt-record>version={info.esphome_version}<" in AVAHI.read_text(),
                "the version in the service file", info.esphome_version)
    tally.check(
        re.fullmatch(r"(?:[0-9A-F]{2}:){5}[0-9A-F]{2}", info.bluetooth_mac_address) is not None,
        "address", info.bluetooth_mac_address)
    capabilities = await client.device_capabilities()
    tally.equal(capabilities.bluetooth_proxy.feature_flags, 0xFF, "capabilities")
    tally.equal(capabilities.bluetooth_proxy.mac_address, info.mac_address, "the same address")
    tally.equal(await client.list_entities_services(), ([], []), "entities")
    scanner, free = asyncio.Queue(), asyncio.Queue()
    client.subscribe_bluetooth_scanner_state(scanner.put_nowait)
    client.subscribe_bluetooth_connections_free(lambda *state: free.put_nowait(state))
    tally.equal(await asyncio.wait_for(free.get(), PATIENCE), (3, 3, []), "free connections")
    found = await bench.find(client, "Strap")
    tally.equal((found.rssi, found.address_type), (-50, 1), "advertisement")
    state = await asyncio.wait_for(scanner.get(), PATIENCE)
    tally.equal(
        (state.state, state.mode, state.configured_mode),
        (api.BluetoothScannerState.RUNNING, api.BluetoothScannerMode.ACTIVE,
         api.BluetoothScannerMode.ACTIVE), "scanner")

    peer = await bench.connect(client, found)
    tally.equal(peer.state, (True, 247, 0), "connection")
    tally.equal(
        await asyncio.wait_for(free.get(), PATIENCE), (2, 3, [found.address]), "a connection less")
    await peer.discover()
    tally.equal(peer.characteristics[RATE].properties, 0x10, "properties")
    tally.equal(
        await peer.read(VERSION), b"1.0.0, built for a demonstration of long reads", "a long value")
    await client.bluetooth_gatt_write(peer.address, peer.handle(POINT), b"\x01", True)
    await client.bluetooth_gatt_write(peer.address, peer.handle(POINT), b"\x01", False)
    descriptor = peer.characteristics[BATTERY].descriptors[1]
    tally.equal(
        bytes(await client.bluetooth_gatt_read_descriptor(peer.address, descriptor.handle)),
        bytes.fromhex("0400ad27010000"), "a descriptor")
    for handle, data, error in [(0x999, b"\1", 1), (0, b"\1", 1), (0x12345, b"\1", 1),
                                (peer.handle(POINT), b"\1\2\3", 0x0D),
                                (peer.handle(BATTERY), b"\1", 3)]:
        try:
            await client.bluetooth_gatt_write(peer.address, handle, data, True)
            tally.check(False, f"writing to {handle:#x} is refused")
        except BluetoothGATTAPIError as refused:
            tally.equal(refused.error.error, error, f"the error of {handle:#x}")
    await peer.subscribe(RATE)
    tally.equal(await peer.value(), b"\x00\x48", "a value")
    tally.equal(
        bytes(await client.bluetooth_gatt_read_descriptor(peer.address, peer.cccd(RATE))), b"\1\0",
        "the configuration")
    client.bluetooth_gatt_stop_notify(peer.address, peer.handle(RATE))
    await bench.until(lambda: "unsubscribed" in bench.log("Strap.device"), "the device is told")
    paired = await client.bluetooth_device_pair(peer.address)
    tally.equal((paired.paired, paired.error), (True, 0), "pairing")
    await client.bluetooth_device_set_connection_params(peer.address, 24, 40, 0, 400)
    [answer] = await client._get_connection().send_messages_await_response_complex(
        (api.api_pb2.BluetoothSetConnectionParamsRequest(
            address=peer.address, min_interval=1, max_interval=0),), None, lambda _: True,
        (api.api_pb2.BluetoothSetConnectionParamsResponse,), PATIENCE)
    tally.equal(answer.error, 0x87, "parameters that do not exist")
    cleared = await client.bluetooth_device_clear_cache(peer.address)
    tally.equal((cleared.success, cleared.error), (True, 0), "clearing the cache")
    # A link of the virtual air is encrypted without a bond. The kernel lab removes one.
    removed = await client.bluetooth_device_unpair(peer.address)
    tally.equal((removed.success, removed.error), (False, 0x85), "removing a bond where there is none")
    await client.bluetooth_device_disconnect(peer.address)
    tally.equal((await peer.ended())[0], False, "the end")
    tally.check(await connections(free, 0), "the connection is free again")
    try:
        await client.bluetooth_gatt_read(peer.address, 3)
        tally.check(False, "reading without a connection is refused")
    except BluetoothGATTAPIError as refused:
        tally.equal(refused.error.error, -1, "no connection")
    # The client knows the services and asks for none.
    cached = await bench.connect(client, found, has_cache=True)
    cached.characteristics = peer.characteristics
    await cached.subscribe(RATE)
    tally.equal(await cached.value(), b"\x00\x48", "a value, with a cache")
    old = api.api_pb2.BluetoothDeviceRequest(address=1, request_type=0)
    client._get_connection().send_message(old)
    tally.equal((await cached.read(BATTERY)), b"\x64", "an obsolete request does no harm")


async def scanning(bench: Bench) -> None:
    """Passive and active scans: what clients are told, what they hear, and whose wish counts."""
    tally = bench.tally
    # Beside so much data the name is in the scan response.
    bench.start(bench.programs / "atto", "advertise", "air:C0:00:00:00:00:01", "--name", "Strap", "--manufacturer",
                "0059:" + "00" * 20, "--connectable", log="Strap.log")
    await bench.gateway(advertisements={"active": False})
    modes, heard = {}, {}

    async def joins(name: str) -> api.APIClient:
        client = await bench.client(name=name)
        modes[name], heard[name] = [], []
        client.subscribe_bluetooth_scanner_state(
            lambda state: modes[name].append((state.state, state.mode, state.configured_mode)))
        client.subscribe_bluetooth_le_raw_advertisements(
            lambda message: heard[name].extend(bytes(a.data) for a in message.advertisements))
        return client

    running = api.BluetoothScannerState.RUNNING
    passive, active = api.BluetoothScannerMode.PASSIVE, api.BluetoothScannerMode.ACTIVE

    async def are(mode, *names: str) -> None:
        """Waits until these clients are told of the mode and hear what is new in it, and for more of that."""
        for name in names:
            await bench.until(lambda: modes[name][-1:] == [(running, mode, passive)], f"{name}: {modes[name]}")
            await bench.until(lambda: [b"Strap" in data for data in heard[name][-1:]] == [mode == active],
                              f"{name} hears nothing else")
            heard[name].clear()
            await bench.until(lambda: len(heard[name]) > 1, f"{name} hears no more")
            tally.equal({b"Strap" in data for data in heard[name]}, {mode == active}, f"{name} hears responses")

    one = await joins("one")
    await are(passive, "one")
    one.bluetooth_scanner_set_mode(active)
    await are(active, "one")
    two = await joins("two")
    await are(active, "two")
    two.bluetooth_scanner_set_mode(passive)
    one.bluetooth_scanner_set_mode(passive)
    await are(passive, "one", "two")
    two.bluetooth_scanner_set_mode(active)
    await are(active, "one", "two")
    # With its client a wish ends.
    await two.disconnect()
    await are(passive, "one")


async def passkeys(bench: Bench) -> None:
    """Pairing with a passkey, which the protocol does not have: an event asks and an action answers."""
    tally = bench.tally
    await bench.device("heart-rate.json", "Strap", "--io", "display", "--json")
    await bench.gateway(askPasskeys=True)
    client = await bench.client()
    _, [action] = await client.list_entities_services()
    tally.equal((action.name, [(argument.name, int(argument.type)) for argument in action.args]),
                ("answer_pairing", [("question", 3), ("answer", 3)]), "the action")
    events = asyncio.Queue()
    client.subscribe_service_calls(events.put_nowait)
    peer = await bench.connect(client, await bench.find(client, "Strap"))
    pairing = asyncio.ensure_future(client.bluetooth_device_pair(peer.address))
    event = await asyncio.wait_for(events.get(), PATIENCE)
    tally.equal((event.service, event.is_event, event.data["kind"]),
                ("esphome.atto_pairing", True, "enter"), "the question")

    def shown() -> list:
        return [line for line in bench.log("Strap.device").splitlines() if '"show"' in line]
    await bench.until(shown, "the device shows nothing")
    passkey = json.loads(shown()[-1])["passkey"]
    asked = event.data["question"]
    for question, answer, error in [("0" * 16, passkey, "no device asks"), (asked, "yes", "six digits"),
                                    (asked, "12 34", "six digits"), (asked, passkey, None),
                                    (asked, passkey, "no device asks")]:
        done = await client.execute_service(
            action, {"question": question, "answer": answer}, return_response=False)
        tally.check(done.success == (error is None) and (error or "") in done.error_message,
                    f"the answer {answer}", done)
    paired = await asyncio.wait_for(pairing, PATIENCE)
    tally.equal((paired.paired, paired.error), (True, 0), "pairing")
    event = await asyncio.wait_for(events.get(), PATIENCE)
    tally.equal(event.data["result"], "paired", "the result")


async def connections(queue, used: int) -> bool:
    while True:
        free, limit, allocated = await asyncio.wait_for(queue.get(), PATIENCE)
        if len(allocated) == used:
            return free == limit - used


async def sharing(bench: Bench) -> None:
    """Two clients use one device, and one of them vanishes."""
    tally = bench.tally
    await bench.device("heart-rate.json", "Strap")
    await bench.gateway(limits={"connections": 1})
    first, cut_first = await bench.fragile("first")
    second, cut_second = await bench.fragile("second")
    free = asyncio.Queue()
    second.subscribe_bluetooth_connections_free(lambda *state: free.put_nowait(state))
    found = await bench.find(first, "Strap")
    one, two = await bench.connect(first, found), await bench.connect(second, found)
    for peer in (one, two):
        await peer.discover()
        await peer.subscribe(RATE)
    tally.equal([await one.value(), await two.value()], [b"\0\x48"] * 2, "a value for each")
    tally.equal(bench.log("Strap.device").count(" connected"), 1, "links")
    cut_first()
    while not two.values.empty():
        two.values.get_nowait()
    tally.equal(await two.value(), b"\0\x48", "the other goes on")
    second.bluetooth_gatt_stop_notify(found.address, two.handle(RATE))
    await bench.until(lambda: "unsubscribed" in bench.log("Strap.device"), "the device is told")
    # Another device finds no free connection.
    await bench.device("heart-rate.json", "Other")
    other = await bench.find(second, "Other")
    refused = await bench.connect(second, other)
    tally.equal(refused.state, (False, 0, 0x80), "no free connection")
    cut_second()
    await bench.until(lambda: "disconnected" in bench.log("Strap.device"), "the link ends with its user")
    third = await bench.client(name="third")
    peer = await bench.connect(third, other)
    tally.equal(peer.state[0], True, "the connection is free for another")


async def lowered_limit(bench: Bench) -> None:
    """The figures agree also when more connections are in use than a new configuration allows."""
    names = ["one", "two", "three"]
    for name in names:
        await bench.device("heart-rate.json", name)
    await bench.gateway(limits={"connections": 3})
    client = await bench.client()
    found = [await bench.find(client, name) for name in names]
    peers = [await bench.connect(client, one) for one in found]
    file = bench.path / "gateway.json"
    configuration = json.loads(file.read_text())
    configuration["limits"]["connections"] = 2
    file.write_text(json.dumps(configuration))
    bench.process.send_signal(signal.SIGHUP)
    await bench.logged("the configuration was read again")
    states = asyncio.Queue()
    client.subscribe_bluetooth_connections_free(lambda *state: states.put_nowait(state))
    for used, limit in [(3, 3), (2, 2), (1, 2)]:
        while True:
            free, told, allocated = await asyncio.wait_for(states.get(), PATIENCE)
            bench.tally.equal(free, told - len(allocated), f"free of {told} with {allocated}")
            if len(allocated) == used:
                break
        bench.tally.equal(told, limit, f"the limit while {used} are in use")
        await asyncio.wait_for(client.bluetooth_device_disconnect(peers.pop().address), PATIENCE)


async def lost_device(bench: Bench) -> None:
    """A device dies while requests wait; one that is not there."""
    tally = bench.tally
    device = await bench.device("heart-rate.json", "Strap")
    await bench.gateway()
    client = await bench.client()
    found = await bench.find(client, "Strap")
    peer = await bench.connect(client, found)
    await peer.discover()
    device.kill()
    connected, _, error = await peer.ended()
    tally.check(not connected and error in (0x08, 0x13), "the end", error)
    states = asyncio.Queue()
    attempt = asyncio.ensure_future(client.bluetooth_device_connect(
        found.address, lambda *state: states.put_nowait(state), feature_flags=0xFF,
        address_type=1, timeout=PATIENCE))
    await asyncio.sleep(0)
    await client.bluetooth_device_disconnect(found.address)
    await attempt
    tally.equal((await states.get())[0], False, "an attempt that is given up")


async def refusals(bench: Bench) -> None:
    """Wrong keys and wrong protocols are told so, and nobody else notices."""
    tally = bench.tally
    await bench.gateway(clients=3)
    client = await bench.client()
    error = await bench.refusal(bytes(32))
    tally.equal(type(error), api.InvalidEncryptionKeyAPIError, "wrong key")
    tally.equal(getattr(error, "received_name", None), "hall", "the name that came with it")
    tally.equal(type(await bench.refusal(None)), api.RequiresEncryptionAPIError, "plaintext")
    # Another name than expected.
    psk = base64.b64encode(KEY).decode()
    other = api.APIClient("127.0.0.1", bench.port, None, noise_psk=psk, expected_name="cellar")
    try:
        await other.connect()
        tally.check(False, "another name is refused")
    except api.BadNameAPIError as error:
        tally.equal(error.received_name, "hall", "the right name")
    # Places taken by clients that have the key.
    await bench.client()
    await bench.client()
    error = await bench.refusal(KEY)
    tally.check("Too many clients" in str(error), "too many clients", error)
    tally.equal((await client.device_info()).name, "hall", "the first client is still there")


async def plaintext(bench: Bench) -> None:
    """A gateway without encryption, if that is configured."""
    await bench.gateway(key=None)
    client = await bench.client(key=None)
    info = await client.device_info()
    bench.tally.equal((info.name, info.api_encryption_supported), ("hall", False), "device info")
    error = await bench.refusal(KEY)
    bench.tally.equal(
        type(error), api.EncryptionPlaintextAPIError, "an encrypting client is told so")


async def misbehaviour(bench: Bench) -> None:
    """Streams that no client sends."""
    tally = bench.tally
    await bench.gateway(clients=4)
    client = await bench.client()
    # Half frames, and octets one by one: the handshake is the package noiseprotocol's.
    noise = NoiseConnection.from_name(b"Noise_NNpsk0_25519_ChaChaPoly_SHA256")
    noise.set_as_initiator()
    noise.set_psks(KEY)
    noise.set_prologue(b"NoiseAPIInit\0\0")
    noise.start_handshake()
    reader, writer = await bench.raw()
    first = bytes(noise.write_message())
    for octet in b"\1\0\0" + frame(b"\0" + first):
        writer.write(bytes([octet]))
        await writer.drain()
    hello = await frame_of(reader)
    tally.check(hello.startswith(b"\1hall\0"), "the server's hello", hello)
    answer = await frame_of(reader)
    tally.equal((answer[0], len(answer)), (0, 49), "the server's message")
    noise.read_message(answer[1:])
    ping = frame(bytes(noise.encrypt(bytes([0, 1, 0, 0]))))
    writer.write(ping[:10])
    await writer.drain()
    writer.write(ping[10:] + frame(bytes(noise.encrypt(bytes([0, 7, 0, 0])))))
    types = [noise.decrypt(await frame_of(reader))[1] for _ in range(2)]
    tally.equal(types, [2, 8], "hello and pong")
    # A changed message ends the session; so do the others below.
    writer.write(frame(bytes(20)))
    tally.check(await is_closed(reader), "a changed message ends the session")
    garbage = {
        "HTTP": b"GET / HTTP/1.1\r\n\r\n", "a giant frame": b"\1\xff\xff" + bytes(70000),
        "zeros": bytes(4096), "an empty handshake": b"\1\0\0\1\0\0",
        "a short handshake": b"\1\0\0\1\0\5" + bytes(5), "TLS": bytes.fromhex("16030100c8010000"),
    }
    for name, octets in garbage.items():
        reader, writer = await bench.raw(octets)
        tally.check(await is_closed(reader), name)
        writer.close()
    # Strangers that send nothing, more than there are places: they give way.
    silent = [await bench.raw(b"\1\0") for _ in range(20)]
    late = await bench.client()
    tally.equal((await late.device_info()).name, "hall", "a client among silent strangers")
    for _, writer in silent:
        writer.close()
    tally.equal((await client.device_info()).name, "hall", "the first client is still there")
    tally.check(bench.process.poll() is None, "the gateway runs")


def frame(payload: bytes) -> bytes:
    return b"\1" + len(payload).to_bytes(2, "big") + payload


async def frame_of(reader) -> bytes:
    header = await asyncio.wait_for(reader.readexactly(3), PATIENCE)
    return await asyncio.wait_for(reader.readexactly(int.from_bytes(header[1:], "big")), PATIENCE)


async def is_closed(reader) -> bool:
    """Whether the server closes, in order and not by a reset that would lose what it said last."""
    try:
        await asyncio.wait_for(reader.read(), PATIENCE)
    except (OSError, TimeoutError):
        return False
    return True


async def crowd(bench: Bench) -> None:
    """100 clients at once."""
    tally = bench.tally
    await bench.device("heart-rate.json", "Strap")
    await bench.gateway(clients=100)
    clients = await asyncio.gather(*[bench.client(name=f"client {n}") for n in range(100)])
    found = await asyncio.gather(*[bench.find(client, "Strap") for client in clients])
    tally.equal(len({one.address for one in found}), 1, "all hear the device")
    peers = await asyncio.gather(*[bench.connect(client, found[0]) for client in clients[:30]])
    tally.equal({peer.state[0] for peer in peers}, {True}, "30 use it")
    await peers[0].discover()
    for peer in peers:
        peer.characteristics = peers[0].characteristics
    values = await asyncio.gather(*[peer.read(VERSION) for peer in peers])
    tally.equal(len(set(values)), 1, "all read the same")
    await asyncio.gather(*[peer.subscribe(RATE) for peer in peers])
    values = await asyncio.gather(*[peer.value() for peer in peers])
    tally.equal(set(values), {b"\0\x48"}, "all get a value")
    tally.equal(bench.log("Strap.device").count(" connected"), 1, "links")
    status = pathlib.Path(f"/proc/{bench.process.pid}/status").read_text()
    resident = int(re.search(r"VmRSS:\s+(\d+)", status).group(1))
    tally.check(resident < 120_000, "memory with 100 clients, in kB", resident)


async def slow_client(bench: Bench) -> None:
    """A client that does not read costs nobody anything; one beside it misses nothing."""
    tally = bench.tally
    await bench.device(FLOOD, "Flood")
    await bench.gateway(key=None)
    client = await bench.client(key=None)
    found = await bench.find(client, "Flood")
    peer = await bench.connect(client, found)
    await peer.discover()
    # A client that asks without end and reads no answer is not served beyond what fits.
    idle = socket.socket()
    idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    idle.connect(("127.0.0.1", bench.port))
    idle.setblocking(False)
    asked, sent = plain(1) + plain(9) * 5000, 0
    limit = time.monotonic() + 2
    with contextlib.suppress(BlockingIOError):
        while sent < 40_000_000 and time.monotonic() < limit:
            sent += idle.send(asked if sent == 0 else asked[3:])
    tally.check(sent < 40_000_000, "a flood is held back", sent)
    # One that subscribes to a flood of values and does not read them.
    reader, writer = await asyncio.open_connection("127.0.0.1", bench.port, limit=1024)
    request = api.api_pb2
    messages = [
        (1, request.HelloRequest(client_info="asleep", api_version_major=1, api_version_minor=19)),
        (68, request.BluetoothDeviceRequest(
            address=found.address, request_type=4, has_address_type=True, address_type=1)),
    ]
    for number, message in messages:
        writer.write(plain(number, message.SerializeToString()))
    await asyncio.wait_for(reader.readuntil(b"\x10\x01"), PATIENCE)
    handle = peer.handle(STREAM)
    writer.write(plain(78, request.BluetoothGATTNotifyRequest(
        address=found.address, handle=handle, enable=True).SerializeToString()))
    writer.write(plain(77, request.BluetoothGATTWriteDescriptorRequest(
        address=found.address, handle=peer.cccd(STREAM), data=b"\1\0").SerializeToString()))
    tally.equal((await client.device_info()).name, "hall", "the other is served")
    # Its values still arrive, or wait for it, when it wakes.
    await asyncio.wait_for(reader.readexactly(1_000_000), PATIENCE)
    writer.close()
    # Closed or, with values that it has not read, reset.
    await bench.logged("(asleep): the c")
    status = pathlib.Path(f"/proc/{bench.process.pid}/status").read_text()
    resident = int(re.search(r"VmHWM:\s+(\d+)", status).group(1))
    tally.check(resident < 120_000, "memory, in kB", resident)
    await peer.subscribe(STREAM)
    numbers = [int.from_bytes((await peer.value())[:4], "little") for _ in range(2000)]
    # The device begins anew if it is told that the sleeper has left before it is told of the other.
    breaks = [new for last, new in zip(numbers, numbers[1:]) if new != last + 1]
    tally.check(breaks in ([], [0]), "every value, in order", breaks)
    idle.close()


def plain(number: int, body: bytes = b"") -> bytes:
    return b"\0" + varint(len(body)) + varint(number) + body


def varint(value: int) -> bytes:
    octets = b""
    while value > 0x7F:
        octets += bytes([value & 0x7F | 0x80])
        value >>= 7
    return octets + bytes([value])


async def bleak(bench: Bench) -> None:
    """A BleakClient of habluetooth, as the integrations of Home Assistant use it."""
    import bleak as bleak_module
    import bleak_esphome
    import habluetooth
    from bleak.exc import BleakError
    from bleak_retry_connector import BleakSlotManager
    from bluetooth_adapters import BluetoothAdapters
    from habluetooth.usage import install_multiple_bleak_catcher

    class NoAdapters(BluetoothAdapters):
        adapters, history, default_adapter = {}, {}, "hci0"

    class Manager(habluetooth.BluetoothManager):
        def _discover_service_info(self, info) -> None:
            pass

    tally = bench.tally
    device = await bench.device("heart-rate.json", "Strap")
    await bench.gateway(limits={"connections": 3})
    manager = Manager(NoAdapters(), BleakSlotManager())
    habluetooth.set_manager(manager)
    # From here on bleak's own names use the proxy.
    install_multiple_bleak_catcher()
    await manager.async_setup()
    client = await bench.client()
    info = await client.device_info()
    data = bleak_esphome.connect_scanner(client, info, True)
    stop, unregister = data.scanner.async_setup(), manager.async_register_scanner(data.scanner)
    source = info.bluetooth_mac_address
    found = (await bench.until(
        lambda: list(manager.async_discovered_service_info(True)), "no advertisement"))[0]
    tally.equal(
        (found.name, found.source, found.rssi, found.connectable), ("Strap", source, -50, True),
        "what habluetooth discovers")
    await bench.until(lambda: data.scanner.current_mode is not None, "no scanner mode")
    tally.equal(data.scanner.current_mode, habluetooth.BluetoothScanningMode.ACTIVE, "the mode")
    data.scanner.async_set_scanning_mode(habluetooth.BluetoothScanningMode.PASSIVE)
    await bench.until(
        lambda: data.scanner.current_mode == habluetooth.BluetoothScanningMode.PASSIVE,
        "the scanner becomes passive")

    def slots() -> tuple:
        [allocation] = manager.async_current_allocations()
        return allocation.source, allocation.slots, allocation.free, allocation.allocated

    tally.equal(slots(), (source, 3, 3, []), "slots")
    for round in range(2):
        gone = asyncio.Event()
        ble_device = manager.async_ble_device_from_address(found.address, True)
        peer = bleak_module.BleakClient(ble_device, disconnected_callback=lambda _: gone.set())
        # The second time with what bleak-esphome has in its cache.
        await asyncio.wait_for(peer.connect(dangerous_use_bleak_cache=round == 1), PATIENCE)
        tally.equal(slots(), (source, 3, 2, [found.address]), "slots while connected")
        uuid = "0000{}-0000-1000-8000-00805f9b34fb".format
        tally.equal(
            bytes(await peer.read_gatt_char(uuid("2a28"))),
            b"1.0.0, built for a demonstration of long reads", "a long value")
        values = asyncio.Queue()
        await peer.start_notify(uuid("2a37"), lambda _, value: values.put_nowait(bytes(value)))
        tally.equal(await asyncio.wait_for(values.get(), PATIENCE), b"\0\x48", "a value")
        await peer.stop_notify(uuid("2a37"))
        await peer.write_gatt_char(uuid("2a39"), b"\1", response=True)
        try:
            await peer.write_gatt_char(uuid("2a39"), b"\1\2", response=True)
            tally.check(False, "a long value is refused")
        except BleakError as error:
            tally.check("error=13" in str(error), "a long value is refused", error)
        await peer.pair()
        if round == 0:
            await peer.disconnect()
        else:
            device.kill()
        await asyncio.wait_for(gone.wait(), PATIENCE)
        tally.check(not peer.is_connected, "disconnected")
        await bench.until(lambda: slots()[2:] == (3, []), "the slot is free again")
    data.bluetooth_device.async_set_unavailable()
    unregister()
    stop()


async def example(bench: Bench) -> None:
    """The program and the configuration that the documentation shows, at an address of their own."""
    configuration = json.loads((EXAMPLES / "gateway.json").read_text())
    address = f"127.{os.getpid() >> 16 & 0xFF}.{os.getpid() >> 8 & 0xFF}.{os.getpid() & 0xFF | 1}"
    configuration["esphome"]["listen"] = f"{address}:6053"
    del configuration["mqtt"]
    (bench.path / "example.json").write_text(json.dumps(configuration))
    await bench.device("heart-rate.json", "Atto Strap")
    bench.start(*confined(bench.programs), bench.path / "example.json", log="gateway.log")
    await bench.logged("listening at")
    program = await asyncio.create_subprocess_exec(
        sys.executable, EXAMPLES / "proxy.py", address, configuration["esphome"]["key"], "Atto Strap",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output, _ = await asyncio.wait_for(program.communicate(), PATIENCE)
    bench.tally.equal(output.decode(), "battery: 100\nheart rate: 72\n", "the program of the documentation")


TESTS = [
    every_call, scanning, passkeys, sharing, lowered_limit, lost_device, refusals, plaintext, misbehaviour, crowd, slow_client,
    bleak, example,
]


async def run(programs: pathlib.Path, names: list) -> Tally:
    tally = Tally("esphome")
    for test in TESTS:
        if names and not any(name in test.__name__ for name in names):
            continue
        tally.where = test.__name__
        bench = Bench(programs, tally)
        began = time.monotonic()
        try:
            await asyncio.wait_for(test(bench), 2 * PATIENCE)
        except Exception as error:
            log = bench.path / "gateway.log"
            logged = log.read_text()[-4000:] if log.exists() else ""
            tally.check(False, type(error).__name__, f"{error}\n{logged}")
        finally:
            await bench.end()
        if os.environ.get("ATTO_TIMES"):
            print(f"{test.__name__}: {time.monotonic() - began:.1f} s")
    return tally


def main(programs: pathlib.Path, names: list) -> tuple:
    # The clients log what they report anyway.
    logging.disable(logging.CRITICAL)
    tally = asyncio.run(run(programs, names))
    return tally.passed, tally.failed
