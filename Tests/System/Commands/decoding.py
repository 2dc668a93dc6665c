"""decode: PDUs in hex, all kinds of captures, transcripts, and errors with their place."""

import json
import os
import struct
import subprocess
import tempfile

from capturing import btsnoop as parsed
from harness import FIXTURES, PATIENCE, contains, equal, expect, test


def h4(pdu, is_sent, handle=0x40, channel=4):
    """A PDU in L2CAP, in ACL data, with the indicator of H4."""
    return struct.pack("<BHHHH", 2, handle | (0 if is_sent else 0x2000), len(pdu) + 4, len(pdu),
                       channel) + pdu


def snoop(records, datalink=1002):
    """A btsnoop file of (flags, octets), a millisecond apart."""
    octets = b"btsnoop\0" + struct.pack(">II", 1, datalink)
    for index, (flags, record) in enumerate(records):
        octets += struct.pack(">IIIIQ", len(record), len(record), flags, 0,
                              0x00DCDDB30F2F8000 + 1_700_000_000_000_000 + index * 1000) + record
    return octets


def written(b, name, octets):
    path = b.path(name)
    with open(path, "wb") as file:
        file.write(octets)
    return path


READ, VALUE = bytes.fromhex("0a1500"), bytes.fromhex("0b01")


@test("decode: PDUs in all notations of hex, and their errors")
def hexes(b):
    ended = b.run("decode", "0a1500", "01 0a 15 00 0a", "1B:12:00:00:48", "0x0b01", "")
    equal((ended.code, ended.err, ended.lines), (0, "", [
        "0a1500  Read Request 0x0015",
        "010a15000a  Error Response: Attribute Not Found (0x0A) for Read Request (0x0A) at handle 0x0015",
        "1b12000048  Handle Value Notification 0x0012 = 0048",
        "0b01  Read Response 01",
        "(empty)  malformed PDU: empty",
        "      octet 0: the opcode is missing (Vol 3, Part F, 3.3.1)",
    ]))
    equal(b.run("decode", "0a", "15", "00").lines, ["0a1500  Read Request 0x0015"])
    ended = b.run("decode", "0a15", "0800000100", "--json")
    equal(ended.code, 0)
    equal(ended.json[0], {
        "pdu": "0a15", "text": "malformed Read Request (0x0A): 2 octets, expected 3",
        "findings": [{"octet": 2, "text": "the handle is truncated: 1 of 2 octets",
                      "section": "Vol 3, Part F, 3.4.4.3", "malformed": True}]})
    contains(ended.json[1]["findings"][0]["text"], "the type (2 octets) is missing")
    long = "1b1200" + "00" * 21
    equal("findings" in b.run("decode", long, "--json").json[0], False)
    equal(b.run("decode", long, "--mtu", 23, "--json").json[0]["findings"][0]["octet"], 23)
    ended = b.run("decode", "0a1500", "0a", "--check")
    equal(ended.code, 4)
    contains(ended.err, "1 of 2 PDUs breaks a rule")
    equal(b.run("decode", "0a1500", "3f00", "--check").code, 0)


