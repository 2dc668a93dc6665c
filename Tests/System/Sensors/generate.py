"""Advertisements of sensors by seed: valid, with octets changed, cut, extended, and random."""

import random

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM
from govee_ble.parser import calculate_crc

ADDRESS = "A4:C1:38:11:22:33"
MAC = bytes.fromhex(ADDRESS.replace(":", ""))
# A device without a key.
OTHER = "54:48:E6:8F:80:A5"
OTHER_MAC = bytes.fromhex(OTHER.replace(":", ""))
KEY = bytes(range(16))
CIPHER = AESCCM(KEY, tag_length=4)


class Advertisement:
    """The parts that formats use. At most one service's data and one manufacturer's."""

    def __init__(self, name="", service=None, company=None, data=b"", services=()):
        self.name, self.service, self.company, self.data = name, service, company, data
        self.services = services
        self.is_changed = isinstance(data, Changed)

    def hex(self) -> str:
        """As advertising data. It may be longer than a legacy advertisement."""
        def structure(kind: int, value: bytes) -> bytes:
            return bytes([len(value) + 1, kind]) + value
        octets = b""
        if self.name:
            octets += structure(9, self.name.encode())
        if self.services:
            octets += structure(3, b"".join(uuid.to_bytes(2, "little") for uuid in self.services))
        if self.service is not None:
            octets += structure(0x16, self.service.to_bytes(2, "little") + self.data)
        if self.company is not None:
            octets += structure(0xFF, self.company.to_bytes(2, "little") + self.data)
        return octets.hex()


class Changed(bytes):
    """Octets that are not as a device sends them."""


def changed(r: random.Random, data: bytes) -> bytes:
    """The data: one in two as it is, otherwise with octets changed, cut, extended or random."""
    way = r.randrange(10)
    if way < 5:
        return data
    octets = bytearray(data)
    if way < 7 and octets:
        for _ in range(r.randint(1, 3)):
            octets[r.randrange(len(octets))] = r.choice([0, 0xFF, 0x80, r.randrange(256)])
    elif way == 7:
        octets = octets[:r.randrange(len(octets) + 1)]
    elif way == 8:
        octets += r.randbytes(r.randint(1, 4))
    else:
        octets = bytearray(r.randbytes(r.randint(0, 40)))
    return Changed(octets)


def bthome(r: random.Random, table: dict) -> Advertisement:
    """`table` has the length of each object's data, or 0 for those with a length of their own."""
    payload = b""
    for kind in sorted(r.choices(list(table), k=r.randint(1, 4))):
        size = table[kind]
        data = r.randbytes(size) if r.random() < 0.9 else bytes([0xFF]) * size
        if kind in (0x3A, 0x3C):
            data = bytes([r.choice([0, 1, 2, 3, 4, 0x80, 0x81, 9])]) + data[1:]
        if size == 0:
            text = r.choice([b"abc", "µ".encode(), r.randbytes(3), b"x"])
            data = bytes([len(text)]) + text
            if kind == 0x3B:
                data = bytes([0x20 | r.randrange(3)]) + bytes([r.randrange(6)])
                data += r.randbytes(data[0] & 0x1F)
        payload += bytes([kind]) + data
    way = r.random()
    if way < 0.5:
        return Advertisement(service=0xFCD2, data=changed(r, bytes([0x40 | r.choice([0, 4])]) + payload))
    if way < 0.8:
        own = r.random() < 0.3
        information = bytes([0x41 | (2 if own else 0)])
        counter = r.randbytes(4)
        sealed = CIPHER.encrypt(MAC + b"\xd2\xfc" + information + counter, payload, None)
        head = information + (MAC[::-1] if own else b"")
        return Advertisement(service=0xFCD2, data=changed(r, head + sealed[:-4] + counter + sealed[-4:]))
    payload = b""
    for kind in r.choices([kind for kind in table if table[kind]], k=r.randint(1, 3)):
        form = r.choice([0, 0, 1, 2])
        size = r.choice([2, 4, 8]) if form == 2 else table[kind]
        payload += bytes([form << 5 | size + 1, kind]) + r.randbytes(size)
    if way < 0.9:
        return Advertisement(service=0x181C, data=changed(r, payload))
    counter = r.randbytes(4)
    sealed = CIPHER.encrypt(MAC + b"\x1e\x18" + counter, payload, b"\x11")
    return Advertisement(service=0x181E, data=changed(r, sealed[:-4] + counter + sealed[-4:]))


