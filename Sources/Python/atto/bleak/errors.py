"""Failures as bleak names them."""

from __future__ import annotations

from bleak.exc import (
    BleakBluetoothNotAvailableError,
    BleakBluetoothNotAvailableReason,
    BleakError,
    BleakGATTProtocolError,
)

from ..errors import ATTError, AttoError


def bleak_error(error: AttoError, address: str) -> Exception:
    """The same failure as bleak names it."""
    if isinstance(error, ATTError):
        return BleakGATTProtocolError(error.code)
    if error.kind == "timeout":
        return TimeoutError(str(error))
    if error.kind == "radio":
        return BleakBluetoothNotAvailableError(
            str(error), BleakBluetoothNotAvailableReason.NO_BLUETOOTH)
    return BleakError(str(error))


class raising:
    """Raises the errors of Atto as those of bleak."""

    def __init__(self, address: str = "") -> None:
        self._address = address

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, AttoError):
            raise bleak_error(error, self._address) from error
