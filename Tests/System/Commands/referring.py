"""read, write and subscribe by UUID and name, values as numbers and text, several subscriptions, times."""

import json
import time

from harness import contains, equal, expect, script, test

CUSTOM = "6e400001-b5a3-f393-e0a9-e50e24dcca9e"
# Two batteries, a control point, and a custom characteristic with a custom descriptor.
PROFILE = {"automatic": False, "services": [
    {"uuid": "180F", "handle": "0x0001", "characteristics": [
        {"uuid": "2A19", "properties": ["read", "notify"], "value": "hex:64",
         "behaviour": {"notifyEveryMilliseconds": 10},
         "descriptors": [{"uuid": "2901", "value": "text:left"}]}]},
    {"uuid": "180F", "handle": "0x0010", "characteristics": [
        {"uuid": "2A19", "properties": ["read", "notify"], "value": "hex:32",
         "behaviour": {"notifyEveryMilliseconds": 10}}]},
    {"uuid": "1809", "handle": "0x0020", "characteristics": [
        {"uuid": "2A1C", "properties": ["indicate"], "value": "hex:006c0100ff",
         "behaviour": {"indicateEveryMilliseconds": 10}},
        {"uuid": "2A21", "properties": ["read", "write"], "value": "hex:3c00", "maxLength": 20},
        {"uuid": CUSTOM, "properties": ["read", "write"], "value": "hex:01", "maxLength": 20,
         "descriptors": [{"uuid": "6e40ffff-b5a3-f393-e0a9-e50e24dcca9e", "value": "hex:02"}]}]}]}


@test("references: read by UUID, name, service and characteristic")
def reads(b):
    _, at = b.serve(PROFILE)
    interval = ["0x0025  3c00  60 s"]
    for name in ["2A21", "2a21", "uuid:2A21", "00002a21-0000-1000-8000-00805f9b34fb",
                 "measurement interval", "uuid:Measurement Interval", "2A21@1809", "2A21@0x0020",
                 "2A21@health thermometer", "uuid:2A21@uuid:1809"]:
        equal(b.run("read", at, name).lines, interval)
    equal(b.run("read", at, "2A21", "--json").json,
          [{"handle": 0x25, "value": "3c00", "decoded": {"interval": 60},
            "units": {"interval": "s"}, "text": "60 s"}])
    equal(b.run("read", at, "2A19@0x0010").lines, ["0x0012  32  50 %"])
    equal(b.run("read", at, "2901@2A19").lines, ['0x0005  6c656674  "left"'])
    equal(b.run("read", at, "characteristic user description@0x0003", "--long").lines,
          ['0x0005  6c656674  "left"'])
    equal(b.run("read", at, CUSTOM.upper()).lines, ["0x0027  01"])
    equal(b.run("read", at, "6e40ffff-b5a3-f393-e0a9-e50e24dcca9e").lines, ["0x0028  02"])
    equal(b.run("read", at, "2A21", CUSTOM, "--variable").lines,
          interval + ["0x0027  01"])
    # A handle costs nothing more, and is decoded when asked for.
    ended = b.run("read", at, "0x0025", "--trace")
    equal((ended.lines, ended.err.count("> ")), (["0x0025  3c00"], 1))
    equal(b.run("read", at, "0x0025", "--decode").lines, interval)
    equal(b.run("read", at, "0x0025", "0x0027", "--variable", "--decode").lines,
          interval + ["0x0027  01"])
    b.refuses(1, ["Invalid Handle", "0x0050"], "read", at, "0x0050", "--decode")


@test("references: none or several are errors that say so")
def unclear(b):
    _, at = b.serve(PROFILE)
    b.refuses(2, ["the peer has 2 attributes 2A19 Battery Level: 0x0003, 0x0012", "2A19@SERVICE"],
              "read", at, "2A19")
    b.refuses(2, ["3 attributes 2902", "0x0004, 0x0013, 0x0023"], "read", at, "uuid:2902")
    b.refuses(1, ["the peer has no attribute 2A37 Heart Rate Measurement"], "read", at, "2A37")
    # By its handle, nothing is known of a value. A refusal says what to try.
    b.refuses(1, ["Value Not Allowed", "hint: a characteristic that only indicates needs --indicate"],
              "subscribe", at, "0x0022", "--count", "1")
    b.refuses(1, ["Value Not Allowed", "hint: a characteristic that only notifies takes no --indicate"],
              "subscribe", at, "0x0003", "--count", "1", "--indicate")
    b.refuses(1, ['the peer has no attribute "2A21@180F"'], "subscribe", at, "2A21@180F")
    b.refuses(1, ["no attribute"], "write", at, "2A21@0x0001", "00")
    equal(json.loads(b.run("read", at, "2A37", "--json").err)["error"]["kind"], "att")
    for word in ["", "@", "2A19@", "@180F", "uuid:", "uuid:nonsense", "nonsense", "0x10000", "70000",
                 "12345678", "0x2A19F", "2A1", "-", "+5", "2A19@nonsense"]:
        b.refuses(2, ["invalid handle"], "read", at, word)
    ended = b.run("read", at, "2902")
    equal(ended.code, 1)
    contains(ended.err, "note: 2902 is the handle 0x0B56; for 2902 Client Characteristic"
             " Configuration, give uuid:2902")


