"""One side has deleted its bond: the error, and how to repair it."""
from peers import *

ENCRYPTED = "0x010A"
HINT = f"atto unpair {endpoint()}"


def read(*words, status=0) -> Outcome:
    return atto("read", endpoint(), ENCRYPTED, "--json", *words, status=status)


forget_bonds()
with Server("edges", listen="le:@hci1") as server:
    read("--security", "medium")
    # The server's side forgets.
    atto("unpair", endpoint(server=0, client=1))
    control.await_no_connections()
    for words in (["--security", "medium"], ["--security", "auto"]):
        lost = read(*words, status=3)
        print(lost.errors.strip())
        check("has forgotten the bond" in lost.errors and HINT in lost.errors, lost)
        control.await_no_connections()
    paired = atto("pair", endpoint(), status=3)
    print(paired.errors.strip())
    check("atto unpair" in paired.errors, paired)
    # As the message says.
    atto("unpair", endpoint())
    control.await_no_connections()
    check(read("--security", "auto").objects()[0]["value"] == "14")
    # The client's side forgets: it pairs anew, and the server takes the new key.
    atto("unpair", endpoint())
    control.await_no_connections()
    check(read("--security", "medium").objects()[0]["value"] == "14")
forget_bonds()
# A server that wants encryption itself, of a client that has forgotten, and the other way round.
with Server("edges", "--security", "medium", listen="le:@hci1") as server:
    read("--security", "medium")
    control.disconnect_all(0)
    control.await_no_connections()
    control.forget(1, ADDRESSES[0])
    lost = read("--security", "medium", status=3)
    print(lost.errors.strip())
    check("forgotten" in lost.errors, lost)
forget_bonds()
