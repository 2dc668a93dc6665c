"""A GATT server that follows the rules, one rule to a method or constant, so that a fault replaces one of
them. It is written from the specification and shares no code with Atto."""

import asyncio
import contextlib

import hashing

PRIMARY, SECONDARY, INCLUDE, CHARACTERISTIC = 0x2800, 0x2801, 0x2802, 0x2803
EXTENDED, DESCRIPTION, CONFIGURATION, FORMAT = 0x2900, 0x2901, 0x2902, 0x2904
READ, COMMAND, WRITE, NOTIFY, INDICATE = 0x02, 0x04, 0x08, 0x10, 0x20
BASE = bytes.fromhex("fb349b5f8000008000100000")
LONG = bytes.fromhex("ffeeddccbbaa99887766554433221100")
# How often a subscribed value is sent, in seconds.
PERIOD = 0.04


def u16(number):
    return number.to_bytes(2, "little")


def number(octets):
    return int.from_bytes(octets[:2], "little")


class Refused(Exception):
    def __init__(self, code, handle):
        self.code, self.handle = code, handle


class Attribute:
    """`read` and `write` are the error for it, 0 where it is allowed."""

    def __init__(self, handle, kind, value=b"", read=0, write=0x03, most=None, fixed=False, end=None):
        self.handle, self.kind, self.value = handle, kind, value
        self.read, self.write, self.fixed = read, write, fixed
        self.most = len(value) if fixed else most if most is not None else 512
        self.end = end or handle


def database():
    """The attributes by handle."""
    found = {}

    def add(handle, kind, value=b"", **more):
        kind = u16(kind) if isinstance(kind, int) else kind
        found[handle] = Attribute(handle, kind, value, **more)

    def service(start, end, uuid, kind=PRIMARY):
        add(start, kind, uuid if isinstance(uuid, bytes) else u16(uuid), end=end)

    def characteristic(handle, uuid, properties, value=b"", **more):
        kind = uuid if isinstance(uuid, bytes) else u16(uuid)
        add(handle, CHARACTERISTIC, bytes([properties]) + u16(handle + 1) + kind)
        more.setdefault("read", 0 if properties & READ else 0x02)
        more.setdefault("write", 0 if properties & (WRITE | COMMAND) else 0x03)
        add(handle + 1, kind, value, **more)
        if properties & (NOTIFY | INDICATE):
            add(handle + 2, CONFIGURATION, b"\0\0", write=0, fixed=True)

    service(0x0001, 0x0005, 0x1800)
    characteristic(0x0002, 0x2A00, READ, b"Mutant")
    characteristic(0x0004, 0x2A01, READ, b"\0\0")
    service(0x0006, 0x000D, 0x1801)
    characteristic(0x0007, 0x2A05, INDICATE, b"\x01\0\xff\xff")
    characteristic(0x000A, 0x2B29, READ | WRITE, b"\0")
    characteristic(0x000C, 0x2B2A, READ, bytes(16))
    service(0x0010, 0x003F, 0xA100)
    add(0x0011, INCLUDE, u16(0x0040) + u16(0x004F) + u16(0xA200))
    characteristic(0x0012, 0xB001, READ | WRITE | COMMAND, b"\1\2\3", most=100)
    add(0x0014, DESCRIPTION, b"Name")
    characteristic(0x0018, 0xB002, READ | WRITE, bytes(range(50)))
    characteristic(0x001B, 0xB003, READ | WRITE, b"\1\2\3\4\5", fixed=True)
    characteristic(0x001D, LONG, READ, b"\x0a\x0b")
    characteristic(0x0020, 0xB005, READ | NOTIFY, b"\x05" * 30)
    characteristic(0x0023, 0xB006, READ | INDICATE, b"\x06")
    characteristic(0x0026, 0xB007, WRITE, b"")
    characteristic(0x0028, 0xB001, READ | 0x80, b"\4\5\6")
    add(0x002A, EXTENDED, b"\1\0")
    add(0x002B, FORMAT, bytes.fromhex("04000127010000"))
    characteristic(0x002C, 0xB009, READ, bytes(range(256)) + bytes(44))
    service(0x0040, 0x004F, 0xA200, SECONDARY)
    characteristic(0x0041, 0xB010, READ, b"\x10")
    service(0x0050, 0x005F, LONG)
    add(0x0051, INCLUDE, u16(0x0010) + u16(0x003F) + u16(0xA100))
    characteristic(0x0052, 0xB011, READ, b"\x11" * 22)
    service(0x0060, 0x0080, 0xA300)
    add(0x0061, INCLUDE, u16(0x0050) + u16(0x005F))
    characteristic(0x0062, 0xB101, READ | WRITE, b"\3", read=0x0F, write=0x0F)
    characteristic(0x0064, 0xB102, WRITE, b"\1")
    characteristic(0x0066, 0xB001, READ, b"\7", read=0x05)
    service(0x00A0, 0x00A0, 0xA400)
    service(0x00A1, 0x00A1, 0xA400)
    service(0xFFFD, 0xFFFF, 0xA400)
    characteristic(0xFFFE, 0xB501, READ, b"\xff")
    return found


