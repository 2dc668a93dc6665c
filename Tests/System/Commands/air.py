"""scan, advertise, and connecting over the virtual air."""

import os
import signal
import subprocess

from harness import FIXTURES, PATIENCE, Skipped, contains, equal, expect, test

ADDRESS = "C0:11:22:33:44:55"


def advertise(b, *words):
    running = b.start("advertise", *words)
    return running, running.line("advertising as").split()[-1]


@test("air: scan shows name, services and RSSI")
def scan(b):
    advertise(b, "air:Strap", "--service", "180D", "--service", "180f", "--rssi", "-61")
    ended = b.run("scan", "--count", 1)
    equal(ended.code, 0, f"status ({ended})")
    contains(ended.out, "-61 dBm", '"Strap"', "180D Heart Rate", "180F Battery", "not connectable")
    found = b.run("scan", "air:", "--count", 1, "--json").json[0]
    equal((found["event"], found["name"], found["services"], found["rssi"], found["connectable"]),
          ("found", "Strap", ["180d", "180f"], -61, False))
    expect(found["advertisement"] == found["advertisement"].lower(), found)


@test("air: a scan works where other programs have all inotify instances")
def without_inotify(b):
    # A user namespace has a limit of its own, and in it this user may lower it.
    words = ["unshare", "--user", "--map-root-user", "sh", "-c",
             'echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"', "sh"]
    if subprocess.run([*words, "true"], capture_output=True).returncode != 0:
        raise Skipped("this machine lets no user make a user namespace")
    running = subprocess.Popen([*words, b.atto, "scan", "air:", "--count", "1"], env=b.environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    b.cleaning.append(lambda: b._kill(running))
    # It begins before there is a radio, which only a later listing can show.
    advertise(b, "air:Strap", "--service", "180D")
    out, err = running.communicate(timeout=PATIENCE)
    equal((running.returncode, err), (0, ""))
    contains(out, '"Strap"')


@test("air: advertise sends everything it is given")
def told(b):
    running, address = advertise(
        b, f"air:{ADDRESS}", "--name", "Full", "--appearance", "0x0341", "--tx-power", "-4",
        "--manufacturer", "0059:0102", "--interval", "30", "--connectable")
    contains(address, ADDRESS)
    found = b.run("scan", "--count", 1, "--json").json[0]
    equal((found["name"], found["appearance"], found["txPower"], found["connectable"]),
          ("Full", 0x341, -4, True))
    contains(found["advertisement"] + found["scanResponse"], "59000102")
    contains(found["address"], ADDRESS)
    ended = running.stop()
    equal((ended.code, ended.err), (0, ""))


@test("air: advertise --json, --for")
def briefly(b):
    ended = b.run("advertise", "air:Strap", "--for", "0.05", "--json")
    equal(ended.code, 0)
    equal((ended.json[0]["event"], ended.json[0]["name"]), ("advertising", "Strap"))


@test("air: filters")
def filters(b):
    advertise(b, "air:Near", "--service", "180D", "--rssi", "-40")
    advertise(b, f"air:{ADDRESS}", "--name", "Far", "--service", "180F", "--rssi", "-90")
    for words, name in ((["--name", "Far"], "Far"), (["--service", "180d"], "Near"),
                        (["--rssi", "-50"], "Near"), (["--address", ADDRESS], "Far"),
                        (["--address", ADDRESS.lower()], "Far"),
                        (["--address", f"{ADDRESS}/random"], "Far")):
        found = b.run("scan", "--for", "0.3", "--json", *words).json
        equal([f["name"] for f in found if f["event"] == "found"], [name], str(words))
    b.refuses(4, ["found 0 of 1 devices"], "scan", "--for", "0.1", "--count", "1", "--name", "None")
    b.refuses(2, ["--address"], "scan", "--address", "zz")
    b.refuses(2, ["--rssi"], "scan", "--rssi", "50")
    b.refuses(2, ["--service"], "scan", "--service", "xyz")


@test("air: a killed device is reported as gone")
def gone(b):
    running, address = advertise(b, "air:Strap")
    scanner = b.start("scan", "air:", "--json")
    found = scanner.event("found")
    running.signal(signal.SIGKILL)
    event = scanner.event("gone")
    equal(event["address"], found["address"])
    ended = scanner.stop()
    equal((ended.code, ended.err), (0, ""))
    again, _ = advertise(b, "air:Strap")
    text = b.start("scan")
    text.line('"Strap"')
    again.stop()
    text.line("gone")
    equal(text.stop(signal.SIGTERM).code, 0)


@test("air: scan --decode shows readings of sensors")
def decoded(b):
    advertise(b, "air:Tag", "--manufacturer", "0499:0512fc5394c37c0004fffc040cac364200cdcbb8334c884f")
    line = b.run("scan", "--count", 1, "--decode").lines[0]
    contains(line, "  Ruuvi 5, RuuviTag: temperature 24.3 °C, humidity 53.49 %")
    found = b.run("scan", "--count", 1, "--decode", "--json").json[0]
    equal((found["sensor"]["decoded"]["voltage"], found["sensor"]["units"]["pressure"]), (2.977, "hPa"))
    equal("sensor" in b.run("scan", "--count", 1, "--json").json[0], False)
    b.refuses(2, ["requires --decode"], "scan", "--bind-key", f"{ADDRESS}={'00' * 16}")
    advertise(b, "air:Button", "--service-data", "fcd2:44 3a03", "--service-data", "180f:64")
    line = b.run("scan", "--count", 1, "--decode", "--name", "Button").lines[0]
    contains(line, "  BTHome v2: button triple_press")
    for wrong in ("fcd2", "x:00", "fcd2:0", ":00"):
        b.refuses(2, ["UUID:HEX such as FCD2:4002CA09"], "advertise", "--service-data", wrong)


@test("air: scan decrypts encrypted data with the keys")
def decrypted(b):
    keys, others = "57a9da12d12e6e131e20612ad10a6a199e7a00efb17ae746", "00" * 24
    advertise(b, "air:Lamp", "--tx-power", "4", "--key-material", keys)
    found = b.run("scan", "--count", 1, "--json", "--key-material", others).json[0]
    equal(("name" in found, "txPower" in found, found["encryption"]), (False, False, "encrypted"))
    found = b.run("scan", "--count", 1, "--json", "--key-material", others, "--key-material", keys).json[0]
    equal((found["name"], found["txPower"], found["encryption"]), ("Lamp", 4, "decrypted"))
    contains(b.run("scan", "--count", 1).lines[0], "(no name)  not connectable  encrypted")
    b.refuses(2, ["--key-material", "24 octets"], "scan", "--key-material", keys[2:])
    b.refuses(2, ["the manufacturer specific data takes 254 octets"], "advertise", "air:Full", "--key-material", keys, "--manufacturer",
              "0059:" + "00" * 250)


@test("air: scan ends after --for, also without any device")
def timeout(b):
    ended = b.run("scan", "air:", "--for", "0.1")
    equal((ended.code, ended.out, ended.err), (0, "", ""))


@test("air: when a scan listens is a matter of the kernel's radios, and has two ends")
def scan_timing(b):
    for words, part in ((["--scan-window", "60ms"], "require each other"),
                        (["--scan-interval", "60ms"], "require each other"),
                        (["--scan-window", "60ms", "--scan-interval", "60ms"], "requires an le: adapter"),
                        (["--scan-window", "x", "--scan-interval", "60ms"], "a time from 2.5ms to 10.24s")):
        b.refuses(2, [part], "scan", "air:", *words)
    for words in (["60ms", "59ms"], ["2ms", "60ms"], ["60ms", "10.3s"]):
        b.refuses(2, ["at most the interval"], "scan", "le:@hci9", "--scan-window", words[0], "--scan-interval", words[1])
    b.refuses(2, ["--link-info requires an le: adapter"], "serve", FIXTURES / "heart-rate.json", "--listen", "air:X",
              "--link-info")


@test("air: a name that does not fit is shortened, with a warning")
def shortened(b):
    name = "Kitchen thermometer by the window, second shelf"
    full = ["--manufacturer", "0059:" + "00" * 15]
    running = b.start("advertise", "air:T", "--name", name, *full)
    running.line("advertising as")
    line = running.line("Shortened Local Name", where="err")
    contains(line, f'"{name}" ({len(name)} octets) does not fit', '"Kitchen thermometer by the wi"')
    equal(b.run("scan", "air:", "--count", 1, "--json").json[0]["name"], name[:29])
    # No warning if the name fits, or if nothing is advertised.
    fits = b.start("advertise", "air:U", "--name", name[:29], *full)
    fits.line("advertising as")
    equal(fits.stop().err, "")
    profile = {"name": name, "services": []}
    equal(b.serve(profile)[0].stop().err, "")
    serving = b.start("serve", b.file("long.json", profile), "--listen", "air:V")
    contains(serving.line("Shortened Local Name", where="err"), name)


@test("air: connecting by name and by address")
def connecting(b):
    server, at = b.serve("heart-rate.json", endpoint=f"air:{ADDRESS}")
    for at in (f"air:{ADDRESS}", f"air:{ADDRESS.lower()}", "air:Atto Strap"):
        equal(b.run("read", at, "0x0015", "--json").json, [{"handle": 21, "value": "01"}])
    server.line("client 3 disconnected")


@test("air: the error for an unknown name lists the radios on the air")
def nobody(b):
    advertise(b, "air:Strap", "--connectable")
    b.refuses(3, ["Other", '"Strap"', "0.2"], "read", "air:Other", "3", "--timeout", "0.2")
    b.refuses(3, [ADDRESS], "read", f"air:{ADDRESS}", "3", "--timeout", "0.2")


@test("air: a device that is not connectable")
def not_connectable(b):
    advertise(b, "air:Beacon")
    b.refuses(3, ["not connectable"], "read", "air:Beacon", "3", "--timeout", "0.3")


@test("air: a name that is already in use")
def taken(b):
    advertise(b, "air:Strap")
    b.refuses(3, ["in use by the radio", "Strap"], "advertise", "air:Strap")


@test("air: one server, two clients at once")
def two(b):
    server, _ = b.serve("heart-rate.json", endpoint="air:strap")
    clients = [b.start("subscribe", "air:strap", "0x0012", "--count", "1") for _ in range(2)]
    for client in clients:
        ended = client.end()
        equal((ended.code, ended.lines), (0, ["0x0012  0048  72 bpm"]))
    equal(server.stop().code, 0)


@test("air: serve --once; a client sees the server end at Ctrl-C")
def once(b):
    server, _ = b.serve("heart-rate.json", "--once", endpoint="air:strap")
    equal(b.run("read", "air:strap", "0x0015").code, 0)
    equal(server.end().code, 0)
    server, _ = b.serve("heart-rate.json", endpoint="air:strap", name="again")
    client = b.start("subscribe", "air:strap", "0x0012")
    client.line("0x0012")
    equal(server.stop().code, 0)
    ended = client.end()
    equal(ended.code, 3)
    contains(ended.err, "disconnected")
    left = [n for n in os.listdir(b.path("air"))] if os.path.isdir(b.path("air")) else []
    expect(len(left) <= 1, f"left on the air: {left}")


@test("air: killing the server ends its client with status 3")
def killed(b):
    server, _ = b.serve("heart-rate.json", endpoint="air:strap")
    client = b.start("subscribe", "air:strap", "0x0012")
    client.line("0x0012")
    server.signal(signal.SIGKILL)
    equal(client.end().code, 3)


@test("air: --security raises the link before the first request")
def security(b):
    profile = {"automatic": False, "services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A38", "properties": ["read"], "permissions": ["readEncrypted"],
         "value": "hex:01"}]}]}
    b.serve(profile, endpoint="air:strap")
    b.refuses(1, ["Insufficient", "0x0003"], "read", "air:strap", "3")
    for level in ("medium", "high", "fips"):
        for _ in range(5):
            ended = b.run("read", "air:strap", "3", "--security", level, "--timeout", "2", "--json")
            equal((ended.code, ended.json), (0, [{"handle": 3, "value": "01"}]), ended.err)


