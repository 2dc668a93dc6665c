"""--phy: the kernel is asked for a PHY, and the link's is shown; where the kernel has no choice, that is said. The
emulated controllers have 1M only."""
import errno

from enhanced import SOL_BLUETOOTH
from peers import *

BT_PHY = 14

with socket.socket(mgmt.AF_BLUETOOTH, socket.SOCK_SEQPACKET, 0) as plain:
    try:
        plain.setsockopt(SOL_BLUETOOTH, BT_PHY, struct.pack("@I", 0x600))
        has_choice = True
    except OSError as failure:
        has_choice = failure.errno != errno.ENOPROTOOPT
print("choice of the PHY:", has_choice)

if not has_choice:
    for words in (["read", endpoint(), "0x0003"], ["serve", profile("heart-rate"), "--listen", "le:@hci1"],
                  ["bench", endpoint(), "--count", 1]):
        said = atto(*words, "--phy", "2M", status=3).errors
        check("this kernel cannot choose the PHY of a link (BT_PHY)" in said and "hint: Linux 7.3" in said, said)
    sys.exit()

# A client, and the measurement.
with Server("bench", listen="le:@hci1"):
    told = atto("read", endpoint(), "0x0003", "--phy", "2M").errors
    print(told)
    check("PHY: 2M asked for, 1M in use" in told, told)
    reset()
    told = atto("bench", endpoint(), "--count", 5, "--warm-up", 0, "--phy", "1M").errors
    check("PHY: 1M asked for, 1M in use" in told, told)
    reset()

# A server asks too, serves, and tells what has come of it.
with Server("bench", "--phy", "2M", listen="le:@hci1") as server:
    print(atto("read", endpoint(), "0x0003").output)
    told = server.event("link")
    print(told)
    check(told["phy"] == "1M" and told["peer"] == ADDRESSES[0], told)
