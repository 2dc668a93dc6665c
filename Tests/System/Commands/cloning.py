"""discover --values and --save-profile: values in the tree, and clones of servers."""

import json
import os

from harness import FIXTURES, contains, equal, expect, test

PROFILES = sorted(FIXTURES.glob("*.json")) + sorted(FIXTURES.glob("transcripts/*.json"))


def saved(b, at, name):
    """The database with its values, and the profile without its comment."""
    path = b.path(name)
    ended = b.run("discover", at, "--values", "--save-profile", path, "--json", "--mtu", 517)
    equal(ended.code, 0, ended.err)
    with open(path) as file:
        profile = json.load(file)
    contains(profile.pop("comment"), at)
    return ended.json[0], profile, path


def loaded(path):
    """A profile without delays, and the UUIDs of values that a behaviour changes."""
    with open(path) as file:
        profile = json.load(file)
    uuids = set()
    for service in profile["services"]:
        for found in service.get("characteristics", []):
            behaviour = found.get("behaviour", {})
            behaviour.pop("delayMilliseconds", None)
            if {"counter", "tally"} & set(behaviour):
                uuids.add(found["uuid"].lower())
    return profile, uuids


def still(database, uuids):
    """The database without these values."""
    for service in database["services"]:
        for found in service["characteristics"]:
            if found["uuid"] in uuids:
                for key in ("value", "decoded", "text", "units", "fault"):
                    found.pop(key, None)
    return database


for original in PROFILES:
    @test(f"cloning: a clone of a clone of {original.relative_to(FIXTURES)} is the original")
    def clones(b, original=original):
        served, uuids = loaded(original)
        _, at = b.serve(served, name="original")
        first, profile, path = saved(b, at, "first.json")
        _, at = b.serve(path, name="clone")
        second, again, path = saved(b, at, "second.json")
        equal(still(second, uuids), still(first, uuids))
        equal(again, profile)
        _, at = b.serve(path, name="clone2")
        third, again, _ = saved(b, at, "third.json")
        equal((still(third, uuids), again), (second, profile))


@test("discover: values in the tree, decoded, with errors in their place")
def tree(b):
    _, at = b.serve("heart-rate.json")
    contains(b.run("discover", at, "--values").out,
             '2A00 Device Name  value 0x0003  [read]  = 4174746f205374726170  "Atto Strap"\n',
             "2A37 Heart Rate Measurement  value 0x0012  [notify]\n",
             "2A38 Body Sensor Location  value 0x0015  [read]  = 01  chest\n",
             "2902 Client Characteristic Configuration  = 0000  none\n",
             "= 312e302e302c206275696c7420666f7220612064656d6f6e7374726174696f6e206f66206c6f6e67207265"
             '616473  "1.0.0, built for a demonstration of long reads"\n')
    profile = {"automatic": False, "services": [{"uuid": "180F", "characteristics": [
        {"uuid": "2A19", "properties": ["read"], "permissions": []},
        {"uuid": "2A1B", "properties": ["read", "write"], "value": "hex:01",
         "permissions": ["readAuthenticated", "write"]},
        {"uuid": "2A06", "properties": ["read"], "behaviour": {"readError": "0x81"}},
        {"uuid": "ABCD", "properties": ["read"], "value": "hex:0709",
         "descriptors": [{"uuid": "2904", "value": "hex:0efe2f27010000"}]},
        {"uuid": "2A6E", "properties": ["read"], "value": "hex:01"}]}]}
    _, at = b.serve(profile, name="errors")
    lines = b.run("discover", at, "--values").lines
    for line, end in zip(lines[1:5] + lines[5:], [
            "[read]  = error: Read Not Permitted (0x02)",
            "[read, write]  = error: Insufficient Authentication (0x05)",
            "[read]  = error: Application Error (0x81)", "= 0709  23.11 °C",
            "= 0efe2f27010000  sint16, exponent -2, unit 0x272F °C", "= 01  (ends in temperature)"]):
        expect(line.endswith(end), f"{line!r} does not end in {end!r}")
    found, saved_profile, path = saved(b, at, "errors.json")
    values = found["services"][0]["characteristics"]
    equal(values[0]["error"], {"code": 2, "name": "Read Not Permitted"})
    equal((values[3]["decoded"], values[3]["units"], values[3]["text"]),
          ({"value": 23.11}, {"value": "°C"}, "23.11 °C"))
    equal((values[4]["value"], values[4]["fault"]), ("01", "ends in temperature"))
    _, at = b.serve(path, name="clone")
    equal(saved(b, at, "again.json")[:2], (found, saved_profile))


@test("discover: without the options no value is read or shown")
def without(b):
    _, at = b.serve("heart-rate.json")
    ended = b.run("discover", at, "--trace")
    expect("Read Request" not in ended.err and "= " not in ended.out, ended.err)


@test("discover: a profile that cannot be written, or that servers refuse, is an error")
def refused(b):
    _, at = b.serve("heart-rate.json")
    ended = b.run("discover", at, "--save-profile", b.path("none/clone.json"))
    equal((ended.code, ended.out), (2, ""))
    contains(ended.err, "cannot write")
    ended = b.run("discover", at, "--save-profile", "/dev/full")
    equal(ended.code, 2)

    # A characteristic with two configurations.
    def answer(pdu):
        kind, start = pdu[:2], int.from_bytes(bytes.fromhex(pdu[2:6]), "little")
        if kind == "10" and start == 1 and pdu.endswith("0028"):
            return ["1106010005000f18"]
        if kind == "08" and start <= 2 and pdu.endswith("0328"):
            return ["09070200020300192a"]
        if kind == "04" and start == 4:
            return ["05010400022905000229"]
        if kind == "0a":
            return ["0b00"]
        return [f"01{kind}{pdu[2:6]}0a"]

    path = b.path("broken.json")
    peer = b.peer(answer)
    ended = b.run("discover", peer.endpoint, "--save-profile", path)
    equal(ended.code, 4)
    contains(ended.err, "cannot save the peer as a profile: services[0].characteristics[0]",
             "one descriptor 2902")
    expect(not os.path.exists(path), "a profile was written")
