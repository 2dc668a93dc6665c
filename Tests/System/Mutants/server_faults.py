"""The catalogue of faulty servers: each breaks one rule of the correct one (`server.py`). With it stand the
section of the specification and the cases of `atto conform` that must find it; after `|` those that may
break too, because what they do needs the rule."""

from catalogue import adding
import server
from server import CONFIGURATION, LONG, Refused, Server, database, number, u16

FAULTS = []
fault = adding(FAULTS, Server)


def altered(change):
    """A database with a change."""
    def build(self):
        attributes = database()
        change(attributes)
        return attributes
    return build


def answered(change, *opcodes):
    """Answers that `change(pdu, answer)` has changed, of requests with these opcodes or of all."""
    def answers(self, link, pdu, answer):
        return [change(pdu, answer)] if pdu[0] in opcodes or not opcodes else [answer]
    return answers


def refused(code, of, *opcodes):
    """Errors with another code than the right one."""
    return answered(
        lambda pdu, answer: answer[:4] + bytes([code])
        if answer[0] == 1 and answer[4] == of else answer, *opcodes)


def silent(what):
    """No answer where `what(pdu, answer)` holds."""
    return lambda self, link, pdu, answer: [] if what(pdu, answer) else [answer]


def is_error(answer, code):
    return answer[0] == 0x01 and answer[4] == code


# MARK: ATT_MTU

fault("offers an ATT_MTU of 5", "F, 3.4.2.2", "mtu/exchange | links/mtu mtu/large mtu/used", offer=lambda self, link: 5)
fault("does not use the exchanged ATT_MTU", "F, 3.4.2.2", "mtu/used mtu/large",
      read_limit=lambda self, link: 22)
fault("uses the exchanged ATT_MTU for Read only", "F, 3.4.4.6", "mtu/used mtu/large",
      blob_limit=lambda self, link: 22)
fault("uses its own ATT_MTU instead of the smaller one", "F, 3.4.2.2", "mtu/used | links/mtu mtu/small order/once",
      agree=lambda self, link, theirs: setattr(link, "mtu", self.MTU))
fault("uses the client's ATT_MTU instead of the smaller one", "F, 3.4.2.2", "mtu/large | links/mtu mtu/used",
      MTU=64, agree=lambda self, link, theirs: setattr(link, "mtu", max(23, theirs)))
fault("has one ATT_MTU for all clients", "F, 3.2.11", "links/mtu",
      agree=lambda self, link, theirs: [
          setattr(one, "mtu", max(23, min(theirs, self.MTU))) for one in self.links])
def keep_mtu(self, link):
    self.links.append(link)
    link.mtu = getattr(self, "last", 23)


def agree_and_keep(self, link, theirs):
    Server.agree(self, link, theirs)
    self.last = link.mtu


fault("keeps ATT_MTU for the next link", "F, 3.2.8", "links/mtu | mtu/used notify/* order/pipelined read/* search/uuid-of-128-bits write/others", opened=keep_mtu, agree=agree_and_keep)
fault("takes an ATT_MTU below 23", "F, 3.2.8", "mtu/small",
      agree=lambda self, link, theirs: setattr(link, "mtu", max(6, min(theirs, self.MTU))))
fault("does not answer a second exchange", "F, 3.4.2.1", "mtu/repeated",
      request=lambda self, link, pdu: Server.request(self, link, pdu),
      answers=lambda self, link, pdu, answer: []
      if pdu[0] == 2 and link.__dict__.setdefault("seen", []) else (
          link.__dict__.setdefault("seen", []).append(1) if pdu[0] == 2 else None, [answer])[1])
fault("cuts Read By Type at 255 octets of a value", "F, 3.4.4.2", "mtu/large",
      answers=answered(lambda pdu, answer: answer + b"\0\0" if answer[1] == 255 else answer, 0x08))
fault("refuses requests of ATT_MTU octets", "F, 3.2.8", "form/as-long-as-mtu | read/multiple-variable-cut search/services-by-uuid",
      fits=lambda self, link, pdu: len(pdu) < link.mtu)
fault("sends Read Responses longer than ATT_MTU", "F, 3.2.8", "survey/database", read_limit=lambda self, link: link.mtu)

# MARK: The form of PDUs

fault("ignores requests that are too short", "F, 3.4.1.1", "form/read | form/*",
      malformed=lambda self, link, pdu: [] if len(pdu) < 5 else Server.malformed(self, link, pdu))
fault("ends the link after a malformed request", "F, 3.4.1.1", "form/read | form/*",
      malformed=lambda self, link, pdu: None)
fault("answers malformed requests with Unlikely Error", "F, 3.4.1.1", "form/read | form/*",
      malformed=lambda self, link, pdu: [self.error(pdu, 0, 0x0E)])
for opcode, name, good in [
    (0x04, "find-information", 5), (0x08, "read-by-type", 7), (0x0A, "read", 3), (0x0C, "read-blob", 5),
    (0x10, "read-by-group-type", 7), (0x18, "execute-write", 2),
]:
    fault(f"checks only the least length of {name}", "F, 3.4.1.1", f"form/{name} | form/longer-than-mtu",
          is_formed=lambda self, link, pdu, opcode=opcode, good=good: len(pdu) >= good
          if pdu[0] == opcode else Server.is_formed(self, link, pdu))
fault("accepts an odd number of octets in Read Multiple", "F, 3.4.4.7", "form/read-multiple",
      is_formed=lambda self, link, pdu: len(pdu) >= 5 if pdu[0] == 0x0E else Server.is_formed(self, link, pdu))