@test("decode: advertisements of sensors, with keys and without")
def advertisements(b):
    plain = "0a16d2fc4002ca0903bf13"
    text = "BTHome v2: temperature 25.06 °C, humidity 50.55 %"
    ended = b.run("decode", "--advertisement", plain, "0201", "020a04")
    equal((ended.code, ended.err, ended.lines), (0, "", [
        text, "no sensor format: the structure at offset 0 counts 2 octets, but 1 are left", "no sensor format"]))
    found = b.run("decode", "--advertisement", plain, "--json").json[0]
    equal(found, {
        "advertisement": plain, "format": "BTHome v2", "encrypted": False, "text": text,
        "decoded": {"temperature": 25.06, "humidity": 50.55}, "units": {"temperature": "°C", "humidity": "%"}})
    sealed = "54:48:E6:8F:80:A5 1216d2fc41a47266c95f730011223378237214"
    key = "54:48:E6:8F:80:A5=231d39c1d7cc1ab1aee224cd096db932"
    equal(b.run("decode", "--advertisement", sealed).lines, ["BTHome v2: (encrypted, and no key is given)"])
    equal(b.run("decode", "--advertisement", sealed, "--bind-key", key).lines, [text])
    with tempfile.NamedTemporaryFile("w", suffix=".keys") as file:
        file.write(f"# cellar\n\n 00:00:00:00:00:01={'00' * 16}\n{key}  # attic\n")
        file.flush()
        equal(b.run("decode", "--advertisement", sealed, "--bind-key-file", file.name).lines, [text])
        contains(b.run("decode", "--advertisement", sealed, "--bind-key-file", file.name, "--bind-key",
                       f"54:48:E6:8F:80:A5={'00' * 16}").out, "does not decrypt")
        file.write("secret\n")
        file.flush()
        b.refuses(2, ["line 5: expected ADDRESS=HEX"], "decode", "--advertisement", sealed,
                  "--bind-key-file", file.name)
    b.refuses(2, ["cannot read the keys of /nowhere"], "decode", "--advertisement", sealed, "--bind-key-file", "/nowhere")
    b.refuses(2, ["requires --advertisement"], "decode", "0a1500", "--bind-key-file", "/nowhere")
    ended = b.run("decode", "--advertisement", "-", "--bind-key", key, "--json", input=f"{sealed}\nzz\n")
    equal((ended.code, ended.json[0]["line"], ended.json[0]["text"]), (2, 1, text))
    contains(ended.err, "line 2: ")
    # A text of the sensor cannot reach the terminal as it is.
    contains(b.run("decode", "--advertisement", "0a16d2fc405304611b5b6d").out, "a\\u{1B}[m")
    b.refuses(2, ["requires --advertisement"], "decode", "0a1500", "--bind-key", key)
    b.refuses(2, ["for --bind-key: expected an address"], "decode", "--advertisement", plain, "--bind-key", "00")
    b.refuses(2, ["cannot be combined with --advertisement"], "decode", "--advertisement", plain, "--mtu", "50")
    b.refuses(2, ["zz"], "decode", "--advertisement", "zz")


@test("decode: lines on standard input, valid and invalid")
def lines(b):
    ended = b.run("decode", "-", input="> 0a1500\n\n# a comment\n< 0b 01\n(empty)\n  1e\n")
    equal((ended.code, ended.err), (0, ""))
    equal(ended.lines[:2], ["> 0a1500  Read Request 0x0015", "< 0b01  Read Response 01"])
    equal(ended.lines[-1], "1e  Handle Value Confirmation")
    ended = b.run("decode", "-", "--json", input="0a1500\nzz\n0b0\n0b01")
    equal((ended.code, [line["line"] for line in ended.json]), (2, [1, 4]))
    contains(ended.err, 'line 2: invalid hex "zz"', 'line 3: invalid hex "0b0"',
             "cannot decode 2 lines of standard input")
    ended = b.run("decode", "-", input="00" * 140000 + "\n0b01\n")
    equal((ended.code, ended.lines), (2, ["0b01  Read Response 01"]))
    contains(ended.err, "longer than 262144 bytes")
    equal(b.run("decode", "-", input="").code, 0)
    # Line by line, and interrupted.
    running = b.start("decode", "-", input=True)
    running.say("0a1500")
    running.line("Read Request 0x0015")
    equal(running.stop().code, 3)


@test("decode: reads what --capture has written, in both formats")
def back(b):
    _, at = b.serve("heart-rate.json")
    for ending in ("btsnoop", "pcapng"):
        path = b.path(f"c.{ending}")
        traced = b.run("discover", at, "--mtu", "100", "--capture", path, "--trace").err.splitlines()
        ended = b.run("decode", path, "--json")
        equal(ended.code, 0)
        found = [("> " if line["direction"] == "sent" else "< ") + f"{line['pdu']}  {line['text']}"
                 for line in ended.json]
        traced = [line.split(" ", 1)[1] for line in traced if line.split()[1] in "<>"]
        equal(found, traced)
        # The connection begins with three events and ends with one.
        equal([line["record"] for line in ended.json], list(range(4, len(traced) + 4)))
        expect(ended.json[0]["time"] == 0 and ended.json[-1]["time"] > 0, f"{ended.json[-1]}")
        equal({line["connection"] for line in ended.json}, {0x40})
        contains(ended.err, f"{len(traced) + 4} records of {ending}: {len(traced)} attribute PDUs")
        if ending == "btsnoop":
            equal([line["pdu"] for line in ended.json], [pdu for _, pdu, _ in parsed(path)])
        # From standard input too, and as text.
        with open(path, "rb") as file:
            done = subprocess.run([b.atto, "decode", "-", "--json"], stdin=file, text=True,
                                  capture_output=True, timeout=PATIENCE, env=b.environment)
        equal((done.returncode, done.stdout), (0, ended.out))
        line = b.run("decode", path).lines[0]
        equal(line.split(), ["4", "0.000000", "0x0040", ">", "026400", "Exchange", "MTU",
                             "Request", "100"])


