"""The client."""

from __future__ import annotations

import asyncio
import re
from typing import Any, cast

from bleak import BleakScanner
from bleak.args import SizedBuffer
from bleak.assigned_numbers import CharacteristicPropertyName
from bleak.backends.characteristic import BleakGATTCharacteristic
from bleak.backends.client import BaseBleakClient, NotifyCallback
from bleak.backends.descriptor import BleakGATTDescriptor
from bleak.backends.device import BLEDevice
from bleak.backends.service import BleakGATTService, BleakGATTServiceCollection
from bleak.exc import BleakDeviceNotFoundError, BleakError

from ..client import IO, Agent, Characteristic, Client, Interval, SecurityLevel, Subscription, full_uuid
from ..errors import AttoError, LinkError, ProcessError
from ..session import Option, Session
from .errors import bleak_error, raising
from .scanner import AttoScanner, chosen_radio, default_radio

# Writes without response whose end nobody waits for.
_WINDOW = 64
_ENDPOINT = re.compile(r"(air|le|unix|fd):")
_PROPERTIES: dict[str, CharacteristicPropertyName] = {
    "broadcast": "broadcast", "read": "read", "writeWithoutResponse": "write-without-response",
    "write": "write", "notify": "notify", "indicate": "indicate",
    "authenticatedSignedWrites": "authenticated-signed-writes",
    "extendedProperties": "extended-properties",
}


def longest_command(mtu: int) -> int:
    """The octets that a Write Command can carry: no value is longer than 512."""
    return min(mtu - 3, 512)


