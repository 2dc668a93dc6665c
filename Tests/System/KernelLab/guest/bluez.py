#!/usr/bin/env python3
"""BlueZ's daemon from an app's side, over D-Bus. Runs with Debian's Python (python3-dbus,
python3-gi); what happens is told as JSON lines on standard output.

bluez wait COUNT                     until so many adapters are in use
bluez server ADAPTER                 registers services, notifies while somebody subscribes
bluez client ADAPTER ADDRESS READ WRITE NOTIFY NOTIFICATIONS READS
                                     connects, discovers, works on these characteristics (UUIDs)
bluez reader ADAPTER ADDRESS READ... connects, reads these characteristics at the same time

An agent without input and output agrees to each pairing.
"""

import json
import resource
import sys
import time

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib
from patience import PATIENCE

BLUEZ = "org.bluez"
PROPERTIES = "org.freedesktop.DBus.Properties"
OBJECTS = "org.freedesktop.DBus.ObjectManager"
SERVICE = "org.bluez.GattService1"
CHARACTERISTIC = "org.bluez.GattCharacteristic1"
# A service of our own, and in it: a value to read, one to write, one that is notified.
UUIDS = [f"a770{number:04x}-0000-4000-8000-00805f9b34fb" for number in range(5)]


def tell(event: str, **more) -> None:
    print(json.dumps({"event": event, **more}), flush=True)


