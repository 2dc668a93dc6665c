"""One command against one server, and what must hold afterwards."""

import os
import pathlib
import select
import shutil
import signal
import socket
import tempfile
import threading
import time

from commands import MAX_TIME, TIMEOUT, TRANSCRIPT, words
from servers import CLOSE, FLOOD, LAWFUL, SERVERS, WAIT
from honest import answer

# Seconds after --max-time before a command counts as hanging.
PATIENCE = 30
# Kilobytes of resident memory. The process that starts the command has some 30,000 itself, which the
# kernel counts in.
MEMORY = 96_000
# Octets on standard output and standard error together.
OUTPUT = 64 << 20
# Servers for which a command takes longer, because they follow the rules.
MAX_TIMES = {"the largest database": 20}


class Server:
    """A listening socket whose connections all misbehave in the same way."""

    def __init__(self, path, script):
        self.script = script
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(64)
        self.links = []
        self.is_ended = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while not self.is_ended.is_set():
            try:
                link, _ = self.listener.accept()
            except OSError:
                return
            self.links.append(link)
            threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, link):
        try:
            self._play(link)
        except (OSError, ValueError):
            pass  # The link is closed, here or there.
        try:
            link.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        link.close()

    def _play(self, link):
        script = self.script(TIMEOUT)
        act = next(script, CLOSE)
        while act != CLOSE:
            result = None
            if act == WAIT:
                result = link.recv(65536)
                if not result and not is_open(link):
                    return
            elif isinstance(act, bytes):
                link.send(act)
            elif isinstance(act, tuple) and act[0] == FLOOD:
                return self._flood(link, act[1])
            else:
                self.is_ended.wait(act)
            try:
                act = script.send(result)
            except StopIteration:
                return

    def _flood(self, link, make):
        link.setblocking(False)
        while not self.is_ended.is_set():
            try:
                while True:
                    pdu = link.recv(65536)
                    if not pdu and not is_open(link):
                        return
                    for response in answer(pdu):
                        link.send(response)
            except BlockingIOError:
                pass
            try:
                for _ in range(32):
                    link.send(make())
            except BlockingIOError:
                select.select([link], [link], [], 1)

    def close(self):
        self.is_ended.set()
        for link in [self.listener, *self.links]:
            try:
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            link.close()


def is_open(link):
    """Whether the other end has not closed: an empty PDU looks like the end."""
    poll = select.poll()
    poll.register(link, 0)
    return not any(event & select.POLLHUP for _, event in poll.poll(0))


class Result:
    def __init__(self, code, memory, out, err):
        self.code, self.memory, self.out, self.err = code, memory, out, err

    @property
    def output(self):
        return len(self.out) + len(self.err)


def carry_out(atto, arguments, folder, within):
    """Runs a command to its end; the code is None if it had to be killed."""
    environment = dict(os.environ, ATTO_AIR=f"{folder}/air", ATTO_STORE=f"{folder}/store.sqlite",
                       LC_ALL="C")
    paths = [f"{folder}/out", f"{folder}/err"]
    mode = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    process = os.posix_spawn(
        atto, [atto, *arguments], environment,
        file_actions=[(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                      *[(os.POSIX_SPAWN_OPEN, at, path, mode, 0o600)
                        for at, path in enumerate(paths, 1)]])
    is_late = threading.Event()
    lock, has_ended = threading.Lock(), False

    def kill():
        with lock:
            if not has_ended:
                is_late.set()
                os.kill(process, signal.SIGKILL)

    alarm = threading.Timer(within, kill)
    alarm.start()
    # Waits without reaping, so that the number stays the process's until the alarm is off.
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    with lock:
        has_ended = True
    alarm.cancel()
    _, status, usage = os.wait4(process, 0)
    out, err = (pathlib.Path(path).read_bytes() for path in paths)
    return Result(None if is_late.is_set() else os.waitstatus_to_exitcode(status),
                  usage.ru_maxrss, out, err)


def fault_of(result, max_time, is_lawful):
    """What does not hold, or None."""
    if result.code is None:
        return f"did not end within {max_time + PATIENCE} s; it said {result.err[-300:]!r}"
    if result.code not in range(5):
        return f"exit status {result.code}; it said {result.err[-600:]!r}"
    if result.memory > MEMORY:
        return f"{result.memory} kB of memory"
    if result.output > OUTPUT:
        return f"{len(result.out)} octets of output and {len(result.err)} of errors"
    for octets in (result.out, result.err):
        try:
            text = octets.decode()
        except UnicodeDecodeError as error:
            return f"no UTF-8: {error}"
        wrong = next((line for line in text.split("\n") if not line.isprintable()), None)
        if wrong is not None:
            return f"no printable text: {wrong!r}"
    text = result.err.decode()
    if "did not end within" in text:
        return f"--max-time did not end it: {text!r}"
    if is_lawful and "broke the protocol" in text:
        return f"blames a server that follows the rules: {text!r}"
    if result.code != 0 and not text.strip():
        return f"exit status {result.code} without a message"
    return None


def meet(atto, command, name):
    """What does not hold after a command has met a server, or None; and its result."""
    # A short path: Unix sockets have at most 107 octets of it.
    folder = tempfile.mkdtemp(prefix="atto-", dir="/tmp")
    server = Server(f"{folder}/s", SERVERS[name])
    max_time = MAX_TIMES.get(name, MAX_TIME)
    try:
        pathlib.Path(folder, "play.att").write_text(TRANSCRIPT)
        result = carry_out(
            atto, words(command, f"unix:{folder}/s", folder, max_time), folder, max_time + PATIENCE)
        return fault_of(result, max_time, name in LAWFUL), result
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)
