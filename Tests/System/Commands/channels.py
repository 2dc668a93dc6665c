"""atto channel: an L2CAP channel between two programs, on the virtual air."""

import hashlib
import os
import signal
import subprocess
import threading

from harness import PATIENCE, contains, equal, expect, test

DATA = bytes((i * 31 + (i >> 8)) & 0xFF for i in range(1 << 20))


class Octets:
    """A command with binary standard streams."""

    def __init__(self, b, *words, **streams):
        options = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        options.update(streams)
        self.process = subprocess.Popen(
            [b.atto, "channel", *map(str, words)], env=b.environment, **options)
        b.cleaning.append(lambda: b._kill(self.process))

    def psm(self):
        """The PSM and the address that it prints."""
        line = self.process.stderr.readline().decode()
        contains(line, "PSM ", " at ")
        return int(line.split("PSM ")[1].split()[0])

    def opened(self):
        contains(self.process.stderr.readline().decode(), "opened by ")

    def end(self, data=b"", within=PATIENCE):
        """The output up to its end, with status 0."""
        out, err = self.process.communicate(data, timeout=within)
        equal((self.process.returncode, err), (0, b""), "the end")
        return out


def digest(data):
    return len(data), hashlib.sha256(data).hexdigest()


@test("channel: a megabyte each way")
def both_ways(b):
    listener = Octets(b, "--listen", "air:Strap", "--close")
    psm = listener.psm()
    expect(0x80 <= psm <= 0xFF, psm)
    opener = Octets(b, "air:Strap", "--psm", psm)
    listener.opened()
    # Feeds the opener until the pipes are full, without reading.
    back = bytes(reversed(DATA))
    feeding = threading.Thread(target=lambda: (
        opener.process.stdin.write(DATA), opener.process.stdin.flush()))
    feeding.start()
    got = b""
    while len(got) < len(DATA):
        piece = os.read(listener.process.stdout.fileno(), 65536)
        expect(piece, f"the listener ended after {len(got)}")
        got += piece
    feeding.join(PATIENCE)
    equal(digest(got), digest(DATA))
    # At the end of its input the listener closes the channel, which ends both.
    came = []
    reading = threading.Thread(target=lambda: came.append(opener.process.stdout.read()))
    reading.start()
    equal(listener.end(back), b"")
    reading.join(PATIENCE)
    equal(digest(came[0]), digest(back))
    equal(opener.process.wait(PATIENCE), 0)


@test("channel: from a file, from nothing, to a file")
def files(b):
    source = b.path("source")
    with open(source, "wb") as file:
        file.write(DATA)
    for name, octets in ((source, DATA), ("/dev/null", b"")):
        with open(b.path("target"), "wb") as target, open(name, "rb") as given:
            listener = Octets(b, "--listen", "air:Strap", stdout=target)
            opener = Octets(b, "air:Strap", "--psm", listener.psm(), "--close", stdin=given)
            equal(opener.process.wait(60), 0, opener.process.stderr.read())
            listener.opened()
            listener.process.stdin.close()
            equal(listener.process.wait(60), 0, listener.process.stderr.read())
        with open(b.path("target"), "rb") as target:
            equal(digest(target.read()), digest(octets), name)


@test("channel: an encrypted channel")
def encrypted(b):
    listener = Octets(b, "--listen", "air:Strap", "--encrypted")
    opener = Octets(b, "air:Strap", "--psm", listener.psm(), "--close")
    equal(opener.end(b"secret"), b"")
    listener.opened()
    equal(listener.end(), b"secret")


@test("channel: one is accepted, a second one refused")
def one(b):
    listener = Octets(b, "--listen", "air:Strap")
    psm = listener.psm()
    opener = Octets(b, "air:Strap", "--psm", psm)
    listener.opened()
    b.refuses(3, ["refused the channel", f"PSM {psm}", "nothing is published there"],
              "channel", "air:Strap", "--psm", psm)
    # The open channel is not affected.
    equal(opener.process.poll(), None)
    opener.process.stdin.write(b"still here")
    opener.process.stdin.flush()
    equal(os.read(listener.process.stdout.fileno(), 100), b"still here")


@test("channel: a kill, a disconnection or an interruption ends the other end")
def ends(b):
    for end in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
        listener = Octets(b, "--listen", "air:Strap")
        opener = Octets(b, "air:Strap", "--psm", listener.psm())
        listener.opened()
        listener.process.send_signal(end)
        equal(listener.process.wait(PATIENCE), -end if end == signal.SIGKILL else 3)
        equal(opener.process.wait(PATIENCE), 0, opener.process.stderr.read())


@test("channel: a closed standard output")
def deaf(b):
    listener = Octets(b, "--listen", "air:Strap")
    opener = Octets(b, "air:Strap", "--psm", listener.psm())
    listener.opened()
    listener.process.stdout.close()
    opener.process.stdin.write(b"into the void")
    opener.process.stdin.flush()
    equal(listener.process.wait(PATIENCE), 2)
    contains(listener.process.stderr.read().decode(), "standard output", "Broken pipe")
    equal(opener.process.wait(PATIENCE), 0)


@test("channel: mistakes")
def mistakes(b):
    b.refuses(2, ["either --psm N or --listen"], "channel", "air:Strap")
    for psm in ("0", "256", "-1", "x", "0x80z"):
        b.refuses(2, ["--psm"], "channel", "air:Strap", f"--psm={psm}")
    b.refuses(2, ['unexpected argument "air:Other"'], "channel", "--listen", "air:Strap", "air:Other")
    b.refuses(2, [], "channel", "--psm", "128")
    b.refuses(2, ["unix:"], "channel", "unix:/tmp/x", "--psm", "128")
    b.refuses(3, ["found within 0.2 seconds"], "channel", "air:Nobody", "--psm", "128", "--timeout", "0.2")
