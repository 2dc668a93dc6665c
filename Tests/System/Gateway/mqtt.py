"""The gateway with a real MQTT broker.

    Tests/System/Gateway/run PROGRAMS mqtt[:NAME]

The broker is Debian's mosquitto, with TLS and passwords, and is killed; mosquitto_sub, mosquitto_pub and
paho-mqtt judge. Devices are `atto serve` on the virtual air.
"""

import contextlib
import json
import os
import pathlib
import queue
import random
import re
import resource
import signal
import socket
import sqlite3
import ssl
import struct
import subprocess
import time

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

import support
from support import PATIENCE, Tally, confined, free_port

SEED = int(os.environ.get("ATTO_SEED", "1"))
PATH = os.environ.get("PATH", os.defpath) + ":/usr/local/sbin:/usr/sbin:/sbin"


def counting(milliseconds: int) -> dict:
    """A device whose values count."""
    return {
        "services": [{"uuid": "A000", "characteristics": [
            {"uuid": "A001", "properties": ["notify"], "value": "hex:00000000",
             "behaviour": {"counter": 4, "notifyEveryMilliseconds": milliseconds}}]}]}


class Listener:
    """A subscriber of everything; messages arrive in order."""

    def __init__(self, port: int, filters=("atto/#", "homeassistant/#"), protocol=mqtt.MQTTv5) -> None:
        self.messages = queue.Queue()
        self.seen = []
        self.filters = filters
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=protocol)
        self.client.on_connect = self.connected
        self.client.on_subscribe = lambda *_: self.ready.put(True)
        self.lost = queue.Queue()
        self.client.on_disconnect = lambda *_: self.lost.put(True)
        self.client.on_message = lambda client, _, message: self.messages.put(message)
        self.ready = queue.Queue()
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        self.ready.get(timeout=PATIENCE)

    def connected(self, client, *_) -> None:
        client.subscribe([(name, 1) for name in self.filters])

    def end(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()

    def drain(self) -> None:
        """After the death of the broker: reads what it had sent. A disconnect from here would discard that."""
        self.lost.get(timeout=PATIENCE)
        self.end()
        while not self.messages.empty():
            self.seen.append(self.messages.get())

    def until(self, found, what: str, patience: float = PATIENCE):
        """The first message, from the last one found on, for which `found` is true."""
        limit = time.monotonic() + patience
        while True:
            try:
                message = self.messages.get(timeout=max(0.01, limit - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(what) from None
            self.seen.append(message)
            if found(message):
                return message

    def on(self, topic: str, what=lambda message: True):
        return self.until(lambda m: m.topic == topic and what(m), f"no message on {topic}")

    def ask(self, topic: str, payload: str | bytes = "", response="atto/answers/test", on=None) -> dict:
        """A request with version 5's response topic; returns the answer, which comes there, or on `on`."""
        properties = Properties(PacketTypes.PUBLISH)
        properties.ResponseTopic = response
        properties.CorrelationData = mark = os.urandom(8)
        self.client.publish(topic, payload, qos=1, properties=properties)
        message = self.on(
            on or response, lambda m: getattr(m.properties, "CorrelationData", None) == mark)
        return json.loads(message.payload)


def state(message) -> str:
    return json.loads(message.payload)["state"] if message.payload else ""


class Bench(support.Bench):
    """A gateway, brokers and devices."""

    def __init__(self, programs: pathlib.Path, tally: Tally) -> None:
        super().__init__(programs, PATH=PATH)
        self.tally = tally
        self.listeners = []
        self.port = free_port()

    def broker(self, *lines: str, port: int | None = None) -> subprocess.Popen:
        """A broker that listens at all its ports."""
        port = port or self.port
        file = self.path / f"mosquitto-{port}.conf"
        if not file.exists():
            text = list(lines) or [f"listener {port} 127.0.0.1", "allow_anonymous true"]
            if os.getuid() == 0:
                text.append("user root")
            text += ["max_queued_messages 0", "max_inflight_messages 0"]
            file.write_text("\n".join(text) + "\n")
        program = self.start("mosquitto", "-c", file, log="mosquitto.log")

        def listens(port: int) -> bool:
            if program.poll() is not None:
                raise RuntimeError("mosquitto: " + self.log("mosquitto.log"))
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0
        for listener in re.findall(r"^listener (\d+)", file.read_text(), re.M):
            self.until(lambda: listens(int(listener)), f"mosquitto does not listen at {listener}")
        return program

    def listener(self, port: int | None = None, **options) -> Listener:
        listener = Listener(port or self.port, **options)
        self.listeners.append(listener)
        return listener

    def gateway(self, devices=("strap",), name="hall", subscribe="A001", broker=None, others=None,
                options=None) -> subprocess.Popen:
        (self.path / name).mkdir(mode=0o700, exist_ok=True)
        configuration = {
            "name": name, "adapters": ["air"], "state": str(self.path / name),
            "mqtt": {"url": f"mqtt://127.0.0.1:{self.port}"} | (broker or {}),
            "devices": [{"name": device, "match": {"localName": device},
                         "subscribe": [subscribe]} for device in devices]} | (others or {})
        file = self.write(f"{name}.json", configuration)
        log = "gateway.log" if name == "hall" else f"{name}.log"
        return self.start(
            *confined(self.programs), file, "--control", self.path / f"{name}.control", log=log,
            **(options or {}))

    def device(self, profile: str | dict, name: str = "strap", *options, **more) -> subprocess.Popen:
        return super().device(profile, name, *options, **more)

    def kill(self, program: subprocess.Popen, number=signal.SIGKILL) -> None:
        program.send_signal(number)
        program.wait(PATIENCE)
        self.running.remove(program)

    def run(self, *command) -> subprocess.CompletedProcess:
        return subprocess.run(
            command, env=self.environment, capture_output=True, timeout=PATIENCE, text=True)

    def end(self) -> None:
        for listener in self.listeners:
            listener.end()
        super().end()


def numbers(messages: list, topic: str) -> list:
    """The counts in the values of a topic, in the order of arrival."""
    return [struct.unpack("<I", bytes.fromhex(json.loads(m.payload)["value"][:8]))[0]
            for m in messages if m.topic == topic]


def first_arrivals(counts: list) -> list:
    return list(dict.fromkeys(counts))


def check_gapless(tally: Tally, counts: list, what: str = "no value is missing") -> None:
    """Each value is by 1 more than the one before it. Says where that is not so, with what stands around."""
    breaks = [(place, counts[max(0, place - 2):place + 2]) for place in range(1, len(counts))
              if counts[place] != counts[place - 1] + 1]
    tally.check(counts and not breaks, what, f"{len(counts)} values, breaks {breaks}")


def long_requests(listener: "Listener", tally: Tally) -> None:
    """Sequences that take all places of a device. They are listed and cancelled."""
    pause = [{"pauseMilliseconds": 60_000}] * 256
    for number in range(64):
        listener.client.publish(
            "atto/hall/strap/sequence", json.dumps({"id": number, "steps": pause}), qos=1)
    error = listener.ask("atto/hall/strap/2a28/get")["error"]
    tally.equal((error["kind"], "64 for a device" in error["message"]), ("limit", True), "the device's share")
    tally.equal(listener.ask("atto/hall/scan", "active").get("done"), True, "other requests go on")
    found = listener.ask("atto/hall/strap/requests")["requests"]
    tally.equal(([request["id"] for request in found], {request["topic"] for request in found}),
                (list(range(64)), {"atto/hall/strap/sequence"}), "the list")
    one = {"cancel": found[3]["number"]}
    tally.equal(listener.ask("atto/hall/strap/requests", json.dumps(one))["cancelled"], 1, "one is cancelled")
    ended = json.loads(listener.on("atto/hall/strap/sequence/answer").payload)
    tally.equal((ended["id"], ended["error"]["kind"]), (3, "interrupted"), "its answer")
    tally.check("value" in listener.ask("atto/hall/strap/2a28/get"), "there is room for one")
    tally.equal(listener.ask("atto/hall/strap/requests", "cancel")["cancelled"], 63, "all are cancelled")
    ended = [json.loads(listener.on("atto/hall/strap/sequence/answer").payload) for _ in range(63)]
    tally.equal({answer["error"]["kind"] for answer in ended}, {"interrupted"}, "their answers")
    tally.equal(listener.ask("atto/hall/strap/requests")["requests"], [], "the list is empty")


def everything(bench: Bench) -> None:
    """Values, requests, discovery and the ends of the gateway."""
    tally = bench.tally
    bench.broker()
    bench.device("heart-rate.json")
    listener = bench.listener()
    gateway = bench.gateway(
        subscribe="2A37", broker={"homeAssistant": True},
        others={"advertisements": {"forward": True}})
    value = listener.on("atto/hall/strap/2a37")
    found = json.loads(value.payload)
    tally.equal(
        (found["value"], found["decoded"]["heartRate"], found["via"], "late" in found),
        ("0048", 72, "hall", False), "a value")
    ask = lambda topic, payload="": listener.ask(f"atto/hall/{topic}", payload)  # noqa: E731
    tally.equal(ask("strap/2a28/get")["value"], b"1.0.0, built for a demonstration of long reads".hex(),
                "a long value")
    tally.equal(ask("strap/2a39/set", "01").get("done"), True, "a write")
    error = ask("strap/2a39/set", '{"value":"0102","id":[1]}')
    tally.equal((error["id"], error["error"]["kind"], error["error"]["code"]), ([1], "att", 13),
                "the device's error")
    tally.equal(ask("strap/sequence", json.dumps({"steps": [
        {"read": "2a28"}, {"write": "2a39", "value": "01"}, {"pauseMilliseconds": 1},
        {"expect": "2a37"}]}))["values"][1], "0048", "a sequence")
    for topic, payload, kind in [
            ("nobody/2a37/get", "", "usage"), ("strap/ffff/get", "", "usage"),
            ("strap/2a39/set", "0", "usage"), ("strap/2a39/set", b"{\xff\x00", "usage"),
            ("strap/2a39/set", "{" + '"a":[' * 5000, "usage"),
            ("strap/2a39/set", "00" * 513, "usage"), ("strap/2a39/set", "0" * 100_000, "limit"),
            ("strap/sequence", "none", "usage"), ("scan", "", "usage")]:
        tally.equal(ask(topic, payload).get("error", {}).get("kind"), kind, f"{topic} {payload[:20]!r}")
    # Larger than any packet that the gateway accepts: the broker drops it, and the rest goes on.
    listener.client.publish("atto/hall/strap/2a39/set", b"0" * 1_000_000, qos=1)
    tally.equal(ask("strap/2a39/subscribe", "off").get("done"), True, "after a giant message")
    for _ in range(2000):
        listener.client.publish("atto/hall/strap/2a28/get", '{"id":"flood"}', qos=0)
    answers = [json.loads(listener.on("atto/hall/strap/2a28/get/answer").payload) for _ in range(2000)]
    tally.check(all(a["id"] == "flood" and ("value" in a or a["error"]["kind"] == "limit")
                    for a in answers), "each request of a flood is answered")
    # Answers go to no topic of somebody else, and not to one that is a request.
    for response in ["homeassistant/sensor/strap/config", "atto/hall/strap/2a39/set", "atto/answers", "x"]:
        own = "atto/hall/strap/2a28/get"
        tally.check("value" in listener.ask(own, response=response, on=own + "/answer"),
                    f"the response topic {response}")
    long_requests(listener, tally)
    config = [m for m in listener.seen if m.topic.startswith("homeassistant/sensor/")]
    found = {m.topic: json.loads(m.payload) for m in config}
    tally.equal(sorted(f["unit_of_measurement"] for f in found.values() if "unit_of_measurement" in f),
                ["bpm", "dBm"], "discovery")
    rate = found["homeassistant/sensor/atto_hall_strap/2a37_heartRate/config"]
    block = {key: rate["device"].get(key) for key in ("manufacturer", "model", "sw_version", "via_device")}
    tally.equal((block, rate["default_entity_id"]), (
        {"manufacturer": "Atto", "model": "Strap 1", "sw_version": "1.0.0", "via_device": "atto-gateway_hall"},
        "sensor.atto_hall_strap_2a37_heartrate"), "the device block")
    tally.equal(ask("strap/2a39/set", "")["error"]["kind"], "usage", "an empty payload writes nothing")
    if os.environ.get("ATTO_DISCOVERY"):
        pathlib.Path(os.environ["ATTO_DISCOVERY"]).write_text(json.dumps(
            {m.topic: json.loads(m.payload) for m in listener.seen
             if m.topic.startswith("homeassistant/") and m.payload}))
    tally.check(any(m.topic.startswith("atto/hall/advertisement/") for m in listener.seen),
                "advertisements")

    # Devices by address: only with connectAny, below.
    address = next(
        m.topic.rpartition("/")[2] for m in listener.seen if m.topic.startswith("atto/hall/advertisement/"))
    tally.equal(ask(f"{address}/2a28/get")["error"]["kind"], "usage", "a device that is not configured")

    # Debian's clients.
    port = str(bench.port)
    judge = subprocess.Popen(
        ["mosquitto_sub", "-p", port, "-t", "atto/hall/strap/2a39/set/answer", "-C", "1", "-W", "60"],
        env=bench.environment, stdout=subprocess.PIPE, text=True)
    while judge.poll() is None:
        bench.run("mosquitto_pub", "-p", port, "-t", "atto/hall/strap/2a39/set", "-m",
                  '{"value":"01","id":5}')
        try:
            judge.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
    tally.equal(json.loads(judge.stdout.read())["id"], 5, "an answer without version 5")
    retained = bench.run("mosquitto_sub", "-p", port, "-t", "atto/hall/+/status", "-t",
                         "atto/hall/status", "--retained-only", "-C", "2", "-W", "60").stdout
    tally.equal(sorted(json.loads(line)["state"] for line in retained.splitlines()),
                ["connected", "online"], "retained states")
    bench.run("mosquitto_pub", "-p", port, "-r", "-t", "atto/hall/strap/2a39/set", "-m", "01")
    bench.kill(gateway)
    tally.equal(state(listener.on("atto/hall/status", lambda m: state(m) == "offline")), "offline",
                "the last will")
    gateway = bench.gateway(subscribe="2A37")
    answer = json.loads(listener.on("atto/hall/strap/2a39/set/answer",
                                    lambda m: b"retained" in m.payload).payload)
    tally.equal(answer["error"]["kind"], "usage", "a retained request is refused")
    listener.on("atto/hall/strap/2a37")
    bench.kill(gateway, signal.SIGTERM)
    listener.on("atto/hall/status", lambda m: state(m) == "offline")
    tally.equal(gateway.returncode, 0, "the end")


GUARDED = {"services": [{"uuid": "A000", "characteristics": [
    {"uuid": "A001", "properties": ["read"], "value": "hex:07", "permissions": ["readAuthenticated"]}]}]}


def passkeys(bench: Bench) -> None:
    """Devices that pair with a passkey of the configuration, and with one that a person is asked for."""
    tally = bench.tally
    bench.broker()
    listener = bench.listener()
    named = lambda name, **more: {"name": name, "match": {"localName": name}} | more  # noqa: E731
    bench.device(GUARDED, "printed", "--io", "keyboard", "--passkey", "123456")
    bench.device(GUARDED, "other", "--io", "keyboard", "--passkey", "654321")
    gateway = bench.gateway(others={"devices": [
        named("printed", security="high", passkey=123456), named("other", security="high", passkey=1)]})
    listener.on("atto/hall/printed/status", lambda m: state(m) == "connected")
    tally.equal(listener.ask("atto/hall/printed/a001/get").get("value"), "07", "a configured passkey")
    bench.logged("pairing with other failed: the passkey entered here differs")
    bench.kill(gateway, signal.SIGTERM)

    bench.gateway(others={"askPasskeys": True, "devices": [
        named("shown", security="high"), named("same"), named("typed", security="high")]})

    def question(name: str, kind: str) -> dict:
        message = listener.on(f"atto/hall/{name}/pairing",
                              lambda m: json.loads(m.payload).get("kind") == kind)
        tally.equal((message.retain, message.qos), (False, 1), f"{kind}: the message")
        return json.loads(message.payload)

    def answer(name: str, question: str, text: object) -> str:
        found = listener.ask(f"atto/hall/{name}/passkey", json.dumps({"question": question, "answer": text}))
        return "done" if found.get("done") else found["error"]["message"]

    def result(name: str) -> str:
        return json.loads(listener.on(f"atto/hall/{name}/pairing",
                                      lambda m: b"result" in m.payload).payload)["result"]

    def digits(name: str, event: str, number: int = 0) -> str:
        """What the device shows, after so many before."""
        lines = bench.until(lambda: [line for line in bench.log(f"{name}.device").splitlines()
                                     if f'"{event}"' in line][number:], f"{name} shows nothing")
        return json.loads(lines[-1])["passkey"]

    bench.device(GUARDED, "shown", "--io", "display", "--json")
    asked = question("shown", "enter")
    tally.check(20 <= asked["withinSeconds"] <= 25, "the time that is left", asked)
    asked = asked["question"]
    passkey = digits("shown", "show")
    tally.check("expected six digits" in answer("shown", asked, "yes"), "yes is no number")
    tally.check("no device asks" in answer("shown", "0" * 16, passkey), "another question")
    tally.check("no device asks" in answer("same", asked, passkey), "another device")
    for wrong in ("12345x", "", "1234567", 123456, None):
        tally.check("answer:" in answer("shown", asked, wrong), f"answer {wrong}")
    tally.equal(listener.ask("atto/hall/shown/passkey", passkey)["error"]["kind"], "usage", "only digits")
    tally.equal(answer("shown", asked, passkey), "done", "the digits")
    tally.equal(result("shown"), "paired", "digits that the device shows")
    listener.on("atto/hall/shown/status", lambda m: state(m) == "connected")
    tally.check("no device asks" in answer("shown", asked, passkey), "one answer each")
    tally.equal(listener.ask("atto/hall/shown/a001/get").get("value"), "07", "a guarded value")

    keyboard = bench.device(GUARDED, "typed", "--io", "keyboard", stdin=subprocess.PIPE)
    asked = question("typed", "show")
    keyboard.stdin.write(asked["passkey"].encode() + b"\n")
    keyboard.stdin.flush()
    tally.equal(result("typed"), "paired", "digits that are entered at the device")
    tally.check("no device asks" in answer("typed", asked["question"], asked["passkey"]), "nothing to answer")

    # Asked for by a request that the device refuses, and refused at first.
    bench.device(GUARDED, "same", "--io", "yes-no", "--yes", "--json")
    for number, text in enumerate(["no", "yes"]):
        bench.logged("same: connected", number + 1)
        listener.client.publish("atto/hall/same/a001/get", json.dumps({"id": number}), qos=1)
        asked = question("same", "compare")
        tally.equal(digits("same", "compare", number), asked["passkey"], "both show the same number")
        tally.check("expected yes or no" in answer("same", asked["question"], "123456"), "digits")
        tally.equal(answer("same", asked["question"], text), "done", text)
        read = json.loads(listener.on("atto/hall/same/a001/get/answer").payload)
        tally.equal((read["id"], read.get("value")), (number, ["07", None][text == "no"]), f"after {text}")


def any_device(bench: Bench) -> None:
    """Devices that are not configured, by address."""
    tally = bench.tally
    bench.broker()
    bench.device("heart-rate.json")
    listener = bench.listener()
    gateway = bench.gateway(devices=[], broker={"connectAny": True, "homeAssistant": True},
                            others={"advertisements": {"forward": True}})
    heard = listener.until(lambda m: m.topic.startswith("atto/hall/advertisement/"), "nothing is heard")
    address = heard.topic.rpartition("/")[2]
    ask = lambda topic, payload="": listener.ask(f"atto/hall/{topic}", payload)  # noqa: E731
    tally.equal(ask(f"{address}/2a19/get").get("decoded"), {"level": 100}, "a value")
    status = [m for m in listener.seen if m.topic == f"atto/hall/{address}/status"]
    tally.equal(state(status[-1]), "connected", "the status")
    tally.equal(ask(f"{address}/2a37/subscribe", "on").get("done"), True, "subscribing")
    value = json.loads(listener.on(f"atto/hall/{address}/2a37").payload)
    tally.equal(value["value"], "0048", "a notified value")
    for name in ("00:00:00:00:00:01", "strap", address[:-1], "%", address + "0"):
        tally.equal(ask(f"{name}/2a19/get").get("error", {}).get("kind"), "usage", f"device {name}")
    tally.equal({m.topic.split("/")[2] for m in listener.seen if m.topic.startswith("homeassistant/")},
                {"atto-gateway_hall"}, "only the gateway is announced")
    bench.kill(gateway, signal.SIGTERM)
    listener.on(f"atto/hall/{address}/status", lambda m: not m.payload)
    tally.check(True, "the status is removed")


def sensors(bench: Bench) -> None:
    """Devices that only advertise: their readings are retained, and announced to Home Assistant."""
    tally = bench.tally
    bench.broker()
    listener = bench.listener()
    tag = bench.start(
        bench.programs / "atto", "advertise", "air:C0:00:00:00:00:05", "--manufacturer",
        "0499:0512fc5394c37c0004fffc040cac364200cdcbb8334c884f", log="tag.log")
    gateway = bench.gateway(devices=[], broker={"homeAssistant": True}, others={
        "sensors": [{"name": "cellar", "address": "C0:00:00:00:00:05"}]})
    temperature = json.loads(listener.on("atto/hall/cellar/temperature").payload)
    tally.equal((temperature["value"], temperature["unit"], temperature["via"]), (24.3, "°C", "hall"), "a reading")
    tally.check("time" in temperature and "rssi" in temperature, "time and strength of a reading")
    topic = "homeassistant/sensor/atto_hall_cellar/{}/config"
    bench.until(lambda: [m for m in listener.seen + list(listener.messages.queue)
                         if m.topic == topic.format("voltage")], "no voltage is announced")
    told = {m.topic: json.loads(m.payload) for m in listener.seen + list(listener.messages.queue)
            if m.topic.startswith("homeassistant/")}
    config = told[topic.format("temperature")]
    tally.equal((config["device_class"], config["unit_of_measurement"], config["state_class"],
                 config["state_topic"], config["device"]["manufacturer"], config["device"]["model"]),
                ("temperature", "°C", "measurement", "atto/hall/cellar/temperature", "Ruuvi", "RuuviTag"),
                "what Home Assistant is told")
    humidity = bench.run("mosquitto_sub", "-p", str(bench.port), "-t", "atto/hall/cellar/humidity",
                         "--retained-only", "-C", "1", "-W", "60").stdout
    tally.equal(json.loads(humidity)["value"], 53.49, "a retained reading")
    bench.kill(tag)
    bench.kill(gateway)
    # A sensor that the configuration no longer has.
    tally.check(any("cellar" in topic for topic in retained(bench)), "readings and announcements are kept")
    bench.gateway(devices=[], broker={"homeAssistant": True})
    bench.until(lambda: not any("cellar" in topic for topic in retained(bench)), "a removed sensor is cleared")


def presence(bench: Bench) -> None:
    """Devices that are home or away: by address, by the key of a private address, and by iBeacon."""
    tally = bench.tally
    bench.broker()
    listener = bench.listener()
    # The address and the key are sample data of the specification (Vol 3, Part H, D.7).
    beacon = "004c:0215e2c56db5dffb48d2b060d0f5a71096e000010002c5"
    uuid = "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"
    advertise = [bench.programs / "atto", "advertise"]
    tag = bench.start(*advertise, "air:C0:00:00:00:00:05", "--name", "Tag", log="tag.log")
    bench.start(*advertise, "air:70:81:94:0D:FB:AA", "--manufacturer", beacon, log="phone.log")
    gateway = bench.gateway(devices=[], broker={"homeAssistant": True}, others={"presence": [
        {"name": "tag", "address": "C0:00:00:00:00:05", "awaySeconds": 10},
        {"name": "phone", "irk": "ec0234a357c8ad05341010a60a397d9b", "awaySeconds": 10},
        {"name": "bag", "iBeacon": {"uuid": uuid, "major": 1, "minor": 2}, "awaySeconds": 10},
        {"name": "lost", "iBeacon": {"uuid": uuid, "major": 2}, "awaySeconds": 10}]})
    topic = "atto/hall/{}/presence".format
    for name in ("tag", "phone", "bag"):
        found = json.loads(listener.on(topic(name)).payload)
        tally.equal((found["state"], found["rssi"], found["via"]), ("home", -50, "hall"), name)
    tally.equal(json.loads(listener.on(topic("lost")).payload)["state"], "not_home", "one that never comes")
    told = retained(bench)["homeassistant/device_tracker/atto_hall_phone/presence/config"]
    tally.equal((told["source_type"], told["json_attributes_topic"]), ("bluetooth_le", topic("phone")), "announced")
    bench.kill(tag)
    away = json.loads(listener.on(topic("tag"), lambda m: b"not_home" in m.payload).payload)
    tally.check("rssi" not in away, "away", away)
    bench.start(*advertise, "air:C0:00:00:00:00:05", "--name", "Tag", log="tag.log")
    listener.on(topic("tag"), lambda m: b'"home"' in m.payload)
    tally.equal(retained(bench)[topic("phone")]["state"], "home", "the others stay")
    bench.kill(gateway)
    bench.gateway(devices=[], broker={"homeAssistant": True}, others={"presence": [
        {"name": "tag", "address": "C0:00:00:00:00:05"}]})
    bench.until(lambda: not any("phone" in topic for topic in retained(bench)), "a removed device is cleared")
    tally.check(topic("tag") in retained(bench), "the other is kept")


def certificates(path: pathlib.Path) -> None:
    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=path, check=True, capture_output=True)
    for name in ("ca", "other"):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}", "-days", "2")
    (path / "names").write_text("subjectAltName=IP:127.0.0.1")
    for name in ("server", "client"):
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                "-CAcreateserial", "-out", f"{name}.pem", "-days", "2", "-extfile", "names")


