"""Where servers of the tests listen, and whether they do."""

import os
import re
import socket

# Open until this process ends, so that nobody else gets their ports.
_reserved = []


def free_port() -> int:
    """A port of 127.0.0.1 at which only a server with SO_REUSEADDR can listen.

    A port that is only looked up can be taken before the server asks for it: by a server that another test has
    started, or by a connection, which may even connect to itself. The kernel gives a port that a socket is
    bound to neither to a socket without an address nor to a connection; SO_REUSEADDR on both sides lets a
    server listen beside a socket that does not."""
    probe = socket.socket()
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    probe.bind(("127.0.0.1", 0))
    _reserved.append(probe)
    return probe.getsockname()[1]


def listens(path) -> bool:
    """Whether a socket at this path accepts connections. Its file exists a moment earlier."""
    # The flag __SO_ACCEPTCON, a type, a state, an inode.
    row = re.compile(r"\S+ \S+ \S+ 00010000 \S+ \S+ +\d+ " + re.escape(os.fspath(path)) + "\n")
    with open("/proc/net/unix") as sockets:
        return any(row.fullmatch(line) for line in sockets)
