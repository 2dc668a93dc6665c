"""The shared library: its structures, the parameters of its functions, and how they are called."""

from __future__ import annotations

import ctypes
import os
import time
import uuid as uuids
from collections.abc import Sequence
from ctypes import (
    POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64,
    c_void_p,
)
from typing import Any

from ..errors import AttoError, ProcessError
from .types import UUID, Result

_BASE = uuids.UUID("00000000-0000-1000-8000-00805F9B34FB").int


class CoreError(AttoError):
    """A call of the library failed. `result` says why."""

    def __init__(self, call: str, result: int) -> None:
        text = library().atto_strerror(result).decode()
        super().__init__(f"{call}: {text}", "usage" if result == Result.ARGUMENT else "system")
        self.result: Result = Result(result)


def fitting(type: Any, number: int) -> int:
    """The number, if the type holds it; ctypes would cut it. Raises `ValueError`."""
    if type(number).value != number:
        raise ValueError(f"{number} is out of range")
    return number


def filled(structure: Any, **fields: Any) -> Any:
    """A structure with these fields."""
    types = dict(structure._fields_)
    for name, value in fields.items():
        if isinstance(value, int):
            fitting(types[name], value)
    return structure(**fields)


class UUIDStructure(ctypes.Structure):
    _fields_ = [("high", c_uint64), ("low", c_uint64)]

    @classmethod
    def of(cls, uuid: UUID) -> UUIDStructure:
        """From a UUID, its text, or a number of 16 or 32 bits. Raises `ValueError`."""
        if isinstance(uuid, str):
            short = len(uuid) in (4, 8)
            uuid = int.from_bytes(bytes.fromhex(uuid)) if short else uuids.UUID(uuid)
        if isinstance(uuid, int):
            uuid = uuids.UUID(int=_BASE | fitting(c_uint32, uuid) << 96)
        return cls(uuid.int >> 64, uuid.int & (1 << 64) - 1)


# The structures that may grow, as they are in 0.9, which the functions without `_sized` take.
class Config(ctypes.Structure):
    _fields_ = [
        *((name, c_uint32) for name in (
            "size", "max_bearers", "mtu", "max_procedures", "max_pipelined", "outbox_limit", "event_limit",
            "prepared_writes", "prepared_octets", "max_results")),
        ("transaction_timeout", c_int64)]


class RowStructure(ctypes.Structure):
    _fields_ = [
        *((name, c_uint8) for name in ("kind", "properties", "source", "key_size")),
        *((name, c_uint16) for name in (
            "permissions", "handle", "value_handle", "end_handle", "max_length", "length")),
        ("uuid", UUIDStructure), ("value", c_char_p)]


class EventStructure(ctypes.Structure):
    _fields_ = [
        ("type", c_uint32), ("result", c_int32), ("id", c_uint64), ("uuid", UUIDStructure),
        ("data", c_void_p), ("length", c_size_t),
        *((name, c_uint16) for name in ("handle", "end_handle", "value_handle", "offset")),
        *((name, c_uint8) for name in ("properties", "att_error", "flags", "reserved"))]


class ValueStructure(ctypes.Structure):
    _fields_ = [("handle", c_uint16), ("length", c_uint16), ("value", c_char_p)]


# The parameters of each function, after the device or bearer. o: octets and their length, n: the time,
# i: where the procedure's number goes, others: a number of this type.
SIGNATURES: dict[str, list[Any]] = {
    "add_generic_services": [c_char_p, c_uint16, "n"], "remove_service": [c_uint16, "n"],
    "set_value": [c_uint16, "o"], "find_handle": [UUIDStructure, c_uint16], "database_hash": [c_char_p],
    "bearer_link_ended": [], "bearer_feed": ["o", "n"], "bearer_output": [c_char_p, c_size_t],
    "deadline": [POINTER(c_int64)], "advance": ["n"], "mtu": [], "bearer_trim": [],
    "set_security": [c_int, c_int], "next_event": [POINTER(EventStructure)],
    "answer_value": [c_uint64, "o", "n"], "answer_accept": [c_uint64, "n"],
    "answer_error": [c_uint64, c_uint8, "n"], "subscriptions": [c_uint16], "notify": [c_uint16, "o"],
    "indicate": [c_uint16, "o", "n", "i"], "restore_state": ["o", "n"],
    "save_state": [c_char_p, c_size_t, POINTER(c_size_t)],
    "get_value": [c_uint16, c_char_p, c_size_t, POINTER(c_size_t)],
    "add_services": [POINTER(RowStructure), c_size_t, POINTER(c_uint16), "n"],
    "notify_multiple": [POINTER(ValueStructure), c_size_t],
    "exchange_mtu": [c_uint32, "n", "i"],
    "discover_primary_services": [c_uint16, c_uint16, "n", "i"],
    "discover_primary_services_by_uuid": [UUIDStructure, "n", "i"],
    "discover_secondary_services": ["n", "i"],
    "find_included_services": [c_uint16, c_uint16, "n", "i"],
    "discover_characteristics": [c_uint16, c_uint16, "n", "i"],
    "discover_characteristics_by_uuid": [UUIDStructure, c_uint16, c_uint16, "n", "i"],
    "discover_descriptors": [c_uint16, c_uint16, "n", "i"], "discover_all": ["n", "i"],
    "read": [c_uint16, "n", "i"], "read_long": [c_uint16, c_uint16, "n", "i"],
    "read_blob": [c_uint16, c_uint16, "n", "i"],
    "read_by_uuid": [UUIDStructure, c_uint16, c_uint16, "n", "i"],
    "read_multiple": [POINTER(c_uint16), c_size_t, "n", "i"],
    "read_multiple_variable": [POINTER(c_uint16), c_size_t, "n", "i"],
    "write": [c_uint16, "o", "n", "i"], "write_long": [c_uint16, c_uint16, "o", "n", "i"],
    "reliable_writes": [POINTER(ValueStructure), c_size_t, "n", "i"],
    "prepare_write": [c_uint16, c_uint16, "o", "n", "i"], "execute_write": [c_int, "n", "i"],
    "write_without_response": [c_uint16, "o"],
    "signed_write": [c_uint16, "o", c_uint32, c_char_p],
    "subscribe": [c_uint16, c_uint16, c_int, "n", "i"], "cancel": [c_uint64, "n"], "confirm": [],
    "security_raised": [c_int, "n"], "send_raw": ["o"], "set_signing_key": [c_char_p, c_uint32],
    "sign_counter": [POINTER(c_uint32)],
}
_TYPES: dict[Any, list[Any]] = {"o": [c_char_p, c_size_t], "n": [c_int64], "i": [POINTER(c_uint64)]}
_library: ctypes.PyDLL | None = None