@test("decode: fragments, other channels and events of a btmon file")
def btmon(b):
    notification = bytes.fromhex("1b1200") + bytes(range(40))
    whole = struct.pack("<HH", len(notification), 4) + notification
    acl = [struct.pack("<HH", 0x40 | (0x2000 if at == 0 else 0x1000), len(whole[at:at + 20]))
           + whole[at:at + 20] for at in range(0, len(whole), 20)]
    connected = bytes.fromhex("3e1301004000") + bytes(15)
    path = written(b, "m.log", snoop([
        (0, bytes(16)), (3, connected), (4, h4(READ, True)[1:]), (5, acl[0]),
        (5, h4(b"\x01\x02", False, channel=6)[1:]), (5, h4(b"\x01", False, handle=0x41)[1:])]
        + [(5, part) for part in acl[1:]] + [(99, b"?")], datalink=2001))
    ended = b.run("decode", path, "--json")
    equal(ended.code, 0)
    # The PDU in between ends only the fragments of its own connection.
    equal([(line["record"], line["pdu"]) for line in ended.json], [(3, "0a1500"), (6, "01")])
    contains(ended.err, "9 records of btsnoop: 2 attribute PDUs", "1 on channel 0x0006",
             "1 HCI commands and events", "1 of the monitor itself",
             "unknown: 1 Linux monitor records",
             "skipped: 1 without the end", "skipped: 2 without the beginning")
    path = written(b, "n.log", snoop([(3, connected)] + [(5, part) for part in acl], datalink=2001))
    ended = b.run("decode", path)
    equal(ended.code, 0)
    equal(len(ended.lines), 2)
    contains(ended.lines[0], "    4     0.003000  0x0040 < 1b120000010203")
    # ATT_MTU is known from the connection's beginning.
    contains(ended.lines[1], "octet 23: the PDU has 43 octets, but ATT_MTU is 23 (Vol 3, Part F, 3.2.8)")
    equal(b.run("decode", path, "--mtu", 100, "--json").json[0].get("findings"), None)
    equal(b.run("decode", path, "--check").code, 4)


@test("decode: one connection of several, and other channels")
def chosen(b):
    path = written(b, "c.btsnoop", snoop(
        [(0, h4(READ, True)), (1, h4(VALUE, False)), (0, h4(READ, True, handle=0x41)),
         (1, bytes.fromhex("04050400400013")), (0, h4(READ, True)),
         (0, h4(READ, True, channel=0x45))]))

    def numbers(*words):
        ended = b.run("decode", path, "--json", *words)
        equal(ended.code, 0)
        return [line["record"] for line in ended.json]

    equal(numbers(), [1, 2, 3, 5])
    equal(numbers("--connection", "0x0040"), [1, 2, 5])
    equal(numbers("--connection", "64"), [1, 2, 5])
    equal(numbers("--connection", "hci0/0x0040.2"), [5])
    equal(numbers("--channel", "0x45"), [6])
    equal(numbers("--channel", "4", "--channel", "69"), [1, 2, 3, 5, 6])
    for other in ("7", "hci1/0x0040"):
        ended = b.run("decode", path, "--connection", other)
        equal((ended.code, ended.out), (2, ""), ended)
        contains(ended.err, "no attribute PDU of this connection")
    for word in ("x", "0x", "0x0040.0", "hciX/1", "+4", "hci0/"):
        b.refuses(2, ["for --connection: expected a handle"], "decode", path, "--connection", word)
    b.refuses(2, ["for --channel: expected"], "decode", path, "--channel", "0")


