#!/usr/bin/env python3
"""The kernel's Bluetooth management socket, as far as the lab needs it.

mgmt hciN power|le|bredr|secure|connectable|bondable|advertising on|off
mgmt hciN io none|display|display-yes-no|keyboard|keyboard-display
mgmt hciN setup|info|disconnect|connections
mgmt agent           answers the kernel's questions about pairing with yes, until it is ended
"""

import ctypes
import os
import select
import socket
import struct
import sys
import time

from patience import PATIENCE

AF_BLUETOOTH = 31
BTPROTO_HCI = 1
HCI_DEV_NONE = 0xFFFF
HCI_CHANNEL_CONTROL = 3

# Commands (MGMT_OP_*).
READ_INDEX_LIST = 0x0003
READ_INFO = 0x0004
LOAD_LONG_TERM_KEYS = 0x0013
DISCONNECT = 0x0014
GET_CONNECTIONS = 0x0015
SET_IO_CAPABILITY = 0x0018
UNPAIR_DEVICE = 0x001B
USER_CONFIRMATION_REPLY = 0x001C
SWITCHES = {
    "power": 0x0005, "connectable": 0x0007, "bondable": 0x0009, "le": 0x000D, "bredr": 0x002A,
    "secure": 0x002D,
}
STOP_DISCOVERY = 0x0024
LOAD_IRKS = 0x0030
LOAD_CONNECTION_PARAMETERS = 0x0035
READ_ADVERTISING_FEATURES = 0x003D
ADD_ADVERTISING = 0x003E
REMOVE_ADVERTISING = 0x003F
READ_DEFAULTS, SET_DEFAULTS = 0x004B, 0x004C
READ_MONITORS = 0x0051
CAPABILITIES = ["display", "display-yes-no", "keyboard", "none", "keyboard-display"]

# Events (MGMT_EV_*).
COMMAND_COMPLETE = 0x0001
COMMAND_STATUS = 0x0002
DEVICE_DISCONNECTED = 0x000C
USER_CONFIRM_REQUEST = 0x000F

# A status of commands (MGMT_STATUS_*).
BUSY = 0x0A

libc = ctypes.CDLL(None, use_errno=True)


class MgmtError(Exception):
    """`status`: why the kernel has refused a command."""

    def __init__(self, text: str, status: int | None = None):
        super().__init__(text)
        self.status = status


