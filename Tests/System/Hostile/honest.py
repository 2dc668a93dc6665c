"""A small server that follows the rules, and the parts of which misbehaviour is made."""

PRIMARY, INCLUDE, CHARACTERISTIC = b"\x00\x28", b"\x02\x28", b"\x03\x28"


def u16(number):
    return number.to_bytes(2, "little")


def number(octets):
    return int.from_bytes(octets[:2], "little")


def error(pdu, code, handle=None):
    """An Error Response to a request."""
    return bytes([1, pdu[0]]) + (pdu[1:3].ljust(2, b"\0") if handle is None else u16(handle)) + bytes([code])


# Handle to type, value, and the end of the group for services.
ATTRIBUTES = {
    1: (PRIMARY, b"\x0d\x18", 8),
    2: (INCLUDE, u16(9) + u16(15) + b"\x0a\x18", 2),
    3: (CHARACTERISTIC, b"\x3a" + u16(4) + b"\x37\x2a", 3),
    4: (b"\x37\x2a", b"0123456789" * 4, 4),
    5: (b"\x02\x29", b"\0\0", 5),
    6: (b"\x01\x29", b"text", 6),
    7: (CHARACTERISTIC, b"\x0e" + u16(8) + b"\x38\x2a", 7),
    8: (b"\x38\x2a", b"\x01", 8),
    9: (PRIMARY, b"\x0a\x18", 15),
    10: (CHARACTERISTIC, b"\x02" + u16(11) + b"\x29\x2a", 10),
    11: (b"\x29\x2a", b"maker", 11),
}


def listed(opcode, request, entries, head=True):
    """A list of entries of one length, which fit 23 octets."""
    if not entries:
        return error(request, 0x0A)
    body = b""
    for entry in entries:
        if len(entry) != len(entries[0]) or len(body) + len(entry) > 21:
            break
        body += entry
    return bytes([opcode]) + (bytes([len(entries[0])]) if head else b"") + body


def found(pdu, kind, value=None):
    """The handles of a type in the range of a request."""
    return [handle for handle in range(number(pdu[1:]), min(number(pdu[3:]), 15) + 1)
            if handle in ATTRIBUTES and ATTRIBUTES[handle][0] == kind
            and value in (None, ATTRIBUTES[handle][1])]


def answer(pdu):
    """The PDUs that follow the rules, at an ATT_MTU of 23."""
    opcode = pdu[0] if pdu else 0x52
    handle = number(pdu[1:])
    if opcode == 0x02:
        return [b"\x03" + u16(23)]
    if opcode == 0x04:
        all_found = [at for at in range(handle, min(number(pdu[3:]), 15) + 1) if at in ATTRIBUTES]
        entries = [u16(at) + ATTRIBUTES[at][0] for at in all_found]
        return [b"\x05\x01" + b"".join(entries[:5]) if entries else error(pdu, 0x0A)]
    if opcode == 0x06:
        entries = [u16(at) + u16(ATTRIBUTES[at][2]) for at in found(pdu, pdu[5:7], pdu[7:])]
        return [listed(0x07, pdu, entries, head=False)]
    if opcode in (0x08, 0x10):
        ends = opcode == 0x10
        entries = [u16(at) + (u16(ATTRIBUTES[at][2]) if ends else b"") + ATTRIBUTES[at][1][:17]
                   for at in found(pdu, pdu[5:])]
        return [listed(opcode + 1, pdu, entries)]
    if opcode in (0x0A, 0x0C, 0x12, 0x16):
        if handle not in ATTRIBUTES:
            return [error(pdu, 0x01)]
        if opcode == 0x16:
            return [b"\x17" + pdu[1:]]
        if opcode == 0x12:
            return [b"\x13"]
        offset = number(pdu[3:]) if opcode == 0x0C else 0
        return [bytes([opcode + 1]) + ATTRIBUTES[handle][1][offset:offset + 22]]
    if opcode in (0x0E, 0x20):
        values = [ATTRIBUTES.get(number(pdu[at:]), (0, b""))[1] for at in range(1, len(pdu) - 1, 2)]
        body = b"".join((u16(len(value)) if opcode == 0x20 else b"") + value for value in values)
        return [bytes([opcode + 1]) + body[:22]]
    if opcode == 0x18:
        return [b"\x19"]
    if opcode & 0x40 or opcode == 0x1E:
        return []
    return [error(pdu, 0x06, 0)]
