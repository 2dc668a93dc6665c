"""bench: what it says about its results, and which of them are failures."""

from harness import contains, equal, test


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
