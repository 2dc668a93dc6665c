"""Devices."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import byref, c_uint16, c_void_p
from types import TracebackType
from typing import Self

from .bearer import Bearer
from .interface import Config, CoreError, Pointed, RowStructure, UUIDStructure, filled, fitting, library
from .types import UUID, Flags, Row


class Device(Pointed):
    """A device: a server's database, and the bearers of its connections.

    `limits` are the fields of `atto_config`, such as `mtu=247` and `max_bearers=4`.
    """

    def __init__(self, **limits: int) -> None:
        self._pointer = None
        self.open_bearers: set[Bearer] = set()
        config = Config()
        library().atto_config_init(byref(config))
        types = {field[0]: field[1] for field in Config._fields_[1:]}
        for name, value in limits.items():
            if name not in types:
                raise TypeError(f"a device has no limit {name!r}")
            setattr(config, name, fitting(types[name], value))
        pointer = c_void_p()
        result = library().atto_create(byref(config), byref(pointer))
        if result < 0:
            raise CoreError("create", result)
        self._pointer = pointer

    def close(self) -> None:
        """Destroys the device and its bearers."""
        for bearer in list(self.open_bearers):
            bearer.close()
        if self._pointer is not None:
            library().atto_destroy(self._pointer)
            self._pointer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if self._pointer is not None:
            self.close()

    def bearer(self, flags: Flags = Flags(0), enhanced_mtu: int = 0) -> Bearer:
        """The bearer of a new link."""
        return Bearer(self, flags, enhanced_mtu)

    def add_services(self, rows: Sequence[Row], now: int | None = None) -> list[int]:
        """Adds services; returns the handle of each row, of a characteristic that of its value."""
        table = (RowStructure * len(rows))(*(
            filled(
                RowStructure, kind=row.kind, properties=row.properties, source=row.source,
                key_size=row.key_size, permissions=row.permissions, handle=row.handle,
                value_handle=row.value_handle, end_handle=row.end_handle, max_length=row.max_length,
                length=len(row.value), uuid=UUIDStructure.of(row.uuid), value=row.value)
            for row in rows))
        handles = (c_uint16 * len(rows))()
        self._call("add_services", table, len(rows), handles, now=now)
        return list(handles)

    def add_generic_services(self, name: str, appearance: int = 0, now: int | None = None) -> None:
        """Adds Generic Access and Generic Attribute."""
        self._call("add_generic_services", name.encode(), appearance, now=now)

    def remove_service(self, handle: int, now: int | None = None) -> None:
        """Removes the service at a handle."""
        self._call("remove_service", handle, now=now)

    def set_value(self, handle: int, value: bytes) -> None:
        """Replaces a value in the library. Notifies nobody."""
        self._call("set_value", handle, value)

    def get_value(self, handle: int) -> bytes:
        """A value in the library."""
        return self._octets("get_value", handle)

    def find_handle(self, type: UUID, after: int = 0) -> int:
        """The first handle after `after` of an attribute with this type; 0 if there is none."""
        return self._call("find_handle", UUIDStructure.of(type), after)

    def database_hash(self) -> bytes:
        """The Database Hash, least significant octet first."""
        buffer = ctypes.create_string_buffer(16)
        self._call("database_hash", buffer)
        return buffer.raw