fault("accepts Read Multiple of one handle", "F, 3.4.4.7", "form/read-multiple",
      is_formed=lambda self, link, pdu: len(pdu) == 3 or Server.is_formed(self, link, pdu)
      if pdu[0] == 0x0E else Server.is_formed(self, link, pdu))
fault("accepts requests longer than ATT_MTU", "F, 3.2.8", "form/longer-than-mtu",
      is_formed=lambda self, link, pdu: len(pdu) > link.mtu or Server.is_formed(self, link, pdu))
fault("does not answer unknown requests", "F, 3.4.1.1", "form/unknown-request",
      unknown=lambda self, link, pdu: [])
fault("answers unknown requests with Invalid PDU", "F, 3.4.1.1", "form/unknown-request",
      unknown=lambda self, link, pdu: [self.error(pdu, 0, 0x04)])
fault("ends the link after an unknown request", "F, 3.4.1.1", "form/unknown-request",
      unknown=lambda self, link, pdu: None)
fault("answers unknown commands", "F, 3.3", "form/unknown-command",
      command=lambda self, link, pdu: Server.command(self, link, pdu) if pdu[0] in (0x52, 0xD2) else [
          self.error(pdu, 0, 0x06)])
fault("answers a command of an unknown handle", "F, 3.4.5.3", "form/command",
      command=lambda self, link, pdu: [self.error(pdu, number(pdu[1:]), 0x01)]
      if number(pdu[1:]) not in self.attributes and len(pdu) > 3 and pdu[0] == 0x52
      else Server.command(self, link, pdu))
fault("answers confirmations", "F, 3.3", "form/unasked | indicate/confirmed notify/*",
      confirmed=lambda self, link: Server.confirmed(self, link) + [b"\x01\x1e\0\0\x06"])
fault("answers unsolicited responses", "F, 3.3", "form/unasked",
      unasked=lambda self, link, pdu: [self.error(pdu, 0, 0x06)])
fault("answers an unsolicited error", "F, 3.3", "form/unasked",
      unasked=lambda self, link, pdu: [self.error(pdu, 0, 0x06)] if pdu[0] == 1 else [])
fault("ends the link after an unsolicited response", "F, 3.3", "form/unasked",
      unasked=lambda self, link, pdu: None)
fault("sends Error Responses without a code", "F, 3.4.1.1", "range/read-by-type | order/once permission/write-unknown range/* read/*",
      answers=answered(lambda pdu, answer: answer[:4] if answer[0] == 1 and answer[4] == 1 else answer))
fault("sends the error code 0x00", "F, 3.4.1.1", "read/unknown-handle | order/once permission/write-unknown range/* read/multiple-beyond read/multiple-unknown", answers=refused(0, 1))
fault("names the response instead of the request in errors", "F, 3.4.1.1", "read/unknown-handle | order/once permission/write-unknown range/* read/multiple-beyond read/multiple-unknown",
      answers=answered(lambda pdu, answer: b"\x01" + bytes([pdu[0] + 1]) + answer[2:]
                       if is_error(answer, 1) else answer))
fault("swaps the octets of handles in errors", "F, 3.4.1.1", "read/unknown-handle | permission/write-unknown range/* read/multiple-beyond read/multiple-unknown",
      answers=answered(lambda pdu, answer: answer[:2] + answer[3:1:-1] + answer[4:]
                       if is_error(answer, 1) else answer))
fault("names no handle in errors", "F, 3.4.1.1", "permission/read | permission/read-multiple permission/refused",
      answers=answered(lambda pdu, answer: answer[:2] + b"\0\0" + answer[4:]
                       if is_error(answer, 2) else answer))

# MARK: Searches

for opcode, name in [(0x04, "find-information"), (0x06, "find-by-type-value"), (0x08, "read-by-type"),
                     (0x10, "read-by-group-type")]:
    fault(f"searches from handle 0 with {name}", "F, 3.4.3 and 3.4.4", f"range/{name}",
          check_range=lambda self, pdu, opcode=opcode: Server.check_range(
              self, b"\x00\x01\x00" + pdu[3:] if pdu[0] == opcode and number(pdu[1:]) == 0 else pdu))
    fault(f"accepts a range that ends before its start with {name}", "F, 3.4.3 and 3.4.4", f"range/{name}",
          check_range=lambda self, pdu, opcode=opcode: None
          if pdu[0] == opcode and number(pdu[1:]) else Server.check_range(self, pdu))
fault("answers a wrong range with Attribute Not Found", "F, 3.4.3.1", "range/find-information",
      answers=refused(0x0A, 0x01, 0x04))
fault("names the end of a wrong range", "F, 3.4.3.1", "range/read-by-type",
      answers=answered(lambda pdu, answer: answer[:2] + pdu[3:5] + answer[4:]
                       if is_error(answer, 1) else answer, 0x08))
fault("answers a search without a result with Invalid Handle", "F, 3.4.3.1", "search/ranges",
      not_found=lambda self, pdu: 0x01 if pdu[0] == 0x04 else 0x0A)
fault("answers a search without a result with an empty list", "F, 3.4.4.2", "survey/database",
      answers=answered(lambda pdu, answer: b"\x09\x07" if is_error(answer, 0x0A) and pdu[1] != 1
                       else answer, 0x08))
fault("answers Find By Type Value without a result with a handle", "F, 3.4.3.4", "search/services-by-uuid | form/as-long-as-mtu order/once search/ranges search/value-without-permission",
      answers=answered(lambda pdu, answer: b"\x07\x01\0" if is_error(answer, 0x0A) else answer, 0x06))
