#!/usr/bin/env python3
"""Writes the databases tiny.json and large-1.json to large-3.json beside itself, and the
transcripts databases.att and databases-client.att, which discover them.

The PDUs are worked out here, from the attributes and the specification's rules, and not by the
code that they test: Vol 3, Part F, 3.4.3 and 3.4.4, and Part G, 4.4 to 4.7 and 7.3.1.

    python3 generate-databases.py [FOLDER]
"""

import json
import os
import random
import subprocess
import sys

MTU = 23
PRIMARY, SECONDARY, INCLUDE, CHARACTERISTIC = 0x2800, 0x2801, 0x2802, 0x2803
BASE = "{:08x}-0000-1000-8000-00805f9b34fb"


class Attribute:
    def __init__(self, handle, kind, value, end=None, readable=True):
        self.handle, self.kind, self.value = handle, kind, value
        self.end, self.readable = end, readable


def wire(uuid):
    """A UUID as it travels."""
    if len(uuid) == 4:
        return bytes.fromhex(uuid)[::-1]
    return bytes.fromhex(uuid.replace("-", ""))[::-1]


def le(number):
    return number.to_bytes(2, "little")


def hexadecimal(octets):
    return octets.hex()


class Database:
    def __init__(self, name):
        self.name = name
        self.services = []
        self.next = 1

    def service(self, uuid, primary=True, handle=None, end=None, includes=(), characteristics=()):
        """includes: services that exist. characteristics: (uuid, properties, value,
        descriptors), each descriptor (uuid, value)."""
        at = handle or self.next
        service = {"uuid": uuid, "primary": primary, "handle": at, "includes": [], "characteristics": []}
        at += 1
        for target in includes:
            service["includes"].append((at, target))
            at += 1
        for uuid, properties, value, descriptors in characteristics:
            item = {"uuid": uuid, "handle": at, "properties": properties, "value": value, "descriptors": []}
            at += 2
            for kind, octets in descriptors:
                item["descriptors"].append((at, kind, octets))
                at += 1
            service["characteristics"].append(item)
        service["end"] = end or at - 1
        assert service["end"] >= at - 1 and service["end"] <= 0xFFFF
        self.next = service["end"] + 1
        self.services.append(service)
        return service

    PROPERTIES = {0x02: "read", 0x04: "writeWithoutResponse", 0x08: "write", 0x10: "notify", 0x20: "indicate"}

    def profile(self):
        services = []
        for service in self.services:
            out = {"uuid": service["uuid"].upper()}
            if not service["primary"]:
                out["primary"] = False
            out["handle"] = f"0x{service['handle']:04X}"
            out["endHandle"] = f"0x{service['end']:04X}"
            if service["includes"]:
                out["includes"] = [
                    {"handle": f"0x{handle:04X}", "service": f"0x{target['handle']:04X}"}
                    for handle, target in service["includes"]
                ]
            if service["characteristics"]:
                out["characteristics"] = []
            for item in service["characteristics"]:
                entry = {"uuid": item["uuid"].upper(), "handle": f"0x{item['handle']:04X}"}
                entry["properties"] = [word for bit, word in self.PROPERTIES.items() if item["properties"] & bit]
                if item["value"] is not None:
                    entry["value"] = "hex:" + item["value"].hex()
                if item["properties"] & 0x30 and "2902" not in [d[1] for d in item["descriptors"]]:
                    entry["cccd"] = False
                if item["descriptors"]:
                    entry["descriptors"] = [
                        {"uuid": kind.upper(), "handle": f"0x{handle:04X}", "value": "hex:" + octets.hex()}
                        for handle, kind, octets in item["descriptors"]
                    ]
                out["characteristics"].append(entry)
            services.append(out)
        lines = ",\n    ".join(json.dumps(service) for service in services)
        return (
            '{ "comment": "Written by generate-databases.py.",\n'
            f'  "name": "{self.name}", "automatic": false,\n  "services": [\n    {lines} ] }}\n'
        )

    def attributes(self):
        found = []
        for service in self.services:
            kind = PRIMARY if service["primary"] else SECONDARY
            found.append(Attribute(service["handle"], le(kind), wire(service["uuid"]), service["end"]))
            for handle, target in service["includes"]:
                value = le(target["handle"]) + le(target["end"])
                if len(target["uuid"]) == 4:
                    value += wire(target["uuid"])
                found.append(Attribute(handle, le(INCLUDE), value))
            for item in service["characteristics"]:
                handle = item["handle"]
                declaration = bytes([item["properties"]]) + le(handle + 1) + wire(item["uuid"])
                found.append(Attribute(handle, le(CHARACTERISTIC), declaration))
                readable = bool(item["properties"] & 0x02)
                found.append(Attribute(handle + 1, wire(item["uuid"]), item["value"] or b"", None, readable))
                for at, kind, octets in item["descriptors"]:
                    found.append(Attribute(at, wire(kind), octets))
        handles = [attribute.handle for attribute in found]
        assert handles == sorted(set(handles))
        return found

    def hash(self):
        """Vol 3, Part G, 7.3.1, least significant octet first."""
        text = b""
        for a in self.attributes():
            if len(a.kind) != 2:
                continue
            kind = int.from_bytes(a.kind, "little")
            if kind in (0x2800, 0x2801, 0x2802, 0x2803, 0x2900):
                text += le(a.handle) + a.kind + a.value
            elif kind in (0x2901, 0x2902, 0x2903, 0x2904, 0x2905):
                text += le(a.handle) + a.kind
        return cmac(bytes(16), text)[::-1]


