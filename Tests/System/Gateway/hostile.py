"""The gateway with brokers that mean harm, and with a process of the connection that dies or stops.

    Tests/System/Gateway/run PROGRAMS hostile[:NAME]

The brokers are sockets that send what no broker sends. Meanwhile a program on this machine receives the values of
the same device from another front end.
"""

import contextlib
import json
import os
import pathlib
import re
import select
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

import mqtt
from emulated import is_emulated
from support import PATIENCE, Tally, free_port, listens

# Memory of the process of a connection, and what the gateway may take beyond its own at the beginning.
CONNECTION_LIMIT = 48 << 20
GROWTH_LIMIT = 48 << 20
# What one attack sends at most.
FLOOD = 4 << 20
# The largest remaining length. MQTT 5.0, 1.5.5.
LARGEST = b"\xff\xff\xff\x7f"
TOPIC = b"atto/hall/strap/a001/get"


def accepted(version: str) -> bytes:
    return b"\x20\3\0\0\0" if version == "5" else b"\x20\2\0\0"


def publish(payload: bytes, version: str, properties: bytes = b"") -> bytes:
    body = struct.pack(">H", len(TOPIC)) + TOPIC
    if version == "5":
        body += bytes([len(properties)]) + properties
    body += payload
    length = b""
    count = len(body)
    while True:
        length += bytes([count & 0x7F | (0x80 if count > 0x7F else 0)])
        count >>= 7
        if not count:
            return b"\x30" + length + body


