"""Servers with the habits of embedded hosts: each has one rule that differs from the correct server
(`server.py`), as it was seen at a host. They break the specification, but devices ship with them, so that a
client must get on with them, `atto fuzz` must go on, and `atto conform` must find them.

`all_of` a host has all its habits together."""

import catalogue
import server
from catalogue import Fault
from server import FORMS, Refused, Server, number, u16
from server_faults import FAULTS, altered

# Seen on 2026-11-25 and 2026-11-26 with the hosts that Stacks.md names.
BTSTACK, NIMBLE, ZEPHYR = "BTstack", "NimBLE", "Zephyr"
HABITS = []
_add = catalogue.adding(HABITS, Server)


def habit(stack, name, section, cases, cannot="", **changes):
    """`cannot` is what a long write says where the host has no way to do it."""
    _add(name, section, cases, **changes)
    HABITS[-1].stack, HABITS[-1].cannot = stack, cannot


def observed(stack, name, cannot=""):
    """A fault of the catalogue that is the habit of a host."""
    fault = next(one for one in FAULTS if one.name == name)
    HABITS.append(Fault(fault.name, fault.section, fault.must, fault.may, fault.make, stack, cannot))


def whole_services(self, link, pdu):
    """Services that end after the range of the search have no end in its response."""
    body = b""
    for one in self.found(pdu, lambda one: self.matches(link, one, pdu[5:7], pdu[7:])):
        body += u16(one.handle)
        if one.end > number(pdu[3:]):
            break
        body += u16(one.end)
    return b"\x07" + body[:link.mtu - 1]


def whole_groups(self, link, pdu):
    response = Server.read_by_group_type(self, link, pdu)
    length, entries = response[1], response[2:]
    whole = [entries[at:at + length] for at in range(0, len(entries), length)]
    return response[:2] + b"".join(one for one in whole if number(one[2:]) <= number(pdu[3:]))


def long_list(self, link, pdu):
    """The length of an entry has one octet, whatever the entry has."""
    entries = [u16(one.handle) + self.value(link, one)[:link.mtu - 4]
               for one in self.found(pdu, lambda one: self.same(one.kind, pdu[5:]))]
    if len(entries[0]) <= 255:
        return Server.read_by_type(self, link, pdu)
    self.check_read_by_type(link, self.attributes[number(entries[0])])
    return bytes([0x09, len(entries[0]) & 0xFF]) + self.packed(entries, link.mtu - 2)


def error_for_command(self, link, pdu):
    if pdu[0] != 0x52:
        return [self.error(pdu, 0, 0x06)]
    return Server.command(self, link, pdu) if number(pdu[1:]) in self.attributes else [
        self.error(pdu, number(pdu[1:]), 0x01)]


def error_for_confirmation(self, link):
    return Server.confirmed(self, link) if link.is_confirming else [bytes([0x01, 0x1E, 0, 0, 0x06])]


def not_long(self, link, one, offset, part):
    if offset:
        raise Refused(0x0B, one.handle)
    Server.enqueue(self, link, one, offset, part)


def from_zero(self, link, parts):
    for one, offset, _ in parts:
        if offset:
            raise Refused(0x07, one.handle)
    Server.check_parts(self, link, parts)


def in_ten_buffers(self, link, pdu):
    """The link ends where nothing takes the commands."""
    link.row = getattr(link, "row", 0) + 1
    return None if link.row > 10 else Server.command(self, link, pdu)


def free_buffers(self, link, pdu):
    link.row = 0
    return Server.request(self, link, pdu)


def indicate_at_once(self, link, handle, value):
    Server.configure(self, link, handle, value)
    if self.indicated(link, handle) and self.may_indicate(link):
        self.indicate(link, handle - 1)


habit(BTSTACK, "gives a service that ends after the range no end", "F, 3.4.3.4",
      "search/services-by-uuid search/ranges", find_by_type_value=whole_services, read_by_group_type=whole_groups)
habit(BTSTACK, "sends lists longer than their octet of length can say", "F, 3.4.4.2", "mtu/large", read_by_type=long_list)
habit(BTSTACK, "accepts an Execute Write Request of three octets", "F, 3.4.1.1", "form/execute-write",
      is_formed=lambda self, link, pdu: (pdu[0] == 0x18 and len(pdu) == 3) or Server.is_formed(self, link, pdu))