class Link:
    """A client's connection."""

    def __init__(self, send):
        self.send = send
        self.mtu = 23
        self.queue = []
        self.configurations = {}
        self.features = b"\0"
        self.is_confirming = False


# The length of each request: a number, or a check.
FORMS = {
    0x02: 3, 0x04: 5, 0x06: lambda n: n >= 7, 0x08: lambda n: n in (7, 21), 0x0A: 3, 0x0C: 5,
    0x0E: lambda n: n >= 5 and n % 2 == 1, 0x10: lambda n: n in (7, 21), 0x12: lambda n: n >= 3,
    0x16: lambda n: n >= 5, 0x18: 2, 0x20: lambda n: n >= 5 and n % 2 == 1,
}


class Server:
    MTU = 517
    QUEUE = 64
    UNSUPPORTED = ()

    def __init__(self):
        self.attributes = self.database()
        self.links = []
        self.attributes[0x000D].value = self.hash(hashing.database_hash(self.attributes))

    def hash(self, right):
        return right

    def database(self):
        return database()

    # MARK: PDUs

    def receive(self, link, pdu):
        """The answers to a PDU; None ends the link."""
        opcode = pdu[0]
        if opcode == 0x1E:
            return self.confirmed(link)
        if opcode & 0x40:
            return self.command(link, pdu)
        if opcode in range(0x01, 0x24, 2) or opcode in (0x1B, 0x1D, 0x23):
            return self.unasked(link, pdu)
        if opcode not in FORMS or opcode in self.UNSUPPORTED:
            return self.unknown(link, pdu)
        if not self.is_formed(link, pdu):
            return self.malformed(link, pdu)
        try:
            return self.answers(link, pdu, self.request(link, pdu))
        except Refused as refused:
            return self.answers(link, pdu, self.error(pdu, refused.handle, refused.code))

    def answers(self, link, pdu, answer):
        return [answer]

    def unknown(self, link, pdu):
        return [self.error(pdu, 0, 0x06)]

    def malformed(self, link, pdu):
        return [self.error(pdu, 0, 0x04)]

    def unasked(self, link, pdu):
        return []

    def error(self, pdu, handle, code):
        return bytes([0x01, pdu[0]]) + u16(handle) + bytes([code])

    def is_formed(self, link, pdu):
        form = FORMS[pdu[0]]
        return self.fits(link, pdu) and (form(len(pdu)) if callable(form) else len(pdu) == form)

    def fits(self, link, pdu):
        return len(pdu) <= link.mtu

    def request(self, link, pdu):
        name = {0x02: "exchange", 0x04: "find_information", 0x06: "find_by_type_value",
                0x08: "read_by_type", 0x0A: "read", 0x0C: "read_blob", 0x0E: "read_multiple",
                0x10: "read_by_group_type", 0x12: "write", 0x16: "prepare", 0x18: "execute",
                0x20: "read_multiple_variable"}[pdu[0]]
        return getattr(self, name)(link, pdu)

    # MARK: ATT_MTU

    def exchange(self, link, pdu):
        self.agree(link, number(pdu[1:]))
        return b"\x03" + u16(self.offer(link))

    def offer(self, link):
        return self.MTU

    def agree(self, link, theirs):
        link.mtu = max(23, min(theirs, self.MTU))

    # MARK: Searches

    def check_range(self, pdu):
        start, end = number(pdu[1:]), number(pdu[3:])
        if start == 0 or start > end:
            raise Refused(0x01, start)

    def in_range(self, handle, start, end):
        return start <= handle <= end

    def found(self, pdu, fits):
        """The attributes in the range of a request, by handle."""
        self.check_range(pdu)
        start, end = number(pdu[1:]), number(pdu[3:])
        found = [one for one in self.ordered() if self.in_range(one.handle, start, end) and fits(one)]
        if not found:
            raise Refused(self.not_found(pdu), self.not_found_handle(pdu))
        return found

    def ordered(self):
        return [self.attributes[handle] for handle in sorted(self.attributes)]

    def not_found(self, pdu):
        return 0x0A

    def not_found_handle(self, pdu):
        return number(pdu[1:])

    def same(self, one, other):
        """Whether two UUIDs are equal."""
        return self.whole(one) == self.whole(other)

    def whole(self, uuid):
        return BASE + uuid + b"\0\0" if len(uuid) == 2 else uuid

    def group_end(self, one):
        return one.end

    def packed(self, entries, room, count=None):
        """The first entries of one length that fit."""
        body = b""
        for entry in entries:
            if len(entry) != len(entries[0]) or len(body) + len(entry) > room:
                break
            body += entry
        return body

    def find_information(self, link, pdu):
        entries = [u16(one.handle) + one.kind for one in self.found(pdu, lambda one: True)]
        return bytes([0x05, self.format(entries[0])]) + self.packed(entries, link.mtu - 2)

    def format(self, entry):
        return 1 if len(entry) == 4 else 2

    def find_by_type_value(self, link, pdu):
        found = self.found(pdu, lambda one: self.matches(link, one, pdu[5:7], pdu[7:]))
        return b"\x07" + self.packed(
            [u16(one.handle) + u16(self.found_end(one)) for one in found], link.mtu - 1)

    def found_end(self, one):
        return self.group_end(one)

    def matches(self, link, one, kind, value):
        return self.same(one.kind, kind) and not one.read and self.is_value(one, value)

    def is_value(self, one, value):
        return one.value == value

    def read_by_type(self, link, pdu):
        entries = []
        for one in self.found(pdu, lambda one: self.same(one.kind, pdu[5:])):
            try:
                self.check_read_by_type(link, one)
            except Refused:
                if not entries:
                    raise
                break
            entries.append(u16(one.handle) + self.value(link, one)[:min(link.mtu - 4, 253)])
        return bytes([0x09, len(entries[0])]) + self.packed(entries, link.mtu - 2)

    def check_read_by_type(self, link, one):
        self.check_read(link, one)

    def read_by_group_type(self, link, pdu):
        self.check_range(pdu)
        if not self.is_group(pdu[5:]):
            raise Refused(0x10, number(pdu[1:]))
        entries = [u16(one.handle) + u16(self.group_end(one)) + one.value
                   for one in self.found(pdu, lambda one: self.same(one.kind, pdu[5:]))]
        return bytes([0x11, len(entries[0])]) + self.packed(entries, link.mtu - 2)

    def is_group(self, kind):
        return self.same(kind, u16(PRIMARY)) or self.same(kind, u16(SECONDARY))

    # MARK: Reading

    def attribute(self, handle):
        if handle not in self.attributes:
            raise Refused(0x01, handle)
        return self.attributes[handle]

    def check_read(self, link, one):
        if one.read:
            raise Refused(one.read, one.handle)

    def value(self, link, one):
        if one.kind == u16(CONFIGURATION):
            return self.configuration(link, one.handle)
        if one.kind == u16(0x2B29):
            return link.features
        return one.value

    def configuration(self, link, handle):
        return link.configurations.get(handle, b"\0\0")

    def readable(self, link, handle):
        one = self.attribute(handle)
        self.check_read(link, one)
        return one

    def read(self, link, pdu):
        value = self.value(link, self.readable(link, number(pdu[1:])))
        return b"\x0b" + value[:self.read_limit(link)]

    def read_limit(self, link):
        return link.mtu - 1

    def read_blob(self, link, pdu):
        value = self.value(link, self.readable_part(link, number(pdu[1:])))
        offset = self.blob_offset(pdu)
        self.check_offset(pdu, offset, value)
        return b"\x0d" + value[offset:][:self.blob_limit(link)]

    def readable_part(self, link, handle):
        return self.readable(link, handle)

    def blob_offset(self, pdu):
        return number(pdu[3:])

    def check_offset(self, pdu, offset, value):
        if offset > len(value):
            raise Refused(0x07, number(pdu[1:]))

    def blob_limit(self, link):
        return link.mtu - 1

    def handles(self, pdu):
        return [number(pdu[at:]) for at in range(1, len(pdu), 2)]

    def together(self, link, pdu):
        return [self.value(link, self.readable(link, handle)) for handle in self.handles(pdu)]

    def read_multiple(self, link, pdu):
        return (b"\x0f" + b"".join(self.together(link, pdu)))[:link.mtu]

    def read_multiple_variable(self, link, pdu):
        body = b"\x21"
        for value in self.together(link, pdu):
            if len(body) + 2 > link.mtu:
                break
            body += u16(len(value)) + value
        return body[:link.mtu]

    # MARK: Writing

    def check_write(self, link, one):
        if one.write:
            raise Refused(one.write, one.handle)

    def writable(self, link, handle):
        one = self.attribute(handle)
        self.check_write(link, one)
        return one

    def write(self, link, pdu):
        one = self.writable(link, number(pdu[1:]))
        self.store(link, one, 0, self.written(pdu))
        return b"\x13"

    def written(self, pdu):
        return pdu[3:]

    def check_value(self, link, one, offset, value):
        if offset + len(value) > one.most:
            raise Refused(0x0D, one.handle)
        if one.kind == u16(0x2B29) and any(old & ~new for old, new in zip(link.features, value)):
            raise Refused(0x13, one.handle)

    def store(self, link, one, offset, value):
        self.check_value(link, one, offset, value)
        self.put(link, one, offset, value)

    def put(self, link, one, offset, value):
        old = self.value(link, one)
        new = old[:offset] + value + (old[offset + len(value):] if one.fixed else b"")
        if one.kind == u16(CONFIGURATION):
            self.configure(link, one.handle, new)
        elif one.kind == u16(0x2B29):
            link.features = new
        else:
            one.value = new

    def configure(self, link, handle, value):
        link.configurations[handle] = value

    def command(self, link, pdu):
        if pdu[0] == 0x52 and len(pdu) >= 3 and self.fits(link, pdu):
            with contextlib.suppress(Refused):
                one = self.commanded(link, number(pdu[1:]))
                self.store(link, one, 0, pdu[3:])
        # The signature of a client without a bond is never right.
        return []

    def commanded(self, link, handle):
        return self.writable(link, handle)

    # MARK: The prepare queue

    def queue(self, link):
        return link.queue

    def prepare(self, link, pdu):
        one = self.preparable(link, number(pdu[1:]))
        if len(self.queue(link)) >= self.QUEUE:
            raise Refused(0x09, one.handle)
        self.enqueue(link, one, number(pdu[3:]), pdu[5:])
        return b"\x17" + pdu[1:]

    def preparable(self, link, handle):
        return self.writable(link, handle)

    def enqueue(self, link, one, offset, part):
        self.queue(link).append((one, offset, part))

    def check_flags(self, pdu):
        if pdu[1] > 1:
            raise Refused(0x04, 0)

    def execute(self, link, pdu):
        self.check_flags(pdu)
        parts = list(self.queue(link))
        self.clear(link)
        if self.is_written(pdu):
            self.check_parts(link, parts)
            self.put_parts(link, parts)
        return b"\x19"

    def clear(self, link):
        self.queue(link).clear()

    def is_written(self, pdu):
        return pdu[1] == 1

    def check_parts(self, link, parts):
        lengths = {}
        for one, offset, part in parts:
            length = lengths.get(one.handle, len(self.value(link, one)))
            if offset > length:
                raise Refused(0x07, one.handle)
            self.check_value(link, one, offset, part)
            lengths[one.handle] = max(length, offset + len(part)) if one.fixed else offset + len(part)

    def put_parts(self, link, parts):
        for one, offset, part in parts:
            self.put(link, one, offset, part)

    # MARK: Values

    def notified(self, link, handle):
        return number(self.configuration(link, handle)) & 1

    def indicated(self, link, handle):
        return number(self.configuration(link, handle)) & 2

    def may_indicate(self, link):
        return not link.is_confirming

    def confirmed(self, link):
        link.is_confirming = False
        return []

    def tick(self, link):
        """Sends the values that a client has subscribed to."""
        if self.notified(link, 0x0022):
            self.notify(link, 0x0021)
        if self.indicated(link, 0x0025) and self.may_indicate(link):
            self.indicate(link, 0x0024)

    def notify(self, link, handle):
        one = self.attributes[handle]
        one.value = bytes([(one.value[0] + 1) & 0xFF]) + one.value[1:]
        link.send(b"\x1b" + u16(self.notified_handle(handle)) + one.value[:self.notify_limit(link)])

    def notified_handle(self, handle):
        return handle

    def notify_limit(self, link):
        return link.mtu - 3

    def indicate(self, link, handle):
        link.is_confirming = True
        link.send(b"\x1d" + u16(handle) + self.attributes[handle].value[:link.mtu - 3])

    # MARK: Links

    def opened(self, link):
        self.links.append(link)

    def closed(self, link):
        self.links.remove(link)
        link.queue.clear()

    async def serve(self, listener):
        """Serves every client of a socket."""
        loop = asyncio.get_running_loop()
        tasks = set()
        while True:
            connection, _ = await loop.sock_accept(listener)
            connection.setblocking(False)
            task = asyncio.create_task(self.serve_link(connection))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    async def serve_link(self, connection):
        loop = asyncio.get_running_loop()

        def send(pdu):
            # A client that reads nothing loses what its socket does not hold.
            with contextlib.suppress(OSError):
                connection.send(pdu)

        link = Link(send)
        self.opened(link)
        ticking = asyncio.create_task(self.keep_ticking(link))
        try:
            while pdu := await loop.sock_recv(connection, 65536):
                answers = self.receive(link, pdu)
                if answers is None:
                    break
                for answer in answers:
                    send(answer)
        except OSError:
            pass
        finally:
            ticking.cancel()
            connection.close()
            self.closed(link)

    async def keep_ticking(self, link):
        while True:
            await asyncio.sleep(PERIOD)
            self.tick(link)
