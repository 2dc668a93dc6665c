"""The backend for bleak, on the virtual air."""

import asyncio
import socket
import sys
import threading
import time

import pytest
from bleak import BleakClient, BleakScanner
from bleak.exc import (
    BleakCharacteristicNotFoundError, BleakDeviceNotFoundError, BleakError, BleakGATTProtocolError)

from atto.bleak import AttoClient, AttoScanner
from atto.bleak.scanner import chosen_radio
from conftest import profile, run, value

# Writes without response in a row.
COMMANDS = 20_000
BASE = "-0000-1000-8000-00805f9b34fb"
LAMP = profile(
    value("A001", "read", "write", value="hex:01", descriptors=[
        {"uuid": "2901", "value": "text:Level"},
        {"uuid": "A00D", "value": "hex:01", "permissions": ["read", "write"]}]),
    value("A002", "notify"), value("A003", "indicate"), value("A004", "writeWithoutResponse"),
    value("A005", "read", behaviour={"readError": "0x80"}),
    value("A006", "read", value="hex:05", permissions=["readAuthenticated"]),
    name="Lamp", mtu=185, advertising={
        "localName": "Lamp", "serviceUUIDs": ["A000", "6e400001-b5a3-f393-e0a9-e50e24dcca9e"],
        "manufacturerData": {"0x0059": "hex:0102"}, "serviceData": {"180F": "hex:64"},
        "txPower": -4})


def client(device, **more):
    return BleakClient(device, backend=AttoClient, **more)


async def find(name="Lamp"):
    device = await BleakScanner.find_device_by_name(name, backend=AttoScanner)
    assert device is not None
    return device


def test_advertisements(atto_server):
    atto_server(LAMP)

    async def body():
        seen = asyncio.Queue()
        async with BleakScanner(
                lambda device, adv: seen.put_nowait((device, adv)), backend=AttoScanner) as scanner:
            device, adv = await seen.get()
            # Each advertisement is reported, not the first only.
            assert (await seen.get())[0] is device
            with pytest.raises(BleakError, match="already started"):
                await scanner.start()
        assert adv.local_name == device.name == "Lamp" and adv.tx_power == -4
        assert adv.manufacturer_data == {0x59: b"\1\2"}
        assert adv.service_data == {"0000180f" + BASE: b"\x64"}
        assert adv.service_uuids == ["0000a000" + BASE, "6e400001-b5a3-f393-e0a9-e50e24dcca9e"]
        assert -127 <= adv.rssi < 0 and adv.platform_data
        assert scanner.discovered_devices == [device]
        again = await BleakScanner.find_device_by_address(device.address, backend=AttoScanner)
        assert again.address == device.address
    run(body())


@pytest.mark.parametrize("services, found", [(["A000"], True), (["180F"], False)])
def test_scan_for_services(atto_server, services, found):
    atto_server(LAMP)
    atto_server(profile(name="Other"))

    async def body():
        # Both are heard before the scan with the filter ends.
        async with BleakScanner(backend=AttoScanner, service_uuids=services) as filtered:
            await find()
            await find("Other")
        assert [device.name for device in filtered.discovered_devices] == ["Lamp"] * found
    run(body())


def test_passive_scan(atto_server):
    atto_server(LAMP)
    device = run(BleakScanner.find_device_by_filter(
        lambda device, adv: "0000a000" + BASE in adv.service_uuids, scanning_mode="passive",
        backend=AttoScanner))
    assert device is not None