def security(bench: Bench) -> None:
    """TLS with certificates, passwords, version 3.1.1, several brokers, and clear errors."""
    tally = bench.tally
    certificates(bench.path)
    path = bench.path
    (path / "passwords").touch()
    bench.run("mosquitto_passwd", "-b", path / "passwords", "atto", "secret")
    (path / "password").write_text("secret\n")
    (path / "wrong").write_text("guess\n")
    plain, secure, dead = free_port(), free_port(), free_port()
    bench.port = plain
    bench.broker(
        "per_listener_settings true", f"listener {plain} 127.0.0.1", "allow_anonymous true",
        f"listener {secure} 127.0.0.1", f"cafile {path}/ca.pem", f"certfile {path}/server.pem",
        f"keyfile {path}/server.key", "require_certificate true", f"password_file {path}/passwords")
    bench.device("heart-rate.json")
    listener = bench.listener()
    good = {
        "url": [f"mqtts://127.0.0.1:{dead}", f"mqtts://127.0.0.1:{secure}"], "user": "atto",
        "passwordFile": str(path / "password"), "caFile": str(path / "ca.pem"), "alpn": "mqtt",
        "certificateFile": str(path / "client.pem"), "keyFile": str(path / "client.key")}
    for version in ("5", "3.1.1"):
        gateway = bench.gateway(subscribe="2A37", broker=good | {"version": version})
        listener.on("atto/hall/strap/2a37")
        answer = None
        listener.client.publish("atto/hall/strap/2a39/set", '{"value":"01","id":1}', qos=1)
        answer = json.loads(listener.on("atto/hall/strap/2a39/set/answer").payload)
        tally.equal(answer.get("done"), True, f"version {version}")
        bench.kill(gateway, signal.SIGTERM)
    tally.check(f"cannot connect to mqtts://127.0.0.1:{dead}" in bench.log(), "the dead broker is named",
                bench.log())
    for change, text in [
            ({"passwordFile": str(path / "wrong")}, "refuses the connection: Not authorized"),
            ({"caFile": str(path / "other.pem")}, "self-signed certificate in certificate chain\nhint: set \"caFile\""),
            ({"url": f"mqtts://localhost:{secure}"},
             "certificate is for another name\nhint: use a name of the broker's certificate"),
            ({"url": f"mqtts://127.0.0.1:{plain}"}, "\nhint: the broker may expect mqtt://"),
            ({"url": "mqtts://broker.invalid"}, "the name broker.invalid is unknown"),
            ({"certificateFile": None, "keyFile": None}, "\nhint: set \"certificateFile\" and \"keyFile\""),
            ({"url": f"mqtt://127.0.0.1:{secure}", "caFile": None}, "127.0.0.1")]:
        mqtt_settings = {key: value for key, value in (good | change).items() if value is not None}
        if mqtt_settings["url"] == f"mqtt://127.0.0.1:{secure}":
            for key in ("certificateFile", "keyFile", "alpn"):
                mqtt_settings.pop(key)
        before = bench.log().count(text)
        gateway = bench.gateway(subscribe="2A37", broker=mqtt_settings)
        bench.logged(text, before + 1)
        tally.check(True, text)
        bench.kill(gateway, signal.SIGTERM)


