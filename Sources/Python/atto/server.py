"""A GATT server whose values are answered by Python functions."""

from __future__ import annotations

import asyncio
import collections
import inspect
import json
import logging
import os
import tempfile
import uuid as uuids
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from .client import full_uuid
from .errors import ATTError, ProcessError, UsageError
from .session import Closing, Option, Request, Result, Session

# Events that wait for their reader; then the oldest is dropped.
EVENT_LIMIT = 4096
# Bytes of a profile that fit into a request's line with everything else.
_INLINE_LIMIT = 60_000
_UNLIKELY = 0x0E

_log = logging.getLogger("atto")


@dataclass(frozen=True)
class ReadRequest:
    """A client's read of a value."""

    client: int
    handle: int


@dataclass(frozen=True)
class WriteRequest:
    """A client's write of a value. `parts` are the offsets and octets of a prepared write."""

    client: int
    handle: int
    value: bytes
    offset: int
    parts: tuple[tuple[int, bytes], ...]
    is_command: bool


Target = int | str | uuids.UUID
Profile = Mapping[str, Any] | str | os.PathLike[str]
ReadHandler = Callable[[ReadRequest], bytes | Awaitable[bytes]]
WriteHandler = Callable[[WriteRequest], None | Awaitable[None]]
_Handler = TypeVar("_Handler")


def _load(profile: Profile) -> dict[str, Any]:
    if isinstance(profile, Mapping):
        # A copy: handlers mark its values.
        return dict(json.loads(json.dumps(profile)))
    try:
        with open(profile, encoding="utf-8") as file:
            return dict(json.load(file))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {os.fspath(profile)}: {error}", "file") from error


def _names(characteristic: Mapping[str, Any], target: Target) -> bool:
    if isinstance(target, int):
        stated = characteristic.get("valueHandle")
        return stated is not None and int(str(stated), 16) == target
    return full_uuid(characteristic.get("uuid", "")) == full_uuid(target)


