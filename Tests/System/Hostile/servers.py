"""The servers: each misbehaves in one way and otherwise follows the rules.

A server is a generator. It is sent each PDU of the client and yields what it does next: a PDU to send,
WAIT for the next PDU, CLOSE, a number of seconds to be silent, or FLOOD with a function that makes PDUs
for as long as the link lasts."""

import itertools
import random

from honest import answer, error, number, u16

WAIT, CLOSE, FLOOD = "wait", "close", "flood"
LISTS = (0x04, 0x06, 0x08, 0x10)

SERVERS = {}
# Servers that break no rule: their clients must not say so.
LAWFUL = set()


def server(name, lawful=False):
    def register(body):
        SERVERS[name] = body
        if lawful:
            LAWFUL.add(name)
        return body

    return register


def changed(name, change, lawful=False):
    """A server that changes each response; `change(response, request)` gives one PDU or a list."""

    @server(name, lawful)
    def body(timeout):
        while True:
            pdu = yield WAIT
            for response in answer(pdu):
                new = change(response, pdu)
                yield from new if isinstance(new, list) else [new]


def flooding(name, make, lawful=False):
    """A server that follows the rules and floods the client from the start."""

    @server(name, lawful)
    def body(timeout):
        yield (FLOOD, make)


# Nothing, late, or the end.

@server("silent", lawful=True)
def silent(timeout):
    while True:
        yield WAIT


@server("deaf: it never reads", lawful=True)
def deaf(timeout):
    yield 60


@server("slow: just under the timeout", lawful=True)
def slow(timeout):
    while True:
        for response in answer((yield WAIT)):
            yield timeout * 0.6
            yield response


@server("slow and endless: services")
def slow_services(timeout):
    while True:
        pdu = yield WAIT
        yield timeout * 0.6
        yield from [entry(pdu)] if pdu and pdu[0] in LISTS else answer(pdu)


@server("late: after the timeout", lawful=True)
def late(timeout):
    while True:
        for response in answer((yield WAIT)):
            yield timeout * 1.5
            yield response


@server("closes at once", lawful=True)
def closes(timeout):
    yield CLOSE


@server("closes at the first request", lawful=True)
def closes_first(timeout):
    yield WAIT
    yield CLOSE


@server("closes in the middle", lawful=True)
def closes_middle(timeout):
    yield from answer((yield WAIT))
    yield WAIT
    yield CLOSE


@server("closes after the response", lawful=True)
def closes_after(timeout):
    yield from answer((yield WAIT))
    yield CLOSE


# The form of a response.

