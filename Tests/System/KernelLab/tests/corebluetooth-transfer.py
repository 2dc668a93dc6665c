"""A megabyte without response, with no timer and no pauses: nothing is lost."""
from peers import *

with Example("TransferReceiver", 0) as receiver:
    receiver.expect("^waiting")
    with Example("TransferSender", 1) as sender:
        print(sender.expect("^sent 1048576 octets in .* none lost")[-1])
        check(sender.wait() == 0, sender.errors)
        check(not sender.errors, sender.errors)
    receiver.expect("^received 1048576 ")