fault("does not answer a search without a result", "F, 3.4.3.1", "search/ranges | search/services-by-uuid search/value-without-permission",
      answers=silent(lambda pdu, answer: is_error(answer, 0x0A) and number(pdu[3:]) != 0xFFFF))
fault("names the end of the range where nothing was found", "F, 3.4.3.1", "search/ranges",
      not_found_handle=lambda self, pdu: number(pdu[3:]) if number(pdu[3:]) != 0xFFFF else number(pdu[1:]))
fault("ignores the end of a range", "F, 3.4.3.1", "search/ranges | mtu/twice-at-once read/same search/services-by-uuid",
      in_range=lambda self, handle, start, end: start <= handle)
fault("leaves out the end of a range", "F, 3.4.3.1", "search/ranges | permission/refused read/same search/services-by-uuid",
      in_range=lambda self, handle, start, end: start <= handle and (handle < end or end == 0xFFFF))
fault("leaves out the start of a range", "F, 3.4.3.1", "search/ranges | gatt/database-hash gatt/descriptors permission/refused permission/write-unknown read/* search/*",
      in_range=lambda self, handle, start, end: handle <= end and (start < handle or start == 1))
fault("leaves out the handle 0xFFFF", "F, 3.4.3.1", "search/declarations | permission/write-unknown read/*",
      in_range=lambda self, handle, start, end: start <= handle <= end and handle != 0xFFFF)
fault("returns attributes out of order", "F, 3.4.3.2", "survey/database | order/once",
      ordered=lambda self: sorted(self.attributes.values(), key=lambda one: one.handle ^ 1))
fault("mixes UUIDs of both sizes in one list", "F, 3.4.3.2", "survey/database",
      find_information=lambda self, link, pdu: b"\x05\x01" + b"".join(
          u16(one.handle) + one.kind for one in self.found(pdu, lambda one: True)[:2]))
fault("says the wrong format of UUIDs", "F, 3.4.3.2", "survey/database", format=lambda self, entry: 1)
fault("mixes entries of different lengths", "F, 3.4.4.2", "survey/database | order/once search/uuid-of-128-bits",
      packed=lambda self, entries, room, count=None: b"".join(entries)[:room])
fault("hides a descriptor from Find Information", "F, 3.4.3.2", "read/unknown-handle | gatt/database-hash",
      found=lambda self, pdu, fits: Server.found(
          self, pdu, lambda one: fits(one) and (pdu[0] != 0x04 or one.handle != 0x0014)))
fault("lists a descriptor that does not exist", "F, 3.4.3.2", "read/attributes",
      attribute=lambda self, handle: Server.attribute(self, 0x0015 if handle == 0x0014 else handle))
fault("does not find a service by its group", "F, 3.4.4.9", "search/groups | search/declarations search/many-matches",
      found=lambda self, pdu, fits: Server.found(
          self, pdu, lambda one: fits(one) and (pdu[0] != 0x10 or one.handle != 0xFFFD)))
fault("does not find a characteristic by its type", "F, 3.4.4.1", "search/groups",
      found=lambda self, pdu, fits: Server.found(
          self, pdu, lambda one: fits(one) and (pdu[0] != 0x08 or one.handle != 0xFFFE)))
fault("groups by any type", "F, 3.4.4.9", "search/group-type", is_group=lambda self, kind: True)
fault("groups by characteristics", "F, 3.4.4.9", "search/group-type",
      is_group=lambda self, kind: Server.is_group(self, kind) or kind == b"\x03\x28")
fault("answers an unsupported group type with Attribute Not Found", "F, 3.4.4.9", "search/group-type",
      answers=refused(0x0A, 0x10))
fault("compares only UUIDs of one size", "F, 3.2.1", "search/uuid-of-128-bits",
      same=lambda self, one, other: one == other)
fault("ends a service before its last attribute", "G, 3.1", "search/declarations | search/groups",
      group_end=lambda self, one: one.end - 1 if one.handle == 0x0001 else one.end)
fault("ends a service after the start of the next", "G, 3.1", "survey/database",
      group_end=lambda self, one: one.end + 1 if one.handle == 0x0001 else one.end)
fault("ends a group at its start", "F, 3.4.4.10", "search/declarations | search/groups search/includes",
      group_end=lambda self, one: one.handle)
fault("ends services at the end of the range", "F, 3.4.3.4", "search/services-by-uuid",
      find_by_type_value=lambda self, link, pdu: b"\x07" + self.packed(
          [u16(one.handle) + u16(min(one.end, number(pdu[3:]))) for one in self.found(
              pdu, lambda one: self.matches(link, one, pdu[5:7], pdu[7:]))], link.mtu - 1))
fault("Find By Type Value gives another end", "F, 3.4.3.4", "search/services-by-uuid | search/many-matches",
      found_end=lambda self, one: one.handle)
fault("Find By Type Value compares the first octet only", "F, 3.4.3.3", "search/services-by-uuid | search/many-matches search/ranges",
      is_value=lambda self, one, value: one.value[:1] == value[:1])
fault("Find By Type Value accepts the beginning of a value", "F, 3.4.3.3", "search/services-by-uuid",
      is_value=lambda self, one, value: one.value.startswith(value))
fault("Find By Type Value finds nothing of 128 bits", "F, 3.4.3.3", "search/services-by-uuid",
      is_value=lambda self, one, value: one.value == value and len(value) == 2)
