"""Reads a profile file and lays it out, for the interoperability tests.

Written from the description of the format alone, apart from the Swift reader, so that the two
check each other. It trusts the file: mistakes are the Swift reader's business.
"""

import base64
import dataclasses
import json
from dataclasses import dataclass, field

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
EXTENDED = {"reliableWrite": 1, "writableAuxiliaries": 2}
BASE = "-0000-1000-8000-00805f9b34fb"


def canonical_uuid(text: str) -> str:
    """The UUID in lowercase, in its 16-bit form (`180d`) if it has one."""
    text = text.lower().removeprefix("0x")
    if len(text) == 32:
        text = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    if len(text) == 8:
        text += BASE
    if len(text) == 36 and text.startswith("0000") and text.endswith(BASE):
        text = text[4:8]
    return text


def value_bytes(value) -> bytes:
    if isinstance(value, dict):
        return bytes.fromhex(value["repeat"]) * value["count"]
    form, _, rest = value.partition(":")
    if form == "hex":
        return bytes.fromhex(rest)
    if form == "text":
        return rest.encode()
    return base64.b64decode(rest, validate=True)


@dataclass
class Attribute:
    handle: int
    uuid: str
    # service, include, characteristic, value, descriptor or configuration
    kind: str
    value: bytes = b""
    permissions: frozenset = frozenset()
    max_length: int = 512
    fixed: bool = False
    behaviour: dict = field(default_factory=dict)
    # The value's attribute of a declaration; the declaration's service of an include.
    target: object = None

    def allows(self, access: str) -> bool:
        return any(word.startswith(access) for word in self.permissions)

    def is_open(self, access: str) -> bool:
        """Whether access needs neither encryption nor authorization."""
        return self.allows(access) and not any(
            word.startswith(access) and word != access for word in self.permissions
        )


@dataclass
class Characteristic:
    handle: int
    uuid: str
    properties: list
    value: Attribute
    descriptors: list = field(default_factory=list)

    @property
    def property_bits(self) -> int:
        return sum(1 << PROPERTIES.index(name) for name in self.properties)

    @property
    def configuration(self):
        return next((d for d in self.descriptors if d.kind == "configuration"), None)


@dataclass
class Include:
    handle: int
    target: object
    service: object = None


@dataclass
class Service:
    handle: int
    uuid: str
    primary: bool
    end: int = 0
    automatic: bool = False
    includes: list = field(default_factory=list)
    characteristics: list = field(default_factory=list)


@dataclass
class Layout:
    name: str
    services: list

    def characteristics(self):
        for service in self.services:
            yield from service.characteristics

    def attributes(self):
        """The attributes with values: characteristic values and descriptors."""
        for characteristic in self.characteristics():
            yield characteristic.value
            yield from characteristic.descriptors

    def find(self, target: str, among: list):
        """The service or characteristic that a target names."""
        if target.lower().startswith("0x") and len(target) <= 6:
            handle = int(target, 16)
            return next(
                item
                for item in among
                if item.handle == handle
                or isinstance(item, Characteristic)
                and item.value.handle == handle
            )
        (item,) = (item for item in among if item.uuid == canonical_uuid(target))
        return item

    def discovery(self) -> dict:
        """The output of `atto discover --json` for this database."""
        return {
            "services": [
                {
                    "handle": service.handle,
                    "endHandle": service.end,
                    "uuid": service.uuid,
                    "primary": service.primary,
                    "includes": [
                        {
                            "handle": include.handle,
                            "startHandle": include.service.handle,
                            "endHandle": include.service.end,
                            "uuid": include.service.uuid,
                        }
                        for include in service.includes
                    ],
                    "characteristics": [
                        {
                            "handle": characteristic.handle,
                            "valueHandle": characteristic.value.handle,
                            "properties": characteristic.properties,
                            "uuid": characteristic.uuid,
                            "descriptors": [
                                {"handle": descriptor.handle, "uuid": descriptor.uuid}
                                for descriptor in characteristic.descriptors
                            ],
                        }
                        for characteristic in service.characteristics
                    ],
                }
                for service in self.services
            ]
        }


