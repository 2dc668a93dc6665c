"""Enhanced bearers between atto and Bumble, opened by either, and peers that do not offer or answer."""
from enhanced import require_enhanced_channels
from peers import *

require_enhanced_channels()

# Phones: one offers no enhanced bearers, one shows a question which nobody answers, one has a single bearer.
PLAIN, SILENT, SCARCE = (f"00:BB:02:00:01:{number:02X}" for number in (1, 2, 3))
PHONES = [{"name": "Plain", "address": PLAIN, "silent": True},
          {"name": "Silent", "address": SILENT, "silent": True, "eatt": True},
          {"name": "Scarce", "address": SCARCE, "eatt": 1}]

with BumbleAir(1, "--eatt", "--devices", json.dumps(PHONES), host=True) as air:
    to = air.endpoint(None, 0)
    found = atto(
        "read", to, "2A00", "--bearers", 3, "--security", "medium", "--link-info", "--trace")
    check("Bumble" in found.output, found)
    shown = re.search(r"^bearers: 0 \(MTU 23\)((?:, [1-3] \(MTU \d+\)){3})$", found.errors, re.M)
    check(shown is not None, found)
    check(re.search(r"^\S+ <1 ", found.errors, re.M) is not None, found)
    print(shown[0])
    control.await_no_connections()

    # Bumble asks for five with one request, and reads on all.
    with Server("heart-rate", "--bearers", "5", listen=air.listen(0)) as server:
        air.say(f"eatt 5 0003 {air.addresses[0]}")
        values = air.event("read in parallel")["values"]
        check(values == [b"Atto Strap".hex()] * 5, values, server.errors)
        print("Bumble read on five bearers of atto's server")
        control.await_no_connections()

        # A listener that defers its answers lets a peer write past the end of its response with requests
        # of LE credit-based flow control at the SPSM of EATT. atto's does not.
        air.say(f"coc 39 8 {air.addresses[0]}")
        print("channels of LE credit-based flow control:", air.event("channels")["results"])
        control.await_no_connections()
        air.say(f"eatt 5 0003 {air.addresses[0]}")
        values = air.event("read in parallel")["values"]
        check(values == [b"Atto Strap".hex()] * 5, values, server.errors)
    control.await_no_connections()

    def phone(address: str) -> str:
        return f"le:{address}@hci{air.indexes[0]}"

    # The habit of small devices: one bearer of MTU 128, and no room for another.
    found = atto(
        "read", phone(SCARCE), "2A00", "--bearers", 2, "--security", "medium", "--link-info")
    print(found.errors)
    check("Scarce" in found.output, found)
    check("only 1 of 2 enhanced bearers" in found.errors and "1 (MTU 128)" in found.errors, found)
    control.await_no_connections()

    # Who offers none is not asked to pair, and who does only with --bearers. Otherwise such phones drop the
    # link when the 30 s of pairing are over.
    found = atto("read", phone(PLAIN), "2A00", "--bearers", 2)
    check("Plain" in found.output and "does not offer enhanced bearers" in found.errors, found)
    control.await_no_connections()
    check("Silent" in atto("read", phone(SILENT), "2A00").output)
    control.await_no_connections()
    asked = atto("read", phone(SILENT), "2A00", "--bearers", 2, "--timeout", 3, status=3)
    air.event("asked to pair")
    print(asked.errors)
    check(asked.seconds < 25, asked)