fault("Find By Type Value returns incomplete pairs", "F, 3.4.3.4", "search/many-matches",
      answers=answered(lambda pdu, answer: answer[:-1] if len(answer) > 5 else answer, 0x06))
fault("Find By Type Value fails at an unreadable value", "F, 3.4.3.3", "search/value-without-permission",
      answers=answered(lambda pdu, answer: answer[:4] + b"\x02" if is_error(answer, 0x0A)
                       and pdu[5:7] != b"\0\x28" else answer, 0x06))
fault("declares a value at another handle", "G, 3.3.1", "search/declarations | read/same",
      database=altered(lambda all: setattr(all[0x0012], "value", b"\x0e\x14\x00\x01\xb0")))
fault("declares a value of another type", "G, 3.3.1", "search/declarations | read/same",
      database=altered(lambda all: setattr(all[0x0012], "value", b"\x0e\x13\x00\x11\xb0")))
fault("declares a characteristic in five octets less", "G, 3.3.1", "survey/database",
      database=altered(lambda all: setattr(all[0x0012], "value", b"\x0e\x13\x00")))
fault("puts a descriptor before the value", "G, 3.3.2", "search/declarations",
      database=altered(lambda all: (
          all.update({0x0054: server.Attribute(0x0054, u16(0xB011), b"\x11"), 0x0053: server.Attribute(
              0x0053, u16(0x2901), b"Text")}), setattr(all[0x0052], "value", b"\x02\x54\x00\x11\xb0"))))
fault("includes a service that does not exist", "G, 3.2", "search/includes",
      database=altered(lambda all: setattr(all[0x0011], "value", u16(0x44) + u16(0x4F) + u16(0xA200))))
fault("gives an include of 128 bits a UUID", "G, 3.2", "search/includes",
      database=altered(lambda all: setattr(all[0x0061], "value", u16(0x50) + u16(0x5F) + LONG)))
fault("includes a service after a characteristic", "G, 3.1", "search/includes",
      database=altered(lambda all: all.update(
          {0x0043: server.Attribute(0x0043, u16(0x2802), u16(0x10) + u16(0x3F) + u16(0xA100))})))

# MARK: Reading

fault("answers an unknown handle with Attribute Not Found", "F, 3.4.4.3", "read/unknown-handle",
      answers=refused(0x0A, 0x01, 0x0A))
fault("reads handle 0", "F, 3.2.2", "read/unknown-handle | permission/write-unknown",
      attribute=lambda self, handle: Server.attribute(self, handle or 1))
fault("reads a gap as an empty value", "F, 3.4.4.3", "read/unknown-handle",
      attribute=lambda self, handle: server.Attribute(handle, b"\1\x2a", b"", write=0x01)
      if handle == 0x0015 else Server.attribute(self, handle))
fault("declarations need encryption", "G, 3.1", "read/declarations | gatt/database-hash",
      check_read=lambda self, link, one: (_ for _ in ()).throw(Refused(0x0F, one.handle))
      if one.handle == 0x0060 else Server.check_read(self, link, one),
      check_read_by_type=lambda self, link, one: Server.check_read(self, link, one))
fault("cuts a Read Response one octet short", "F, 3.4.4.4", "read/blob | links/mtu mtu/used read/blob-end read/* mtu/* links/mtu",
      read_limit=lambda self, link: link.mtu - 2)
fault("cuts a Read Blob Response one octet short", "F, 3.4.4.6", "read/blob | mtu/used read/blob-end read/* mtu/* links/mtu",
      blob_limit=lambda self, link: link.mtu - 2)
fault("ignores the offset of Read Blob", "F, 3.4.4.5", "read/blob | mtu/large mtu/used read/blob-end read/* mtu/* links/mtu",
      blob_offset=lambda self, pdu: 0, check_offset=lambda self, pdu, offset, value:
      Server.check_offset(self, pdu, number(pdu[3:]), value))
fault("reads the offset of Read Blob as one octet", "F, 3.4.4.5", "mtu/large | read/*",
      blob_offset=lambda self, pdu: pdu[3])
fault("counts the offset of Read Blob from 1", "F, 3.4.4.5", "read/blob | mtu/large read/blob-end mtu/used read/* mtu/* links/mtu",
      blob_offset=lambda self, pdu: max(0, number(pdu[3:]) - 1))
fault("answers an offset after the end with no octets", "F, 3.4.4.5", "read/blob-end",
      check_offset=lambda self, pdu, offset, value: None)
fault("refuses the offset at the end", "F, 3.4.4.5", "read/blob-end",
      check_offset=lambda self, pdu, offset, value: Server.check_offset(self, pdu, offset + 1, value))
fault("answers an offset after the end with Invalid Handle", "F, 3.4.4.5", "read/blob-end",
      answers=refused(0x01, 0x07))
fault("pads Read Blob Responses", "F, 3.4.4.6", "read/blob | mtu/large mtu/used read/blob-end read/* mtu/* links/mtu",
      answers=answered(lambda pdu, answer: answer.ljust(23, b"\0") if answer[0] == 0x0D else answer, 0x0C))
fault("Read By Type returns another value", "F, 3.4.4.2", "read/same",
      answers=answered(lambda pdu, answer: answer[:-1] + bytes([answer[-1] ^ 1])
                       if answer[0] == 9 and pdu[5:] != b"\3\x28" and pdu[1:3] == pdu[3:5] else answer, 0x08))
