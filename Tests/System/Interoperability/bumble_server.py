"""A Bumble GATT server of one of our profiles.

Bumble's own request handlers answer; only the database is put together here, because Bumble's
`add_service` numbers attributes from 0x0001 without gaps and cannot state handles. What of a
profile cannot be expressed:

- `keySize`, `readSecure`, `writeSecure`: taken for encryption and authentication;
- `maxLength` and `fixedLength` hold for whole writes only, since Bumble puts a prepared value
  together before it looks at the attribute;
- Service Changed, Client Supported Features and the Database Hash are plain values.
"""

import asyncio
import contextlib
import dataclasses
import logging
import struct

from bumble import att, gatt, gatt_server
from bumble.core import UUID

import profile_layout
from bumble_bearer import SocketBearer, SocketDevice

logger = logging.getLogger(__name__)

PERMISSIONS = {
    "read": att.Attribute.READABLE,
    "write": att.Attribute.WRITEABLE,
    "readEncrypted": att.Attribute.READABLE | att.Attribute.READ_REQUIRES_ENCRYPTION,
    "writeEncrypted": att.Attribute.WRITEABLE | att.Attribute.WRITE_REQUIRES_ENCRYPTION,
    "readAuthenticated": att.Attribute.READABLE | att.Attribute.READ_REQUIRES_AUTHENTICATION,
    "writeAuthenticated": att.Attribute.WRITEABLE | att.Attribute.WRITE_REQUIRES_AUTHENTICATION,
    "readSecure": att.Attribute.READABLE | att.Attribute.READ_REQUIRES_AUTHENTICATION,
    "writeSecure": att.Attribute.WRITEABLE | att.Attribute.WRITE_REQUIRES_AUTHENTICATION,
    "readAuthorized": att.Attribute.READABLE | att.Attribute.READ_REQUIRES_AUTHORIZATION,
    "writeAuthorized": att.Attribute.WRITEABLE | att.Attribute.WRITE_REQUIRES_AUTHORIZATION,
}


def bumble_permissions(words) -> att.Attribute.Permissions:
    result = att.Attribute.Permissions(0)
    for word in words:
        result |= PERMISSIONS[word]
    return result


class StoredValue:
    """The value of one attribute, with the checks that Bumble leaves to the application."""

    def __init__(self, attribute: profile_layout.Attribute, server: "ProfileServer") -> None:
        self.attribute = attribute
        self.server = server
        self.bytes = attribute.value
        self.writes = 0

    @property
    def bumble(self) -> att.AttributeValueV2:
        return att.AttributeValueV2(read=self.read, write=self.write)

    def fail(self, code: int):
        raise att.ATT_Error(error_code=code, att_handle=self.attribute.handle)

    async def delay(self, bearer) -> None:
        milliseconds = self.attribute.behaviour.get("delayMilliseconds")
        if milliseconds and self.server.bare:
            # As slow as another request needs to overtake this one, on any machine.
            bearer.has_sent.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(bearer.has_sent.wait(), 0.3)
        elif milliseconds:
            await asyncio.sleep(milliseconds / 1000)

    async def read(self, bearer) -> bytes:
        # Bumble does not look at READABLE.
        if not self.server.bare and not self.attribute.allows("read"):
            self.fail(att.ATT_READ_NOT_PERMITTED_ERROR)
        await self.delay(bearer)
        if code := self.attribute.behaviour.get("readError"):
            self.fail(int(code, 16))
        value = self.bytes
        self.count()
        return value

    async def write(self, bearer, value: bytes) -> None:
        # Bumble does not look at WRITEABLE.
        if not self.server.bare and not self.attribute.allows("write"):
            self.fail(att.ATT_WRITE_NOT_PERMITTED_ERROR)
        await self.delay(bearer)
        if code := self.attribute.behaviour.get("writeError"):
            self.fail(int(code, 16))
        if len(value) > self.attribute.max_length:
            self.fail(att.ATT_INVALID_ATTRIBUTE_LENGTH_ERROR)
        self.writes += 1
        if not self.attribute.behaviour.get("sink"):
            rest = self.bytes[len(value) :] if self.attribute.fixed else b""
            self.bytes = value + rest
        self.server.on_written(self, bearer, value)

    def count(self) -> None:
        """Increments a counter after each use."""
        if size := self.attribute.behaviour.get("counter"):
            number = int.from_bytes(self.bytes[:size], "little") + 1
            self.bytes = (number % (1 << 8 * size)).to_bytes(size, "little") + self.bytes[size:]


