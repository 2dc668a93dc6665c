"""A GATT client on one connection."""

from __future__ import annotations

import asyncio
import collections
import inspect
import os
import uuid as uuids
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Self

from .errors import LinkError, ProcessError, UsageError, error_from
from .session import Closing, Option, Request, Result, Session

_BASE = "-0000-1000-8000-00805f9b34fb"
# Values of a subscription that wait for their reader; then the oldest is dropped, and counted.
QUEUE_LIMIT = 4096

SecurityLevel = Literal["low", "medium", "high", "fips", "auto"]
IO = Literal["none", "display", "yes-no", "keyboard", "keyboard-display"]


Interval = float | tuple[float, float]


def _interval(interval: Interval | None) -> str | None:
    """A connection interval, or the shortest and the longest, as the command takes it."""
    if interval is None:
        return None
    least, most = interval if isinstance(interval, tuple) else (interval, interval)
    return f"{least:g}ms-{most:g}ms"


def full_uuid(uuid: str | int | uuids.UUID) -> str:
    """A UUID with all its 128 bits, in lower case: for `180d`, 0x180D, and in full."""
    text = f"{uuid:04x}" if isinstance(uuid, int) else str(uuid).lower()
    if len(text) in (4, 8):
        text = text.rjust(8, "0") + _BASE
    return text


@dataclass(frozen=True)
class Descriptor:
    """A descriptor of a characteristic."""

    handle: int
    uuid: str


@dataclass(frozen=True)
class Characteristic:
    """A characteristic. `handle` is that of its value, `declaration` that of its declaration."""

    handle: int
    declaration: int
    uuid: str
    properties: frozenset[str]
    descriptors: tuple[Descriptor, ...] = ()

    @property
    def configuration(self) -> Descriptor | None:
        """The Client Characteristic Configuration."""
        return next((it for it in self.descriptors if it.uuid == full_uuid(0x2902)), None)


@dataclass(frozen=True)
class Service:
    """A service."""

    handle: int
    end: int
    uuid: str
    is_primary: bool
    characteristics: tuple[Characteristic, ...] = ()


@dataclass(frozen=True)
class PairingQuestion:
    """A question of pairing: `kind` is `compare` (does the peer show `passkey`?), `enter` (the passkey
    that the peer shows), or `show` (show `passkey` to the person; needs no answer)."""

    kind: str
    peer: str
    passkey: str | None


Answer = str | int | bool | None
Agent = Callable[[PairingQuestion], Answer | Awaitable[Answer]]


@dataclass(frozen=True)
class Value:
    """A value that the server sent. `missed` values before it are lost."""

    handle: int
    data: bytes
    is_indication: bool = False
    missed: int = 0


Target = int | str | uuids.UUID | Characteristic | Descriptor


def _services(database: Result) -> list[Service]:
    def descriptor(found: Result) -> Descriptor:
        return Descriptor(found["handle"], full_uuid(found["uuid"]))

    def characteristic(found: Result) -> Characteristic:
        return Characteristic(
            found["valueHandle"], found["handle"], full_uuid(found["uuid"]),
            frozenset(found["properties"]), tuple(map(descriptor, found["descriptors"])))

    return [
        Service(
            found["handle"], found["endHandle"], full_uuid(found["uuid"]), found["primary"],
            tuple(map(characteristic, found["characteristics"])))
        for found in database["services"]]