def flood(connection: socket.socket, octets: bytes, count: int = FLOOD) -> None:
    """Sends octets again and again."""
    octets *= max(1, 65536 // len(octets))
    for _ in range(max(1, count // len(octets))):
        connection.sendall(octets)


def fill(connection: socket.socket, start: bytes, count: int) -> None:
    connection.sendall(start)
    flood(connection, bytes(65536), count)


def trickle(connection: socket.socket, start: bytes) -> None:
    """The start of a packet, and then single octets until the other end has enough."""
    connection.sendall(start)
    for _ in range(2000):
        connection.sendall(b"\0")
        if select.select([connection], [], [], 0.001)[0] and not connection.recv(65536):
            return


def silent(connection: socket.socket, start: bytes = b"") -> None:
    """Reads nothing, and sends nothing more."""
    connection.sendall(start)
    waiting = select.poll()
    waiting.register(connection, select.POLLRDHUP | select.POLLHUP)
    waiting.poll(PATIENCE * 1000)


# What is sent after CONNECT, by the names of the attacks. A function has the connection and the version.
REFUSED = {
    "an unknown property in CONNACK": b"\x20\5\0\0\2\x7f\0",
    "a CONNACK without an end": b"\x20" + LARGEST,
    "a CONNACK that fills memory": lambda c, version: fill(c, b"\x20" + LARGEST, FLOOD),
    "a CONNACK drop by drop": lambda c, version: trickle(c, b"\x20" + LARGEST),
    "a length of five octets": b"\x20\xff\xff\xff\xff\xff",
    "an HTTP server": b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    "zeros": bytes(4096),
    "random octets": lambda c, version: c.sendall(os.urandom(65536)),
    "nothing": b"",
}
# And after CONNACK.
AFTERWARDS = {
    "an unknown property in PUBLISH": lambda c, version: c.sendall(publish(b"", version, b"\x7f\0")),
    "an unknown property in DISCONNECT": b"\xe0\4\0\2\x7f\0",
    "an unknown property in SUBACK": b"\x90\6\0\1\2\x7f\0\0",
    "an unknown property in PUBACK": b"\x40\6\0\1\0\2\x7f\0",
    "a PUBLISH without an end": lambda c, version: fill(c, b"\x30" + LARGEST, FLOOD),
    "a PUBLISH drop by drop": lambda c, version: trickle(c, b"\x30" + LARGEST),
    # 12 MB, which the limit allows, and which the gateway does not want.
    "a large message": lambda c, version: c.sendall(publish(bytes(12 << 20), version)),
    "a topic beyond its packet": b"\x30\3\xff\xff\0",
    "answers to nothing": lambda c, version: flood(c, b"\x40\2\xff\xff" b"\x90\4\xff\xff\0\0", 65536),
    "endless requests": lambda c, version: flood(c, publish(b'{"id":1}', version), FLOOD // 4),
    "endless messages": lambda c, version: flood(c, publish(b"0" * 200_000, version)),
    "endless pings": lambda c, version: flood(c, b"\xd0\0"),
    "garbage": lambda c, version: c.sendall(os.urandom(65536)),
}
SLOW = {
    "a broker that says nothing": lambda c, version: silent(c),
    "a broker that stops reading": lambda c, version: silent(c, accepted(version)),
}
# Every type of packet, with lengths that lie.
PACKETS = [bytes([kind << 4 | flags]) + rest for kind in range(16) for flags, rest in (
    (0, b"\0"), (2, b"\1"), (0xF, LARGEST), (0, b"\x7f\0\0"), (0xD, b"\2\xff\xff"), (2, b"\4\0\1\xff\xff"))]


class Broker:
    """A socket at which each client gets one of the attacks, in their order; the last one again and again."""

    def __init__(self, attacks: list, version: str, port: int = 0, wrap=lambda connection: connection) -> None:
        self.attacks, self.version, self.wrap = attacks, version, wrap
        self.count = 0
        self.server = socket.create_server(("127.0.0.1", port))
        self.port = self.server.getsockname()[1]
        self.threads = []
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.server.accept()
                threading.Thread(target=self.attack, args=[connection], daemon=True).start()

    def attack(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        attack = self.attacks[min(self.count, len(self.attacks) - 1)]
        with contextlib.suppress(OSError, ssl.SSLError), connection:
            secure = self.wrap(connection)
            secure.recv(65536)
            if callable(attack):
                attack(secure, self.version)
            else:
                secure.sendall(attack)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
        self.count += 1

    def close(self) -> None:
        # Closing alone does not wake accept().
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()


def children(process: int) -> list:
    with contextlib.suppress(OSError):
        return [int(word) for task in pathlib.Path(f"/proc/{process}/task").iterdir()
                for word in (task / "children").read_text().split()]
    return []


def peak(process: int) -> int:
    """The most memory that a process has had."""
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    return 0


def judge_memory(bench: mqtt.Bench, watch: "Watch", gateway: subprocess.Popen, before: int) -> None:
    """Checks what the processes of the connections took, and the gateway since `before`."""
    if is_emulated(bench.programs / "atto-gateway"):
        return print("skipped: hostile: memory: emulated: it would be the emulator's")
    growth = peak(gateway.pid) - before
    bench.tally.check(watch.highest < CONNECTION_LIMIT, "memory of a connection", watch.highest)
    bench.tally.check(growth < GROWTH_LIMIT, "memory of the gateway", growth)
    if os.environ.get("ATTO_TIMES"):
        print(f"memory: connection {watch.highest >> 10} kB, gateway {before >> 10} kB, {growth >> 10} kB more")


class Watch:
    """The memory of a gateway's child processes, sampled until it is closed."""

    def __init__(self, gateway: int) -> None:
        self.gateway, self.highest, self.seen = gateway, 0, set()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        while not self.ended.wait(0.005):
            for child in children(self.gateway):
                self.seen.add(child)
                self.highest = max(self.highest, peak(child))

    def close(self) -> None:
        self.ended.set()
        self.thread.join()


class Witness:
    """A program that receives the device's values through the gateway's socket."""

    def __init__(self, bench: mqtt.Bench) -> None:
        self.bench = bench
        path = bench.path / "endpoints" / "strap.att"
        bench.until(lambda: listens(path), "no socket of the device")
        self.program = bench.start(
            bench.programs / "atto", "subscribe", f"unix:{path}", "A001", "--json", log="witness.log")
        self.goes_on()

    def goes_on(self) -> bool:
        """Whether further values arrive on the first connection."""
        before = self.bench.log("witness.log").count("\n")
        self.bench.until(
            lambda: self.bench.log("witness.log").count("\n") > before + 2, "no values beside MQTT")
        return self.program.poll() is None


def status(bench: mqtt.Bench) -> dict:
    """The gateway's device, as `atto-gateway status` shows it."""
    ended = bench.run(
        bench.programs / "atto-gateway", "status", "--control", bench.path / "hall.control", "--json")
    return json.loads(ended.stdout)["devices"][0]


class Scene:
    """A gateway with a device and a witness. A reload gives it another broker; its links stay."""

    def __init__(self, bench: mqtt.Bench) -> None:
        self.bench = bench
        bench.device(mqtt.counting(20))
        (bench.path / "endpoints").mkdir(mode=0o700)
        self.others = {"endpoints": str(bench.path / "endpoints")}
        self.gateway = bench.gateway(broker={"url": f"mqtt://127.0.0.1:{free_port()}"}, others=self.others)
        self.witness = Witness(bench)
        self.before = peak(self.gateway.pid)
        self.watch = Watch(self.gateway.pid)

    def use(self, **broker) -> None:
        text = json.loads((self.bench.path / "hall.json").read_text())
        text["mqtt"] = {"keepAliveSeconds": 5} | broker
        file = self.bench.path / "hall.new"
        file.write_text(json.dumps(text))
        file.rename(self.bench.path / "hall.json")
        self.gateway.send_signal(signal.SIGHUP)

    def complaints(self) -> int:
        return sum(self.bench.log().count(text) for text in (
            "warning: mqtt: cannot connect", "warning: mqtt: lost the connection", "did not answer within",
            "refuses the connection", "ended the connection"))

    def suffer(self, name: str, broker: Broker, count: int = 1, **settings) -> None:
        """Lets the gateway connect until `count` attacks are over and it has complained as often."""
        scheme = "mqtts" if "caFile" in settings else "mqtt"
        before = self.complaints()
        url = [f"{scheme}://127.0.0.1:{broker.port}"] * (16 if count > 1 else 1)
        self.use(url=url, version=broker.version, **settings)
        self.bench.until(
            lambda: self.gateway.poll() is not None
            or self.complaints() >= before + count and broker.count >= count, f"{name}: no complaint")
        self.bench.tally.check(
            self.gateway.poll() is None and self.witness.goes_on(), f"{name}, version {broker.version}",
            self.bench.log()[-1000:])
        broker.close()

    def end(self) -> None:
        """The links are the first ones, memory is bounded, and a good broker gets values."""
        bench, tally = self.bench, self.bench.tally
        bench.broker()
        listener = bench.listener()
        self.use(url=f"mqtt://127.0.0.1:{bench.port}")
        listener.on("atto/hall/strap/a001", lambda m: "late" not in json.loads(m.payload))
        tally.check(self.witness.goes_on(), "the witness has one connection all the time")
        tally.equal(status(bench).get("links", 1), 1, "the device has one link all the time")
        self.watch.close()
        tally.check(len(self.watch.seen) > 1 and self.watch.highest > 1 << 20, "the processes were seen")
        judge_memory(bench, self.watch, self.gateway, self.before)
        bench.kill(self.gateway, signal.SIGTERM)
        tally.equal(self.gateway.returncode, 0, "the end")


@contextlib.contextmanager
def scene(bench: mqtt.Bench):
    scene = Scene(bench)
    try:
        yield scene
        scene.end()
    finally:
        scene.watch.close()


def attacks(bench: mqtt.Bench) -> None:
    """Packets that end or fill libmosquitto, before and after the broker's CONNACK."""
    with scene(bench) as it:
        for version in ("5", "3.1.1"):
            for name, attack in REFUSED.items():
                it.suffer(name, Broker([attack], version))
            for name, attack in AFTERWARDS.items():
                def both(connection, version, attack=attack) -> None:
                    connection.sendall(accepted(version))
                    attack(connection, version) if callable(attack) else connection.sendall(attack)
                it.suffer(name, Broker([both], version))


def packets(bench: mqtt.Bench) -> None:
    """Every type of packet with lengths that lie, instead of CONNACK and after it."""
    with scene(bench) as it:
        for version in ("5", "3.1.1"):
            it.suffer("packets", Broker(PACKETS, version), len(PACKETS) // 3)
            for packet in PACKETS[version == "5"::4]:
                it.suffer(f"{packet!r} after CONNACK", Broker([accepted(version) + packet], version))


def slow(bench: mqtt.Bench) -> None:
    """Brokers that do not read, or do not answer."""
    with scene(bench) as it:
        for version in ("5", "3.1.1"):
            for name, attack in SLOW.items():
                it.suffer(name, Broker([attack], version))


def secure(bench: mqtt.Bench) -> None:
    """Behind TLS, and instead of it."""
    mqtt.certificates(bench.path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(bench.path / "server.pem", bench.path / "server.key")

    def wrap(connection: socket.socket) -> ssl.SSLSocket:
        return context.wrap_socket(connection, server_side=True)
    trust = {"caFile": str(bench.path / "ca.pem")}
    with scene(bench) as it:
        for version in ("5", "3.1.1"):
            for name in ("an unknown property in CONNACK", "a CONNACK that fills memory", "random octets"):
                it.suffer(f"TLS: {name}", Broker([REFUSED[name]], version, wrap=wrap), **trust)
            for name in ("random octets", "zeros", "nothing"):
                it.suffer(f"not TLS: {name}", Broker([REFUSED[name]], version), **trust)
        # A record of 65535 octets after the beginning of a handshake.
        it.suffer("a long record", Broker([b"\x16\3\3\xff\xff" + bytes(65535)], "5"), **trust)


def queued(bench: mqtt.Bench) -> None:
    """What was measured while a hostile broker was there arrives at the good one that follows it."""
    tally = bench.tally
    bench.device(mqtt.counting(20))
    deaf = [lambda c, version: c.sendall(accepted(version) + b"\x20\5\0\0\2\x7f\0"),
            b"\x20\5\0\0\2\x7f\0", lambda c, version: c.sendall(accepted(version) + b"\x30" + LARGEST)]
    broker = Broker(deaf, "5", bench.port)
    bench.gateway()
    bench.until(lambda: broker.count >= len(deaf), "the gateway does not come back")
    bench.logged("lost the connection")
    broker.close()
    bench.broker()
    listener = bench.listener()
    topic = "atto/hall/strap/a001"
    listener.on(topic, lambda m: "late" not in json.loads(m.payload))
    for _ in range(20):
        listener.on(topic)
    first = mqtt.first_arrivals(mqtt.numbers(listener.seen, topic))
    mqtt.check_gapless(tally, first)
    tally.check(first[0] <= 2, "from the first value", first[0])
    tally.equal(status(bench).get("links", 1), 1, "the link stays")


def full(bench: mqtt.Bench) -> None:
    """A broker that reads nothing, while a device sends more than the network holds."""
    tally = bench.tally
    bench.device(mqtt.counting(20))
    bench.device({"services": [{"uuid": "A000", "characteristics": [
        {"uuid": "A001", "properties": ["notify"], "maxLength": 20,
         "behaviour": {"burst": {"count": 100_000, "size": 20, "on": "subscribe"}}}]}]}, "fast")
    broker = Broker([lambda c, version: silent(c, accepted(version))], "5", bench.port)
    (bench.path / "endpoints").mkdir(mode=0o700)
    gateway = bench.gateway(
        ("strap", "fast"), broker={"qos": 0, "keepAliveSeconds": 5, "queueLimit": 2000},
        others={"endpoints": str(bench.path / "endpoints")})
    witness = Witness(bench)
    before, watch = peak(gateway.pid), Watch(gateway.pid)
    try:
        bench.logged("the broker does not respond")
        tally.check(witness.goes_on(), "the witness has one connection all the time")
        broker.close()
        bench.broker()
        bench.listener().on("atto/hall/strap/a001", lambda m: "late" not in json.loads(m.payload))
    finally:
        watch.close()
    judge_memory(bench, watch, gateway, before)
    tally.equal(status(bench).get("links", 1), 1, "the link stays")


def process(bench: mqtt.Bench) -> None:
    """The process of the connection is killed, stops, and survives no gateway."""
    tally = bench.tally
    bench.broker()
    bench.device(mqtt.counting(5))
    listener = bench.listener()
    topic = "atto/hall/strap/a001"
    gateway = bench.gateway(broker={"keepAliveSeconds": 5})

    def child() -> int:
        return bench.until(lambda: children(gateway.pid), "no process of the connection")[0]
    for _ in range(50):
        listener.on(topic)
    for connections, (sent, seen) in enumerate([
        (signal.SIGKILL, "its process was ended by Killed"),
        (signal.SIGSTOP, "its process does not respond"),
    ], start=2):
        victim = child()
        os.kill(victim, sent)
        bench.logged(seen)
        bench.until(lambda: not os.path.exists(f"/proc/{victim}"), f"after {sent.name} the process is there")
        bench.logged("mqtt: connected", connections)
        listener.on(topic, lambda m: "late" not in json.loads(m.payload))
        for _ in range(50):
            listener.on(topic)
    first = mqtt.first_arrivals(mqtt.numbers(listener.seen, topic))
    mqtt.check_gapless(tally, first)
    tally.equal(status(bench).get("links", 1), 1, "the link stays")

    last = child()
    words = pathlib.Path(f"/proc/{last}/status").read_text()
    tally.check("NoNewPrivs:\t1" in words, "no new privileges", words)
    # It keeps CAP_DAC_READ_SEARCH at most, also where root runs the gateway.
    tally.check(re.search(r"^CapPrm:\t0{15}[04]$", words, re.M) is not None, "no privileges", words)
    limits = pathlib.Path(f"/proc/{last}/limits").read_text()
    tally.check("Max core file size        0 " in limits, "no core file", limits)
    bound = next(line for line in limits.splitlines() if line.startswith("Max address space")).split()[3]
    if is_emulated(bench.programs / "atto-gateway"):
        print("skipped: hostile: the limit of memory: emulated: qemu-user sets none")
    else:
        tally.check(bound != "unlimited" and int(bound) < 1 << 30, "memory is limited", bound)
    os.kill(last, signal.SIGSTOP)
    bench.kill(gateway)
    bench.until(lambda: not os.path.exists(f"/proc/{last}"), "the process survives the gateway")
    tally.check(True, "the process ends with the gateway")


TESTS = [attacks, packets, slow, secure, queued, full, process]


def main(programs: pathlib.Path, names: list) -> tuple:
    tally = Tally("hostile")
    for test in TESTS:
        if names and not any(name in test.__name__ for name in names):
            continue
        tally.where = test.__name__
        bench = mqtt.Bench(programs, tally)
        began = time.monotonic()
        try:
            test(bench)
        except Exception as error:
            tally.check(False, type(error).__name__, f"{error}\n{bench.log()[-3000:]}")
        finally:
            bench.end()
        if os.environ.get("ATTO_TIMES"):
            print(f"{test.__name__}: {time.monotonic() - began:.1f} s")
    return tally.passed, tally.failed