def connack(code: int, words: str = "", server: str = "") -> bytes:
    """A CONNACK of version 5, with its reason string and server reference."""
    properties = b"".join(bytes([number]) + struct.pack(">H", len(text)) + text.encode()
                          for number, text in ((0x1F, words), (0x1C, server)) if text)
    return bytes([0x20, 3 + len(properties), 0, code, len(properties)]) + properties


def refusals(bench: Bench) -> None:
    """What the log says about a broker that refuses the gateway: mosquitto, and one that has every reason."""
    (bench.path / "passwords").touch()
    bench.run("mosquitto_passwd", "-b", bench.path / "passwords", "atto", "secret")
    for name, text in (("password", "secret"), ("wrong", "guess")):
        (bench.path / name).write_text(text)
    bench.broker(f"listener {bench.port} 127.0.0.1", "allow_anonymous false",
                 f"password_file {bench.path}/passwords")

    def begin(broker: dict) -> subprocess.Popen:
        (bench.path / "gateway.log").unlink(missing_ok=True)
        return bench.gateway(devices=[], broker=broker)

    def says(*texts: str) -> None:
        for text in texts:
            bench.logged(text)
            bench.tally.check(True, text)

    user = {"user": "atto", "passwordFile": str(bench.path / "password")}
    for broker, hint in (({}, 'set "user" and "passwordFile"'),
                         (user | {"passwordFile": str(bench.path / "wrong")}, 'check "user"')):
        for version, text in (("5", "Not authorized"), ("3.1.1", "not authorised")):
            gateway = begin(broker | {"version": version})
            says(f"refuses the connection: {text}" if version == "5" else text, f"\nhint: {hint}")
            bench.kill(gateway)
    gateway = begin(user | {"clientID": "same"})
    says("mqtt: connected")
    other = bench.gateway(devices=[], broker=user | {"clientID": "same"}, name="attic")
    # mosquitto 2.0 does not say why.
    says("lost the connection", '\nhint: if this repeats, another client may have the client ID "same"')
    bench.kill(gateway)
    bench.kill(other)

    for answer, text, hint in [
            (connack(0x84), "refuses the connection: Unsupported", 'set "version" to "3.1.1"'),
            (connack(0x85), "refuses the connection: Client", 'set "clientID"'),
            (connack(0x86), "refuses the connection: Bad", 'set "user"'),
            (connack(0x89, "come back"), "(come back)", 'add another broker to "url"'),
            (connack(0x97), "refuses the connection: Quota", "raise the broker's limits"),
            (connack(0x9C, server="other:1884"), "refuses the connection: Use", 'set "url" to other:1884'),
            (connack(0) + b"\xe0\2\x8e\0", "ended the connection: Session taken over",
             'another client has connected as "atto-hall-'),
            (b"", "cannot connect to mqtt://", 'use "mqtts://" if the broker expects TLS')]:
        # The last gateway's attempts wait at another port.
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(PATIENCE)
            gateway = begin({"url": f"mqtt://127.0.0.1:{server.getsockname()[1]}"})
            connection, _ = server.accept()
            connection.settimeout(PATIENCE)
            with connection:
                bench.tally.equal(connection.recv(1), b"\x10", "CONNECT")
                # Without unread octets the end is no reset.
                connection.recv(4096)
                connection.sendall(answer)
                if not answer:
                    connection.shutdown(socket.SHUT_RDWR)
                says(text, f"\nhint: {hint}")
            bench.kill(gateway)


