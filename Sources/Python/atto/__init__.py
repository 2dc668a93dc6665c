"""ATT and GATT for Linux, by the command `atto`.

`Client` and `Server` are for asyncio, `atto.sync` has the same with blocking methods, `atto.bleak` is a
backend for bleak, and `atto.session` is the protocol that all of them use.
"""

from .client import (
    Characteristic,
    Client,
    Descriptor,
    PairingQuestion,
    Service,
    Subscription,
    Value,
)
from .errors import (
    ATTError,
    AttoError,
    LinkError,
    PairingError,
    ProcessError,
    RequestTimeout,
    UsageError,
)
from .server import ReadRequest, Server, WriteRequest
from .session import Session, find_atto

__all__ = [
    "ATTError", "AttoError", "Characteristic", "Client", "Descriptor", "LinkError", "PairingError",
    "PairingQuestion", "ProcessError", "ReadRequest", "RequestTimeout", "Server", "Service", "Session",
    "Subscription", "UsageError", "Value", "WriteRequest", "find_atto",
]
__version__ = "0.9.0"
