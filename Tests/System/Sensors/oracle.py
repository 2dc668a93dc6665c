"""What the decoders of Home Assistant say of an advertisement, in the keys and units of `atto decode`."""

import importlib
import json
import logging
import math
import re
from datetime import datetime

import beacontools
import generate
from TheengsDecoder import decodeBLE
from habluetooth import BluetoothServiceInfoBleak

logging.disable(logging.CRITICAL)

CLASSES = {
    "bthome": ("bthome_ble.parser", "BTHomeBluetoothDeviceData"),
    "xiaomi": ("xiaomi_ble.parser", "XiaomiBluetoothDeviceData"),
    "ruuvi": ("ruuvitag_ble.parser", "RuuvitagBluetoothDeviceData"),
    "govee": ("govee_ble.parser", "GoveeBluetoothDeviceData"),
    "inkbird": ("inkbird_ble.parser", "INKBIRDBluetoothDeviceData"),
    "thermopro": ("thermopro_ble.parser", "ThermoProBluetoothDeviceData"),
    "oralb": ("oralb_ble.parser", "OralBBluetoothDeviceData"),
}
# Ours for theirs, without underscores. What is not here has one name.
SENSORS = {
    "light": "illuminance", "volatileorganiccompounds": "voc", "gas": "gasvolume",
    "movementcounter": "movements", "time": "brushingtime", "toothbrushstate": "brushingstate",
    "numberofsectors": "sectors", "carbondioxide": "co2",
    "counter": "count",
}
STATES = {
    "battery": "batterylow", "power": "poweron", "co": "carbonmonoxide", "moisture": "wetness",
    "deviceforciblyremoved": "forciblyremoved", "bottomsubmersion": "wetnessbottom",
    "topsplash": "wetnesstop",
}
# One sign of two for micro, and V and hPa for what is the same or was computed below.
UNITS = {"ohm": "Ω", "mbar": "hPa", "mV": "V", "μg/m³": "µg/m³", "μS/cm": "µS/cm"}
# Derived from other readings, of the radio, or of the packet.
LEFT_OUT = r"signalstrength.*|packetid\d*|accelerationtotal|iaqs"
# Of MiBeacon's objects the measurements and states; its voltage is guessed from the battery.
XIAOMI = {
    "temperature", "humidity", "moisture", "conductivity", "battery", "formaldehyde", "consumable",
    "illuminance", "poweron", "motion", "light", "opening", "doorleftopen", "forciblyremoved", "smoke",
    "wetness", "wetnessbottom", "wetnesstop", "occupancy", "batterylow", "toothbrush", "lock", "childlock",
    "antilock", "keyid", "lockmethod", "lockaction", "lockerror", "cube", "dimmer",
    "motiondetected", "armed", "asleep", "chargingstate", "count", "door", "doorstuck", "durationcleared",
    "durationdetected", "fingerprint", "fingerprintresult", "heartrate", "impedance", "impedancehigh", "impedancelow",
    "knockonthedoor", "mass", "massnonstabilized", "occupancycloserange", "pressurenotpresentduration",
    "pressurepresentduration", "profileid", "prythedoor", "score", "stabilized", "wearing",
}


def uuid(short: int) -> str:
    return f"0000{short:04x}-0000-1000-8000-00805f9b34fb"


def heard(advertisement, address: str) -> BluetoothServiceInfoBleak:
    return BluetoothServiceInfoBleak(
        advertisement.name or address, address, -60,
        {} if advertisement.company is None else {advertisement.company: advertisement.data},
        {} if advertisement.service is None else {uuid(advertisement.service): advertisement.data},
        [uuid(short) for short in advertisement.services], "local", None, None, False, 0.0, None, None)


def key_of(device_key, names: dict) -> str:
    """Ours: without underscores, and with the label behind the kind."""
    key = str(device_key.key)
    found = re.fullmatch(r"(.*?)((?:_\d+)?)", key)
    base, number = found[1].replace("_", ""), found[2].replace("_", "")
    base = names.get(base, base)
    moved = re.fullmatch(r"(low|internal|internalcenter|internalend|ambient)(temperature)(.*)", base)
    if moved:
        place = moved[1].removeprefix("internal") or "internal"
        base = moved[2] + place + moved[3]
    return (base + number + ("remote" if device_key.device_id == "remote" else "")).lower()


