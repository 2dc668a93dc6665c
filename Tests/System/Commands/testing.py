"""atto btp: a tester drives two of them against each other, on the virtual air."""

import os
import random
import signal
import socket
import struct

import bluetooth_tester
from bluetooth_tester import (
    CLIENT, CORE, FAIL, FOREVER, GAP, GATT, INVALID_INDEX, L2CAP, NONE, READ, SERVER, UNKNOWN, WRITE,
    items, u16s as h, uuid, value)
from harness import PATIENCE, contains, equal, expect, test

ALL = (GAP, GATT, L2CAP, CLIENT, SERVER)


def device(b, name, *options, services=ALL):
    """A device with its tester."""
    listener = bluetooth_tester.Listener(b.path(f"{name}.btp"), PATIENCE)
    b.cleaning.append(listener.close)
    running = b.start("btp", f"air:{name}", "-s", listener.path, *options)
    tester = listener.accept()
    b.cleaning.append(tester.close)
    tester.running = running
    return tester.begin(*services)


def u16(octets, at=0):
    return struct.unpack_from("<H", octets, at)[0]


def fill(server):
    """Adds a service with several characteristics. Returns their value handles and the CCCD."""
    service = u16(server.ask(GATT, 0x02, b"\x00" + uuid("180d")))
    def add(properties, permissions, type):
        return u16(server.ask(
            GATT, 0x03, h(0) + bytes([properties, permissions]) + uuid(type))) + 1
    plain = add(0x0A, READ | WRITE, "2a37")
    equal(server.status(GATT, 0x06, h(0) + value(b"")), 0, "an empty value")
    server.ask(GATT, 0x06, h(0) + value(b"\x00\x48"))
    long = add(0x0A, READ | WRITE, "00002a3800001000800000805f9b34ff")
    server.ask(GATT, 0x06, h(long) + value(bytes(range(100))))
    notified = add(0x3E, READ | WRITE, "2a39")
    server.ask(GATT, 0x06, h(0) + value(b"\x01\x02\x03\x04"))
    cccd = u16(server.ask(GATT, 0x04, h(0) + bytes([READ | WRITE]) + uuid("2902")))
    guarded = add(0x0A, 0x04 | 0x08, "2a3a")
    server.ask(GATT, 0x06, h(0) + value(b"secret"))
    server.ask(GATT, 0x09, h(0) + b"\x10")
    none = add(0x02, 0, "2a3b")
    second = u16(server.ask(GATT, 0x02, b"\x01" + uuid("180a")))
    include = u16(server.ask(GATT, 0x05, h(service)))
    start = server.ask(GATT, 0x07)
    equal((u16(start), start[2]), (service, include - service + 1), "Start Server")
    return service, plain, long, notified, cccd, guarded, none, second, include


def two(b):
    server, client = device(b, "IUT"), device(b, "LT")
    places = fill(server)
    server.advertise(bytes([0x09, 3]) + b"IUT")
    return server, client, client.connect(server), places


@test("btp: core, and what each service says that it supports")
def core(b):
    tester = device(b, "IUT", services=())
    equal(tester.ask(CORE, 0x02), bytes([0b11001111]), "services")
    equal(tester.ask(CORE, 0x06), b"\xff\xff", "BTP MTU")
    listed = b.run("btp", "--list", "--json").json
    equal(tester.status(GAP, 0x01, index=NONE), UNKNOWN, "before it is registered")
    for service in (GAP, GATT, L2CAP, CLIENT, SERVER):
        tester.ask(CORE, 0x03, bytes([service]))
        equal(tester.status(CORE, 0x03, bytes([service])), FAIL, "registered twice")
    for service in (CORE, *ALL):
        bits = int.from_bytes(tester.ask(service, 0x01, index=NONE), "little")
        wanted = {row["opcode"] for row in listed
                  if row["service"] == service and row["supported"] != "no"}
        equal({bit for bit in range(256) if bits >> bit & 1}, wanted, f"commands of {service}")
        for opcode in range(256):
            found = tester.status(service, opcode, b"\xfe" * 9)
            expect((found == UNKNOWN) == (opcode not in wanted), f"{service}/{opcode}: {found}")
    for service in (4, 5, 8, 0x20, 0xFE, 0xFF):
        equal(tester.status(service, 0x01), UNKNOWN, f"service {service}")
        equal(tester.status(CORE, 0x03, bytes([service])), FAIL, f"service {service}")
    equal(tester.status(CORE, 0x02, index=0), INVALID_INDEX, "the adapter's index")
    equal(tester.status(GAP, 0x03, index=1), INVALID_INDEX, "another index")
    equal(tester.status(CORE, 0x02, b"\x00"), FAIL, "an octet too many")
    tester.ask(CORE, 0x05, value(b"hello \x1b[31m"))
    contains(tester.running.line("tester: ", "err"), "hello \\u{1B}[31m")
    tester.ask(CORE, 0x04, bytes([GAP]))
    equal(tester.status(GAP, 0x02, index=NONE), UNKNOWN, "unregistered")
    equal(tester.status(CORE, 0x04, bytes([CORE])), FAIL, "Core")
    tester.close()
    ended = tester.running.end()
    equal((ended.code, ended.out), (0, ""), "the end")


