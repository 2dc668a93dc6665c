"""The kernel's sockets for enhanced ATT bearers, used plainly."""

import errno
import select

from peers import *

SOL_BLUETOOTH, BT_SECURITY, BT_DEFER_SETUP, BT_SNDMTU, BT_RCVMTU, BT_MODE = 274, 4, 7, 12, 13, 15
EXT_FLOWCTL, SPSM, MEDIUM = 4, 0x27, 2
PARAMETER = Path("/sys/module/bluetooth/parameters/enable_ecred")


def require_enhanced_channels() -> None:
    """Skips the test on a kernel without them."""
    try:
        bound(0).close()
    except OSError as failure:
        if failure.errno != errno.ENOPROTOOPT:
            raise
        skip("this kernel has no enhanced channels (BT_MODE: Protocol not available)")


def address(device: str, psm: int) -> bytes:
    octets = bytes.fromhex(device.replace(":", ""))[::-1]
    return struct.pack("<HH6sHBx", mgmt.AF_BLUETOOTH, psm, octets, 0, LE_PUBLIC)


def bound(device: int | str, psm: int = 0, mtu: int = 200) -> socket.socket:
    made = socket.socket(mgmt.AF_BLUETOOTH, socket.SOCK_SEQPACKET, 0)
    local = address(ADDRESSES[device] if isinstance(device, int) else device, psm)
    checked(libc.bind(made.fileno(), local, len(local)))
    made.setsockopt(SOL_BLUETOOTH, BT_MODE, bytes([EXT_FLOWCTL]))
    made.setsockopt(SOL_BLUETOOTH, BT_RCVMTU, struct.pack("<H", mtu))
    made.setsockopt(SOL_BLUETOOTH, BT_SECURITY, struct.pack("<BB", MEDIUM, 0))
    made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@qq", PATIENCE, 0))
    return made


def connect(made: socket.socket, device: str = ADDRESSES[1]) -> None:
    peer = address(device, SPSM)
    checked(libc.connect(made.fileno(), peer, len(peer)))


def accept(listener: socket.socket) -> socket.socket:
    check(select.select([listener], [], [], PATIENCE)[0], "no channel")
    return socket.socket(fileno=checked(libc.accept(listener.fileno(), None, None)))


def receive(made: socket.socket) -> bytes:
    check(select.select([made], [], [], PATIENCE)[0], "nothing was received")
    return made.recv(2000)


def mtus(made: socket.socket) -> tuple[int, ...]:
    return tuple(
        struct.unpack("<H", made.getsockopt(SOL_BLUETOOTH, option, 2))[0]
        for option in (BT_SNDMTU, BT_RCVMTU))
