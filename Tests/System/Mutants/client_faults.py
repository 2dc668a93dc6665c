"""The catalogue of faulty clients: each breaks one rule of the correct one (`client.py`). See
`server_faults.py`."""

from catalogue import adding
from client import Client
from server import number, u16

FAULTS = []
fault = adding(FAULTS, Client)


def first(method):
    """Does something at the beginning of the work."""
    return lambda self: (method(self), Client.work(self))


def doubled(self, pdu):
    self.send(pdu)


# MARK: ATT_MTU

fault("offers an ATT_MTU of 5", "F, 3.4.2.1", "client/plain | *", MTU=5)
fault("exchanges ATT_MTU twice", "F, 3.4.2.1", "client/plain | *",
      exchange=lambda self: (Client.exchange(self), Client.exchange(self)))
fault("tries a refused exchange again", "F, 3.4.2.1", "mtu/refused",
      exchange=lambda self: Client.exchange(self) if self.ask(b"\x02" + u16(self.MTU))[0] == 1 else None)
fault("uses the server's ATT_MTU instead of the smaller one", "F, 3.4.2.2", "client/plain | *",
      agree=lambda self, theirs: setattr(self, "mtu", max(23, theirs)))
fault("uses its own ATT_MTU instead of the smaller one", "F, 3.4.2.2", "mtu/23 mtu/small",
      agree=lambda self, theirs: setattr(self, "mtu", self.MTU))
fault("uses its ATT_MTU although the exchange was refused", "F, 3.4.2.1", "mtu/refused | mtu/23",
      exchange=lambda self: (Client.exchange(self), setattr(self, "mtu", self.MTU)))
fault("sends parts longer than ATT_MTU", "F, 3.2.8", "client/plain | *", part_limit=lambda self: self.mtu - 4)

# MARK: The form of PDUs

fault("sends requests that are too short", "F, 3.4.4.3", "client/plain | *",
      work=first(lambda self: self.ask(b"\x0a\x16")))
fault("sends requests that are too long", "F, 3.4.4.3", "client/plain | *",
      work=first(lambda self: self.ask(b"\x0a\x16\0\0")))
fault("sends a UUID of 32 bits", "F, 3.2.1", "client/plain | *", primary=lambda self: b"\x00\x28\0\0")
fault("sends an empty PDU of one reserved opcode", "F, 3.4.8", "client/plain | *",
      work=first(lambda self: self.send(b"\x3e")))
fault("reads handle 0", "F, 3.2.2", "client/plain | *", work=first(lambda self: self.ask(b"\x0a\0\0")))
fault("writes handle 0", "F, 3.2.2", "client/plain | *", work=first(lambda self: self.send(b"\x52\0\0\1")))
fault("reads several values of one handle", "F, 3.4.4.7", "client/plain | *",
      work=first(lambda self: self.ask(b"\x0e\x16\0")))
fault("executes with reserved flags", "F, 3.4.6.3", "client/plain | *",
      execute=lambda self, is_right: self.ask(b"\x18\x02" if is_right else b"\x18\0"))
fault("sends confirmations with a value", "F, 3.4.7.3", "indication/unknown | indication/*",
      confirm=lambda self, pdu: self.send(b"\x1e" + pdu[1:3]))
fault("groups by characteristics", "F, 3.4.4.9", "client/plain | *",
      primary=lambda self: b"\x03\x28")

# MARK: Transactions

fault("sends the next request before the response", "F, 3.3.2", "client/plain | *",
      asked=lambda self, pdu: self.send(b"\x0a\x16\0") if pdu[0] == 0x10 else None)
fault("sends each request twice", "F, 3.3.2", "client/plain | *", asked=doubled)
fault("asks again after a second without a response", "F, 3.3.3", "timeout/late", PATIENCE=1,
      unanswered=lambda self, pdu: self.ask(pdu))
fault("goes on after a second without a response", "F, 3.3.3", "timeout/late", PATIENCE=1,
      unanswered=lambda self, pdu: b"\x01" + pdu[:1] + b"\0\0\x0e")
fault("does not confirm indications", "F, 3.4.7.2",
      "indication/unknown indication/handle-0 indication/two", confirm=lambda self, pdu: None)
fault("does not confirm indications of unknown handles", "F, 3.4.7.2", "indication/unknown indication/two",
      confirm=lambda self, pdu: Client.confirm(self, pdu) if number(pdu[1:]) < 0x7FF0 else None)
fault("does not confirm indications of the handle 0", "F, 3.4.7.2", "indication/handle-0",
      confirm=lambda self, pdu: Client.confirm(self, pdu) if number(pdu[1:]) else None)
fault("confirms indications twice", "F, 3.4.7.3", "indication/unknown | indication/*",
      confirm=lambda self, pdu: (self.send(b"\x1e"), self.send(b"\x1e")))
fault("confirms only after the response to its own request", "F, 3.3.2",
      "note:indication/unknown note:indication/handle-0 note:indication/two",
      confirm=lambda self, pdu: self.owed.append(b"\x1e"),
      ask=lambda self, pdu: (self.__dict__.setdefault("owed", []), Client.ask(self, pdu), [
          self.send(self.owed.pop()) for _ in self.owed[:]])[1])
fault("confirms notifications", "F, 3.4.7.1", "notification/unknown | notification/*",
      notified=lambda self, pdu: self.send(b"\x1e"))