@test("btp: GAP: settings, advertising, discovery, connecting")
def gap(b):
    iut, lt = device(b, "IUT"), device(b, "LT")
    equal(iut.ask(GAP, 0x02, index=NONE), b"\x01\x00", "index list")
    information = iut.ask(GAP, 0x03)
    equal(len(information), 6 + 4 + 4 + 3 + 249 + 11)
    contains(information[17:].decode(), "IUT\0")
    settings = lambda data: struct.unpack("<I", data)[0]
    powered, connectable, discoverable, advertising = 1, 2, 8, 1 << 10
    equal(settings(information[10:14]) & 0x40B, powered)
    equal(settings(iut.ask(GAP, 0x05, b"\x01")) & 1, 1)
    equal(iut.status(GAP, 0x05, b"\x00"), FAIL, "power off")
    iut.ask(GAP, 0x09, b"\x01")
    equal(iut.status(GAP, 0x08, b"\x03"), FAIL, "discoverable 3")
    name = bytes([0x09, 3]) + b"IUT"
    # Not connectable, not discoverable.
    equal(settings(iut.ask(GAP, 0x0A, bytes([5, 0]) + name + struct.pack("<IB", FOREVER, 0)))
          & 0x40B, powered | advertising)
    equal(iut.status(GAP, 0x0A, bytes([0, 0]) + struct.pack("<IB", FOREVER, 0)), FAIL, "twice")
    for flags, isFound in ((0x01, False), (0x11, True)):
        lt.ask(GAP, 0x0C, bytes([flags]))
        if isFound:
            found = lt.event(GAP, 0x81)
            equal(found[:7], iut.address)
            equal((found[7], found[8]), (256 - 50, 3))
            equal(found[11:], bytes.fromhex("020104") + b"\x04\x09IUT")
        equal(lt.status(GAP, 0x0C, b"\x01"), FAIL, "a second discovery")
        lt.ask(GAP, 0x0D)
        equal(lt.events, [], "events")
    iut.ask(GAP, 0x0B)
    iut.advertise(name, bytes([0x0A, 1, 4]))
    lt.ask(GAP, 0x0C, b"\x09")
    found = lt.event(GAP, 0x81)
    equal((found[8], found[11:]), (7, bytes.fromhex("020106") + b"\x04\x09IUT\x02\x0a\x04"))
    lt.ask(GAP, 0x0D)
    equal(lt.connect(iut), iut.address)
    equal(lt.status(GAP, 0x0E, iut.address + b"\x00"), FAIL, "connected already")
    equal(lt.status(GAP, 0x16, iut.address + h(24, 40, 0, 100)), FAIL, "connection parameters")
    lt.ask(GAP, 0x0F, iut.address)
    equal(lt.event(GAP, 0x83), iut.address)
    equal(iut.event(GAP, 0x83), lt.address)
    equal(lt.status(GAP, 0x0F, iut.address), FAIL, "not connected")
    # By the accept list, in which the kind of the address does not matter.
    equal(lt.status(GAP, 0x0E, bytes(8)), FAIL, "an empty accept list")
    lt.ask(GAP, 0x1C, b"\x01\x00" + iut.address[1:])
    lt.ask(GAP, 0x0E, bytes(8))
    lt.event(GAP, 0x82)
    iut.event(GAP, 0x82)
    # The end of an advertisement after its duration.
    iut.ask(GAP, 0x0B)
    equal(settings(iut.ask(GAP, 0x04)) & 0x40B, powered, "Reset")
    lt.event(GAP, 0x83)
    iut.event(GAP, 0x83)
    iut.advertise(duration=0)
    equal(settings(iut.event(GAP, 0x80)) & advertising, 0, "New Settings")
    # An attempt that is cancelled.
    lt.ask(GAP, 0x0E, b"\x01" + bytes(range(6)) + b"\x00")
    equal(lt.status(GAP, 0x0E, b"\x01" + bytes(range(6)) + b"\x00"), FAIL, "a second attempt")
    lt.ask(GAP, 0x0F, b"\x01" + bytes(range(6)))
    equal(lt.status(GAP, 0x0F, b"\x01" + bytes(range(6))), FAIL, "cancelled already")
    equal(iut.status(GAP, 0x0A, bytes([32, 0]) + b"\x09\x1e" + bytes(30) + struct.pack("<IB", 0, 0)),
          FAIL, "32 octets")


