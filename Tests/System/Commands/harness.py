"""Shared by the tests of the command: processes with deadlines, scripted peers, a test runner."""

import ctypes
import fcntl
import functools
import json
import multiprocessing
import os
import pathlib
import queue
import shutil
from signal import SIGINT
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import time
import traceback

from emulated import is_emulated

FOLDER = pathlib.Path(__file__).resolve().parent
FIXTURES = FOLDER.parents[2] / "Fixtures"
# Seconds before a test counts as hanging.
PATIENCE = 60
# Tests that run at the same time.
JOBS = 3

TESTS = []


def test(name, needs=(), unless_emulated=""):
    """Registers a function as a test of that name. Where one of the programs or shared libraries that it
    needs is missing, the test is skipped; so it is where `atto` is of another processor, if there is a reason
    `unless_emulated`."""

    def register(body):
        TESTS.append((name, body, needs, unless_emulated))
        return body

    return register


class Failed(Exception):
    pass


class Skipped(Exception):
    """What a test needs is missing on this machine."""


def expect(condition, what):
    if not condition:
        raise Failed(what)


def equal(found, wanted, what="result"):
    if found != wanted:
        raise Failed(f"{what}: found {found!r}, wanted {wanted!r}")


def contains(text, *parts):
    for part in parts:
        if part not in text:
            raise Failed(f"no {part!r} in {text!r}")


