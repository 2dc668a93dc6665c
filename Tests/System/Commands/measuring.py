"""bench: what it says about its results, and which of them are failures."""

import json
import re
import struct

from harness import contains, equal, expect, test


@test("bench: ping asks for a handle that exists, and an error is no round trip")
def ping(b):
    FIRST, AGAIN = "040100ffff", "0410001000"
    found = "0501100000281100032812000029"
    errors = []
    peer = b.peer(lambda pdu: [found] if pdu == FIRST else ["050110000028"])
    ended = b.run("bench", peer.endpoint, "--test", "ping", "--count", 9, "--warm-up", 0, "--json")
    equal((ended.code, ended.err, ended.json[0]["count"]), (0, "", 9))
    equal(peer.heard(), [FIRST] + 9 * [AGAIN])

    def failing(pdu):
        if pdu == FIRST:
            return [found]
        errors.append(pdu)
        return ["050110000028"] if len(errors) < 4 else ["010410000e"]

    peer = b.peer(failing, name="failing")
    ended = b.run("bench", peer.endpoint, "--test", "ping", "--count", 9, "--warm-up", 0, "--json")
    equal(ended.code, 1)
    row = ended.json[0]
    equal((row["count"], row["partial"]), (3, True))
    contains(row["error"], "0x0E", "0x0010")
    # No attributes, and another server's attribute.
    for answer, code, part in [("010401000a", 1, "0x0A"), ("0501000000ff", 3, "0x0000")]:
        peer = b.peer(lambda pdu: [answer], name=answer)
        ended = b.run("bench", peer.endpoint, "--test", "ping", "--count", 9)
        equal(ended.code, code, answer)
        contains(ended.err, part)


@test("bench: --fail-on-loss and --fail-over-p99 fail, also where nothing can be checked")
def checks(b):
    def profile(uuid, **behaviour):
        return {"automatic": False, "services": [{"uuid": uuid, "characteristics": [{
            "uuid": "1524", "properties": ["read", "writeWithoutResponse", "notify"],
            "value": "hex:" + struct.pack("<III", 10, 200, 8000).hex(), "behaviour": behaviour}]}]}

    # It says that it received 10 of 20 writes.
    _, at = b.serve(profile("0483dadd-6c9d-6ca9-5d41-03ad4fff4abb", writeError="0x80"), name="losing")
    losing = ["bench", at, "--test", "write-command", "--count", 20]
    equal(b.run(*losing, "--fail-on-loss", 10, "--fail-over-p99", "1000s", "--fail-under", 0).code, 0)
    ended = b.run(*losing, "--fail-on-loss", 9, "--fail-under", "1e9", "--json")
    equal((ended.code, ended.json[0]["lost"]), (4, 10))
    contains(json.loads(ended.err)["error"]["message"], "rate below 1000000000.0/s: write-command ",
             "; more than 9 values lost: write-command 10")
    _, at = b.serve(profile("180D", notifyEveryMilliseconds=50), name="notifying")
    notify = ["bench", at, "--test", "notify", "--count", 2, "--warm-up", 0]
    ended = b.run(*notify, "--fail-on-loss", 0)
    equal(ended.code, 4)
    contains(ended.err, "atto bench: losses are unknown: notify\n", "hint: losses are known with")
    # The time between two values is never shorter than the timer makes it.
    ended = b.run(*notify, "--fail-over-p99", "10ms")
    equal(ended.code, 4)
    expect(re.search(r"atto bench: p99 over 10 ms: notify \d+(\.\d+)? ms\n", ended.err), ended.err)
    equal(b.run(*notify, "--fail-over-p99", "900s").code, 0)
    # With all, a peer without values of its own does not end the tests.
    _, at = b.serve(profile("180D"), name="silent")
    ended = b.run("bench", at, "--test", "all", "--for", 0.05, "--warm-up", 0, "--fail-on-loss", 0)
    equal(ended.code, 4)
    contains(ended.err, "losses are unknown: notify; nothing was measured: notify\n")
    for option, value in [("--fail-on-loss", "x"), ("--fail-on-loss", -1), ("--fail-over-p99", 0),
                          ("--fail-over-p99", "fast"), ("--fail-over-p99", "1e9s")]:
        b.refuses(2, [f'invalid value "{value}" for {option}'], "bench", at, option, value)


@test("bench: checks hold for each run of a scenario, also for those that are not kept")
def checked_runs(b):
    listening = b.start("bench", "--listen", "air:Runs", "--scenario", "pong", "--linger", "--over",
                        "channel", "--fail-over-p99", "1us", "--csv")
    listening.line("listening", where="err")
    ended = b.run("bench", "air:Runs", "--scenario", "ping", "--count", 2, "--repeat", 1005,
                  "--repeat-delay", 0, "--over", "channel", "--fail-on-loss", 0, "--fail-over-p99", "1us",
                  "--json")
    equal((ended.code, len(ended.json)), (4, 1006))
    contains(json.loads(ended.err.splitlines()[-1])["error"]["message"], "p99 over 0.001 ms: ping over channel ",
             "ping over channel, run 19 ", "ms, and 986 more")
    ended = listening.end()
    equal(ended.code, 4)
    contains(ended.err, "p99 over 0.001 ms: pong over channel ", ", and 986 more")