@test("btp: GAP: encrypted advertising data")
def encrypted(b):
    iut, lt = device(b, "IUT"), device(b, "LT")
    # The sample data of the Supplement to the Core Specification, v11, Part A, 2.3.
    keys = bytes.fromhex("57A9DA12D12E6E131E20612AD10A6A199E7A00EFB17AE746")
    sample = bytes.fromhex("18E157CADE74E4DCAFDC51C7282810C2217F0E4CEF4343181FBA0069CC")
    sized = lambda octets: bytes([len(octets)]) + octets  # noqa: E731
    for opcode in (0x32, 0x33):
        equal(iut.status(GAP, opcode, sized(sample)), FAIL, "no keys")
    equal(iut.status(GAP, 0x31, keys[1:]), FAIL, "23 octets")
    for tester in (iut, lt):
        equal(tester.ask(GAP, 0x31, keys), b"", "the keys")
    equal(lt.ask(GAP, 0x33, sized(sample)), sized(sized(b"\x09Short Mini-Bus") + b"\x03\x19\x0a\x8c"), "the sample")
    # As the test suite has it: not structures, and found by a passive discovery.
    sealed = iut.ask(GAP, 0x32, sized(b"payload 1"))
    equal(sealed[0], 5 + 9 + 4, "a randomizer, the data and a code")
    iut.advertise(b"\x31" + sealed)
    lt.ask(GAP, 0x0C, b"\x11")
    heard = lt.event(GAP, 0x81)[11:]
    expect(bytes([len(sealed)]) + b"\x31" + sealed[1:] in heard, heard.hex())
    equal(lt.ask(GAP, 0x33, sealed), sized(b"payload 1"), "decrypted")
    equal(lt.status(GAP, 0x33, sized(sealed[1:-1] + bytes([sealed[-1] ^ 1]))), FAIL, "another code")
    for short in range(9):
        equal(lt.status(GAP, 0x33, sized(sealed[1:1 + short])), FAIL, f"{short} octets")
    equal(len(iut.ask(GAP, 0x32, sized(bytes(245)))), 255, "the longest")
    equal(iut.status(GAP, 0x32, sized(bytes(246))), FAIL, "too long")
    lt.ask(GAP, 0x31, bytes(24))
    equal(lt.status(GAP, 0x33, sealed), FAIL, "other keys")


@test("btp: GAP: pairing with a passkey and with a comparison, and its failures")
def pairing(b):
    iut, lt = device(b, "IUT"), device(b, "LT")
    iut.advertise()
    equal(lt.status(GAP, 0x11, iut.address), FAIL, "not connected")
    lt.connect(iut)
    # Just Works.
    lt.ask(GAP, 0x11, iut.address)
    equal(lt.event(GAP, 0x89), iut.address + b"\x01")
    equal(iut.event(GAP, 0x89), lt.address + b"\x01")
    equal(lt.status(GAP, 0x13, iut.address + bytes(4)), FAIL, "a passkey that nobody wants")
    equal(lt.status(GAP, 0x10, b"\x05"), FAIL, "IO capability 5")

    def again(capability, other):
        for tester, io in ((lt, capability), (iut, other)):
            tester.ask(GAP, 0x10, bytes([io]))
        lt.ask(GAP, 0x12, iut.address)
        lt.event(GAP, 0x83)
        iut.event(GAP, 0x83)
        iut.ask(GAP, 0x12, lt.address)
        lt.connect(iut)

    # The passkey: shown at one end, entered at the other.
    again(2, 0)
    lt.ask(GAP, 0x2A, iut.address + b"\x01\x03\x00")
    shown = iut.event(GAP, 0x84)
    equal(shown[:7], lt.address)
    equal(lt.event(GAP, 0x85), iut.address)
    equal(lt.status(GAP, 0x13, iut.address + struct.pack("<I", 1000000)), FAIL, "seven digits")
    lt.ask(GAP, 0x13, iut.address + shown[7:])
    expect(lt.event(GAP, 0x89)[7] in (2, 3), "the level")
    expect(iut.event(GAP, 0x89)[7] in (2, 3), "the level")
    # The comparison, which one end denies.
    again(1, 1)
    lt.ask(GAP, 0x11, iut.address)
    asked = [lt.event(GAP, 0x86), iut.event(GAP, 0x86)]
    equal(asked[0][7:], asked[1][7:], "the number")
    lt.ask(GAP, 0x14, iut.address + b"\x01")
    iut.ask(GAP, 0x14, lt.address + b"\x00")
    equal(lt.event(GAP, 0x8C)[:7], iut.address)
    equal(iut.event(GAP, 0x8C)[:7], lt.address)
    lt.event(GAP, 0x83)
    iut.event(GAP, 0x83)
    # A bond that the peer has forgotten.
    lt.connect(iut)
    lt.ask(GAP, 0x11, iut.address)
    for tester, peer in ((lt, iut), (iut, lt)):
        tester.event(GAP, 0x86)
        tester.ask(GAP, 0x14, peer.address + b"\x01")
    lt.event(GAP, 0x89)
    lt.ask(GAP, 0x0F, iut.address)
    lt.event(GAP, 0x83)
    iut.ask(GAP, 0x12, lt.address)
    lt.connect(iut)
    lt.ask(GAP, 0x11, iut.address)
    equal(lt.event(GAP, 0x8B), iut.address, "Bond Lost")
    # A peer that leaves while the tester is asked.
    lt.event(GAP, 0x83)
    lt.ask(GAP, 0x12, iut.address)
    lt.connect(iut)
    lt.ask(GAP, 0x11, iut.address)
    lt.event(GAP, 0x86)
    iut.running.signal(signal.SIGKILL)
    lt.event(GAP, 0x83)
    equal(lt.status(GAP, 0x14, iut.address + b"\x01"), FAIL, "the question is over")