# Readable, encrypted, authenticated: 0x0003, 0x0005, 0x0007.
GUARDED = {"automatic": False, "services": [{"uuid": "180D", "characteristics": [
    {"uuid": "2A38", "properties": ["read"], "value": "hex:00"},
    {"uuid": "2A39", "properties": ["read"], "permissions": ["readEncrypted"], "value": "hex:01"},
    {"uuid": "2A3A", "properties": ["read"], "permissions": ["readAuthenticated"],
     "value": "hex:02"}]}]}


@test("air: --security auto raises the link when the peer refuses, or explains why not")
def on_demand(b):
    _, at = b.serve(GUARDED)
    b.refuses(1, ["Insufficient Encryption (0x0F)", "cannot be raised", "cannot be encrypted"],
              "read", at, "5", "--security", "auto")
    for word in ("auto", "stated"):
        b.refuses(2, ["--security auto and stated cannot be used with raw"], "raw", at, "0a0500", "--security", word)
    b.refuses(2, ["raw raises the security of le: links only", "hint: in a session"], "raw", at, "0a0500", "--security", "high")
    b.serve(GUARDED, "--io", "none", endpoint="air:strap")
    b.refuses(1, ["Insufficient Encryption (0x0F)"], "read", "air:strap", "5")
    trace = b.run("read", "air:strap", "5", "--security", "auto", "--json", "--trace")
    equal((trace.code, trace.json), (0, [{"handle": 5, "value": "01"}]), trace.err)
    equal(trace.err.count("> 0a0500"), 2, trace.err)
    b.refuses(1, ["Insufficient Authentication (0x05)", "neither show nor enter"],
              "read", "air:strap", "7", "--security", "auto", "--io", "none")
    b.refuses(3, ["pairing with air:strap failed"],
              "read", "air:strap", "7", "--security", "high", "--io", "keyboard-display", "--yes")