def test_services_and_values(atto_server):
    atto_server(LAMP)

    async def body():
        async with client(await find()) as lamp:
            assert (lamp.name, lamp.mtu_size, lamp.is_connected) == ("Lamp", 185, True)
            assert lamp.backend_id == "AttoClient"
            assert len(lamp.services.services) == 3
            level = lamp.services.get_characteristic("A001")
            assert level.properties == ["read", "write"]
            assert level.max_write_without_response_size == 182
            for specifier in (level, level.handle, level.uuid):
                assert await lamp.read_gatt_char(specifier) == b"\1"
            await lamp.write_gatt_char(level, b"\2" * 400, response=True)
            assert await lamp.read_gatt_char(level, use_cached=True) == b"\1"
            assert await lamp.read_gatt_char(level) == b"\2" * 400
            text, own = level.descriptors
            assert await lamp.read_gatt_descriptor(text) == b"Level"
            await lamp.write_gatt_descriptor(own, b"\3")
            assert await lamp.read_gatt_descriptor(own.handle) == b"\3"
            with pytest.raises(BleakGATTProtocolError) as refused:
                await lamp.read_gatt_char("A005")
            assert refused.value.code == 0x80
            with pytest.raises(BleakCharacteristicNotFoundError):
                await lamp.read_gatt_char("A009")
            with pytest.raises(BleakError):
                await lamp.connect()
        assert not lamp.is_connected
        with pytest.raises(BleakError):
            await lamp.read_gatt_char(level)
        await lamp.disconnect()
        # The same object again, with some of the services.
        async with client("air:" + lamp.address, services=["A000"]) as lamp:
            assert [service.uuid for service in lamp.services] == ["0000a000" + BASE]
            assert lamp.name == "Lamp"
            await lamp.disconnect()
            await lamp.connect()
            assert await lamp.read_gatt_char("A001") == b"\2" * 400
    run(body())


def test_notifications_and_indications(atto_server):
    server = atto_server(LAMP)

    async def body():
        async with client(await find()) as lamp:
            got = asyncio.Queue()

            async def later(characteristic, data):
                got.put_nowait((characteristic.uuid[4:8], bytes(data)))

            await lamp.start_notify("A002", lambda _, data: got.put_nowait(("a002", bytes(data))))
            await lamp.start_notify("A003", later)
            with pytest.raises(BleakError):
                await lamp.start_notify("A003", later)
            assert await asyncio.to_thread(server.notify, "A002", b"\1") == 1
            assert await got.get() == ("a002", b"\1")
            assert await asyncio.to_thread(server.indicate, "A003", b"\2") == 1
            assert await got.get() == ("a003", b"\2")
            await lamp.stop_notify("A002")
            with pytest.raises(BleakError):
                await lamp.stop_notify("A002")
            assert await asyncio.to_thread(server.notify, "A002", b"\1") == 0
            assert await asyncio.to_thread(server.indicate, "A003", b"\3") == 1
            assert await got.get() == ("a003", b"\3")
    run(body())


def test_writes_without_response_arrive_in_order(atto_server):
    written = []
    atto_server(LAMP, on_write={"A004": lambda write: written.append(write.value)})

    async def body():
        async with client(await find()) as lamp:
            for number in range(COMMANDS):
                await lamp.write_gatt_char("A004", number.to_bytes(4), response=False)
            # Answered after them.
            await lamp.read_gatt_char("A001")
            while len(written) < COMMANDS:
                await asyncio.sleep(0)
    run(body())
    assert [int.from_bytes(data) for data in written] == list(range(COMMANDS))


def test_a_write_without_response_that_is_too_long(atto_server):
    """It is refused, and takes no other write with it."""
    written = []
    atto_server(LAMP, on_write={"A004": lambda write: written.append(write.value)})

    async def body():
        async with client(await find()) as lamp:
            for good in (b"good", bytes(182)):
                with pytest.raises(BleakError, match=r"value too long: 183 octets \(the limit is 182\)"):
                    await lamp.write_gatt_char("A004", bytes(183), response=False)
                await lamp.write_gatt_char("A004", good, response=False)
            # Answered after them.
            await lamp.read_gatt_char("A001")
            while len(written) < 2:
                await asyncio.sleep(0)
    run(body())
    assert written == [b"good", bytes(182)]