@test("decode: a transcript made from a capture plays against the same server")
def again(b):
    _, at = b.serve("heart-rate.json")
    path = b.path("c.pcapng")
    b.run("discover", at, "--mtu", "100", "--capture", path)
    made = b.run("decode", path, "--transcript")
    equal(made.code, 0)
    contains(made.lines[0], "# 0x0040/host  the host is the client")
    played = b.run("play", at, b.file("again.att", made.out), "--json")
    equal((played.code, [case.get("outcome") for case in played.json]),
          (0, ["passed", None]))
    # A difference is reported.
    other = b.serve({"services": []}, name="other")[1]
    equal(b.run("play", other, b.path("again.att"), "--timeout", 1).code, 4)
    # The transcript itself, decoded.
    decoded = b.run("decode", b.path("again.att"))
    equal(decoded.code, 0)
    contains(decoded.lines[1], "2 > 02 64 00".replace("02 64 00", "026400"), "Exchange MTU Request 100")
    named = b.run("decode", path, "--transcript", "--profile", "strap.json")
    equal(named.lines[0], "profile strap.json")
    path = written(b, "v.btsnoop", snoop([(1, h4(bytes.fromhex("1b1200"), False)), (0, h4(READ, True))]))
    contains(b.run("decode", path, "--transcript").err, "0x0040/host begins with a PDU of the server")
    # A PDU that is too long for a transcript is an error, with what was decoded before.
    path = written(b, "l.btsnoop", snoop([(0, h4(READ, True)), (0, h4(bytes(4097), True, 0x41))]))
    ended = b.run("decode", path, "--transcript")
    equal(ended.code, 2, ended)
    contains(ended.out, "> 0a 15 00")
    contains(ended.err, "a PDU of 4097 octets is too long for a transcript",
             "hint: decode one connection with --connection HANDLE")
    equal(b.run("decode", path, "--transcript", "--connection", "0x0040").code, 0)
    ended = b.run("decode", path, "--transcript", "--connection", "0x0041")
    equal((ended.code, "--connection HANDLE" in ended.err), (2, False), ended)


@test("decode: transcripts, line by line")
def transcripts(b):
    path = b.file("t.att", "# A/1  one\n> 0a 03 00\n< 01 0a 03 00 ??\nwait 30.1s\n< 0b\n")
    equal(b.run("decode", path).lines, [
        "# A/1  one", "    2 > 0a0300  Read Request 0x0003",
        "    3 < 01 0a 03 00 ??  any PDU like this", "    4 wait 30.1s",
        "    5 < 0b  Read Response (empty)"])
    found = b.run("decode", path, "--json").json
    equal(found[0], {"case": "A/1", "direction": "toServer", "line": 2, "pdu": "0a0300",
                     "text": "Read Request 0x0003"})
    equal((found[1]["pattern"], found[2]["step"]), ("01 0a 03 00 ??", "wait 30.1s"))
    for name in sorted(os.listdir(FIXTURES / "transcripts")):
        if name.endswith(".att"):
            ended = b.run("decode", FIXTURES / "transcripts" / name, "--json")
            equal((ended.code, ended.err), (0, ""))
            expect(len(ended.json) > 5, name)


@test("decode: truncated and wrong files, with the place of the error")
def broken(b):
    whole = snoop([(0, h4(READ, True)), (1, h4(VALUE, False))])
    first = 16 + 24 + len(h4(READ, True))
    for length in range(len(whole)):
        ended = b.run("decode", written(b, "cut", whole[:length]), "--json") \
            if length in (0, 7, 16, first - 1, first, first + 1, len(whole) - 1) else None
        if ended is None:
            continue
        equal(len(ended.json), 1 if length >= first else 0)
        equal(ended.code, 0 if length in (16, first) else 2)
        if length > first:
            contains(ended.err, f"record 2 at offset {first}: the file ends after",
                     "the records before were decoded")
    b.refuses(2, ["empty file"], "decode", written(b, "e", b""))
    b.refuses(2, ["gzip"], "decode", written(b, "z", b"\x1f\x8b" + bytes(60)))
    b.refuses(2, ["not btsnoop"], "decode", written(b, "x.bin", bytes(60)))
    b.refuses(2, ["datalink 7"], "decode", written(b, "d", snoop([], datalink=7)))
    b.refuses(2, ["No such file"], "decode", "/nowhere/x.pcapng")
    b.refuses(2, ["Is a directory"], "decode", b.path(""))
    b.refuses(2, ["is not a capture", "1:1"], "decode", b.file("t.txt", "0a1500\n0b01\n"))
    b.refuses(2, ['invalid hex "0a150"', "or the name of a file"], "decode", "0a150")
    b.refuses(2, ["cannot be combined with other arguments"], "decode", b.path("e"), "0a1500")
    b.refuses(2, ["nothing to decode"], "decode")
    b.refuses(2, ["for --mtu: expected"], "decode", "0a1500", "--mtu", "22")
    for word in ("--transcript", "--connection=1", "--channel=4"):
        b.refuses(2, ["requires a capture"], "decode", "0a1500", word)
    b.refuses(2, ["--transcript cannot be combined with --json"], "decode", b.path("e"), "--transcript", "--json")
    b.refuses(2, ["--profile requires --transcript"], "decode", b.path("e"), "--profile", "x")