class Ended:
    """The output and status of a program that has ended."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def lines(self):
        return self.out.splitlines()

    @property
    def json(self):
        """Standard output, which must be one JSON object per line."""
        found = []
        for line in self.lines:
            try:
                value = json.loads(line)
            except ValueError:
                raise Failed(f"no JSON on standard output: {line!r}")
            expect(isinstance(value, dict), f"not an object: {line!r}")
            found.append(value)
        return found

    def __repr__(self):
        return f"status {self.code}, out {self.out!r}, err {self.err!r}"


class Running:
    """A running program."""

    def __init__(self, process, has_input):
        self.process = process
        self.out, self.err = queue.Queue(), queue.Queue()
        self.seen = {"out": [], "err": []}
        self.has_input = has_input
        self.threads = []
        for stream, lines in ((process.stdout, self.out), (process.stderr, self.err)):
            if stream is None:
                continue
            thread = threading.Thread(target=self._read, args=(stream, lines), daemon=True)
            thread.start()
            self.threads.append(thread)

    @staticmethod
    def _read(stream, lines):
        try:
            for line in stream:
                lines.put(line.rstrip("\n"))
        except ValueError:
            pass  # It was closed: the test is over.
        lines.put(None)

    def last(self):
        """The last lines that were read, for a message."""
        return {where: lines[-20:] for where, lines in self.seen.items()}

    def line(self, part="", where="out", within=PATIENCE):
        """The next line with a text; skips other lines."""
        lines = self.out if where == "out" else self.err
        deadline = time.monotonic() + within
        while True:
            try:
                line = lines.get(timeout=max(0.001, deadline - time.monotonic()))
            except queue.Empty:
                raise Failed(f"no line with {part!r} came; before: {self.last()}")
            if line is None:
                lines.put(None)
                raise Failed(f"the output ended before {part!r}; before: {self.last()}, "
                             f"status {self.process.poll()}")
            self.seen[where].append(line)
            if part in line:
                return line

    def event(self, name, within=PATIENCE):
        """The next JSON line with this event."""
        while True:
            value = json.loads(self.line(within=within))
            if value.get("event") == name:
                return value

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def signal(self, number=SIGINT):
        self.process.send_signal(number)

    def end(self, within=PATIENCE):
        """Waits until the program ends by itself."""
        if self.process.stdin and not self.process.stdin.closed and not self.has_input:
            self.process.stdin.close()
        try:
            self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise Failed(f"did not end; it said {self.seen}")
        rest = {}
        for name, lines in (("out", self.out), ("err", self.err)):
            if (self.process.stdout if name == "out" else self.process.stderr) is None:
                rest[name] = []
                continue
            collected = list(self.seen[name])
            while True:
                line = lines.get(timeout=PATIENCE)
                if line is None:
                    break
                collected.append(line)
            rest[name] = collected
        return Ended(self.process.returncode, "\n".join(rest["out"]), "\n".join(rest["err"]))

    def minds(self, number):
        """Whether the program handles a signal: not yet if it has just been started, then it may ignore what a
        shell told this process to ignore."""
        try:
            with open(f"/proc/{self.process.pid}/status") as status:
                masks = [int(line.split()[1], 16) for line in status
                         if line.startswith(("SigBlk:", "SigCgt:"))]
        except OSError:
            return True
        return self.process.poll() is not None or any(mask >> (number - 1) & 1 for mask in masks)

    def stop(self, number=SIGINT):
        """Ends the program by a signal, once it handles it."""
        deadline = time.monotonic() + PATIENCE
        while not self.minds(number):
            if time.monotonic() > deadline:
                raise Failed(f"it does not mind signal {number}; it said {self.seen}")
            time.sleep(0.005)
        self.signal(number)
        return self.end()


class Bench:
    """The environment of one test: a folder, a virtual air, and cleanup."""

    def __init__(self, atto, folder):
        self.atto = atto
        self.folder = pathlib.Path(folder)
        self.environment = dict(
            os.environ, ATTO_AIR=str(self.folder / "air"), ATTO_STORE=str(self.folder / "store.sqlite"),
            LC_ALL="C", NO_COLOR="1")
        self.cleaning = []

    def path(self, name):
        return str(self.folder / name)

    def file(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def start(self, *words, input=False, fds=(), **options):
        streams = dict(
            stdin=subprocess.PIPE if input else subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        streams.update(options)
        process = subprocess.Popen(
            [self.atto, *map(str, words)], text=True, pass_fds=fds, env=self.environment, **streams)
        self.cleaning.append(lambda: self._kill(process))
        return Running(process, has_input=False)

    @staticmethod
    def _kill(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            try:
                if stream:
                    stream.close()
            except (OSError, ValueError):
                pass

    def on_terminal(self, *words, columns=80, stream="stderr"):
        """Runs the command with its standard error, or another stream, on a terminal. Returns the
        terminal's text and the other results."""
        terminal, inner = os.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        running = self.start(*words, **{stream: inner})
        os.close(inner)
        text = b""
        try:
            while got := os.read(terminal, 65536):
                text += got
        except OSError:
            pass  # EIO: the last who had it open is gone.
        os.close(terminal)
        return text.decode(), running.end()

    def run(self, *words, fds=(), input=None, within=PATIENCE, **options):
        """Runs the command to its end."""
        try:
            done = subprocess.run(
                [self.atto, *map(str, words)], env=self.environment, pass_fds=fds, text=True,
                capture_output=True, timeout=within, **options,
                **({"input": input} if input is not None else {"stdin": subprocess.DEVNULL}))
        except subprocess.TimeoutExpired as expired:
            raise Failed(f"atto {' '.join(map(str, words))} did not end; "
                         f"it said {expired.stdout!r} {expired.stderr!r}")
        return Ended(done.returncode, done.stdout, done.stderr)

    def refuses(self, code, parts, *words, **options):
        """Runs a command that must fail with this status and these texts on standard error, without
        standard output."""
        ended = self.run(*words, **options)
        if ended.code != code:
            raise Failed(f"atto {' '.join(map(str, words))}: wanted status {code}, got {ended}")
        equal(ended.out, "", "standard output")
        for part in parts:
            if part not in ended.err:
                raise Failed(f"atto {' '.join(map(str, words))}: no {part!r} in {ended.err!r}")
        return ended

    def serve(self, profile, *options, endpoint=None, name="server", input=False, **more):
        """Starts a server and waits until it listens. Returns it with its endpoint."""
        endpoint = endpoint or f"unix:{self.path(name)}"
        if isinstance(profile, dict):
            profile = self.file(f"{name}.json", profile)
        elif "/" not in profile:
            profile = FIXTURES / profile
        running = self.start("serve", profile, "--listen", endpoint, *options, input=input, **more)
        running.line("listening")
        return running, endpoint

    def peer(self, answer, name="peer", **options):
        peer = Peer(self.path(name), answer, **options)
        self.cleaning.append(peer.close)
        return peer

    def connect(self, endpoint):
        """A scripted client of a server."""
        link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        link.settimeout(PATIENCE)
        link.connect(endpoint.removeprefix("unix:"))
        self.cleaning.append(link.close)
        return Client(link)

    def pair(self):
        """A connected pair of sockets."""
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in ends:
            end.settimeout(PATIENCE)
            self.cleaning.append(end.close)
        return ends

    def close(self):
        for body in reversed(self.cleaning):
            body()