@test("btp: GATT server: the database as the tester sees it")
def database(b):
    server = device(b, "IUT")
    equal(server.status(GATT, 0x03, h(0) + b"\x02\x01" + uuid("2a00")), FAIL, "no service")
    equal(server.status(GATT, 0x07), FAIL, "nothing to start")
    equal(server.status(GATT, 0x02, b"\x02" + uuid("180d")), FAIL, "a third kind of service")
    equal(server.status(GATT, 0x02, b"\x00\x04" + bytes(4)), FAIL, "a UUID of 4 octets")
    service, plain, long, notified, cccd, guarded, none, second, include = fill(server)
    equal(server.status(GATT, 0x07), FAIL, "started already")
    equal(server.status(GATT, 0x09, h(guarded) + b"\x10"), FAIL, "started already")
    rows = items(server.ask(GATT, 0x1C, h(service, 0xFFFF) + b"\x00"), "HB")
    equal([row[0] for row in rows], list(range(service, include + 1)))
    equal(rows[2], (plain, 3, "2a37"))
    equal(rows[4], (long, 3, "00002a3800001000800000805f9b34ff"))
    equal(items(server.ask(GATT, 0x1C, h(1, 0xFFFF) + uuid("2800")), "HB"),
          [(1, 1, "2800"), (6, 1, "2800"), (service, 1, "2800")])
    equal(items(server.ask(SERVER, 0x03, h(1, 0xFFFF) + uuid("2902"), index=NONE), "HB"),
          [(9, 3, "2902"), (cccd, 3, "2902")])
    nobody = bytes(7)
    equal(server.ask(GATT, 0x1D, nobody + h(plain)), b"\x00" + value(b"\x00\x48"))
    equal(server.ask(SERVER, 0x04, nobody + h(plain)), value(b"\x00\x48"))
    equal(server.ask(GATT, 0x1D, nobody + h(cccd)), b"\x00" + value(bytes(2)))
    equal(server.ask(GATT, 0x1D, nobody + h(0x0FFF)), b"\x01" + value(b""))
    equal(server.ask(GATT, 0x22, uuid("2a39")), h(notified))
    equal(server.status(GATT, 0x22, uuid("2aff")), FAIL)
    server.ask(SERVER, 0x05, nobody + h(plain) + value(b"\x01"))
    equal(server.status(GATT, 0x06, h(plain) + value(b"123")), FAIL, "longer than at the beginning")
    equal(server.ask(SERVER, 0x04, nobody + h(plain)), value(b"\x01"))
    # Changes: added, and removed again.
    count = lambda: server.ask(GATT, 0x1C, h(1, 0xFFFF) + b"\x00")[0]
    before = count()
    server.ask(GATT, 0x1E, h(0, 0) + b"\x01")
    equal(count(), before + 3)
    server.ask(GATT, 0x1E, h(0x100, 0x110) + b"\x01")
    equal(count(), before + 6)
    equal(server.status(GATT, 0x1E, h(0x105, 0x120) + b"\x01"), FAIL, "in use")
    server.ask(GATT, 0x1E, h(0x105, 0x105) + b"\x00")
    server.ask(SERVER, 0x06, index=NONE)
    equal(count(), before)
    equal(server.status(GATT, 0x1E, h(0x300, 0x300) + b"\x00"), FAIL, "no service")
    equal(server.status(GATT, 0x1E, h(5, 4) + b"\x00"), FAIL, "a range that ends before its start")
    equal(server.status(GATT, 0x23, h(service)), FAIL, "included by another one")
    equal(server.status(GATT, 0x23, h(1)), FAIL, "not the tester's")
    server.ask(GATT, 0x23, h(include))
    server.ask(GATT, 0x23, h(cccd))
    equal(count(), 15)
    fill(server)
    equal(server.status(SERVER, 0x02, b"\x01" + bytes(4), index=NONE), FAIL, "database 1")
    server.ask(SERVER, 0x02, b"\x00" + bytes(4), index=NONE)
    equal(count(), 15)
    fill(server)
    server.ask(GATT, 0x08)
    # As many as handles: the next one has no room.
    server.ask(GATT, 0x02, b"\x00" + uuid("180d"))
    frame = struct.pack("<BBBH", GATT, 0x03, 0, 7) + h(0) + b"\x02\x01" + uuid("2a37")
    for _ in range(327):
        server.socket.sendall(frame * 100)
        for _ in range(100):
            server.response(GATT, 0x03)
    left = (0xFFFF - 16 - 65400) // 2
    for _ in range(left):
        server.ask(GATT, 0x03, frame[5:])
    equal(server.status(GATT, 0x03, frame[5:]), FAIL, "no handles")
    server.ask(GATT, 0x08)
    equal(count(), 15)


