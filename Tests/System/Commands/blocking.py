"""Readers that do not read, or are not there: nothing waits for them but what is meant for them."""

import fcntl
import json
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import threading
import time

from capturing import btsnoop, pcapng
from channels import Octets
from harness import FIXTURES, PATIENCE, contains, equal, expect, test
from serving import ALL

CASE = "# one  reads a value\n> 0a0300\n< 0b0048\n"
# More events than a pipe and the queue of lines (1 MiB) take.
MANY = 20_000


def pipe(b, size=4096):
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, size)
    b.cleaning.append(lambda: [os.close(end) for end in (read, write) if is_open(end)])
    return read, write


def is_open(descriptor):
    try:
        os.fstat(descriptor)
        return True
    except OSError:
        return False


def fifo(b, name):
    os.mkfifo(b.path(name))
    return b.path(name)


def writes(client, count):
    for number in range(count):
        equal(client.ask(f"120300{number:08x}"), "13", f"response {number}")


def read_until(descriptor, is_enough):
    """The octets that come up to the end, or until they are enough."""
    os.set_blocking(descriptor, False)
    found = b""
    deadline = time.monotonic() + PATIENCE
    while not is_enough(found):
        expect(time.monotonic() < deadline, f"no more came after {len(found)} octets")
        if select.select([descriptor], [], [], 1)[0]:
            piece = os.read(descriptor, 65536)
            if not piece:
                break
            found += piece
    return found


@test("blocking: serve goes on while nobody reads its output, and SIGTERM and SIGINT end it")
def unread(b):
    for number in (signal.SIGTERM, signal.SIGINT):
        read, write = pipe(b)
        at = f"unix:{b.path(f's{number}')}"
        server = b.start("serve", b.file("p.json", ALL), "--listen", at, "--json", stdout=write)
        contains(read_until(read, lambda found: b"\n" in found).decode(), "listening")
        os.close(write)
        client = b.connect(at)
        writes(client, MANY)
        # Another one is served too.
        equal(b.connect(at).ask("0a0300"), f"0b{MANY - 1:08x}")
        ended = server.stop(number)
        equal(ended.code, 0, ended)
        lost = int(re.fullmatch(r"(\d+) lines lost: nobody reads standard output", ended.err)[1])
        # What is in the pipe are whole lines.
        lines = read_until(read, lambda _: False).decode().splitlines(keepends=True)
        expect(all(json.loads(line) and line.endswith("\n") for line in lines), lines)
        # Two connections, and the writes.
        expect(MANY - 100 < lost + len(lines) <= MANY + 4, f"{lost} lost, {len(lines)} came")


@test("blocking: lines are lost whole and counted, and come again when the reader reads again")
def resumed(b):
    read, write = pipe(b)
    at = f"unix:{b.path('s')}"
    server = b.start("serve", b.file("p.json", ALL), "--listen", at, "--json", stdout=write)
    os.close(write)
    read_until(read, lambda found: b"\n" in found)
    client = b.connect(at)
    writes(client, MANY)
    found = b""
    reading = threading.Thread(target=lambda: lines.append(read_until(read, lambda _: False)))
    lines = []
    reading.start()
    lost = int(server.line("lines lost", where="err").split()[0])
    expect(lost > 0, lost)
    client.close()
    equal(server.stop().code, 0)
    reading.join(PATIENCE)
    events = [json.loads(line)["event"] for line in lines[0].decode().splitlines()]
    equal((events[0], events[-1]), ("connected", "disconnected"))
    equal(events.count("written") + lost, MANY)


@test("blocking: an unread --trace stops nobody, and its lines are counted")
def unread_trace(b):
    read, write = pipe(b)
    at = f"unix:{b.path('s')}"
    server = b.start("serve", b.file("p.json", ALL), "--listen", at, "--trace", stderr=write)
    os.close(write)
    server.line("listening")
    client = b.connect(at)
    writes(client, MANY)
    found = read_until(read, lambda found: b" lost: " in found and found.endswith(b"\n")).decode()
    lost = re.search(r"^(\d+) lines lost: nobody reads standard error$", found, re.MULTILINE)
    equal(len(found.splitlines()) - 1 + int(lost[1]), 2 * MANY)
    equal(server.stop(signal.SIGTERM).code, 0)


