"""The transcripts of Fixtures as lines for player.c, which has no parser for JSON."""

import json
import pathlib
import re

PROPERTIES = {"broadcast": 1, "read": 2, "writeWithoutResponse": 4, "write": 8, "notify": 16,
              "indicate": 32, "signedWrite": 64, "authenticatedSignedWrites": 64,
              "reliableWrite": 128, "extendedProperties": 128, "extended": 128}
PERMISSIONS = {"read": 0x1, "write": 0x2, "readEncrypted": 0x4, "writeEncrypted": 0x8,
               "readAuthenticated": 0x10, "writeAuthenticated": 0x20, "readSecure": 0x40,
               "writeSecure": 0x80, "readAuthorized": 0x100, "writeAuthorized": 0x200}
STORED, CONSTANT, FIXED, APPLICATION, FEATURES, HASH = range(6)
NO_ACCESS = 0x8000


class Skipped(Exception):
    """Why a case is not played."""


def number(text) -> int:
    return 0 if text is None else int(text, 16) if isinstance(text, str) else int(text)


def octets(value) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return octets("hex:" + value["repeat"]) * value["count"]
    kind, _, rest = value.partition(":")
    if kind == "text":
        return rest.encode().hex()
    if kind != "hex":
        raise Skipped(f"a value as {kind}")
    return rest.replace(" ", "")


def uuid(text: str) -> str:
    """32 digits."""
    digits = text.replace("-", "").lower()
    if len(digits) <= 8:
        digits = digits.rjust(8, "0") + "00001000800000805f9b34fb"
    return digits


def permissions(entry: dict, default: int = 0) -> int:
    if "permissions" not in entry:
        return default
    bits = 0
    for name in entry["permissions"]:
        bits |= PERMISSIONS[name]
    return bits or NO_ACCESS


def row(kind, entry, properties=0, source=STORED, value_handle=0, end=0, bits=0, value="") -> str:
    return (f"row {kind} {properties} {source} {entry.get('keySize', 0)} {bits} "
            f"{number(entry.get('handle'))} {value_handle} {end} {entry.get('maxLength', 0)} "
            f"{uuid(entry['uuid'])} {value or '-'}")


def last_handle(service: dict) -> int:
    if "endHandle" in service:
        return number(service["endHandle"])
    last = number(service.get("handle"))
    for characteristic in service.get("characteristics", []):
        value = number(characteristic.get("valueHandle")) or number(characteristic["handle"]) + 1
        last = max(last, value)
        descriptors = characteristic.get("descriptors", [])
        has_own = any(one["uuid"] == "2902" for one in descriptors)
        if {"notify", "indicate"} & set(characteristic["properties"]) and not has_own:
            last = max(last, value + 1)
        for descriptor in descriptors:
            last = max(last, number(descriptor["handle"]))
    return last


def source(entry: dict) -> int:
    if "behaviour" in entry:
        return APPLICATION
    return FIXED if entry.get("fixedLength") else STORED


