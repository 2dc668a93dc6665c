"""Enhanced bearers between atto and Bumble, opened by either."""
# deadline: 180
from peers import *

with BumbleAir(1, "--eatt", host=True) as air:
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
        values = air.event("read in parallel", 60)["values"]
        check(values == [b"Atto Strap".hex()] * 5, values, server.errors)
    print("Bumble read on five bearers of atto's server")