@contextlib.contextmanager
def tls_end(bench: Bench, protocols=()):
    """The broker's end of TLS, without a broker: the settings of a gateway for it, and a function that accepts one."""
    certificates(bench.path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(bench.path / "server.pem", bench.path / "server.key")
    if protocols:
        context.set_alpn_protocols(protocols)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)

        def accepted() -> ssl.SSLSocket:
            connection, _ = server.accept()
            connection.settimeout(PATIENCE)
            return context.wrap_socket(connection, server_side=True)
        yield {"url": f"mqtts://127.0.0.1:{server.getsockname()[1]}", "caFile": str(bench.path / "ca.pem")}, accepted


def alpn(bench: Bench) -> None:
    """The configured protocol reaches the broker's end of TLS."""
    # The end that speaks for the broker prefers another one.
    with tls_end(bench, ["http/1.1", "x-amzn-mqtt-ca"]) as (settings, accepted):
        for wanted in ("x-amzn-mqtt-ca", None):
            gateway = bench.gateway(devices=[], broker=settings | ({"alpn": wanted} if wanted else {}))
            with accepted() as secure:
                bench.tally.equal(secure.selected_alpn_protocol(), wanted, "the protocol")
                # CONNECT follows.
                bench.tally.equal(secure.recv(1), b"\x10", "a packet")
            bench.kill(gateway, signal.SIGTERM)