@test("btp: GATT client: each procedure, in the old service and in the new one")
def procedures(b):
    server, client, peer, places = two(b)
    service, plain, long, notified, cccd, guarded, none, second, include = places
    full = "00002a3800001000800000805f9b34ff"

    def ask(opcode, data=b""):
        return client.ask(GATT, opcode, peer + data)

    def event(opcode, event, data=b""):
        equal(client.ask(CLIENT, opcode, peer + data), b"")
        got = client.event(CLIENT, event)
        equal(got[:7], peer)
        return got[7:]

    own = [(service, second - 1, "180d")]
    primaries = [(1, 5, "1800"), (6, 15, "1801")] + own
    equal(items(ask(0x0B), "HH"), primaries)
    got = event(0x03, 0x81)
    equal((got[0], items(got[1:], "HH")), (0, primaries))
    equal(items(ask(0x0C, uuid("180d")), "HH"), own)
    got = event(0x04, 0x82, uuid("180d"))
    equal((got[0], items(got[1:], "HH")), (0, own))
    equal(items(ask(0x0C, uuid("1812")), "HH"), [])
    included = [(include, service, second - 1, "180d")]
    equal(items(ask(0x0D, h(second, include)), "HHH"), included)
    got = event(0x05, 0x83, h(second, include))
    equal((got[0], items(got[1:], "HHH")), (0, included))
    declared = [(plain - 1, plain, 0x0A, "2a37"), (long - 1, long, 0x0A, full),
                (notified - 1, notified, 0x3E, "2a39"), (guarded - 1, guarded, 0x0A, "2a3a"),
                (none - 1, none, 2, "2a3b")]
    equal(items(ask(0x0E, h(service, include)), "HHB"), declared)
    got = event(0x06, 0x84, h(service, include))
    equal((got[0], items(got[1:], "HHB")), (0, declared))
    equal(items(ask(0x0F, h(service, include) + uuid(full)), "HHB"), declared[1:2])
    got = event(0x07, 0x85, h(service, include) + uuid(full))
    equal((got[0], items(got[1:], "HHB")), (0, declared[1:2]))
    equal(items(ask(0x10, h(cccd, cccd)), "H"), [(cccd, "2902")])
    got = event(0x08, 0x86, h(cccd, cccd))
    equal((got[0], items(got[1:], "H")), (0, [(cccd, "2902")]))
    equal(client.status(GATT, 0x10, peer + h(5, 4)), FAIL, "a range that ends before its start")

    equal(ask(0x11, h(plain)), b"\x00" + value(b"\x00\x48"))
    equal(event(0x09, 0x87, h(plain)), b"\x00" + value(b"\x00\x48"))
    equal(ask(0x11, h(none)), b"\x02" + value(b""))
    equal(event(0x09, 0x87, h(0)), b"\x01" + value(b""))
    equal(ask(0x11, h(guarded)), b"\x0f" + value(b""))
    equal(ask(0x12, h(1, 0xFFFF) + uuid("2a37")), b"\x00\x01" + h(plain) + b"\x02\x00\x48")
    equal(ask(0x12, h(1, 0xFFFF) + uuid("2aff")), b"\x0a\x00")
    equal(event(0x0A, 0x88, h(1, 0xFFFF) + uuid("2a37")),
          b"\x00" + h(4) + b"\x02" + h(plain) + b"\x00\x48")
    equal(event(0x0A, 0x88, h(1, 0xFFFF) + uuid("2aff")), b"\x0a\x00\x00\x00")
    equal(ask(0x13, h(long, 10)), b"\x00" + value(bytes(range(10, 100))))
    equal(event(0x0B, 0x89, h(long, 101)), b"\x07" + value(b""))
    several = bytes([2]) + h(plain, notified)
    equal(ask(0x14, several), b"\x00" + value(b"\x00\x48\x01\x02\x03\x04"))
    equal(event(0x0C, 0x8A, several), b"\x00" + value(b"\x00\x48\x01\x02\x03\x04"))
    lengths = b"\x02\x00\x00\x48\x04\x00\x01\x02\x03\x04"
    equal(ask(0x20, several), b"\x00" + value(lengths))
    equal(event(0x14, 0x91, several), b"\x00" + value(lengths))
    equal(client.status(GATT, 0x14, peer + b"\x01" + h(plain)), FAIL, "one handle")

    def changed(handle, octets):
        equal(server.event(GATT, 0x81), h(handle) + value(octets))
        equal(server.event(SERVER, 0x81), client.address + h(handle) + value(octets))

    equal(ask(0x15, h(notified) + value(b"\x05")), b"")
    changed(notified, b"\x05")
    equal(client.ask(CLIENT, 0x0D, peer + h(notified) + value(b"\x06")), b"")
    changed(notified, b"\x06")
    equal(client.status(GATT, 0x16, peer + h(notified) + value(b"\x06")), FAIL, "no key to sign with")
    equal(ask(0x17, h(plain) + value(b"\x01")), b"\x00")
    changed(plain, b"\x01")
    equal(event(0x0F, 0x8B, h(plain) + value(b"\x01\x02")), b"\x00")
    changed(plain, b"\x01\x02")
    equal(ask(0x17, h(plain) + value(b"123")), b"\x0d", "longer than the value")
    equal(event(0x0F, 0x8B, h(none) + value(b"")), b"\x03")
    equal(ask(0x18, h(long, 2) + value(b"x" * 98)), b"\x00")
    changed(long, b"\x00\x01" + b"x" * 98)
    equal(event(0x10, 0x8C, h(long, 0) + value(b"y" * 101)), b"\x0d")
    equal(ask(0x19, h(long, 0) + value(b"z" * 30)), b"\x00")
    changed(long, b"z" * 30)
    equal(event(0x11, 0x8D, h(long, 1) + value(b"!")), b"\x00")
    changed(long, b"z!")

    # Notifications and indications, by setting the value.
    equal(ask(0x1A, b"\x01" + h(cccd)), b"")
    changed(cccd, b"\x01\x00")
    server.ask(GATT, 0x06, h(notified) + value(b"\x09"))
    equal(client.event(GATT, 0x80), peer + b"\x01" + h(notified) + value(b"\x09"))
    equal(client.event(CLIENT, 0x90), peer + b"\x01" + h(notified) + value(b"\x09"))
    equal(server.ask(GATT, 0x21, client.address + h(1, notified)), b"\x00")
    client.event(GATT, 0x80)
    equal(event(0x13, 0x8F, b"\x01" + h(cccd)), b"\x00")
    changed(cccd, b"\x02\x00")
    equal(server.ask(GATT, 0x1D, client.address + h(cccd)), b"\x00" + value(b"\x02\x00"))
    server.ask(GATT, 0x06, h(notified - 1) + value(b"\x0a"))
    equal(client.event(GATT, 0x80), peer + b"\x02" + h(notified) + value(b"\x0a"))
    equal(event(0x12, 0x8E, b"\x00" + h(cccd)), b"\x00")
    equal(client.status(GATT, 0x1B, peer + b"\x01" + h(plain - 1)), FAIL, "no configuration")
    equal(event(0x13, 0x8F, b"\x01" + h(plain - 1)), b"\x03")

    # The MTU, and an encrypted link.
    equal(ask(0x0A), b"")
    equal(client.event(CLIENT, 0x80), peer + h(517))
    equal(client.status(GATT, 0x0A, peer), FAIL, "a second exchange")
    client.ask(GAP, 0x11, peer)
    client.event(GAP, 0x89)
    equal(ask(0x11, h(guarded)), b"\x00" + value(b"secret"))
    equal(ask(0x16, h(notified) + value(b"\x07")), b"")
    server.event(GATT, 0x81)
    # Commands that overtake each other's responses, and the end of the link.
    for _ in range(200):
        client.send(GATT, 0x11, peer + h(plain))
    for _ in range(200):
        equal(client.response(GATT, 0x11), b"\x00" + value(b"\x01\x02"))
    server.ask(GAP, 0x0F, client.address)
    client.event(GAP, 0x83)
    equal(client.status(GATT, 0x11, peer + h(plain)), FAIL, "not connected")


