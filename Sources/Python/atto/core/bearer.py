"""Bearers: PDUs, events, and the procedures of both roles."""

from __future__ import annotations

import ctypes
import uuid as uuids
from collections.abc import Iterator, Sequence
from ctypes import byref, c_int64, c_uint32, c_void_p
from typing import TYPE_CHECKING

from .interface import (
    CoreError, EventStructure, Pointed, UUIDStructure, fitting, handles_of, library, values_of,
)
from .types import UUID, Event, EventType, Flags, Properties, Result

if TYPE_CHECKING:
    from .device import Device


class Bearer(Pointed):
    """One ATT bearer, client and server at once. `Device.bearer` makes it."""

    def __init__(self, device: Device, flags: Flags, enhanced_mtu: int) -> None:
        self._pointer = None
        self._device = device
        if device._pointer is None:
            raise CoreError("bearer_create", Result.STATE)
        pointer = c_void_p()
        result = library().atto_bearer_create(
            device._pointer, fitting(c_uint32, flags), fitting(c_uint32, enhanced_mtu), byref(pointer))
        if result < 0:
            raise CoreError("bearer_create", result)
        self._pointer = pointer
        device.open_bearers.add(self)

    def close(self) -> None:
        """Destroys the bearer, after its link has ended."""
        self._device.open_bearers.discard(self)
        if self._pointer is not None:
            library().atto_bearer_destroy(self._pointer)
            self._pointer = None

    # PDUs, time and events

    def feed(self, pdu: bytes, now: int | None = None) -> None:
        """Feeds a received PDU. Raises `CoreError`: with AGAIN nothing was accepted, and output and events
        must be taken first; with PROTOCOL, TIMEOUT or FAILED the link is to be closed."""
        self._call("bearer_feed", pdu, now=now)

    def output(self) -> bytes | None:
        """The next PDU to send."""
        room = self.mtu
        buffer = ctypes.create_string_buffer(room)
        length = self._call("bearer_output", buffer, room)
        return buffer.raw[:length] or None

    def outputs(self) -> Iterator[bytes]:
        """All PDUs to send."""
        while (pdu := self.output()) is not None:
            yield pdu

    def events(self) -> Iterator[Event]:
        """Takes the events."""
        event = EventStructure()
        while self._call("next_event", byref(event)) == 1:
            yield Event(
                EventType(event.type), Result(event.result), event.id,
                uuids.UUID(int=event.uuid.high << 64 | event.uuid.low),
                ctypes.string_at(event.data, event.length) if event.length else b"",
                event.handle, event.end_handle, event.value_handle, event.offset,
                Properties(event.properties), event.att_error, event.flags)

    def deadline(self) -> int | None:
        """When to call `advance`, if something is in flight."""
        at = c_int64()
        return at.value if self._call("deadline", byref(at)) else None

    def advance(self, now: int | None = None) -> None:
        """Tells the time. Raises `CoreError` with TIMEOUT if a transaction has timed out."""
        self._call("advance", now=now)

    def link_ended(self) -> None:
        """Ends what is in progress, because the link has ended."""
        self._call("bearer_link_ended")

    def trim(self) -> None:
        """Frees the buffers of an idle bearer."""
        self._call("bearer_trim")

    def set_security(self, level: int, key_size: int = 0) -> None:
        """Tells the security of the link: 1 to 4, and the length of its key."""
        self._call("set_security", level, key_size)

    @property
    def mtu(self) -> int:
        """The ATT_MTU."""
        return self._call("mtu")

    # Server

    def answer_value(self, id: int, value: bytes, now: int | None = None) -> None:
        """Answers READ with the whole value."""
        self._call("answer_value", id, value, now=now)

    def answer_accept(self, id: int, now: int | None = None) -> None:
        """Accepts a write, an execution or an access."""
        self._call("answer_accept", id, now=now)

    def answer_error(self, id: int, code: int, now: int | None = None) -> None:
        """Refuses with an ATT error code."""
        self._call("answer_error", id, code, now=now)

    def subscriptions(self, handle: int) -> int:
        """How the client has configured a value: 1 notifications, 2 indications."""
        return self._call("subscriptions", handle)

    def notify(self, handle: int, value: bytes) -> None:
        """Notifies a value."""
        self._call("notify", handle, value)

    def notify_multiple(self, values: Sequence[tuple[int, bytes]]) -> None:
        """Notifies several values in one PDU."""
        self._call("notify_multiple", values_of(values), len(values))

    def indicate(self, handle: int, value: bytes, now: int | None = None) -> int:
        """Indicates a value; CONFIRMED with the number follows."""
        return self._call("indicate", handle, value, now=now)

    def save_state(self) -> bytes:
        """The state of a bonded client: its configurations and features."""
        return self._octets("save_state")

    def restore_state(self, state: bytes, now: int | None = None) -> None:
        """Restores it on a new bearer."""
        self._call("restore_state", state, now=now)

    def set_signing_key(self, key: bytes, counter: int) -> None:
        """Lets a client sign its writes with this CSRK of 16 octets, from this counter on."""
        self._call("set_signing_key", _key(key), counter)

    def sign_counter(self) -> int:
        """The next sign counter."""
        counter = c_uint32()
        self._call("sign_counter", byref(counter))
        return counter.value

    # Client: each returns the number of the procedure. Its results are events, COMPLETE the last.

    def exchange_mtu(self, mtu: int = 0, now: int | None = None) -> int:
        """4.3.1. 0 names the MTU of the device."""
        return self._call("exchange_mtu", mtu, now=now)

    def discover_primary_services(
        self, start: int = 1, end: int = 0xFFFF, uuid: UUID | None = None, now: int | None = None,
    ) -> int:
        """4.4.1; with a UUID 4.4.2, in the whole database."""
        if uuid is not None:
            return self._call("discover_primary_services_by_uuid", UUIDStructure.of(uuid), now=now)
        return self._call("discover_primary_services", start, end, now=now)

    def discover_secondary_services(self, now: int | None = None) -> int:
        """Secondary services."""
        return self._call("discover_secondary_services", now=now)

    def find_included_services(
        self, start: int = 1, end: int = 0xFFFF, now: int | None = None,
    ) -> int:
        """4.5.1."""
        return self._call("find_included_services", start, end, now=now)

    def discover_characteristics(
        self, start: int = 1, end: int = 0xFFFF, uuid: UUID | None = None, now: int | None = None,
    ) -> int:
        """4.6.1; with a UUID 4.6.2."""
        if uuid is not None:
            return self._call(
                "discover_characteristics_by_uuid", UUIDStructure.of(uuid), start, end, now=now)
        return self._call("discover_characteristics", start, end, now=now)

    def discover_descriptors(self, start: int, end: int, now: int | None = None) -> int:
        """4.7.1."""
        return self._call("discover_descriptors", start, end, now=now)

    def discover_all(self, now: int | None = None) -> int:
        """The whole database."""
        return self._call("discover_all", now=now)

    def read(self, handle: int, now: int | None = None) -> int:
        """4.8.1: up to ATT_MTU - 1 octets."""
        return self._call("read", handle, now=now)

    def read_long(self, handle: int, offset: int = 0, now: int | None = None) -> int:
        """4.8.3: everything from an offset on."""
        return self._call("read_long", handle, offset, now=now)

    def read_blob(self, handle: int, offset: int, now: int | None = None) -> int:
        """One Read Blob Request."""
        return self._call("read_blob", handle, offset, now=now)

    def read_by_uuid(
        self, uuid: UUID, start: int = 1, end: int = 0xFFFF, now: int | None = None,
    ) -> int:
        """4.8.2."""
        return self._call("read_by_uuid", UUIDStructure.of(uuid), start, end, now=now)

    def read_multiple(
        self, handles: Sequence[int], variable: bool = False, now: int | None = None,
    ) -> int:
        """4.8.4: the values joined; `variable`, 4.8.5: a value for each."""
        function = "read_multiple_variable" if variable else "read_multiple"
        return self._call(function, handles_of(handles), len(handles), now=now)

    def write(self, handle: int, value: bytes, now: int | None = None) -> int:
        """4.9.3."""
        return self._call("write", handle, value, now=now)

    def write_long(
        self, handle: int, value: bytes, offset: int = 0, now: int | None = None,
    ) -> int:
        """4.9.4."""
        return self._call("write_long", handle, offset, value, now=now)

    def reliable_writes(
        self, values: Sequence[tuple[int, bytes]], now: int | None = None,
    ) -> int:
        """4.9.5: written together or not at all."""
        return self._call("reliable_writes", values_of(values), len(values), now=now)

    def prepare_write(
        self, handle: int, offset: int, part: bytes, now: int | None = None,
    ) -> int:
        """One Prepare Write Request."""
        return self._call("prepare_write", handle, offset, part, now=now)

    def execute_write(self, execute: bool = True, now: int | None = None) -> int:
        """One Execute Write Request."""
        return self._call("execute_write", int(execute), now=now)

    def write_without_response(self, handle: int, value: bytes) -> None:
        """4.9.1."""
        self._call("write_without_response", handle, value)

    def signed_write(self, handle: int, value: bytes, counter: int, key: bytes) -> None:
        """4.9.2, with a CSRK of 16 octets."""
        self._call("signed_write", handle, value, counter, _key(key))

    def subscribe(
        self, value_handle: int, configuration: int = 0, kinds: int = 1, now: int | None = None,
    ) -> int:
        """4.10 and 4.11. Without the configuration's handle it is searched."""
        return self._call("subscribe", value_handle, configuration, kinds, now=now)

    def cancel(self, id: int, now: int | None = None) -> None:
        """Cancels a procedure or an indication that waits."""
        self._call("cancel", id, now=now)

    def confirm(self) -> None:
        """Confirms the oldest unconfirmed indication, with MANUAL_CONFIRM."""
        self._call("confirm")

    def security_raised(self, raised: bool, now: int | None = None) -> None:
        """After SECURITY_WANTED: sends the refused requests again, or fails them."""
        self._call("security_raised", int(raised), now=now)

    def send_raw(self, pdu: bytes) -> None:
        """Sends a PDU as it is, to test a peer."""
        self._call("send_raw", pdu)


def _key(key: bytes) -> bytes:
    if len(key) != 16:
        raise ValueError("a key has 16 octets")
    return key
