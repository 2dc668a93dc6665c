"""The scanner."""

from __future__ import annotations

import os
import re
from typing import Any, Literal

from bleak.backends.device import BLEDevice
from bleak.backends.scanner import AdvertisementData, AdvertisementDataCallback, BaseBleakScanner
from bleak.exc import BleakError

from ..client import full_uuid
from ..errors import AttoError
from ..session import Option, Request, Result, Session
from .advertisement import advertisement
from .errors import raising

_RADIO = re.compile(r"(?:le:@)?(hci\d{1,5})|(le:|hci)|air(?::.*)?")


def chosen_radio(bluez: dict[str, Any], radio: str | None) -> str | None:
    """The endpoint of the radio: the argument `radio`, else `$ATTO_RADIO`, else the adapter, else None.

    Many programs name `hci0` in their code, so the environment comes before the adapter. `hci1` and `air` are
    the same as `le:@hci1` and `air:`. Raises `BleakError` for anything else.
    """
    named = radio or os.environ.get("ATTO_RADIO") or bluez.get("adapter")
    if not named:
        return None
    match = _RADIO.fullmatch(named)
    if match is None:
        raise BleakError(f'invalid radio "{named}": expected hci0, le:@hci0 or air:')
    return f"le:@{match[1]}" if match[1] else "le:" if match[2] else named if ":" in named else "air:"


async def default_radio(session: Session) -> str:
    """The radio that the command chooses: an adapter that is powered on, else the virtual air."""
    try:
        adapters = await session.request("adapters")
    except AttoError:
        # A kernel without Bluetooth.
        adapters = []
    for adapter in adapters:
        if {"powered", "le"} <= set(adapter.get("settings", ())):
            return f"le:@{adapter['adapter']}"
    return "air:"


class AttoScanner(BaseBleakScanner):
    """Scans with `atto`. `BleakScanner(backend=AttoScanner)`.

    The keyword argument `radio="air:"` chooses any radio of the command, as does `$ATTO_RADIO`;
    `bluez={"adapter": "hci1"}` an adapter, unless one of the two is given. Without them it is the kernel's
    adapter if one is powered on, else the virtual air.
    """

    def __init__(
        self, detection_callback: AdvertisementDataCallback | None,
        service_uuids: list[str] | None, scanning_mode: Literal["active", "passive"],
        *, bluez: Any = None, cb: Any = None, radio: str | None = None,
        atto: str | None = None, **kwargs: Any,
    ) -> None:
        super().__init__(detection_callback, service_uuids)
        if self._service_uuids is not None:
            self._service_uuids = [full_uuid(uuid) for uuid in self._service_uuids]
        self._radio = chosen_radio(bluez or {}, radio)
        self._is_passive = scanning_mode == "passive"
        self._atto = atto
        self._session: Session | None = None
        self._scan: Request | None = None

    async def start(self) -> None:
        if self._session is not None:
            raise BleakError("Scanner is already started")
        self.seen_devices: dict[str, tuple[BLEDevice, AdvertisementData]] = {}
        session = Session(atto=self._atto)
        options: dict[str, Option] = {"duplicates": True, "passive": self._is_passive}
        try:
            with raising():
                await session.start()
                radio = self._radio or await default_radio(session)
                self._chosen = radio
                self._scan = await session.begin(
                    "scan", radio, options=options,
                    receive=self._found)
                # Requests begin in the order of their lines, so a scan that cannot be has failed then.
                await session.request("requests")
                if self._scan.done.done():
                    self._scan.done.result()
        except BaseException:
            await session.close()
            raise
        self._session = session

    async def stop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _found(self, result: Result) -> None:
        if result.get("event") not in ("found", "seen"):
            return
        address, _, kind = str(result["address"]).partition("/")
        adv = advertisement(result)
        if not self.is_allowed_uuid(adv.service_uuids):
            return
        device = self.create_or_update_device(
            address, address, adv.local_name, {"kind": kind, "radio": self._chosen}, adv)
        self.call_detection_callbacks(device, adv)