@test("write: text and numbers, little-endian")
def writes(b):
    _, at = b.serve(PROFILE)
    for notation, value, wanted in [
            ("--text", "Grüße, 1", "4772c3bcc39f652c2031"), ("--text", "", ""),
            ("--u8", "255", "ff"), ("--u8", "0x7F", "7f"), ("--u8", "1,2,3", "010203"),
            ("--u16", "1000", "e803"), ("--u24", "0x010203", "030201"), ("--u32", "1", "01000000"),
            ("--u64", "18446744073709551615", "ff" * 8), ("--i8", "-128", "80"),
            ("--i8", "127,-1", "7fff"), ("--i16", "-2", "feff"), ("--i24", "-8388608", "000080"),
            ("--i32", "-1", "ffffffff"), ("--i64", "-9223372036854775808", "00" * 7 + "80"),
            ("--f32", "1.5,-2", "0000c03f000000c0"), ("--f64", "-0.5", "000000000000e0bf")]:
        equal(b.run("write", at, CUSTOM, value, notation, "--json").json,
              [{"handle": 0x27, "value": wanted}], f"{notation} {value}")
        equal(b.run("read", at, "0x0027", "--json").json, [{"handle": 0x27, "value": wanted}])
    for notation, value in [("--u8", "256"), ("--u8", "-1"), ("--u8", "1,"), ("--u8", ","),
                            ("--u8", "x"), ("--u8", "0x"), ("--u8", "+1"), ("--u8", "1 2"),
                            ("--i8", "128"), ("--i8", "-129"), ("--i8", "--1"), ("--i64", "1e3"),
                            ("--u64", "18446744073709551616"), ("--i64", "9223372036854775808"),
                            ("--f32", "one")]:
        ended = b.run("write", at, CUSTOM, notation, "--", value)
        equal((ended.code, ended.out), (2, ""), f"{notation} {value}")
        contains(ended.err, "invalid value")
    b.refuses(2, ["--u8 cannot be combined with --i8"], "write", at, CUSTOM, "1", "--u8", "--i8")
    equal(b.run("write", at, "2A21", "90", CUSTOM, "7", "--u16", "--reliable").code, 0)
    equal(b.run("read", at, "2A21", CUSTOM, "--variable").lines,
          ["0x0025  5a00  90 s", "0x0027  0700"])


@test("subscribe: several values at once, decoded, with their times")
def several(b):
    server, at = b.serve(PROFILE)
    before = time.time()
    ended = b.run("subscribe", at, "0x0003", "2A19@0x0010", "2A1C", "--count", "60", "--json",
                  "--time")
    equal(ended.code, 0, ended.err)
    found = {}
    last = before
    for value in ended.json:
        found.setdefault(value["handle"], value)
        expect(last <= value["time"] <= time.time(), "times")
        last = value["time"]
    equal([(found[h]["value"], found[h]["text"], found[h]["indication"]) for h in sorted(found)],
          [("64", "100 %", False), ("32", "50 %", False), ("006c0100ff", "36.4 °C", True)])
    for line in ("unsubscribed from 0x0003", "unsubscribed from 0x0012"):
        server.line(line)
    lines = b.run("subscribe", at, "0x0003", "--count", "2", "--time").lines
    for line in lines:
        clock, handle, value, percent, _ = line.split()
        equal((handle, value, percent), ("0x0003", "64", "100"))
        equal([len(part) for part in clock.replace(".", ":").split(":")], [2, 2, 2, 6])
    equal(b.run("subscribe", at, "0x0003", "3", "--count", "1").lines, ["0x0003  64  100 %"])


@test("subscribe: a refused configuration takes back the others")
def partly(b):
    peer = b.peer(script(("040300ffff", "05010300192a04000229"),
                         ("040600ffff", "05010600192a07000229"),
                         ("1204000100", "13"), ("1207000100", "0112070005"), ("1204000000", "13")))
    b.refuses(1, ["(0x05)", "0x0007"], "subscribe", peer.endpoint, "3", "6")
    equal(peer.received[-1], "1204000000")
    b.refuses(2, ["--cccd requires exactly one handle"], "subscribe", peer.endpoint, "3", "6",
              "--cccd", "4")