def test_the_longest_write_without_response(atto_server):
    """No value is longer than 512 octets, though a PDU of 517 could carry 514. A server ignores the rest."""
    written = []
    atto_server({**LAMP, "mtu": 517}, on_write={"A004": lambda write: written.append(write.value)})

    async def body():
        async with client(await find()) as lamp:
            size = lamp.services.get_characteristic("A004").max_write_without_response_size
            assert (lamp.mtu_size, size) == (517, 512)
            with pytest.raises(BleakError, match=r"value too long: 513 octets \(the limit is 512\)"):
                await lamp.write_gatt_char("A004", bytes(513), response=False)
            await lamp.write_gatt_char("A004", bytes(size), response=False)
            await lamp.read_gatt_char("A001")
            while not written:
                await asyncio.sleep(0)
    run(body())
    assert written == [bytes(512)]


def test_an_error_of_an_earlier_write_without_response(atto_server, monkeypatch):
    """It is reported to the event loop, and takes no later write with it."""
    written = []
    atto_server(LAMP, on_write={"A004": lambda write: written.append(write.value)})

    async def body():
        reported = asyncio.Queue()
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, context: reported.put_nowait(context["exception"]))
        async with client(await find()) as lamp:
            # The command refuses what this backend lets through.
            monkeypatch.setattr("atto.Client.mtu", 517)
            await lamp.write_gatt_char("A004", bytes(183), response=False)
            await lamp.write_gatt_char("A004", b"at once", response=False)
            error = await reported.get()
            assert isinstance(error, BleakError) and "value too long" in str(error)
            await lamp.write_gatt_char("A004", b"later", response=False)
            await lamp.read_gatt_char("A001")
            while len(written) < 2:
                await asyncio.sleep(0)
            assert reported.empty()
    run(body())
    assert written == [b"at once", b"later"]


def test_end_of_the_connection(atto_server):
    server = atto_server(LAMP)

    async def body():
        ended = asyncio.Queue()
        async with client(await find(), disconnected_callback=ended.put_nowait) as lamp:
            await asyncio.to_thread(server.disconnect_clients)
            assert await ended.get() is lamp
            assert not lamp.is_connected
            with pytest.raises(BleakError):
                await lamp.read_gatt_char(3)
    run(body())


def test_absent_devices(atto_server):
    server = atto_server(LAMP)

    async def body():
        device = await find()
        await asyncio.to_thread(server.close)
        with pytest.raises(TimeoutError, match=f"no connection to {device.address} within 0.2 s"):
            async with client(device, timeout=0.2):
                pass
        with pytest.raises(BleakDeviceNotFoundError):
            async with client("11:22:33:44:55:66", timeout=0.2):
                pass
    run(body())


def test_pairing(atto_server):
    server = atto_server(LAMP, options={"io": "display"})

    def shown(question):
        while (event := server.event(60))["event"] != "show":
            pass
        return event["passkey"]

    async def body():
        device = await find()
        # When the peer demands it, and at the beginning.
        async with client(device, agent=shown) as lamp:
            assert await lamp.read_gatt_char("A006") == b"\5"
        async with client(device, agent=shown, pair=True) as lamp:
            assert await lamp.read_gatt_char("A006") == b"\5"
        async with client(device, security="low") as lamp:
            with pytest.raises(BleakGATTProtocolError):
                await lamp.read_gatt_char("A006")
            await lamp.pair()
        with pytest.raises(BleakError):
            async with client(device, passkey=1, pair=True):
                pass
    run(body())


PROGRAM = """
import asyncio, sys
from bleak import BleakClient, BleakScanner

async def main():
    device = await BleakScanner.find_device_by_name(sys.argv[1])
    async with BleakClient(device) as client:
        print((await client.read_gatt_char("A001")).hex())

asyncio.run(main())
"""


