"""Attackers that connect without pause, beside honest clients."""

import collections
import os
import resource
import signal
import socket
import struct
import time

from harness import PATIENCE, contains, equal, expect, test
from serving import ALL

# How many connections an attacker holds at a time.
HELD = 900


def attacker(b, path, greet=None, holds=True):
    """A process that connects as fast as it can. `greet` is called with each connection."""
    child = os.fork()
    if child == 0:
        held = collections.deque()
        while True:
            link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                link.connect(path)
                if greet:
                    greet(link)
            except OSError:
                link.close()
                continue
            if not holds:
                link.close()
                continue
            held.append(link)
            if len(held) > HELD:
                held.popleft().close()

    living = [child]

    def end():
        if living:
            os.kill(living.pop(), signal.SIGKILL)
            os.waitpid(child, 0)
    b.cleaning.append(end)
    return end


def join(b, at):
    """Connects; while nothing listens yet or the queue of the socket is full, again, as atto does."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return b.connect(at)
        except (BlockingIOError, ConnectionRefusedError, FileNotFoundError):
            expect(time.monotonic() < end, "no room in the queue")
            os.sched_yield()


def speak(link):
    link.send(bytes.fromhex("0a0300"))


def storm(b, greet, holds):
    out = open(b.path("log"), "w+")
    server = b.start("serve", b.file("server.json", ALL), "--listen", "unix:" + b.path("s"), stdout=out)
    path = b.path("s")
    at = "unix:" + path
    stays = join(b, at)
    equal(stays.ask("0a0300"), "0b0048")
    end = attacker(b, path, greet, holds)
    for _ in range(12):
        client = join(b, at)
        equal(client.ask("0a0300"), "0b0048", "a client that connects")
        client.close()
        for _ in range(5):
            equal(stays.ask("0a0300"), "0b0048", "a client that stays")
    equal(b.run("read", at, "3", "--json").json, [{"handle": 3, "value": "0048"}])
    end()
    equal(server.stop().code, 0)
    size = os.path.getsize(b.path("log"))
    expect(size < 1_000_000, f"the log has {size} bytes")
    out.close()
    return b


@test("crowding: clients that connect and leave do not stop others")
def leaving(b):
    storm(b, None, holds=False)


@test("crowding: silent clients do not stop others")
def silent(b):
    storm(b, None, holds=True)


@test("crowding: clients that say something and stay do not stop others")
def speaking(b):
    storm(b, speak, holds=True)


def air_socket(b):
    folder = b.folder / "air"
    return str(next(folder.glob("*.sock")))


@test("crowding: silent centrals on the air, and ones that greet, do not stop others")
def air(b):
    server, at = b.serve(ALL, endpoint="air:Busy")
    path = air_socket(b)

    def greet(link):
        greet.count += 1
        link.send(bytes([1, 1]) + struct.pack("<I", greet.count) + bytes([os.getpid() & 255, 0xC0]))
        link.recv(72)
    greet.count = 0
    for way in (None, greet):
        end = attacker(b, path, way)
        for _ in range(2):
            equal(b.run("read", at, "3", "--json").json, [{"handle": 3, "value": "0048"}])
        end()
    equal(server.stop().code, 0)


@test("crowding: a client that is refused learns why, and others take the places of one crowd")
def refused(b):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        return

    def raised():
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    raised()
    server, at = b.serve(ALL, preexec_fn=raised)
    crowd = [b.connect(at) for _ in range(1024)]
    for client in crowd:
        equal(client.ask("0a0300"), "0b0048")
    late = b.connect(at)
    equal(late.ask("0a0300"), "010a030011")
    equal(late.receive(), "", "its link")
    server.line("cannot serve a client: too many clients: the limit is 1024")
    # Of another process.
    equal(b.run("read", at, "3", "--json").json, [{"handle": 3, "value": "0048"}])
    server.line("loses its connection: too many clients: the limit is 1024")
    equal(crowd[1023].ask("0a0300"), "0b0048")


@test("crowding: --idle-limit disconnects clients that say nothing")
def idle(b):
    server, at = b.serve(ALL, "--idle-limit", "0.3")
    subscriber = b.connect(at)
    equal(subscriber.ask("1204000100"), "13")
    for words in ((), ("0a0300",)):
        client = b.connect(at)
        for word in words:
            equal(client.ask(word), "0b0048")
        equal(client.receive(within=PATIENCE), "", "its link")
        server.line("loses its connection: the client sent nothing for 0.3 seconds")
    equal(subscriber.ask("0a0300"), "0b0048")


@test("crowding: what a crowd does is counted, and clients that do something are shown")
def counted(b):
    server, at = b.serve(ALL, "--json")
    for _ in range(2100):
        client = b.connect(at)
        equal(client.ask("0a0300"), "0b0048")
        client.close()
    last = b.connect(at)
    equal(last.ask("1203000102"), "13")
    ended = server.stop()
    events = collections.Counter(entry["event"] for entry in ended.json)
    equal(events["connected"], 2001)
    more = [entry for entry in ended.json if entry["event"] == "more"]
    equal(sum(entry["connections"] for entry in more), 101)
    written = [entry for entry in ended.json if entry["event"] == "written"]
    equal([entry["client"] for entry in written], [2101])
    connected = [entry["client"] for entry in ended.json if entry["event"] == "connected"]
    equal(connected[-1], 2101)


@test("crowding: with little memory fewer clients are served, and that is told",
      unless_emulated="the limit is of the emulator's memory")
def memory(b):
    # What the program maps without clients, and 6 MB.
    server, _ = b.serve(ALL, name="first")
    with open(f"/proc/{server.process.pid}/status") as status:
        size = next(int(line.split()[1]) for line in status if line.startswith("VmSize")) * 1024
    server.stop()
    limit = size + 6 * 1024 * 1024
    server, at = b.serve(ALL, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    line = server.line("serving at most", where="err")
    served = int(line.split("at most ")[1].split()[0])
    expect(50 < served < 600, line)
    clients = []
    for _ in range(900):
        try:
            clients.append(b.connect(at))
            clients[-1].send("0a0300")
        except OSError:
            pass
    answers = collections.Counter()
    for client in clients:
        try:
            answers[client.receive()] += 1
        except OSError:
            answers["reset"] += 1
    equal(answers["0b0048"], served)
    # Full outboxes and prepared writes fit too.
    expect(server.process.poll() is None, "it ended")
    equal(server.stop().code, 0)
