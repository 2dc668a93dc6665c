"""For the lab tests: the command under test, servers on the air, plain ATT sockets.

A test is a file in tests/. It runs alone in the machine, as root, with $ATTO the command and
$FIXTURES the profiles, in an empty folder of its own. Status 0 means that it passed, and `skip` ends it
where the kernel lacks what it is about. Before each test there are no links, advertisements, scans and
keys. Its processes, links, advertisements, scans and keys end with it. Whatever else it changes, such as
the power of an adapter, it restores, also if it fails: see state.py.
"""

import contextlib
import ctypes
import json
import os
import queue
import re
import signal
import socket
import struct
import subprocess
from pathlib import Path
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import mgmt
import state
from patience import PATIENCE, Waiting

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Interoperability"))
import bumble_python

ATTO = os.environ.get("ATTO", "atto")
FIXTURES = os.environ.get("FIXTURES", "Fixtures")
EXAMPLES = os.environ.get("EXAMPLES", ".build/checked/debug")
ADDRESSES = [f"00:AA:01:{index:02X}:00:{index:02X}" for index in range(10)]


def endpoint(server: int = 1, client: int = 0, kind: str = "") -> str:
    """The peer hci<server> as seen from hci<client>."""
    return f"le:{ADDRESSES[server]}{kind}@hci{client}"


def profile(name: str) -> str:
    return f"{FIXTURES}/{name}.json"


def check(condition: bool, *what) -> None:
    """Ends the test with a message unless the condition holds."""
    if not condition:
        caller = sys._getframe(1)
        name = os.path.basename(caller.f_code.co_filename)
        raise SystemExit(f"{name}:{caller.f_lineno}: failed: {' '.join(map(str, what))}")


# The status of a test that was skipped; its last line is the reason.
SKIPPED = 77


def skip(reason: str) -> None:
    """Ends the test. Only for what the kernel has said that it lacks, never after a failure."""
    print(reason)
    raise SystemExit(SKIPPED)


@dataclass
class Outcome:
    status: int
    output: str
    errors: str
    seconds: float

    def objects(self) -> list[dict]:
        return [json.loads(line) for line in self.output.splitlines()]

    def __str__(self) -> str:
        return f"exit {self.status} after {self.seconds:.2f} s\n{self.output[-1500:]}{self.errors}"


def shown(words) -> str:
    """A command line for messages, of readable length."""
    line = " ".join(words)
    return line if len(line) <= 200 else f"{line[:160]} ... ({len(words)} words)"


def run(words, status=0, timeout=PATIENCE) -> Outcome:
    """Runs a command, which must end with this status (None: any)."""
    start = time.monotonic()
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as late:
        told = (late.stdout or b"")[-500:] + (late.stderr or b"")[-500:]
        raise SystemExit(f"{shown(words)}: no end within {timeout} s; it printed {told}")
    outcome = Outcome(done.returncode, done.stdout, done.stderr, time.monotonic() - start)
    if status is not None and done.returncode != status:
        raise SystemExit(f"{shown(words)}: expected status {status}: {outcome}")
    return outcome


def atto(*words, status=0, timeout=PATIENCE) -> Outcome:
    return run([ATTO, *map(str, words)], status, timeout)


