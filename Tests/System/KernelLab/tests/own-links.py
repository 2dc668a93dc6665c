"""Each case of `atto conform`, and each attack of `atto fuzz`, has a link of its own at le:.

The kernel keeps a link for two seconds after its last socket. Cases whose connections follow each other at once
would share one, and what a case leaves behind would be held against the next.

Each connection waits for an advertisement. Bumble's controllers send theirs again and again, unlike btvirt's.
"""
from peers import *

# What a shared link breaks: the ATT_MTU, the features and the prepared parts of an earlier case.
SHARED = ["mtu/used", "mtu/small", "read/blob", "gatt/features", "queue/link"]
# What needs a second link to the server.
SECOND = ["links/second", "links/mtu", "write/configuration"]
NOBODYS = "/run/tmp/atto-of-nobody"


def served(air: BumbleAir) -> Server:
    return Server("bench", path=f"{FIXTURES}/transcripts/bench.json", listen=air.listen(1))


def conform(air: BumbleAir, cases: list, *prefix: str) -> tuple[dict, int, str]:
    """The outcomes by case, the server's links, and what was said."""
    with served(air) as server:
        words = [word for case in cases for word in ("--case", case)]
        done = run(
            [*prefix, NOBODYS if prefix else ATTO, "conform", air.endpoint(1, 0), "--allow-writes", "--json",
             # How long a case waits for silence too.
             "--timeout", "20", *words])
        found = {one["case"]: one for one in done.objects() if "case" in one}
        links = len(server.events("connected", quiet=1.0))
    print({name: one["outcome"] for name, one in found.items()}, links, "links", done.errors.strip())
    return found, links, done.errors


with BumbleAir(2) as air:
    found, links, said = conform(air, [*SHARED, *SECOND])
    check(all(found[case]["outcome"] == "passed" for case in SHARED), "not all passed")
    check(all(found[case]["outcome"] == "skipped" and "one link" in found[case]["reason"] for case in SECOND),
          {case: found[case]["outcome"] for case in SECOND})
    check(links > len(found) and "waits" not in said, links, said)

    # Without the capability, each waits until the kernel has ended the link before.
    run(["cp", ATTO, NOBODYS])
    os.chmod(NOBODYS, 0o755)
    os.chmod("/run/tmp", 0o755)
    found, links, said = conform(
        air, SHARED[:3], "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    check(all(found[case]["outcome"] == "passed" for case in SHARED[:3]), "not all passed")
    check(said.count("waits 3") == 1 and "cap_net_admin" in said, said)

    with served(air) as server:
        done = atto("fuzz", air.endpoint(1, 0), "--catalogue", "empty", "--catalogue", "pipelined", "--count", 5)
        links = len(server.events("connected", quiet=1.0))
        print(done.output.strip(), links, "links")
        # The first probe, two attacks and the random PDUs.
        check(links == 4, links)