ONE, TWO, THREE, FOUR = [1], [2], [3], [4]
# Devices with buttons, locks and scales, of which there would be few.
XIAOMI_BUTTONS = [
    0x0153, 0x03B6, 0x03BF, 0x04E1, 0x04E6, 0x068E, 0x069F, 0x07BF, 0x0A8D, 0x0DFD, 0x1568, 0x1569, 0x1949,
    0x1C10, 0x2387, 0x3A61, 0x3E17, 0x520B, 0x5968, 0x78A3, 0x0380, 0x09B0, 0x30D9, 0x45C9, 0x4B05, 0x6A0F, 0x6375]
# MiBeacon's objects that are read, and the lengths of their data.
XIAOMI_OBJECTS = {
    0x0003: ONE, 0x000B: [9], 0x1001: THREE, 0x4A0C: [0, 1], 0x4A0D: [0, 1], 0x4A0E: [0, 1], 0x4A13: ONE,
    0x4E0C: [0, 1], 0x4E0D: [0, 1], 0x4E0E: [0, 1], 0x560C: [0, 1], 0x560D: [0, 1], 0x560E: [0, 1],
    0x000A: TWO, 0x000F: THREE, 0x0010: [1, 2], 0x1004: TWO, 0x1005: TWO, 0x1006: TWO, 0x1007: THREE,
    0x1008: ONE, 0x1009: TWO, 0x1010: TWO, 0x1012: ONE, 0x1013: ONE, 0x1014: ONE, 0x1015: ONE,
    0x1017: FOUR, 0x1018: ONE, 0x1019: ONE, 0x100A: ONE, 0x100D: FOUR, 0x101B: [1, 4],
    0x3003: [5, 6], 0x4801: FOUR, 0x4802: ONE, 0x4803: ONE, 0x4804: ONE, 0x4805: FOUR, 0x4806: ONE,
    0x4808: FOUR, 0x480C: ONE, 0x4818: TWO, 0x483C: ONE, 0x484E: ONE, 0x487B: ONE, 0x4A01: ONE,
    0x4A08: FOUR, 0x4A12: ONE, 0x4A1A: ONE, 0x4C01: FOUR, 0x4C02: ONE, 0x4C03: ONE, 0x4C08: FOUR,
    0x4E01: ONE, 0x5003: ONE, 0x0006: [5], 0x0007: ONE, 0x0008: ONE, 0x100E: ONE, 0x100F: ONE, 0x2000: [5],
    0x483D: FOUR, 0x483E: FOUR, 0x4851: ONE, 0x4852: ONE, 0x4E16: [9], 0x6E16: [9], 0x4A0F: ONE, 0x4A68: ONE, 0x5413: ONE,
    0x5422: ONE, 0x5810: ONE, 0x6461: ONE,
}
# Modes and a reset, of which the package makes no reading.
XIAOMI_UNREAD = {0x4C14, 0x4E1C, 0x5414}
# Service data of two scales and a sensor for plants, and its length.
XIAOMI_OTHERS = [(0x181D, 10), (0x181B, 13), (0xFD50, 9)]


def xiaomi(r: random.Random, products: list) -> Advertisement:
    if r.random() < 0.1:
        service, length = r.choice(XIAOMI_OTHERS)
        return Advertisement(service=service, data=changed(r, r.randbytes(length)))
    payload = b""
    for kind in r.choices(list(XIAOMI_OBJECTS), k=r.randint(1, 2)):
        data = r.randbytes(r.choice(XIAOMI_OBJECTS[kind]))
        if r.random() < 0.5:
            data = (bytes([r.choice([*range(7), 8, 15])]) + data[1:])[:len(data)]
        if kind == 0x1001 and r.random() < 0.9:
            data = bytes([r.randrange(10), r.choice([1, 7, 200]), r.randrange(8)])
        if kind == 0x000B and r.random() < 0.9:
            key = r.choice([0, 5, 0xFFFFFFFF, 0xDEADBEEF, 0xC0DE0003, 0x80000000 | r.randrange(11) << 16 | 7])
            data = bytes([r.randrange(12) << 4 | r.randrange(9)]) + key.to_bytes(4, "little") + data[5:]
        if kind == 0x0006 and data and r.random() < 0.5:
            data = r.choice([bytes(4), b"\xff" * 4, b"\xde\xad\xbe\xef"]) + data[4:]
        if kind in (0x4E16, 0x6E16) and r.random() < 0.7:
            # Some of weight, heart rate and impedance.
            parts = [r.choice([0, 0x7FF, 700]), r.choice([0, 20, 127]) << 11, r.choice([0, 5000]) << 18]
            data = data[:1] + sum(parts).to_bytes(4, "little") + data[5:]
        if r.random() < 0.05:
            data = r.randbytes(r.randrange(6))
        if kind == 0x100E and len(data) == 1:
            # Of the other bits, the package makes a child lock.
            data = bytes([data[0] & 15])
        payload += kind.to_bytes(2, "little") + bytes([len(data)]) + data
    has_address, has_capability, sealed = r.random() < 0.5, r.random() < 0.3, r.random() < 0.5
    if r.random() < 0.03:
        payload, sealed = b"", False
    control = r.randint(4, 5) << 12 | bool(payload) << 6 | has_address << 4 | has_capability << 5 | sealed << 3
    product = r.choice(products if r.random() < 0.6 else XIAOMI_BUTTONS)
    head = control.to_bytes(2, "little") + product.to_bytes(2, "little") + r.randbytes(1)
    head5 = head[:5]
    if has_address:
        head += (MAC if sealed else OTHER_MAC)[::-1]
    if has_capability:
        head += r.choice([b"\x08", b"\x28\x00"])
    if sealed:
        more = r.randbytes(3)
        octets = CIPHER.encrypt(MAC[::-1] + head5[2:5] + more, payload, b"\x11")
        payload = octets[:-4] + more + octets[-4:]
    return Advertisement(service=0xFE95, data=changed(r, head + payload))


