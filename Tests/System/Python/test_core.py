"""atto.core: the C library, without a process."""

import ctypes
import os
import pathlib
import random
import subprocess
import sys
import threading
import uuid

import pytest

from atto.core import (
    CoreError, Device, EventType, Flags, Kind, Properties, Result, Row, Source, att_error_name)
from atto.core import interface as structures

ABI = pathlib.Path(__file__).resolve().parents[1] / "Embedded" / "abi.txt"
STRAP = [
    Row(Kind.PRIMARY_SERVICE, "180D"),
    Row(Kind.CHARACTERISTIC, 0x2A37, Properties.NOTIFY | Properties.INDICATE),
    Row(Kind.CHARACTERISTIC, 0x2A38, Properties.READ, Source.CONSTANT, b"\x00\x01"),
    Row(Kind.CHARACTERISTIC, "2A39", Properties.READ | Properties.WRITE, Source.APPLICATION),
    Row(Kind.DESCRIPTOR, uuid.UUID("6e400002-b5a3-f393-e0a9-e50e24dcca9e"), value=b"text"),
]


class Pair:
    """A client and a strap, whose PDUs go to and fro until there are none."""

    def __init__(self, flags=Flags(0)):
        self.devices = Device(mtu=100), Device(mtu=247)
        self.devices[1].add_generic_services("Strap", now=0)
        self.handles = self.devices[1].add_services(STRAP, now=0)
        self.client, self.server = self.devices[0].bearer(flags), self.devices[1].bearer()
        self.questions = []
        self.told = []

    def settle(self):
        """What the client was told."""
        told, moved = [], True
        while moved:
            moved = False
            for one, other in ((self.client, self.server), (self.server, self.client)):
                for pdu in one.outputs():
                    other.feed(pdu, now=0)
                    moved = True
                for event in one.events():
                    moved = True
                    (told if one is self.client else self.questions).append(event)
        return told

    def outcome(self, number):
        """The events of a procedure, up to its end."""
        told = self.settle()
        assert (told[-1].type, told[-1].id) == (EventType.COMPLETE, number)
        return told

    def close(self):
        for device in self.devices:
            device.close()


@pytest.fixture
def pair():
    pair = Pair()
    yield pair
    pair.close()


def test_first_pdu():
    with Device(mtu=517) as device:
        bearer = device.bearer()
        assert bearer.output() is None
        number = bearer.exchange_mtu(now=5)
        assert bearer.output() == bytes.fromhex("020502")
        assert bearer.deadline() == 5 + 30_000_000_000
        bearer.feed(bytes.fromhex("03f700"), now=6)
        assert bearer.mtu == 247
        end, = bearer.events()
        assert (end.type, end.id, end.result) == (EventType.COMPLETE, number, Result.OK)


def test_discovery_and_values(pair):
    pair.outcome(pair.client.exchange_mtu())
    assert (pair.client.mtu, pair.server.mtu) == (100, 100)
    told = pair.outcome(pair.client.discover_all())
    found = {event.uuid: event for event in told if event.type == EventType.CHARACTERISTIC}
    rate = found[uuid.UUID("00002a37-0000-1000-8000-00805f9b34fb")]
    assert rate.value_handle == pair.handles[1]
    assert rate.properties == Properties.NOTIFY | Properties.INDICATE
    told = pair.outcome(pair.client.read(pair.handles[2]))
    assert told[0].data == b"\x00\x01"
    told = pair.outcome(pair.client.read_by_uuid("2A38"))
    assert (told[0].handle, told[0].data) == (pair.handles[2], b"\x00\x01")
    told = pair.outcome(pair.client.read_multiple([pair.handles[2], pair.handles[4]]))
    assert told[0].data == b"\x00\x01text"
    assert pair.devices[1].get_value(pair.handles[2]) == b"\x00\x01"
    assert pair.devices[1].find_handle("2A38") == pair.handles[2]
    assert len(pair.devices[1].database_hash()) == 16


def test_questions(pair):
    number = pair.client.read(pair.handles[3])
    assert pair.settle() == []
    question, = pair.questions
    assert (question.type, question.handle) == (EventType.READ, pair.handles[3])
    pair.server.answer_value(question.id, b"\x00late\x00", now=1)
    assert pair.outcome(number)[0].data == b"\x00late\x00"
    number = pair.client.write(pair.handles[3], b"\x00\x02")
    pair.settle()
    assert pair.questions[-1].data == b"\x00\x02"
    pair.server.answer_error(pair.questions[-1].id, 0x80)
    end = pair.outcome(number)[-1]
    assert (end.result, end.att_error, end.handle) == (Result.ATT, 0x80, pair.handles[3])
    assert att_error_name(0x0D) == "Invalid Attribute Value Length"


