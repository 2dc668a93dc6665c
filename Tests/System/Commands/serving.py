"""serve: start and end, several clients, and --control."""

import json
import os
import signal
import subprocess

from harness import FIXTURES, contains, equal, expect, test

# A characteristic with all properties: value at 0x0003, configuration at 0x0004.
ALL = {"automatic": False, "services": [{"uuid": "180D", "characteristics": [
    {"uuid": "2A37", "properties": ["read", "write", "writeWithoutResponse", "notify", "indicate"],
     "value": "hex:0048", "maxLength": 20}]}]}


@test("serve: --once ends with the first client")
def once(b):
    server, at = b.serve(ALL, "--once")
    equal(b.run("read", at, "3", "--json").json, [{"handle": 3, "value": "0048"}])
    ended = server.end()
    equal((ended.code, ended.err), (0, ""))
    expect(not os.path.exists(at.removeprefix("unix:")), "the socket is still there")
    equal(ended.lines, [f"listening on {at}", f"client 1 connected from a client of {at}",
                        "client 1 disconnected"])


@test("serve: SIGINT and SIGTERM end it with 0 and remove the socket")
def signals(b):
    for number in (signal.SIGINT, signal.SIGTERM):
        server, at = b.serve(ALL, name=f"s{number}")
        client = b.connect(at)
        equal(client.ask("0a0300"), "0b0048")
        ended = server.stop(number)
        equal((ended.code, ended.err), (0, ""))
        expect(not os.path.exists(at.removeprefix("unix:")), "the socket is still there")
        equal(client.receive(), "", "the client's link")


@test("serve: a second server on a path is an error; a stale socket is replaced")
def second(b):
    server, at = b.serve(ALL)
    b.refuses(3, ["another process listens there"], "serve", b.file("p.json", ALL), "--listen", at)
    equal(b.run("read", at, "3").code, 0)
    server.signal(signal.SIGKILL)
    server.end()
    expect(os.path.exists(at.removeprefix("unix:")), "nothing is left of it")
    _, again = b.serve(ALL)
    equal(b.run("read", again, "3").code, 0)


@test("serve: events as text and as JSON")
def events(b):
    for options in ([], ["--json"]):
        server, at = b.serve(ALL, "--once", *options, name=f"e{len(options)}")
        client = b.connect(at)
        equal(client.ask("1203000102"), "13")
        equal(client.ask("1204000100"), "13")
        equal(client.ask("1204000300"), "13")
        equal(client.ask("1204000000"), "13")
        client.send("520300cafe")
        equal(client.ask("0a0300"), "0bcafe")
        client.close()
        ended = server.end()
        who = f"a client of {at}"
        if options:
            equal(ended.json, [
                {"event": "listening", "endpoint": at},
                {"event": "connected", "client": 1, "peer": who},
                {"event": "written", "client": 1, "handle": 3, "value": "0102"},
                {"event": "configured", "client": 1, "handle": 3, "notify": True, "indicate": False},
                {"event": "configured", "client": 1, "handle": 3, "notify": True, "indicate": True},
                {"event": "configured", "client": 1, "handle": 3, "notify": False, "indicate": False},
                {"event": "written", "client": 1, "handle": 3, "value": "cafe"},
                {"event": "disconnected", "client": 1, "peer": who}])
        else:
            equal(ended.lines[2:-1], [
                "client 1 wrote 0x0003 = 0102", "client 1 subscribed to notifications of 0x0003",
                "client 1 subscribed to notifications and indications of 0x0003",
                "client 1 unsubscribed from 0x0003", "client 1 wrote 0x0003 = cafe"])


@test("serve: several clients, each with its own subscription and MTU")
def several(b):
    server, at = b.serve(ALL, "--control", input=True)
    clients = [b.connect(at) for _ in range(5)]
    for client in clients:
        equal(client.ask("0a0300"), "0b0048")
    for client in clients[:3]:
        equal(client.ask("1204000100"), "13")
    equal(clients[0].ask("026400"), "030502")
    server.say("notify 0x0003 " + "77" * 40)
    equal(clients[0].receive(), "1b0300" + "77" * 40)
    equal(clients[1].receive(), "1b0300" + "77" * 20)
    equal(clients[2].receive(), "1b0300" + "77" * 20)
    equal(clients[3].ask("0a0400"), "0b0000")
    clients[4].close()
    server.line("client 5 disconnected")
    equal(clients[3].ask("0a0300"), "0b0048")


@test("serve: offers the profile's MTU, or --mtu")
def mtu(b):
    _, at = b.serve("heart-rate.json", name="a")
    equal(b.connect(at).ask("02ffff"), "03f700")
    _, at = b.serve("heart-rate.json", "--mtu", "100", name="b")
    equal(b.connect(at).ask("02ffff"), "036400")
    _, at = b.serve(ALL, name="c")
    equal(b.connect(at).ask("021700"), "030502")
    b.refuses(2, ["--mtu"], "serve", b.file("p.json", ALL), "--mtu", "22")


