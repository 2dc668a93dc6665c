"""What goes between the kernel and its controllers, with the kernel's times: btmon's source, for
tests that must know when something happened, and not when a Python process came to see it.

The kernel keeps it in the socket until it is taken: nothing runs meanwhile.
"""

import contextlib
import ctypes
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from dataclasses import dataclass

import mgmt

HCI_CHANNEL_MONITOR = 2
SO_RCVBUFFORCE = 33
SO_TIMESTAMP = 29
ROOM = 16 << 20
# btsnoop, version 1, its records as the monitor's socket gives them; its clock begins in the year 0.
BTSNOOP = struct.pack(">8sII", b"btsnoop\0", 1, 2001)
BTSNOOP_EPOCH = 0x00DCDDB30F2F8000
# HCI_MON_EVENT_PKT, HCI_MON_ACL_TX_PKT, HCI_MON_ACL_RX_PKT.
EVENT, SENT, RECEIVED = 3, 4, 5
# Events of HCI and of LE.
DISCONNECTION_COMPLETE, COMPLETED_PACKETS, LE_META = 0x05, 0x13, 0x3E
CONNECTION_COMPLETE = (0x01, 0x0A)  # LE Connection Complete, LE Enhanced Connection Complete
ATT_CID = 4


class Place(ctypes.Structure):
    """struct iovec"""
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class MessageHead(ctypes.Structure):
    """struct msghdr"""
    _fields_ = [
        ("name", ctypes.c_void_p), ("name_length", ctypes.c_uint),
        ("places", ctypes.POINTER(Place)), ("place_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p), ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int)]


@dataclass
class Happening:
    """`what`: "connected", "disconnected", "completed" (the controller has sent packets), "sent" or "received",
    the latter two with a PDU of ATT that has come in one piece, or the beginning of one."""
    seconds: float
    adapter: int
    what: str
    pdu: bytes = b""


class Monitor:
    """Everything that happens from here on."""

    def __init__(self, skips: bool = True):
        self.socket = socket.socket(mgmt.AF_BLUETOOTH, socket.SOCK_RAW, mgmt.BTPROTO_HCI)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMP, 1)
        address = struct.pack("<HHH", mgmt.AF_BLUETOOTH, mgmt.HCI_DEV_NONE, HCI_CHANNEL_MONITOR)
        if mgmt.libc.bind(self.socket.fileno(), address, len(address)) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self.socket.setblocking(False)
        if skips:
            # The adapters that there are.
            self.rest(None)

    def rest(self, adapter: int | None) -> list[Happening]:
        """What has happened at an adapter since the last look."""
        found = []
        while True:
            try:
                seconds, data = self.next()
            except BlockingIOError:
                return found
            kind, index, length = struct.unpack("<HHH", data[:6])
            if index != adapter:
                continue
            if happening := understood(kind, data[6:6 + length]):
                found.append(Happening(seconds, index, *happening))

    def save(self, path: str) -> None:
        """Writes everything since the last look, for `btmon -r`. btmon's own recording loses what its
        socket had no room for, and what it has not read when it is told to end."""
        with open(path, "wb") as file:
            file.write(BTSNOOP)
            self.append(file)

    def append(self, file) -> None:
        while True:
            try:
                seconds, data = self.next()
            except BlockingIOError:
                return
            kind, index, length = struct.unpack("<HHH", data[:6])
            file.write(struct.pack(
                ">IIIIQ", length, length, index << 16 | kind, 0,
                BTSNOOP_EPOCH + round(seconds * 1e6)) + data[6:6 + length])

    def next(self) -> tuple[float, bytes]:
        """The kernel's time of the next record, and the record."""
        # Python's own recvmsg stumbles over the address of a family that it was built without.
        room, told = ctypes.create_string_buffer(4096), ctypes.create_string_buffer(64)
        place = Place(ctypes.addressof(room), len(room))
        message = MessageHead(
            None, 0, ctypes.pointer(place), 1, ctypes.addressof(told), len(told), 0)
        count = mgmt.libc.recvmsg(self.socket.fileno(), ctypes.byref(message), 0)
        if count < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        size, level, sort, whole, part = struct.unpack("@Niiqq", told.raw[:32])
        if message.control_length < 32 or (level, sort) != (socket.SOL_SOCKET, SO_TIMESTAMP):
            raise OSError("the kernel tells no times")
        return whole + part / 1e6, room.raw[:count]


def record(path: str) -> None:
    """Records until SIGTERM. btmon decodes what it records, and some of that crashes it."""
    monitor = Monitor(skips=False)
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with open(path, "wb", buffering=0) as file:
        file.write(BTSNOOP)
        while not ended.is_set():
            select.select([monitor.socket], [], [], 0.2)
            monitor.append(file)


def understood(kind: int, data: bytes) -> tuple | None:
    if kind == EVENT:
        if data[0] == DISCONNECTION_COMPLETE and data[2] == 0:
            return ("disconnected",)
        if data[0] == COMPLETED_PACKETS:
            return ("completed",)
        if data[0] == LE_META and data[2] in CONNECTION_COMPLETE and data[3] == 0:
            return ("connected",)
    if kind in (SENT, RECEIVED) and len(data) > 8:
        handle, _, _, channel = struct.unpack("<HHHH", data[:8])
        # A continuation has no head of L2CAP.
        if handle >> 12 & 3 != 1 and channel == ATT_CID:
            return ("sent" if kind == SENT else "received", data[8:])
    return None


@contextlib.contextmanager
def shown_if_it_fails(count: int = 100):
    """Prints the last commands and events of all adapters in the body, if that fails."""
    monitor = Monitor()
    try:
        yield
    except BaseException:
        monitor.save("failure.btsnoop")
        shown = subprocess.run(["btmon", "-T", "-r", "failure.btsnoop"], capture_output=True, text=True).stdout
        heads = [line for line in shown.splitlines() if re.match(r"[<>@=] ", line) and " ACL " not in line]
        print("\n".join(heads[-count:]))
        raise
    finally:
        monitor.socket.close()


if __name__ == "__main__":
    record(sys.argv[1])
