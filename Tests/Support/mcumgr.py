"""A device with MCUmgr and MCUboot: two slots for images, behind `atto serve`."""

import hashlib
import json
import struct
import threading

SERVICE = "8D53DC1D-1DB7-4CD3-868B-8A527460AA84"
CHARACTERISTIC = "DA2E7828-FBCE-4E01-AE9E-261174997C48"
PROFILE = {"name": "Device", "services": [{"uuid": SERVICE, "characteristics": [
    {"uuid": CHARACTERISTIC, "properties": ["writeWithoutResponse", "notify"], "value": "hex:"}]}]}
IMAGES, UPLOAD, RESET, PARAMETERS = (1, 0), (1, 1), (0, 5), (0, 6)
HASH_NOT_FOUND, NOT_NEWER = 8, 27


def image(size, version, fill=0x5A):
    """An image as imgtool makes it, without a signature."""
    header = struct.pack("<IIHHIIBBHII", 0x96F3B83D, 0, 32, 0, size, 0, *version, 0, 0)
    body = header + bytes([fill]) * size
    return body + struct.pack("<HHHH", 0x6907, 40, 0x10, 32) + hashlib.sha256(body).digest()


def hash_of(image):
    return image[-32:]


def version_of(image):
    return ".".join(map(str, struct.unpack_from("<BBH", image, 20)))


def encode(value):
    """CBOR, with arrays and maps of an indefinite length, as Zephyr's encoder makes them."""
    def head(kind, number):
        for short, form in ((24, "B"), (25, ">H"), (26, ">I"), (27, ">Q")):
            if number < 24:
                return bytes([kind << 5 | number])
            if number < 1 << 8 * struct.calcsize(form):
                return bytes([kind << 5 | short]) + struct.pack(form, number)
    if value is None:
        return b"\xf6"
    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, ~value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return b"\x9f" + b"".join(map(encode, value)) + b"\xff"
    return b"\xbf" + b"".join(encode(key) + encode(one) for key, one in value.items()) + b"\xff"


def decode(octets):
    """A value of CBOR, and what follows it."""
    kind, short, rest = octets[0] >> 5, octets[0] & 31, octets[1:]
    if kind == 7:
        return {20: False, 21: True, 22: None}[short], rest
    number = short
    if 24 <= short <= 27:
        width = 1 << short - 24
        number, rest = int.from_bytes(rest[:width], "big"), rest[width:]
    if kind in (0, 1):
        return number if kind == 0 else ~number, rest
    if kind in (2, 3):
        text = rest[:number]
        return text if kind == 2 else text.decode(), rest[number:]
    items = []
    while rest[:1] != b"\xff" if short == 31 else len(items) < number * (kind - 3):
        item, rest = decode(rest)
        items.append(item)
    rest = rest[1:] if short == 31 else rest
    return items if kind == 4 else dict(zip(items[::2], items[1::2])), rest