@test("air: --security stated raises the link to the level that the server states")
def stated(b):
    def states(value):
        """The endpoint of a server whose characteristic has this value."""
        levels = {"uuid": "1800", "characteristics": [
            {"uuid": "2BF5", "properties": ["read"], "value": f"hex:{value}"}]}
        profile = GUARDED | {"services": GUARDED["services"] + [levels]}
        return b.serve(profile, "--io", "none", endpoint=f"air:states{value}", name=value)[1]
    words = ["--security", "stated"]
    # One of the entries must be met: mode 1, level 2 is encryption; mode 2 is signing.
    for value in ("0102", "01030102", "02010102"):
        ended = b.run("read", states(value), "5", *words, "--json", "--trace")
        equal((ended.code, ended.json), (0, [{"handle": 5, "value": "01"}]), ended.err)
        equal((ended.err.count("> 08"), ended.err.count("> 0a0500")), (1, 1), ended.err)
    # None, one that needs nothing, and values that cannot be.
    b.refuses(1, ["Insufficient Encryption (0x0F)"], "read", states("0101"), "5", *words)
    for value in ("0201", "01", "010203", "0109"):
        b.refuses(1, ["states no security level (2BF5): the link is left as it is", "(0x0F)"], "read", states(value),
                  "5", *words)
    b.serve(GUARDED, "--io", "none", endpoint="air:nothing", name="nothing")
    b.refuses(1, ["air:nothing states no security level", "(0x0F)"], "read", "air:nothing", "5", *words)
    # More than the server can do.
    b.refuses(3, ["pairing with air:states0103 failed"], "read", states("0103"), "7", *words, "--io",
              "keyboard-display", "--yes")