class Oracle:
    def __init__(self, form: str):
        module, name = CLASSES[form]
        module = importlib.import_module(module)
        self.form = form

        class Kind(getattr(module, name)):
            def fire_event(self, key, event_type, *others, **named):
                """A press stays one if an object behind it, in the same advertisement, says that there is none."""
                if event_type != "no_press":
                    super().fire_event(key, event_type, *others, **named)

        self.kind = Kind
        if form == "xiaomi":
            missing = set(module.xiaomi_dataobject_dict) - set(generate.XIAOMI_OBJECTS)
            assert missing == generate.XIAOMI_UNREAD, missing

    def readings(self, advertisement, address: str, has_key: bool):
        """The readings by key; None if the decoder failed or does not take such advertisements. Their units
        are then in `units`."""
        words = {"bindkey": generate.KEY} if has_key else {}
        device = self.kind(**words)
        try:
            update = device.update(heard(advertisement, address))
        except Exception:
            return None
        if self.form == "xiaomi":
            known = getattr(device, "device_type", None) is not None
            if not known or "LEGACY" in device.encryption_scheme.name:
                return None
        found, self.units = {}, {}
        for key, value in update.entity_values.items():
            value = value.native_value
            unit = update.entity_descriptions[key].native_unit_of_measurement
            self.units[key_of(key, SENSORS)] = UNITS.get(str(unit), str(unit)) if unit else None
            if isinstance(value, datetime):
                value = value.timestamp()
            if value is None or value == "error":
                continue
            name = key_of(key, SENSORS)
            if isinstance(value, float) and not math.isfinite(value):
                # We leave it out, or have another reading of this kind.
                found[name] = None
                continue
            if name == "voltage" and self.form == "ruuvi":
                value /= 1000
            found[name] = str(value) if name == "profileid" else value
        for key, value in update.binary_entity_values.items():
            found[key_of(key, STATES)] = bool(value.native_value)
        for key, event in update.events.items():
            properties = event.event_properties or {}
            detail = str(next(iter(properties.values()), "")) if self.form == "xiaomi" else str(
                properties.get("steps", properties.get("args", "")))
            # We leave out buttons and presses that it has no word for.
            if event.event_type is None or str(key.key).endswith("_None"):
                continue
            name = key_of(key, {
                "lock": "lockaction", "error": "lockerror", "motion": "motiondetected",
                "vibration": "vibrationdetected", "fingerprint": "fingerprintresult"})
            found[name] = event.event_type + (" " + detail if detail else "")
        found = {name: value for name, value in found.items() if not re.fullmatch(LEFT_OUT, name)}
        if self.form == "oralb":
            found = {{"mode": "brushingmode", "pressure": "brushingpressure"}.get(k, k): v for k, v in found.items()}
        if self.form == "xiaomi":
            found = {n: value for n, value in found.items() if n in XIAOMI or n.startswith("button")}
        if any("endprobe" in name or "centerprobe" in name for name in found):
            found = {re.sub("internalprobe", "tipprobe", name): value for name, value in found.items()}
        return found


class Beacons:
    """beacontools, which returns objects of several classes."""

    units: dict = {}

    def readings(self, advertisement, address: str, has_key: bool):
        try:
            found = beacontools.parse_packet(bytes.fromhex(advertisement.hex()))
        except Exception:
            return None
        if found is None:
            return {}
        form = type(found).__name__
        values = {"txpower": getattr(found, "_tx_power", None)}
        if form == "IBeaconAdvertisement":
            values |= {"uuid": found.uuid, "major": str(found.major), "minor": str(found.minor)}
        elif form == "EddystoneUIDFrame":
            values["identifier"] = found.namespace + found.instance
        elif form == "EddystoneEIDFrame":
            values["identifier"] = bytes(found.eid).hex()
        elif form == "EddystoneURLFrame":
            values["url"] = found.url
        elif form == "EddystoneTLMFrame":
            # Their time is ten times too long: the unit is 0.1 s. Their temperature has no sign.
            celsius = found.temperature - (256 if found.temperature >= 128 else 0)
            values = {"voltage": found.voltage / 1000 or None, "uptime": found.seconds_since_boot / 10,
                      "temperature": None if celsius == -128 else celsius}
        else:
            return None
        return {key: value for key, value in values.items() if value is not None}


class SecondOpinion:
    """TheengsDecoder, which knows fewer devices, and each by its own rules. It runs here only, beside Atto."""

    # Ours for theirs: the readings that mean the same.
    KEYS = {
        "tempc": "temperature", "hum": "humidity", "batt": "battery", "volt": "voltage", "pres": "pressure",
        "mov": "movements", "pm25": "pm25", "tx": "txPower", "txpower": "txPower", "duration": "brushingTime",
    }
    # A ThermoPro whose octets it takes for another maker's, and a temperature of which it reads one octet.
    WRONG = {("SPHTP", None), ("IBS-P02B", "tempc")}

    def differences(self, advertisement, address: str, decoded: dict):
        """How many readings both have, and those that differ. Only of what a sensor can measure: beyond that each
        decoder has its own idea."""
        told = {"id": address, "name": advertisement.name} if advertisement.name else {"id": address}
        if advertisement.service is not None:
            told |= {"servicedata": advertisement.data.hex(), "servicedatauuid": f"{advertisement.service:04x}"}
        if advertisement.company is not None:
            data = advertisement.company.to_bytes(2, "little") + advertisement.data
            told["manufacturerdata"] = data.hex()
        theirs = json.loads(decodeBLE(json.dumps(told)) or "{}")
        model = theirs.get("model_id")
        if not -20 <= decoded.get("temperature", 0) <= 60 or not 0 <= decoded.get("humidity", 0) <= 100:
            return 0, {}
        both = {key: (decoded[ours], theirs[key]) for key, ours in self.KEYS.items()
                if key in theirs and ours in decoded and not self.WRONG & {(model, None), (model, key)}}
        # They take the flag of a fault for a part of it.
        if both.get("batt", (0, 0))[1] > 100:
            del both["batt"]
        return len(both), {key: pair for key, pair in both.items() if abs(pair[0] - pair[1]) > 0.06}