changed("wrong opcode: the next response", lambda r, q: bytes([r[0] + 2]) + r[1:])
changed("wrong opcode: unknown", lambda r, q: b"\x3f" + r[1:])
changed("echo of the request", lambda r, q: q)
changed("truncated: one octet less", lambda r, q: r[:-1])
changed("truncated: the opcode only", lambda r, q: r[:1])
changed("truncated: half", lambda r, q: r[:(len(r) + 1) // 2])
changed("one octet more", lambda r, q: r + b"\0")
changed("oversized: 600 octets more", lambda r, q: r + bytes(600))
changed("oversized: 65000 octets", lambda r, q: r + bytes(65000))
changed("filled to the MTU with zeros", lambda r, q: r.ljust(23, b"\0"))
changed("filled to the MTU with ones", lambda r, q: r.ljust(23, b"\xff"))
changed("entries of length zero", lambda r, q: r[:1] + b"\0" + r[2:])
changed("entries of length one", lambda r, q: r[:1] + b"\x01" + r[2:])
changed("entries of length 255", lambda r, q: r[:1] + b"\xff" + r[2:])
changed("no entries", lambda r, q: r[:2] if q[0] in LISTS else r)
changed("twice", lambda r, q: [r, r])
changed("three times", lambda r, q: [r, r, r])
changed("inverted", lambda r, q: r[:1] + bytes(255 - octet for octet in r[1:]))
changed("an early notification", lambda r, q: [b"\x1b\x04\0early", r], lawful=True)
changed("an early indication", lambda r, q: [b"\x1d\x04\0early", r], lawful=True)
changed("a request of its own first", lambda r, q: [b"\x0a\x01\0", r], lawful=True)
changed("an unknown command first", lambda r, q: [b"\x7f" + bytes(20), r], lawful=True)
changed("a malformed notification first", lambda r, q: [b"\x1b", r])
changed("control characters as values", lambda r, q: {0x0A: b"\x0b" + bytes(range(22)), 0x0C: b"\x0d"}.get(q[0], r),
        lawful=True)


@server("an unsolicited response first")
def unsolicited(timeout):
    yield b"\x0b\x01"
    while True:
        yield from answer((yield WAIT))


# Errors.

changed("error: code 0x00", lambda r, q: error(q, 0))
changed("error: names another request", lambda r, q: b"\x01\x3d" + error(q, 0x0A)[2:])
changed("error: names a response", lambda r, q: b"\x01" + bytes([q[0] + 1]) + error(q, 0x0A)[2:])
changed("error: names another handle", lambda r, q: error(q, 0x0A, 0x7777))
changed("error: too short", lambda r, q: error(q, 0x0A)[:4])
changed("error: too long", lambda r, q: error(q, 0x0A) + b"\0")
changed("error: an application's", lambda r, q: error(q, 0x9F), lawful=True)
changed("error: a reserved code", lambda r, q: error(q, 0x55), lawful=True)
changed("error: more security", lambda r, q: error(q, 0x05), lawful=True)
changed("error: nothing found", lambda r, q: error(q, 0x0A), lawful=True)
changed("error: out of resources", lambda r, q: error(q, 0x11), lawful=True)


# Handles, of which lists must have increasing ones from the requested range.

def entry(pdu, at=None, end=None, value=None):
    """A list with one entry of what the request searches, at a handle."""
    at = number(pdu[1:]) if at is None else at
    end = at if end is None else end
    if pdu[0] == 0x04:
        return b"\x05\x01" + u16(at) + (value or b"\x01\x29")
    if pdu[0] == 0x06:
        return b"\x07" + u16(at) + u16(end)
    if pdu[0] == 0x10:
        return b"\x11\x06" + u16(at) + u16(end) + (value or b"\x0d\x18")
    if pdu[0] == 0x08:
        kind = pdu[5:]
        if value is None:
            value = {b"\x03\x28": b"\x3a" + u16(min(at + 1, 0xFFFF)) + b"\x37\x2a",
                     b"\x02\x28": u16(at) + u16(at) + b"\x0a\x18"}.get(kind, b"\x01")
        return b"\x09" + bytes([2 + len(value)]) + u16(at) + value
    return answer(pdu)[0]


def lists(name, make, lawful=False):
    changed(name, lambda r, q: make(q) if q[0] in LISTS else r, lawful)


lists("handle zero", lambda q: entry(q, 0))
lists("handle 0xFFFF", lambda q: entry(q, 0xFFFF))
lists("the same handle for ever", lambda q: entry(q, 1))
lists("handles going backwards", lambda q: entry(q, max(1, number(q[1:]) - 1)))
lists("handles outside the range", lambda q: entry(q, min(0xFFFF, number(q[3:]) + 1)))
lists("a group that ends before it starts", lambda q: entry(q, end=max(number(q[1:]), 1) - 1))
lists("a group up to 0xFFFF", lambda q: entry(q, end=0xFFFF))
lists("endless entries, one for each handle", entry)
lists("endless entries of every second handle", lambda q: entry(q, min(number(q[1:]) + 1, 0xFFFF)))
lists("declarations of odd lengths", lambda q: entry(q, value=b"\1\2\3"))
lists("a value before its declaration", lambda q: entry(q, value=b"\x02" + u16(1) + b"\x37\x2a"))
lists("services everywhere", lambda q: entry(q, value=b"\x00\x28"))


def legal(pdu):
    """A service from 0x0001 to 0xFFFF with a characteristic at each two handles: lawful, and as many
    as there can be."""
    start = number(pdu[1:])
    if pdu[0] == 0x10 and pdu[5:] == b"\x00\x28" and start == 1:
        return entry(pdu, 1, 0xFFFF)
    if pdu[0] == 0x08 and pdu[5:] == b"\x03\x28":
        at = max(2, start + start % 2)
        return entry(pdu, at) if at < 0xFFFF and at <= number(pdu[3:]) else error(pdu, 0x0A)
    return error(pdu, 0x0A) if pdu[0] in LISTS else answer(pdu)[0]


changed("the largest database", lambda r, q: legal(q), lawful=True)

# Values.

changed("a value without end", lambda r, q: r[:1] + bytes(22) if q[0] in (0x0A, 0x0C) else r)
changed("a long value that changes", lambda r, q: r[:1] + random.randbytes(random.randint(0, 22))
        if q[0] in (0x0A, 0x0C) else r, lawful=True)
changed("lengths that lie", lambda r, q: b"\x21\xff\xff\x01" if q[0] == 0x20 else r)
changed("values that are missing", lambda r, q: r[:1] if q[0] in (0x0E, 0x20) else r)


def echo(name, change):
    changed(f"a prepared write's echo: {name}", lambda r, q: change(r) if q[0] == 0x16 else r)


echo("another handle", lambda r: b"\x17\x07\0" + r[3:])
echo("another offset", lambda r: r[:3] + b"\x01\x01" + r[5:])
echo("another value", lambda r: r[:5] + bytes(len(r) - 5))
echo("without a value", lambda r: r[:5])
echo("longer", lambda r: r + b"\0")
changed("Execute Write is not answered", lambda r, q: [] if q[0] == 0x18 else r)


# ATT_MTU.

def mtu(name, value, then=None):
    changed(f"MTU: {name}", lambda r, q: b"\x03" + value if q[0] == 0x02 else (then or (lambda r: r))(r))


mtu("0", u16(0))
mtu("22", u16(22))
mtu("65535", u16(65535))
mtu("65535, and as long responses", u16(65535), lambda r: r + bytes(60000))
changed("MTU: 65535, and the longest notifications", lambda r, q:
        b"\x03" + u16(65535) if q[0] == 0x02 else [b"\x1b\x04\0" + bytes(65532), r])
mtu("one octet", b"\x40")
mtu("four octets", bytes(4))
mtu("200, and responses of 201", u16(200), lambda r: r.ljust(201, b"\0"))


# Floods.

counter = itertools.count()
flooding("flood: notifications", lambda: b"\x1b\x04\0" + next(counter).to_bytes(8, "little"), lawful=True)
flooding("flood: notifications of nothing", lambda: b"\x1b\x99\x99", lawful=True)
flooding("flood: long notifications", lambda: b"\x1b\x04\0" + bytes(60000))
flooding("flood: several values", lambda: b"\x23\x04\0\x01\0x\x08\0\x01\0y", lawful=True)
flooding("flood: indications", lambda: b"\x1d\x04\0value")
flooding("flood: requests", lambda: b"\x0a\x04\0")
flooding("flood: MTU exchanges", lambda: b"\x02\x17\0")
flooding("flood: commands", lambda: b"\x52\x04\0value", lawful=True)
flooding("flood: confirmations", lambda: b"\x1e")
flooding("flood: responses", lambda: b"\x0b\x01")
flooding("flood: errors", lambda: b"\x01\x0a\x04\0\x0a")
flooding("flood: random octets", lambda: random.randbytes(random.randint(1, 40)))