@test("btp: L2CAP channels")
def channels(b):
    iut, lt = device(b, "IUT"), device(b, "LT")
    iut.advertise()
    equal(iut.status(L2CAP, 0x05, h(0x80) + b"\x00" + h(64, 0)), FAIL, "BR/EDR")
    equal(iut.status(L2CAP, 0x05, h(0x180) + b"\x01" + h(64, 0)), FAIL, "no PSM of LE")
    # Testers leave out two parameters of the document.
    iut.ask(L2CAP, 0x05, h(0x80) + b"\x01" + h(64, 0))
    iut.ask(L2CAP, 0x05, h(0x81) + b"\x01" + h(64) + bytes(2) + h(4))
    iut.ask(L2CAP, 0x0C, h(0x82) + b"\x01" + h(64, 0) + bytes(5))
    equal(iut.status(L2CAP, 0x05, h(0x80) + b"\x01" + h(64, 0)), FAIL, "in use")
    ask = lambda psm, count=1, options=0: iut.address + h(psm, 64) + bytes([count, options])
    equal(lt.status(L2CAP, 0x02, ask(0x80)), FAIL, "not connected")
    lt.connect(iut)
    equal(lt.status(L2CAP, 0x02, ask(0x80, 2, 1)), FAIL, "enhanced channels")
    equal(lt.ask(L2CAP, 0x02, ask(0x80)), b"\x01\x00")
    opened = lt.event(L2CAP, 0x81)
    equal((opened[0], u16(opened, 1), opened[11:]), (0, 0x80, iut.address))
    equal(iut.event(L2CAP, 0x81)[11:], lt.address)
    data = random.Random(1).randbytes(60000)
    iut.ask(L2CAP, 0x04, b"\x00" + value(b"to you"))
    got = lt.event(L2CAP, 0x83)
    equal(got, b"\x00" + value(b"to you"))
    lt.ask(L2CAP, 0x04, b"\x00" + value(data))
    received = b""
    while len(received) < len(data):
        received += iut.event(L2CAP, 0x83)[3:]
    equal(received, data)
    # Another one, refused for its PSM; and one that needs encryption.
    equal(lt.ask(L2CAP, 0x0B, iut.address + h(0x90, 64) + bytes([1, 0]) + bytes(4)), b"\x01\x01")
    equal(lt.event(L2CAP, 0x82), h(2) + b"\x01" + h(0x90) + iut.address)
    equal(lt.ask(L2CAP, 0x02, ask(0x81)), b"\x01\x01")
    lt.event(L2CAP, 0x81)
    lt.event(GAP, 0x89)
    iut.event(L2CAP, 0x81)
    equal(lt.status(L2CAP, 0x03, b"\x07"), FAIL, "no such channel")
    lt.ask(L2CAP, 0x03, b"\x00")
    equal(lt.event(L2CAP, 0x82), h(0) + b"\x00" + h(0x80) + iut.address)
    equal(iut.event(L2CAP, 0x82)[2], 0)
    equal(lt.status(L2CAP, 0x04, b"\x00" + value(b"x")), FAIL, "closed")
    # The other one ends with the link.
    lt.ask(GAP, 0x0F, iut.address)
    equal((lt.event(L2CAP, 0x82)[2], iut.event(L2CAP, 0x82)[2]), (1, 1))