def cmac(key, text):
    """AES-CMAC (RFC 4493) by the program openssl."""
    done = subprocess.run(
        ["openssl", "mac", "-cipher", "AES-128-CBC", "-macopt", "hexkey:" + key.hex(), "CMAC"],
        input=text, capture_output=True, check=True)
    return bytes.fromhex(done.stdout.decode().strip())


# MARK: A server, as the specification has it


class Server:
    def __init__(self, database):
        self.all = database.attributes()

    def within(self, start, end):
        return [a for a in self.all if start <= a.handle <= end]

    @staticmethod
    def error(opcode, handle, code):
        return bytes([0x01, opcode]) + le(handle) + bytes([code])

    def answer(self, request):
        opcode = request[0]
        if opcode == 0x0A:
            handle = int.from_bytes(request[1:3], "little")
            value = next(a.value for a in self.all if a.handle == handle)
            return bytes([0x0B]) + value[: MTU - 1]
        start = int.from_bytes(request[1:3], "little")
        end = int.from_bytes(request[3:5], "little")
        return {0x04: self.find_information, 0x06: self.find_by_type_value, 0x08: self.read_by_type,
                0x10: self.read_by_group_type}[opcode](start, end, request[5:])

    def find_information(self, start, end, _):
        found = self.within(start, end)
        if not found:
            return self.error(0x04, start, 0x0A)
        size = len(found[0].kind)
        out = bytes([0x05, 1 if size == 2 else 2])
        for a in found:
            if len(a.kind) != size or len(out) + 2 + size > MTU:
                break
            out += le(a.handle) + a.kind
        return out

    def find_by_type_value(self, start, end, rest):
        kind, value = rest[:2], rest[2:]
        out = bytes([0x07])
        for a in self.within(start, end):
            if a.kind == kind and a.value == value and len(out) + 4 <= MTU:
                out += le(a.handle) + le(a.end)
        return out if len(out) > 1 else self.error(0x06, start, 0x0A)

    def read_by_type(self, start, end, kind):
        out, size = b"", None
        for a in self.within(start, end):
            if a.kind != kind:
                continue
            if not a.readable:
                if size is None:
                    return self.error(0x08, a.handle, 0x02)
                break
            value = a.value[: min(MTU - 4, 253)]
            if size is None:
                size = len(value)
                out = bytes([0x09, size + 2])
            if len(value) != size or len(out) + 2 + size > MTU:
                break
            out += le(a.handle) + value
        return out or self.error(0x08, start, 0x0A)

    def read_by_group_type(self, start, end, kind):
        out, size = b"", None
        for a in self.within(start, end):
            if a.kind != kind:
                continue
            value = a.value[: min(MTU - 6, 251)]
            if size is None:
                size = len(value)
                out = bytes([0x11, size + 4])
            if len(value) != size or len(out) + 4 + size > MTU:
                break
            out += le(a.handle) + le(a.end) + value
        return out or self.error(0x10, start, 0x0A)


