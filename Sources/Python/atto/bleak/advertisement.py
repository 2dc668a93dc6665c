"""Advertising data as bleak shows it."""

from __future__ import annotations

from bleak.backends.scanner import AdvertisementData

from ..client import full_uuid
from ..session import Result


def _structures(data: bytes) -> list[tuple[int, bytes]]:
    """The AD structures of advertising data; what is malformed ends them."""
    found: list[tuple[int, bytes]] = []
    while data and data[0]:
        length = data[0]
        if len(data) <= length:
            break
        found.append((data[1], data[2:1 + length]))
        data = data[1 + length:]
    return found


def _uuids(data: bytes, size: int) -> list[str]:
    return [
        _uuid(data[start:start + size]) for start in range(0, len(data) - size + 1, size)]


def _uuid(octets: bytes) -> str:
    text = octets[::-1].hex()
    if len(octets) == 16:
        text = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    return full_uuid(text)


def advertisement(found: Result) -> AdvertisementData:
    name: str | None = None
    services: list[str] = []
    manufacturers: dict[int, bytes] = {}
    service_data: dict[str, bytes] = {}
    power: int | None = None
    for field in ("advertisement", "scanResponse"):
        for kind, data in _structures(bytes.fromhex(found.get(field) or "")):
            match kind:
                case 0x02 | 0x03:
                    services += _uuids(data, 2)
                case 0x04 | 0x05:
                    services += _uuids(data, 4)
                case 0x06 | 0x07:
                    services += _uuids(data, 16)
                case 0x09:
                    name = data.decode(errors="replace")
                case 0x08:
                    name = name or data.decode(errors="replace")
                case 0x0A if len(data) == 1:
                    power = int.from_bytes(data, signed=True)
                case 0x16 if len(data) >= 2:
                    service_data[_uuid(data[:2])] = data[2:]
                case 0x20 if len(data) >= 4:
                    service_data[_uuid(data[:4])] = data[4:]
                case 0x21 if len(data) >= 16:
                    service_data[_uuid(data[:16])] = data[16:]
                case 0xFF if len(data) >= 2:
                    manufacturers[int.from_bytes(data[:2], "little")] = data[2:]
                case _:
                    pass
    strength = found.get("rssi")
    return AdvertisementData(
        local_name=name, manufacturer_data=manufacturers, service_data=service_data,
        service_uuids=list(dict.fromkeys(services)), tx_power=power,
        rssi=-127 if strength is None else int(strength), platform_data=(found,))