@test("btp: enhanced bearers, and enhanced channels of the tester")
def enhanced(b):
    server, client, peer, places = two(b)
    plain, long = places[1:3]
    ask = lambda count, psm=0x27, mtu=64: peer + h(psm, mtu) + bytes([count, 1])
    for count in (0, 6):
        equal(client.status(GATT, 0x1F, peer + bytes([count])), FAIL, f"{count} bearers")
    for wrong in (ask(0), ask(6), ask(1, psm=0x80), ask(1, mtu=63)):
        equal(client.status(L2CAP, 0x02, wrong), FAIL, wrong.hex())
    equal(client.status(L2CAP, 0x07, peer + h(100) + b"\x01\x00"), FAIL, "no such channel")
    # Insufficient encryption.
    equal(client.ask(L2CAP, 0x02, ask(1)), b"\x01\x00")
    equal(client.event(L2CAP, 0x82), h(8) + b"\x00" + h(0x27) + peer)
    client.ask(GATT, 0x1F, peer + b"\x02")
    for _ in range(3):
        equal(client.ask(GATT, 0x11, peer + h(plain)), b"\x00" + value(b"\x00\x48"))
    equal(client.ask(L2CAP, 0x02, ask(3)), b"\x03\x00\x01\x02")
    for number in range(3):
        opened = client.event(L2CAP, 0x81)
        equal(opened, bytes([number]) + h(0x27, 64, 0, 64, 0) + peer)
    client.ask(L2CAP, 0x04, b"\x01" + value(b"\x0a" + h(long)))
    equal(client.event(L2CAP, 0x83), b"\x01" + value(b"\x0b" + bytes(range(63))))
    client.ask(L2CAP, 0x07, peer + h(200) + b"\x02\x00\x01")
    for number in range(2):
        equal(client.event(L2CAP, 0x84), bytes([number]) + h(200, 0, 200, 0))
    equal(client.status(L2CAP, 0x07, peer + h(100) + b"\x01\x01"), FAIL, "reduced")
    # A longer PDU than before shows the peer that it may send such ones.
    client.ask(L2CAP, 0x04, b"\x01" + value(b"\x12" + h(long) + bytes(80)))
    equal(client.event(L2CAP, 0x83), b"\x01" + value(b"\x13"))
    client.ask(L2CAP, 0x04, b"\x01" + value(b"\x0a" + h(long)))
    equal(client.event(L2CAP, 0x83), b"\x01" + value(b"\x0b" + bytes(80)))
    # The peer takes no more than five, and says so.
    equal(client.ask(L2CAP, 0x02, ask(1)), b"\x01\x03")
    equal(client.event(L2CAP, 0x82), h(4) + b"\x03" + h(0x27) + peer)
    equal(client.status(GATT, 0x1F, peer + b"\x01"), FAIL, "a third bearer")
    client.ask(L2CAP, 0x03, b"\x01")
    equal(client.event(L2CAP, 0x82), h(0) + b"\x01" + h(0x27) + peer)
    client.ask(GATT, 0x1F, peer + b"\x01")
    server.ask(GAP, 0x0F, client.address)
    equal(sorted(client.event(L2CAP, 0x82)[2] for _ in range(2)), [0, 2])


