"""Every command ends: --max-time, peers that answer just in time, and floods."""

import os
import re
import select
import time

from harness import PATIENCE, contains, equal, expect, script, test

COMMANDS = ["demo", "serve", "discover", "services", "includes", "characteristics", "descriptors",
            "read", "write", "subscribe", "raw", "play", "conform", "fuzz", "decode", "capture",
            "bench", "link", "adapters", "scan", "advertise", "pair", "unpair", "update", "bonds", "channel",
            "doctor", "completion", "man", "session", "extcap", "btp"]


@test("ending: every command has --max-time")
def everywhere(b):
    listed = re.findall(r"^  ([a-z]+)  ", b.run("--help").out, re.M)
    equal(sorted(listed), sorted(COMMANDS))
    for name in COMMANDS:
        contains(b.run(name, "--help").out, "--max-time SECONDS")
        b.refuses(2, ["--max-time", "more than 0"], name, "--max-time", "0")


@test("ending: --max-time ends a command that waits, with status 3 and what it was doing")
def waiting(b):
    mute = b.peer(lambda pdu: [])
    full = b.path("full")
    transcript = b.file("t.att", "# ONE/one\n> 0a 01 00\n< 0b\n")
    fifo = b.path("fifo")
    os.mkfifo(fifo)
    writer = os.open(fifo, os.O_RDWR)
    for words, activity in (
            (["discover", mute.endpoint], "response to Read By Group Type Request (0x10)"),
            (["read", mute.endpoint, "3"], "response to Read Request (0x0A)"),
            (["subscribe", mute.endpoint, "3"], "response to Find Information Request (0x04)"),
            (["raw", mute.endpoint, "0a0300"], "response to Read Request (0x0A)"),
            (["raw", mute.endpoint, "ff", "--for", "60"], "listening"),
            (["bench", mute.endpoint], "response to Read By Group Type Request (0x10)"),
            (["conform", mute.endpoint, "--timeout", "60"], "survey/database"),
            (["play", mute.endpoint, transcript], "ONE/one"),
            (["discover", "air:Nobody"], "connecting to air:Nobody"),
            (["channel", "air:Nobody", "--psm", "128"], "connecting to air:Nobody"),
            (["decode", fifo], ""),
            (["channel", "--listen", "air:Here"], "")):
        ended = b.run(*words, "--max-time", "0.4")
        equal(ended.code, 3, f"{words}: status ({ended.err})")
        contains(ended.err, f"atto {words[0]}: stopped after 0.4 s (--max-time)", activity)
        expect("hint" not in ended.err or "air:" in str(words), ended)
    os.close(writer)


@test("ending: --max-time is a normal end of a command that runs until it is ended")
def open_ended(b):
    for words in (["serve", b.file("p.json", {"services": []}), "--listen", "air:Here"],
                  ["scan", "air:"], ["advertise", "air:There"],
                  ["advertise", "air:Open", "--connectable"],
                  ["capture", "--listen", "air:Between", "air:Nobody"]):
        ended = b.run(*words, "--max-time", "0.4")
        equal(ended.code, 0, f"{words}: status ({ended.err})")
        contains(ended.err, f"atto {words[0]}: ended after 0.4 s (--max-time)")
    # Before it has begun, nothing was done; too few values are a failed check.
    mute = b.peer(lambda pdu: [])
    b.refuses(3, ["--max-time"], "subscribe", mute.endpoint, "3", "--max-time", "0.3")
    quiet = b.peer(script(("1204000100", "13"), ("1204000000", "13")), name="quiet")
    b.refuses(4, ["received 0 of 2 values"], "subscribe", quiet.endpoint, "3", "--cccd", "4",
              "--count", "2", "--max-time", "0.3")
    ended = b.run("subscribe", quiet.endpoint, "3", "--cccd", "4", "--max-time", "0.3")
    equal(ended.code, 0, ended)


def one_by_one(seconds):
    """A server with a service, a characteristic and a descriptor for each handle that is asked for,
    each answer so late."""

    def answer(pdu):
        time.sleep(seconds)
        start = pdu[2:6]
        return {"10": [f"1106{start}{start}0d18"], "08": [f"0903{start}05"],
                "04": [f"0501{start}0129"]}.get(pdu[:2])

    return answer


@test("ending: a server that answers just before the timeout is bounded by --max-time")
def just_in_time(b):
    slow = b.peer(one_by_one(0.1))
    for words in (["discover"], ["services"], ["descriptors", "1-65535"], ["read", "--uuid", "2a00"],
                  ["bench", "--test", "discover"]):
        ended = b.run(words[0], slow.endpoint, *words[1:], "--timeout", "2", "--max-time", "0.6")
        equal(ended.code, 3, f"{words}: {ended}")
        contains(ended.err, "stopped after 0.6 s (--max-time): waiting for the response to")


@test("ending: a long discovery shows its progress on a terminal")
def progress(b):
    slow = b.peer(one_by_one(0.1))
    text, ended = b.on_terminal("services", slow.endpoint, "--max-time", "1.5")
    equal(ended.code, 3)
    expect(re.search(r"discovering: handle 0x000[3-9] of 0xFFFF", text), repr(text))
    contains(text, "stopped after 1.5 s")
    text, _ = b.on_terminal("services", slow.endpoint, "--max-time", "1", "--json")
    expect("discovering" not in text, repr(text))


def flooding(pdus):
    """A peer that answers a request and then sends without end."""

    def answer(pdu):
        yield f"0b{pdu[2:]}"
        while True:
            yield from pdus

    return answer


@test("ending: raw --for ends under a flood, with the example of its help")
def flood(b):
    contains(b.run("raw", "--help").out, "0a1500", "--for 5")
    peer = b.peer(flooding(["1b03000102"] * 64))
    ended = b.run("raw", peer.endpoint, "0a0300", "--for", "0.3", "--json")
    equal((ended.code, ended.err), (0, ""))
    expect(len(ended.lines) > 10, f"{len(ended.lines)} lines")
    # The response never comes: the time for it does not begin anew with each PDU.
    peer = b.peer(lambda pdu: iter(lambda: "1b03000102", None), name="without")
    ended = b.run("raw", peer.endpoint, "0a0300", "--timeout", "0.3")
    equal(ended.code, 3)
    contains(ended.err, "no response to Read Request (0x0A) in time")
    ended = b.run("raw", peer.endpoint, "0a0300", "--max-time", "0.3")
    equal(ended.code, 3)
    contains(ended.err, "--max-time")


@test("ending: --max-time ends a command whose output nobody reads")
def blocked(b):
    peer = b.peer(flooding(["1b03000102"] * 64))
    read, write = os.pipe()
    running = b.start("raw", peer.endpoint, "0a0300", "--for", "60", "--max-time", "0.5",
                      stdout=write)
    os.close(write)
    expect(select.select([read], [], [], PATIENCE)[0], "no output")
    ended = running.end()
    equal(ended.code, 3, ended)
    os.close(read)


@test("ending: an error that names another request, and limits that are not the peer's fault")
def faults(b):
    peer = b.peer(lambda pdu: ["01120300" + "0a"])
    ended = b.refuses(3, ["answered Read Request (0x0A) with an Error Response that names"
                          " Write Request (0x12)"], "read", peer.endpoint, "3")
    expect("broke" not in ended.err, ended)
