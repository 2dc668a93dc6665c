"""The same clients and servers for programs without asyncio.

Each object has a thread with an event loop, which ends with `close`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import uuid as uuids
from collections.abc import Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from . import client as _client
from . import server as _server
from .client import Characteristic, SecurityLevel, Service, Value
from .errors import ProcessError
from .session import Result

_T = TypeVar("_T")


class _Thread:
    """A thread with an event loop."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="atto", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def call(self, body: Coroutine[Any, Any, _T], timeout: float | None = None) -> _T:
        """Runs a coroutine to its end. Ctrl-C cancels it."""
        if not self.is_alive:
            body.close()
            raise ProcessError("it was closed, or belongs to the process that was forked")
        future = asyncio.run_coroutine_threadsafe(body, self.loop)
        try:
            return future.result(timeout)
        except TimeoutError as error:
            if future.done():
                # It ended at the last moment, or failed with a timeout that says more.
                return future.result()
            future.cancel()
            raise TimeoutError(f"nothing came within {timeout:g} s") from error
        except concurrent.futures.CancelledError:
            raise ProcessError("it was closed") from None
        except BaseException:
            future.cancel()
            raise

    def end(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class _Synchronous:
    _thread: _Thread | None = None

    def call(self, body: Coroutine[Any, Any, _T], timeout: float | None = None) -> _T:
        """Runs a coroutine of the object that this one wraps. Raises `TimeoutError` if it takes longer than
        `timeout` seconds."""
        if self._thread is None:
            body.close()
            raise ProcessError("it is not open")
        return self._thread.call(body, timeout)

    def _open(self, body: Coroutine[Any, Any, None]) -> None:
        self._thread = _Thread()
        try:
            self._thread.call(body)
        except BaseException:
            self.close()
            raise

    def _close(self) -> Coroutine[Any, Any, None]:
        raise NotImplementedError

    def close(self) -> None:
        """Closes it, with its process and its thread. Never raises."""
        thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive:
            try:
                thread.call(self._close())
            finally:
                thread.end()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Client(_Synchronous):
    """`atto.Client` with blocking methods; the arguments are the same.

    >>> with Client("air:Strap") as client:
    ...     client.read(0x2A00)
    """

    def __init__(self, endpoint: str, **options: Any) -> None:
        self._client = _client.Client(endpoint, **options)

    def __enter__(self) -> Self:
        self._open(self._client.connect())
        return self

    def _close(self) -> Coroutine[Any, Any, None]:
        return self._client.close()

    @property
    def is_connected(self) -> bool:
        """Whether the connection is open, as far as is known."""
        return self._client.is_connected

    @property
    def mtu(self) -> int:
        """The ATT_MTU."""
        return self._client.mtu

    def exchange_mtu(self) -> int:
        """See `atto.Client.exchange_mtu`."""
        return self.call(self._client.exchange_mtu())

    def security(self, level: SecurityLevel | None = None) -> str:
        """See `atto.Client.security`."""
        return self.call(self._client.security(level))

    def discover(self) -> list[Service]:
        """See `atto.Client.discover`."""
        return self.call(self._client.discover())

    def find(self, uuid: str | int | uuids.UUID) -> Characteristic:
        """See `atto.Client.find`."""
        return self.call(self._client.find(uuid))

    def read(self, target: _client.Target, *, long: bool = True) -> bytes:
        """See `atto.Client.read`."""
        return self.call(self._client.read(target, long=long))

    def write(self, target: _client.Target, value: bytes, *, response: bool = True) -> None:
        """See `atto.Client.write`."""
        self.call(self._client.write(target, value, response=response))

    def subscribe(
        self, target: _client.Target, *, indicate: bool = False, limit: int = _client.QUEUE_LIMIT
    ) -> Subscription:
        """Subscribes to a value. Iterate over the subscription, and close it (`with` does)."""
        return Subscription(
            self, self.call(self._client.subscribe(target, indicate=indicate, limit=limit)))


class Subscription(Iterator[Value]):
    """The values of a subscription, see `atto.Subscription`."""

    def __init__(self, client: Client, values: _client.Subscription) -> None:
        self._client = client
        self._values = values

    @property
    def dropped(self) -> int:
        """The values that were dropped because nobody read them."""
        return self._values.dropped

    def __next__(self) -> Value:
        try:
            return self.next()
        except StopAsyncIteration:
            raise StopIteration from None

    def next(self, timeout: float | None = None) -> Value:
        """The next value; raises `TimeoutError` if none comes within `timeout` seconds."""
        return self._client.call(self._next(), timeout)

    async def _next(self) -> Value:
        return await self._values.__anext__()

    def close(self) -> None:
        """Ends the subscription."""
        self._client.call(self._values.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._client.is_connected:
            self.close()


class Server(_Synchronous):
    """`atto.Server` with blocking methods; the arguments are the same. Handlers are called on the
    server's thread, one after the other, and may be plain functions."""

    def __init__(
        self, profile: _server.Profile, listen: str | None = None, **options: Any
    ) -> None:
        self._server = _server.Server(profile, listen, **options)

    def __enter__(self) -> Self:
        self._open(self._server.start())
        return self

    def _close(self) -> Coroutine[Any, Any, None]:
        return self._server.close()

    def on_read(
        self, target: _server.Target
    ) -> Callable[[_server.ReadHandler], _server.ReadHandler]:
        """See `atto.Server.on_read`."""
        return self._server.on_read(target)

    def on_write(
        self, target: _server.Target
    ) -> Callable[[_server.WriteHandler], _server.WriteHandler]:
        """See `atto.Server.on_write`."""
        return self._server.on_write(target)

    def handle(self, target: _server.Target) -> int:
        """See `atto.Server.handle`."""
        return self._server.handle(target)

    @property
    def endpoint(self) -> str:
        """Where the server listens."""
        return self._server.endpoint

    @property
    def clients(self) -> set[int]:
        """The numbers of the clients that are connected."""
        return set(self._server.clients)

    def event(self, timeout: float | None = None) -> Result:
        """The next event; raises `TimeoutError` if none comes within `timeout` seconds."""
        return self.call(anext(self._server.events()), timeout)  # type: ignore[arg-type]

    def set(self, target: _server.Target, value: bytes) -> None:
        """See `atto.Server.set`."""
        self.call(self._server.set(target, value))

    def notify(self, target: _server.Target, value: bytes, *, client: int | None = None) -> int:
        """See `atto.Server.notify`."""
        return self.call(self._server.notify(target, value, client=client))

    def indicate(self, target: _server.Target, value: bytes, *, client: int | None = None) -> int:
        """See `atto.Server.indicate`."""
        return self.call(self._server.indicate(target, value, client=client))

    def disconnect_clients(self) -> None:
        """See `atto.Server.disconnect_clients`."""
        self.call(self._server.disconnect_clients())