fault("Read Multiple sorts the handles", "F, 3.4.4.8", "read/multiple",
      read_multiple=lambda self, link, pdu: Server.read_multiple(
          self, link, pdu[:1] + b"".join(map(u16, sorted(self.handles(pdu))))))
fault("Read Multiple returns the first value only", "F, 3.4.4.8", "read/multiple",
      read_multiple=lambda self, link, pdu: (b"\x0f" + self.together(link, pdu)[0])[:link.mtu])
fault("Read Multiple skips unknown handles", "F, 3.4.4.7", "read/multiple-unknown | read/multiple-beyond",
      handles=lambda self, pdu: [one for one in Server.handles(self, pdu)
                                 if one in self.attributes or pdu[0] == 0x20])
fault("Read Multiple checks only what fits", "F, 3.4.4.7", "read/multiple-beyond | permission/read-multiple read/multiple-unknown",
      read_multiple=lambda self, link, pdu: Server.read_multiple(self, link, pdu[:1] + b"".join(
          u16(handle) for at, handle in enumerate(self.handles(pdu)) if at == 0 or sum(
              len(self.attributes[one].value) for one in self.handles(pdu)[:at]
              if one in self.attributes) < link.mtu - 1)))
fault("Read Multiple names the first handle in errors", "F, 3.4.4.7", "read/multiple-unknown | read/multiple-beyond",
      answers=answered(lambda pdu, answer: answer[:2] + pdu[1:3] + answer[4:]
                       if is_error(answer, 1) else answer, 0x0E))
fault("Read Multiple Variable leaves out lengths", "F, 3.4.4.12", "read/multiple-variable read/multiple-variable-cut | order/once",
      read_multiple_variable=lambda self, link, pdu: (b"\x21" + b"".join(self.together(link, pdu)))[:link.mtu])
fault("Read Multiple Variable cuts lengths to what fits", "F, 3.4.4.12", "read/multiple-variable-cut",
      read_multiple_variable=lambda self, link, pdu: (b"\x21" + b"".join(
          u16(len(value)) + value for value in self.together(link, pdu)))[:link.mtu])
fault("Read Multiple Variable exceeds ATT_MTU", "F, 3.4.4.12", "read/multiple-variable-cut | order/once read/multiple-variable",
      read_multiple_variable=lambda self, link, pdu: b"\x21" + b"".join(
          u16(len(value)) + value for value in self.together(link, pdu)))
fault("Read Multiple Variable sends lengths most significant octet first", "F, 3.4.4.12",
      "read/multiple-variable", read_multiple_variable=lambda self, link, pdu: (b"\x21" + b"".join(
          len(value).to_bytes(2, "big") + value for value in self.together(link, pdu)))[:link.mtu])
fault("Read By Type fails for a list that ends with an unreadable value", "F, 3.4.4.1", "read/by-type-prefix",
      read_by_type=lambda self, link, pdu: (
          [self.check_read(link, one) for one in self.found(pdu, lambda one: self.same(one.kind, pdu[5:]))],
          Server.read_by_type(self, link, pdu))[1])

# MARK: Permissions

fault("reads values without the property", "G, 3.3.1.1", "permission/read",
      check_read=lambda self, link, one: None if one.read == 0x02 else Server.check_read(self, link, one))
fault("answers unreadable values with Invalid Handle", "F, 3.4.4.3", "permission/read",
      answers=refused(0x01, 0x02, 0x0A))
fault("answers unreadable values with the error for writes", "F, 3.4.4.3", "permission/read",
      answers=refused(0x03, 0x02))
fault("Read Blob does not check permissions", "F, 3.2.5", "permission/refused",
      readable_part=lambda self, link, handle: self.attribute(handle))
fault("Read By Type does not check permissions", "F, 3.2.5", "permission/refused",
      check_read_by_type=lambda self, link, one: None)
fault("Read By Type skips unreadable values", "F, 3.4.4.1", "permission/refused",
      answers=answered(lambda pdu, answer: b"\x01\x08" + pdu[1:3] + b"\x0a"
                       if answer[0] == 1 and answer[4] in (2, 5, 15) else answer, 0x08))
fault("Read Multiple does not check permissions", "F, 3.4.4.7", "permission/refused | permission/read-multiple",
      together=lambda self, link, pdu: [self.value(link, self.attribute(handle)) for handle in self.handles(pdu)])
fault("Read Multiple names another handle in errors of permissions", "F, 3.4.4.7", "permission/read-multiple",
      answers=answered(lambda pdu, answer: answer[:2] + pdu[1:3] + answer[4:]
                       if answer[0] == 1 and answer[4] in (2, 5, 15) else answer, 0x0E, 0x20))
fault("writes declarations", "G, 3.1", "permission/write-declaration",
      check_write=lambda self, link, one: None if one.kind in (b"\0\x28", b"\3\x28") else
      Server.check_write(self, link, one))
fault("writes values without the property", "G, 3.3.1.1", "permission/write | permission/command",
      check_write=lambda self, link, one: None if one.handle == 0x001E else Server.check_write(self, link, one))
fault("writes values that can only be notified", "G, 3.3.1.1", "permission/write",
      database=altered(lambda all: (
          setattr(all[0x0007 + 1], "write", 0))))
fault("writes read-only descriptors", "G, 3.3.3.5", "permission/write-descriptor",
      check_write=lambda self, link, one: None if one.kind in (b"\x04\x29",) else Server.check_write(self, link, one))
fault("commands do not check permissions", "F, 3.4.5.3", "permission/command | gatt/database-hash",
      commanded=lambda self, link, handle: self.attribute(handle))
