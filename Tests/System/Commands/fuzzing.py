"""fuzz: hostile PDUs, a peer that survives them, and two that do not."""

from harness import contains, equal, expect, test


@test("fuzz: our server survives the catalogue and random PDUs, which repeat with the seed")
def survives(b):
    _, at = b.serve("edges.json")
    runs = [b.run("fuzz", at, "--seed", 3, "--count", 2000, "--allow-writes", "--json")
            for _ in range(2)]
    for ended in runs:
        equal((ended.code, ended.err), (0, ""))
    first, second = (ended.json[0] for ended in runs)
    equal(first, second)
    equal((first["result"], first["unanswered"]), ("survived", 0))
    expect(first["attacks"] >= 50 and first["pdus"] > 2000, f"{first}")


def error_for(pdu):
    """A server without attributes: Invalid Handle for every request."""
    return [f"01{pdu[:2]}{pdu[2:6].ljust(4, '0')}01"]


@test("fuzz: a peer that closes the connection is distinguished from a dead one; the transcript plays again")
def closes(b):
    # It takes an empty PDU for the end of the connection.
    peer = b.peer(error_for)
    saved = b.path("death.att")
    ended = b.run("fuzz", peer.endpoint, "--catalogue", "empty", "--save", saved, "--timeout", 1)
    equal(ended.code, 4)
    contains(ended.err, "closed the connection, but responds on a new one")
    contains(ended.out, "FUZZ/empty")
    # The same PDUs again: this peer fails, ours does not.
    equal(b.run("play", peer.endpoint, saved, "--timeout", 1).code, 4)
    _, at = b.serve("heart-rate.json")
    equal(b.run("play", at, saved).code, 0)


@test("fuzz: a peer that stops responding, and wrong arguments")
def silent(b):
    seen = []

    def answer(pdu):
        seen.append(pdu)
        return error_for(pdu) if len(seen) < 20 else None

    peer = b.peer(answer)
    ended = b.run("fuzz", peer.endpoint, "--catalogue", "unsolicited", "--count", 200,
                  "--timeout", 0.5, "--json")
    equal(ended.code, 4)
    contains(ended.err, "does not respond")
    equal(ended.json[0]["result"], "dead")
    b.refuses(2, ["unknown attack", "hint: --catalogue list"], "fuzz", peer.endpoint, "--catalogue", "H99")
    b.refuses(3, ["no such socket"], "fuzz", f"unix:{b.path('none')}")


@test("fuzz: a peer that never responds is not reported as the result of an attack")
def never(b):
    mute = b.peer(lambda pdu: [], name="mute")
    ended = b.refuses(3, ["no attack was run", "0401000100", "no response"], "fuzz", mute.endpoint,
                      "--timeout", 0.3)
    equal(mute.heard(), ["0401000100"])
    expect("connection was lost" not in ended.err, f"{ended}")
    shut = b.peer(lambda pdu: ["close"], name="shut")
    b.refuses(3, ["no attack was run", "disconnected"], "fuzz", shut.endpoint)