def tls_resets(bench: Bench) -> None:
    """A broker that refuses a certificate may end the connection before the gateway has read why. The reset that the
    gateway then sees is made here."""
    with tls_end(bench) as (settings, accepted):
        gateway = bench.gateway(devices=[], broker=settings)
        with accepted() as secure:
            # CONNECT was sent.
            bench.tally.equal(secure.recv(1), b"\x10", "CONNECT")
            secure.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        bench.logged("closed the TLS connection without a reason\nhint: set \"certificateFile\" and \"keyFile\" if")
        bench.tally.check(True, "the hint")
        bench.kill(gateway, signal.SIGTERM)


def kept(folder: pathlib.Path) -> list:
    """The payloads in the queue of a dead gateway."""
    found = []
    # The gateway locks its queue, and the connection is closed at the end of the block.
    with contextlib.closing(sqlite3.connect(folder / "queue.sqlite")) as database:
        for (content,) in database.execute("SELECT content FROM segment ORDER BY first"):
            at = 0
            while at < len(content):
                topic, payload = struct.unpack_from("<HI", content, at + 16)
                start = at + 23 + topic
                found.append(content[start:start + payload])
                at = start + payload
    return found


def gateway_dies(bench: Bench) -> None:
    """The gateway is killed at random moments, with and without a broker: what it has kept arrives."""
    tally = bench.tally
    random.seed(SEED)
    bench.device(counting(2))
    topic = "atto/hall/strap/a001"
    expected, counts = [], []
    broker = bench.broker()
    listener = bench.listener()
    for round in range(6):
        gateway = bench.gateway()
        listener.on(topic)
        if round % 2:
            # What a broker has confirmed and not delivered ends with it.
            listener.on(topic, lambda m: numbers([m], topic)[0] > max(expected, default=0))
            bench.kill(broker)
            listener.drain()
            counts += numbers(listener.seen, topic)
        time.sleep(random.random() * 0.7)
        bench.kill(gateway)
        expected += [int.from_bytes(bytes.fromhex(json.loads(p)["value"][:8]), "little")
                     for p in kept(bench.path / "hall")]
        if round % 2:
            broker = bench.broker()
            listener = bench.listener()
    bench.gateway()
    listener.on(topic, lambda m: numbers([m], topic)[0] > max(expected, default=0))
    counts += numbers(listener.seen, topic)
    tally.check(len(expected) > 100, "values were kept", len(expected))
    missing = set(expected) - set(counts)
    tally.check(not missing, f"kept values arrive (seed {SEED})", sorted(missing)[:10])
    first = first_arrivals(counts)
    tally.check(first == sorted(first), f"in order (seed {SEED})",
                [pair for pair in zip(first, first[1:]) if pair[0] > pair[1]][:5])


def broker_restarts(bench: Bench) -> None:
    """While the broker is away nothing is lost; late values are marked; links stay."""
    tally = bench.tally
    broker = bench.broker()
    bench.device(counting(2))
    topic = "atto/hall/strap/a001"
    listener = bench.listener()
    bench.gateway()
    for _ in range(100):
        listener.on(topic)
    bench.kill(broker)
    listener.drain()
    before = numbers(listener.seen, topic)
    bench.logged("lost the connection")
    # A value is late after a second.
    time.sleep(1.5)
    shown = bench.run(bench.programs / "atto-gateway", "status", "--control", bench.path / "hall.control").stdout
    tally.check(re.search(r"^mqtt: .*; \d+ values wait on disk since 20\d\d-", shown, re.M), "the queue", shown)
    broker = bench.broker()
    listener = bench.listener()
    message = listener.on(topic, lambda m: "late" not in json.loads(m.payload))
    for _ in range(100):
        listener.on(topic)
    after = numbers(listener.seen, topic)
    first = first_arrivals(after)
    check_gapless(tally, first)
    # What the first broker had accepted and not passed on died with it.
    tally.check(first[0] <= before[-1] + 200, "the gateway kept values", (before[-1], first[0]))
    late = [m for m in listener.seen if m.topic == topic and "late" in json.loads(m.payload)]
    tally.check(len(late) > 100, "late values are marked", len(late))
    status = bench.run(bench.programs / "atto-gateway", "status", "--control",
                       bench.path / "hall.control", "--json")
    tally.equal(json.loads(status.stdout)["devices"][0].get("links", 1), 1, "the link stays")