class Subscription(Closing, AsyncIterator[Value]):
    """The values of a subscription, as an async iterator; leaving its `async with` ends it.

    Up to `QUEUE_LIMIT` values wait. Beyond, the oldest is dropped, and counted in the next one's
    `missed`. Iteration ends when the subscription is closed and raises if it fails.
    """

    def __init__(
        self, session: Session, receive: Callable[[Value], None] | None, limit: int
    ) -> None:
        self._session = session
        self._receive = receive
        self._limit = limit
        self._values: collections.deque[Value] = collections.deque()
        self._lost = 0
        self._arrived = asyncio.Event()
        self._request: Request | None = None
        #: The values that were dropped because nobody read them.
        self.dropped: int = 0

    def _take(self, result: Result) -> None:
        value = Value(
            result["handle"], bytes.fromhex(result["value"]), bool(result.get("indication")),
            int(result.get("missed") or 0))
        if self._receive is not None:
            return self._receive(value)
        if len(self._values) >= self._limit:
            oldest = self._values.popleft()
            self._lost += 1 + oldest.missed
            self.dropped += 1
        self._values.append(value)
        self._arrived.set()

    async def begin(self, handle: int, options: Mapping[str, Option]) -> None:
        """Subscribes; `Client.subscribe` calls it. Returns when the server has accepted."""
        request = await self._session.begin(
            "subscribe", handle, options=options, receive=self._take)
        self._request = request
        request.done.add_done_callback(lambda done: self._arrived.set())
        try:
            # Requests begin in turn: this one when the subscription is in place, or has failed.
            await self._session.request("mtu")
        except asyncio.CancelledError:
            self._session.cancel(request)
            raise
        if request.done.done():
            request.done.result()

    async def __aenter__(self) -> Self:
        return self

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Value:
        request = self._request
        assert request is not None
        while not self._values:
            if request.done.done():
                # Raises why it failed.
                request.done.result()
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        value = self._values.popleft()
        if self._lost:
            value = Value(
                value.handle, value.data, value.is_indication, value.missed + self._lost)
            self._lost = 0
        return value

    async def close(self) -> None:
        """Ends the subscription at the peer. Does nothing if it, or the connection, has ended."""
        if self._request is None or self._request.done.done():
            return
        self._session.cancel(self._request)
        await asyncio.wait([self._request.done])


