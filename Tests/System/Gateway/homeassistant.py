"""Home Assistant itself, in a fresh Debian sid, with one of each that the gateway announces.

    Tests/System/Gateway/run PROGRAMS homeassistant

It fetches 600 MB, and needs root and mmdebstrap. Of Home Assistant's own integrations it has MQTT. Two automations
make it talk: it publishes all its states on `ha/states` when it is asked on `ha/ask`, and carries out the action that
comes on `ha/call`. The devices are `atto serve` and `atto advertise` on the virtual air.
"""

import json
import pathlib
import sys
import tempfile
import threading
import time

from mqtt import CONTROLS, LAMP, SEQUENCES, Bench
from support import Tally
from updates import NEW, Updating

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "Packages"))
from system import Connected, Image, Trouble  # noqa: E402

VERSION = "2026.11.0"
# Home Assistant compiles some of what it needs, and wants a Python that only sid has.
IMAGE = Image(installed=("python3-venv", "python3-dev", "gcc", "g++", "libffi-dev", "ca-certificates"), suite="sid")
CONFIGURATION = """homeassistant: {name: Test, unit_system: metric, time_zone: UTC}
logger: {default: warning}
automation:
  - triggers: [{trigger: mqtt, topic: ha/ask}]
    actions:
      - action: mqtt.publish
        data:
          topic: ha/states
          payload: >-
            {% set told = namespace(all=[]) %}
            {% for one in states %}{% set told.all = told.all + [[one.entity_id, one.state] + NAMES] %}{% endfor %}
            {{ told.all | to_json }}
  - triggers: [{trigger: mqtt, topic: ha/call}]
    mode: parallel
    actions:
      - {action: "{{ trigger.payload_json.action }}", data: "{{ trigger.payload_json.data }}"}
"""
# The attributes that are looked at.
NAMES = ["unit_of_measurement", "device_class", "options", "event_type", "rssi", "installed_version"]
READABLE = {"properties": ["read"]}
SERVICES = [
    {"uuid": "180A", "characteristics": [READABLE | {"uuid": "2A29", "value": "text:Maker"}]},
    {"uuid": "180F", "characteristics": [{"uuid": "2A19", "properties": ["read", "notify"], "value": "hex:64"}]},
    {"uuid": "181A", "characteristics": [READABLE | {"uuid": "2A6E", "value": "hex:6608"}]}]
# What the air has beside the lamp: Ruuvi's sample data, a scale with 70.5 kg, and a button of BTHome.
SENSORS = {
    "cellar": ("C0:00:00:00:00:05", "--manufacturer", "0499:0512fc5394c37c0004fffc040cac364200cdcbb8334c884f"),
    "scale": ("C0:00:00:00:00:06", "--service-data", "181d:221437e70705010a1e28"),
    "push": ("C0:00:00:00:00:07", "--service-data", "fcd2:443a03")}
STATES = {
    "binary_sensor.atto_gateway_hall_connection": "on", "binary_sensor.atto_hall_lamp_connection": "on",
    "binary_sensor.atto_hall_scale_stabilized": "on", "device_tracker.atto_hall_keys_presence": "home",
    "number.atto_hall_lamp_setpoint": "21.5", "sensor.atto_gateway_hall_connections": "2",
    "sensor.atto_gateway_hall_queue": "0", "sensor.atto_hall_cellar_humidity": "53.49",
    "sensor.atto_hall_cellar_pressure": "1000.44", "sensor.atto_hall_cellar_temperature": "24.3",
    "sensor.atto_hall_lamp_2a19_level": "100", "sensor.atto_hall_lamp_2a6e_temperature": "21.5",
    "sensor.atto_hall_lamp_error": "none", "sensor.atto_hall_lamp_rssi": "-50", "sensor.atto_hall_scale_mass": "70.5",
    "switch.atto_hall_lamp_light": "off", "text.atto_hall_lamp_label": "old",
    "update.atto_hall_updated_firmware": "on"}
ATTRIBUTES = {
    "sensor.atto_hall_cellar_temperature.unit_of_measurement": "°C",
    "sensor.atto_hall_scale_mass.device_class": "weight",
    "select.atto_hall_lamp_mode.options": ["eco", "boost"], "event.atto_hall_push_button.event_type": "triple_press",
    "device_tracker.atto_hall_keys_presence.rssi": -50,
    "update.atto_hall_updated_firmware.installed_version": "1.0.0"}
# Actions of Home Assistant: each with its entity, its data, and the state of the entity afterwards.
ACTIONS = [
    ("switch.turn_on", "switch.atto_hall_lamp_light", {}, "on"),
    ("number.set_value", "number.atto_hall_lamp_setpoint", {"value": 22.5}, "22.5"),
    ("select.select_option", "select.atto_hall_lamp_mode", {"option": "boost"}, "boost"),
    ("text.set_value", "text.atto_hall_lamp_label", {"value": "new"}, "new"),
    ("update.install", "update.atto_hall_updated_firmware", {}, "off")]