def ruuvi(r: random.Random) -> Advertisement:
    kind, length = r.choice([(3, 14), (5, 24), (6, 20), (0xE1, 40)])
    data = bytearray(r.randbytes(length))
    data[0] = kind
    for _ in range(r.randrange(3)):
        place = r.randrange(1, length - 1)
        data[place:place + 2] = r.choice([b"\xff\xff", b"\x80\x00"])
    return Advertisement(company=0x0499, data=changed(r, bytes(data)))


GOVEE = [
    # A name, companies, services, a length.
    ("GVH5075_12AB", [0xEC88], [], 6), ("GVH5072_12AB", [0xEC88], [], 6),
    ("GVH5129_12AB", [5], [], 6), ("", [0xEC88], [], 6), ("GV5112_12AB", [1, 7], [], 8),
    ("GV5140_12AB", [1, 7], [], 8), ("GVH5101_12AB", [1], [], 6), ("GVH5177_12AB", [1], [], 6),
    ("GVH5108_12AB", [1], [], 8), ("", [1], [], 8), ("Govee_H5074_12AB", [0xEC88], [], 7),
    ("Govee_H5051_12AB", [0xEC88], [], 9), ("Govee_H5071_12AB", [5], [], 9),
    ("B5178D6FB", [1], [], 9), ("Govee_H5179_12AB", [0x8801], [], 9),
    ("", [0x8801], [], 9), ("GVH5181_12AB", [0xF861, 5], [], 14), ("", [5], [0x8151], 14),
    ("GVH5182_12AB", [0x2730], [], 17), ("", [0x67DD], [0x8351], 14), ("", [0x1B36], [0x8451], 17),
    ("", [0x4A32], [0x8551], 20), ("", [0xAC63], [], 20), ("", [0x3022], [0x9851], 20),
    ("", [5], [0x5550], 20), ("GVH5106_12AB", [1], [], 6), ("GVH5127_12AB", [0x8803], [], 6),
]


def govee_event(r: random.Random) -> Advertisement:
    """Of the models whose data is encrypted under its time."""
    plain = bytearray(r.randbytes(16))
    plain[2] = r.choice([2, 3, 8, 9, 10, 11, 13, plain[2]])
    plain[4], plain[5] = r.randrange(101), r.choice([0, 1, 2, 3, 4, 5, 0x10, 0x11, plain[5]])
    time = r.randbytes(4)
    encryptor = Cipher(algorithms.AES((time + bytes(12))[::-1]), modes.ECB()).encryptor()
    sealed = (encryptor.update(bytes(plain[::-1])) + encryptor.finalize())[::-1]
    name = r.choice(["", "", "GV51220AB1", "GV51210AB1", "GV51230AB1", "GV51240AB1", "GV51300AB1"])
    whole = r.randbytes(2) + time + sealed + calculate_crc(sealed).to_bytes(2, "big")
    return Advertisement(name, company=r.choice([0xEC88, 1, 0x8803]), data=changed(r, whole))