@test("air: a passkey is shown on one side and entered on the other; both report a wrong one")
def passkeys(b):
    server, _ = b.serve(GUARDED, "--io", "display", "--json", endpoint="air:strap")
    client = b.start(
        "read", "air:strap", "7", "--security", "auto", "--io", "keyboard", "--json", input=True)
    shown = server.event("show")["passkey"]
    client.line("six digits", where="err")
    client.say(shown)
    ended = client.end()
    equal((ended.code, ended.json), (0, [{"handle": 7, "value": "02"}]), ended.err)
    server.event("paired")
    wrong = b.start("pair", "air:strap", "--io", "keyboard", "--json", input=True)
    shown = server.event("show")["passkey"]
    wrong.say("000001" if shown != "000001" else "000002")
    ended = wrong.end()
    equal(ended.code, 3, ended)
    contains(ended.err, "pairing with air:strap failed", "the passkey entered here differs from the one")
    contains(server.event("pairing failed")["error"], "the passkey shown here was not entered")
    b.refuses(2, ["--io keyboard"], "pair", "air:strap", "--passkey", "123456")
    b.refuses(2, ["six digits"], "pair", "air:strap", "--io", "keyboard", "--passkey", "12345x")
    b.refuses(2, ["--yes cannot be combined with --refuse"], "pair", "air:strap", "--yes", "--refuse")
    b.refuses(2, ["for --io: expected none, display"], "pair", "air:strap", "--io", "telepathy")


