"""A Bumble GATT client that follows a script and reports the results.

Steps, each one word with its arguments after colons:

- `discover`: services, includes, characteristics, descriptors (needed by those below);
- `read`: every value and descriptor, those that may not be read too;
- `write`: every value that can be written; what can also be read is read back and put back;
- `subscribe:HANDLE:COUNT`: turns notifications or indications of this value handle on and
  waits for so many; `subscribed HANDLE` goes to standard error in between;
- `exchange:HANDLE:HEX:HANDLE:COUNT`: writes the first value, waits for so many more
  notifications of the second;
- `fence`: a request and its response, so that all that was sent before has arrived.
"""

import asyncio
import logging
import struct
import sys

from bumble import att, gatt, gatt_client
from bumble.core import UUID

from bumble_bearer import SocketBearer

logger = logging.getLogger(__name__)

PROPERTIES = [
    "broadcast",
    "read",
    "writeWithoutResponse",
    "write",
    "notify",
    "indicate",
    "authenticatedSignedWrites",
    "extendedProperties",
]
BASE_SUFFIX = bytes.fromhex("00001000800000805f9b34fb")[::-1]
# How long a step waits for what should come by itself.
PATIENCE = 60.0


def uuid_text(uuid: UUID) -> str:
    """The UUID in lowercase, in its 16-bit form (`180d`) if it has one."""
    octets = uuid.uuid_128_bytes
    if octets[:12] == BASE_SUFFIX and octets[14:] == b"\0\0":
        return octets[12:14][::-1].hex()
    text = octets[::-1].hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


class RecordingClient(gatt_client.Client):
    """Bumble's client with the responses to its requests: Bumble drops the handles of declarations."""

    def __init__(self, bearer: SocketBearer) -> None:
        super().__init__(bearer)
        self.requests = 0
        self.declarations: dict[int, bytes] = {}

    async def send_request(self, request: att.ATT_PDU):
        self.requests += 1
        response = await super().send_request(request)
        if (
            isinstance(request, att.ATT_Read_By_Type_Request)
            and isinstance(response, att.ATT_Read_By_Type_Response)
            and request.attribute_type == gatt.GATT_CHARACTERISTIC_ATTRIBUTE_TYPE
        ):
            self.declarations.update(response.attributes)
        return response


