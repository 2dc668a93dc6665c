"""A megabyte over an L2CAP channel, by the streams of Apple's framework on the kernel's radio: in
the clear, and at a PSM that wants an encrypted link, for which the two pair."""
from peers import *

for way in ("open", "encrypted"):
    with Example("ChannelPublisher", 0, way) as publisher:
        publisher.expect("^published at (1[3-9][0-9]|12[89]|2[0-9][0-9])$")
        publisher.expect("^advertising")
        with Example("ChannelOpener", 1) as opener:
            print(way, opener.expect("^sent 1048576 octets in .* over a channel")[-1])
            check(opener.wait() == 0, opener.errors)
            check(not opener.errors, opener.errors)
        publisher.expect("^received 1048576 ")
        publisher.expect("^the channel has ended: ")
        check(not publisher.errors, publisher.errors)
    # The kernel keeps a link for some time after its last user; the next one would meet its end.
    control.await_no_connections()