@test("control: set, notify, indicate, disconnect")
def control(b):
    server, at = b.serve(ALL, "--control", input=True)
    client = b.connect(at)
    equal(client.ask("0a0300"), "0b0048")
    server.say("set 0x0003 cafe01")
    server.say("notify 0x0003 01")
    server.line("notified 0 clients", where="err")
    equal(client.ask("0a0300"), "0bcafe01")
    equal(client.ask("1204000300"), "13")
    server.say("notify 3 0102")
    equal(client.receive(), "1b03000102")
    server.line("notified 1 client", where="err")
    server.say('notify 3 ""')
    equal(client.receive(), "1b0300")
    server.say("indicate 0x0003 AA BB")
    equal(client.receive(), "1d0300aabb")
    client.send("1e")
    server.line("1 client confirmed", where="err")
    server.say('set 3 ""')
    server.say("notify 3 ff")
    equal(client.receive(), "1b0300ff")
    equal(client.ask("0a0300"), "0b")
    server.say("disconnect")
    equal(client.receive(), "")
    server.line("client 1 disconnected")
    equal(b.connect(at).ask("0a0300"), "0b")


@test("control: notify and indicate to one client")
def one_client(b):
    server, at = b.serve(ALL, "--control", input=True)
    clients = [b.connect(at) for _ in range(3)]
    for client in clients[:2]:
        equal(client.ask("1204000300"), "13")
    server.say("notify 3 0102 to 2")
    server.line("notified 1 client", where="err")
    server.say("indicate 3 aa bb to 2")
    equal(clients[1].receive(), "1b03000102")
    equal(clients[1].receive(), "1d0300aabb")
    clients[1].send("1e")
    server.line("1 client confirmed", where="err")
    server.say("notify 3 ff")
    # The others get nothing but the value for all.
    equal(clients[0].receive(), "1b0300ff")
    equal(clients[1].receive(), "1b0300ff")
    server.line("notified 2 clients", where="err")
    for verb in ("notify", "indicate"):
        server.say(f"{verb} 3 00 to 3")
        server.line("0 clients: client 3 has not subscribed to 0x0003", where="err")
        server.say(f"{verb} 3 00 to 4")
        server.line("control: client 4 is not connected", where="err")
        for line in ("3 00 to", "3 00 to 1 2", "3 00 to -1", "3 00 to 4294967296", "3 00 to to"):
            server.say(f"{verb} {line}")
            server.line("control: invalid client: ", where="err")
    server.say("set 3 00 to 11")
    contains(server.line("control: ", where="err"), "hex")
    clients[1].close()
    server.line("client 2 disconnected")
    server.say("notify 3 00 to 2")
    server.line("control: client 2 is not connected", where="err")
    equal(clients[0].ask("0a0300"), "0b0048")
    for line, answer in (("2", "client 2 is not connected"), ("x", 'invalid client: expected its number, found "x"'),
                         ("1 3", "disconnect takes the number of one client")):
        server.say(f"disconnect {line}")
        contains(server.line("control: ", where="err"), answer)
    server.say("disconnect 3")
    server.line("client 3 disconnected")
    equal(clients[0].ask("0a0300"), "0b0048")
    server.say("disconnect")
    server.line("client 1 disconnected")


def crowd_out(b, *options):
    """Notifies two clients 4,000 values, of which the first reads none."""
    server, at = b.serve(ALL, "--control", *options, input=True)
    slow, quick = b.connect(at), b.connect(at)
    for client in (slow, quick):
        equal(client.ask("1204000100"), "13")
    for number in range(4000):
        server.say(f"notify 3 {number:04x}")
        equal(quick.receive(), f"1b0300{number:04x}")
    return server, slow


@test("control: a client that does not read loses values, and the others none")
def slow_client(b):
    server, slow = crowd_out(b, "--backlog", "10")
    server.line("notified 1 client, kept for 1 without room", where="err")
    server.line("client 1 does not keep up with the other clients and has lost 1 value")
    seen = []
    while not seen or seen[-1] != 3999:
        pdu = slow.receive()
        equal(pdu[:6], "1b0300")
        seen.append(int(pdu[6:], 16))
    equal(seen[-10:], list(range(3990, 4000)))
    equal(seen[:-10], list(range(len(seen) - 10)))
    lost = 4000 - len(seen)
    server.line(f"client 1 does not keep up with the other clients and has lost {lost - 1} values")


