"""A GATT client that follows the rules, one rule to a method or constant, so that a fault replaces one of
them. Each run exchanges ATT_MTU, discovers everything, reads, writes in parts, and confirms."""

import socket

from server import number, u16


class Gone(Exception):
    """The server has gone, or does not answer."""


class Client:
    MTU = 100
    PATIENCE = 5

    def __init__(self, path):
        self.path = path

    def run(self):
        """Connects once and does everything. Returns whether there was a server."""
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(self.PATIENCE)
        self.mtu = 23
        try:
            self.socket.connect(self.path)
        except OSError:
            return False
        try:
            self.work()
        except (Gone, OSError):
            pass
        finally:
            self.socket.close()
        return True

    def work(self):
        self.exchange()
        self.discover()
        self.read_values()
        self.write_values()

    # MARK: Transactions

    def send(self, pdu):
        self.socket.send(pdu)

    def ask(self, pdu):
        """The response to a request. One that does not belong to it ends the client."""
        self.send(pdu)
        self.asked(pdu)
        while True:
            try:
                answer = self.socket.recv(65536)
            except TimeoutError:
                return self.unanswered(pdu)
            if not answer:
                raise Gone
            if self.is_response(answer):
                if not self.belongs(pdu, answer):
                    raise Gone
                return answer
            self.receive(answer)

    def asked(self, pdu):
        pass

    def unanswered(self, pdu):
        raise Gone

    def is_response(self, pdu):
        return pdu[0] & 1 and pdu[0] < 0x24 and pdu[0] not in (0x1B, 0x1D, 0x23)

    def belongs(self, pdu, answer):
        if answer[0] == 1:
            return len(answer) == 5 and answer[1] == pdu[0]
        return answer[0] == pdu[0] + 1

    def receive(self, pdu):
        """Something that is no response."""
        if pdu[0] == 0x1D:
            self.confirm(pdu)
        elif pdu[0] in (0x1B, 0x23):
            self.notified(pdu)
        elif pdu[0] & 0x40:
            self.commanded(pdu)
        elif pdu[0] != 0x1E:
            self.answer(pdu)

    def confirm(self, pdu):
        self.send(b"\x1e")

    def notified(self, pdu):
        pass

    def commanded(self, pdu):
        pass

    def answer(self, pdu):
        """A device without attributes."""
        if pdu[0] == 0x02 and len(pdu) == 3:
            self.send(self.offered())
        elif pdu[0] == 0x04 and len(pdu) == 5:
            self.send(b"\x01\x04" + pdu[1:3] + b"\x0a")
        elif pdu[0] == 0x0A:
            self.send(b"\x01\x0a" + (pdu[1:3] + b"\x01" if len(pdu) == 3 else b"\0\0\x04"))
        else:
            self.send(bytes([1, pdu[0], 0, 0, 6]))

    def offered(self):
        return b"\x03" + u16(self.MTU)

    # MARK: Procedures

    def exchange(self):
        answer = self.ask(b"\x02" + u16(self.MTU))
        if answer[0] == 3:
            self.agree(number(answer[1:]))

    def agree(self, theirs):
        self.mtu = max(23, min(self.MTU, theirs))

    def search(self, opcode, start, end, kind=b"", size=None, group=False):
        """The entries of a search, each with its handle first."""
        found = []
        while start <= end:
            answer = self.ask(bytes([opcode]) + u16(start) + u16(end) + kind)
            if answer[0] == 1:
                self.ended(answer)
                break
            length = size(answer[1]) if len(answer) > 1 else 0
            head = 2 if opcode != 0x06 else 1
            if not length or (len(answer) - head) % length or len(answer) <= head:
                break
            entries = [answer[at:at + length] for at in range(head, len(answer), length)]
            last = start - 1
            for entry in entries:
                if not self.is_next(entry, last):
                    return found
                last = number(entry[2:]) if group else number(entry)
            found += entries
            start = self.continued(entries[-1], last)
        return found

    def ended(self, answer):
        pass

    def is_next(self, entry, last):
        return number(entry) > last and number(entry) > 0

    def continued(self, entry, last):
        return last + 1

    def discover(self):
        self.services = self.search(0x10, 1, 0xFFFF, self.primary(), lambda n: n, group=True)
        self.values = []
        for service in self.services:
            start, end = number(service), number(service[2:])
            for include in self.search(0x08, start, end, b"\x02\x28", lambda n: n):
                if len(include) == 6:
                    self.read_include(number(include[2:]))
            found = self.search(0x08, start, end, b"\x03\x28", lambda n: n)
            self.values += [(number(one[3:]), one[2]) for one in found]
            for at, one in [*enumerate(found)][:1] + [*enumerate(found)][1:][-1:]:
                last = number(found[at + 1]) - 1 if at + 1 < len(found) else end
                self.descriptors(number(one[3:]) + 1, last)
        self.search(0x06, 1, 0xFFFF, b"\x00\x28\x0d\x18", lambda n: 4, group=True)

    def primary(self):
        return b"\x00\x28"

    def read_include(self, handle):
        self.ask(b"\x0a" + u16(handle))

    def descriptors(self, start, end):
        if start <= end:
            self.search(0x04, start, end, b"", {1: 4, 2: 18}.get)

    def read_values(self):
        for handle in [handle for handle, properties in self.values if properties & 0x02]:
            self.read_long(handle)

    def read_long(self, handle):
        answer = self.ask(b"\x0a" + u16(handle))
        length = len(answer) - 1
        while answer[0] in (0x0B, 0x0D) and len(answer) == self.mtu and length < 512:
            answer = self.ask(b"\x0c" + u16(handle) + u16(self.next_offset(length)))
            length += len(answer) - 1

    def next_offset(self, length):
        return length

    def write_values(self):
        for handle, properties in self.values:
            if properties & 0x0A == 0x0A:
                self.write_long(handle, bytes(at & 0xFF for at in range(self.mtu + 10)))

    def write_long(self, handle, value):
        """Writes in parts; cancels if a part is refused or comes back changed."""
        offset, is_right = 0, True
        while offset < len(value) and is_right:
            part = value[offset:offset + self.part_limit()]
            pdu = b"\x16" + u16(handle) + u16(self.part_offset(offset)) + part
            is_right = self.accepts(pdu, self.ask(pdu))
            offset += len(part)
        self.execute(is_right)

    def part_limit(self):
        return self.mtu - 5

    def part_offset(self, offset):
        return offset

    def accepts(self, pdu, answer):
        return answer == b"\x17" + pdu[1:]

    def execute(self, is_right):
        self.ask(b"\x18\x01" if is_right else b"\x18\x00")

