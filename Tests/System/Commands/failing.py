"""Failures as JSON: with --json, the last line on standard error is one object."""

import json
from signal import SIGINT

from harness import contains, equal, expect, script, test

NOBODY = "unix:/tmp/atto-nobody-here"


def failure(ended, kind, status):
    """The object on the last line of standard error."""
    lines = ended.err.splitlines()
    expect(lines, f"no error: {ended}")
    found = json.loads(lines[-1])
    equal(sorted(found), ["error"])
    error = found["error"]
    equal((error["kind"], error["status"], ended.code), (kind, status, status), repr(ended))
    expect(error["message"], f"no message in {error}")
    objects = [line for line in lines if line.startswith("{")]
    equal(len(objects), 1, f"objects in {lines}")
    return error


@test("failing: an ATT error in JSON has its code, name, handle and request")
def att(b):
    _, at = b.serve("heart-rate.json")
    ended = b.run("read", at, "0x0FFF", "--json")
    equal(failure(ended, "att", 1), {
        "kind": "att", "status": 1, "code": 1, "name": "Invalid Handle", "handle": 0x0FFF,
        "request": 10, "message": "the peer answered Invalid Handle (0x01) for Read Request (0x0A)"
                                  " at handle 0x0FFF"})
    equal((ended.out, len(ended.err.splitlines())), ("", 1))
    peer = b.peer(script(("0a0300", "010a0300e7")))
    error = failure(b.run("read", peer.endpoint, 3, "--json"), "att", 1)
    equal((error["code"], error["handle"], "name" in error), (0xE7, 3, False))


@test("failing: a wrong command line is reported in JSON without the usage")
def usage(b):
    for words in (["read", NOBODY, "5", "--wrong", "--json"], ["servces", "--json"],
                  ["read", NOBODY, "x", "--js"], ["demo", "more", "--json"],
                  ["read", "tcp:x", "5", "--json"]):
        ended = b.run(*words)
        failure(ended, "usage", 2)
        equal((ended.out, len(ended.err.splitlines())), ("", 1), " ".join(words))
    error = failure(b.run("nonsense", "--json"), "usage", 2)
    equal(error["hints"], ["atto --help lists the commands"])
    # What follows -- is no option.
    contains(b.run("read", NOBODY, "x", "--", "--json").err, "usage: atto read")


@test("failing: the kinds of failure in JSON")
def kinds(b):
    failure(b.run("read", NOBODY, "5", "--json"), "link", 3)
    error = failure(b.run("read", NOBODY, "5", "--json", "--capture", b.path("none/x.btsnoop")), "file", 2)
    contains(error["message"], "cannot write", "none/x.btsnoop")
    failure(b.run("serve", b.file("bad.json", "{"), "--listen", "air:", "--json"), "file", 2)
    silent = b.peer(lambda pdu: None, name="silent").endpoint
    failure(b.run("read", silent, 5, "--json", "--timeout", "0.1"), "timeout", 3)
    failure(b.run("read", silent, 5, "--json", "--max-time", "0.1"), "timeout", 3)
    wrong = b.peer(lambda pdu: ["0d00"], name="wrong").endpoint
    failure(b.run("read", wrong, 5, "--json"), "peer", 3)
    _, at = b.serve("heart-rate.json")
    failure(b.run("subscribe", at, "0x0012", "--count", 9, "--for", "0.1", "--json"), "check", 4)
    error = failure(b.run("read", "air:Nobody", 5, "--timeout", "0.1", "--json"), "link", 3)
    equal(error["hints"], ["atto scan air: lists the radios on the air"])


@test("failing: an interrupted command says so in JSON, after its notes")
def interrupted(b):
    silent = b.peer(lambda pdu: None).endpoint
    running = b.start("read", silent, 5, "--json")
    running.line("waiting", where="err")
    ended = running.stop(SIGINT)
    equal(failure(ended, "interrupted", 3)["message"], "interrupted")


@test("failing: a file or a standard output that cannot be written is reported in JSON, once")
def full(b):
    _, at = b.serve("heart-rate.json")
    with open("/dev/full", "w") as full:
        running = b.start("read", at, "0x0003", "--json", stdout=full)
        error = failure(running.end(), "file", 2)
    contains(error["message"], "cannot write to standard output: No space left on device")
    ended = b.run("bench", at, "--count", 5, "--report", "/dev/full", "--json")
    contains(failure(ended, "file", 2)["message"], "cannot write /dev/full: No space left on device")
    # The failure that the status stands for is the object. The other is a line before it.
    ended = b.run("conform", at, "--case", "mtu/*", "--junit", "/dev/full", "--json")
    contains(failure(ended, "file", 2)["message"], "cannot write /dev/full")