@test("control: a client that does not read loses its connection with --disconnect-slow")
def slow_client_disconnected(b):
    server, slow = crowd_out(b, "--backlog", "10", "--disconnect-slow")
    server.line(
        "client 1 loses its connection: the client does not take notifications in time: 10 waited")
    server.line("client 1 disconnected")
    b.refuses(2, ["--disconnect-slow", "--backlog"], "serve", b.file("p.json", ALL), "--backlog", "0",
              "--disconnect-slow")


@test("control: with --json the error of a line is an object")
def control_errors(b):
    server, at = b.serve(ALL, "--control", "--json", input=True)
    for line, kind in (("set 3 zz", "usage"), ("nope", "usage"), ("add none.json", "file")):
        server.say(line)
        error = json.loads(server.line(where="err"))["error"]
        equal((error["kind"], error["status"]), (kind, 2), line)
    equal(b.connect(at).ask("0a0300"), "0b0048")


@test("control: an indication without confirmation does not delay the next lines")
def unconfirmed(b):
    server, at = b.serve(ALL, "--control", "--timeout", "0.5", input=True)
    client = b.connect(at)
    equal(client.ask("1204000300"), "13")
    server.say("indicate 3 01")
    equal(client.receive(), "1d030001")
    server.say("notify 3 02")
    equal(client.receive(), "1b030002", "what does not wait for the confirmation")
    server.say("indicate 3 03")
    server.line("0 clients confirmed, 1 did not", where="err")
    server.line("0 clients confirmed, 1 did not", where="err")
    server.say("notify 3 02")
    server.line("notified", where="err")


@test("control: 64 indications wait; the next line waits for one of them")
def many_unconfirmed(b):
    server, at = b.serve(ALL, "--control", input=True)
    client = b.connect(at)
    equal(client.ask("1204000300"), "13")
    for _ in range(64):
        server.say("indicate 3 01")
    server.say("set 3 55")
    equal(client.receive(), "1d030001")
    for _ in range(1000):
        if client.ask("0a0300") == "0b55":
            break
    else:
        expect(False, "the line after 64 indications was not carried out")
    server.say("indicate 3 01")
    server.say("set 3 66")
    server.say("notify 3 00")
    for _ in range(100):
        equal(client.ask("0a0300"), "0b55", "the line after 65 indications")
    # A confirmation makes room for the last line.
    equal(client.ask("1e"), "1d030001")
    equal(client.receive(), "1b030000")
    equal(client.ask("0a0300"), "0b66")


@test("control: add and remove, with Service Changed to subscribed clients")
def changes(b):
    server, at = b.serve("heart-rate.json", "--control", input=True)
    client = b.connect(at)
    equal(client.ask("1209000200"), "13")
    extra = b.file("extra.json", {"automatic": False, "services": [
        {"uuid": "180F", "characteristics": [
            {"uuid": "2A19", "properties": ["read"], "value": "hex:2a"}]}]})
    server.say(f"add {extra}")
    equal(client.receive(), "1d08002a002c00")
    client.send("1e")
    server.line("added 0x002A-0x002C", where="err")
    equal(client.ask("0a2c00"), "0b2a")
    server.say("remove 0x002A")
    equal(client.receive(), "1d08002a002c00")
    client.send("1e")
    server.line("removed 0x002A-0x002C", where="err")
    equal(client.ask("0a2c00"), "010a2c0001")
    server.say("remove 0x002A")
    server.line("0x002A", where="err")


@test("control: added values have the behaviour of their profile")
def added_behaviour(b):
    server, at = b.serve(ALL, "--control", input=True)
    extra = b.file("extra.json", {"automatic": False, "services": [
        {"uuid": "180F", "handle": "0x0010", "characteristics": [
            {"uuid": "2A19", "properties": ["read", "write"], "value": "hex:2a",
             "behaviour": {"readError": "0x81"}}]}]})
    server.say(f"add {extra}")
    server.line("added 0x0010-0x0012", where="err")
    client = b.connect(at)
    equal(client.ask("0a1200"), "010a120081")


@test("control: a file name with spaces; a profile that does not fit changes nothing")
def added_badly(b):
    server, at = b.serve(ALL, "--control", input=True)
    path = b.file("two words.json", {"automatic": False, "services": [{"uuid": "180F"}]})
    server.say(f"add {path}")
    server.line("added 0x0005-0x0005", where="err")
    clash = b.file("clash.json", {"automatic": False, "services": [
        {"uuid": "1811", "handle": "0x0020"}, {"uuid": "1812", "handle": "0xFFFF"}]})
    server.say(f"add {clash}")
    server.line("added 0xFFFF-0xFFFF", where="err")
    server.say(f"add {path}")
    server.line("control: ", where="err")
    server.say("add /nowhere.json")
    contains(server.line("control: ", where="err"), "/nowhere.json")
    client = b.connect(at)
    equal(client.ask("10050005000028"), "1106050005000f18")