@test("blocking: a stalled FIFO under --capture stops nobody, and stays a valid capture")
def stalled_capture(b):
    for ending, parse in (("btsnoop", btsnoop), ("pcapng", pcapng)):
        path = fifo(b, f"f.{ending}")
        read = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        b.cleaning.append(lambda read=read: os.close(read))
        server, at = b.serve(ALL, "--capture", path, name=ending)
        client = b.connect(at)
        for _ in range(MANY // 2):
            equal(client.ask("0a0300"), "0b0048")
        content = []
        reading = threading.Thread(
            target=lambda: content.append(read_until(read, lambda _: False)))
        reading.start()
        lost = int(server.line(f"of {path} lost", where="err").split()[0])
        equal(client.ask("0a0300"), "0b0048")
        equal(server.stop(signal.SIGTERM).code, 0)
        reading.join(PATIENCE)
        pathlib.Path(b.path("kept")).write_bytes(content[0])
        found = [pdu for _, pdu, _ in parse(b.path("kept"), lost)]
        equal(len(found) + lost, MANY + 2, "PDUs")
        equal(found[-2:], ["0a0300", "0b0048"])


@test("blocking: SIGTERM ends a server whose capture nobody reads")
def stuck_capture(b):
    path = fifo(b, "f.pcapng")
    read = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    b.cleaning.append(lambda: os.close(read))
    server, at = b.serve(ALL, "--capture", path)
    client = b.connect(at)
    for _ in range(2000):
        equal(client.ask("0a0300"), "0b0048")
    ended = server.stop(signal.SIGTERM)
    equal(ended.code, 0, ended)
    contains(ended.err, f"records of {path} lost")
    # Whole records came.
    pathlib.Path(b.path("kept")).write_bytes(read_until(read, lambda _: False))
    expect(len(pcapng(b.path("kept"))) > 100, "nothing came")


@test("blocking: a FIFO without a reader stops neither a server nor a signal")
def no_reader(b):
    path = fifo(b, "f.btsnoop")
    server, at = b.serve(ALL, "--capture", path)
    contains(server.line(where="err"), f"nobody reads {path} yet")
    equal(b.connect(at).ask("0a0300"), "0b0048")
    # The reader that comes gets everything.
    with open(path, "rb") as reader:
        equal(b.connect(at).ask("0a0900"), "010a090001")
        got = read_until(reader.fileno(), lambda found: found.count(b"\x0a\x09\x00") >= 2)
    pathlib.Path(b.path("kept")).write_bytes(got)
    equal([pdu for _, pdu, _ in btsnoop(b.path("kept"))],
          ["0a0300", "0b0048", "0a0900", "010a090001"])
    equal(server.stop(signal.SIGTERM).code, 0)


@test("blocking: outputs wait for the reader of a FIFO, and signals end them")
def outputs(b):
    _, at = b.serve(ALL)
    case = b.file("case.att", CASE)
    ways = {"junit": ["play", at, case, "--junit"],
            "report": ["bench", at, "--test", "ping", "--for", "0.05", "--report"],
            "c.btsnoop": ["read", at, "3", "--capture"]}
    for name, words in ways.items():
        path = fifo(b, name)
        running = b.start(*words, path)
        running.line(f"nobody reads {path} yet", where="err")
        ended = running.stop(signal.SIGTERM)
        expect(f"{path}" in ended.err.splitlines()[-1], ended)
        if name != "c.btsnoop":
            equal(ended.code, 2, ended)
        running = b.start(*words, path)
        running.line(f"nobody reads {path} yet", where="err")
        with open(path, "rb") as reader:
            content = reader.read()
        equal(running.end().code, 0, name)
        expect(content.startswith((b"<?xml", b"<!doctype", b"btsnoop")), content[:20])
        expect(name == "c.btsnoop" or content.rstrip().endswith(b">"), content[-20:])


@test("blocking: inputs wait for the writer of a FIFO, and signals end them")
def inputs(b):
    _, at = b.serve(ALL)
    profile = json.dumps(ALL)
    ways = {"profile": (["serve", None, "--once", "--listen", f"unix:{b.path('q')}"], profile),
            "transcript": (["play", at, None], CASE), "decoded": (["decode", None], "# c\n> 0a0300\n"),
            "compared": (["bench", at, "--test", "ping", "--for", "0.05", "--compare", None], "x")}
    for name, (words, content) in ways.items():
        path = fifo(b, name)
        words = [path if word is None else word for word in words]
        running = b.start(*words)
        running.line(f"waiting for data from {path}", where="err")
        ended = running.stop(signal.SIGTERM)
        equal(ended.code, 3, ended)
        contains(ended.err, "interrupted")
        running = b.start(*words)
        with open(path, "w") as writer:
            writer.write(content)
        if name == "profile":
            running.line("listening")
            client = b.connect(f"unix:{b.path('q')}")
            client.ask("0a0300")
            client.close()
        equal(running.end().code, 2 if name == "compared" else 0, name)


@test("blocking: a slow reader of results loses nothing")
def slow(b):
    _, at = b.serve("reference-820.json")
    wanted = b.run("discover", at, "--json").out
    capture = b.path("c.pcapng")
    b.run("discover", at, "--capture", capture)
    decoded = b.run("decode", capture, "--json").out
    for words, whole in ((["discover", at, "--json"], wanted),
                         (["decode", capture, "--json"], decoded)):
        read, write = pipe(b)
        running = b.start(*words, stdout=write)
        os.close(write)
        found = b""
        while piece := os.read(read, 100):
            found += piece
        equal(found.decode() == whole, True, f"{words}: {len(found)} octets")
        equal(running.end().code, 0)


@test("blocking: decode waits for its reader, in bounded memory, and signals end it")
def endless(b):
    for number in (signal.SIGTERM, signal.SIGINT):
        read, write = pipe(b)
        source = subprocess.Popen(["yes", "0a0300"], stdout=subprocess.PIPE)
        b.cleaning.append(source.stdout.close)
        b.cleaning.append(source.wait)
        b.cleaning.append(source.kill)
        running = b.start("decode", "-", stdin=source.stdout, stdout=write)
        os.close(write)
        status = f"/proc/{running.process.pid}/"

        def calls():
            with open(status + "io") as counts:
                return counts.read()

        wait_for_rest(calls)
        with open(status + "status") as lines:
            resident = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
        expect(resident < 100_000, f"{resident} KB")
        ended = running.stop(number)
        equal(ended.code, 3, ended)
        contains(ended.err, "lines lost: nobody reads standard output")


def wait_for_rest(measure):
    """Waits until a measure stays the same for half a second."""
    deadline = time.monotonic() + PATIENCE
    last = measure()
    while True:
        time.sleep(0.5)
        now = measure()
        if now == last:
            return
        expect(time.monotonic() < deadline, f"no rest: {last} became {now}")
        last = now


def ticks(process):
    """The processor time of a process, in ticks of 10 ms."""
    with open(f"/proc/{process.pid}/stat") as status:
        fields = status.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


@test("blocking: channel rests while its peer does not read a file")
def resting_input(b):
    source = b.path("source")
    with open(source, "wb") as file:
        file.write(bytes(8 << 20))
    listener = Octets(b, "--listen", "air:Strap")
    psm = listener.psm()
    with open(source, "rb") as given:
        opener = Octets(b, "air:Strap", "--psm", psm, "--close", stdin=given)
    listener.opened()
    listener.process.send_signal(signal.SIGSTOP)
    wait_for_rest(lambda: ticks(opener.process))
    listener.process.send_signal(signal.SIGCONT)
    equal(len(listener.process.stdout.read()), 8 << 20)
    equal((opener.process.wait(PATIENCE), listener.process.wait(PATIENCE)), (0, 0))


@test("blocking: channel rests while its standard output is full, then loses nothing")
def resting_output(b):
    for blocks in (True, False):
        read, write = pipe(b)
        os.set_blocking(write, blocks)
        listener = Octets(b, "--listen", "air:Strap", stdout=write)
        os.close(write)
        opener = Octets(b, "air:Strap", "--psm", listener.psm(), "--close")
        listener.opened()
        data = os.urandom(4 << 20)
        feeding = threading.Thread(target=lambda: opener.process.communicate(data))
        feeding.start()
        wait_for_rest(lambda: ticks(listener.process))
        equal(listener.process.poll(), None)
        equal(read_until(read, lambda _: False) == data, True, "the data")
        feeding.join(PATIENCE)
        equal(listener.process.wait(PATIENCE), 0)
    # A signal ends it meanwhile.
    read, write = pipe(b)
    listener = Octets(b, "--listen", "air:Strap", stdout=write)
    os.close(write)
    opener = Octets(b, "air:Strap", "--psm", listener.psm())
    listener.opened()
    opener.process.stdin.write(bytes(100_000))
    opener.process.stdin.flush()
    wait_for_rest(lambda: ticks(listener.process))
    listener.process.send_signal(signal.SIGTERM)
    equal(listener.process.wait(PATIENCE), 3)


COMMANDS = ["--help", "read --help", "demo", "decode 0a1500", "decode 0a1500 --json",
            "read {at} 3", "discover {at} --json", "services {at}", "characteristics {at} 1-9",
            "descriptors {at} 1-9", "write {at} 3 00 --json", "raw {at} 0a0300 --for 0.05",
            "play {at} {case}", "conform --list", "fuzz {at} --catalogue list",
            "bench {at} --test ping --for 0.05", "doctor", "serve {profile} --listen unix:{folder}/q",
            "advertise air:X", "capture {at} --listen unix:{folder}/r --once"]


def shell(b, text, redirect):
    words = text.format(at=b.at, case=b.case, profile=b.profile, folder=b.folder)
    return subprocess.run(
        f"{b.atto} {words} {redirect}", shell=True, text=True, capture_output=True,
        stdin=subprocess.DEVNULL, executable="/bin/bash", timeout=PATIENCE, env=b.environment)


def prepare(b):
    _, b.at = b.serve(ALL)
    b.case, b.profile = b.file("case.att", CASE), b.file("p.json", ALL)


@test("blocking: a full disk is an error of every command that prints")
def full(b):
    prepare(b)
    for text in COMMANDS:
        if text.startswith("capture"):
            continue
        ended = shell(b, text, "> /dev/full")
        equal(ended.returncode, 2, f"{text}: {ended}")
        contains(ended.stderr, "cannot write to standard output: No space left on device")


@test("blocking: a standard output that is closed, or only for reading, is an error of every command")
def closed(b):
    prepare(b)
    for text in COMMANDS:
        for redirect, why in ((">&-", "closed"), ("1< /dev/null", "not open for writing")):
            ended = shell(b, text, redirect)
            equal(ended.returncode, 2, text)
            if "--json" in text:
                error = json.loads(ended.stderr)["error"]
                said = ["atto: " + error["message"], "hint: " + error["hints"][0]]
            else:
                said = ended.stderr.splitlines()
            equal(said, [f"atto: standard output is {why}", "hint: > /dev/null discards the results"], text)


@test("blocking: serve goes on without the reader of its output, and says so")
def outlived(b):
    read, write = pipe(b)
    at = f"unix:{b.path('s')}"
    server = b.start("serve", b.file("p.json", ALL), "--listen", at, stdout=write)
    os.close(write)
    read_until(read, lambda found: b"\n" in found)
    os.close(read)
    equal(b.connect(at).ask("0a0300"), "0b0048")
    server.line("nobody reads standard output any more", where="err")
    equal(b.connect(at).ask("0a0300"), "0b0048")
    ended = server.stop(signal.SIGTERM)
    equal((ended.code, len(ended.err.splitlines())), (0, 1), ended)


HOSTILE = "\x1b[2J\nclient 9 connected from nobody\r\x7f\x9b\u202e\u2028\u200b"


@test("blocking: the name of a central cannot forge a line")
def forged(b):
    for options in ((), ("--json",)):
        server, _ = b.serve(ALL, *options, endpoint="air:Strap", name=f"p{len(options)}")
        control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        b.cleaning.append(control.close)
        path = next(pathlib.Path(b.environment["ATTO_AIR"]).glob("*.sock"))
        control.connect(str(path))
        # A hello: version 1, an address, a name.
        control.send(bytes([1, 1]) + bytes.fromhex("0102030405c6") + HOSTILE.encode())
        line = server.line("connected")
        expect(all(" " <= one <= "~" for one in line), line)
        if options:
            equal(json.loads(line)["peer"], "air:" + HOSTILE)
        else:
            contains(line, r"client 1 connected from air:\u{1B}[2J\u{A}client 9", r"\u{202E}\u{2028}")
        control.close()
        server.line("disconnected")
        server.stop()


@test("blocking: what a file or an argument names cannot forge a line")
def forged_files(b):
    name = b.path("x\x1b[31m\ny")
    for words in (["serve", name], ["decode", name], ["play", "unix:/tmp/none", name], [name],
                  ["read", f"unix:{name}", "3", "--timeout", "0.1"], ["read", "x\ny"]):
        ended = b.run(*words)
        expect(ended.code in (2, 3) and "\x1b" not in ended.err, ended)
        expect(not any(line.startswith("y") for line in ended.err.splitlines()), ended.err)
