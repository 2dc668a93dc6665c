"""The pipes of a process, and its end, on an event loop."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable

# Bytes of one line of the command.
LINE_LIMIT = 64 * 1024 * 1024


async def ends(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Waits for the end of a process."""
    if process.poll() is not None:
        return True
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return process.poll() is not None
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def end() -> None:
        if not ended.done():
            ended.set_result(None)

    loop.add_reader(descriptor, end)
    try:
        async with asyncio.timeout(seconds):
            await ended
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    process.wait()
    return True


class Lines(asyncio.Protocol):
    """Splits a pipe into lines."""

    def __init__(self, line: Callable[[bytes], None], end: Callable[[], None]) -> None:
        self._line = line
        self._end = end
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            self._line(line)
        if len(self._rest) > LINE_LIMIT:
            self._rest = b""
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()


class Writer(asyncio.BaseProtocol):
    """Says whether the process reads what is written to it."""

    def __init__(self, writable: asyncio.Event) -> None:
        self._writable = writable
        writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()
