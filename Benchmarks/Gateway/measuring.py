"""Processes on a virtual air, what they cost, and a subscriber that is fast enough to count."""

import collections
import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Tests" / "Support"))
from listening import free_port, listens  # noqa: E402

PATIENCE = 120
PATH = os.environ.get("PATH", os.defpath) + ":/usr/local/sbin:/usr/sbin:/sbin"
CHARACTERISTIC = "A001"
# A burst starts when its characteristic is written. Numbered values of 20 octets.
BURST = "A002"


def resident(root: int) -> int:
    """Octets of memory of a process and its children. They share the pages of files, such as the program's, which
    count once."""
    anonymous, files = 0, collections.Counter()
    for process in family(root):
        own = collections.Counter()
        for line in pathlib.Path(f"/proc/{process}/smaps").read_text().splitlines():
            words = line.split()
            if not words[0].endswith(":"):
                file = words[5] if len(words) > 5 else ""
            elif words[0] == "Rss:":
                own[file] += int(words[1]) * 1024
            elif words[0] == "Anonymous:":
                own[file] -= int(words[1]) * 1024
                anonymous += int(words[1]) * 1024
        files |= own
    return anonymous + files.total()


class Usage:
    """What a process and its children have used."""

    def __init__(self, root: int) -> None:
        self.cpu = self.switches = 0
        for process in family(root):
            try:
                self.add(pathlib.Path(f"/proc/{process}"))
            except (FileNotFoundError, ProcessLookupError):
                continue  # Ended meanwhile.

    def add(self, folder: pathlib.Path) -> None:
        for task in (folder / "task").iterdir():
            self.cpu += int((task / "schedstat").read_text().split()[0]) / 1e9
            for line in (task / "status").read_text().splitlines():
                if line.startswith("voluntary_ctxt_switches"):
                    self.switches += int(line.split()[1])


def family(root: int) -> list:
    found = [root]
    for process in found:
        for task in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
            found += [int(word) for word in task.read_text().split()]
    return found


