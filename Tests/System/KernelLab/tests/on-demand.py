"""Security is raised when the peer's answers require it, and only when requested."""
from peers import *

ENCRYPTED, AUTHENTICATED = "0x010A", "0x010E"


forget_bonds()
with Server("edges", "--io", "yes-no", "--yes", listen="le:@hci1") as server:
    refused = atto("read", endpoint(), ENCRYPTED, status=1)
    check("Insufficient Encryption (0x0F)" in refused.errors, refused)
    check("cannot be raised" not in refused.errors, refused)

    # A request, a refusal, the pairing, the same request.
    found = atto("read", endpoint(), ENCRYPTED, "--security", "auto", "--json", "--trace")
    check(found.objects() == [{"handle": 0x10A, "value": "14"}], found)
    check(found.errors.count("> 0a0a01") == 2, found)
    print(f"paired on demand and read in {found.seconds:.2f} s")

    # The key has come without a comparison; to have another, the peers must pair again.
    refused = atto("read", endpoint(), AUTHENTICATED, "--security", "auto", status=1)
    check("can neither show nor enter" in refused.errors, refused)
    # A link keeps the capability that its adapter had when it was made: this one is to be new.
    control.disconnect_all(0)
    control.await_no_connections()
    words = ["--security", "auto", "--io", "yes-no", "--yes", "--json"]
    found = atto("read", endpoint(), AUTHENTICATED, *words)
    check(found.objects()[0]["value"] == "16", found)
    reset()

with Server("edges", "--io", "yes-no", "--yes", listen="le:@hci1") as server:
    # With the bond it takes no questions, whatever has to be raised: writes, too.
    atto("write", endpoint(), "0x0110", "2a", "--security", "auto")
    atto("read", endpoint(), AUTHENTICATED, ENCRYPTED, "--security", "auto")
forget_bonds()

# Without anybody who answers at the server it ends in time, and says what is missing.
with Server("edges", listen="le:") as server:
    control.advertise(1)
    silent = atto("read", endpoint(), ENCRYPTED, "--security", "auto", "--timeout", "4", status=None)
    print(silent.errors.strip())
    check(silent.status == 1 and "was not reached within 4" in silent.errors, silent)
forget_bonds()