class Placer:
    """Assigns handles."""

    def __init__(self):
        self.next = 1

    def take(self, stated) -> int:
        handle = int(stated, 16) if stated else self.next
        assert handle >= self.next, f"0x{handle:04X} is taken or out of order"
        self.next = handle + 1
        return handle

    def attribute(self, item: dict, kind: str, permissions: set) -> Attribute:
        value = value_bytes(item.get("value", "hex:"))
        fixed = item.get("fixedLength", False)
        return Attribute(
            handle=0,
            uuid=canonical_uuid(item["uuid"]),
            kind=kind,
            value=value,
            permissions=frozenset(item.get("permissions", permissions)),
            max_length=item.get("maxLength", len(value) if fixed else 512),
            fixed=fixed,
            behaviour=item.get("behaviour", {}),
        )

    def service(self, item: dict, automatic: bool = False) -> Service:
        service = Service(
            handle=self.take(item.get("handle")),
            uuid=canonical_uuid(item["uuid"]),
            primary=item.get("primary", True),
            automatic=automatic,
        )
        for include in item.get("includes", []):
            if isinstance(include, str):
                include = {"service": include}
            handle = self.take(include.get("handle"))
            service.includes.append(Include(handle, include["service"]))
        for characteristic in item.get("characteristics", []):
            service.characteristics.append(self.characteristic(characteristic))
        service.end = self.next - 1
        if "endHandle" in item:
            service.end = int(item["endHandle"], 16)
        self.next = service.end + 1
        return service

    def characteristic(self, item: dict) -> Characteristic:
        words = item.get("properties", [])
        extended = sum(EXTENDED[word] for word in words if word in EXTENDED)
        names = set(words) - set(EXTENDED)
        if extended:
            names.add("extendedProperties")
        permissions = set()
        if "read" in names:
            permissions.add("read")
        if names & {"write", "writeWithoutResponse", "authenticatedSignedWrites"}:
            permissions.add("write")
        handle = self.take(item.get("handle"))
        value = self.attribute(item, "value", permissions)
        value.handle = self.take(item.get("valueHandle"))
        characteristic = Characteristic(
            handle, value.uuid, [name for name in PROPERTIES if name in names], value
        )
        listed = item.get("descriptors", [])
        types = {canonical_uuid(descriptor["uuid"]) for descriptor in listed}
        added = []
        if names & {"notify", "indicate"} and item.get("cccd", True) and "2902" not in types:
            added.append({"uuid": "2902"})
        if "extendedProperties" in names and "2900" not in types:
            bits = extended.to_bytes(2, "little").hex()
            added.append({"uuid": "2900", "value": f"hex:{bits}", "fixedLength": True})
        # Added ones come first, unless a stated handle leaves no room for them there.
        room = next(
            (
                int(descriptor["handle"], 16) - self.next - index
                for index, descriptor in enumerate(listed)
                if "handle" in descriptor
            ),
            len(added),
        )
        ordered = added + listed if room >= len(added) else listed + added
        for descriptor in ordered:
            characteristic.descriptors.append(self.descriptor(descriptor, extended))
        return characteristic

    def descriptor(self, item: dict, extended: int) -> Attribute:
        uuid = canonical_uuid(item["uuid"])
        writable = uuid == "2902" or uuid == "2901" and extended & EXTENDED["writableAuxiliaries"]
        attribute = self.attribute(
            item,
            "configuration" if uuid == "2902" else "descriptor",
            {"read", "write"} if writable else {"read"},
        )
        if uuid == "2902":
            attribute = dataclasses.replace(attribute, value=bytes(2), max_length=2, fixed=True)
        attribute.handle = self.take(item.get("handle"))
        return attribute


def automatic_services(profile: dict) -> list:
    listed = {canonical_uuid(service["uuid"]) for service in profile["services"]}
    if not profile.get("automatic", True):
        return []
    appearance = int(profile.get("advertising", {}).get("appearance", "0x0000"), 16)
    access = {
        "uuid": "1800",
        "characteristics": [
            {"uuid": "2A00", "properties": ["read"], "value": "text:" + profile.get("name", "")},
            {
                "uuid": "2A01",
                "properties": ["read"],
                "value": "hex:" + appearance.to_bytes(2, "little").hex(),
            },
        ],
    }
    attribute = {
        "uuid": "1801",
        "characteristics": [
            {"uuid": "2A05", "properties": ["indicate"]},
            {"uuid": "2B29", "properties": ["read", "write"], "value": "hex:00"},
            {"uuid": "2B2A", "properties": ["read"], "value": {"repeat": "00", "count": 16}},
            {"uuid": "2B3A", "properties": ["read"], "value": "hex:00"},
        ],
    }
    return [service for service in (access, attribute) if service["uuid"] not in listed]


def stated_handles(profile: dict):
    for service in profile["services"]:
        items = [service]
        items += [item for item in service.get("includes", []) if isinstance(item, dict)]
        for characteristic in service.get("characteristics", []):
            items += [characteristic] + characteristic.get("descriptors", [])
        for item in items:
            for key in ("handle", "valueHandle"):
                if key in item:
                    yield int(item[key], 16)


def load(path: str) -> Layout:
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    automatic = automatic_services(profile)
    size = sum({"1800": 5, "1801": 10}[service["uuid"]] for service in automatic)
    placer = Placer()
    first = not any(handle <= size for handle in stated_handles(profile))
    services = []
    if first:
        services += [placer.service(service, automatic=True) for service in automatic]
    services += [placer.service(service) for service in profile["services"]]
    if not first:
        services += [placer.service(service, automatic=True) for service in automatic]
    layout = Layout(profile.get("name", ""), services)
    for service in services:
        for include in service.includes:
            include.service = layout.find(include.target, services)
    return layout