habit(BTSTACK, "answers commands and what was not asked with errors", "F, 3.3",
      "form/unknown-command form/command form/unasked write/signed",
      command=error_for_command, confirmed=error_for_confirmation,
      unasked=lambda self, link, pdu: [self.error(pdu, 0, 0x06)])
habit(BTSTACK, "answers Read Blob at 1 with the octets from 0 on", "F, 3.4.4.6", "read/blob",
      blob_offset=lambda self, pdu: 0 if number(pdu[3:]) == 1 else number(pdu[3:]))
habit(BTSTACK, "refuses a part after the first with Attribute Not Long", "F, 3.4.6.1", "",
      cannot="attribute not long", enqueue=not_long)
habit(NIMBLE, "ends the last service at 0xFFFF in one search only", "F, 3.4.4.10", "",
      database=altered(lambda all: [all.pop(handle) for handle in (0xFFFD, 0xFFFE, 0xFFFF)]),
      group_end=lambda self, one: 0xFFFF if one.handle == 0x00A1 else one.end,
      found_end=lambda self, one: one.end)
habit(NIMBLE, "does not answer malformed requests", "F, 3.4.1.1", "form/read | form/*",
      malformed=lambda self, link, pdu: [])
habit(NIMBLE, "answers Read Multiple without handles", "F, 3.4.4.7", "form/read-multiple form/read-multiple-variable",
      is_formed=lambda self, link, pdu: (pdu[0] in (0x0E, 0x20) and len(pdu) == 1) or Server.is_formed(self, link, pdu))
habit(NIMBLE, "refuses to execute a part that does not begin at 0", "F, 3.4.6.3", "queue/offset",
      cannot="invalid offset", check_parts=from_zero)
habit(NIMBLE, "has ten buffers for commands", "F, 3.3", "", command=in_ten_buffers, request=free_buffers)
observed(NIMBLE, "compares only UUIDs of one size")
observed(NIMBLE, "Find By Type Value fails at an unreadable value")
observed(NIMBLE, "Read Multiple checks only what fits")
observed(NIMBLE, "Read Multiple Variable cuts lengths to what fits")
habit(NIMBLE, "indicates before the Write Response to the configuration", "F, 3.3.2", "", configure=indicate_at_once)
habit(ZEPHYR, "cuts the ends of services at the range of the search", "F, 3.4.4.10", "search/services-by-uuid",
      find_by_type_value=lambda self, link, pdu: b"\x07" + self.packed(
          [u16(one.handle) + u16(min(one.end, number(pdu[3:]))) for one in self.found(
              pdu, lambda one: self.matches(link, one, pdu[5:7], pdu[7:]))], link.mtu - 1),
      read_by_group_type=lambda self, link, pdu: self.cut_groups(link, pdu),
      cut_groups=lambda self, link, pdu: (lambda response: response[:2] + b"".join(
          response[at:at + 2] + u16(min(number(response[at + 2:]), number(pdu[3:]))) + response[at + 4:at + response[1]]
          for at in range(2, len(response), response[1])))(Server.read_by_group_type(self, link, pdu)))
habit(ZEPHYR, "checks only the least length of each request", "F, 3.4.1.1", "form/read | form/*",
      is_formed=lambda self, link, pdu: self.fits(link, pdu) and (
          len(pdu) >= FORMS[pdu[0]] if isinstance(FORMS[pdu[0]], int) else FORMS[pdu[0]](len(pdu))))
habit(ZEPHYR, "answers responses and notifications with errors", "F, 3.3", "form/unasked",
      unasked=lambda self, link, pdu: [self.error(pdu, 0, 0x06)])
observed(ZEPHYR, "executes up to the part that fails")
observed(ZEPHYR, "accepts Execute Write with reserved flags")
observed(ZEPHYR, "echoes zeros", cannot="differs from it")


def all_of(stack):
    """A server with every habit of a host."""
    habits = [one for one in HABITS if one.stack == stack]
    whole = Fault(
        f"all habits of {stack}", "Vol 3, Part F", sorted({name for one in habits for name in one.must}),
        sorted({name for one in habits for name in one.may}),
        type("Host", tuple(one.make for one in habits), {}), stack)
    whole.cannot = next((one.cannot for one in habits if one.cannot), "")
    return whole


HABITS += [all_of(stack) for stack in (BTSTACK, NIMBLE, ZEPHYR)]
