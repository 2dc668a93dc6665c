"""Output: traces, closed and blocked pipes, progress."""

import fcntl
import os
import re
import select
import signal
import subprocess
import time

from ending import one_by_one
from harness import PATIENCE, contains, equal, expect, test
from subscribing import profile


@test("terminal: --trace shows each PDU decoded on standard error")
def trace(b):
    _, at = b.serve("heart-rate.json")
    ended = b.run("read", at, "0x0015", "--trace", "--json", "--mtu", "100")
    equal(ended.json, [{"handle": 21, "value": "01"}])
    lines = ended.err.splitlines()
    equal(len(lines), 4)
    for line, parts in zip(lines, (("> 026400", "Exchange MTU Request 100"),
                                   ("< 03f700", "Exchange MTU Response 247"),
                                   ("> 0a1500", "Read Request 0x0015"), ("< 0b01", "Read Response"))):
        contains(line, *parts)
    ended = b.run("raw", at, "0a1500", "--trace", "--for", "0.02")
    equal(len(ended.err.splitlines()), 2)


@test("terminal: serve --trace")
def serve_trace(b):
    server, at = b.serve("heart-rate.json", "--trace", "--once")
    client = b.connect(at)
    equal(client.ask("0a1500"), "0b01")
    client.close()
    contains(server.end().err, "< 0a1500  Read Request 0x0015", "> 0b01  Read Response 01")


@test("terminal: --json with an error leaves standard output to JSON")
def json_only(b):
    _, at = b.serve("heart-rate.json")
    for words in (["read", at, "0x0012"], ["services", "unix:/tmp/atto-none"], ["read"],
                  ["subscribe", at, "0x0015"], ["serve", "/tmp/none.json"]):
        ended = b.run(*words, "--json")
        expect(ended.code != 0 and ended.err, ended)
        equal(ended.out, "")


@test("terminal: subscribe ends when its reader closes the pipe")
def broken_pipe(b):
    server, at = b.serve(profile(notifyEveryMilliseconds=5))
    ended = subprocess.run(
        f"{b.atto} subscribe {at} 3 | head -1; echo ${{PIPESTATUS[0]}}", shell=True, text=True,
        executable="/bin/bash", capture_output=True, timeout=PATIENCE, env=b.environment)
    lines = ended.stdout.splitlines()
    equal(len(lines), 2, "lines")
    equal((lines[1], ended.stderr), ("0", ""))
    server.line("unsubscribed")


@test("terminal: commands that print end when their reader closes the pipe")
def closed_pipe(b):
    server, at = b.serve("reference-820.json")
    for words in (["services", at], ["discover", at], ["discover", at, "--json"],
                  ["descriptors", at, "1-65535"], ["--help"], ["read", at, "3"]):
        read, write = os.pipe()
        os.close(read)
        running = b.start(*words, stdout=write)
        os.close(write)
        ended = running.end()
        expect(ended.code == 0 and "crash" not in ended.err, f"{words}: {ended}")


@test("terminal: a terminated serve has removed its socket, also without a reader")
def serve_pipe(b):
    running, at = b.serve("heart-rate.json")
    path = at.removeprefix("unix:")
    read, write = os.pipe()
    running = b.start("serve", b.file("p.json", profile()), "--listen", f"unix:{b.path('q')}",
                      stdout=write)
    os.close(write)
    stream = os.fdopen(read)
    contains(stream.readline(), "listening")
    stream.close()
    b.connect(f"unix:{b.path('q')}").ask("0a0300")
    running.line("nobody reads standard output", where="err")
    ended = running.stop(signal.SIGTERM)
    equal(ended.code, 0, f"status ({ended})")
    expect(not os.path.exists(b.path("q")), "the socket is still there")


@test("terminal: closed standard streams")
def closed_streams(b):
    _, at = b.serve("heart-rate.json")
    for redirect in ("<&-", "2>&-", "<&- 2>&-"):
        for words in (f"read {at} 0x0015", f"discover {at} --trace", "read", "--help",
                      f"raw {at} 0a1500 --for 0.01"):
            ended = subprocess.run(
                f"{b.atto} {words} {redirect}", shell=True, text=True, capture_output=True,
                executable="/bin/bash", timeout=PATIENCE, env=b.environment)
            equal(ended.returncode, 2 if words == "read" else 0, f"{words} {redirect}: {ended}")
    # Standard error must not go over the link.
    peer = b.peer(lambda pdu: ["0b01"])
    subprocess.run(f"{b.atto} read {peer.endpoint} 5 --trace <&- 2>&-", shell=True, timeout=PATIENCE,
                   executable="/bin/bash", env=b.environment)
    equal(peer.heard(), ["0a0500"])


@test("terminal: a pipe gets output line by line")
def lines(b):
    peer = b.peer(lambda pdu: ["13", "1b030001"] if pdu[:2] == "12" else [])
    running = b.start("subscribe", peer.endpoint, "3", "--cccd", "4")
    running.line("0x0003  01")
    expect(running.process.poll() is None, "it has ended")
    running.stop()


@test("terminal: a full disk is an error")
def full(b):
    _, at = b.serve("heart-rate.json")
    with open("/dev/full", "w") as device:
        running = b.start("services", at, stdout=device)
        ended = running.end()
    equal(ended.code, 2, f"status ({ended})")
    contains(ended.err, "standard output")