def burst(bench: Bench) -> None:
    """A burst that is longer than the queue and faster than the broker: the device waits, nothing is lost."""
    tally = bench.tally
    bench.broker()
    count = 50_000
    bench.device({"services": [{"uuid": "A000", "characteristics": [
        {"uuid": "A001", "properties": ["notify"], "maxLength": 20,
         "behaviour": {"burst": {"count": count, "size": 20, "on": "subscribe"}}}]}]})
    topic = "atto/hall/strap/a001"
    listener = bench.listener(filters=[topic])
    bench.gateway(broker={"queueLimit": 1000})
    for _ in range(count):
        listener.on(topic)
    tally.equal(first_arrivals(numbers(listener.seen, topic)), list(range(count)), "no value is missing")
    status = json.loads(bench.run(
        bench.programs / "atto-gateway", "status", "--control", bench.path / "hall.control",
        "--json").stdout)
    dropped = (status["devices"][0]["dropped"], status["frontEnds"][0]["numbers"]["dropped_total"])
    tally.equal(dropped, (0, 0), "nothing was dropped")
    if os.environ.get("ATTO_TIMES"):
        print(f"{len(set(numbers(listener.seen, topic)))} values arrived, {sum(dropped)} dropped")


def full_disk(bench: Bench) -> None:
    """A full disk costs neither links nor what is in memory, and is told."""
    tally = bench.tally
    broker = bench.broker()
    bench.device(counting(1))
    topic = "atto/hall/strap/a001"
    listener = bench.listener()

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    bench.gateway(options={"preexec_fn": small_files, "restore_signals": False})
    listener.on(topic)
    bench.kill(broker)
    listener.drain()
    last = numbers(listener.seen, topic)[-1]
    bench.logged("mqtt: the queue: ")
    broker = bench.broker()
    listener = bench.listener()
    listener.on(topic, lambda m: "late" not in json.loads(m.payload))
    first = first_arrivals(numbers(listener.seen, topic))
    check_gapless(tally, first)
    tally.check(first[0] <= last + 400, "from the beginning", (last, first[0]))


def queue_later(bench: Bench) -> None:
    """What waits in memory because there is no folder for the queue is kept when there is one."""
    tally = bench.tally
    bench.device(counting(5))
    topic = "atto/hall/strap/a001"
    later = bench.path / "later"
    gateway = bench.gateway(broker={"queue": str(later / "queue.sqlite")})
    bench.logged("mqtt: values are kept in memory until the queue works: ")
    bench.logged("connected, ATT_MTU")
    later.mkdir(mode=0o700)
    bench.logged("works: values are kept")
    bench.kill(gateway, signal.SIGTERM)
    stored = [int.from_bytes(bytes.fromhex(json.loads(p)["value"][:8]), "little") for p in kept(later)]
    tally.check(len(stored) > 10, "values are kept", len(stored))
    check_gapless(tally, stored, "without a gap")
    tally.check(stored[0] < 20, "from the beginning", stored[0])
    # The second time there is a queue with older values, and the folder is found again while a broker is there.
    later.rename(bench.path / "away")
    broker = bench.broker()
    listener = bench.listener()
    bench.gateway(broker={"queue": str(later / "queue.sqlite")})
    last = numbers([listener.on(topic)], topic)[0]
    bench.logged("values are kept in memory until", 2)
    (bench.path / "away").rename(later)
    bench.logged("works: values are kept", 2)
    listener.on(topic, lambda m: numbers([m], topic)[0] == stored[-1])
    found = numbers(listener.seen, topic)
    tally.check(set(stored) <= set(found), "older values arrive", sorted(set(stored) - set(found))[:5])
    listener.on(topic, lambda m: numbers([m], topic)[0] > last + 100)
    after = [count for count in first_arrivals(numbers(listener.seen, topic)) if count >= last]
    tally.equal(after, list(range(last, last + len(after))), "no later value is missing, and none overtakes another")
    tally.equal(bench.log().count("values are kept in memory until"), 2, "one warning each time")


def fleet(bench: Bench) -> None:
    """Two gateways share devices; when one dies, the other takes its devices over."""
    tally = bench.tally
    bench.broker()
    names = ["one", "two", "three"]
    for name in names:
        bench.device(counting(50), name)
    listener = bench.listener()
    gateways = {name: bench.gateway(names, name=name, others={"fleet": "home"})
                for name in ("hall", "attic")}
    via = {}
    while set(via) != set(names):
        message = listener.until(lambda m: m.topic.endswith("/a001"), "no values of all devices")
        via[message.topic.split("/")[2]] = json.loads(message.payload)["via"]
    holder = via["one"]
    other = "attic" if holder == "hall" else "hall"
    bench.kill(gateways[holder])
    began = time.monotonic()
    listener.on("atto/home/one/a001", lambda m: json.loads(m.payload)["via"] == other)
    if os.environ.get("ATTO_TIMES"):
        print(f"taken over after {time.monotonic() - began:.1f} s")
    answer = listener.ask("atto/home/one/a001/subscribe", "on")
    tally.equal((answer.get("done"), answer["via"]), (True, other), "the other answers")
    gateways[holder] = bench.gateway(names, name=holder, others={"fleet": "home"})
    status = listener.on(f"atto/{holder}/status", lambda m: state(m) == "online")
    tally.check(status is not None, "back")


def battery(level: int = 100, **behaviour) -> dict:
    """A device with a value that can be read, and is notified when it changes."""
    value = {"uuid": "2A19", "properties": ["read", "notify"], "value": f"hex:{level:02x}", "fixedLength": True}
    return {"services": [{"uuid": "180F", "characteristics": [
        value | ({"behaviour": behaviour} if behaviour else {})]}]}


def retained(bench: Bench, filters=("atto/#", "homeassistant/#")) -> dict:
    """What the broker keeps, by topic: everything that precedes a message of this client's own."""
    listener = bench.listener(filters=[*filters, "end"])
    listener.client.publish("end", "x", qos=1)
    listener.on("end")
    listener.end()
    bench.listeners.remove(listener)
    return {m.topic: json.loads(m.payload) for m in listener.seen if m.retain}


def restarts(bench: Bench) -> None:
    """What Home Assistant knew it knows again, whichever of the gateway, the broker and itself is killed."""
    tally = bench.tally
    broker = bench.broker()
    bench.device(battery(), "tag")
    bench.device(battery(77), "old")
    listener = bench.listener()
    devices = lambda *names, **more: {"devices": [  # noqa: E731
        {"name": name, "match": {"localName": name}} | more for name in names]}
    named = {"characteristics": {"level": {"uuid": "2A19", "retain": False}}, "subscribe": ["level"]}
    subscribed = {"subscribe": ["2A19"]}
    gateway = bench.gateway(broker={"homeAssistant": True}, others=devices("tag", "old", **subscribed))
    value = json.loads(listener.on("atto/hall/tag/2a19").payload)
    tally.equal(value["decoded"], {"level": 100}, "a value that does not change")
    if not any(m.topic == "atto/hall/old/2a19" for m in listener.seen):
        listener.on("atto/hall/old/2a19")

    def known(what: str) -> dict:
        value, announcement = "atto/hall/tag/2a19", "homeassistant/sensor/atto_hall_tag/2a19_level/config"
        found = bench.until(lambda: {value, announcement} <= set(kept := retained(bench)) and kept, what)
        tally.equal(found[value]["decoded"], {"level": 100}, f"the value {what}")
        tally.equal(found[announcement]["state_topic"], value, f"the announcement {what}")
        return found
    before = known("for one that comes later")
    bench.kill(gateway)
    tally.equal(set(known("after the gateway's death")), set(before), "nothing is missing")
    gateway = bench.gateway(broker={"homeAssistant": True}, others=devices("tag", "old", **subscribed))
    listener.on("atto/hall/tag/2a19")
    # This broker keeps nothing on disk.
    bench.kill(broker)
    listener.drain()
    bench.logged("lost the connection")
    broker = bench.broker()
    listener = bench.listener()
    listener.on("atto/hall/status", lambda m: state(m) == "online")
    tally.equal(set(known("after the broker's death")), set(before), "nothing is missing at the broker")

    # Home Assistant starts, twice and again and again.
    def again() -> None:
        listener.on("homeassistant/sensor/atto_hall_tag/2a19_level/config")
        value = json.loads(listener.on("atto/hall/tag/2a19").payload)
        tally.equal((value["value"], value["late"]), ("64", True), "the value again")
    listener.client.publish("homeassistant/status", "online", qos=1)
    again()
    for _ in range(100):
        listener.client.publish("homeassistant/status", "online", qos=1)
    again()
    count = sum(m.topic == "atto/hall/tag/2a19" for m in listener.seen)
    tally.check(count <= 6, "starts in a row are answered once", count)

    # A device that is removed while the gateway does not run, and a value that is not retained any more.
    bench.kill(gateway)
    gateway = bench.gateway(broker={"homeAssistant": True}, others=devices("tag", **named))
    bench.until(lambda: not any("old" in topic or "2a19" in topic for topic in retained(bench)),
                "what is removed is cleared")
    listener.on("atto/hall/tag/level")
    tally.check("atto/hall/tag/level" not in retained(bench), "a value that is not retained")
    # One that is removed while it runs, without a broker.
    bench.kill(broker)
    listener.drain()
    (bench.path / f"mosquitto-{bench.port}.conf").unlink()
    broker = bench.broker(f"listener {bench.port} 127.0.0.1", "allow_anonymous true", "persistence true",
                          f"persistence_location {bench.path}/")
    listener = bench.listener()
    listener.on("atto/hall/tag/status")
    bench.kill(broker, signal.SIGTERM)
    file = bench.path / "hall.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"devices": []}))
    gateway.send_signal(signal.SIGHUP)
    bench.logged("the configuration was read again")
    bench.kill(gateway)
    broker = bench.broker()
    tally.check("atto/hall/tag/status" in retained(bench), "the broker has kept it")
    gateway = bench.gateway(devices=[], broker={"homeAssistant": True})
    bench.until(lambda: [t for t in retained(bench) if "tag" in t] == [], "a removed device is cleared later")

    # Another name.
    bench.kill(gateway)
    (bench.path / "hall").rename(bench.path / "attic")
    bench.gateway(devices=[], name="attic", broker={"homeAssistant": True})
    bench.until(lambda: (kept := retained(bench)) and all("attic" in topic for topic in kept),
                "the old name is cleared")


