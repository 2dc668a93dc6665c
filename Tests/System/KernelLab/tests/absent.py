"""Connecting to a peer that is absent, or has the other kind of address, ends in time with a reason."""
from peers import *

for target in (endpoint(), endpoint(kind="/random")):
    if "random" in target:
        advertise(1)
    found = atto("read", target, "0x0003", "--timeout", "2", status=3)
    # The time that was set, and not the kernel's 20 s or 40 s; on a busy machine the command alone
    # takes seconds to begin.
    check(1.9 < found.seconds < 20, found)
    check("timed out after 2" in found.errors, found)

# An attempt that is given up lets the next one begin.
waiting = client("read", endpoint(kind="/random"), "0x0003")
time.sleep(0.5)
waiting.signal(signal.SIGINT)
start = time.monotonic()
waiting.wait()
check(time.monotonic() - start < 20, "Ctrl-C ends an attempt")
with Server("heart-rate"):
    atto("read", endpoint(), "0x0003")

missing = atto("read", f"le:{ADDRESSES[1]}@hci9", "0x0003", status=3)
check("no such adapter" in missing.errors, missing)