fault("confirms several values in one PDU", "F, 3.4.7.4", "notification/several | notification/*",
      notified=lambda self, pdu: self.send(b"\x1e") if pdu[0] == 0x23 else None)
fault("sends a confirmation at the beginning", "F, 3.4.7.3", "client/plain | *",
      work=first(lambda self: self.send(b"\x1e")))
fault("sends a response at the beginning", "F, 3.3.2", "client/plain | *",
      work=first(lambda self: self.send(b"\x0b\x01")))
fault("notifies without a subscription", "G, 3.3.3.3", "client/plain | *",
      work=first(lambda self: self.send(b"\x1b\x03\0\x01")))
fault("answers unknown commands", "F, 3.3", "command/unknown", commanded=lambda self, pdu: self.send(
    bytes([1, pdu[0], 0, 0, 6])))
fault("does not answer requests", "F, 3.4.1.1",
      "request/exchange-mtu request/find-information request/unknown request/form request/read",
      answer=lambda self, pdu: None)
fault("answers Find Information with Request Not Supported", "F, 3.4.9", "request/find-information",
      answer=lambda self, pdu: self.send(b"\x01\x04\0\0\x06") if pdu[0] == 4 else Client.answer(self, pdu))
fault("answers Read with Request Not Supported", "F, 3.4.9", "request/read",
      answer=lambda self, pdu: self.send(b"\x01\x0a\0\0\x06") if pdu[0] == 0x0A and len(pdu) == 3
      else Client.answer(self, pdu))
fault("answers unknown requests with Invalid PDU", "F, 3.4.1.1", "request/unknown",
      answer=lambda self, pdu: self.send(bytes([1, pdu[0], 0, 0, 4])) if pdu[0] == 0x3F
      else Client.answer(self, pdu))
fault("does not answer unknown requests", "F, 3.4.1.1", "request/unknown",
      answer=lambda self, pdu: None if pdu[0] == 0x3F else Client.answer(self, pdu))
fault("does not answer malformed requests", "F, 3.4.1.1", "request/form",
      answer=lambda self, pdu: None if pdu[0] == 0x0A and len(pdu) != 3 else Client.answer(self, pdu))
fault("answers requests twice", "F, 3.3.2", "request/unknown | request/*",
      answer=lambda self, pdu: (Client.answer(self, pdu), Client.answer(self, pdu)))
fault("offers the server an ATT_MTU of 5", "F, 3.4.2.2", "request/exchange-mtu",
      offered=lambda self: b"\x03\x05\0")

# MARK: Searches

fault("searches from handle 0", "F, 3.4.3.1", "client/plain | *",
      discover=lambda self: (self.ask(b"\x10\0\0\xff\xff\0\x28"), Client.discover(self)))
fault("searches in ranges that end before they start", "F, 3.4.3.1", "client/plain | *",
      descriptors=lambda self, start, end: self.ask(b"\x04" + u16(start) + u16(end)) if start > end
      else Client.descriptors(self, start, end))
fault("starts again at 0 after the last handle", "F, 3.4.3.1", "client/plain | *",
      search=lambda self, opcode, start, end, kind=b"", size=None, group=False: (
          found := Client.search(self, opcode, start, end, kind, size, group),
          self.ask(bytes([opcode, 0, 0, 0xFF, 0xFF]) + kind) if opcode == 0x10 else None)[0])
fault("does not end a search without progress", "G, 4.4.1", "search/standing | search/*",
      is_next=lambda self, entry, last: True,
      continued=lambda self, entry, last: max(1, last + 1))
fault("continues a search at the found handle", "G, 4.4.1", "client/plain | *",
      is_next=lambda self, entry, last: True, continued=lambda self, entry, last: max(1, number(entry)))
fault("continues after the start of the last service", "G, 4.4.1", "client/plain | *",
      continued=lambda self, entry, last: number(entry) + 1)


def search_on(self, opcode, start, end, kind=b"", size=None, group=False):
    found = Client.search(self, opcode, start, end, kind, size, group)
    if opcode == 0x08 and start < end:
        self.ask(bytes([opcode]) + u16(end) + u16(end) + kind)
    return found


fault("goes on after Attribute Not Found", "G, 4.6.1", "client/plain | *", search=search_on)

# MARK: Values

fault("leaves out an octet of a long value", "G, 4.8.3", "client/plain | *",
      next_offset=lambda self, length: length + 1)
fault("leaves out an octet of a long value after its second part", "G, 4.8.3", "client/plain | *",
      next_offset=lambda self, length: length + (1 if length >= self.mtu else 0))
fault("reads the last octet of a part again", "G, 4.8.3", "client/plain | *",
      next_offset=lambda self, length: length - 1)
fault("executes a write whose echo differs", "G, 4.9.5", "prepare/echo",
      accepts=lambda self, pdu, answer: answer[0] == 0x17)
fault("executes a write of which a part was refused", "G, 4.9.4", "prepare/refused",
      accepts=lambda self, pdu, answer: answer[0] == 1 or answer == b"\x17" + pdu[1:])
fault("leaves prepared parts in the queue", "G, 4.9.4", "client/plain | *", execute=lambda self, is_right: None)
fault("leaves a gap between prepared parts", "G, 4.9.4", "client/plain | *",
      part_offset=lambda self, offset: offset + (1 if offset else 0))
