"""Enhanced bearers: --bearers of the clients and of serve, on the virtual air."""

import re

from harness import contains, equal, expect, test


@test("bearers: as many as both ends allow, and each is shown")
def agreed(b):
    for offered, wanted, expected in ((5, 5, 5), (5, 2, 2), (2, 5, 2)):
        name = f"air:Two{offered}{wanted}"
        b.serve("heart-rate.json", "--bearers", offered, endpoint=name)
        ended = b.run("read", name, "2A00", "2A38", "--bearers", wanted, "--link-info", "--trace")
        equal(ended.code, 0, f"status ({ended})")
        shown = re.search(r"^bearers: 0 \(MTU 23\)(.*)$", ended.err, re.M)
        expect(shown is not None, ended.err)
        equal(shown[1], "".join(f", {n} (MTU 247)" for n in range(1, expected + 1)), ended.err)
        contains(ended.err, ">1 ", "<1 ")
        equal("warning: only" in ended.err, expected < wanted, ended.err)


@test("bearers: a peer without them is read over the unenhanced bearer, with a warning")
def refused(b):
    b.serve("heart-rate.json", endpoint="air:Plain")
    ended = b.run("read", "air:Plain", "2A00", "--bearers", 3)
    equal(ended.code, 0, f"status ({ended})")
    contains(ended.err, "warning: no enhanced bearers: the peer does not offer enhanced bearers")
    expect(ended.out != "", "nothing was read")


@test("bearers: no Unix socket has them")
def elsewhere(b):
    b.refuses(2, ["--bearers requires an le: or air: endpoint"], "read", "unix:/tmp/none", "1", "--bearers", 2)
    b.refuses(2, ["--bearers"], "serve", "Fixtures/heart-rate.json", "--listen", "unix:/tmp/none", "--bearers", 2)
    b.refuses(2, ["0 to 5"], "read", "air:X", "1", "--bearers", 6)
    b.refuses(2, ["--bearers cannot be used with fuzz"], "fuzz", "air:X", "--bearers", 2)
