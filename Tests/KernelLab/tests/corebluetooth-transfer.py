"""A megabyte without response: no timer, no pauses, and nothing is lost, on the kernel's radio."""
# deadline: 180
from peers import *

with Example("TransferReceiver", 0) as receiver:
    receiver.expect("^waiting")
    with Example("TransferSender", 1) as sender:
        print(sender.expect("^sent 1048576 octets in .* none lost", seconds=120)[-1])
        check(sender.wait() == 0, sender.errors)
        check(not sender.errors, sender.errors)
    receiver.expect("^received 1048576 ")
