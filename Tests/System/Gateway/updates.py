"""Updates of devices over MQTT.

    Tests/System/Gateway/run PROGRAMS updates[:NAME]

The devices are `atto serve` on the virtual air with MCUmgr and MCUboot behind it (`mcumgr.py`).
"""

import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import threading

import jinja2
import mqtt
from mcumgr import PROFILE, UPLOAD, Device, Radio, image
from mqtt import SEED, Bench, counting, numbers, retained, state
from support import PATIENCE

OLD, NEW = image(3000, (1, 0, 0), 1), image(20_000, (1, 1, 0), 2)


class Updating:
    """A bench with images and devices."""

    def __init__(self, bench: Bench, *names: str) -> None:
        self.bench, self.tally = bench, bench.tally
        bench.broker()
        self.firmware = bench.path / "firmware"
        self.firmware.mkdir()
        (self.firmware / "new.bin").write_bytes(NEW)
        self.names = names
        self.devices = {name: self.device(name) for name in names}
        self.listener = bench.listener()

    def device(self, name: str) -> Device:
        device = Device(OLD)
        profile = PROFILE | {"services": PROFILE["services"] + counting(20)["services"]}
        program = self.bench.device(
            profile, name, "--control", "--mtu", "247", "--json", stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

        def say(line: str) -> None:
            program.stdin.write(line.encode() + b"\n")
            program.stdin.flush()
        while b"listening" not in program.stdout.readline():
            pass
        Radio(device, lambda: program.stdout.readline() or None, say)
        return device

    def gateway(self, **others) -> subprocess.Popen:
        return self.bench.gateway(self.names, others={"firmware": str(self.firmware)} | others)

    def progress(self, name: str, what=lambda progress: True) -> dict:
        """The next progress of a device for which `what` is true."""
        return json.loads(self.listener.on(
            f"atto/hall/{name}/update/progress", lambda m: m.payload and what(json.loads(m.payload))).payload)

    def ends(self, name: str, file: str = "new.bin") -> dict:
        ends = ("uploaded", "tested", "updated", "failed", "cancelled")
        return self.progress(name, lambda one: one["state"] in ends and one["file"] == file)

    def connected(self) -> None:
        waiting = set(self.names)

        def comes(message) -> bool:
            if message.topic.endswith("/status") and state(message) == "connected":
                waiting.discard(message.topic.split("/")[2])
            return not waiting
        self.listener.until(comes, "links to all devices")
        self.listens()

    def listens(self) -> None:
        """Waits until the gateway has subscribed to requests, after which it says that it is there."""
        self.bench.until(
            lambda: retained(self.bench).get("atto/hall/status", {}).get("state") == "online", "the gateway is there")

    def refused(self, topic: str, payload, kind: str, *parts: str) -> None:
        text = payload if isinstance(payload, str) else json.dumps(payload)
        error = self.listener.ask(topic, text).get("error", {})
        self.tally.check(
            error.get("kind") == kind and all(part in error["message"] for part in parts), f"{payload} is refused",
            error)


class Hold:
    """Keeps a device from answering once it has so many octets, until it is let go."""

    def __init__(self, device: Device, offset: int) -> None:
        self.device, self.answer, self.offset = device, device.answer, offset
        self.is_held, self.goes_on = threading.Event(), threading.Event()
        device.answer = self.slowly

    def slowly(self, request: bytes) -> bytes:
        if len(self.device.upload) >= self.offset and not self.goes_on.is_set():
            self.is_held.set()
            self.goes_on.wait(PATIENCE)
        return self.answer(request)

    def __enter__(self) -> "Hold":
        if not self.is_held.wait(PATIENCE):
            raise TimeoutError(f"no update to offset {self.offset}")
        return self

    def __exit__(self, *_) -> None:
        self.device.answer = self.answer
        self.goes_on.set()


def uploads(device: Device) -> list:
    return [body for command, body in device.requests if command == UPLOAD]


def one(bench: Bench) -> None:
    """A device is updated while its values go on."""
    up = Updating(bench, "lamp")
    tally, listener, device = up.tally, up.listener, up.devices["lamp"]
    up.gateway()
    # It has subscribed to requests before it says so.
    up.connected()
    listener.on("atto/hall/lamp/a001")
    digits = hashlib.sha256(NEW).hexdigest()
    answer = listener.ask("atto/hall/lamp/update", json.dumps({"id": 7, "file": "new.bin", "sha256": digits.upper()}))
    tally.equal((answer["id"], answer.get("version"), answer.get("size")), (7, "1.1.0", len(NEW)), "the answer")
    last = up.ends("lamp")
    tally.equal([last[key] for key in ("state", "version", "installed", "offset", "size", "percent")],
                ["updated", "1.1.0", "1.1.0", len(NEW), len(NEW), 100], "the end")
    tally.equal((device.slots, device.is_confirmed, device.boots_count), ([NEW, OLD], True, 1), "the device")
    seen = [json.loads(m.payload) for m in listener.seen if m.topic == "atto/hall/lamp/update/progress"]
    percents = [each["percent"] for each in seen]
    tally.check(percents == sorted(percents) and len(set(percents)) > 20, "progress", percents)
    stages = list(dict.fromkeys(each["state"] for each in seen))
    tally.equal(stages, ["waiting", "connecting", "uploading", "starting", "updated"], "the stages")
    tally.equal(next(each["installed"] for each in seen if "installed" in each), "1.0.0", "the version before")
    values = numbers(listener.seen, "atto/hall/lamp/a001")
    tally.check(len(values) > 5, "values meanwhile", values)
    # It runs the image already.
    listener.ask("atto/hall/lamp/update", "new.bin")
    count = len(uploads(device))
    tally.equal((up.ends("lamp")["state"], len(uploads(device))), ("updated", count), "again")
    # The link goes on, and the progress is kept.
    tally.equal(json.loads(listener.on("atto/hall/lamp/a001").payload)["via"], "hall", "values afterwards")
    kept = bench.until(lambda: retained(bench).get("atto/hall/lamp/update/progress"), "retained")
    tally.equal(kept["state"], "updated", "what the broker keeps")
    bench.until(lambda: not (bench.path / "hall" / "updates.json").exists(), "nothing is left to do")


def refused(bench: Bench) -> None:
    """Requests that are not carried out, and files of updates that another program has written."""
    up = Updating(bench, "lamp")
    (bench.path / "hall").mkdir(mode=0o700)
    file = bench.path / "hall" / "updates.json"
    plan = {"file": "new.bin", "devices": ["moon"], "image": -(1 << 60), "onlyUpgrade": True, "starts": True,
            "confirms": True}
    for content in ("[{", json.dumps([plan, plan | {"file": "../secret"}, plan | {"devices": []}] * 9)):
        file.write_text(content)
        gateway = up.gateway()
        up.connected()
        if content == "[{":
            bench.kill(gateway)
    bench.logged("moon: the update with new.bin has failed")
    bench.logged("an update cannot go on: expected the name of a file")
    bench.until(lambda: not file.exists(), "nothing is left to do")
    up.tally.check("atto/hall/moon/update/progress" not in retained(bench), "a device that is not configured")
    topic, all_topic = "atto/hall/lamp/update", "atto/hall/update"
    (bench.path / "secret").write_bytes(NEW)
    (up.firmware / "cut.bin").write_bytes(NEW[:-40])
    os.mkfifo(up.firmware / "pipe")
    (up.firmware / "large.bin").touch()
    os.truncate(up.firmware / "large.bin", 1 << 32)
    other = hashlib.sha256(OLD).hexdigest()
    for payload, kind, *parts in [
        ("../secret", "usage", "without"), ("/etc/passwd", "usage"), ("..", "usage"), ("", "usage", "cancel"),
        ("missing.bin", "file", "No such file"), ("cut.bin", "file", "cut off"), ("pipe", "file", "regular"),
        ("large.bin", "file", "larger"), ("cancel", "usage", "not being updated"),
        ({"file": "new.bin", "sha256": other}, "file", "another file", hashlib.sha256(NEW).hexdigest()),
        ({"file": "new.bin", "sha256": "12"}, "usage", "64"), ({"file": 7}, "usage", "file"), ({}, "usage", "file"),
        ({"file": "new.bin", "image": 16}, "usage", "15"), ({"file": "new.bin", "devices": ["lamp"]}, "usage", "devices"),
        ({"file": "new.bin", "start": "no"}, "usage", "true or false"), ({"file": "a\0b"}, "usage"),
    ]:
        up.refused(topic, payload, kind, *parts)
    for payload, kind, *parts in [
        ("new.bin", "usage", "devices"), ({"file": "new.bin"}, "usage", "devices"),
        ({"file": "new.bin", "devices": []}, "usage", "at least one"),
        ({"file": "new.bin", "devices": ["lamp", "lamp"]}, "usage", "twice"),
        ({"file": "new.bin", "devices": ["lamp", "moon"]}, "usage", "moon"),
        ({"file": "new.bin", "devices": [1]}, "usage", "names"),
        ({"file": "new.bin", "devices": ["lamp"] * 300}, "limit", "256"),
    ]:
        up.refused(all_topic, payload, kind, *parts)
    up.refused("atto/hall/moon/update", "new.bin", "usage", "moon")
    up.tally.equal(up.devices["lamp"].requests, [], "the device has not been asked")
    file = bench.path / "hall.json"
    configured = json.loads(file.read_text())
    del configured["firmware"]
    file.write_text(json.dumps(configured))
    gateway.send_signal(signal.SIGHUP)
    bench.logged("the configuration was read again")
    up.refused(topic, "new.bin", "usage", '"firmware"')


def killed(bench: Bench) -> None:
    """The gateway is killed at random offsets, and goes on each time."""
    up = Updating(bench, "lamp")
    tally, listener, device = up.tally, up.listener, up.devices["lamp"]
    print(f"seed {SEED}")
    gateway = up.gateway()
    up.connected()
    offsets = sorted(random.Random(SEED).sample(range(400, len(NEW) - 2000), 5))
    hold = Hold(device, offsets[0])
    tally.equal(listener.ask("atto/hall/lamp/update", "new.bin").get("version"), "1.1.0", "the answer")
    for count, offset in enumerate(offsets):
        if count:
            hold = Hold(device, offset)
            gateway = up.gateway()
        with hold:
            bench.kill(gateway)
    gateway = up.gateway()
    tally.equal(up.ends("lamp")["state"], "updated", "the end")
    tally.equal(device.slots, [NEW, OLD], "the device")
    starts = sum(body["off"] == 0 for body in uploads(device))
    octets = sum(len(body["data"]) for body in uploads(device) if body["off"])
    tally.check(starts <= 6 and octets < 2 * len(NEW), "it has not begun again", (starts, octets))
    tally.check("going on with the update of lamp" in bench.log(), "the log")
    # An image that has changed meanwhile.
    (up.firmware / "other.bin").write_bytes(image(20_000, (1, 2, 0), 3))
    hold = Hold(device, 5000)
    listener.ask("atto/hall/lamp/update", "other.bin")
    with hold:
        bench.kill(gateway)
        (up.firmware / "other.bin").write_bytes(OLD)
    gateway = up.gateway()
    last = up.ends("lamp", "other.bin")
    tally.equal((last["state"], "another file" in last.get("error", "")), ("failed", True), "another image")


def staged(bench: Bench) -> None:
    """A list: the first failure ends it, and breaking links do not."""
    up = Updating(bench, "one", "two", "three")
    tally, listener = up.tally, up.listener
    up.gateway()
    up.connected()
    up.devices["one"].breaks_at = 9000
    up.devices["two"].is_refused = True
    wanted = {"file": "new.bin", "devices": ["one", "two", "three"]}
    tally.equal(listener.ask("atto/hall/update", json.dumps(wanted)).get("size"), len(NEW), "the answer")
    up.refused("atto/hall/three/update", "new.bin", "usage", "already")
    tally.equal(up.ends("one")["state"], "updated", "the first")
    second = up.ends("two")
    tally.equal((second["state"], second["installed"]), ("failed", "1.0.0"), "the second")
    tally.check("signed with the device's key" in second["error"], "why", second)
    third = up.ends("three")
    tally.equal((third["state"], third.get("error")), ("cancelled", "the update of two has failed"), "the third")
    tally.equal((up.devices["one"].slots, up.devices["three"].requests), ([NEW, OLD], []), "what was done")
    # Those that are left, without confirming.
    up.devices["two"].is_refused = False
    listener.ask("atto/hall/update", json.dumps(wanted | {"devices": ["two", "three"], "confirm": False}))
    tally.equal([up.ends(name)["state"] for name in ("two", "three")], ["tested", "tested"], "the rest")
    tally.equal(up.devices["three"].is_confirmed, False, "not confirmed")


def cancelled(bench: Bench) -> None:
    """An update is cancelled while its device does not answer, and asked for again."""
    up = Updating(bench, "lamp")
    tally, listener, device = up.tally, up.listener, up.devices["lamp"]
    up.gateway()
    up.connected()
    hold = Hold(device, 5000)
    listener.ask("atto/hall/lamp/update", json.dumps({"file": "new.bin", "start": False}))
    with hold:
        tally.equal(listener.ask("atto/hall/lamp/update", "cancel").get("done"), True, "the answer")
        last = up.ends("lamp")
    tally.equal((last["state"], last.get("error")), ("cancelled", "cancelled by a request"), "cancelled")
    up.refused("atto/hall/lamp/update", "cancel", "usage", "not being updated")
    listener.ask("atto/hall/lamp/update", json.dumps({"file": "new.bin", "start": False}))
    tally.equal((up.ends("lamp")["state"], device.slots), ("uploaded", [OLD, NEW]), "again")


def offered(bench: Bench) -> None:
    """An image in the configuration: Home Assistant knows both versions, and installs it."""
    up = Updating(bench, "lamp")
    tally, listener, device = up.tally, up.listener, up.devices["lamp"]
    configured = [{"name": "lamp", "match": {"localName": "lamp"}, "firmware": "new.bin"}]
    up.bench.gateway(broker={"homeAssistant": True}, others={"firmware": str(up.firmware), "devices": configured})
    announcement, progress = "homeassistant/update/atto_hall_lamp/firmware/config", "atto/hall/lamp/update/progress"
    kept = bench.until(lambda: {announcement, progress} <= set(kept := retained(bench)) and kept, "the entity")
    entity, idle = kept[announcement], kept[progress]
    tally.equal((entity["state_topic"], entity["command_topic"]),
                ("atto/hall/lamp/update/progress", "atto/hall/lamp/update"), "its topics")
    tally.equal([idle.get(key) for key in ("state", "file", "version", "installed")],
                ["idle", "new.bin", "1.1.0", "1.0.0"], "before the update")
    up.listens()
    listener.client.publish(entity["command_topic"], entity["payload_install"], qos=1)
    shown = []

    def ends(progress: dict) -> bool:
        shown.append(home_assistant(entity, progress))
        return progress["state"] == "updated"
    last = up.progress("lamp", ends)
    tally.equal((last["installed"], device.slots), ("1.1.0", [NEW, OLD]), "after the update")
    done = {"latest_version": "1.1.0", "installed_version": "1.1.0", "in_progress": False, "update_percentage": None}
    tally.equal(shown[-1], done, "what Home Assistant shows at the end")
    tally.check(any(one == done | {"installed_version": "1.0.0", "in_progress": True, "update_percentage": 50}
                    for one in shown), "what it shows meanwhile", shown)


def asked_meanwhile(bench: Bench) -> None:
    """An update begins while the gateway waits for the device to tell its version."""
    up = Updating(bench, "lamp")
    tally, listener, device = up.tally, up.listener, up.devices["lamp"]
    hold = Hold(device, 0)
    up.bench.gateway(others={"firmware": str(up.firmware), "devices": [
        {"name": "lamp", "match": {"localName": "lamp"}, "firmware": "new.bin"}]})
    with hold:
        up.listens()
        tally.equal(listener.ask("atto/hall/lamp/update", "new.bin").get("version"), "1.1.0", "the answer")
        up.progress("lamp", lambda one: one["state"] == "connecting")
        # What the update has sent by now comes before this.
        tally.check("value" in listener.ask("atto/hall/lamp/2a00/get"), "a value meanwhile")
    last = up.ends("lamp")
    tally.equal((last["state"], last["installed"], device.slots), ("updated", "1.1.0", [NEW, OLD]), "the end")


def home_assistant(entity: dict, progress: dict) -> dict:
    """What Home Assistant's template makes of a progress."""
    return json.loads(jinja2.Environment().from_string(entity["value_template"]).render(value_json=progress))


def main(programs: pathlib.Path, names: list) -> tuple:
    return mqtt.main(programs, names, "updates", [one, offered, asked_meanwhile, refused, killed, staged, cancelled])
