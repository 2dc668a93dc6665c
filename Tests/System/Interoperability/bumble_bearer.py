"""A Bumble bearer on a Unix SEQPACKET socket: one ATT PDU in each packet, no controller.

Bumble's GATT client and server ask little of what they call a connection: a handle, the MTU,
the state of the link's encryption, a way to send, and a sign of the end. This is that and no
more, so everything above it is Bumble's own.
"""

import asyncio
import collections
import logging
import select
import socket

from bumble import att, gatt_client, gatt_server, utils

logger = logging.getLogger(__name__)

# Longer than any PDU that an MTU of 16 bits allows.
RECEIVE_SIZE = 0x10000


class SocketBearer(utils.EventEmitter):
    """The connection as Bumble sees it, in both roles at once."""

    EVENT_DISCONNECTION = "disconnection"

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self.sock = sock
        self.sock.setblocking(False)
        self.handle = 1
        self.att_mtu = att.ATT_DEFAULT_MTU
        self.encryption = 0
        self.authenticated = False
        self.client: gatt_client.Client | None = None
        self.server: gatt_server.Server | None = None
        self.is_closed = asyncio.Event()
        self.received = 0
        self.outgoing: collections.deque[bytes] = collections.deque()
        # Set when a PDU has been sent. A task that waits for the next one clears it first.
        self.has_sent = asyncio.Event()
        self.drained = asyncio.Event()
        self.drained.set()
        self.loop = asyncio.get_running_loop()

    def start(self) -> None:
        """Delivers received PDUs. Client and server must be set before."""
        self.loop.add_reader(self.sock, self.on_readable)

    # What Bumble calls.

    def on_att_mtu_update(self, mtu: int) -> None:
        self.att_mtu = mtu

    def send_l2cap_pdu(self, cid: int, pdu: bytes) -> None:
        assert cid == att.ATT_CID
        if len(pdu) > self.att_mtu:
            logger.warning("sent %d octets at an MTU of %d", len(pdu), self.att_mtu)
        self.outgoing.append(pdu)
        self.has_sent.set()
        self.flush()

    # The socket.

    def flush(self) -> None:
        while self.outgoing and not self.is_closed.is_set():
            try:
                self.sock.send(self.outgoing[0])
            except BlockingIOError:
                self.drained.clear()
                self.loop.add_writer(self.sock, self.on_writable)
                return
            except OSError:
                self.close()
                return
            self.outgoing.popleft()
        self.drained.set()

    def on_writable(self) -> None:
        self.loop.remove_writer(self.sock)
        self.flush()

    def on_readable(self) -> None:
        try:
            pdu = self.sock.recv(RECEIVE_SIZE)
        except BlockingIOError:
            return
        except OSError:
            self.close()
            return
        if not pdu and self.has_ended():
            self.close()
            return
        self.received += 1
        logger.debug("received %s", pdu.hex())
        try:
            parsed = att.ATT_PDU.from_bytes(pdu)
        except Exception:
            # Bumble leaves a PDU that it cannot parse without an answer.
            logger.warning("no PDU: %s", pdu.hex())
            return
        # Even opcodes go to a server, odd ones to a client: so Bumble's device does it.
        if parsed.op_code & 1:
            if self.client:
                self.client.on_gatt_pdu(parsed)
        elif self.server:
            try:
                self.server.on_gatt_pdu(self, parsed)
            except Exception:
                logger.exception("Bumble's server failed on %s", pdu.hex())

    def has_ended(self) -> bool:
        """Whether an empty read was the end of the link, not an empty PDU."""
        poll = select.poll()
        poll.register(self.sock, select.POLLRDHUP)
        return bool(poll.poll(0))

    def close(self) -> None:
        if self.is_closed.is_set():
            return
        self.is_closed.set()
        self.loop.remove_reader(self.sock)
        self.loop.remove_writer(self.sock)
        self.sock.close()
        self.drained.set()
        self.emit(self.EVENT_DISCONNECTION, 0)
        if self.server:
            self.server.on_disconnection(self)


class NoChannels:
    """Replaces Bumble's L2CAP channels; there are none."""

    le_coc_channels: dict = {}


class SocketDevice:
    """The device as Bumble's server sees it."""

    l2cap_channel_manager = NoChannels()

    def __init__(self) -> None:
        self.bearers: dict[int, SocketBearer] = {}

    def send_l2cap_pdu(self, handle: int, cid: int, pdu: bytes) -> None:
        if bearer := self.bearers.get(handle):
            bearer.send_l2cap_pdu(cid, pdu)


def listen(path: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.bind(path)
    sock.listen()
    sock.setblocking(False)
    return sock


async def connect(path: str) -> socket.socket:
    """Connects as soon as a server listens there, within 60 s."""
    deadline = asyncio.get_running_loop().time() + 60
    while True:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            sock.connect(path)
            return sock
        except (FileNotFoundError, ConnectionRefusedError):
            sock.close()
            if asyncio.get_running_loop().time() > deadline:
                raise
            # There is no event for a socket that is not there yet.
            await asyncio.sleep(0.01)