@test("decode: a reader that stops early, and a file that grows")
def enough(b):
    many = snoop([(0, h4(READ, True))] * 20000)
    path = written(b, "many", many)
    done = subprocess.run(f"{b.atto} decode {path} | head -1", shell=True, capture_output=True,
                          text=True, timeout=PATIENCE, env=b.environment)
    equal((len(done.stdout.splitlines()), done.stderr), (1, ""))
    pipe = b.path("pipe")
    os.mkfifo(pipe)
    running = b.start("decode", pipe)
    with open(pipe, "wb") as writer:
        writer.write(many[:16 + 24 + len(h4(READ, True))])
        writer.flush()
        running.line("Read Request 0x0015")
        equal(running.stop().code, 3)
    # Without a writer it waits until Ctrl-C.
    running = b.start("decode", pipe)
    equal(running.stop().code, 3)


@test("decode: tshark finds the same PDUs", needs=["tshark"])
def tshark(b):
    whole = struct.pack("<HH", 43, 4) + bytes.fromhex("1b1200") + bytes(range(40))
    pieces = [(0 if at else 0x2000) | (0x1000 if at else 0) for at in range(0, len(whole), 27)]
    acl = [b"\x02" + struct.pack("<HH", 0x40 | mark, len(whole[at:at + 27])) + whole[at:at + 27]
           for mark, at in zip(pieces, range(0, len(whole), 27))]
    records = ([(1, bytes.fromhex("043e1301004000") + bytes(15)), (0, h4(bytes.fromhex("026400"), True)),
                (1, h4(bytes.fromhex("036400"), False)), (0, h4(READ, True)), (1, h4(VALUE, False))]
               + [(1, part) for part in acl] + [(0, h4(b"\x01", True, channel=6))])
    nordic = b""
    link = bytes.fromhex("2b4a6550")
    # tshark reassembles fragments only if the capture has the connection's beginning.
    made = bytes(12) + link + bytes(3) + bytes.fromhex("010000180000004800ffffffff1f05")
    for central, header, payload in (
            (True, None, made), (True, 0x02, struct.pack("<HH", 3, 4) + READ), (False, 0x02, struct.pack("<HH", 2, 4) + VALUE),
            (True, 0x09, b""), (False, 0x0A, whole[:27]), (False, 0x01, whole[27:])):
        air = (link + bytes([header, len(payload)]) if header is not None
               else bytes.fromhex("d6be898e0522")) + payload + b"\0\0\0"
        record = bytes([0]) + struct.pack("<H", 10 + len(air)) + bytes([3, 0, 0, 2 if header is None else 6, 10, 3 if central else 1, 9, 50, 0, 0]) \
            + bytes(4) + air
        nordic += struct.pack("<IIII", 5, 0, len(record), len(record)) + record
    files = {
        "s.btsnoop": snoop(records),
        "n.pcap": struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 272) + nordic,
    }
    for name, octets in files.items():
        path = written(b, name, octets)
        done = subprocess.run(
            ["tshark", "-r", path, "-Y", "btatt", "-T", "fields", "-e", "frame.number", "-e", "btatt.opcode"],
            capture_output=True, text=True, timeout=PATIENCE, env=dict(b.environment, HOME=b.path("")))
        theirs = [line.split("\t") for line in done.stdout.splitlines()]
        ours = [[str(line["record"]), f"0x{line['pdu'][:2]}"]
                for line in b.run("decode", path, "--json").json]
        equal(ours, theirs, name)
        expect(len(ours) >= 3, f"{name}: {ours}")