class Client:
    def __init__(self, link):
        self.link = link

    def send(self, text):
        self.link.send(bytes.fromhex(text))

    def receive(self, within=PATIENCE):
        """The next PDU as hex; "" at the end of the connection."""
        self.link.settimeout(within)
        try:
            return self.link.recv(65536).hex()
        except ConnectionResetError:
            # The peer had not read all.
            return ""
        except socket.timeout:
            raise Failed("no PDU came")

    def ask(self, text, within=PATIENCE):
        self.send(text)
        return self.receive(within)

    def close(self):
        self.link.close()


class Peer:
    """A scripted server: records what it receives, and answers with the result of a function.

    `answer(pdu)` gets hex and gives a list of PDUs in hex, or "close"; None is silence."""

    def __init__(self, path, answer, greeting=()):
        self.endpoint = f"unix:{path}"
        self.received = []
        self.ended = threading.Event()
        self.answer = answer
        self.greeting = greeting
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(8)
        self.links = []
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                link, _ = self.listener.accept()
            except OSError:
                return
            self.links.append(link)
            try:
                self._talk(link)
            except OSError:
                pass
            link.close()
            self.ended.set()

    def _talk(self, link):
        for pdu in self.greeting:
            link.send(bytes.fromhex(pdu))
        while True:
            octets = link.recv(65536)
            # An empty PDU looks like the end of the connection here.
            if not octets:
                return
            self.received.append(octets.hex())
            for answer in self.answer(octets.hex()) or []:
                if answer == "close":
                    return
                link.send(bytes.fromhex(answer))

    def heard(self):
        """All that was received, after the client has disconnected."""
        expect(self.ended.wait(PATIENCE), "the client did not close its link")
        return self.received

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        for link in self.links:
            try:
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.thread.join(PATIENCE)


def script(*pairs):
    """Answers by request: ("0a0300", "0b01"), ...; other requests get no response."""
    table = {}
    for request, *answers in pairs:
        table[request] = answers
    return lambda pdu: table.get(pdu)


def is_installed(name):
    if ".so" in name:
        try:
            ctypes.CDLL(name)
        except OSError:
            return False
        return True
    return shutil.which(name) is not None


def run_one(atto, number):
    """Whether a test passed, None if it was skipped, and what to print."""
    name, body, needs, unless_emulated = TESTS[number]
    missing = [one for one in needs if not is_installed(one)]
    if missing:
        return None, f"skipped: {name}: {', '.join(missing)} not installed\n"
    if unless_emulated and is_emulated(atto):
        return None, f"skipped: {name}: emulated: {unless_emulated}\n"
    # A short path: Unix sockets have at most 107 octets of it.
    folder = tempfile.mkdtemp(prefix="atto-", dir="/tmp")
    bench = Bench(atto, folder)
    begun = time.monotonic()
    fault = reason = None
    try:
        body(bench)
    except Skipped as skipped:
        reason = f"skipped: {name}: {skipped}\n"
    except Failed as failure:
        fault = f"FAILED {name}: {failure}\n"
    except Exception:
        fault = f"FAILED {name}:\n{traceback.format_exc()}"
    finally:
        bench.close()
        shutil.rmtree(folder, ignore_errors=True)
    took = f"{time.monotonic() - begun:6.2f} s  {name}\n" if os.environ.get("ATTO_TIMES") else ""
    return None if reason else fault is None, (fault or reason or "") + took


def run_all(atto, wanted):
    """Runs tests side by side, because they wait most of the time."""
    start = time.monotonic()
    chosen = [
        number for number, (name, *_) in enumerate(TESTS)
        if not wanted or any(part in name for part in wanted)]
    passed = failed = skipped = 0
    with multiprocessing.get_context("fork").Pool(JOBS) as pool:
        for is_passed, text in pool.imap(functools.partial(run_one, atto), chosen):
            passed += is_passed is True
            failed += is_passed is False
            skipped += is_passed is None
            print(text, end="", flush=True)
    more = f", {skipped} skipped" if skipped else ""
    print(f"{passed} passed, {failed} failed{more} ({time.monotonic() - start:.1f} s)")
    return 1 if failed or not passed else 0
