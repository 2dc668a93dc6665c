"""What a command does by itself, it says: defaults, waits, interruptions, and what is not checked."""

import datetime
import json
import os
import resource
import signal

from harness import contains, equal, expect, script, test

PROFILE = {"automatic": False, "services": [{"uuid": "180D", "characteristics": [
    {"uuid": "2A38", "properties": ["read"], "permissions": ["readAuthenticated"], "value": "hex:01"}]}]}


@test("telling: the virtual air says that it does not check security without --io")
def unchecked(b):
    b.serve(PROFILE, endpoint="air:strap")
    warning = "warning: without --io, the virtual air grants security "
    for words, level in ((["--security", "high"], "high"), (["--security", "fips"], "fips")):
        ended = b.run("read", "air:strap", "3", *words)
        equal((ended.code, ended.lines), (0, ["0x0003  01"]))
        equal(ended.err.count(warning + level), 1, ended.err)
        b.refuses(2, ["raw raises the security of le: links only"], "raw", "air:strap", "0a0300", *words)
    ended = b.run("read", "air:strap", "3", "--security", "auto")
    equal((ended.code, ended.err.count(warning)), (0, 1), ended.err)
    equal(b.run("read", "air:strap", "3", "--security", "medium").err.count(warning), 0)


@test("telling: without input and output, pairing on the virtual air reaches medium at most")
def unauthenticated(b):
    b.serve(PROFILE, "--io", "none", endpoint="air:strap")
    for words in (["--io", "none"], ["--io", "keyboard-display", "--yes"], []):
        for level in ("high", "fips"):
            ended = b.run("read", "air:strap", "3", "--security", level, *words, "--json", "--timeout", "5")
            equal((ended.code, ended.out), (3, ""), f"{words} {level}: {ended}")


@test("telling: pairing that the ends cannot agree on names the options that may help")
def disagreeing(b):
    b.serve(PROFILE, "--io", "display", endpoint="air:strap")
    ended = b.run("read", "air:strap", "3", "--security", "high")
    equal(ended.code, 3)
    for part in ("cannot show or enter", "hint:", "--io keyboard"):
        contains(ended.err, part)
    equal(ended.err.count("warning"), 0, ended.err)
    ended = b.run("pair", "air:strap", "--io", "keyboard", "--passkey", "000000")
    # One in a million is right.
    expect(ended.code == 3 or "paired" in ended.out, ended)
    equal(ended.err.count("enter the six digits"), 0, ended.err)


@test("telling: --refuse refuses also without --io")
def refusing(b):
    b.serve(PROFILE, "--refuse", endpoint="air:no")
    b.serve(PROFILE, endpoint="air:yes")
    for words in (["pair", "air:no"], ["read", "air:no", "3", "--security", "medium"],
                  ["pair", "air:yes", "--refuse"]):
        ended = b.run(*words)
        equal((ended.code, ended.out), (3, ""), f"{words}: {ended}")


LENGTHS = {"services": [{"uuid": "A001", "handle": "0x0020", "characteristics": [
    {"uuid": f"B{count:03}", "handle": f"0x{0x0020 + 2 * number:04X}", "properties": ["read"],
     "value": {"repeat": "41", "count": count}} if count else
    {"uuid": "B000", "handle": f"0x{0x0020 + 2 * number:04X}", "properties": ["read"], "value": "hex:"}
    for number, count in enumerate((0, 21, 22, 23, 512), 1)]}]}


@test("telling: read marks a value that fills its response")
def cut(b):
    b.serve(LENGTHS, endpoint="air:long")

    def marked(handle, *words):
        text = b.run("read", "air:long", handle, *words)
        told = json.loads(b.run("read", "air:long", handle, *words, "--json").out)
        equal(text.code, 0)
        is_cut = "cut at ATT_MTU - 1" in text.out
        equal((is_cut, "hint: --long" in text.err), (told.get("cut", False),) * 2, text)
        return len(told["value"]) // 2, is_cut

    for handle, count in (("B000", 0), ("B021", 21), ("B022", 22), ("B023", 23), ("B512", 512)):
        equal(marked(handle), (min(count, 22), count >= 22), handle)
        equal(marked(handle, "--long"), (count, False), handle)
        equal(marked(handle, "--mtu", "517"), (count, False), handle)
    equal(marked("B512", "--offset", "489"), (22, True))
    # There is nothing after the 512th octet.
    equal(marked("B512", "--offset", "490"), (22, False))
    equal(marked("B023", "--offset", "2"), (21, False))
    session = b.run("session", "air:long", input="read B022\nread B021\n")
    equal([("cut at" in line) for line in session.lines if "4141" in line], [True, False], session)


@test("telling: what a message tells to do next")
def next_steps(b):
    b.serve({"services": [{"uuid": "A001", "characteristics": [
        {"uuid": uuid, "properties": ["read", "write"], "value": "hex:00", "maxLength": 512}
        for uuid in ("2A6E", "2A6E", "2A6F")]}]}, endpoint="air:strap")
    ended = b.run("write", "air:strap", "2A6F", "00" * 30)
    equal(ended.code, 2)
    contains(ended.err, "hint: --long writes it in parts; with --mtu 33 one request may hold it")
    equal(b.run("write", "air:strap", "2A6F", "00" * 30, "--mtu", "33").code, 0)
    contains(b.run("read", "air:strap", "2A6E").err, "give one of the handles, or the service: 2A6E@SERVICE")
    contains(b.run("read", "air:strap", "2A6E@A001").err, "hint: give one of the handles\n")
    # The handles of the whole peer, as with a range of all of them.
    for command in ("characteristics", "descriptors", "includes"):
        equal(b.run(command, "air:strap").out, b.run(command, "air:strap", "0x0001-0xFFFF").out)
    # A folder that everybody uses is not for this user to close.
    shared = os.path.join(b.folder, "shared")
    os.mkdir(shared)
    for mode, wanted in ((0o1777, "set ATTO_AIR to a folder of your own"), (0o755, "chmod 700")):
        os.chmod(shared, mode)
        b.environment["ATTO_AIR"] = shared
        told = b.run("scan", "air:", "--for", "0.1").err
        contains(told, wanted)
        equal("chmod" in told, mode == 0o755, told)