class Process:
    """A running process, and its lines as they arrive."""

    def __init__(self, *words: str):
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.PIPE,
            text=True, bufsize=1)
        self.lines: queue.Queue[str | None] = queue.Queue()
        self.errors = ""
        self.readers = [
            threading.Thread(target=self.read_output, daemon=True),
            threading.Thread(target=self.read_errors, daemon=True)]
        for reader in self.readers:
            reader.start()

    def read_output(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def read_errors(self) -> None:
        for line in self.process.stderr:
            self.errors += line

    def line(self, waiting: Waiting | None = None) -> str | None:
        """The next line of output, None at its end."""
        waiting = waiting or Waiting()
        try:
            return waiting.item(self.lines)
        except queue.Empty:
            raise SystemExit(
                f"{shown(self.process.args)}: no output within {waiting.seconds:.1f} s; on standard error: "
                f"{self.errors}")

    def say(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def expect(self, pattern: str, count: int = 1, seconds: float = PATIENCE) -> list[str]:
        """Waits for that many lines that match, and returns these and the lines between."""
        waiting = Waiting(seconds)
        passed: list[str] = []
        while count:
            try:
                line = waiting.item(self.lines)
            except queue.Empty:
                line = None
            check(
                line is not None, f"{count} more of \"{pattern}\" within {seconds} s; what came:",
                passed[-20:], "on standard error:", self.errors[-2000:])
            passed.append(line)
            count -= re.search(pattern, line) is not None
        return passed

    def drain(self) -> list[str]:
        """The lines that have arrived and were not read."""
        found = []
        while not self.lines.empty():
            found.append(self.lines.get_nowait())
        return found

    def wait(self, seconds: float = PATIENCE) -> int:
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise SystemExit(f"no end within {seconds} s; on standard error: {self.errors}")
        for reader in self.readers:
            reader.join(1)
        return status

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def client(*words) -> Process:
    """The command as a client that keeps running."""
    return Process(ATTO, *map(str, words))


class Example(Process):
    """A program written for Apple's framework, on an adapter, with a state folder that the next
    run of it finds again."""

    def __init__(self, name: str, adapter: int, *words: str):
        if not EXAMPLES:
            skip("the examples of CoreBluetooth need Foundation, which cannot be had for this processor")
        program = os.path.join(EXAMPLES, name)
        check(os.access(program, os.X_OK), f"{program} is missing: build the package first")
        os.environ["ATTO_STATE"] = os.path.join(os.getcwd(), "state")
        os.environ["ATTO_RADIO"] = f"hci{adapter}"
        # Line buffering, though the output is not a terminal.
        super().__init__("stdbuf", "-oL", program, *words)

    def __enter__(self) -> "Example":
        return self

    def __exit__(self, *_) -> None:
        self.end()


class Server(Process):
    """`atto serve`, which advertises on its adapter.

    Nothing else advertises there: if a scan reports two sets at once, the kernel sends a second LE
    Extended Create Connection to a peer that is connected by then, and waits for it. So what a killed
    server has left is taken off the air.
    """

    def __init__(self, name: str, *words: str, adapter: int = 1, listen: str | None = None,
                 path: str | None = None):
        self.adapter = adapter
        if listen in (None, f"le:@hci{adapter}"):
            control.stop_advertising(adapter)
        super().__init__(
            ATTO, "serve", path or profile(name), "--listen", listen or f"le:@hci{adapter}", "--json",
            *words)
        self.seen: list[dict] = []
        self.event("listening")

    def event(self, name: str) -> dict:
        """The next event of this name; what comes before it is dropped."""
        waiting = Waiting()
        while True:
            line = self.line(waiting)
            if line is None:
                raise SystemExit(f"the server ended before \"{name}\": {self.errors}")
            event = json.loads(line)
            self.seen.append(event)
            if event["event"] == name:
                return event

    def events(self, name: str, quiet: float = 0.0) -> list[dict]:
        """All events of this name that have come until nothing came for so long."""
        found = []
        while True:
            try:
                line = self.lines.get(timeout=quiet) if quiet else self.lines.get_nowait()
            except queue.Empty:
                return found
            if line is None:
                return found
            event = json.loads(line)
            self.seen.append(event)
            if event["event"] == name:
                found.append(event)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_) -> None:
        self.end()


control = mgmt.Mgmt()


class BumbleAir(Process):
    """Bumble's controllers, each with an adapter of the kernel, and Bumble as a host.

    Unlike btvirt's controllers these carry any number of links. They receive only each other.
    """

    PREFIX = "00:BB:02:00:00"

    def __init__(self, count: int, *words: str, host: bool = False):
        self.addresses = [f"{self.PREFIX}:{number + 1:02X}" for number in range(count)]
        self.host = f"{self.PREFIX}:FF"
        before = set(control.indexes())
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bumble_air.py")
        super().__init__(
            str(bumble_python.interpreter_path()), "-B", program, *self.addresses,
            *(["--server", self.host] if host else []), *words)
        self.event("ready")
        deadline = time.monotonic() + PATIENCE
        while len(new := sorted(set(control.indexes()) - before)) < count:
            check(time.monotonic() < deadline, "adapters", new, self.errors)
            time.sleep(0.02)
        for index in new:
            control.setup_virtual(index)
        by_address = {control.address(index): index for index in new}
        self.indexes = [by_address[address] for address in self.addresses]

    def endpoint(self, server: int | None, client: int) -> str:
        """The peer as seen by the adapter `client`; None: Bumble itself."""
        address = self.host if server is None else self.addresses[server]
        return f"le:{address}@hci{self.indexes[client]}"

    def listen(self, server: int) -> str:
        return f"le:@hci{self.indexes[server]}"

    def event(self, name: str) -> dict:
        waiting = Waiting()
        while True:
            line = self.line(waiting)
            check(line is not None, "Bumble has ended", self.errors[-2000:])
            told = json.loads(line)
            check(told["event"] != "failed", told)
            if told["event"] == name:
                return told

    def __enter__(self) -> "BumbleAir":
        return self

    def __exit__(self, *_) -> None:
        self.end()


def advertise(adapter: int = 1) -> None:
    """Restarts the lab's own advertising, for plain sockets and other servers than atto."""
    control.stop_advertising(adapter)
    control.advertise(adapter)


@contextlib.contextmanager
def on_air(devices: dict[int, tuple[bytes, bytes]]) -> Iterator[None]:
    """Advertises data and scan responses over and over, by adapter, as devices do. The emulated
    controllers send each advertisement once, and Linux 6.1 drops what it hears before it has answered
    Start Discovery.

    A connection ends an advertisement. Until the kernel knows that, it ends it once more before it starts the next
    one, which the controller refuses: such a turn is over, and the device taken."""
    has_ended = threading.Event()
    failures = []

    def repeat() -> None:
        mine = mgmt.Mgmt()
        try:
            while not has_ended.wait(0.3):
                for adapter, (data, response) in devices.items():
                    try:
                        mine.advertise(adapter, data, response)
                    except mgmt.MgmtError as refusal:
                        if refusal.status != mgmt.BUSY:
                            raise
        except (OSError, mgmt.MgmtError) as failure:
            failures.append(failure)

    for adapter, (data, response) in devices.items():
        control.advertise(adapter, data, response)
    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()
        for adapter in devices:
            control.stop_advertising(adapter)
    check(not failures, *failures)


def stop_scans() -> None:
    """Ends the scans that killed processes have left: while one runs, the kernel starts none for a
    connection."""
    for index in control.indexes():
        control.stop_discovery(index)


def leave() -> None:
    """Ends what every test makes: links, advertisements, scans and keys."""
    stop_scans()
    reset()
    for index in control.indexes():
        control.forget_all(index)


@contextlib.contextmanager
def off(adapter: int) -> Iterator[None]:
    """An adapter without power."""
    control.switch(adapter, "power", False)
    try:
        yield
    finally:
        control.switch(adapter, "power", True)


@contextlib.contextmanager
def blocked() -> Iterator[None]:
    """All adapters blocked by rfkill. The kernel leaves them off, so the lab's own are switched on
    again."""
    state.rfkill(True)
    try:
        yield
    finally:
        state.rfkill(False)
        for index in control.indexes():
            if control.address(index) in ADDRESSES:
                control.switch(index, "power", True)


def reset(adapters=None) -> None:
    """Ends all links and all advertising, or those of some adapters."""
    for index in adapters or control.indexes():
        control.stop_advertising(index)
        control.disconnect_all(index)
    control.await_no_connections(adapters=adapters)


def radio() -> int:
    """The process that emulates the controllers."""
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and open(f"/proc/{name}/comm").read() == "btvirt\n":
                return int(name)
        except OSError:
            pass
    raise SystemExit("no btvirt")


@contextlib.contextmanager
def standstill() -> Iterator[None]:
    """The controllers do nothing in the body."""
    emulator = radio()
    os.kill(emulator, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(emulator, signal.SIGCONT)


# --- Plain ATT sockets, for peers that misbehave.

libc = ctypes.CDLL(None, use_errno=True)
LE_PUBLIC = 1
ATT_CID = 4


def l2cap_address(adapter: int, kind: int = LE_PUBLIC) -> bytes:
    octets = bytes(int(pair, 16) for pair in reversed(ADDRESSES[adapter].split(":")))
    return struct.pack("<HH6sHBx", mgmt.AF_BLUETOOTH, 0, octets, ATT_CID, kind)


def checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class Bearer:
    """One end of a link on CID 4, octet by octet."""

    def __init__(self, descriptor: int):
        self.descriptor = descriptor

    @staticmethod
    def connect(server: int = 1, client: int = 0) -> "Bearer":
        made = socket.socket(mgmt.AF_BLUETOOTH, socket.SOCK_SEQPACKET, 0)
        local, peer = l2cap_address(client), l2cap_address(server)
        checked(libc.bind(made.fileno(), local, len(local)))
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@qq", PATIENCE, 0))
        checked(libc.connect(made.fileno(), peer, len(peer)))
        return Bearer(made.detach())

    def send(self, pdu: bytes) -> None:
        os.write(self.descriptor, pdu)

    def receive(self) -> bytes | None:
        """The next PDU; None when none came in time. OSError at the link's end."""
        import select
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        if not poll.poll(PATIENCE * 1000):
            return None
        return os.read(self.descriptor, 2048)

    def answer(self, pdu: bytes) -> bytes:
        self.send(pdu)
        answer = self.receive()
        check(answer is not None, "no response to", pdu.hex())
        return answer

    def close(self) -> None:
        os.close(self.descriptor)


class Listener:
    """Accepts connections on CID 4."""

    def __init__(self, adapter: int = 1):
        self.socket = socket.socket(mgmt.AF_BLUETOOTH, socket.SOCK_SEQPACKET, 0)
        local = l2cap_address(adapter)
        checked(libc.bind(self.socket.fileno(), local, len(local)))
        self.socket.listen(4)
        advertise(adapter)

    def accept(self) -> Bearer:
        return Bearer(checked(libc.accept(self.socket.fileno(), None, None)))

    def close(self) -> None:
        self.socket.close()


def forget_bonds() -> None:
    """hci0 and hci1 forget each other, in the kernel and in this test's store. Links and
    advertisements end."""
    reset((0, 1))
    for index, peer in ((0, 1), (1, 0)):
        control.forget(index, ADDRESSES[peer])
    for end in ("", "-journal"):
        Path(os.environ["ATTO_STORE"] + end).unlink(missing_ok=True)
    control.await_no_connections(adapters=(0, 1))