@test("btp: the socket: no tester, half a frame, giant frames, and frames in pieces")
def frames(b):
    b.refuses(2, ["--socket is missing"], "btp", "air:IUT")
    b.refuses(3, ["No such file or directory"], "btp", "air:IUT", "-s", b.path("none"))
    b.refuses(3, ["not a socket"], "btp", "air:IUT", "--socket", b.file("file", "text"))
    b.refuses(2, ["--index"], "btp", "air:IUT", "-s", b.path("none"), "--index", 255)
    b.refuses(2, ["unknown option -x"], "btp", "air:IUT", "-x", b.path("none"))
    # Closed at once, and at each octet of two frames.
    stream = struct.pack("<BBBH", CORE, 0x02, NONE, 0) + struct.pack("<BBBHB", CORE, 0x03, NONE, 1, 1)
    path = b.path("socket")
    listener = bluetooth_tester.Listener(path, PATIENCE)
    b.cleaning.append(listener.close)
    for length in range(len(stream) + 1):
        running = b.start("btp", "air:IUT", "-s", path)
        tester = listener.accept()
        tester.socket.sendall(stream[:length])
        if length < len(stream):
            # Otherwise the unread IUT Ready would reset the connection.
            tester.begin()
            tester.socket.shutdown(socket.SHUT_WR)
        tester.close() if length == len(stream) else None
        ended = running.end()
        isWhole = length in (0, 5, len(stream))
        equal(ended.code, 0 if isWhole else 3, f"{length} octets: {ended}")
        if not isWhole:
            contains(ended.err, "within a frame")
    tester = device(b, "IUT", services=[GAP])
    # Octet by octet, and all at once.
    for octet in stream[:5]:
        tester.socket.sendall(bytes([octet]))
    equal(tester.response(CORE, 0x02), bytes([0b11001111]))
    tester.socket.sendall(stream[:5] * 1000)
    for _ in range(1000):
        tester.response(CORE, 0x02)
    # 64 KB frames.
    for service, opcode in ((CORE, 0x02), (CORE, 0x77), (GAP, 0x0A), (0x99, 0x01)):
        expect(tester.status(service, opcode, b"\xff" * 0xFFFF) in (FAIL, UNKNOWN), "64 KB")
    tester.ask(CORE, 0x05, value(b"\n" * 0xFFFD))
    equal(tester.running.stop(signal.SIGTERM).code, 0, "SIGTERM")
    tester.closed()
    b.start("btp", "air:Brief", "-s", path, "--max-time", "0.2")
    listener.accept().closed()


@test("btp: a tester that does not read, and one that sends anything")
def hostile(b):
    # It is held back: it can not send more than the sockets and the queue hold.
    iut = device(b, "Unread", services=[GAP])
    iut.socket.settimeout(1)
    frame = struct.pack("<BBBH", GAP, 0x03, 0, 0)
    sent = 0
    try:
        while sent < 1 << 25:
            sent += iut.socket.send(frame * 1000)
    except socket.timeout:
        pass
    expect(sent < 1 << 22, f"{sent} octets were taken")
    status = open(f"/proc/{iut.running.process.pid}/status").read()
    resident = int(status.split("VmRSS:")[1].split()[0])
    expect(resident < 200_000, f"{resident} kB")
    iut.close()
    expect(iut.running.end().code in (0, 3), "the end")
    # Frames with random parameters: each has a response, and the process lives.
    iut, lt = device(b, "IUT"), device(b, "LT")
    iut.advertise()
    lt.connect(iut)
    seed = int(os.environ.get("ATTO_SEED", "1"))
    generator = random.Random(seed)
    for _ in range(1500):
        service = generator.choice(ALL)
        opcode = generator.randrange(0x40)
        # Not a reset, nor what closes the link.
        if (service, opcode) in ((GAP, 0x04), (GAP, 0x0F), (GAP, 0x12), (CORE, 0x04)):
            continue
        address = iut.address if generator.randrange(2) else b""
        data = address + generator.randbytes(generator.choice((0, 1, 2, 3, 4, 5, 7, 9, 12, 20)))
        lt.status(service, opcode, data, index=generator.choice((0, 0, 0, NONE, 1)))
    equal(lt.ask(CORE, 0x02), bytes([0b11001111]), f"seed {seed}")
    lt.running.stop()
