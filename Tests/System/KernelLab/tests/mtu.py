"""Responses with and without an MTU exchange. None takes place unless it is requested."""
from peers import *

with Server("edges") as server:
    # From the second on the link is the one before's, which the kernel keeps for a while.
    for offered, wanted in [(None, 23), (23, 23), (24, 24), (64, 64), (247, 247), (517, 517)]:
        words = ["raw", endpoint(), "0a3500", "--json", "--for", "0.01"]
        if offered:
            words += ["--mtu", offered]
        pdus = [bytes.fromhex(line["pdu"]) for line in atto(*words).objects()]
        read = pdus[-1]
        check(read[0] == 0x0B and len(read) == min(wanted, 513), offered, len(read))
        check(len(pdus) == (4 if offered else 2), pdus)
    # The kernel's channel carries 672 octets; a larger offer is answered with the server's.
    pdus = atto("raw", endpoint(), "0a3500", "--json", "--mtu", 65535).objects()
    check(pdus[1]["pdu"] == "030502", pdus[1])

reset()
with Server("heart-rate"):
    lines = atto("raw", endpoint(), "02ffff", "--json").objects()
    check(lines[1]["pdu"] == "03f700", "the profile's own MTU is 247", lines)