class Subscriber:
    """An MQTT 3.1.1 client for one filter at QoS 0, without a library: it must not be what limits the rate."""

    def __init__(self, port: int, topic: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        name = b"counter"
        self.socket.sendall(self.packet(0x10, b"\0\4MQTT\4\2\0\0" + struct.pack(">H", len(name)) + name))
        filter = topic.encode()
        self.socket.sendall(self.packet(0x82, b"\0\1" + struct.pack(">H", len(filter)) + filter + b"\0"))
        self.buffer = bytearray()
        # CONNACK and SUBACK have 4 and 5 octets; retained messages may follow at once.
        while len(self.buffer) < 9:
            self.buffer += self.socket.recv(9 - len(self.buffer))
        self.buffer.clear()

    @staticmethod
    def packet(kind: int, body: bytes) -> bytes:
        assert len(body) < 128
        return bytes([kind, len(body)]) + body

    def receive(self, seconds: float) -> list:
        """The payloads that have arrived, at least one unless the time is over."""
        payloads = []
        end = time.monotonic() + seconds
        while not payloads:
            if not select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
                break
            part = self.socket.recv(1 << 18)
            if not part:
                raise RuntimeError("the broker has closed the subscriber's connection")
            self.buffer += part
            self.parse(payloads)
        return payloads

    def parse(self, payloads: list) -> None:
        buffer, start, limit = self.buffer, 0, len(self.buffer)
        while start + 4 < limit:
            length, head = buffer[start + 1], 2
            if length & 0x80:
                length, head = length & 0x7F | buffer[start + 2] << 7, 3
                if length > 0x3FFF:
                    raise RuntimeError("a packet is longer than expected")
            end = start + head + length
            if end > limit:
                break
            if buffer[start] >> 4 == 3:
                topic = start + head
                payloads.append(bytes(buffer[topic + 2 + (buffer[topic] << 8 | buffer[topic + 1]):end]))
            start = end
        del buffer[:start]

    def close(self) -> None:
        self.socket.close()


def octets(payload: bytes) -> bytes:
    """The value in a payload of the gateway, or of a peer that publishes hexadecimal digits."""
    if payload.startswith(b"{"):
        end = payload.index(b'"', 10)
        return bytes.fromhex(payload[10:end].decode())
    return bytes.fromhex(payload.decode())


class Device:
    """`atto serve`, which notifies what it is told to."""

    def __init__(self, air: "Air", name: str, burst: int) -> None:
        profile = {
            "name": name, "mtu": 247, "advertising": {"localName": name, "interval": 100},
            "services": [{"uuid": "A000", "characteristics": [
                {"uuid": CHARACTERISTIC, "properties": ["notify"], "maxLength": 20},
                {"uuid": BURST, "properties": ["notify", "write"], "maxLength": 20,
                 "behaviour": {"burst": {"count": burst, "size": 20, "on": "write"}}}]}]}
        file = air.path / f"{name}.profile.json"
        file.write_text(json.dumps(profile))
        self.program = air.start(
            air.atto, "serve", file, "--listen", "air:", "--control", "--no-store", stdin=subprocess.PIPE,
            log=f"{name}.log")
        self.air = air
        self.name = name
        self.handle = None

    def find(self, wanted: str) -> int:
        """The handle of a characteristic's value."""
        found = subprocess.run(
            [self.air.atto, "discover", f"air:{self.name}", "--json"], env=self.air.environment,
            capture_output=True, text=True, timeout=PATIENCE, check=True).stdout

        def search(node):
            if isinstance(node, dict):
                if str(node.get("uuid", "")).upper() == wanted and "valueHandle" in node:
                    return node["valueHandle"]
                node = list(node.values())
            if isinstance(node, list):
                return next((handle for item in node if (handle := search(item)) is not None), None)
            return None
        for line in found.splitlines():
            if (handle := search(json.loads(line))) is not None:
                return int(handle, 16) if isinstance(handle, str) else handle
        raise RuntimeError(f"{wanted} was not found in {found}")

    def notify(self, *values: bytes) -> None:
        self.program.stdin.write(
            b"".join(f"notify 0x{self.handle:04X} {value.hex()}\n".encode() for value in values))
        self.program.stdin.flush()

    def sent(self) -> None:
        """Waits until the program has carried out all commands."""
        self.marks = getattr(self, "marks", 0) + 1
        self.program.stdin.write(b"mark\n")
        self.program.stdin.flush()
        log = self.air.path / f"{self.name}.log"
        until(lambda: log.read_text().count('"mark"') >= self.marks, "the device does not answer")


class Air:
    """A folder with a virtual air, a broker, and the programs that were started there."""

    def __init__(self, atto: pathlib.Path, gateway: pathlib.Path) -> None:
        self.atto, self.program = atto, gateway
        self.folder = tempfile.TemporaryDirectory(prefix="atto-")
        self.path = pathlib.Path(self.folder.name)
        (self.path / "air").mkdir(mode=0o700)
        self.environment = os.environ | {
            "PATH": PATH, "ATTO_AIR": str(self.path / "air"), "ATTO": str(atto),
            "XDG_RUNTIME_DIR": self.folder.name, "XDG_STATE_HOME": self.folder.name}
        self.running = []
        self.port = free_port()
        self.subscribers = []
        file = self.path / "mosquitto.conf"
        file.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nlog_type error\n"
            + ("user root\n" if os.getuid() == 0 else ""))
        self.broker = self.start("mosquitto", "-c", file)
        until(lambda: socket.socket().connect_ex(("127.0.0.1", self.port)) == 0, "mosquitto does not listen")

    def start(self, *command, stdin=subprocess.DEVNULL, log: str = "log", environment=None) -> subprocess.Popen:
        with open(self.path / log, "ab") as output:
            program = subprocess.Popen(
                command, env=self.environment | (environment or {}), stdin=stdin, stdout=output, stderr=subprocess.STDOUT)
        self.running.append(program)
        return program

    def stop(self, program: subprocess.Popen) -> None:
        program.send_signal(signal.SIGTERM)
        program.wait(PATIENCE)
        self.running.remove(program)

    def devices(self, count: int, burst: int = 1) -> list:
        devices = [Device(self, f"device{number}", burst) for number in range(count)]
        until(lambda: len(list((self.path / "air").glob("*"))) >= count, "the devices do not advertise")
        handle = devices[0].find(CHARACTERISTIC)
        for device in devices:
            device.handle = handle
        return devices

    def subscriber(self, topic: str) -> Subscriber:
        subscriber = Subscriber(self.port, topic)
        self.subscribers.append(subscriber)
        return subscriber

    def gateway(
            self, count: int, subscribe=(CHARACTERISTIC,), broker=None, environment=None, **others
    ) -> subprocess.Popen:
        file = self.path / "gateway.json"
        (self.path / "state").mkdir(exist_ok=True)
        file.write_text(json.dumps({
            "name": "hall", "adapters": ["air"], "state": str(self.path / "state"),
            "mqtt": {"url": f"mqtt://127.0.0.1:{self.port}", "qos": 0} | (broker or {}),
            "devices": [{"name": f"device{number}", "match": {"localName": f"device{number}"},
                         "subscribe": list(subscribe)} for number in range(count)]} | others))
        return self.start(self.program, file, "--control", self.path / "control", log="gateway.log",
                          environment=environment)

    def logged(self, text: str, count: int = 1) -> None:
        log = self.path / "gateway.log"
        until(lambda: log.exists() and log.read_text().count(text) >= count, f'"{text}" was not logged')

    def close(self) -> None:
        for subscriber in self.subscribers:
            subscriber.close()
        for program in self.running:
            program.kill()
            program.wait()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Crowd:
    """Advertisers of BTHome on an air, all in this process: the files that a radio of the virtual air has there."""

    def __init__(self, air: "Air", count: int) -> None:
        self.folder, self.lives = air.path / "air", []
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, count + 256)), hard))
        self.digits = [f"d4c138{number:06x}" for number in range(count)]
        for number, digits in enumerate(self.digits):
            hidden = self.folder / f".{digits}.life"
            os.mkfifo(hidden, 0o600)
            self.lives.append(os.open(hidden, os.O_RDWR | os.O_NONBLOCK))
            os.rename(hidden, self.folder / f"{digits}.life")
            self.tell(number, 20)

    def tell(self, number: int, temperature: float) -> None:
        """The temperature in an advertisement, which is sent each second."""
        data = b"\xd2\xfc\x40\x02" + round(temperature * 100).to_bytes(2, "little", signed=True) + b"\x03\x88\x13"
        octets = bytes([2, 1, 6, len(data) + 1, 0x16]) + data
        digits = self.digits[number]
        hidden = self.folder / f".{digits}.adv"
        hidden.write_text(f"atto-air 1\nprocess {os.getpid()}\nname \nconnectable 0\ninterval 1000000\nrssi -60\n"
                          f"advertisement {octets.hex()}\nscan-response \n")
        os.rename(hidden, self.folder / f"{digits}.adv")

    @property
    def addresses(self) -> list:
        return [":".join(re.findall("..", digits.upper())) for digits in self.digits]

    def close(self) -> None:
        for life in self.lives:
            os.close(life)