def library() -> ctypes.PyDLL:
    """The loaded library. Raises `ProcessError` if it is not installed."""
    global _library
    if _library is None:
        name = os.environ.get("ATTO_LIBRARY") or "libatto.so.0"
        try:
            loaded = ctypes.PyDLL(name)
            for function, parameters in SIGNATURES.items():
                types = [c_void_p, *(t for p in parameters for t in _TYPES.get(p, [p]))]
                getattr(loaded, f"atto_{function}").argtypes = types
        except (OSError, AttributeError) as error:
            raise ProcessError(
                f"cannot load {name}: {error}",
                "install the library with Sources/C/install --prefix DIR, and set $ATTO_LIBRARY to "
                "DIR/lib/libatto.so.0") from error
        loaded.atto_strerror.restype = loaded.atto_att_error_name.restype = c_char_p
        loaded.atto_att_error_name.argtypes = [c_uint8]
        loaded.atto_create.argtypes = [POINTER(Config), POINTER(c_void_p)]
        loaded.atto_bearer_create.argtypes = [c_void_p, c_uint32, c_uint32, POINTER(c_void_p)]
        loaded.atto_destroy.argtypes = loaded.atto_bearer_destroy.argtypes = [c_void_p]
        loaded.atto_destroy.restype = loaded.atto_bearer_destroy.restype = None
        loaded.atto_config_init.argtypes = [POINTER(Config)]
        loaded.atto_config_init.restype = None
        _library = loaded
    return _library


def values_of(values: Sequence[tuple[int, bytes]]) -> ctypes.Array[ValueStructure]:
    """Handles with their values. The caller keeps these."""
    return (ValueStructure * len(values))(*(
        filled(ValueStructure, handle=handle, length=len(value), value=value)
        for handle, value in values))


def handles_of(handles: Sequence[int]) -> ctypes.Array[c_uint16]:
    return (c_uint16 * len(handles))(*(fitting(c_uint16, handle) for handle in handles))


def att_error_name(code: int) -> str:
    """The specification's name of an ATT error code."""
    return str(library().atto_att_error_name(code).decode())


class Pointed:
    """A pointer into the library, and calls with it."""

    _pointer: c_void_p | None

    def _call(self, function: str, *arguments: Any, now: int | None = None) -> int:
        """The result, or the number of the procedure. Octets are given as one argument, the time and the
        number's place as none. Raises `CoreError`, and `ValueError` for a number that does not fit."""
        if self._pointer is None:
            raise CoreError(function, Result.STATE)
        given = iter(arguments)
        words: list[Any] = []
        number = c_uint64()
        starts = False
        for parameter in SIGNATURES[function]:
            if parameter == "o":
                octets = memoryview(next(given)).tobytes()
                words += [octets, len(octets)]
            elif parameter == "n":
                words.append(time.monotonic_ns() if now is None else now)
            elif parameter == "i":
                starts = True
                words.append(byref(number))
            else:
                word = next(given)
                words.append(fitting(parameter, word) if isinstance(word, int) else word)
        result = int(getattr(library(), f"atto_{function}")(self._pointer, *words))
        if result < 0:
            raise CoreError(function, result)
        return number.value if starts else result

    def _octets(self, function: str, *arguments: Any) -> bytes:
        """What a function copies, however long it is."""
        length = c_size_t()
        room = 600
        while True:
            buffer = ctypes.create_string_buffer(room)
            try:
                self._call(function, *arguments, buffer, room, byref(length))
            except CoreError as error:
                if error.result != Result.LENGTH or length.value <= room:
                    raise
                room = length.value
                continue
            return buffer.raw[:length.value]
