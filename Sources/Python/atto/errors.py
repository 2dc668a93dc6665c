"""What can fail. Every error of the package is an `AttoError`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class AttoError(Exception):
    """A request that failed.

    `kind` says whose fault it was, as in the command's documentation: `att`, `usage`, `file`, `link`,
    `radio`, `pairing`, `timeout`, `peer`, `limit`, `system`, `interrupted`, `check`, or `process` for the
    atto process itself. `hints` say what to do.
    """

    def __init__(self, message: str, kind: str = "system", hints: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.hints = hints

    @property
    def hint(self) -> str | None:
        """The first hint."""
        return self.hints[0] if self.hints else None

    def __str__(self) -> str:
        return "; ".join([self.message, *(f"hint: {hint}" for hint in self.hints)])


class ATTError(AttoError):
    """The peer answered with an ATT error. A server's handler raises it to refuse a request."""

    def __init__(
        self, code: int, message: str = "", *, handle: int | None = None, name: str | None = None,
        request: int | None = None, hints: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message or f"ATT error 0x{code:02X}", "att", hints)
        self.code = code
        self.handle = handle
        self.name = name
        self.request = request


class UsageError(AttoError, ValueError):
    """The request makes no sense, or a file is wrong."""


class LinkError(AttoError, ConnectionError):
    """The link could not be opened, or was lost."""


class RequestTimeout(AttoError, TimeoutError):
    """Something took longer than its limit."""


class PairingError(AttoError):
    """Pairing failed, or a key did not match."""


class ProcessError(AttoError):
    """The atto process is missing, speaks another version, or has ended."""

    def __init__(self, message: str, *hints: str) -> None:
        super().__init__(message, "process", hints)


_CLASSES: dict[str, type[AttoError]] = {
    "usage": UsageError, "file": UsageError, "link": LinkError, "timeout": RequestTimeout,
    "pairing": PairingError,
}


def error_from(fields: Mapping[str, Any]) -> AttoError:
    """The exception for the `error` of an answer."""
    kind = str(fields.get("kind", "system"))
    message = str(fields.get("message", "failed"))
    hints = tuple(str(hint) for hint in fields.get("hints", ()))
    if kind == "att" and isinstance(fields.get("code"), int):
        return ATTError(
            fields["code"], message, handle=fields.get("handle"), name=fields.get("name"),
            request=fields.get("request"), hints=hints)
    return _CLASSES.get(kind, AttoError)(message, kind, hints)
