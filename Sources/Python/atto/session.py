"""The process `atto session --json`, and its requests.

One process belongs to one `Session`, which belongs to one event loop. The process ends when its standard
input does, so also if this program is killed.
"""

from __future__ import annotations

import asyncio
import collections
import json
import logging
import os
import shutil
import subprocess
import weakref
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, cast

from .errors import ProcessError, error_from
from .pipes import Lines, Writer, ends

__all__ = ["Closing", "Option", "Request", "Result", "Session", "find_atto", "PROTOCOL"]

# The version of the protocol.
PROTOCOL = 1
# Requests in progress; the command allows 1024.
_LIMIT = 1000
# Seconds that the process may take to begin, and to end before it is interrupted and then killed.
_START = 20.0
_END = 3.0

Result = dict[str, Any]
Option = str | int | float | bool | None | list[str] | list[int]

_log = logging.getLogger("atto")
_live: weakref.WeakSet[Session] = weakref.WeakSet()


def find_atto(path: str | os.PathLike[str] | None = None) -> str:
    """The command: `path`, else `$ATTO`, else `atto` in `$PATH`.

    Raises `ProcessError` if there is none.
    """
    named = os.fspath(path) if path is not None else os.environ.get("ATTO") or "atto"
    found = shutil.which(named)
    if found is None:
        raise ProcessError(
            f"cannot find {named}", "install atto into a folder of $PATH, or set $ATTO to its path")
    return found


