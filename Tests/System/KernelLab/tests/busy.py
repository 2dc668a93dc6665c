"""A second client socket to the same peer is refused at once, with a reason."""
from peers import *

with Server("heart-rate"):
    first = client("subscribe", endpoint(), "0x0012", "--json", "--for", "20")
    first.line()
    second = atto("read", endpoint(), "0x0003", status=3)
    check(second.seconds < 10, second)
    check("another" in second.errors and "bluetoothd" in second.errors, second)
    first.signal(signal.SIGINT)
    first.wait()