@test("decode: values of known characteristics, by UUID and by name")
def values(b):
    equal(b.run("decode", "--as", "2A37", "0048", "1448 8003").lines,
          ["0048  72 bpm", "14488003  72 bpm, contact not detected, rr intervals 0.875 s"])
    equal(b.run("decode", "--as", "heart rate measurement", "1448 8003", "--json").json,
          [{"value": "14488003", "text": "72 bpm, contact not detected, rr intervals 0.875 s",
            "decoded": {"heartRate": 72, "contact": "not detected", "rrIntervals": [0.875]},
            "units": {"heartRate": "bpm", "rrIntervals": "s"}}])
    equal(b.run("decode", "--as", "current time", "ea070b16121e00070000").lines,
          ["ea070b16121e00070000  2026-11-22 18:30:00, Sunday"])
    equal(b.run("decode", "--as", "2A19", "", "6401").lines,
          ["(empty)  (ends in level)", "6401  100 %, followed by 01"])
    equal(b.run("decode", "--as", "2A19", "", "--json").json,
          [{"value": "", "fault": "ends in level"}])
    for line, text in [(["--as", "2A4B", "00"], "no format known for 2A4B Report Map"),
                       (["--as", "nonsense", "00"], 'invalid value "nonsense" for --as'),
                       (["--as", "2A19", "6"], 'invalid hex "6"'),
                       (["--as", "2A19", "64", "--check"], "--check cannot be combined")]:
        ended = b.run("decode", *line)
        equal((ended.code, ended.out), (2, ""))
        contains(ended.err, text)


@test("decode: UUIDs have names and the order in which they are written")
def names(b):
    lines = [
        "> 10 0100 ffff 0028", "< 11 06 0100 0500 0018 0600 0900 0d18",
        "> 08 0100 ffff 0328", "< 09 07 0200 02 0300 002a 0700 10 0800 372a",
        "> 08 0100 ffff 0228", "< 09 08 0200 1000 1500 0a18",
        "> 04 0900 0900", "< 05 01 0900 0229",
        "> 06 0100 ffff 0028 0d18", "> 06 0100 ffff 0129 00ff",
        "< 11 14 1000 1500 9ecadc240ee5a9e093f3a3b50100406e",
        "< 09 15 1100 10 1200 9ecadc240ee5a9e093f3a3b50300406e",
        "> 08 0100 ffff 002a", "< 09 05 0300 4142 43",
    ]
    ended = b.run("decode", "-", input="".join(line + "\n" for line in lines))
    nordic = "6e40000{}-b5a3-f393-e0a9-e50e24dcca9e"
    equal([line.split("  ", 1)[1] for line in ended.lines], [
        "Read By Group Type Request 0x0001-0xFFFF 2800 Primary Service",
        "Read By Group Type Response 0x0001-0x0005 = 1800 Generic Access, "
        "0x0006-0x0009 = 180D Heart Rate",
        "Read By Type Request 0x0001-0xFFFF 2803 Characteristic",
        "Read By Type Response 0x0002 = [read] 0x0003 2A00 Device Name, "
        "0x0007 = [notify] 0x0008 2A37 Heart Rate Measurement",
        "Read By Type Request 0x0001-0xFFFF 2802 Include",
        "Read By Type Response 0x0002 = 0x0010-0x0015 180A Device Information",
        "Find Information Request 0x0009-0x0009",
        "Find Information Response 0x0009 2902 Client Characteristic Configuration",
        "Find By Type Value Request 0x0001-0xFFFF 2800 Primary Service = 180D Heart Rate",
        "Find By Type Value Request 0x0001-0xFFFF 2901 Characteristic User Description = 00ff",
        "Read By Group Type Response 0x0010-0x0015 = " + nordic.format(1),
        # The last search was for includes: these are octets.
        "Read By Type Response 0x0011 = 1012009ecadc240ee5a9e093f3a3b50300406e",
        "Read By Type Request 0x0001-0xFFFF 2A00 Device Name",
        "Read By Type Response 0x0003 = 414243",
    ])
    # A response alone, and what is not a UUID.
    equal(b.run("decode", "09070200020300002a", "1105010002000a").lines, [
        "09070200020300002a  Read By Type Response 0x0002 = 020300002a",
        "1105010002000a  Read By Group Type Response 0x0001-0x0002 = 0a"])
    # Each connection of a capture has its own searches, and --trace says the same.
    _, at = b.serve("heart-rate.json")
    path = b.path("names.btsnoop")
    ended = b.run("discover", at, "--capture", path, "--trace")
    contains(b.run("decode", path).out, "= [notify] 0x0012 2A37 Heart Rate Measurement",
             "2902 Client Characteristic Configuration")
    contains(ended.err, "= [notify] 0x0012 2A37 Heart Rate Measurement")
