"""extcap: capturing for Wireshark."""

import os
import pathlib
import re
import signal
import subprocess
import time

from capturing import faultless, pcapng
from harness import PATIENCE, contains, equal, expect, test
from listening import listens

LISTEN, PEER = "extcap.atto_relay.listen", "extcap.atto_relay.peer"


def fields(line):
    """The kind and the fields of a sentence."""
    kind, rest = line.split(" ", 1)
    found = re.findall(r"\{(\w+)=([^{}]*)\}", rest)
    equal("".join(f"{{{name}={value}}}" for name, value in found), rest, "the form")
    return kind, dict(found)


@test("extcap: lists interfaces, link types and options, also as a symbolic link")
def sentences(b):
    link = b.path("atto-link")
    os.symlink(b.atto, link)

    def said(*words):
        ended = b.run("extcap", *words)
        equal((ended.code, ended.err), (0, ""), ended)
        done = subprocess.run([link, *words], capture_output=True, text=True, env=b.environment)
        equal((done.returncode, done.stdout), (0, ended.out))
        return [fields(line) for line in ended.lines]

    found = said("--extcap-interfaces", "--extcap-version=4.0")
    equal([kind for kind, _ in found], ["extcap", "interface", "interface"])
    equal([line["value"] for _, line in found[1:]], ["atto-monitor", "atto-relay"])
    for name, number in (("atto-monitor", "254"), ("atto-relay", "201")):
        (kind, line), = said("--extcap-interface", name, "--extcap-dlts")
        equal((kind, line["number"]), ("dlt", number))
    found = said("--extcap-interface", "atto-relay", "--extcap-config")
    equal([line.get("call") for kind, line in found if kind == "arg"],
          ["--listen", "--peer", "--security"])
    equal([line["value"] for kind, line in found if kind == "value"],
          ["low", "medium", "high", "fips"])
    equal([line["call"] for _, line in said("--extcap-interface", "atto-monitor", "--extcap-config")],
          ["--adapter"])
    # Wireshark checks a filter before a capture, and shows what is said about it.
    said("--extcap-interface", "atto-relay", "--extcap-capture-filter", "")
    contains(b.run("extcap", "--extcap-interface", "atto-relay", "--extcap-capture-filter", "x").out,
             "capture filters are not supported")


@test("extcap: mistakes")
def mistakes(b):
    fifo = b.file("f", "")
    relay = ("extcap", "--extcap-interface", "atto-relay")
    b.refuses(2, ["--extcap-interface is missing"], "extcap")
    b.refuses(2, ["expected atto-monitor or atto-relay"], "extcap", "--extcap-interface", "eth0",
              "--extcap-dlts")
    b.refuses(2, ["nothing to do"], *relay)
    b.refuses(2, ["--capture requires --fifo"], *relay, "--capture")
    b.refuses(2, ["needs an endpoint to listen at"], *relay, "--capture", "--fifo", fifo)
    b.refuses(2, ["--adapter is not an option of atto-relay"], *relay, "--adapter", "hci0",
              "--extcap-config")
    b.refuses(2, ["use a display filter"], *relay, "--capture", "--fifo", fifo,
              "--extcap-capture-filter", "btatt")
    for endpoint, part in (("strap", "invalid endpoint"), ("--once", "invalid endpoint"),
                           ("unix:/tmp/x", "must be different endpoints")):
        b.refuses(2, [part], *relay, "--capture", "--fifo", fifo, "--listen", "unix:/tmp/x",
                  f"--peer={endpoint}")
    b.refuses(2, ["No such file"], *relay, "--capture", "--fifo", "/nowhere/f", "--listen",
              "unix:/tmp/x", "--peer", "unix:/tmp/y")
    b.refuses(2, ["hci"], "extcap", "--extcap-interface", "atto-monitor", "--capture", "--fifo", fifo,
              "--adapter", "first")


class Fifo:
    """A capture by a relay whose FIFO the test reads."""

    def __init__(self, b, name, peer):
        path = b.path(f"{name}.fifo")
        os.mkfifo(path, 0o600)
        self.between = f"unix:{b.path(name)}"
        self.running = b.start("extcap", "--extcap-interface", "atto-relay", "--capture", "--fifo",
                               path, "--listen", self.between, "--peer", peer)
        self.file = open(path, "rb", buffering=0)
        b.cleaning.append(self.file.close)

    def listening(self):
        deadline = time.monotonic() + PATIENCE
        while not listens(self.between.removeprefix("unix:")):
            expect(time.monotonic() < deadline, "it does not listen")
            time.sleep(0.005)


