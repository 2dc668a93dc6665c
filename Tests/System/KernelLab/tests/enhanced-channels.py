"""What the kernel does with the channels of enhanced ATT bearers, as the page of AttoLinks says."""
import errno
import select

from enhanced import *
from peers import *

require_enhanced_channels()

def error(body) -> int:
    try:
        body()
    except OSError as failure:
        return failure.errno
    return 0


agent = Process(sys.executable, "-B", mgmt.__file__, "agent")
agent.line()
listening = Listener(1)
fixed = Bearer.connect()
fixed_peer = listening.accept()
listener = bound(1, SPSM, 300)
listener.listen(8)
check(error(lambda: bound(1, SPSM)) == errno.EADDRINUSE)

# One request each: what is sent on a channel is answered on it.
near, far = [], []
for _ in range(5):
    near.append(bound(0))
    connect(near[-1])
    far.append(accept(listener))
check(mtus(near[0]) == (300, 200) and mtus(far[0]) == (200, 300), mtus(near[0]))
check(far[0].getsockopt(SOL_BLUETOOTH, BT_SECURITY, 2)[0] == MEDIUM)
for number, (one, other) in enumerate(zip(near, far)):
    one.send(bytes([number]) * 10)
    other.send(receive(other) + b"!")
    check(receive(one) == bytes([number]) * 10 + b"!", number)

# Lengths, and reconfiguration.
check(error(lambda: near[0].send(bytes(301))) == errno.EMSGSIZE)
near[0].setsockopt(SOL_BLUETOOTH, BT_RCVMTU, struct.pack("<H", 500))
deadline = time.monotonic() + PATIENCE
while mtus(far[0])[0] != 500:
    check(time.monotonic() < deadline, mtus(far[0]))
far[0].send(bytes(500))
check(len(receive(near[0])) == 500)
smaller = struct.pack("<H", 100)
check(error(lambda: near[0].setsockopt(SOL_BLUETOOTH, BT_RCVMTU, smaller)) == errno.EINVAL)
check(mtus(near[0])[1] == 500 and mtus(far[0])[0] == 500)
check(error(lambda: connect(bound(0, mtu=63))) == errno.ECONNREFUSED)

# Nothing is read: few PDUs are accepted. What was accepted arrives.
near[1].setblocking(False)
sent = 0
while error(lambda: near[1].send(bytes(200))) == 0:
    sent += 1
    check(sent < 1000, "there is no flow control")
for _ in range(sent):
    check(len(receive(far[1])) == 200)
print(f"unread, the kernel accepts {sent} PDUs of 200 octets")

# One ends. The others go on, and so does the ATT channel.
far[2].close()
check(receive(near[2]) == b"")
check(error(lambda: near[2].send(b"1")) in (errno.ENOTCONN, errno.ECONNRESET))
for number in (0, 1, 3, 4):
    far[number].send(bytes([number]))
    check(receive(near[number]) == bytes([number]))
fixed.send(b"\x0A\x03\x00")
check(fixed_peer.receive() == b"\x0A\x03\x00")

# Several channels in one request, as no code of ours opens them. A kernel that does this well would be
# worth an end of one request for each.
group = [bound(0) for _ in range(3)]
for made in group:
    made.setblocking(False)
for made in group[:-1]:
    made.setsockopt(SOL_BLUETOOTH, BT_DEFER_SETUP, struct.pack("<I", 1))
for made in group:
    check(error(lambda: connect(made)) in (0, errno.EINPROGRESS))
others = [accept(listener) for _ in group]
for number, made in enumerate(group):
    check(select.select([], [made], [], PATIENCE)[1], "a channel of the group does not open")
    made.send(bytes([number]))
for other in others:
    other.send(receive(other))
echoed = [receive(made)[0] for made in group]
print("a group's requests 0, 1, 2 are answered on", echoed)
check(sorted(echoed) == [0, 1, 2], echoed)

# Switched off.
PARAMETER.write_text("0")
try:
    check(error(lambda: bound(0)) == errno.ENOPROTOOPT)
finally:
    PARAMETER.write_text("1")
agent.end()