# MARK: A client, likewise


class Client:
    """Runs one procedure; keeps the lines and the result."""

    def __init__(self, server):
        self.server = server
        self.lines = []

    def ask(self, request):
        response = self.server.answer(request)
        self.lines += ["> " + hexadecimal(request), "< " + hexadecimal(response)]
        assert len(response) <= MTU
        return response

    def groups(self, kind):
        found, start = [], 1
        while True:
            response = self.ask(bytes([0x10]) + le(start) + le(0xFFFF) + le(kind))
            if response[0] == 0x01:
                break
            size = response[1]
            for at in range(2, len(response), size):
                entry = response[at : at + size]
                found.append((number(entry), number(entry[2:]), text(entry[4:])))
            start = found[-1][1] + 1
            if start > 0xFFFF:
                break
        return listed(f"0x{h:04X}-0x{e:04X}={u}" for h, e, u in found)

    def services_by_uuid(self, uuid):
        found, start = [], 1
        while True:
            response = self.ask(bytes([0x06]) + le(start) + le(0xFFFF) + le(PRIMARY) + wire(uuid))
            if response[0] == 0x01:
                break
            for at in range(1, len(response), 4):
                found.append((number(response[at:]), number(response[at + 2 :])))
            start = found[-1][1] + 1
            if start > 0xFFFF:
                break
        return listed(f"0x{h:04X}-0x{e:04X}={shown(uuid)}" for h, e in found)

    def by_type(self, start, end, kind):
        found = []
        while start <= end:
            response = self.ask(bytes([0x08]) + le(start) + le(end) + kind)
            if response[0] == 0x01:
                break
            size = response[1]
            for at in range(2, len(response), size):
                found.append((number(response[at:]), response[at + 2 : at + size]))
            start = found[-1][0] + 1
        return found

    def includes(self, start, end):
        found = self.by_type(start, end, le(INCLUDE))
        words = []
        for handle, value in found:
            uuid = value[4:]
            if not uuid:
                uuid = self.ask(bytes([0x0A]) + value[:2])[1:]
            words.append(f"0x{handle:04X}=0x{number(value):04X}-0x{number(value[2:]):04X}:{text(uuid)}")
        return listed(words)

    def characteristics(self, start, end, uuid=None):
        words = []
        for handle, value in self.by_type(start, end, le(CHARACTERISTIC)):
            if uuid is None or value[3:] == wire(uuid):
                words.append(f"0x{handle:04X}/0x{number(value[1:]):04X}={text(value[3:])}:{value[0]:02x}")
        return listed(words)

    def descriptors(self, start, end):
        words = []
        while start <= end:
            response = self.ask(bytes([0x04]) + le(start) + le(end))
            if response[0] == 0x01:
                break
            size = 2 if response[1] == 1 else 16
            for at in range(2, len(response), 2 + size):
                handle = number(response[at:])
                words.append(f"0x{handle:04X}={text(response[at + 2 : at + 2 + size])}")
            start = handle + 1
        return listed(words)

    def read_by_uuid(self, uuid):
        found = self.by_type(1, 0xFFFF, wire(uuid))
        return listed(f"0x{h:04X}={v.hex()}" for h, v in found)