def profile(path: pathlib.Path) -> list:
    """The lines of a profile: rows, and the behaviours of values."""
    data = json.loads(path.read_text())
    lines = []
    if data.get("automatic", True):
        # The C library has no Server Supported Features in its own ones.
        name = data.get("name", "").encode().hex()
        lines += [row(0, {"uuid": "1800"}), row(3, {"uuid": "2A00"}, 2, CONSTANT, value=name),
                  row(3, {"uuid": "2A01"}, 2, CONSTANT, value="0000"), row(0, {"uuid": "1801"}),
                  row(3, {"uuid": "2A05"}, 32, CONSTANT, value="0100ffff"),
                  row(3, {"uuid": "2B29"}, 10, FEATURES), row(3, {"uuid": "2B2A"}, 2, HASH),
                  row(3, {"uuid": "2B3A"}, 2, CONSTANT, value="00")]
    services = sorted(data["services"], key=lambda one: number(one.get("handle")))
    for service in services:
        kind = 0 if service.get("primary", True) else 1
        lines.append(row(kind, service, end=number(service.get("endHandle"))))
        for include in service.get("includes", []):
            target = next(one for one in services if one["handle"] == include["service"])
            lines.append(row(2, {"uuid": target["uuid"], "handle": include["handle"]},
                             value_handle=number(include["service"]), end=last_handle(target)))
        for characteristic in service.get("characteristics", []):
            bits = 0
            for name in characteristic["properties"]:
                bits |= PROPERTIES[name]
            value = octets(characteristic.get("value"))
            own = {"2B29": FEATURES, "2B2A": HASH}.get(characteristic["uuid"])
            if service["uuid"] != "1801" or "value" in characteristic or own is None:
                own = source(characteristic)
            lines.append(row(3, characteristic, bits, own,
                             number(characteristic.get("valueHandle")),
                             bits=permissions(characteristic), value=value))
            if "behaviour" in characteristic:
                behaviour = characteristic["behaviour"]
                handle = (number(characteristic.get("valueHandle"))
                          or number(characteristic["handle"]) + 1)
                lines.append(
                    f"behaviour {handle} {number(behaviour.get('readError'))} "
                    f"{number(behaviour.get('writeError'))} {number(behaviour.get('echoTo'))} "
                    f"{behaviour.get('delayMilliseconds', 0)} "
                    f"{behaviour.get('notifyEveryMilliseconds', 0)} {value or '-'}")
            for descriptor in characteristic.get("descriptors", []):
                lines.append(row(4, descriptor, bits=permissions(descriptor),
                                 source=source(descriptor), value=octets(descriptor.get("value"))))
    return lines


def nanoseconds(text: str) -> int:
    amount, unit = re.fullmatch(r"([0-9.]+)(s|ms|us)", text).groups()
    return round(float(amount) * {"s": 1e9, "ms": 1e6, "us": 1e3}[unit])


def step(line: str, folder: pathlib.Path) -> list:
    word, _, rest = line.partition(" ")
    match word:
        case ">" | "<": return [f"{word} {rest.replace(' ', '')}"]
        case "wait" | "silence": return [f"{word} {nanoseconds(rest)}"]
        case "security":
            level, _, key = rest.partition(" ")
            index = ["low", "medium", "high", "fips"].index(level) + 1
            return [f"security {index} {key or (0 if index == 1 else 16)}"]
        case "database":
            change, _, what = rest.partition(" ")
            if change == "remove":
                return [f"remove {number(what)}"]
            return [*profile(folder / what), "add"]
        case "bearers":
            raise Skipped("a connection of the C library has one bearer")
        case "notify" | "indicate":
            words = rest.split()
            return [" ".join([word, *(str(number(one)) if one.startswith("0x") else one
                                      for one in words)])]
        case _: return [line]


def cases(path: pathlib.Path) -> list:
    """The cases of a transcript as (name, lines); lines are an exception if it is left out."""
    found, general, name, lines, own = [], None, None, [], None

    def end() -> None:
        if name is None:
            return
        chosen = own or general
        try:
            steps = [one for line in lines for one in step(line, path.parent)]
            head = profile(path.parent / chosen) if chosen else []
            role = "server" if chosen else "client"
            found.append((name, [f"case {path.name}:{name}", *head, f"start {role}", *steps, "end"]))
        except Skipped as reason:
            found.append((name, reason))

    for text in path.read_text().splitlines():
        text = re.sub(r"\s#.*", "", text).strip()
        if not text or text.startswith("##"):
            continue
        if text.startswith("# "):
            end()
            name, lines, own = text[2:].split()[0], [], None
        elif text.startswith("profile "):
            if name is None:
                general = text[8:].strip()
            else:
                own = text[8:].strip()
        else:
            lines.append(text)
    end()
    return found