class Client(Closing):
    """A connection to a peer, in a process of its own.

    >>> async with Client("air:Strap", mtu=247) as client:
    ...     name = await client.read(0x2A00)

    `endpoint` is written as for the command (`le:AA:BB:CC:DD:EE:FF`, `air:NAME`, `unix:PATH`).
    `interval` is the connection interval to ask for, in milliseconds, or the shortest and the longest.
    `options` are further options of the command's `connect`. `agent` answers questions of pairing. All
    methods raise `AttoError`.
    """

    def __init__(
        self, endpoint: str, *, mtu: int | None = None, timeout: float | None = None,
        security: SecurityLevel | None = None, io: IO | None = None,
        passkey: int | str | None = None, agent: Agent | None = None,
        interval: Interval | None = None,
        on_disconnect: Callable[[Exception | None], None] | None = None,
        options: Mapping[str, Option] | None = None, atto: str | os.PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.on_disconnect = on_disconnect
        self._agent = agent
        if passkey is not None:
            passkey = f"{int(passkey):06}"
        self._options: dict[str, Option] = {
            "mtu": mtu, "timeout": timeout, "security": security, "io": io, "passkey": passkey,
            "interval": _interval(interval), **(options or {})}
        self._session = Session(atto=atto, environment=environment)
        self._session.on_event = self._happened
        self._session.on_end = self._lost
        self._questions: set[asyncio.Task[None]] = set()
        self._is_connected = False
        self._is_closing = False
        self._mtu = 23
        self._services: list[Service] | None = None

    # The connection

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    @property
    def is_connected(self) -> bool:
        """Whether the connection is open, as far as is known."""
        return self._is_connected

    @property
    def mtu(self) -> int:
        """The ATT_MTU after the exchange at the beginning."""
        return self._mtu

    @property
    def process(self) -> int | None:
        """The ID of the atto process."""
        return self._session.pid

    async def connect(self) -> None:
        """Opens the connection. A client connects once."""
        self._connected: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        await self._session.start()
        try:
            request = await self._session.begin(
                "connect", self.endpoint, options=self._options, receive=self._connecting,
                stays=True)
            await asyncio.shield(request.done)
        except BaseException:
            await self.close()
            raise

    def _connecting(self, result: Result) -> None:
        if "event" in result:
            question = PairingQuestion(result["event"], result["peer"], result.get("passkey"))
            task = asyncio.ensure_future(self._answer(question))
            self._questions.add(task)
            task.add_done_callback(self._questions.discard)
        elif "mtu" in result:
            self._mtu = result["mtu"]
            self._is_connected = True

    async def _answer(self, question: PairingQuestion) -> None:
        answer: Answer = None
        try:
            if self._agent is not None:
                told = self._agent(question)
                answer = await told if inspect.isawaitable(told) else told
        finally:
            # Without an answer pairing would wait for one.
            if question.kind != "show" and self._session.is_running:
                if answer is None or isinstance(answer, bool):
                    text = "yes" if answer else "no"
                else:
                    text = f"{int(answer):06}" if question.kind == "enter" else str(answer)
                await self._session.request("answer", text)

    async def close(self) -> None:
        """Closes the connection and ends the process. Never raises."""
        self._is_closing = True
        if self._is_connected and self._session.is_running:
            try:
                # Else the process would wait for answers of the peer.
                await self._session.begin("disconnect")
            except ProcessError:
                pass
        await self._session.close()
        self._is_connected = False

    def _happened(self, event: Result) -> None:
        if event["event"] == "disconnected":
            error = event.get("error")
            self._disconnected(error_from(error) if error else None)

    def _lost(self, error: ProcessError) -> None:
        self._disconnected(error)

    def _disconnected(self, error: Exception | None) -> None:
        if not self._is_connected:
            return
        self._is_connected = False
        if self.on_disconnect and not self._is_closing:
            self.on_disconnect(error)

    async def request(
        self, command: str, *arguments: str | int, **options: Option
    ) -> list[Result]:
        """Makes any request of the session protocol on this connection."""
        if not self._is_connected and not self._is_closing and self._session.is_running:
            raise LinkError(f"{self.endpoint} is not connected", "link")
        return await self._session.request(command, *arguments, options=options)

    # Procedures

    async def exchange_mtu(self) -> int:
        """Exchanges the MTU, which is possible once."""
        self._mtu = int((await self.request("mtu", exchange=True))[0]["mtu"])
        return self._mtu

    async def security(self, level: SecurityLevel | None = None) -> str:
        """The security of the link; raises it first if a level is given, and pairs if needed."""
        words = () if level is None else (level,)
        return str((await self.request("security", *words))[0]["security"])

    async def discover(self, *, again: bool = False) -> list[Service]:
        """All services with their characteristics and descriptors. Done once, unless `again`."""
        if self._services is None or again:
            self._services = _services((await self.request("discover"))[0])
        return self._services

    async def find(self, uuid: str | int | uuids.UUID) -> Characteristic:
        """The characteristic with this UUID. Raises `UsageError` if there is not exactly one."""
        wanted = full_uuid(uuid)
        found = [
            it for service in await self.discover() for it in service.characteristics
            if it.uuid == wanted]
        if len(found) != 1:
            raise UsageError(
                f"{self.endpoint} has {len(found) or 'no'} "
                f"characteristic{'s' * (len(found) > 1)} {uuid}", "usage")
        return found[0]

    async def _handle(self, target: Target) -> int:
        if isinstance(target, (Characteristic, Descriptor)):
            return target.handle
        if isinstance(target, int):
            return target
        return (await self.find(target)).handle

    async def read(self, target: Target, *, long: bool = True, offset: int | None = None) -> bytes:
        """Reads a value: of a handle, a characteristic or descriptor, or a characteristic's UUID (a
        text). The whole value, unless `long` is false: then what one response holds."""
        results = await self.request(
            "read", await self._handle(target), long=long or None, offset=offset)
        return bytes.fromhex(results[0]["value"])

    async def write(
        self, target: Target, value: bytes | bytearray | memoryview, *, response: bool = True,
        options: Mapping[str, Option] | None = None,
    ) -> None:
        """Writes a value: with a response, in parts if it is too long for one request; or without."""
        data = bytes(value)
        more: dict[str, Option] = dict(options or {})
        if not response:
            more["no-response"] = True
        elif len(data) > self._mtu - 3:
            more["long"] = True
        await self.request("write", await self._handle(target), data.hex(), **more)

    async def begin_write(
        self, target: Target, value: bytes | bytearray | memoryview
    ) -> asyncio.Future[list[Result]]:
        """Writes a value without a response, and returns when it is on its way. The future has the end of the
        write, or its error."""
        handle = await self._handle(target)
        request = await self._session.begin(
            "write", handle, bytes(value).hex(), options={"no-response": True})
        return request.done

    async def subscribe(
        self, target: Target, receive: Callable[[Value], None] | None = None, *,
        indicate: bool = False, limit: int = QUEUE_LIMIT,
    ) -> Subscription:
        """Subscribes to a value. `receive` is called with each value; without it, iterate over the
        subscription. Returns when the server has accepted."""
        subscription = Subscription(self._session, receive, limit)
        options: dict[str, Option] = {"indicate": indicate}
        if isinstance(target, Characteristic) and target.configuration:
            options["cccd"] = target.configuration.handle
        handle = await self._handle(target)
        if not self._is_connected and self._session.is_running:
            raise LinkError(f"{self.endpoint} is not connected", "link")
        await subscription.begin(handle, options)
        return subscription