def number(octets):
    return int.from_bytes(octets[:2], "little")


def text(uuid):
    if len(uuid) == 2:
        return uuid[::-1].hex().upper()
    digits = uuid[::-1].hex()
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])


def shown(uuid):
    return uuid.upper() if len(uuid) == 4 else uuid


def listed(words):
    return " ".join(words) or "none"


# MARK: The databases


def tiny():
    d = Database("Tiny")
    d.service("1800", characteristics=[("2A00", 0x02, b"Tiny", []), ("2A01", 0x02, b"\0\0", [])])
    d.service("1801", characteristics=[
        ("2A05", 0x20, b"", [("2902", b"\0\0")]), ("2B29", 0x0A, None, []), ("2B2A", 0x02, None, [])])
    d.service("180D", characteristics=[
        ("2A37", 0x10, b"\0\x48", [("2902", b"\0\0")]), ("2A38", 0x02, b"\1", [("2901", b"Where")])])
    return d


def unknown(generator):
    """A UUID of 128 bits that nobody has assigned."""
    digits = generator.randbytes(16).hex()
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])


def values(generator, count, long):
    out = []
    for _ in range(count):
        uuid = unknown(generator) if generator.random() < long else f"{generator.randrange(0xB000, 0xB100):04X}"
        out.append((uuid, 0x02, generator.randbytes(generator.randrange(1, 20)),
                    [("2901", generator.randbytes(generator.randrange(1, 20)))] * generator.randrange(2)))
    return out


def large(index):
    """1: UUIDs of 128 bits early. 2: late. 3: at random."""
    g = random.Random(index)
    d = Database(f"Large {index}")
    d.service("1800", characteristics=[("2A00", 0x02, b"Large", []), ("2A01", 0x02, b"\0\0", [])])
    first = {1: 1.0, 2: 0.0, 3: 0.5}[index]
    last = {1: 0.0, 2: 1.0, 3: 0.5}[index]

    def uuid(long):
        return unknown(g) if g.random() < long else f"{g.randrange(0xA000, 0xA100):04X}"

    early = [d.service(uuid(first), characteristics=values(g, 3, first)) for _ in range(4)]
    hidden = d.service("A1A1", primary=False, characteristics=values(g, 2, 0.5))
    d.next += 0x10
    # Includes that point backwards, of both kinds.
    d.service("A2A2", includes=[early[0], hidden, early[2]], characteristics=values(g, 2, 0.5))
    # More of one UUID than one response holds, with gaps and others in between.
    for i in range(7):
        d.service("A3A3", characteristics=[("B1B1", 0x02, bytes([i, i, i, i]), [])])
        d.next += 3 * i
        if i == 3:
            d.service(unknown(g), characteristics=values(g, 1, 1.0))
    d.next = 0x1000 * index
    for _ in range(4):
        d.service(uuid(last), characteristics=values(g, 3, last))
    # Every kind of descriptor behind one value, of both sizes.
    d.service("A4A4", handle=0x8000, end=0x80FF, characteristics=[
        ("B4B4", 0x02, b"\1", [("2901", b"a"), (unknown(g), b"b"), (unknown(g), b"c"), ("2904", bytes(7)),
                               ("B5B5", b"d"), ("B5B6", b"e"), ("B5B7", b"f"), ("B5B8", b"g"), ("B5B9", b"h")])])
    d.service("A3A3", handle=0xFFF0, end=0xFFFC)
    d.service(unknown(g) if index == 2 else "A5A5", handle=0xFFFD, characteristics=[("B6B6", 0x02, b"\xff", [])])
    return d