@test("air: both ends compare numbers; both report which end refused")
def comparing(b):
    server, _ = b.serve(GUARDED, "--io", "yes-no", "--yes", "--json", endpoint="air:strap")
    ended = b.run("pair", "air:strap", "--io", "yes-no", "--yes", "--json")
    equal((ended.code, [line["event"] for line in ended.json]), (0, ["compare", "paired"]), ended.err)
    equal(server.event("compare")["passkey"], ended.json[0]["passkey"])
    ended = b.run("pair", "air:strap", "--io", "yes-no", input="no\n")
    equal(ended.code, 3)
    contains(ended.err, "this end refused")
    contains(server.event("pairing failed")["error"], "did not confirm")


@test("air: pair and channel find a radio by its local name, with or without timing")
def local_names(b):
    b.serve(GUARDED | {"name": "My Strap"}, "--io", "none", endpoint=f"air:{ADDRESS}")
    timed = "?phy=2M&interval=15ms&dle=251"
    for name in ("My Strap", ADDRESS, f"My Strap{timed}"):
        equal(b.run("read", f"air:{name}", "3", "--json").json, [{"handle": 3, "value": "00"}])
        ended = b.run("pair", f"air:{name}", "--json")
        equal((ended.code, ended.json), (0, [{"event": "paired", "peer": f"{ADDRESS}/random", "saved": False}]),
              ended.err)
        contains(b.run("pair", f"air:{name}").out, f"paired with {ADDRESS}", "the bond is not saved")
        # The radio is found, but accepts no channels.
        b.refuses(3, [ADDRESS, "PSM 128", "nothing is published there"],
                  "channel", f"air:{name}", "--psm", 128)
        # The error has the reason why pairing failed.
        words = ["--security", "high", "--io", "keyboard-display", "--yes"]
        b.refuses(3, ["pairing with air:", " failed"], "read", f"air:{name}", "7", *words)


@test("air: an ambiguous local name is an error of every command that connects")
def ambiguous_names(b):
    for last in "56":
        advertise(b, f"air:C0:11:22:33:44:{last * 2}", "--name", "Twin", "--connectable")
    for words in (["read", "air:Twin", "3"], ["pair", "air:Twin"],
                  ["channel", "air:Twin", "--psm", "128"]):
        b.refuses(3, ['"Twin"', "C0:11:22:33:44:55", "C0:11:22:33:44:66"], *words)


@test("air: control characters in a device's name are escaped")
def hostile_names(b):
    name = "\x1b[31mRed\nfake \u202e\x7f\""
    advertising = b.start("advertise", "air:Evil", "--name", name)
    advertising.line("advertising")
    ended = b.run("scan", "air:", "--count", 1)
    equal(len(ended.lines), 1, f"{ended}")
    contains(ended.out, '"\\u{1B}[31mRed\\u{A}fake \\u{202E}\\u{7F}\\""')
    equal(b.run("scan", "air:", "--count", 1, "--json").json[0]["name"], name)
    ended = b.run("read", "air:Nobody", "5", "--timeout", 0.3)
    expect("\x1b" not in ended.err, f"{ended}")