class Device:
    """Carries out requests. Between two links, `boots()` does what the boot loader does."""

    def __init__(self, running, buffers=(384, 4), has_parameters=True):
        self.slots = [running, None]
        self.is_pending = self.is_permanent = False
        self.is_confirmed = True
        self.buffers, self.has_parameters = buffers, has_parameters
        self.upload, self.upload_hash, self.length = b"", b"", 0
        # What a test wants: the offset at which the link breaks, requests that find no memory, an image that does
        # not start.
        self.breaks_at = None
        self.busy = set()
        self.is_refused = False
        self.requests = []
        self.was_reset = False
        self.boots_count = 0

    def boots(self):
        self.boots_count += 1
        self.was_reset = False
        if self.is_pending and not self.is_refused:
            self.slots.reverse()
            self.is_confirmed = self.is_permanent
        elif not self.is_confirmed:
            self.slots.reverse()
            self.is_confirmed = True
        self.is_pending = False

    def answer(self, octets):
        """The response to a whole request, as octets; None where the link breaks instead."""
        operation, _, _, group, sequence, number = struct.unpack(">BBHHBB", octets[:8])
        body, rest = decode(octets[8:])
        assert not rest, rest
        self.requests.append(((group, number), body))
        answer = getattr(self, {IMAGES: "images", UPLOAD: "uploads", RESET: "resets", PARAMETERS: "parameters"}.get(
            (group, number), "unknown"))(operation & 7, body)
        if answer is None:
            return None
        body = encode(answer)
        return struct.pack(">BBHHBB", (operation & 0x18) | (operation & 7) + 1, 0, len(body), group, sequence,
                           number) + body

    def unknown(self, operation, body):
        return {"rc": 8}

    def parameters(self, operation, body):
        return dict(zip(("buf_size", "buf_count"), self.buffers)) if self.has_parameters else {"rc": 8}

    def images(self, operation, body):
        if operation == 2:
            if body.get("hash") in (None, hash_of(self.slots[0])):
                self.is_confirmed = self.is_confirmed or body["confirm"]
            elif self.slots[1] and body["hash"] == hash_of(self.slots[1]):
                self.is_pending, self.is_permanent = True, body["confirm"]
            else:
                return {"err": {"group": 1, "rc": HASH_NOT_FOUND}}
        listed = [{"slot": 0, "version": version_of(self.slots[0]), "hash": hash_of(self.slots[0]), "bootable": True,
                   "pending": False, "confirmed": self.is_confirmed, "active": True, "permanent": False}]
        if self.slots[1]:
            listed.append({"slot": 1, "version": version_of(self.slots[1]), "hash": hash_of(self.slots[1]),
                           "bootable": True, "pending": self.is_pending, "confirmed": not self.is_confirmed,
                           "active": False, "permanent": self.is_permanent})
        return {"images": listed, "splitStatus": 0}

    def uploads(self, operation, body):
        if body["off"] == 0:
            if body.get("upgrade") and body["data"][20:24] <= self.slots[0][20:24]:
                return {"err": {"group": 1, "rc": NOT_NEWER}}
            if body["sha"] != self.upload_hash:
                self.upload, self.upload_hash, self.length = b"", body["sha"], body["len"]
                # The slot is erased.
                self.slots[1] = None
            if self.upload:
                return {"rc": 0, "off": len(self.upload)}
        if self.breaks_at is not None and len(self.upload) >= self.breaks_at:
            self.breaks_at = None
            return None
        if body["off"] == len(self.upload) and len(self.requests) not in self.busy:
            self.upload += body["data"]
        answer = {"rc": 0, "off": len(self.upload)}
        if len(self.upload) == self.length:
            answer["match"] = hashlib.sha256(self.upload).digest() == self.upload_hash
            self.slots[1] = self.upload
            self.upload, self.upload_hash = b"", b""
        return answer

    def resets(self, operation, body):
        self.was_reset = True
        return {}


class Radio:
    """Joins a device with `atto serve --control --json`, whose clients' writes are its requests.

    `lines` gives the next line that the program prints, None at its end, and `say` sends it one.
    """

    def __init__(self, device, lines, say, mtu=247):
        self.device, self.lines, self.say = device, lines, say
        self.room = mtu - 3
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        octets = b""
        while (line := self.lines()) is not None:
            event = json.loads(line)
            if event["event"] == "disconnected":
                octets = b""
                if self.device.was_reset:
                    self.device.boots()
            if event["event"] != "written":
                continue
            octets += bytes.fromhex(event["value"])
            while len(octets) >= 8 and len(octets) >= (length := 8 + int.from_bytes(octets[2:4], "big")):
                request, octets = octets[:length], octets[length:]
                answer = self.device.answer(request)
                # Of this link: the program may be at the next one already.
                ends = f"disconnect {event['client']}"
                if answer is None:
                    self.say(ends)
                    octets = b""
                    break
                for start in range(0, len(answer), self.room):
                    self.say(f"notify {event['handle']} {answer[start:start + self.room].hex()}")
                if self.device.was_reset:
                    self.say(ends)
