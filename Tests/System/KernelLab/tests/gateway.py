"""atto-gateway on the kernel's radio: many devices, Home Assistant's client, losses of all kinds."""
from gateway import *
from peers import *

PORT = 6053
START = time.monotonic()
DEVICES = [
    {"name": f"Dev{number}", "address": f"00:CC:00:00:00:{number:02X}", "rssi": -60 - number,
     "notifications": 3} for number in range(7)]
DEVICES[1]["service"] = "180F"
DEVICES[2]["passkey"] = 12345
DEVICES[3]["private"] = True
# Home Assistant's, and one that nobody connects to.
GUEST, STRANGER = (dict(DEVICES[0], name=name, address=f"00:CC:00:00:01:{number:02X}", rssi=-80 - number)
                   for number, name in enumerate(("Guest", "Stranger")))
held = {
    one["name"]: {"name": one["name"], "match": {"localName": one["name"]}} for one in DEVICES}
held["Dev1"]["match"] = {"service": "180F"}
held["Dev4"]["match"] = {"address": DEVICES[4]["address"]}
held["Dev2"] |= {"security": "high", "passkey": 12345}
held["Dev3"]["security"] = "medium"
ABSENT = {"name": "absent", "match": {"address": "00:11:22:33:44:55"}}


def passed(what: str) -> None:
    print(f"{time.monotonic() - START:6.1f} s  {what}", flush=True)


def told(name: str, device: str) -> dict:
    """The next event of Bumble about a device."""
    while (event := air.event(name)).get("device") != device:
        pass
    return event


def home_assistant() -> None:
    program = Process(
        str(bumble_python.interpreter_path("venv-gateway")), "-B",
        os.path.join(os.path.dirname(mgmt.__file__), "esphome.py"), str(PORT), GUEST["address"],
        STRANGER["address"])
    check(program.wait() == 0, program.errors[-3000:], gateway.errors[-3000:])
    events = [json.loads(line) for line in program.drain() if line]
    data = {name: bytes([len(name) + 1, 9]).hex() + name.encode().hex() for name in ("Guest", "Stranger")}
    check(events[:2] == [
        # The kernel appends the scan response, which Bumble makes the same.
        {"event": "heard", "address": one["address"], "rssi": one["rssi"], "kind": 0,
         "data": data[one["name"]] * 2} for one in (GUEST, STRANGER)], events)
    check(events[2:] == [
        {"event": "connected", "on": True, "mtu": 517},
        {"event": "read", "value": bytes(range(100)).hex()},
        {"event": "notified", "values": ["00000000", "01000000", "02000000"]},
        {"event": "parameters"}, *2 * [{"event": "paired", "done": True, "error": 0}],
        {"event": "read", "value": "encrypted"},
        {"event": "unpaired", "done": True, "error": 0}, {"event": "disconnected", "on": False},
        {"event": "unpaired", "done": False, "error": 0x85},
        {"event": "refused", "error": events[-1].get("error")}], events)
    # The parameters reached the link that there was.
    check(told("parameters", "Guest")["interval"] == 50, "interval")


with BumbleAir(2, "--devices", json.dumps([*DEVICES, GUEST, STRANGER])) as air:
    adapter, other = (f"hci{index}" for index in air.indexes)
    # The kernel makes one connection at a time, and each takes a second or more here.
    common = {"adapters": [adapter], "limits": {"attemptSeconds": 40}, "devices": [*held.values(), ABSENT],
              "store": str(Path(os.getcwd()) / "later" / "store.sqlite"),
              "esphome": {"encryption": False, "listen": f"127.0.0.1:{PORT}"}}
    passed("the air")
    with Gateway(**common) as gateway:
        devices = gateway.connected(*held)
        passed(f"{len(held)} links at once, beside a device that never answers")
        for one in DEVICES:
            check(devices[one["name"]]["rssi"] == one["rssi"], one, devices[one["name"]])
        check(air.event("paired") and air.event("paired"), "not paired")
        # The store's folder is missing until here; the keys have waited for it.
        check("No such file" in gateway.status()["store"]["state"], gateway.status()["store"])
        Path("later").mkdir(mode=0o700)
        gateway.logged("works: bonds and services are kept")
        passed("the store")

        home_assistant()
        passed("Home Assistant's client")

        # Lost links come back, also to another private address.
        for words in ("off Dev5", "renew Dev3", "renew Dev6"):
            air.say(words)
        gateway.connected("Dev3", "Dev6", links=2)
        air.say("on Dev5")
        devices = gateway.connected("Dev5", links=2)
        check(devices["Dev3"]["address"] == DEVICES[3]["address"], devices["Dev3"])
        passed("lost links are back")

        # The power is switched on again.
        control.switch(air.indexes[0], "power", False)
        gateway.logged(f"{adapter} is powered off")
        gateway.connected(*held)
        passed("links after the adapter was switched off")

    # Killed: the next one finds the bonds.
    gateway.wait()
    air.drain()
    with Gateway(**common) as gateway:
        gateway.connected(*held)
        passed("links after kill -9")

        # Unplugged and back, under whatever name the kernel gives it.
        air.say(f"unplug {air.addresses[0]}")
        gateway.logged(f"there is no adapter {adapter}")
        air.say(f"plug {air.addresses[0]}")
        gateway.connected(*held)
        passed("links after the adapter was unplugged")
        check("paired" not in "".join(air.drain()), "bonds were lost")

        # Blocked and unblocked.
        with blocked():
            gateway.until(
                lambda status: "(rfkill)" in status["adapters"][0]["state"],
                "rfkill is not named")
        gateway.connected(*held)
        passed("links after rfkill")

        # A second adapter takes over the devices of one that is unplugged.
        gateway.reload(adapters=[adapter, other])
        gateway.adapter(other, "scanning")
        air.say(f"unplug {air.addresses[0]}")
        gateway.until(
            lambda status: {one["adapter"] for one in status["devices"] if one["name"] in held} == {other}
            and all(one["state"] == "connected" for one in status["devices"] if one["name"] in held),
            "the devices are not at the other adapter")
        gateway.stop()
        passed("links of the other adapter")

    # Without privileges it holds the links of devices whose addresses it knows.
    for path in (gateway.folder, *gateway.folder.iterdir()):
        os.chown(path, 65534, 65534)
    alone = {"name": "Dev4", "match": {"address": DEVICES[4]["address"]}}
    with Gateway(
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", adapters=[other],
            devices=[alone]) as gateway:
        gateway.logged("CAP_NET_ADMIN")
        gateway.connected("Dev4")
        gateway.stop()
        passed("a link without privileges")