@pytest.mark.parametrize("words", [["{folder}/program.py"], ["-m", "program"]])
def test_programs_as_they_are(atto_server, tmp_path, monkeypatch, capsys, words):
    atto_server(LAMP)
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    words = [word.format(folder=tmp_path) for word in words]
    monkeypatch.setattr(sys, "argv", ["atto.bleak", *words, "Lamp"])
    monkeypatch.setattr("bleak.get_platform_client_backend_type", None)
    monkeypatch.setattr("bleak.get_platform_scanner_backend_type", None)
    from atto.bleak import main
    main()
    assert capsys.readouterr().out == "01\n"


@pytest.mark.parametrize("named, radio", [
    ("air", "air:"), ("air:", "air:"), ("hci1", "le:@hci1"), ("le:@hci1", "le:@hci1"), ("hci", "le:"), ("le:", "le:"),
    ("", None)])
def test_names_of_radios(monkeypatch, named, radio):
    """`$ATTO_RADIO` is written as for the command, or as for CoreBluetooth programs."""
    monkeypatch.setenv("ATTO_RADIO", named)
    assert chosen_radio({}, None) == radio


@pytest.mark.parametrize("named", ["hci-1", "le:@hci", "airs", "usb9", "le:@air", "hci1/random"])
def test_wrong_names_of_radios(named):
    with pytest.raises(BleakError, match="invalid radio"):
        BleakScanner(backend=AttoScanner, radio=named)


def test_radio_of_the_environment(atto_server, monkeypatch):
    """A program that names an adapter runs on the radio that its user has chosen."""
    atto_server(LAMP)
    monkeypatch.setenv("ATTO_RADIO", "air:")

    async def body():
        adapter = {"bluez": {"adapter": "hci0"}}
        device = await BleakScanner.find_device_by_name("Lamp", backend=AttoScanner, **adapter)
        async with client(device, **adapter) as lamp:
            assert await lamp.read_gatt_char("A001") == b"\1"
        async with client(device.address, **adapter) as lamp:
            assert lamp.is_connected
        with pytest.raises(BleakError):
            await BleakScanner.discover(0.1, backend=AttoScanner, radio="le:@hci0")
    run(body())


@pytest.mark.parametrize("interval, least", [(50, 0.05), ((100, 200), 0.1)])
def test_connection_interval(atto_server, interval, least):
    atto_server(LAMP)

    async def body():
        async with client(await find(), interval=interval) as lamp:
            await lamp.read_gatt_char("A001")
            begun = time.monotonic()
            for _ in range(4):
                await lamp.read_gatt_char("A001")
            # A request goes out at each event at most.
            assert time.monotonic() - begun >= 3 * least
        with pytest.raises(BleakError, match="--interval"):
            async with client(await find(), interval=5):
                pass
    run(body())


def test_notification_before_the_response_to_the_subscription(tmp_path):
    """As a peripheral that notifies as soon as it is subscribed to."""
    path = str(tmp_path / "peer")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()
    # The requests for a service with one value, in their order, and the answers.
    answers = {
        0x02: ["03 1700"], 0x10: ["11 06 0100 0400 00A0", "01 10 0500 0A"],
        0x08: ["09 07 0200 10 0300 01A0", "01 08 0400 0A"], 0x04: ["05 01 0400 0229"],
        0x12: ["1B 0300 0102 03", "13"]}

    def peer():
        link, _ = listener.accept()
        while pdu := link.recv(100):
            found = answers.get(pdu[0], [])
            if pdu[0] == 0x12:
                for answer in found:
                    link.send(bytes.fromhex(answer))
            elif pdu[0] == 0x08 and pdu[5:] != bytes.fromhex("0328") or not found:
                link.send(bytes([1, *pdu[:3], 0x0A]))
            else:
                link.send(bytes.fromhex(found.pop(0)))

    thread = threading.Thread(target=peer, daemon=True)
    thread.start()

    async def body():
        got = asyncio.Queue()
        async with client("unix:" + path) as lamp:
            await lamp.start_notify("A001", lambda _, data: got.put_nowait(bytes(data)))
            assert await got.get() == b"\1\2\3"
    run(body())
    listener.close()
    thread.join(60)
    assert not thread.is_alive()