def cases(name, database):
    """(conformance case, title, procedure, how to run it)."""
    services = database.services
    kinds = {service["uuid"]: None for service in services if service["primary"]}
    long = next((uuid for uuid in kinds if len(uuid) > 4), None)
    yield "GAD/BV-01-C", "all primary services", "primary-services", lambda c: c.groups(PRIMARY)
    yield "secondary", "all secondary services", "secondary-services", lambda c: c.groups(SECONDARY)
    short = "A3A3" if name != "tiny" else "180D"
    for uuid, word in [(short, "16"), (long, "128"), ("A999", "none")]:
        if uuid:
            yield (f"GAD/BV-02-C/{word}", "primary services by UUID", f"primary-services-by-uuid {shown(uuid)}",
                   lambda c, uuid=uuid: c.services_by_uuid(uuid))
    including = next((s for s in services if s["includes"]), services[-1])
    span = f"0x{including['handle']:04X}-0x{including['end']:04X}"
    yield ("GAD/BV-03-C", "included services", f"includes {span}",
           lambda c: c.includes(including["handle"], including["end"]))
    for number, service in enumerate(services):
        if name != "tiny" and number not in (1, 5, len(services) - 4, len(services) - 1):
            continue
        span = f"0x{service['handle']:04X}-0x{service['end']:04X}"
        yield (f"GAD/BV-04-C/0x{service['handle']:04X}", "characteristics of a service", f"characteristics {span}",
               lambda c, s=service: c.characteristics(s["handle"], s["end"]))
    value = "B1B1" if name != "tiny" else "2A38"
    yield ("GAD/BV-05-C", "characteristics by UUID", f"characteristics-by-uuid {value} 0x0001-0xFFFF",
           lambda c: c.characteristics(1, 0xFFFF, value))
    for service in services:
        for item in service["characteristics"]:
            if item["descriptors"] and (name == "tiny" or item["uuid"] == "B4B4"):
                start = item["handle"] + 2
                yield (f"GAD/BV-06-C/0x{start:04X}", "descriptors", f"descriptors 0x{start:04X}-0x{service['end']:04X}",
                       lambda c, a=start, b=service["end"]: c.descriptors(a, b))
    yield ("GAR/BV-03-C", "values by UUID", f"read-by-uuid {value}", lambda c: c.read_by_uuid(value))


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    databases = {"tiny": tiny(), "large-1": large(1), "large-2": large(2), "large-3": large(3)}
    note = "written by generate-databases.py.\n"
    server = ["## Discovery of each database; " + note]
    client = ["## For clients. Discovery of each database; " + note]
    for name, database in databases.items():
        with open(os.path.join(folder, name + ".json"), "w") as file:
            file.write(database.profile())
        for case, title, procedure, run in cases(name, database):
            played = Client(Server(database))
            result = run(played)
            lines = "\n".join(played.lines)

            def heading(role):
                known = "/" in case
                return f"GATT/{role}/{case}/{name}" if known else f"ATT/DISCOVERY/{role}/{case}/{name}"

            server.append(f"# {heading('SR')}  {title}\nprofile {name}.json\n{lines}\n")
            client.append(f"# {heading('CL')}  {title}\nprocedure {procedure}\n{lines}\nresult {result}\n")
    # The hash before and after a change.
    before = tiny()
    after = tiny()
    after.service("A500", handle=0x00B0, characteristics=[("B601", 0x02, b"\1", [])])
    handle = next(a.handle for a in before.attributes() if a.kind == le(0x2B2A))
    lines = []
    for database in (before, after):
        answer = bytes([0x09, 18]) + le(handle) + database.hash()
        lines += ["> 08 0100 ffff 2a2b", "< " + hexadecimal(answer)]
    lines.insert(2, "database add more.json")
    server.append(
        "# GATT/SR/GAS/BV-02-C  the Database Hash follows the database\nprofile tiny.json\n" + "\n".join(lines) + "\n")
    with open(os.path.join(folder, "databases.att"), "w") as file:
        file.write("\n".join(server))
    with open(os.path.join(folder, "databases-client.att"), "w") as file:
        file.write("\n".join(client))


main()