def test_subscriptions(pair):
    with pytest.raises(CoreError) as refused:
        pair.server.notify(pair.handles[1], b"1")
    assert refused.value.result == Result.NOT_SUBSCRIBED
    pair.outcome(pair.client.subscribe(pair.handles[1], kinds=3))
    assert pair.server.subscriptions(pair.handles[1]) == 3
    pair.server.notify(pair.handles[1], b"\x00\x48")
    number = pair.server.indicate(pair.handles[1], b"\x00\x49")
    told = pair.settle()
    assert [(e.type, e.data) for e in told] == [
        (EventType.NOTIFICATION, b"\x00\x48"), (EventType.INDICATION, b"\x00\x49")]
    assert (EventType.CONFIRMED, number) in [(e.type, e.id) for e in pair.questions]
    state = pair.server.save_state()
    again = pair.devices[1].bearer()
    again.restore_state(state)
    assert again.subscriptions(pair.handles[1]) == 3


def test_a_peer_that_misbehaves():
    with Device() as device:
        bearer = device.bearer()
        bearer.send_raw(bytes.fromhex("0affff"))
        assert bearer.output() == bytes.fromhex("0affff")
        bearer.read(3, now=0)
        bearer.output()
        with pytest.raises(CoreError) as late:
            bearer.advance(31_000_000_000)
        assert late.value.result == Result.TIMEOUT
        end, = bearer.events()
        assert end.result == Result.TIMEOUT
        with pytest.raises(CoreError) as failed:
            bearer.feed(b"\x0b", now=31_000_000_000)
        assert failed.value.result == Result.FAILED


def test_wrong_arguments(pair):
    for wrong in (-1, 0x10001, 1 << 80):
        with pytest.raises(ValueError):
            pair.client.read(wrong)
        with pytest.raises(ValueError):
            pair.client.read_multiple([1, wrong])
        with pytest.raises(ValueError):
            pair.client.reliable_writes([(wrong, b"")])
    with pytest.raises(CoreError) as refused:
        pair.client.read(0)
    assert refused.value.result == Result.ARGUMENT
    for wrong in (5, "text", None):
        with pytest.raises(TypeError):
            pair.client.write(3, wrong)
    for wrong in ("180", "18 D", -1, 1 << 33, "x" * 36):
        with pytest.raises(ValueError):
            pair.client.read_by_uuid(wrong)
    with pytest.raises(ValueError):
        pair.devices[1].add_services([Row(Kind.PRIMARY_SERVICE, 0x1800, handle=70_000)])
    with pytest.raises(TypeError):
        Device(speed=1)
    with pytest.raises(ValueError):
        Device(mtu=-1)
    with pytest.raises(ValueError):
        pair.client.signed_write(3, b"", 0, b"short")


def test_use_after_close(pair):
    pair.devices[0].close()
    pair.devices[0].close()
    for call in (pair.client.output, pair.client.discover_all, pair.devices[0].bearer):
        with pytest.raises(CoreError) as closed:
            call()
        assert closed.value.result == Result.STATE
    assert list(pair.server.outputs()) == []


def test_random_octets():
    """Whatever a peer sends, each call ends with a result."""
    seed = 1
    numbers = random.Random(seed)
    with Device() as device:
        device.add_generic_services("Strap")
        device.add_services(STRAP)
        for _ in range(3000):
            bearer = device.bearer()
            for _ in range(5):
                try:
                    bearer.feed(numbers.randbytes(numbers.randrange(40)), now=0)
                    list(bearer.outputs())
                    list(bearer.events())
                except CoreError as error:
                    assert error.result in (Result.PROTOCOL, Result.FAILED, Result.AGAIN), seed
            bearer.close()


def test_threads_share_a_device(pair):
    """A call holds the interpreter's lock."""
    def work():
        for _ in range(300):
            bearer = pair.devices[1].bearer()
            bearer.feed(b"\x0a\x03\x00", now=0)
            assert bearer.output() == b"\x0bStrap"
            bearer.close()
    failures = []

    def kept():
        try:
            work()
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=kept) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_layout():
    """The structures are those of the library, as its test records them."""
    bits = "64" if ctypes.sizeof(ctypes.c_void_p) == 8 else "32"
    recorded = {"config": structures.Config, "event": structures.EventStructure,
                "row": structures.RowStructure, "value": structures.ValueStructure}
    checked = 0
    for line in ABI.read_text().splitlines():
        words = line.split()
        if words[0] != bits or words[1] not in ("size", "place"):
            continue
        name, _, field = words[2].removeprefix("atto_").partition(".")
        if name not in recorded:
            continue
        structure = recorded[name]
        found = getattr(structure, field).offset if field else ctypes.sizeof(structure)
        assert found == int(words[3]), line
        checked += 1
    assert checked == 13


def test_a_missing_library():
    ended = subprocess.run(
        [sys.executable, "-c", "import atto.core as core; core.Device()"], capture_output=True, text=True,
        env=os.environ | {"ATTO_LIBRARY": "/none.so"})
    assert "cannot load /none.so" in ended.stderr and "Sources/C/install" in ended.stderr
