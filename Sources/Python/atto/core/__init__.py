"""ATT and GATT without a process: the C library `libatto`, for programs that test PDU by PDU.

The library does no input and output. The caller feeds PDUs and the time, and takes PDUs and events:

    device = Device()
    bearer = device.bearer()
    bearer.exchange_mtu()
    pdu = bearer.output()         # 02 05 02; send it
    bearer.feed(b"\\x03\\xf7\\x00")   # what was received
    for event in bearer.events(): ...

`atto.h` of the library describes each function; the names here are the same. Times are nanoseconds of any
clock that does not go back; without one, `time.monotonic_ns()` is used. The library is found by
`$ATTO_LIBRARY`, else as `libatto.so.0`. Every call holds the interpreter's lock, so threads may share a
device.
"""

from .bearer import Bearer
from .device import Device
from .interface import CoreError, att_error_name, library
from .types import (
    Event, EventType, Flags, Kind, Permissions, Properties, Result, Row, Source,
)

__all__ = [
    "Bearer", "CoreError", "Device", "Event", "EventType", "Flags", "Kind", "Permissions", "Properties",
    "Result", "Row", "Source", "att_error_name", "library",
]