@test("extcap: ends quietly when the FIFO is closed, while clients talk and while none does, "
      "and at SIGTERM")
def ends(b):
    _, at = b.serve("heart-rate.json")
    for how in ("close", "close idle", "kill"):
        fifo = Fifo(b, how.replace(" ", "-"), at)
        fifo.listening()
        if how != "close idle":
            equal(b.run("read", fifo.between, "0x0015").lines, ["0x0015  01"])
        client = b.connect(fifo.between)
        if how == "kill":
            fifo.running.signal(signal.SIGTERM)
            kept = pathlib.Path(b.path("kept"))
            kept.write_bytes(fifo.file.read())
            while piece := fifo.file.read():
                kept.write_bytes(kept.read_bytes() + piece)
            equal([pdu for _, pdu, _ in pcapng(kept)], ["0a1500", "0b01"])
        else:
            fifo.file.close()
        ended = fifo.running.end()
        equal((ended.code, ended.out, ended.err), (0, "", ""))
        equal(client.receive(), "")


@test("extcap: an error is on standard error, and the FIFO gets a file without records")
def failing(b):
    fifo = Fifo(b, "taken", "unix:/tmp/nobody")
    fifo.listening()
    again = b.path("again.fifo")
    os.mkfifo(again, 0o600)
    running = b.start("extcap", "--extcap-interface", "atto-relay", "--capture", "--fifo", again,
                      "--listen", fifo.between, "--peer", "unix:/tmp/nobody")
    with open(again, "rb") as file:
        equal(file.read(4), b"\x0a\x0d\x0d\x0a")
        file.read()
    ended = running.end()
    equal((ended.code, ended.out), (3, ""), ended)
    contains(ended.err, "another process listens there")
    # A client that cannot be connected is reported, and the capture goes on.
    equal(b.connect(fifo.between).receive(), "")
    contains(fifo.running.line(where="err"), "cannot connect to the peer")
    fifo.file.close()
    equal(fifo.running.end().code, 0)


def wireshark(b, *words, **options):
    """Starts tshark with the command in the personal extcap folder."""
    folder = pathlib.Path(b.path("home/.config/wireshark/extcap"))
    if not folder.exists():
        folder.mkdir(parents=True)
        os.symlink(b.atto, folder / "atto")
    environment = dict(b.environment, HOME=b.path("home"), XDG_CONFIG_HOME=b.path("home/.config"))
    process = subprocess.Popen(["tshark", *words], text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    b.cleaning.append(lambda: b._kill(process))
    return process


@test("extcap: tshark lists the interfaces, captures PDUs without a fault, and shows errors",
      needs=["tshark"])
def tshark(b):
    out, _ = wireshark(b, "-D").communicate(timeout=PATIENCE)
    contains(out, "atto-monitor (Bluetooth of this machine", "atto-relay (Relay between")
    out, _ = wireshark(b, "-L", "-i", "atto-relay").communicate(timeout=PATIENCE)
    contains(out, "BLUETOOTH_HCI_H4_WITH_PHDR")
    _, at = b.serve("heart-rate.json")
    between, path = b.path("between"), b.path("seen.pcapng")
    running = wireshark(b, "-i", "atto-relay", "-o", f"{LISTEN}:unix:{between}",
                        "-o", f"{PEER}:{at}", "-c", "20", "-w", path)
    deadline = time.monotonic() + PATIENCE
    while not listens(between):
        expect(time.monotonic() < deadline and running.poll() is None, "it does not listen")
        time.sleep(0.01)
    b.run("discover", f"unix:{between}")
    _, err = running.communicate(timeout=PATIENCE)
    equal(running.returncode, 0, err)
    expect("extcap pipe" not in err, err)
    faultless(b, path, 16)
    expect(not os.path.exists(between), "it still listens")
    _, err = wireshark(b, "-i", "atto-relay", "-o", f"{LISTEN}:nowhere", "-o", f"{PEER}:{at}",
                       "-w", path).communicate(timeout=PATIENCE)
    contains(err, "Error by extcap pipe", 'invalid endpoint "nowhere"')