def names(bench: Bench) -> None:
    """A gateway that is called otherwise is the same one to Home Assistant; a second one of a name is refused."""
    tally = bench.tally
    bench.broker()
    bench.device(battery(), "tag")
    listener = bench.listener()
    esphome = lambda: {"esphome": {"encryption": False, "listen": f"127.0.0.1:{free_port()}"}}  # noqa: E731
    gateway = bench.gateway(["tag"], subscribe="2A19", others=esphome())
    listener.on("atto/hall/tag/2a19")
    address = re.search(r"listening at \S+ as ([0-9A-F:]{17})", bench.log()).group(1)
    identity = json.loads((bench.path / "hall" / "identity.json").read_text())
    tally.equal(identity["address"], address.replace(":", "").lower(), "the identity is stored")

    # The second one has a state folder of its own.
    file = bench.path / "second.json"
    (bench.path / "second").mkdir(mode=0o700)
    file.write_text(json.dumps(json.loads((bench.path / "hall.json").read_text())
                               | esphome() | {"state": str(bench.path / "second")}))
    second = bench.start(*confined(bench.programs), file, "--control", bench.path / "second.control",
                         log="second.log")
    bench.logged('another gateway named "hall" is connected to mqtt://', log="second.log")
    bench.logged('hint: give each gateway a "name" of its own', log="second.log")
    begin = len(listener.seen)
    answer = listener.ask("atto/hall/tag/2a19/get")
    tally.equal(answer.get("value"), "64", "the first goes on")
    tally.check(all(json.loads(m.payload)["id"] == identity["instance"] for m in listener.seen[begin:]
                    if m.topic == "atto/hall/status"), "its status stays")
    status = bench.run(bench.programs / "atto-gateway", "status", "--control", bench.path / "second.control")
    tally.check('another gateway named "hall"' in status.stdout, "the status says why", status.stdout)
    tally.equal((bench.log("second.log").count("another gateway"), bench.log("second.log").count("mqtt: connected")),
                (1, 0), "once")
    # A second one that dies takes nothing along.
    bench.kill(second)
    # The first one is killed and comes back; its last will and its status are its own.
    bench.kill(gateway)
    listener.on("atto/hall/status", lambda m: state(m) == "offline")
    gateway = bench.gateway(["tag"], subscribe="2A19", others=esphome())
    listener.on("atto/hall/status", lambda m: state(m) == "online")
    # A status that the broker has kept of a dead gateway does not keep the name for ever.
    bench.kill(gateway)
    listener.client.publish("atto/hall/status", json.dumps(
        {"state": "online", "gateway": "hall", "id": "00000000"}), qos=1, retain=True)
    # The broker has it before the gateway comes: it would be news of one that lives otherwise.
    listener.on("atto/hall/status", lambda m: b"00000000" in m.payload)
    gateway = bench.gateway(["tag"], subscribe="2A19", others=esphome())
    listener.on("atto/hall/status",
                lambda m: state(m) == "online" and json.loads(m.payload)["id"] == identity["instance"])
    # Messages about the name that are none.
    for topic in ("claim", "status"):
        for payload in ("", "{", "[1]", '{"state":"taken","gateway":"hall"}', "x" * 2000,
                        '{"state":"offline","gateway":"hall","id":"11111111"}'):
            listener.client.publish(f"atto/hall/{topic}", payload, qos=1)
    # It says again that it is online.
    listener.on("atto/hall/status", lambda m: m.payload.endswith(f'"{identity["instance"]}"}}'.encode()))
    tally.equal(listener.ask("atto/hall/tag/2a19/get").get("value"), "64", "nonsense")
    bench.kill(gateway, signal.SIGTERM)
    (bench.path / "hall").rename(bench.path / "attic")
    bench.gateway(["tag"], name="attic", subscribe="2A19", others=esphome())
    listener.on("atto/attic/tag/2a19")
    tally.check(f" as {address}" in bench.log("attic.log"), "the address stays", bench.log("attic.log"))


LAMP = {"services": [{"uuid": "A000", "characteristics": [
    {"uuid": "A001", "properties": ["read", "write", "notify"], "value": "hex:00", "fixedLength": True},
    {"uuid": "A002", "properties": ["read", "write"], "value": "hex:0000", "fixedLength": True},
    {"uuid": "A003", "properties": ["write", "writeWithoutResponse"], "maxLength": 20},
    {"uuid": "A004", "properties": ["read", "write"], "value": "text:old", "maxLength": 20}]}]}
CONTROLS = [
    {"component": "switch", "name": "light", "friendlyName": "Light", "characteristic": "A001",
     "on": "hex:01", "off": "hex:00", "deviceClass": "outlet", "icon": "mdi:lightbulb"},
    {"component": "number", "name": "setpoint", "characteristic": "A002", "format": "int16", "scale": 0.1,
     "min": 5, "max": 30, "step": 0.5, "unit": "°C", "deviceClass": "temperature", "mode": "box",
     "entityCategory": "config"},
    {"component": "select", "name": "mode", "characteristic": "A003",
     "options": {"eco": "hex:00", "boost": {"sequence": "boost", "state": "hex:01"}}},
    {"component": "button", "name": "blink", "press": {"sequence": "blink"}, "deviceClass": "identify"},
    {"component": "text", "name": "label", "characteristic": "A004", "max": 8}]
SEQUENCES = {"boost": [{"write": "A003", "value": "hex:0b"}],
             "blink": [{"write": "A001", "value": "hex:01"}, {"write": "A001", "value": "hex:00"}]}