def wait(bus, count: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            objects = dbus.Interface(bus.get_object(BLUEZ, "/"), OBJECTS).GetManagedObjects()
            ready = [path for path, it in objects.items() if "org.bluez.GattManager1" in it]
            if len(ready) >= count:
                return
        except dbus.DBusException:
            pass  # Nobody has that name yet.
        time.sleep(0.05)
    sys.exit("bluez: the daemon did not take the adapters")


class Agent(dbus.service.Object):
    INTERFACE, PATH = "org.bluez.Agent1", "/atto/agent"

    def __init__(self, bus):
        super().__init__(bus, self.PATH)
        manager = dbus.Interface(bus.get_object(BLUEZ, "/org/bluez"), "org.bluez.AgentManager1")
        manager.RegisterAgent(self.PATH, "NoInputNoOutput")
        manager.RequestDefaultAgent(self.PATH)

    @dbus.service.method(INTERFACE, in_signature="o")
    def RequestAuthorization(self, device):
        pass

    @dbus.service.method(INTERFACE, in_signature="ou")
    def RequestConfirmation(self, device, passkey):
        pass

    @dbus.service.method(INTERFACE, in_signature="os")
    def AuthorizeService(self, device, uuid):
        pass

    @dbus.service.method(INTERFACE)
    def Cancel(self):
        pass

    @dbus.service.method(INTERFACE)
    def Release(self):
        pass


# --- A server

class Object(dbus.service.Object):
    """An object with the properties of one interface."""

    def __init__(self, bus, path: str, interface: str, properties: dict):
        self.path, self.interface, self.properties = path, interface, properties
        super().__init__(bus, path)

    @dbus.service.method(PROPERTIES, in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        return self.properties

    @dbus.service.signal(PROPERTIES, signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass


class Characteristic(Object):
    def __init__(self, bus, path: str, service: str, uuid: str, flags: list[str], value: bytes):
        self.value = value
        super().__init__(bus, path, CHARACTERISTIC, {
            "Service": dbus.ObjectPath(service), "UUID": uuid,
            "Flags": dbus.Array(flags, signature="s")})

    @dbus.service.method(CHARACTERISTIC, in_signature="a{sv}", out_signature="ay")
    def ReadValue(self, options):
        return dbus.ByteArray(self.value[int(options.get("offset", 0)):])

    @dbus.service.method(CHARACTERISTIC, in_signature="aya{sv}")
    def WriteValue(self, value, options):
        self.value = bytes(value)
        tell("written", value=self.value.hex(), type=str(options.get("type", "")))

    @dbus.service.method(CHARACTERISTIC)
    def StartNotify(self):
        tell("subscribed")
        self.number = 0
        self.source = GLib.idle_add(self.notify)

    @dbus.service.method(CHARACTERISTIC)
    def StopNotify(self):
        GLib.source_remove(self.source)
        tell("unsubscribed", sent=self.number)

    def notify(self) -> bool:
        value = self.number.to_bytes(4, "little") + bytes(16)
        self.PropertiesChanged(CHARACTERISTIC, {"Value": dbus.ByteArray(value)}, [])
        self.number += 1
        return True


class Application(dbus.service.Object):
    PATH = "/atto"

    def __init__(self, bus):
        super().__init__(bus, self.PATH)
        service = f"{self.PATH}/service0"
        self.objects = [Object(bus, service, SERVICE, {"UUID": UUIDS[0], "Primary": True})]
        for place, (flags, value) in enumerate((
                (["read"], bytes(range(250)) + bytes(50)),
                (["read", "write", "write-without-response"], b"\x01"),
                (["notify"], b""), (["read", "encrypt-read"], b"secret"))):
            self.objects.append(Characteristic(
                bus, f"{service}/char{place}", service, UUIDS[place + 1], flags, value))

    @dbus.service.method(OBJECTS, out_signature="a{oa{sa{sv}}}")
    def GetManagedObjects(self):
        return {it.path: {it.interface: it.properties} for it in self.objects}


def serve(bus, adapter: str) -> None:
    agent = Agent(bus)
    application = Application(bus)
    manager = dbus.Interface(
        bus.get_object(BLUEZ, f"/org/bluez/{adapter}"), "org.bluez.GattManager1")
    manager.RegisterApplication(
        dbus.ObjectPath(application.PATH), {},
        reply_handler=lambda: tell("ready"),
        error_handler=lambda error: sys.exit(f"bluez: {error}"))
    GLib.MainLoop().run()


# --- A client

class Client:
    def __init__(self, bus, adapter: str, address: str):
        self.bus = bus
        self.loop = GLib.MainLoop()
        self.adapter_path = f"/org/bluez/{adapter}"
        self.path = f"{self.adapter_path}/dev_{address.replace(':', '_')}"
        self.manager = dbus.Interface(bus.get_object(BLUEZ, "/"), OBJECTS)

    def wait(self, is_done, seconds: float, what: str) -> None:
        """Turns the loop until something is so."""
        deadline = time.monotonic() + seconds
        context = self.loop.get_context()
        ticker = GLib.timeout_add(50, lambda: True)
        while not is_done():
            if time.monotonic() > deadline:
                sys.exit(f"bluez: {what} took more than {seconds} s")
            context.iteration(True)
        GLib.source_remove(ticker)

    def objects(self) -> dict:
        return self.manager.GetManagedObjects()

    def property(self, name: str):
        return dbus.Interface(self.device, PROPERTIES).Get("org.bluez.Device1", name)

    def connect(self) -> None:
        adapter = dbus.Interface(self.bus.get_object(BLUEZ, self.adapter_path), "org.bluez.Adapter1")
        adapter.SetDiscoveryFilter({"Transport": "le"})
        adapter.StartDiscovery()
        self.wait(lambda: self.path in self.objects(), PATIENCE, "finding the peer")
        adapter.StopDiscovery()
        self.device = self.bus.get_object(BLUEZ, self.path)
        start = time.monotonic()
        answers: list = []
        dbus.Interface(self.device, "org.bluez.Device1").Connect(
            reply_handler=lambda: answers.append(None), error_handler=answers.append, timeout=PATIENCE)
        self.wait(lambda: answers, PATIENCE, "connecting")
        if answers[0]:
            sys.exit(f"bluez: {answers[0]}")
        connected = time.monotonic() - start
        self.wait(lambda: self.property("ServicesResolved"), PATIENCE, "discovering")
        tell("connected", seconds=connected, discovered=time.monotonic() - start)

    def characteristic(self, uuid: str):
        for path, interfaces in self.objects().items():
            if path.startswith(self.path) and interfaces.get(CHARACTERISTIC, {}).get("UUID") == uuid:
                return self.bus.get_object(BLUEZ, path)
        sys.exit(f"bluez: there is no characteristic {uuid}")

    def read(self, uuids: list[str]) -> None:
        """Reads all values at the same time."""
        agent = Agent(self.bus)
        self.connect()
        values: dict[str, str] = {}
        for uuid in uuids:
            dbus.Interface(self.characteristic(uuid), CHARACTERISTIC).ReadValue(
                {}, reply_handler=lambda value, uuid=uuid: values.update({uuid: bytes(value).hex()}),
                error_handler=lambda error, uuid=uuid: values.update({uuid: str(error)}), timeout=PATIENCE)
        self.wait(lambda: len(values) == len(uuids), PATIENCE, "reading")
        tell("read", values=[values[uuid] for uuid in uuids])

    def work(self, read: str, write: str, notify: str, notifications: int, reads: int) -> None:
        self.connect()
        found = {
            str(interfaces[CHARACTERISTIC]["UUID"]): sorted(interfaces[CHARACTERISTIC]["Flags"])
            for path, interfaces in self.objects().items()
            if path.startswith(self.path) and CHARACTERISTIC in interfaces}
        tell("discovered", characteristics=found)
        readable = dbus.Interface(self.characteristic(read), CHARACTERISTIC)
        tell("read", value=bytes(readable.ReadValue({})).hex())
        if reads:
            start, used = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
            for _ in range(reads):
                readable.ReadValue({})
            tell("reads", count=reads, seconds=time.monotonic() - start, cpu=cpu_since(used))
        if write:
            writable = dbus.Interface(self.characteristic(write), CHARACTERISTIC)
            writable.WriteValue(dbus.ByteArray(b"\xC0\xFF\xEE"), {"type": "request"})
            tell("wrote")
        values: list[bytes] = []
        moments: list[float] = []

        def take(_, changed, __):
            if "Value" in changed:
                values.append(bytes(changed["Value"]))
                moments.append(time.monotonic())

        notified = self.characteristic(notify)
        notified.connect_to_signal("PropertiesChanged", take, dbus_interface=PROPERTIES)
        used = resource.getrusage(resource.RUSAGE_SELF)
        dbus.Interface(notified, CHARACTERISTIC).StartNotify()
        self.wait(lambda: values, PATIENCE, "the first notification")
        # What the kernel has no room for while bluetoothd is busy is lost: then fewer come.
        self.wait(lambda: len(values) >= notifications or time.monotonic() - moments[-1] > 1.5,
                  120, "receiving")
        numbers = [int.from_bytes(value[:4], "little") for value in values]
        tell("notifications", count=len(values), seconds=moments[-1] - moments[0],
             cpu=cpu_since(used), inOrder=numbers == sorted(set(numbers)))
        dbus.Interface(self.device, "org.bluez.Device1").Disconnect()
        tell("disconnected")


def cpu_since(before) -> float:
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime


def main(words: list[str]) -> None:
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.SystemBus()
    match words:
        case ["wait", count]:
            wait(bus, int(count))
        case ["server", adapter]:
            serve(bus, adapter)
        case ["client", adapter, address, read, write, notify, notifications, reads]:
            Client(bus, adapter, address).work(
                read, write, notify, int(notifications), int(reads))
        case ["reader", adapter, address, *uuids]:
            Client(bus, adapter, address).read(uuids)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
