"""Fixtures for pytest: a virtual air for each test, and servers on it.

Nothing is imported, and nothing happens, in tests that do not ask for them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from . import server as _server
    from .sync import Server


@pytest.fixture
def atto_air(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A virtual air of the test's own, for every atto of the test: the folder of its radios."""
    with tempfile.TemporaryDirectory(prefix="atto-air-") as folder:
        monkeypatch.setenv("ATTO_AIR", folder)
        yield folder


@pytest.fixture
def atto_server(atto_air: str) -> Iterator[Callable[..., Server]]:
    """A function that starts a server on the test's air, as `atto.sync.Server`:

    `atto_server(profile, listen="air:", on_read={uuid: function}, on_write={...})`. It ends with the test.
    """
    from .sync import Server

    with ExitStack() as servers:

        def serve(
            profile: _server.Profile, listen: str = "air:", *,
            on_read: dict[_server.Target, _server.ReadHandler] | None = None,
            on_write: dict[_server.Target, _server.WriteHandler] | None = None, **options: Any,
        ) -> Server:
            server = Server(profile, listen, **options)
            for target, reader in (on_read or {}).items():
                server.on_read(target)(reader)
            for target, writer in (on_write or {}).items():
                server.on_write(target)(writer)
            return servers.enter_context(server)

        yield serve
