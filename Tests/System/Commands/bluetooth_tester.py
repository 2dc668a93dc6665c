"""A tester that speaks the Bluetooth Test Protocol, for one `atto btp`. auto-pts, doc/overview.txt."""

import socket
import struct

CORE, GAP, GATT, L2CAP, CLIENT, SERVER = 0, 1, 2, 3, 6, 7
FAIL, UNKNOWN, NOT_READY, INVALID_INDEX = 1, 2, 3, 4
NONE = 0xFF
FOREVER = 0xFFFFFFFF
# Permissions of attributes.
READ, WRITE = 0x01, 0x02


class Refused(Exception):
    """A response with a status."""

    def __init__(self, status):
        super().__init__(f"status {status}")
        self.status = status


def uuid(text):
    """The length and the octets of a UUID."""
    octets = bytes.fromhex(text.replace("-", ""))[::-1]
    return bytes([len(octets)]) + octets


def value(octets):
    return struct.pack("<H", len(octets)) + octets


def u16s(*numbers):
    return struct.pack(f"<{len(numbers)}H", *numbers)


def items(data, form):
    """The objects of a list: each has the fields of a struct, and then a UUID."""
    found, at = [], 1
    for _ in range(data[0]):
        fields = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        length = data[at]
        found.append((*fields, data[at + 1:at + 1 + length][::-1].hex()))
        at += 1 + length
    if at != len(data):
        raise ValueError(f"{len(data) - at} octets are left of {data.hex()}")
    return found


class Listener:
    """The socket at which `atto btp` arrives."""

    def __init__(self, path, patience=60):
        self.path = path
        self.patience = patience
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(patience)
        self.socket.bind(path)
        self.socket.listen(1)

    def accept(self):
        connected, _ = self.socket.accept()
        connected.settimeout(self.patience)
        return Tester(connected)

    def close(self):
        self.socket.close()


class Tester:
    def __init__(self, connected):
        self.socket = connected
        self.events = []
        self.address = None

    # Frames

    def send(self, service, opcode, data=b"", index=0):
        self.socket.sendall(struct.pack("<BBBH", service, opcode, index, len(data)) + data)

    def octets(self, count):
        octets = b""
        while len(octets) < count:
            piece = self.socket.recv(count - len(octets))
            if not piece:
                raise EOFError("atto btp has closed the socket")
            octets += piece
        return octets

    def receive(self):
        service, opcode, index, length = struct.unpack("<BBBH", self.octets(5))
        return service, opcode, index, self.octets(length)

    def response(self, service, opcode):
        """The parameters of the response to a command. Events before it are kept."""
        while True:
            got = self.receive()
            if got[1] >= 0x80:
                self.events.append(got)
                continue
            if got[0] != service or got[1] not in (0, opcode):
                raise ValueError(f"the response is {got}, not one to {service}/{opcode:#x}")
            if got[1] == 0:
                raise Refused(got[3][0])
            return got[3]

    def ask(self, service, opcode, data=b"", index=None):
        if index is None:
            index = NONE if service == CORE else 0
        self.send(service, opcode, data, index)
        return self.response(service, opcode)

    def status(self, service, opcode, data=b"", index=None):
        """The status of a command that must fail; 0 if it does not."""
        try:
            self.ask(service, opcode, data, index)
        except Refused as refused:
            return refused.status
        return 0

    def event(self, service, opcode):
        """The parameters of the next such event; the others are kept."""
        for number, (its, event, _, data) in enumerate(self.events):
            if (its, event) == (service, opcode):
                del self.events[number]
                return data
        while True:
            its, event, _, data = got = self.receive()
            if event < 0x80:
                raise ValueError(f"a response without a command: {got}")
            if (its, event) == (service, opcode):
                return data
            self.events.append(got)

    def closed(self):
        """Waits until the other end has closed the socket, whatever it sends before."""
        while self.socket.recv(65536):
            pass

    def close(self):
        self.socket.close()

    # What most tests begin with

    def begin(self, *services):
        got = self.receive()
        if got != (CORE, 0x80, NONE, b""):
            raise ValueError(f"the first frame is {got}, not IUT Ready")
        for service in services:
            self.ask(CORE, 0x03, bytes([service]))
        if GAP in services:
            information = self.ask(GAP, 0x03)
            # A static address, as simulated radios have, is a random one.
            self.address = bytes([information[11] >> 7]) + information[:6]
        return self

    def advertise(self, data=b"", response=b"", duration=FOREVER):
        """Advertises structures that have the type before the length, discoverably."""
        self.ask(GAP, 0x06, b"\x01")
        self.ask(GAP, 0x08, b"\x01")
        self.ask(GAP, 0x0A, bytes([len(data), len(response)]) + data + response
                 + struct.pack("<IB", duration, 0))

    def connect(self, other):
        """Connects to another tester's device, which advertises."""
        self.ask(GAP, 0x0E, other.address + b"\x00")
        peer = self.event(GAP, 0x82)[:7]
        other.event(GAP, 0x82)
        return peer