def controls(bench: Bench) -> None:
    """What Home Assistant controls, the gateway as a device, and its restart."""
    tally = bench.tally
    bench.broker()
    device = bench.device(LAMP, "lamp", "--json", "--control", stdin=subprocess.PIPE)
    listener = bench.listener()
    lamp = {"name": "lamp", "match": {"localName": "lamp"}, "sequences": SEQUENCES, "controls": CONTROLS}
    # Never on the air: announced nevertheless, because it is connected for each command.
    away = {"name": "away", "match": {"localName": "away"}, "hold": False, "controls": [CONTROLS[0]]}
    page = free_port()
    gateway = bench.gateway(
        broker={"homeAssistant": True}, others={"devices": [lamp, away], "metrics": f"127.0.0.1:{page}"})
    state_of = lambda name: json.loads(listener.on(f"atto/hall/lamp/{name}").payload)["value"]  # noqa: E731
    began = {name: state_of(name) for name in ("light", "label")}
    tally.equal(began, {"light": "OFF", "label": "old"}, "states at the start")
    ask = lambda name, payload: listener.ask(f"atto/hall/lamp/{name}/set", payload)  # noqa: E731
    for name, payload, expected in [
            ("light", "ON", "ON"), ("light", '{"value":"OFF","id":3}', "OFF"), ("setpoint", "21.5", 21.5),
            ("mode", "eco", "eco"), ("mode", "boost", "boost"), ("label", '{"value":"{hall}"}', "{hall}"),
            ("label", '{"value":""}', "")]:
        listener.client.publish(f"atto/hall/lamp/{name}/set", payload, qos=1)
        listener.on(f"atto/hall/lamp/{name}",
                    lambda m, expected=expected: json.loads(m.payload)["value"] == expected)
        tally.check(True, f"{name} {payload}")
    tally.equal(listener.ask("atto/hall/lamp/a002/get").get("value"), "d700", "21.5 in the device")
    # The device does not notify what its client has written; the gateway reads it.
    listener.client.publish("atto/hall/lamp/blink/set", "PRESS", qos=1)
    tally.equal(state_of("light"), "OFF", "the light after a button")
    listener.client.publish("atto/hall/lamp/a001/set", "01", qos=1)
    tally.equal(state_of("light"), "ON", "the light after a write")

    def writes() -> list:
        lines = [json.loads(line) for line in bench.log("lamp.device").splitlines() if line.endswith("}")]
        return [line for line in lines if line["event"] == "written"]
    # The device is switched by hand.
    for value, expected in [("01", "ON"), ("07", None), ("00", "OFF")]:
        device.stdin.write(f"notify {writes()[0]['handle']:#06x} {value}\n".encode())
        device.stdin.flush()
        tally.equal(state_of("light"), expected, f"the device says {value}")
    tally.equal(ask("light", "ON").get("done"), True, "on")
    tally.equal(ask("label", "Hall").get("done"), True, "the last write")
    before = writes()
    tally.equal([w["value"] for w in before],
                ["01", "00", "d700", "00", "0b", b"{hall}".hex(), "", "01", "00", "01", "01", b"Hall".hex()],
                "the writes")
    for name, payload in [
            ("light", "on"), ("light", ""), ("light", "01"), ("light", "{"), ("light", '{"value":1}'),
            ("light", '{"value":"ON","more":1}'), ("light", "ON" * 40_000), ("light", b"\xff\xfe"),
            ("setpoint", "30.1"), ("setpoint", "nan"), ("setpoint", "1e400"), ("setpoint", "0x10"),
            ("setpoint", '{"value":[1]}'), ("setpoint", "-" * 512), ("mode", "ECO"), ("mode", "eco\0"),
            ("blink", "press"), ("label", "too long, by far"), ("label", b"\xc3\x28"), ("nothing", "ON")]:
        kind = ask(name, payload).get("error", {}).get("kind")
        tally.check(kind in ("usage", "limit"), f"{name} {payload[:20]!r}", kind)
    tally.equal(listener.ask("atto/hall/lamp/a001/get").get("value"), "01", "the light stays on")
    tally.equal(writes(), before, "nothing was written")

    found = {topic: payload for topic, payload in retained(bench).items() if topic.startswith("homeassistant/")}
    announced = lambda component, object: found.get(  # noqa: E731
        f"homeassistant/{component}/atto_hall_lamp/{object}/config", {})
    tally.equal(announced("switch", "light")["command_topic"], "atto/hall/lamp/light/set", "the command topic")
    tally.equal([announced(c["component"], c["name"]).get("name") for c in CONTROLS],
                ["Light", "setpoint", "mode", "blink", "label"], "all are announced")
    tally.check("homeassistant/switch/atto_hall_away/light/config" in found, "a device that is away")
    tally.equal(announced("sensor", "error").get("entity_category"), "diagnostic", "the last error")
    own = {topic.split("/")[3]: payload for topic, payload in found.items() if "/atto-gateway_hall/" in topic}
    tally.equal(sorted(own), ["connection", "connections", "free", "queue", "restart", "started"], "the gateway")
    tally.equal(own["restart"]["device"]["configuration_url"], f"http://127.0.0.1:{page}/", "the page")
    numbers = retained(bench)["atto/hall/state"]
    tally.equal((numbers["connections"], numbers["free"]), (1, 63), "the gateway's numbers")
    if os.environ.get("ATTO_DISCOVERY"):
        pathlib.Path(os.environ["ATTO_DISCOVERY"]).write_text(json.dumps(found))

    # The configuration loses the switch and the select, of a device that is connected and of one that is not.
    bench.until(lambda: retained(bench).get("atto/hall/lamp/light"), "the state is retained")
    file = bench.path / "hall.json"
    fewer = [lamp | {"controls": [CONTROLS[1], CONTROLS[3]]}, away | {"controls": []}]
    file.write_text(json.dumps(json.loads(file.read_text()) | {"devices": fewer}))
    gateway.send_signal(signal.SIGHUP)
    gone = re.compile(r"light|mode|label")
    bench.until(lambda: not [t for t in retained(bench) if gone.search(t)], "removed controls are cleared")
    tally.check("homeassistant/number/atto_hall_lamp/setpoint/config" in retained(bench), "the others stay")
    tally.check("error" in listener.ask("atto/hall/lamp/light/set", "ON"), "a removed control")

    # A restart: refused within the first 10 s.
    end = time.monotonic() + 60
    while "error" in (answer := listener.ask("atto/hall/restart", "restart")) and time.monotonic() < end:
        if answer["error"]["kind"] != "limit":
            break
    tally.check("error" not in answer, f"a restart: {answer}")
    listener.on("atto/hall/status", lambda m: state(m) == "online")
    listener.on("atto/hall/lamp/status", lambda m: state(m) == "connected")
    tally.equal((gateway.poll(), ask("blink", "PRESS").get("done")), (None, True), "the same process goes on")
    tally.check("restarting, as requested" in bench.log(), "the log")
    bench.kill(gateway, signal.SIGTERM)
    tally.equal(gateway.returncode, 0, "the end")


TESTS = [
    everything, controls, restarts, names, passkeys, any_device, sensors, presence, security, refusals, alpn,
    tls_resets, gateway_dies, broker_restarts, burst, full_disk, queue_later, fleet,
]


def main(programs: pathlib.Path, names: list, part: str = "mqtt", tests: list = TESTS) -> tuple:
    tally = Tally(part)
    for test in tests:
        if names and not any(name in test.__name__ for name in names):
            continue
        tally.where = test.__name__
        bench = Bench(programs, tally)
        began = time.monotonic()
        try:
            test(bench)
        except Exception as error:
            logs = "".join(path.read_text(errors="replace")[-3000:]
                           for path in sorted(bench.path.glob("*.log")))
            tally.check(False, type(error).__name__, f"{error}\n{logs}")
        finally:
            bench.end()
        if os.environ.get("ATTO_TIMES"):
            print(f"{test.__name__}: {time.monotonic() - began:.1f} s")
    return tally.passed, tally.failed