def until(found, what: str):
    limit = time.monotonic() + PATIENCE
    while not (result := found()):
        if time.monotonic() > limit:
            raise TimeoutError(what)
        time.sleep(0.005)
    return result


def await_listening(path, server: subprocess.Popen) -> None:
    """Waits until a server listens on a Unix socket. The file of the socket exists before."""
    limit = time.monotonic() + PATIENCE
    while not listens(path):
        if server.poll() is not None or time.monotonic() > limit:
            sys.exit(f"the server does not listen: {' '.join(map(str, server.args))}")
        time.sleep(0.005)


def percentile(values: list, share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


# The kinds of calls in the notes of stages.c.
RECEIVED, SENT = 0, 1


def calls(notes: pathlib.Path) -> list:
    """The calls of a process: time, kind and octets."""
    octets, place, found = notes.read_bytes(), 0, []
    while place + 24 <= len(octets):
        moment, kind, count = struct.unpack_from("<QQQ", octets, place)
        if moment == 0:
            break
        found.append((moment, kind, octets[place + 24:place + 24 + count]))
        place += 24 + count
    return found


def moments(calls: list, kind: int, pattern: bytes) -> dict:
    """When each numbered value first was in a call; the pattern has a group for the number, octets or digits."""
    found = {}
    for moment, other, octets in calls:
        if other == kind:
            for number in re.findall(pattern, octets, re.DOTALL):
                number = number if len(number) == 4 else bytes.fromhex(number.decode())
                found.setdefault(struct.unpack("<I", number)[0], moment)
    return found
