"""Pairing that cannot reach the wanted level ends the attempt at once, and says what to do next."""
from peers import *

AUTHENTICATED = "0x010E"
# The link is given more time than a step of pairing has.
WANTED = ["--security", "high", "--timeout", "40"]


def refused(peer: str, handle: str) -> None:
    ended = atto("read", peer, handle, *WANTED, status=3)
    print(f"{ended.seconds:.2f} s: {ended.errors.strip()}", flush=True)
    check("no advertisement" not in ended.errors, ended)
    check("pairing with" in ended.errors and "--io" in ended.errors, ended)
    # By the failure, not by the end of the time.
    check(ended.seconds < 30, ended)


for capability in ["display", "keyboard", "yes-no"]:
    with Server("edges", "--io", capability, listen="le:@hci1"):
        refused(endpoint(), AUTHENTICATED)
        control.await_no_connections()
        # On demand the first step is Just Works, and a second is not tried.
        ended = atto("read", endpoint(), AUTHENTICATED, "--security", "auto", status=1)
        check("neither show nor enter" in ended.errors, ended)
    forget_bonds()

# A peer that keeps the link when pairing fails: this kernel does not end it either.
with BumbleAir(1, "--display", host=True) as air:
    refused(air.endpoint(None, 0), "0x0003")
