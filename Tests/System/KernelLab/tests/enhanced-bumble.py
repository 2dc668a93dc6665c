"""Channels of enhanced bearers between the kernel's sockets and Bumble: opened by either."""
from enhanced import *
from peers import *

require_enhanced_channels()

READ = 0x0A


def read(made: socket.socket, handle: int) -> bytes:
    made.send(struct.pack("<BH", READ, handle))
    response = receive(made)
    check(response[0] == READ + 1, response.hex())
    return response[1:]


def fixed_channel(device: str, psm: int = 0) -> bytes:
    octets = bytes.fromhex(device.replace(":", ""))[::-1]
    return struct.pack("<HH6sHBx", mgmt.AF_BLUETOOTH, psm, octets, ATT_CID, LE_PUBLIC)


agent = Process(sys.executable, "-B", mgmt.__file__, "agent")
agent.line()
with BumbleAir(1, "--eatt", host=True) as air:
    # Bumble asks for five with one request. What comes on a channel is answered on it.
    listening = socket.socket(mgmt.AF_BLUETOOTH, socket.SOCK_SEQPACKET, 0)
    local = fixed_channel(air.addresses[0])
    checked(libc.bind(listening.fileno(), local, len(local)))
    listening.listen(4)
    listener = bound(air.addresses[0], SPSM, 300)
    listener.listen(8)
    control.advertise(air.indexes[0])
    air.say(f"eatt 5 0003 {air.addresses[0]}")
    fixed = accept(listening)
    channels = [accept(listener) for _ in range(5)]
    requests = [receive(made) for made in channels]
    check(all(request == b"\x0A\x03\x00" for request in requests), requests)
    # In another order than they came in.
    for number in (3, 0, 4, 1, 2):
        channels[number].send(bytes([READ + 1, number]))
    values = air.event("read in parallel")["values"]
    check(values == [f"{number:02x}" for number in range(5)], values)
    print("Bumble's five bearers were answered on the kernel's channels")
    for made in [fixed, listener, listening, *channels]:
        made.close()
    control.stop_advertising(air.indexes[0])
    control.await_no_connections()

    # The kernel asks for three, one request each, after pairing by the security of the socket.
    fixed = socket.socket(mgmt.AF_BLUETOOTH, socket.SOCK_SEQPACKET, 0)
    checked(libc.bind(fixed.fileno(), local, len(local)))
    fixed.setsockopt(SOL_BLUETOOTH, BT_SECURITY, struct.pack("<BB", MEDIUM, 0))
    peer = fixed_channel(air.host)
    checked(libc.connect(fixed.fileno(), peer, len(peer)))
    channels = []
    for _ in range(3):
        channels.append(bound(air.addresses[0]))
        connect(channels[-1], air.host)
    names = {read(made, 0x0003) for made in channels}
    check(names == {b"Bumble"}, names)
    for made in channels:
        made.send(struct.pack("<BH", READ, 0x0003))
    check([receive(made) for made in channels] == [b"\x0BBumble"] * 3)
    channels[1].close()
    check(read(channels[0], 0x0003) == read(channels[2], 0x0003) == read(fixed, 0x0003) == b"Bumble")
    print("Bumble's server answered on three channels of the kernel, and on two and the fixed one")
agent.end()