class Assistant:
    """Home Assistant in a system, and what it says of its entities."""

    def __init__(self, system: Connected, bench: Bench) -> None:
        self.system, self.bench = system, bench
        self.listener = bench.listener(filters=["ha/states"])
        self.path = system.path("/srv/assistant")
        (self.path / ".storage").mkdir(parents=True)
        attributes = ", ".join(f"one.attributes.{name} | default(none)" for name in NAMES)
        (self.path / "configuration.yaml").write_text(CONFIGURATION.replace("NAMES", f"[{attributes}]"))
        entry = {"entry_id": "01JATT00000000000000000000", "domain": "mqtt", "title": "broker", "version": 1,
                 "minor_version": 1, "source": "user", "unique_id": None, "options": {}, "subentries": [],
                 "disabled_by": None, "discovery_keys": {}, "pref_disable_new_entities": False,
                 "pref_disable_polling": False, "created_at": "2026-01-01T00:00:00+00:00",
                 "modified_at": "2026-01-01T00:00:00+00:00",
                 "data": {"broker": "127.0.0.1", "port": bench.port, "discovery": True}}
        (self.path / ".storage" / "core.config_entries").write_text(json.dumps(
            {"version": 1, "minor_version": 5, "key": "core.config_entries", "data": {"entries": [entry]}}))

    def start(self) -> None:
        self.said = ""
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        done = self.system.run("/venv/bin/hass --config /srv/assistant", patience=1200)
        self.said = f"status {done.returncode}\n{done.stdout}{done.stderr}"

    def call(self, action: str, data: dict) -> None:
        self.listener.client.publish("ha/call", json.dumps({"action": action, "data": data}), qos=1)

    def ends(self) -> str:
        """Stops it, and returns the errors that its integration MQTT has logged."""
        self.call("homeassistant.stop", {})
        self.thread.join(300)
        return "\n".join(line for line in self.said.splitlines() if "ERROR" in line and ".mqtt" in line)

    def states(self) -> dict:
        """Each entity's state, and its attributes by `ENTITY.NAME`; empty while Home Assistant starts."""
        self.listener.client.publish("ha/ask", "", qos=1)
        try:
            told = json.loads(self.listener.until(lambda m: m.topic == "ha/states", "states", 2).payload)
        except TimeoutError:
            return {}
        found = {}
        for entity, state, *attributes in told:
            found |= {entity: state} | {f"{entity}.{name}": value for name, value in zip(NAMES, attributes)}
        return found

    def comes(self, wanted: dict, tally: Tally, what: str) -> None:
        """Waits for these states and attributes. At its first start, Home Assistant installs packages."""
        limit = time.monotonic() + 600
        while True:
            found = self.states()
            wrong = {name: value for name, value in wanted.items() if found.get(name) != value}
            if not wrong:
                break
            if time.monotonic() > limit or not self.thread.is_alive():
                self.ends()
                wrong = [f"{name} is {found.get(name)} instead of {value}" for name, value in wrong.items()]
                raise Trouble(f"{what}: {'; '.join(wrong)}\n{self.said[-3000:]}")
        tally.passed += len(wanted)


def everything(bench: Bench, system: Connected) -> None:
    tally = bench.tally
    up = Updating(bench, "updated")
    lamp = {"services": [dict(one) for one in LAMP["services"]] + SERVICES}
    characteristics = lamp["services"][0]["characteristics"]
    lamp["services"][0]["characteristics"] = [
        one | {"value": "hex:d700"} if one["uuid"] == "A002" else one for one in characteristics]
    bench.device(lamp, "lamp")
    for name, (address, *words) in SENSORS.items():
        bench.start(bench.programs / "atto", "advertise", f"air:{address}", *words, log=f"{name}.log")
    assistant = Assistant(system, bench)
    bench.gateway(broker={"homeAssistant": True}, others={
        "firmware": str(up.firmware),
        "devices": [
            {"name": "lamp", "match": {"localName": "lamp"}, "sequences": SEQUENCES, "controls": CONTROLS,
             "subscribe": ["2A19"], "read": [{"uuid": "2A6E", "everySeconds": 60}]},
            {"name": "updated", "match": {"localName": "updated"}, "firmware": "new.bin"}],
        "sensors": [{"name": name, "address": words[0]} for name, words in SENSORS.items()],
        "presence": [{"name": "keys", "address": SENSORS["cellar"][0]}]})
    assistant.start()
    assistant.comes(STATES | ATTRIBUTES, tally, "at the start")
    for action, entity, data, state in ACTIONS:
        assistant.call(action, data | {"entity_id": entity})
        assistant.comes({entity: state}, tally, action)
    device = up.devices["updated"]
    tally.equal((device.slots[0], device.is_confirmed), (NEW, True), "the updated device")
    tally.equal(assistant.ends(), "", "the log")
    # It knows after its restart what it knew before.
    after = STATES | {entity: state for _, entity, _, state in ACTIONS}
    assistant.start()
    assistant.comes(after, tally, "after a restart")
    tally.equal(assistant.ends(), "", "the log after a restart")


def main(programs: pathlib.Path, names: list) -> tuple[int, int]:
    tally = Tally("homeassistant")
    tally.where = VERSION
    try:
        # Its helper installs further packages, and does not read the system's certificates by itself.
        Connected.environment = Connected.environment | {
            "PATH": "/venv/bin:" + Connected.environment["PATH"],
            "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt"}
        with tempfile.TemporaryDirectory(prefix="atto-") as folder, \
                Connected.fresh(pathlib.Path(folder) / "sid", IMAGE) as system:
            system.connect()
            print(f"installing Home Assistant {VERSION}", flush=True)
            # What else it needs, it installs itself; but without MQTT's library, automations have no such triggers.
            installed = system.run(
                f"python3 -m venv /venv && pip install -q homeassistant=={VERSION} uv && python -c "
                "'import json, homeassistant.components as all; print(*json.load(open(all.__path__[0] + "
                "\"/mqtt/manifest.json\"))[\"requirements\"])' | xargs pip install -q", patience=1200)
            if installed.returncode != 0:
                raise Trouble(installed.stderr[-2000:])
            bench = Bench(programs, tally)
            try:
                everything(bench, system)
            finally:
                bench.end()
    except Trouble as trouble:
        tally.check(False, str(trouble))
    return tally.passed, tally.failed
