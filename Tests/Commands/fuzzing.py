"""fuzz: hostile PDUs, a peer that survives them, and two that do not."""

from harness import contains, equal, expect, test


@test("fuzz: our server survives the catalogue and PDUs by seed, the same each time")
def survives(b):
    _, at = b.serve("edges.json")
    runs = [b.run("fuzz", at, "--seed", 3, "--count", 2000, "--allow-writes", "--json", within=60)
            for _ in range(2)]
    for ended in runs:
        equal((ended.code, ended.err), (0, ""))
    first, second = (ended.json[0] for ended in runs)
    equal(first, second)
    equal((first["result"], first["unanswered"]), ("survived", 0))
    expect(first["attacks"] >= 50 and first["pdus"] > 2000, f"{first}")


def error_for(pdu):
    """What a server without attributes says: Invalid Handle to everything that wants an answer."""
    return [f"01{pdu[:2]}{pdu[2:6].ljust(4, '0')}01"]


@test("fuzz: a peer that closes the link is told from one that is dead; the transcript plays again")
def closes(b):
    # It takes an empty PDU for the end of the link.
    peer = b.peer(error_for)
    saved = b.path("death.att")
    ended = b.run("fuzz", peer.endpoint, "--catalogue", "empty", "--save", saved, "--timeout", 1)
    equal(ended.code, 4)
    contains(ended.err, "closed the link, but answers on a new one")
    contains(ended.out, "FUZZ/empty")
    # The same PDUs again: this peer falls, ours does not.
    equal(b.run("play", peer.endpoint, saved, "--timeout", 1).code, 4)
    _, at = b.serve("heart-rate.json")
    equal(b.run("play", at, saved).code, 0)


@test("fuzz: a peer that falls silent, and words that make no sense")
def silent(b):
    seen = []

    def answer(pdu):
        seen.append(pdu)
        return error_for(pdu) if len(seen) < 20 else None

    peer = b.peer(answer)
    ended = b.run("fuzz", peer.endpoint, "--catalogue", "unsolicited", "--count", 200,
                  "--timeout", 0.5, "--json", within=60)
    equal(ended.code, 4)
    contains(ended.err, "answers no more")
    equal(ended.json[0]["result"], "dead")
    b.refuses(2, ["no attack", "list lists them"], "fuzz", peer.endpoint, "--catalogue", "H99")
    b.refuses(3, ["no such socket"], "fuzz", f"unix:{b.path('none')}")


@test("fuzz: of a peer that never answers, nothing is said that an attack did")
def never(b):
    mute = b.peer(lambda pdu: [], name="mute")
    ended = b.refuses(3, ["nothing was attacked", "0401000100", "silent"], "fuzz", mute.endpoint,
                      "--timeout", 0.3)
    equal(mute.heard(), ["0401000100"])
    expect("link was lost" not in ended.err, f"{ended}")
    shut = b.peer(lambda pdu: ["close"], name="shut")
    b.refuses(3, ["nothing was attacked", "disconnected"], "fuzz", shut.endpoint)