@test("control: wrong lines are reported, and the next ones are read")
def wrong(b):
    server, at = b.serve(ALL, "--control", input=True)
    for line, part in (("dance", 'unknown command "dance": expected set HANDLE HEX'), ("set", "handle"),
                       ("set 0 00", "0x0001"), ("set 3 0g", "hex"), ("set 3 0", "pairs"),
                       ("set 99 00", "0x0063"), ("set 4 00", "0x0004"),
                       ("indicate x 00", "0x0001"), ("notify", "handle"),
                       ("set 3 " + "00" * 513, "512"), ("notify 3 " + "00" * 513, "512"),
                       ("remove", "handle"), ("remove 3", "0x0003"), ("add", "profile"),
                       ("disconnect now", "invalid client: expected its number, found \"now\""), ("\x1b\x01", "unknown command \"\\u{1B}\\u{01}\"")):
        server.say(line)
        contains(server.line("control: ", where="err"), part)
    for verb in ("notify", "indicate"):
        server.say(f"{verb} 99 00")
        server.line("control: no attribute at 0x0063", where="err")
        server.say(f"{verb} 2 00")
        server.line("control: clients cannot subscribe to 0x0002", where="err")
        server.say(f"{verb} 3 00")
        server.line("0 clients: none has subscribed to 0x0003", where="err")
    for line in ("", "   ", "\r"):
        server.say(line)
    server.say("set 3 77\r")
    server.say("notify 3 00")
    server.line("notified 0 clients", where="err")
    equal(b.connect(at).ask("0a0300"), "0b77")


@test("control: a line that is too long is reported once and dropped")
def long_line(b):
    server, at = b.serve(ALL, "--control", input=True)
    server.say("x" * 70000 + " set 3 66" + "y" * 200000)
    contains(server.line("control: ", where="err"), "65536")
    server.say("set 3 77")
    server.say("notify 3 00")
    contains(server.line("", where="err"), "notified 0 clients")
    equal(b.connect(at).ask("0a0300"), "0b77")


@test("control: the end of standard input does not end the server; its last line is read")
def closed_input(b):
    server, at = b.serve(ALL, "--control", input=True)
    server.process.stdin.write("set 3 77\nset 3 88")
    server.process.stdin.close()
    client = b.connect(at)
    for _ in range(1000):
        if client.ask("0a0300") == "0b88":
            break
    else:
        expect(False, "the last line did nothing")
    server.stop()


@test("control: lines from a file, and none from /dev/null")
def from_file(b):
    lines = b.file("lines", "set 3 77\nnotify 3 01\n")
    with open(lines) as stream:
        process = subprocess.Popen(
            [b.atto, "serve", b.file("p.json", ALL), "--listen", f"unix:{b.path('f')}", "--control"],
            stdin=stream, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=b.environment)
    b.cleaning.append(lambda: b._kill(process))
    equal(process.stdout.readline(), f"listening on unix:{b.path('f')}\n")
    contains(process.stderr.readline(), "notified 0 clients")
    equal(b.connect(f"unix:{b.path('f')}").ask("0a0300"), "0b77")
    process.send_signal(signal.SIGINT)
    equal(process.wait(60), 0)


@test("control: thousands of lines at once, in order, without confirmations")
def flood(b):
    server, at = b.serve(ALL, "--control", input=True)
    client = b.connect(at)
    equal(client.ask("1204000100"), "13")
    for number in range(3000):
        server.process.stdin.write(f"notify 3 {number:04x}\n")
    server.process.stdin.flush()
    for number in range(3000):
        equal(client.receive(), f"1b0300{number:04x}")


@test("serve: all fixtures can be served and discovered")
def fixtures(b):
    for path in sorted(FIXTURES.glob("*.json")):
        server, at = b.serve(str(path), "--once", name=path.stem)
        equal(b.run("discover", at, "--json").code, 0, path.name)
        equal(server.end().code, 0, path.name)


@test("serve: hostile PDUs are answered or ignored, and the server survives")
def hostile(b):
    server, at = b.serve("edges.json")
    for pdu in ("", "00", "ff", "01", "02", "0201", "03ffff", "0a", "0a00", "0a000000", "0e0100",
                "1200", "52", "d2", "16", "1801", "1802", "18ff", "1b", "1d", "1e", "23", "08",
                "10" + "00" * 30, "12" + "00" * 600, "7f", "bf"):
        client = b.connect(at)
        client.link.send(bytes.fromhex(pdu))
        if pdu and client.link.send(bytes.fromhex("0a0300")):
            expect(client.receive()[:2] in ("01", "0b", "03", "19", "1e", ""), pdu)
        client.close()
    equal(b.run("services", at).code, 0)
    equal(server.stop().code, 0)