@test("terminal: Ctrl-C and SIGTERM work while the reader does not read")
def stuck_reader(b):
    _, at = b.serve(profile(notifyEveryMilliseconds=1))
    for number in (signal.SIGINT, signal.SIGTERM):
        read, write = os.pipe()
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        running = b.start("subscribe", at, "3", "--json", "--trace", stdout=write)
        # More than the pipe holds, so that the command still has some of them.
        for _ in range(200):
            running.line("Notification", "err")
        ended = running.stop(number)
        equal(ended.code, 0)
        contains(ended.err, "lost: nobody reads standard output")
        os.close(read)
        os.close(write)


@test("terminal: progress is one line on a terminal, removed at the end")
def progress(b):
    # Each request without a response takes the whole --timeout.
    peer = b.peer(lambda pdu: [f"01{pdu[:6]}01"] if pdu.startswith("04") else [])

    def fuzz(*words):
        """The terminal's text and the other results."""
        shown, ended = b.on_terminal("fuzz", peer.endpoint, "--catalogue", "h2", "--catalogue",
                                     "h11", "--timeout", 0.2, *words, columns=20)
        equal(ended.code, 0)
        return shown, ended.out

    shown, out = fuzz()
    contains(out, "survived 2 attacks", "6 requests had no response")
    lines = shown.split("\r\x1b[K")
    equal((lines[0], lines[-1]), ("", ""), "what stands before and after it")
    expect(len(lines) > 3, f"shown once only: {lines}")
    for line in lines[1:-1]:
        expect(re.fullmatch(r"[01]/2 \(\d+ %\)  h.*", line) and len(line) < 20, f"a line: {line!r}")
    for words in (["--json"], ["--quiet"]):
        equal(fuzz(*words)[0], "", f"with {words}")


@test("terminal: long reads and writes, raw --for and decode show their progress")
def more_progress(b):
    def slow(pdu):
        time.sleep(0.1)
        number = int.from_bytes(bytes.fromhex(pdu[6:10]), "little")
        return [f"0d{'31' * 22}" if number < 200 else "0d"] if pdu[:2] == "0c" else (
            ["17" + pdu[2:]] if pdu[:2] == "16" else ["0b" + "31" * 22] if pdu[:2] == "0a" else ["19"])

    peer = b.peer(slow)
    text, ended = b.on_terminal("read", peer.endpoint, "0x0021", "--long")
    equal(ended.code, 0)
    expect(re.search(r"\r\x1b\[Kreading 0x0021: octet \d+", text), repr(text))
    expect(text.endswith("\r\x1b[K"), repr(text))
    peer = b.peer(slow, name="other")
    text, ended = b.on_terminal("write", peer.endpoint, "0x0021", "00" * 200, "--long")
    equal(ended.code, 0)
    expect(re.search(r"\r\x1b\[Kwriting 0x0021: octet \d+", text), repr(text))
    text, ended = b.on_terminal("raw", peer.endpoint, "5200", "--for", "0.8")
    contains(text, "listening for 1 s more")
    # A large capture, whose PDUs go elsewhere.
    record = bytes.fromhex("0240000700030004000a0300")
    record = b"".join(n.to_bytes(4, "big") for n in (len(record), len(record), 0, 0)) + bytes(8) + record
    with open(b.path("large.btsnoop"), "wb") as file:
        file.write(b"btsnoop\0" + bytes([0, 0, 0, 1, 0, 0, 3, 0xEA]) + record * 60000)
    text, ended = b.on_terminal("decode", b.path("large.btsnoop"))
    equal((ended.code, len(ended.lines)), (0, 60000))
    expect(re.search(r"\r\x1b\[K\d\.\d MB of 2\.2 MB \(\d+ %\)", text), repr(text))


@test("terminal: a channel shows how much it has copied")
def channel_progress(b):
    listener = b.start("channel", "--listen", "air:Strap")
    psm = listener.line("PSM", where="err").split("PSM ")[1].split()[0]
    terminal, inner = os.openpty()
    opener = b.start("channel", "air:Strap", "--psm", psm, "--close", stderr=inner, input=True)
    os.close(inner)
    seen, deadline = b"", time.monotonic() + PATIENCE
    while b" MB, received 0.0 MB" not in seen:
        expect(time.monotonic() < deadline, f"no progress: {seen}")
        opener.say("x" * 1000)
        if select.select([terminal], [], [], 0.02)[0]:
            seen += os.read(terminal, 65536)
    opener.end()
    os.close(terminal)


@test("terminal: pair does not wait for a connection while a person has to answer")
def pairing_note(b):
    b.start("serve", b.file("p.json", profile()), "--listen", "air:Strap", "--io", "keyboard",
            input=True).line("listening")
    ended = b.run("pair", "air:Strap", "--io", "display", "--timeout", "4")
    expect(ended.code != 0, ended)
    expect("has not accepted the connection" not in ended.err, ended.err)


@test("terminal: bench, conform and discover --values show their progress with a slow peer")
def slow_peers(b):
    _, at = b.serve({"services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A37", "properties": ["read"], "value": "hex:00",
         "behaviour": {"delayMilliseconds": 150}} for _ in range(4)]}]})
    slow = b.peer(one_by_one(0.1))
    text, _ = b.on_terminal("bench", slow.endpoint, "--max-time", "1")
    contains(text, "discovering the values to measure")
    text, ended = b.on_terminal("discover", at, "--values")
    equal(ended.code, 0)
    expect(re.search(r"\r\x1b\[Kreading 0x00", text), repr(text))
    text, ended = b.on_terminal("conform", slow.endpoint, "--case", "read/*", "--max-time", "2", columns=60)
    expect(re.search(r"\r\x1b\[K\d+/\d+ \(\d+ %\)  \w+", text), repr(text))