class Mgmt:
    """A connection to the management of all adapters."""

    def __init__(self):
        self.socket = socket.socket(AF_BLUETOOTH, socket.SOCK_RAW, BTPROTO_HCI)
        address = struct.pack("<HHH", AF_BLUETOOTH, HCI_DEV_NONE, HCI_CHANNEL_CONTROL)
        # Python's own bind knows this family only where it was built with Bluetooth.
        if libc.bind(self.socket.fileno(), address, len(address)) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self.socket.settimeout(PATIENCE)

    def event(self) -> tuple[int, int, bytes]:
        """The next event: code, index, parameters."""
        data = self.socket.recv(4096)
        code, index, length = struct.unpack("<HHH", data[:6])
        return code, index, data[6:6 + length]

    def send(self, opcode: int, index: int, parameters: bytes = b"") -> None:
        self.socket.send(struct.pack("<HHH", opcode, index, len(parameters)) + parameters)

    def command(self, opcode: int, index: int, parameters: bytes = b"") -> bytes:
        """Sends a command and gives the parameters of its completion. Events from before are dropped:
        the kernel refuses commands (ENOMEM) of a socket that is full of them."""
        while select.select([self.socket], [], [], 0)[0]:
            self.socket.recv(4096)
        self.send(opcode, index, parameters)
        while True:
            code, _, data = self.event()
            if code not in (COMMAND_COMPLETE, COMMAND_STATUS):
                continue
            of, status = struct.unpack("<HB", data[:3])
            if of != opcode:
                continue
            if status != 0:
                raise MgmtError(f"hci{index}: command 0x{opcode:04x}: status 0x{status:02x}", status)
            return data[3:]

    def indexes(self) -> list[int]:
        data = self.command(READ_INDEX_LIST, HCI_DEV_NONE)
        count, = struct.unpack("<H", data[:2])
        return list(struct.unpack(f"<{count}H", data[2:2 + 2 * count]))

    def switch(self, index: int, name: str, is_on: bool) -> None:
        settings = self.command(SWITCHES[name], index, bytes([is_on]))
        if name == "power" and is_on and not settings[0] & 1:
            # The kernel answers a switching off before it has ended, and tells pending commands apart by
            # their addresses. If this one got the memory of that one, its end was taken for the end of this
            # one: it is answered, with the adapter off, and not carried out.
            print(f"hci{index}: the kernel has answered without switching it on")
            self.command(SWITCHES[name], index, b"\1")

    def advertise(self, index: int, data: bytes = b"", response: bytes = b"") -> None:
        """Advertises so that others can connect, until it is taken back.

        An instance of its own, since the plain setting works but once: to start again the
        kernel ends the set first, which the emulated controller refuses when it is not on.
        """
        instance, connectable = 1, 0x01
        head = struct.pack("<BIHHBB", instance, connectable, 0, 0, len(data), len(response))
        self.command(ADD_ADVERTISING, index, head + data + response)

    def stop_advertising(self, index: int) -> None:
        try:
            self.command(REMOVE_ADVERTISING, index, b"\0")
        except MgmtError:
            pass  # there is none

    def stop_discovery(self, index: int) -> None:
        """Stops the discovery of LE devices, whichever program started it."""
        try:
            self.command(STOP_DISCOVERY, index, b"\x06")
        except MgmtError:
            pass  # there is none

    def set_capability(self, index: int, name: str) -> None:
        self.command(SET_IO_CAPABILITY, index, bytes([CAPABILITIES.index(name)]))

    def setup(self, index: int) -> None:
        """LE only, ready for connections and for pairing without questions to a person."""
        self.switch(index, "power", False)
        self.switch(index, "le", True)
        self.switch(index, "bredr", False)
        # `atto serve` and `atto pair` switch it on, and leave it on.
        self.switch(index, "secure", True)
        self.switch(index, "bondable", True)
        self.set_capability(index, "none")
        self.switch(index, "connectable", True)
        self.switch(index, "power", True)

    def forget(self, index: int, peer: str) -> None:
        """Drops the keys of a peer with a public address, and a link with it."""
        octets = bytes(int(pair, 16) for pair in reversed(peer.split(":")))
        try:
            self.command(UNPAIR_DEVICE, index, octets + b"\x01\x01")
        except MgmtError:
            pass  # there are none

    def forget_all(self, index: int) -> None:
        """Drops the keys and the connection parameters of all peers, as a restart of the machine does."""
        self.command(LOAD_LONG_TERM_KEYS, index, b"\0\0")
        self.command(LOAD_IRKS, index, b"\0\0")
        # One entry replaces nothing on new kernels, so these are of two peers that no test has.
        nobody = b"".join(bytes([number, 0, 0, 0, 0, 0, 1]) + struct.pack("<4H", 24, 40, 0, 42)
                          for number in (1, 2))
        self.command(LOAD_CONNECTION_PARAMETERS, index, b"\2\0" + nobody)

    def await_adapters(self, wanted: list[int], seconds: float = 60) -> None:
        """Waits until there are these adapters and no others: those of a process that has been
        killed go after it."""
        deadline = time.monotonic() + seconds
        while (found := sorted(self.indexes())) != sorted(wanted):
            if time.monotonic() > deadline:
                raise MgmtError(f"adapters {found} rather than {sorted(wanted)}")
            time.sleep(0.02)

    def setup_virtual(self, index: int) -> None:
        """Ready for pairing, and powered: for a controller that the lab has not made."""
        self.switch(index, "le", True)
        self.switch(index, "bondable", True)
        self.set_capability(index, "none")
        self.switch(index, "power", True)

    def address(self, index: int) -> str:
        return written(self.command(READ_INFO, index)[:6])

    def connections(self, index: int) -> list[bytes]:
        """The peers, each as the 7 octets of address and kind."""
        try:
            data = self.command(GET_CONNECTIONS, index)
        except MgmtError:
            return []  # not powered
        count, = struct.unpack("<H", data[:2])
        return [data[2 + 7 * i:9 + 7 * i] for i in range(count)]

    def disconnect_all(self, index: int) -> None:
        for peer in self.connections(index):
            try:
                self.command(DISCONNECT, index, peer)
            except MgmtError:
                pass  # gone meanwhile

    def await_no_connections(self, adapters=None) -> None:
        """Waits until no adapter, or none of these, has a link; the kernel keeps them a while after
        the last use."""
        deadline = time.monotonic() + PATIENCE
        while any(self.connections(index) for index in adapters or self.indexes()):
            if time.monotonic() > deadline:
                raise MgmtError(f"links are still there after {PATIENCE} s")
            try:
                self.socket.settimeout(0.5)
                while self.event()[0] != DEVICE_DISCONNECTED:
                    pass
            except TimeoutError:
                pass
            finally:
                self.socket.settimeout(PATIENCE)


def written(octets: bytes) -> str:
    return ":".join(f"{octet:02X}" for octet in reversed(octets[:6]))


def agent(mgmt: Mgmt) -> None:
    mgmt.socket.settimeout(None)
    print("agent is ready", flush=True)
    while True:
        code, index, data = mgmt.event()
        if code == USER_CONFIRM_REQUEST:
            mgmt.send(USER_CONFIRMATION_REPLY, index, data[:7])
            print(f"hci{index}: confirmed pairing with {written(data)}", flush=True)


def main(words: list[str]) -> None:
    mgmt = Mgmt()
    if words == ["agent"]:
        return agent(mgmt)
    if len(words) < 2 or not words[0].startswith("hci"):
        sys.exit(__doc__)
    index = int(words[0].removeprefix("hci"))
    match words[1:]:
        case ["advertising", "on"]:
            mgmt.advertise(index)
        case ["advertising", "off"]:
            mgmt.stop_advertising(index)
        case [name, "on" | "off" as state] if name in SWITCHES:
            mgmt.switch(index, name, state == "on")
        case ["io", capability] if capability in CAPABILITIES:
            mgmt.set_capability(index, capability)
        case ["setup"]:
            mgmt.setup(index)
        case ["disconnect"]:
            mgmt.disconnect_all(index)
        case ["info"]:
            supported, current = struct.unpack("<II", mgmt.command(READ_INFO, index)[9:17])
            print(f"{mgmt.address(index)} supported 0x{supported:08x} current 0x{current:08x}")
        case ["connections"]:
            for peer in mgmt.connections(index):
                print(written(peer) + (" random" if peer[6] == 2 else ""))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except MgmtError as error:
        sys.exit(f"mgmt: {error}")
    except KeyboardInterrupt:
        pass