fault("prepares do not check permissions", "F, 3.4.6.1", "permission/write",
      preparable=lambda self, link, handle: self.attribute(handle))
fault("answers writes of unknown handles with Write Not Permitted", "F, 3.4.5.1", "permission/write-unknown",
      answers=refused(0x03, 0x01, 0x12, 0x16))
fault("accepts writes of unknown handles", "F, 3.4.5.1", "permission/write-unknown",
      answers=answered(lambda pdu, answer: b"\x13" if is_error(answer, 1) else answer, 0x12))
fault("prepares writes of unknown handles", "F, 3.4.6.1", "permission/write-unknown",
      answers=answered(lambda pdu, answer: b"\x17" + pdu[1:] if is_error(answer, 1) else answer, 0x16))

# MARK: Writing

fault("answers writes and stores nothing", "F, 3.4.5.1", "write/stored",
      put=lambda self, link, one, offset, value: Server.put(self, link, one, offset, value)
      if one.kind in (u16(CONFIGURATION), u16(0x2B29)) else None)
fault("stores a write and does not answer it", "F, 3.4.5.2", "write/same | gatt/features indicate/confirmed notify/* queue/* write/*",
      answers=silent(lambda pdu, answer: answer == b"\x13"))
fault("answers a write with the value", "F, 3.4.5.2", "write/same | gatt/features indicate/confirmed notify/* queue/* write/*",
      answers=answered(lambda pdu, answer: answer + pdu[3:] if answer == b"\x13" else answer, 0x12))
fault("stores values without their last octet", "F, 3.4.5.1", "write/same | write/configuration-length write/length",
      written=lambda self, pdu: pdu[3:-1] if len(pdu) > 4 else pdu[3:])
fault("has one buffer for all writes", "F, 3.4.5.1", "write/others | write/length",
      put=lambda self, link, one, offset, value: [
          Server.put(self, link, each, offset, value) for each in self.attributes.values()
          if not each.write and each.kind not in (u16(CONFIGURATION), u16(0x2B29))]
      if one.kind not in (u16(CONFIGURATION), u16(0x2B29)) else Server.put(self, link, one, offset, value))
fault("cuts values that are too long", "F, 3.4.5.1", "write/too-long | write/*",
      check_value=lambda self, link, one, offset, value: Server.check_value(
          self, link, one, offset, value[:max(0, one.most - offset)]),
      put=lambda self, link, one, offset, value: Server.put(
          self, link, one, offset, value[:max(0, one.most - offset)]))
fault("keeps the end of a longer value of variable length in zeros", "F, 3.4.5.1", "write/length",
      put=lambda self, link, one, offset, value: Server.put(
          self, link, one, offset, value.ljust(len(one.value), b"\0") if offset == 0 and one.fixed is False
          and one.kind not in (u16(CONFIGURATION), u16(0x2B29)) else value))
fault("accepts values of 513 octets", "F, 3.2.9", "write/too-long",
      check_value=lambda self, link, one, offset, value: None if len(value) == 513
      else Server.check_value(self, link, one, offset, value))
fault("ignores commands", "F, 3.4.5.3", "write/command", command=lambda self, link, pdu: [])
fault("answers commands", "F, 3.4.5.3", "write/command",
      command=lambda self, link, pdu: Server.command(self, link, pdu) or (
          [b"\x13"] if pdu[0] == 0x52 and number(pdu[1:]) == 0x0013 else []))
fault("does not check signatures", "F, 3.4.5.4", "write/signed",
      command=lambda self, link, pdu: Server.command(
          self, link, b"\x52" + pdu[1:-12] if pdu[0] == 0xD2 and len(pdu) >= 15 else pdu))
fault("has one configuration for all clients", "G, 3.3.3.3", "write/configuration | indicate/confirmed notify/*",
      configuration=lambda self, link, handle: self.__dict__.setdefault("all", {}).get(handle, b"\0\0"),
      configure=lambda self, link, handle, value: self.__dict__.setdefault("all", {}).update({handle: value}))


def restore(self, link):
    self.links.append(link)
    link.configurations = dict(self.__dict__.setdefault("kept", {}))


def keep(self, link):
    self.kept = link.configurations
    Server.closed(self, link)


fault("keeps configurations without a bond", "G, 3.3.3.3", "write/configuration | notify/* indicate/confirmed", opened=restore, closed=keep)
fault("has one configuration for all values", "G, 3.3.3.3", "write/configuration",
      configuration=lambda self, link, handle: link.configurations.get(0, b"\0\0"),
      configure=lambda self, link, handle, value: link.configurations.update({0: value}))
fault("starts with configurations of one", "G, 3.3.3.3", "gatt/configurations | gatt/quiet indicate/confirmed notify/clients notify/stopped write/configuration",
      configuration=lambda self, link, handle: link.configurations.get(handle, b"\1\0"))
fault("reads configurations as zero", "G, 3.3.3.3", "write/configuration",
      value=lambda self, link, one: b"\0\0" if one.kind == u16(CONFIGURATION) else Server.value(self, link, one))
fault("reads configurations as one octet", "G, 3.3.3.3", "gatt/configurations | write/configuration",
      value=lambda self, link, one: Server.value(self, link, one)[:1] if one.kind == u16(CONFIGURATION)
      else Server.value(self, link, one))
fault("accepts configurations of three octets", "G, 3.3.3.3", "write/configuration-length",
      check_value=lambda self, link, one, offset, value: None if one.kind == u16(CONFIGURATION)
      else Server.check_value(self, link, one, offset, value))