@test("telling: raw takes over the ATT_MTU that it agrees on")
def raw_mtu(b):
    b.serve(LENGTHS, endpoint="air:long")
    whole = "0b" + "41" * 23
    contains(b.run("raw", "air:long", "02f701", "0a2900").out, whole)
    # An answer that is not allowed.
    peer = b.peer(script(("02f701", "031600")))
    ended = b.run("raw", peer.endpoint, "02f701")
    contains(ended.err, "warning: the peer answered an MTU of 22")


@test("telling: scan has no name, and says that it uses the virtual air")
def scanning(b):
    b.refuses(2, ["scan cannot use air:Strap", "--name NAME"], "scan", "air:Strap", "--for", "0.1")
    b.refuses(2, ["scan cannot use air:"], "scan", "air:C0:00:00:00:00:01", "--for", "0.1")
    if "no Bluetooth adapter" in b.run("scan", "--for", "0.05").err:
        ended = b.run("scan", "--for", "0.05", "--json")
        equal((ended.out, ended.err), ("", "using the virtual air (air:): no Bluetooth adapter is powered on"
                                           + "\n"))
    equal(b.run("scan", "air:", "--for", "0.05").err, "")


@test("telling: adapters --watch ends where the kernel has no Bluetooth")
def adapters(b):
    listed = b.run("adapters", "--json")
    if listed.code == 3 and json.loads(listed.err)["error"]["kind"] != "radio":
        ended = b.run("adapters", "--watch", "--json")
        equal((ended.code, json.loads(ended.err)["error"]["message"]),
              (3, json.loads(listed.err)["error"]["message"]))


@test("telling: fuzz interrupted prints its counts and how to go on")
def fuzzing(b):
    server, at = b.serve("heart-rate.json")
    running = b.start("fuzz", at, "--seed", 7, "--count", 1 << 29, "--catalogue", "empty")
    # One connection for the attack, and one for each 256 random PDUs.
    server.line("client 3 connected")
    ended = running.stop()
    equal((ended.code, ended.out), (3, ""))
    contains(ended.err, "atto fuzz: interrupted after 1 of 1 attack and ",
             f" of {1 << 29} random PDUs with seed 7: the peer survived them",
             "hint: --seed 8 sends other PDUs")


@test("telling: discover --cache prints the database where the store cannot be written")
def cached(b):
    _, at = b.serve("heart-rate.json")
    store = b.path("store.sqlite")
    equal(b.run("discover", at, "--cache", "--store", store).code, 0)
    _, other = b.serve("bench.json", name="other")
    limited = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    ended = b.run("discover", other, "--cache", "--store", store, preexec_fn=limited)
    equal((ended.code, bool(ended.out)), (0, True), ended)
    contains(ended.err, "warning: database not saved: ")
    equal(b.run("discover", at, "--cache", "--store", store).code, 0)


@test("telling: SIGHUP ends a command as SIGTERM does, unless it is ignored")
def hangup(b):
    server, at = b.serve({"automatic": False, "services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A37", "properties": ["notify"], "value": "hex:00",
         "behaviour": {"notifyEveryMilliseconds": 10}}]}]})
    path = b.path("c.pcapng")
    client = b.start("subscribe", at, "3", "--capture", path)
    client.line("0x0003")
    equal(client.stop(signal.SIGHUP).code, 0)
    server.line("unsubscribed from 0x0003")
    client = b.start("subscribe", at, "3",
                     preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN), restore_signals=False)
    client.line("0x0003")
    client.signal(signal.SIGHUP)
    client.line("0x0003")
    client.line("0x0003")
    equal(client.stop(signal.SIGTERM).code, 0)
    equal(server.stop(signal.SIGHUP).code, 0)
    expect(not os.path.exists(b.path("server")), "the socket remains")


@test("telling: a full disk under --capture is an error, and leaves whole records")
def full_capture(b):
    server, at = b.serve("reference-820.json")
    whole = b.path("whole.btsnoop")
    equal(b.run("discover", at, "--capture", whole).code, 0)
    size = os.path.getsize(whole)
    for limit in (size // 2, size // 2 + 1, size // 2 + 7, size - 1):
        path = b.path(f"{limit}.btsnoop")
        ended = b.run("discover", at, "--capture", path, "--json",
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        equal(ended.code, 2, f"{limit} of {size}: {ended.err} {os.path.getsize(path)}")
        contains(json.loads(ended.err.splitlines()[-1])["error"]["message"], f"cannot write {path}: File too large")
        decoded = b.run("decode", path)
        equal((decoded.code, "truncated" in decoded.err), (0, False), decoded.err)
        expect(decoded.lines and len(decoded.lines) < 10_000, decoded.err)


@test("telling: --trace shows the time of day at which each PDU was sent or came")
def trace_times(b):
    peer = b.peer(script(("0a0300", "0b41")))
    before = datetime.datetime.now()
    ended = b.run("read", peer.endpoint, "3", "--trace")
    after = datetime.datetime.now()
    times = [datetime.datetime.strptime(line.split()[0], "%H:%M:%S.%f").time()
             for line in ended.err.splitlines() if line.split()[1] in "<>"]
    equal(len(times), 2, ended.err)
    if before.date() == after.date():
        expect(before.time() <= times[0] < times[1] <= after.time(), f"{before} {times} {after}")