class Inspection:
    """One connection of the client."""

    def __init__(self, bearer: SocketBearer) -> None:
        self.bearer = bearer
        self.client = RecordingClient(bearer)
        bearer.client = self.client
        self.services: list[gatt_client.ServiceProxy] = []
        self.secondary: set[int] = set()
        self.includes: dict[int, list[dict]] = {}
        self.values: dict[str, str] = {}
        self.errors: dict[str, str] = {}
        self.received: dict[int, list[bytes]] = {}
        self.arrival = asyncio.Event()
        self.checks: list[dict] = []

    def check(self, name: str, passed: bool, detail: str = "") -> None:
        self.checks.append({"check": name, "passed": passed, "detail": detail})

    async def run(self, mtu: int, script: list[str]) -> dict:
        if mtu > att.ATT_DEFAULT_MTU:
            agreed = await self.client.request_mtu(mtu)
            self.check("mtu", agreed <= mtu, str(agreed))
        for step in script:
            name, *arguments = step.split(":")
            try:
                await getattr(self, "step_" + name)(*arguments)
            except (asyncio.CancelledError, TimeoutError) as error:
                # Bumble cancels what waits when the link ends.
                self.check(step, False, f"{type(error).__name__}: {error}")
                break
            except att.ATT_Error as error:
                self.check(step, False, str(error))
        return self.report()

    # Discovery.

    async def step_discover(self) -> None:
        self.services = list(await self.client.discover_services())
        await self.discover_secondary_services()
        self.services.sort(key=lambda service: service.handle)
        for service in self.services:
            await self.discover_includes(service)
            await self.client.discover_characteristics((), service)
            for characteristic in service.characteristics:
                await self.client.discover_descriptors(characteristic)

    async def discover_secondary_services(self) -> None:
        """Bumble has PDUs but no procedure for these."""
        start = 1
        while start <= 0xFFFF:
            response = await self.client.send_request(
                att.ATT_Read_By_Group_Type_Request(
                    starting_handle=start,
                    ending_handle=0xFFFF,
                    attribute_group_type=gatt.GATT_SECONDARY_SERVICE_ATTRIBUTE_TYPE,
                )
            )
            if response.op_code == att.Opcode.ATT_ERROR_RESPONSE:
                self.expect_end(response, "secondary services")
                return
            for handle, end, value in response.attributes:
                self.secondary.add(handle)
                self.services.append(
                    gatt_client.ServiceProxy(
                        self.client, handle, end, UUID.from_bytes(value), False
                    )
                )
            start = response.attributes[-1][1] + 1

    async def discover_includes(self, service: gatt_client.ServiceProxy) -> None:
        """Bumble's procedure fails on an include without a UUID and drops the handles."""
        found = self.includes.setdefault(service.handle, [])
        start = service.handle
        while start <= service.end_group_handle:
            response = await self.client.send_request(
                att.ATT_Read_By_Type_Request(
                    starting_handle=start,
                    ending_handle=service.end_group_handle,
                    attribute_type=gatt.GATT_INCLUDE_ATTRIBUTE_TYPE,
                )
            )
            if response.op_code == att.Opcode.ATT_ERROR_RESPONSE:
                self.expect_end(response, "includes")
                return
            for handle, value in response.attributes:
                first, last = struct.unpack_from("<HH", value)
                uuid = value[4:] or await self.client.read_value(first)
                found.append(
                    {
                        "handle": handle,
                        "startHandle": first,
                        "endHandle": last,
                        "uuid": uuid_text(UUID.from_bytes(uuid)),
                    }
                )
            start = response.attributes[-1][0] + 1

    def expect_end(self, response, what: str) -> None:
        if response.error_code != att.ATT_ATTRIBUTE_NOT_FOUND_ERROR:
            self.check(f"end of {what}", False, f"0x{response.error_code:02X}")

    # Values.

    def characteristics(self):
        for service in self.services:
            yield from service.characteristics

    async def read(self, handle: int) -> bytes | None:
        name = f"0x{handle:04X}"
        self.errors.pop(name, None)
        try:
            value = await self.client.read_value(handle)
        except att.ATT_Error as error:
            self.errors[name] = f"0x{error.error_code:02X}"
            return None
        self.values[name] = value.hex()
        return value

    async def step_read(self) -> None:
        for characteristic in self.characteristics():
            await self.read(characteristic.handle)
            for descriptor in characteristic.descriptors:
                await self.read(descriptor.handle)

    async def step_write(self) -> None:
        for service in self.services:
            # Writes there change how the server treats its client.
            if uuid_text(service.uuid) == "1801":
                continue
            for characteristic in service.characteristics:
                await self.write(characteristic)

    async def write(self, characteristic: gatt_client.CharacteristicProxy) -> None:
        handle = characteristic.handle
        properties = characteristic.properties
        flags = gatt.Characteristic.Properties
        if not properties & (flags.WRITE | flags.WRITE_WITHOUT_RESPONSE):
            return
        name = f"write 0x{handle:04X}"
        try:
            before = await self.client.read_value(handle)
        except att.ATT_Error:
            before = None
        value = bytes(octet ^ 0xFF for octet in before) if before is not None else b"\x01"
        if not properties & flags.WRITE:
            await self.client.write_value(handle, value, with_response=False)
            self.checks.append({"check": name, "passed": True, "detail": "command"})
            return
        try:
            await self.client.write_value(handle, value, with_response=True)
        except att.ATT_Error as error:
            # Whether that was right is for the caller to say, who has the profile.
            self.checks.append(
                {"check": name, "passed": True, "detail": f"0x{error.error_code:02X}"}
            )
            return
        self.checks.append({"check": name, "passed": True, "detail": "ok"})
        if before is None:
            return
        after = await self.client.read_value(handle)
        self.check(f"read back 0x{handle:04X}", after == value, after.hex())
        await self.client.write_value(handle, before, with_response=True)
        after = await self.client.read_value(handle)
        self.check(f"put back 0x{handle:04X}", after == before, after.hex())

    # Subscriptions.

    async def step_subscribe(self, handle: str, count: str) -> None:
        number = int(handle, 16)
        characteristic = next(c for c in self.characteristics() if c.handle == number)
        values = self.received.setdefault(number, [])

        def on_value(value: bytes) -> None:
            values.append(value)
            self.arrival.set()

        await characteristic.subscribe(on_value)
        print("subscribed", handle, file=sys.stderr, flush=True)
        await self.wait_for(number, int(count), f"subscribe {handle}")

    async def step_exchange(self, first: str, value: str, second: str, count: str) -> None:
        number = int(second, 16)
        expected = len(self.received[number]) + int(count)
        await self.client.write_value(int(first, 16), bytes.fromhex(value), with_response=True)
        await self.wait_for(number, expected, f"exchange {first} {second}")

    async def step_fence(self) -> None:
        await self.client.read_value(self.services[0].handle)

    async def wait_for(self, handle: int, count: int, name: str) -> None:
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while len(self.received[handle]) < count:
            self.arrival.clear()
            left = deadline - asyncio.get_running_loop().time()
            try:
                await asyncio.wait_for(self.arrival.wait(), max(left, 0))
            except TimeoutError:
                break
        values = self.received[handle]
        self.check(name, len(values) >= count, f"{len(values)} of {count}")

    # The result.

    def report(self) -> dict:
        handles = {
            struct.unpack_from("<BH", value)[1]: handle
            for handle, value in self.client.declarations.items()
        }
        return {
            "services": [self.service_report(service, handles) for service in self.services],
            "mtu": self.client.mtu,
            "requests": self.client.requests,
            "values": self.values,
            "errors": self.errors,
            "received": {
                f"0x{handle:04X}": [value.hex() for value in values]
                for handle, values in self.received.items()
            },
            "checks": self.checks,
        }

    def service_report(self, service, handles: dict[int, int]) -> dict:
        return {
            "handle": service.handle,
            "endHandle": service.end_group_handle,
            "uuid": uuid_text(service.uuid),
            "primary": service.handle not in self.secondary,
            "includes": self.includes.get(service.handle, []),
            "characteristics": [
                {
                    "handle": handles.get(characteristic.handle, 0),
                    "valueHandle": characteristic.handle,
                    "properties": [
                        name
                        for bit, name in enumerate(PROPERTIES)
                        if characteristic.properties & (1 << bit)
                    ],
                    "uuid": uuid_text(characteristic.uuid),
                    "descriptors": [
                        {"handle": descriptor.handle, "uuid": uuid_text(descriptor.type)}
                        for descriptor in characteristic.descriptors
                    ],
                }
                for characteristic in service.characteristics
            ],
        }