# MARK: The prepare queue

fault("echoes zeros", "F, 3.4.6.2", "queue/echo",
      answers=answered(lambda pdu, answer: answer[:5] + bytes(len(answer) - 5) if answer[0] == 0x17
                       else answer, 0x16))
fault("echoes no value", "F, 3.4.6.2", "queue/echo",
      answers=answered(lambda pdu, answer: answer[:5] if answer[0] == 0x17 else answer, 0x16))
fault("echoes another offset", "F, 3.4.6.2", "queue/echo",
      answers=answered(lambda pdu, answer: answer[:3] + b"\1\0" + answer[5:] if answer[0] == 0x17 else answer, 0x16))
fault("writes prepared parts at once", "F, 3.4.6.1", "queue/echo | queue/clients queue/link",
      enqueue=lambda self, link, one, offset, part: self.put(link, one, offset, part))
fault("executes a cancelled queue", "F, 3.4.6.3", "queue/echo", is_written=lambda self, pdu: True)
fault("never executes", "F, 3.4.6.3", "queue/executed | queue/*", is_written=lambda self, pdu: False)
fault("executes the first part only", "F, 3.4.6.3", "queue/executed | queue/order queue/values",
      put_parts=lambda self, link, parts: Server.put_parts(self, link, parts[:1]))
fault("executes the last part only", "F, 3.4.6.3", "queue/executed | queue/values",
      put_parts=lambda self, link, parts: Server.put_parts(self, link, parts[-1:]))
fault("executes parts in reverse order", "F, 3.4.6.3", "queue/order | queue/executed",
      put_parts=lambda self, link, parts: Server.put_parts(self, link, parts[::-1]))
fault("ignores the offsets of parts", "F, 3.4.6.1", "queue/offset | queue/executed",
      put_parts=lambda self, link, parts: Server.put_parts(self, link, [(one, 0, part) for one, _, part in parts]))
fault("writes all parts to the first value", "F, 3.4.6.1", "queue/values",
      put_parts=lambda self, link, parts: Server.put_parts(
          self, link, [(parts[0][0], offset, part) for _, offset, part in parts]))
fault("keeps the queue after execution", "F, 3.4.6.3", "queue/emptied",
      clear=lambda self, link: None,
      execute=lambda self, link, pdu: (Server.execute(self, link, pdu),
                                       None if pdu[1] else link.queue.clear())[0])
fault("keeps the queue after a failure", "F, 3.4.6.3", "queue/all-or-nothing",
      execute=lambda self, link, pdu: (
          self.check_parts(link, link.queue) if pdu[1] else None, Server.execute(self, link, pdu))[1])
fault("executes up to the part that fails", "F, 3.4.6.3", "queue/all-or-nothing",
      check_parts=lambda self, link, parts: None,
      put_parts=lambda self, link, parts: [
          (self.check_parts_of(link, part), self.put(link, *part)) for part in parts],
      check_parts_of=lambda self, link, part: Server.check_parts(self, link, [part]))
fault("accepts parts after the end", "F, 3.4.6.3", "queue/all-or-nothing",
      check_parts=lambda self, link, parts: None)
fault("has one prepare queue for all clients", "F, 3.4.6.1", "queue/clients",
      queue=lambda self, link: self.__dict__.setdefault("shared", []),
      closed=lambda self, link: (Server.closed(self, link), self.__dict__.setdefault("shared", []).clear()))
fault("keeps the queue for the next link", "F, 3.4.6.1", "queue/link",
      opened=lambda self, link: (self.links.append(link), setattr(link, "queue", self.__dict__.pop("old", []))),
      closed=lambda self, link: (self.links.remove(link), self.__dict__.update(old=link.queue)))
fault("a second client clears the queue of the first", "F, 3.4.6.1", "queue/clients",
      clear=lambda self, link: [one.queue.clear() for one in self.links])
fault("refuses to execute an empty queue", "F, 3.4.6.3", "queue/empty | queue/*",
      execute=lambda self, link, pdu: Server.execute(self, link, pdu)
      if link.queue or pdu[1] == 0 else self.error(pdu, 0, 0x0E))
fault("refuses to cancel an empty queue", "F, 3.4.6.3", "queue/empty",
      execute=lambda self, link, pdu: Server.execute(self, link, pdu)
      if link.queue or pdu[1] else self.error(pdu, 0, 0x0E))
fault("reports a full queue with Unlikely Error", "F, 3.4.6.1", "queue/full", answers=refused(0x0E, 0x09))

# MARK: Order and links

fault("answers every request twice", "F, 3.3.2", "order/once | form/as-long-as-mtu links/second mtu/* permission/write-unknown queue/empty queue/flags range/* search/* survey/database note:queue/flags",
      answers=lambda self, link, pdu, answer: [answer, answer])
fault("answers Read Blob twice", "F, 3.3.2", "order/once | links/mtu mtu/large mtu/used permission/refused read/*",
      answers=lambda self, link, pdu, answer: [answer] * (2 if pdu[0] == 0x0C else 1))
fault("answers with the response of another request", "F, 3.3.2", "order/pipelined survey/database | links/second order/once",
      answers=answered(lambda pdu, answer: b"\x0d" + answer[1:] if answer[0] == 0x0B else answer, 0x0A))
fault("ends the link at a second client", "F, 3.2.11", "links/second | gatt/features links/mtu queue/clients",
      opened=lambda self, link: (self.links.append(link), setattr(self, "gone", self.links[:-1])),
      receive=lambda self, link, pdu: None if link in getattr(self, "gone", []) else
      Server.receive(self, link, pdu))

