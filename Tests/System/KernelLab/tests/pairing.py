"""Just Works pairing by the two commands alone; pairing and unpairing by command."""
from peers import *

ENCRYPTED = "0x010A"

with Server("edges", listen="le:@hci1") as server:
    refused = atto("read", endpoint(), ENCRYPTED, status=1)
    check("Insufficient" in refused.errors, refused)
    found = atto("read", endpoint(), ENCRYPTED, "--security", "medium", "--json")
    check(found.objects()[0]["value"] == "14", found)
    print(f"paired and read in {found.seconds:.2f} s")
    control.disconnect_all(0)
    control.await_no_connections()
    found = atto("read", endpoint(), ENCRYPTED, "--security", "medium", "--json")
    print(f"read with the stored key in {found.seconds:.2f} s")

    # Forgotten at both ends, they pair again.
    atto("unpair", endpoint())
    atto("unpair", endpoint(server=0, client=1))
    control.await_no_connections()
    missing = atto("unpair", endpoint(), status=3)
    check("not paired" in missing.errors, missing)
    paired = atto("pair", endpoint(), "--json")
    lines = paired.objects()
    print(f"paired in {paired.seconds:.2f} s: {[line.get('key') for line in lines]}")
    check(lines[-1]["event"] == "paired", lines)
    check(any("long term key" in line.get("key", "") for line in lines), lines)
    atto("unpair", endpoint())
    atto("unpair", endpoint(server=0, client=1))