def govee(r: random.Random) -> Advertisement:
    if r.random() < 0.25:
        return govee_event(r)
    name, companies, services, length = r.choice(GOVEE)
    data = bytearray(r.randbytes(length))
    if r.random() < 0.5:
        # A temperature and humidity that are likely.
        for place in (1, 2, 3):
            if place + 3 < length:
                data[place:place + 3] = (r.randrange(1000) * 1000 + r.randrange(1000)).to_bytes(3, "big")
    if length in (17, 20) and r.random() < 0.8:
        data[6] = r.choice([1, 2, 65, 66, 129, 130, 193, 194, 3])
    if length == 8:
        data[7] = r.choice([0x41, 0x82, 0, data[7]])
    if "5127" in name:
        data[:6] = r.choice([b"\xec\0\1\1", b"\xec\0\2\1"]) + bytes([r.randrange(2), r.choice([17, 1])])
    return Advertisement(name, company=r.choice(companies), data=changed(r, bytes(data)), services=services)


INKBIRD = [
    ("sps", 9, None), ("tps", 9, None), ("IBS-P02B", 18, None), ("ith-11-b", 18, None),
    ("ITH-13-B", 18, None), ("ITH-21-B", 18, None), ("Ink@IAM-T2", 17, None), ("x", 17, 12884),
    ("x", 18, 9289), ("iBBQ", 12, None), ("iBBQ", 14, None), ("xBBQ", 18, None), ("iBBQ", 22, None),
]


def inkbird(r: random.Random) -> Advertisement:
    name, length, company = r.choice(INKBIRD)
    data = bytearray(r.randbytes(length))
    if r.random() < 0.7:
        if length == 9:
            data[2:4], data[7] = r.randrange(11000).to_bytes(2, "little"), r.randrange(104)
        elif length == 18:
            data[8:10], data[10] = r.randrange(1100).to_bytes(2, "little"), r.randrange(104)
        elif length == 17:
            data[12:14] = r.randrange(1100).to_bytes(2, "big")
    if company == 12884:
        data[2:4] = b"\x00\x62"
    if company == 9289:
        data[15:] = bytes(3)
    if "bbq" in name.lower() and r.random() < 0.3:
        data[10:12] = b"\xff\xff"
    whole = changed(r, bytes(data)).ljust(2, b"\0")
    if company is not None:
        whole = company.to_bytes(2, "little") + whole[2:]
    return Advertisement(
        name, company=int.from_bytes(whole[:2], "little"), data=whole[2:],
        services=[0xFFF0] if company == 9289 or r.random() < 0.5 else [])


def thermopro(r: random.Random) -> Advertisement:
    name, length = r.choice([
        ("TP357 (2142)", 7), ("TP358S (2142)", 6), ("TP393 (2142)", 8), ("TP960R (0000)", 7),
        ("TP962R (0000)", 13), ("TP970R (0000)", 7), ("TP972S (0000)", 23)])
    data = bytearray(r.randbytes(length))
    if length == 23 and r.random() < 0.8:
        import struct
        data[5:17] = struct.pack("<fff", *(r.uniform(60, 500) for _ in range(3)))
    if name.startswith("TP3") and r.random() < 0.1:
        data[1:4] = b"\xff\xff\xff"
    if name.startswith("TP9"):
        data[3:5] = r.randrange(1500, 3500).to_bytes(2, "little")
    whole = changed(r, bytes(data)).ljust(2, b"\0")
    return Advertisement(name, company=int.from_bytes(whole[:2], "little"), data=whole[2:])


def oralb(r: random.Random) -> Advertisement:
    data = bytearray(r.randbytes(r.choice([9, 11])))
    data[1] = r.choice([0, 32, 39, 48, 49, 52, 53, 54, 64, 80, 112, data[1]])
    data[3] = r.choice([3, 3, 2, 8, 113, data[3]])
    data[7] = r.randrange(14)
    return Advertisement(company=0x00DC, data=changed(r, bytes(data)))


def beacon(r: random.Random) -> Advertisement:
    """iBeacon or Eddystone."""
    power = r.randbytes(1)
    frame = r.randrange(5)
    if frame == 0:
        return Advertisement(company=0x004C, data=changed(r, b"\x02\x15" + r.randbytes(20) + power))
    data = {
        1: b"\x00" + power + r.randbytes(16) + b"\0\0",
        2: b"\x10" + power + bytes([r.randrange(4)]) + bytes(
            r.choice([*range(14), *range(0x21, 0x7F)]) for _ in range(r.randint(1, 17))),
        3: b"\x20\0" + r.randbytes(12),
        4: b"\x30" + power + r.randbytes(8),
    }[frame]
    return Advertisement(service=0xFEAA, data=changed(r, data))