# MARK: GATT

fault("sends the Database Hash the wrong way round", "G, 7.3.1", "gatt/database-hash", hash=lambda self, right: right[::-1])
fault("has a Database Hash of another database", "G, 7.3.1", "gatt/database-hash", hash=lambda self, right: bytes(16))
fault("has a Database Hash of 8 octets", "G, 7.3.1", "gatt/generic gatt/database-hash", hash=lambda self, right: right[:8])
fault("Service Changed can be read", "G, 7.1", "gatt/service-changed",
      database=altered(lambda all: (setattr(all[7], "value", b"\x22" + all[7].value[1:]), setattr(all[8], "read", 0))))
fault("has no configuration for a value with Notify", "G, 3.3.3.3", "gatt/descriptors",
      database=altered(lambda all: all.pop(0x0022)))
fault("has two configurations for a value", "G, 3.3.3.3", "gatt/descriptors",
      database=altered(lambda all: all.update(
          {0x0026 - 1: all[0x0025], 0x0015: server.Attribute(0x0015, u16(0x2901), b"Second")})))
fault("has Extended Properties without the property", "G, 3.3.1.1", "gatt/descriptors",
      database=altered(lambda all: setattr(all[0x0028], "value", b"\x02" + all[0x0028].value[1:])))
fault("has a Presentation Format of 6 octets", "G, 3.3.3.5", "gatt/formats",
      database=altered(lambda all: setattr(all[0x002B], "value", bytes(6))))
fault("has Extended Properties of one octet", "G, 3.3.3.1", "gatt/formats",
      database=altered(lambda all: setattr(all[0x002A], "value", b"\1")))
fault("has two Generic Access services", "C, 12", "gatt/generic",
      database=altered(lambda all: setattr(all[0x00A0], "value", u16(0x1800))))
fault("has an Appearance of one octet", "C, 12.2", "gatt/generic",
      database=altered(lambda all: setattr(all[0x0005], "value", b"\0")))
fault("lets a client disable a feature", "G, 7.2", "gatt/features",
      check_value=lambda self, link, one, offset, value: None if one.kind == u16(0x2B29)
      else Server.check_value(self, link, one, offset, value))
fault("forgets the features of a client", "G, 7.2", "gatt/features",
      value=lambda self, link, one: b"\0" if one.kind == u16(0x2B29) else Server.value(self, link, one),
      check_value=lambda self, link, one, offset, value: Server.check_value(
          self, link, one, offset, value) if one.kind != u16(0x2B29) or value != b"\0"
      else (_ for _ in ()).throw(Refused(0x13, one.handle)))

# MARK: Values

fault("notifies without a subscription", "G, 3.3.3.3", "gatt/quiet | indicate/confirmed notify/clients notify/stopped", notified=lambda self, link, handle: True)
fault("notifies after the configuration is cleared", "G, 3.3.3.3", "notify/stopped",
      notified=lambda self, link, handle: link.configurations.get(handle) is not None)
fault("indicates after the configuration is cleared", "G, 3.3.3.3", "notify/stopped",
      indicated=lambda self, link, handle: link.configurations.get(handle) is not None)
fault("indicates instead of notifying", "G, 3.3.3.3", "notify/values | notify/one",
      notify=lambda self, link, handle: link.send(b"\x1d" + u16(handle) + self.attributes[handle].value[:20]))
fault("notifies instead of indicating", "G, 3.3.3.3", "notify/values | indicate/confirmed",
      indicate=lambda self, link, handle: link.send(b"\x1b" + u16(handle) + self.attributes[handle].value[:20]))
fault("notifies the handle of the declaration", "F, 3.4.7.1", "notify/values",
      notified_handle=lambda self, handle: handle - 1)
fault("notifies more than ATT_MTU - 3 octets", "F, 3.4.7.1", "notify/values | notify/*", notify_limit=lambda self, link: link.mtu)
fault("notifies other clients too", "G, 3.3.3.3", "notify/clients",
      notified=lambda self, link, handle: any(
          number(one.configurations.get(handle, b"\0\0")) & 1 for one in self.links))
fault("notifies all values if one is configured", "G, 3.3.3.3", "notify/one",
      notified=lambda self, link, handle: any(number(one) & 1 for one in link.configurations.values()),
      indicated=lambda self, link, handle: any(number(one) & 3 for one in link.configurations.values()))
fault("indicates without waiting for the confirmation", "F, 3.3.2", "indicate/confirmed",
      may_indicate=lambda self, link: True)
fault("answers nothing until an indication is confirmed", "F, 3.3.2", "indicate/confirmed",
      answers=lambda self, link, pdu, answer: [] if link.is_confirming else [answer])
fault("sends several values in one PDU unasked", "F, 3.4.7.4", "notify/values | notify/one",
      notify=lambda self, link, handle: link.send(b"\x23" + (u16(handle) + b"\1\0\5") * 2))


def drop_one_in_ten(self, link, handle):
    self.counted = getattr(self, "counted", 0) + 1
    send, link.send = link.send, (lambda pdu: None) if self.counted % 10 == 0 else link.send
    Server.notify(self, link, handle)
    link.send = send


fault("loses one notification in ten", "G, 4.10", "note:notify/counted", notify=drop_one_in_ten)
fault("accepts Execute Write with reserved flags", "F, 3.4.6.3", "note:queue/flags",
      check_flags=lambda self, pdu: None)