class AttoClient(BaseBleakClient):
    """A connection by `atto`. `BleakClient(address, backend=AttoClient)`.

    The address is that of a device, found by a scan, or an endpoint of the command, which is connected
    to without a scan: `le:AA:BB:CC:DD:EE:FF/random`, `air:Strap`, `unix:/tmp/peer`.

    Keyword arguments beyond bleak's:

    - `passkey`: the number that the peer shows; `io`: what the person can do (`keyboard`, ...); `agent`: a
      function that answers questions of pairing, see `atto.PairingQuestion`
    - `security`: the level to raise the link to; by default it is raised when the peer demands it
    - `interval`: the connection interval to ask for, in milliseconds, or the shortest and the longest
    - `mtu`: the MTU to offer (517), `radio`: see `AttoScanner`, `atto`: the command
    - `options`: further options of the command's `connect`

    The handle of a characteristic is that of its declaration, as with bleak on BlueZ. Writes without
    response return when they are on their way, up to 64 at a time. A value that is too long is refused at
    once. Any other error goes to the exception handler of the event loop, which logs it.
    """

    def __init__(
        self, address_or_ble_device: BLEDevice | str, services: set[str] | None = None, *,
        bluez: Any = None, winrt: Any = None, passkey: int | str | None = None,
        io: IO | None = None, agent: Agent | None = None, security: SecurityLevel | None = None,
        mtu: int = 517, interval: Interval | None = None, radio: str | None = None,
        atto: str | None = None, options: dict[str, Option] | None = None, **kwargs: Any,
    ) -> None:
        super().__init__(address_or_ble_device, **kwargs)
        self._bluez: dict[str, Any] = bluez or {}
        self._radio = chosen_radio(self._bluez, radio)
        self._device = (
            address_or_ble_device if isinstance(address_or_ble_device, BLEDevice) else None)
        self._requested = services
        if io is None and (passkey is not None or agent is not None):
            io = "keyboard" if passkey is not None else "keyboard-display"
        self._security: SecurityLevel = security or "auto"
        self._arguments: dict[str, Any] = {
            "mtu": mtu, "passkey": passkey, "io": io, "agent": agent,
            "interval": interval, "options": options, "atto": atto}
        self._atto = atto
        self._client: Client | None = None
        self._name = self._device.name if self._device else None
        self._cache: dict[int, bytes] = {}
        self._subscriptions: dict[int, Subscription] = {}
        self._window = asyncio.Semaphore(_WINDOW)

    # The connection

    @property
    def name(self) -> str:
        return self._name or self.address.replace(":", "-")

    @property
    def mtu_size(self) -> int:
        return self._client.mtu if self._client else 23

    @property
    def is_connected(self) -> bool:
        return self._client is not None and self._client.is_connected

    def _connected(self) -> Client:
        if self._client is None or not self._client.is_connected:
            raise BleakError("Not connected")
        return self._client

    async def _endpoint(self, timeout: float) -> str:
        if self._device is None and _ENDPOINT.match(self.address):
            return self.address
        if self._device is None:
            more: dict[str, Any] = {"radio": self._radio, "atto": self._atto}
            self._device = await BleakScanner.find_device_by_address(
                self.address, timeout, backend=AttoScanner, **more)
            if self._device is None:
                raise BleakDeviceNotFoundError(
                    self.address, f"Device with address {self.address} was not found.")
            self._name = self._device.name
        known: object = self._device.details
        details = cast(dict[str, Any], known) if isinstance(known, dict) else {}
        radio = details.get("radio") or self._radio
        if radio is None:
            async with Session(atto=self._atto) as session:
                radio = await default_radio(session)
        if radio.startswith("air:"):
            return f"air:{self.address}"
        kind = f"/{details['kind']}" if details.get("kind") else ""
        return f"le:{self.address}{kind}{radio.removeprefix('le:')}"

    async def connect(self, pair: bool, **kwargs: Any) -> None:
        if self._client is not None:
            if self._client.is_connected:
                raise BleakError("Client is already connected")
            await self._client.close()
        timeout = float(kwargs.get("timeout", self._timeout))
        with raising(self.address):
            endpoint = await self._endpoint(timeout)
            arguments = {**self._arguments}
            # The limit below ends an attempt; this one is for each response too.
            arguments["options"] = {
                "timeout": max(30.0, timeout + 1), **(arguments["options"] or {})}
            client = Client(
                endpoint, security=self._security, on_disconnect=self._disconnected, **arguments)
            self._client = client
            self._cache.clear()
            limit = asyncio.timeout(timeout)
            try:
                async with limit:
                    await client.connect()
                    if pair:
                        await self.pair()
                    await self._discover(client)
            except BaseException as error:
                self._client = None
                await client.close()
                if limit.expired():
                    raise TimeoutError(
                        f"no connection to {self.address} within {timeout:g} s") from error
                raise

    async def _discover(self, client: Client) -> None:
        collection = BleakGATTServiceCollection()
        names: list[Characteristic] = []
        for service in await client.discover():
            names += [it for it in service.characteristics if it.uuid == full_uuid(0x2A00)]
            if self._requested and service.uuid not in self._requested:
                continue
            found = BleakGATTService(service, service.handle, service.uuid)
            collection.add_service(found)
            for characteristic in service.characteristics:
                properties: list[CharacteristicPropertyName] = [
                    name for key, name in _PROPERTIES.items() if key in characteristic.properties]
                added = BleakGATTCharacteristic(
                    characteristic, characteristic.declaration, characteristic.uuid, properties,
                    lambda: longest_command(self.mtu_size), found)
                collection.add_characteristic(added)
                for descriptor in characteristic.descriptors:
                    collection.add_descriptor(BleakGATTDescriptor(
                        descriptor, descriptor.handle, descriptor.uuid, added))
        if self._name is None and names:
            try:
                self._name = (await client.read(names[0])).decode(errors="replace")
            except AttoError:
                pass
        self.services = collection

    def _disconnected(self, error: Exception | None) -> None:
        self.services = None
        self._subscriptions.clear()
        if self._disconnected_callback is not None:
            self._disconnected_callback()

    async def disconnect(self) -> None:
        client, self._client = self._client, None
        if client is None:
            return
        was_connected = client.is_connected
        await client.close()
        if was_connected:
            self._disconnected(None)

    async def pair(self, *args: Any, **kwargs: Any) -> None:
        """Pairs, to the security level of the keyword argument `level`: by default `high` if the client
        was made with `io`, `passkey` or `agent`, else `medium`."""
        level: SecurityLevel = kwargs.get("level") or (
            "high" if self._arguments["io"] else "medium")
        with raising(self.address):
            await self._connected().security(level)

    async def unpair(self) -> None:
        """Removes the bond, and disconnects."""
        with raising(self.address):
            endpoint = self._client.endpoint if self._client else await self._endpoint(self._timeout)
            await self.disconnect()
            async with Session(atto=self._atto) as session:
                await session.request("unpair", endpoint)

    # Values

    async def read_gatt_char(
        self, characteristic: BleakGATTCharacteristic, *, use_cached: bool = False, **kwargs: Any
    ) -> bytearray:
        return await self._read(characteristic.obj.handle, use_cached)

    async def read_gatt_descriptor(
        self, descriptor: BleakGATTDescriptor, *, use_cached: bool = False, **kwargs: Any
    ) -> bytearray:
        return await self._read(descriptor.handle, use_cached)

    async def _read(self, handle: int, use_cached: bool) -> bytearray:
        client = self._connected()
        if not use_cached or handle not in self._cache:
            with raising(self.address):
                self._cache[handle] = await client.read(handle)
        return bytearray(self._cache[handle])

    async def write_gatt_char(
        self, characteristic: BleakGATTCharacteristic, data: SizedBuffer, response: bool
    ) -> None:
        client = self._connected()
        handle = characteristic.obj.handle
        value = bytes(data)
        if response:
            with raising(self.address):
                return await client.write(handle, value)
        # Its end is not waited for, so what can be known now is refused now.
        if len(value) > (limit := longest_command(client.mtu)):
            raise BleakError(f"value too long: {len(value)} octets (the limit is {limit})")
        await self._window.acquire()
        try:
            with raising(self.address):
                done = await client.begin_write(handle, value)
        except BaseException:
            self._window.release()
            raise
        done.add_done_callback(self._was_written)

    def _was_written(self, done: asyncio.Future[Any]) -> None:
        self._window.release()
        error = None if done.cancelled() else done.exception()
        # The end of the connection has a callback of its own.
        if isinstance(error, AttoError) and not isinstance(error, (LinkError, ProcessError)):
            done.get_loop().call_exception_handler({
                "message": f"a write without response to {self.address} failed",
                "exception": bleak_error(error, self.address)})

    async def write_gatt_descriptor(
        self, descriptor: BleakGATTDescriptor, data: SizedBuffer
    ) -> None:
        with raising(self.address):
            await self._connected().write(descriptor.handle, bytes(data))

    async def start_notify(
        self, characteristic: BleakGATTCharacteristic, callback: NotifyCallback, **kwargs: Any
    ) -> None:
        client = self._connected()
        handle = characteristic.obj.handle
        if handle in self._subscriptions:
            raise BleakError("Characteristic notifications already started")

        def receive(value: Any) -> None:
            self._cache[handle] = value.data
            callback(bytearray(value.data))

        with raising(self.address):
            self._subscriptions[handle] = await client.subscribe(
                characteristic.obj, receive, indicate="notify" not in characteristic.properties)

    async def stop_notify(self, characteristic: BleakGATTCharacteristic) -> None:
        self._connected()
        subscription = self._subscriptions.pop(characteristic.obj.handle, None)
        if subscription is None:
            raise BleakError("Characteristic notifications never started")
        with raising(self.address):
            await subscription.close()