class Server(Closing):
    """A server in a process of its own, from a profile: a file, or the same as a dictionary.

    >>> server = Server({"services": [{"uuid": "180F", "characteristics": [
    ...     {"uuid": "2A19", "properties": ["read", "notify"]}]}]}, "air:Battery")
    >>> @server.on_read("2A19")
    ... def level(request):
    ...     return bytes([87])

    A value with a handler is asked of it for each request. A handler may be a coroutine function; it
    raises `ATTError(code)` to refuse. Any other exception is logged, and refused with Unlikely Error
    (0x0E), as is a request that `reply_timeout` seconds do not suffice for.
    """

    def __init__(
        self, profile: Profile, listen: str | None = None, *, reply_timeout: float | None = None,
        options: Mapping[str, Option] | None = None, atto: str | os.PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._profile = _load(profile)
        self._options: dict[str, Option] = {
            "listen": listen, "reply-timeout": reply_timeout, **(options or {})}
        self._reads: list[tuple[Target, ReadHandler]] = []
        self._writes: list[tuple[Target, WriteHandler]] = []
        self._session = Session(atto=atto, environment=environment)
        self._tasks: set[asyncio.Task[None]] = set()
        self._events: collections.deque[Result] = collections.deque(maxlen=EVENT_LIMIT)
        self._request: Request | None = None
        self._values: list[tuple[int, str]] = []
        #: Where the server listens, from its start on.
        self.endpoint: str = ""
        #: The numbers of the clients that are connected.
        self.clients: set[int] = set()
        #: Called with each event: `connected`, `disconnected`, `written`, `configured` ...
        self.on_event: Callable[[Result], None] | None = None

    # Handlers

    def on_read(self, target: Target) -> Callable[[ReadHandler], ReadHandler]:
        """Registers a function that returns the value, by the value's handle or UUID."""
        self._mark(target)

        def register(handler: ReadHandler) -> ReadHandler:
            self._reads.append((target, handler))
            return handler
        return register

    def on_write(self, target: Target) -> Callable[[WriteHandler], WriteHandler]:
        """Registers a function that accepts writes by returning."""
        self._mark(target)

        def register(handler: WriteHandler) -> WriteHandler:
            self._writes.append((target, handler))
            return handler
        return register

    def _mark(self, target: Target) -> None:
        if self._request is not None:
            raise UsageError("handlers are registered before the server starts", "usage")
        found = [
            characteristic for service in self._profile.get("services", ())
            for characteristic in service.get("characteristics", ())
            if _names(characteristic, target)]
        if len(found) != 1:
            raise UsageError(
                f"the profile has {len(found) or 'no'} value{'s' * (len(found) != 1)} {target}",
                "usage")
        found[0]["behaviour"] = {"application": True}

    # Beginning and end

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def start(self) -> None:
        """Starts the server. Returns when it listens; raises `AttoError` if it cannot."""
        self._changed = asyncio.Event()
        self._listening: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await self._session.start()
        text = json.dumps(self._profile, separators=(",", ":"))
        file = None
        try:
            if len(text) <= _INLINE_LIMIT:
                request = await self._session.begin(
                    "serve", options=self._options, receive=self._happened, profile=self._profile)
            else:
                file = tempfile.NamedTemporaryFile("w", suffix=".json", prefix="atto-")
                file.write(text)
                file.flush()
                request = await self._session.begin(
                    "serve", file.name, options=self._options, receive=self._happened)
            self._request = request
            request.done.add_done_callback(lambda done: self._changed.set())
            both: list[asyncio.Future[Any]] = [request.done, self._listening]
            await asyncio.wait(
                both, return_when=asyncio.FIRST_COMPLETED)
            if request.done.done():
                request.done.result()
                raise ProcessError("the server ended at once")
        except BaseException:
            await self.close()
            raise
        finally:
            if file is not None:
                file.close()

    async def close(self) -> None:
        """Ends the server and its process. Never raises."""
        for task in self._tasks:
            task.cancel()
        await self._session.close()

    async def wait(self) -> None:
        """Waits until the server ends by itself, and raises why."""
        if self._request is None:
            raise ProcessError("the server was not started")
        await asyncio.shield(self._request.done)

    @property
    def process(self) -> int | None:
        """The ID of the atto process."""
        return self._session.pid

    # Events

    def _happened(self, result: Result) -> None:
        event = result.get("event")
        if event == "listening":
            self.endpoint = result["endpoint"]
            self._values = [
                (it["handle"], full_uuid(it["uuid"])) for it in result.get("values", ())]
            if not self._listening.done():
                self._listening.set_result(None)
            return
        if event in ("read", "write"):
            task = asyncio.ensure_future(self._reply(event, result))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        if event == "connected":
            self.clients.add(result["client"])
        elif event == "disconnected":
            self.clients.discard(result["client"])
        if self.on_event is not None:
            self.on_event(result)
        else:
            self._events.append(result)
            self._changed.set()

    async def events(self) -> AsyncIterator[Result]:
        """The events so far and from now on, until the server ends. `EVENT_LIMIT` of them wait."""
        while True:
            while self._events:
                yield self._events.popleft()
            if self._request is None or self._request.done.done():
                return
            self._changed.clear()
            await self._changed.wait()

    async def _reply(self, event: str, asked: Result) -> None:
        question = asked.get("question")
        value = b""
        code: int | None = None
        try:
            value = await self._call(event, asked)
        except ATTError as refusal:
            code = refusal.code
        except asyncio.CancelledError:
            raise
        except Exception:
            _log.exception("the handler of a %s of 0x%04X failed", event, asked["handle"])
            code = _UNLIKELY
        if question is None:
            return
        try:
            await self._session.request(
                "reply", question, *([value.hex()] if value and code is None else []),
                options={"error": code})
        except UsageError:
            # The client has left, or the time is over.
            pass
        except ProcessError:
            pass

    async def _call(self, event: str, asked: Result) -> bytes:
        handle = asked["handle"]
        if event == "read":
            reader = self._handler(self._reads, handle)
            if reader is None:
                raise ATTError(0x02)
            told = reader(ReadRequest(asked["client"], handle))
            value = await told if inspect.isawaitable(told) else told
            return bytes(value)
        writer = self._handler(self._writes, handle)
        if writer is None:
            raise ATTError(0x03)
        parts = tuple((part["offset"], bytes.fromhex(part["value"])) for part in asked["parts"])
        done = writer(WriteRequest(
            asked["client"], handle, b"".join(part for _, part in parts), parts[0][0], parts,
            "question" not in asked))
        if inspect.isawaitable(done):
            await done
        return b""

    def _handler(
        self, handlers: list[tuple[Target, _Handler]], handle: int
    ) -> _Handler | None:
        for target, handler in handlers:
            if self.handle(target) == handle:
                return handler
        return None

    # Values

    def handle(self, target: Target) -> int:
        """The handle of a value, by its UUID. Raises `UsageError` if there is not exactly one."""
        if isinstance(target, int):
            return target
        found = [handle for handle, uuid in self._values if uuid == full_uuid(target)]
        if len(found) != 1:
            raise UsageError(
                f"the server has {len(found) or 'no'} value{'s' * (len(found) != 1)} {target}",
                "usage")
        return found[0]

    async def _control(
        self, verb: str, target: Target, value: bytes, client: int | None = None
    ) -> Result:
        receiver: list[str | int] = [] if client is None else ["to", client]
        results = await self._session.request(
            "control", verb, self.handle(target), bytes(value).hex() or '""', *receiver)
        return results[0] if results else {}

    async def set(self, target: Target, value: bytes) -> None:
        """Changes a value that has no handler."""
        await self._control("set", target, value)

    async def notify(self, target: Target, value: bytes, *, client: int | None = None) -> int:
        """Notifies the clients that have subscribed, or only `client`, a number of `clients` and of
        requests. Returns how many got it. Raises `UsageError` if `client` is not connected."""
        return int((await self._control("notify", target, value, client))["clients"])

    async def indicate(self, target: Target, value: bytes, *, client: int | None = None) -> int:
        """Indicates to the clients that have subscribed, or only to `client`, see `notify`. Returns
        how many confirmed."""
        return int((await self._control("indicate", target, value, client))["clients"])

    async def disconnect_clients(self) -> None:
        """Closes the links to all clients."""
        await self._session.request("control", "disconnect")
