"""The words of the library: results, events, and the rows of a table of services."""

from __future__ import annotations

import enum
import uuid as uuids
from dataclasses import dataclass

UUID = uuids.UUID | str | int


class Result(enum.IntEnum):
    """What a call or a procedure came to."""

    OK = 0
    ARGUMENT = -1
    MEMORY = -2
    AGAIN = -3
    LIMIT = -4
    DATABASE = -5
    NOT_FOUND = -6
    LENGTH = -7
    STATE = -8
    FAILED = -9
    ATT = -10
    PROTOCOL = -11
    TIMEOUT = -12
    CANCELLED = -13
    NOT_SUBSCRIBED = -14
    VERSION = -15


class EventType(enum.IntEnum):
    """What happened."""

    READ = 1
    WRITE = 2
    PREPARED_WRITE = 3
    EXECUTE = 4
    AUTHORIZE_READ = 5
    AUTHORIZE_WRITE = 6
    WRITTEN = 7
    CONFIGURED = 8
    FEATURES = 9
    CONFIRMED = 10
    NOTIFICATION = 11
    INDICATION = 12
    SERVICE = 13
    INCLUDE = 14
    CHARACTERISTIC = 15
    DESCRIPTOR = 16
    VALUE = 17
    COMPLETE = 18
    SECURITY_WANTED = 19


class Properties(enum.IntFlag):
    """The properties of a characteristic. Vol 3, Part G, 3.3.1.1."""

    BROADCAST = 0x01
    READ = 0x02
    WRITE_WITHOUT_RESPONSE = 0x04
    WRITE = 0x08
    NOTIFY = 0x10
    INDICATE = 0x20
    AUTHENTICATED_SIGNED_WRITES = 0x40
    EXTENDED_PROPERTIES = 0x80


class Permissions(enum.IntFlag):
    """Permissions of a value; none: as the properties say, on any link."""

    READ = 0x0001
    WRITE = 0x0002
    READ_ENCRYPTED = 0x0004
    WRITE_ENCRYPTED = 0x0008
    READ_AUTHENTICATED = 0x0010
    WRITE_AUTHENTICATED = 0x0020
    READ_SECURE = 0x0040
    WRITE_SECURE = 0x0080
    READ_AUTHORIZED = 0x0100
    WRITE_AUTHORIZED = 0x0200
    NO_ACCESS = 0x8000


class Source(enum.IntEnum):
    """Where a value is."""

    STORED = 0
    CONSTANT = 1
    FIXED = 2
    APPLICATION = 3
    CLIENT_FEATURES = 4
    DATABASE_HASH = 5


class Kind(enum.IntEnum):
    """What a row of a table of services adds."""

    PRIMARY_SERVICE = 0
    SECONDARY_SERVICE = 1
    INCLUDE = 2
    CHARACTERISTIC = 3
    DESCRIPTOR = 4


class Flags(enum.IntFlag):
    """How a bearer behaves."""

    CLIENT_ONLY = 1
    MANUAL_CONFIRM = 2
    ASK_SECURITY = 4
    LINK_MAY_BE_REUSED = 8


@dataclass(frozen=True)
class Row:
    """A service, include, characteristic or descriptor. 0 is a default for all but the first two fields."""

    kind: Kind
    uuid: UUID
    properties: Properties = Properties(0)
    source: Source = Source.STORED
    value: bytes = b""
    permissions: Permissions = Permissions(0)
    key_size: int = 0
    handle: int = 0
    value_handle: int = 0
    end_handle: int = 0
    max_length: int = 0


@dataclass(frozen=True)
class Event:
    """An event; the fields that its type does not use are 0 or empty."""

    type: EventType
    result: Result
    id: int
    uuid: uuids.UUID
    data: bytes
    handle: int
    end_handle: int
    value_handle: int
    offset: int
    properties: Properties
    att_error: int
    flags: int