class Request:
    """A request in progress, and where its results go."""

    __slots__ = ("id", "done", "results", "receive", "stays")

    def __init__(
        self, id: int, receive: Callable[[Result], None] | None, stays: bool,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.id: int = id
        self.done: asyncio.Future[list[Result]] = loop.create_future()
        # Nobody may be waiting when the process ends.
        self.done.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.results: list[Result] = []
        self.receive: Callable[[Result], None] | None = receive
        # Whether results may follow its end: questions of pairing on demand.
        self.stays: bool = stays


class Closing:
    """Is closed at the end of `async with`."""

    async def close(self) -> None:
        raise NotImplementedError

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


class Session(Closing):
    """A running `atto session --json`.

    Use `request` for the commands of its protocol (Session.md), or the classes `Client` and `Server`.
    """

    def __init__(
        self, *, atto: str | os.PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._atto = atto
        self._environment = environment
        self._owner = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: dict[int, Request] = {}
        self._next = 0
        self._end: ProcessError | None = None
        self._ends: set[str] = set()
        self._noted: collections.deque[str] = collections.deque(maxlen=20)
        self._version = ""
        #: Called for each event that belongs to no request, such as the end of a connection.
        self.on_event: Callable[[Result], None] | None = None
        #: Called once when the process has ended or is of no use any more.
        self.on_end: Callable[[ProcessError], None] | None = None

    # Beginning and end

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    @property
    def version(self) -> str:
        """The version of the command."""
        return self._version

    @property
    def is_running(self) -> bool:
        """Whether requests can be made."""
        return self._process is not None and self._end is None

    @property
    def pid(self) -> int | None:
        """The process."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Starts the process.

        Raises `ProcessError` if the command is missing, does not start, or speaks another version.
        """
        if self._process is not None:
            raise ProcessError("the session was started already")
        command = find_atto(self._atto)
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._slots = asyncio.Semaphore(_LIMIT)
        self._writable = asyncio.Event()
        self._greeting: asyncio.Future[None] = loop.create_future()
        self._greeting.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._closed: asyncio.Future[None] = loop.create_future()
        environment = {**os.environ, **(self._environment or {})}
        try:
            # A session of its own: Ctrl-C is for this program, which closes the connections.
            self._process = subprocess.Popen(
                [command, "session", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, env=environment, start_new_session=True)
        except OSError as error:
            raise ProcessError(f"cannot start {command}: {error.strerror}") from error
        _live.add(self)
        try:
            assert self._process.stdin and self._process.stdout and self._process.stderr
            self._input, _ = await loop.connect_write_pipe(
                lambda: Writer(self._writable), self._process.stdin)
            self._output, _ = await loop.connect_read_pipe(
                lambda: Lines(self._read, lambda: self._ended("output")), self._process.stdout)
            self._errors, _ = await loop.connect_read_pipe(
                lambda: Lines(self._note, lambda: self._ended("errors")), self._process.stderr)
            async with asyncio.timeout(_START):
                await asyncio.shield(self._greeting)
        except TimeoutError:
            self._fail(ProcessError(f"{command} said nothing for {_START:g} s"))
            await self.close()
            raise ProcessError(f"{command} said nothing for {_START:g} s") from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Ends the process with its connections, and waits until it is gone. Never raises."""
        process = self._process
        if process is None or os.getpid() != self._owner:
            return
        if self._end is None and hasattr(self, "_input"):
            # The process would wait for them.
            for request in list(self._requests.values()):
                if not request.done.done():
                    self.cancel(request)
        self._fail(ProcessError("the session was closed"))
        if hasattr(self, "_input"):
            self._input.close()
        elif process.stdin:
            process.stdin.close()
        ending = asyncio.ensure_future(self._reap(process))
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            # The process must not stay behind.
            process.kill()
            await ending
            raise

    async def _reap(self, process: subprocess.Popen[bytes]) -> None:
        for end in (None, process.terminate, process.kill):
            if end is not None:
                end()
            if await ends(process, _END):
                break
        for name in ("_output", "_errors"):
            if hasattr(self, name):
                getattr(self, name).close()
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()
        _live.discard(self)

    def _ended(self, pipe: str) -> None:
        # What the process wrote last to standard error says why it ended.
        self._ends.add(pipe)
        if self._ends == {"output", "errors"}:
            self._lost()
        elif pipe == "output":
            self._loop.call_later(1, self._lost)

    def _lost(self) -> None:
        process = self._process
        if process is None or self._end is not None:
            return
        try:
            status = process.wait(0.1)
        except subprocess.TimeoutExpired:
            status = None
        how = (
            "closed its output" if status is None
            else f"was killed by signal {-status}" if status < 0 else f"ended with status {status}")
        self._fail(ProcessError(f"atto {how}", *list(self._noted)[-3:]))

    def _fail(self, error: ProcessError) -> None:
        if self._end is not None:
            return
        self._end = error
        waiting: list[asyncio.Future[Any]] = [
            self._greeting, *(request.done for request in self._requests.values())]
        self._requests.clear()
        for done in waiting:
            if not done.done():
                done.set_exception(error)
        self._writable.set()
        if self.on_end:
            self.on_end(error)

    def abandon(self) -> None:
        """In a forked child: leaves the process to the parent."""
        if self._process:
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe:
                    pipe.close()
            # Its end is the parent's business.
            self._process.returncode = 0

    # Requests

    async def request(
        self, command: str, *arguments: str | int, connection: str | None = None,
        options: Mapping[str, Option] | None = None, **fields: Any,
    ) -> list[Result]:
        """Makes a request and waits for its end. Cancelling the task cancels the request.

        Returns its results. Raises the `AttoError` that it failed with.
        """
        request = await self.begin(
            command, *arguments, connection=connection, options=options, **fields)
        try:
            return await asyncio.shield(request.done)
        except asyncio.CancelledError:
            self.cancel(request)
            raise

    async def begin(
        self, command: str, *arguments: str | int, connection: str | None = None,
        options: Mapping[str, Option] | None = None,
        receive: Callable[[Result], None] | None = None, stays: bool = False, **fields: Any,
    ) -> Request:
        """Makes a request, whose future `done` has its end. `receive` gets each result as it comes."""
        self._check()
        await self._slots.acquire()
        try:
            if not self._writable.is_set():
                await self._writable.wait()
            self._check()
        except BaseException:
            self._slots.release()
            raise
        self._next += 1
        request = Request(self._next, receive, stays, self._loop)
        request.done.add_done_callback(lambda done: self._slots.release())
        self._requests[request.id] = request
        message: dict[str, Any] = {"id": request.id, "command": command, **fields}
        if arguments:
            message["arguments"] = arguments
        if connection is not None:
            message["connection"] = connection
        if options:
            message["options"] = {
                name.replace("_", "-"): value for name, value in options.items()
                if value is not None}
        self._write(message)
        return request

    def cancel(self, request: Request) -> None:
        """Ends a request, without waiting for its end."""
        if request.id not in self._requests or self._end is not None:
            return
        self._next += 1
        # Its own answer is of no interest.
        self._write({"id": self._next, "command": "cancel", "arguments": [request.id]})

    def _check(self) -> None:
        if os.getpid() != self._owner:
            raise ProcessError("the session belongs to the process that this one was forked from")
        if self._process is None:
            raise ProcessError("the session was not started")
        if self._end is not None:
            raise ProcessError(self._end.message, *self._end.hints)

    def _write(self, message: dict[str, Any]) -> None:
        self._input.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    # Answers

    def _read(self, line: bytes) -> None:
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            return self._fail(ProcessError(f"atto printed no JSON object: {line[:80]!r}"))
        answer = cast(Result, found)
        if "session" in answer:
            return self._greet(answer)
        request = self._requests.get(answer["id"]) if isinstance(answer.get("id"), int) else None
        if "result" in answer:
            if request is None:
                return
            if request.receive is not None:
                self._tell(request.receive, answer["result"])
            else:
                request.results.append(answer["result"])
        elif "event" in answer:
            if self.on_event:
                self._tell(self.on_event, answer)
        elif request is not None and ("done" in answer or "error" in answer):
            if not request.stays:
                del self._requests[request.id]
            if request.done.done():
                return
            if "error" in answer:
                self._requests.pop(request.id, None)
                request.done.set_exception(error_from(answer["error"]))
            else:
                request.done.set_result(request.results)
        elif "error" in answer and "id" not in answer:
            _log.warning("%s", answer["error"].get("message"))

    def _tell(self, receive: Callable[[Result], None], result: Result) -> None:
        try:
            receive(result)
        except Exception as error:
            # It must not end the reading of the pipe.
            self._loop.call_exception_handler(
                {"message": "a callback of atto failed", "exception": error})

    def _greet(self, answer: Result) -> None:
        if answer["session"] != PROTOCOL:
            return self._fail(ProcessError(
                f"atto speaks version {answer['session']} of the session protocol, this package "
                f"version {PROTOCOL}", "install the atto package of the same release"))
        self._version = str(answer.get("version", ""))
        if not self._greeting.done():
            self._greeting.set_result(None)

    def _note(self, line: bytes) -> None:
        text = line.decode(errors="replace")
        self._noted.append(text)
        _log.info("%s", text)


def _forked() -> None:
    for session in list(_live):
        session.abandon()
    _live.clear()


os.register_at_fork(after_in_child=_forked)