class ProfileServer:
    """A database with its scripted values, for one client after another."""

    def __init__(
        self, layout: profile_layout.Layout, mtu: int, notifications: int, bare: bool = False
    ) -> None:
        self.layout = layout
        # Whether Bumble is left alone with the permissions.
        self.bare = bare
        self.notifications = notifications
        self.device = SocketDevice()
        self.server = gatt_server.Server(self.device)
        self.server.max_mtu = mtu
        self.values: dict[int, StoredValue] = {}
        self.characteristics: dict[int, gatt.Characteristic] = {}
        self.tasks: set[asyncio.Task] = set()
        self.build()
        self.server.on(
            self.server.EVENT_CHARACTERISTIC_SUBSCRIPTION, self.on_characteristic_subscription
        )

    # The database.

    def add(self, attribute: att.Attribute, handle: int, end: int | None = None) -> None:
        attribute.handle = handle
        attribute.end_group_handle = end or handle
        self.server.attributes.append(attribute)

    def build(self) -> None:
        services = {
            service.handle: gatt.Service(UUID(service.uuid), [], primary=service.primary)
            for service in self.layout.services
        }
        for service in self.layout.services:
            services[service.handle].handle = service.handle
            services[service.handle].end_group_handle = service.end
        for service in self.layout.services:
            self.add(services[service.handle], service.handle, service.end)
            for include in service.includes:
                target = services[include.service.handle]
                declaration = gatt.IncludedServiceDeclaration(target)
                # Bumble writes two octets of any UUID; one of 128 bits has no place here.
                uuid = target.uuid.to_pdu_bytes()
                declaration.value = struct.pack(
                    "<HH", target.handle, target.end_group_handle
                ) + (uuid if len(uuid) == 2 else b"")
                self.add(declaration, include.handle)
            for characteristic in service.characteristics:
                self.build_characteristic(characteristic)
            self.server.services.append(services[service.handle])

    def build_characteristic(self, item: profile_layout.Characteristic) -> None:
        stored = StoredValue(item.value, self)
        self.values[item.value.handle] = stored
        characteristic = gatt.Characteristic(
            UUID(item.uuid),
            gatt.Characteristic.Properties(item.property_bits),
            bumble_permissions(item.value.permissions),
            stored.bumble,
        )
        self.characteristics[item.value.handle] = characteristic
        end = max([item.value.handle] + [d.handle for d in item.descriptors])
        self.add(
            gatt.CharacteristicDeclaration(characteristic, item.value.handle), item.handle, end
        )
        self.add(characteristic, item.value.handle, end)
        for descriptor in item.descriptors:
            if descriptor.kind == "configuration":
                value = self.server.make_descriptor_value(characteristic)
            else:
                self.values[descriptor.handle] = StoredValue(descriptor, self)
                value = self.values[descriptor.handle].bumble
            self.add(
                gatt.Descriptor(
                    UUID(descriptor.uuid), bumble_permissions(descriptor.permissions), value
                ),
                descriptor.handle,
            )

    # Behaviours.

    def spawn(self, coroutine) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def on_characteristic_subscription(self, bearer, characteristic, notify, indicate) -> None:
        stored = self.values[characteristic.handle]
        behaviour = stored.attribute.behaviour
        burst = behaviour.get("burst", {})
        if notify and burst.get("on") == "subscribe":
            self.spawn(self.burst(bearer, characteristic, burst))
        elif (notify or indicate) and self.notifications:
            self.spawn(self.run(bearer, characteristic, stored, notify, self.notifications, 0))
        elif notify and (period := behaviour.get("notifyEveryMilliseconds")):
            self.spawn(self.run(bearer, characteristic, stored, True, None, period / 1000))
        elif indicate and (period := behaviour.get("indicateEveryMilliseconds")):
            self.spawn(self.run(bearer, characteristic, stored, False, None, period / 1000))

    def on_written(self, stored: StoredValue, bearer, value: bytes) -> None:
        behaviour = stored.attribute.behaviour
        if target := behaviour.get("echoTo"):
            found = self.layout.find(target, list(self.layout.characteristics()))
            self.spawn(self.send(bearer, self.characteristics[found.value.handle], value))
        burst = behaviour.get("burst", {})
        if burst.get("on") == "write":
            characteristic = self.characteristics[stored.attribute.handle]
            self.spawn(self.burst(bearer, characteristic, burst))

    async def send(self, bearer: SocketBearer, characteristic, value: bytes, notify=True) -> None:
        if notify:
            await self.server.notify_subscriber(bearer, characteristic, value)
        else:
            await self.server.indicate_subscriber(bearer, characteristic, value)
        await bearer.drained.wait()

    async def burst(self, bearer: SocketBearer, characteristic, burst: dict) -> None:
        for number in range(burst["count"]):
            if bearer.is_closed.is_set():
                return
            value = struct.pack("<I", number) + bytes(
                (number + offset) & 0xFF for offset in range(4, burst["size"])
            )
            await self.send(bearer, characteristic, value)

    async def run(self, bearer, characteristic, stored, notify, count, period) -> None:
        """Sends a number of values, or one each period until the client unsubscribes."""
        number = 0
        while (count is None or number < count) and not bearer.is_closed.is_set():
            if period:
                await asyncio.sleep(period)
                if not any(self.server.read_cccd(bearer, characteristic)):
                    return
            value = stored.bytes if period else struct.pack("<I", number)
            stored.count()
            await self.send(bearer, characteristic, value, notify)
            number += 1

    # Clients.

    async def serve(self, sock) -> dict:
        """Serves the client until it disconnects."""
        bearer = SocketBearer(sock)
        bearer.server = self.server
        self.device.bearers = {bearer.handle: bearer}
        bearer.start()
        await bearer.is_closed.wait()
        for task in list(self.tasks):
            task.cancel()
        return {
            "mtu": bearer.att_mtu,
            "received": bearer.received,
            "writes": {
                f"0x{handle:04X}": stored.writes
                for handle, stored in self.values.items()
                if stored.writes
            },
        }


def without_behaviours(layout: profile_layout.Layout) -> profile_layout.Layout:
    """The same database with plain values."""
    for characteristic in layout.characteristics():
        characteristic.value = dataclasses.replace(characteristic.value, behaviour={})
    return layout
