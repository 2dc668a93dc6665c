"""What goes wrong: processes that are missing, wrong, silent or killed, and callers that leave."""

import asyncio
import os
import signal
import threading
import types

import pytest

import atto
import atto.sync
from conftest import children, profile, run, value


@pytest.fixture
def silent(atto_server):
    """A server that never answers; its handler sets the event."""
    asked = threading.Event()

    async def never(request):
        asked.set()
        await asyncio.get_running_loop().create_future()

    atto_server(
        profile(value("A001", "read"), value("A002", "notify")), "air:Silent", on_read={"A001": never})
    return asked


def fake(folder, text):
    """A program in place of atto."""
    path = folder / "fake"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("text, message", [
    ("""echo '{"session":99,"version":"x"}'; cat""", "version 99 of the session protocol"),
    ("echo nonsense; cat", "no JSON object"),
    ("echo 'a reason' >&2; exit 3", "status 3.*a reason"),
    ("kill -9 $$", "signal 9"),
])
def test_wrong_programs(tmp_path, text, message):
    async def body():
        with pytest.raises(atto.ProcessError, match=message):
            async with atto.Client("air:Strap", atto=fake(tmp_path, text)):
                pass
    run(body())


def test_missing_program(monkeypatch, tmp_path):
    with pytest.raises(atto.ProcessError, match="cannot find .*nope"):
        with atto.sync.Client("air:Strap", atto="/nope"):
            pass
    monkeypatch.delenv("ATTO")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(atto.ProcessError) as missing:
        atto.find_atto()
    assert "$PATH" in missing.value.hint


def test_program_killed_during_a_request(silent):
    async def body():
        ended = []
        async with atto.Client("air:Silent", on_disconnect=ended.append) as client:
            values = await client.subscribe("A002")
            reading = asyncio.ensure_future(client.read("A001"))
            await asyncio.to_thread(silent.wait)
            os.kill(client.process, signal.SIGKILL)
            for attempt in (reading, anext(values), client.read(3)):
                with pytest.raises(atto.ProcessError, match="signal 9"):
                    await attempt
            assert isinstance(ended[0], atto.ProcessError) and not client.is_connected
    run(body())


def test_peer_that_never_answers(silent):
    async def body():
        async with atto.Client("air:Silent", timeout=0.2) as client:
            with pytest.raises(atto.RequestTimeout) as late:
                await client.read("A001")
            assert isinstance(late.value, TimeoutError)
        # Closing does not wait for it.
        async with atto.Client("air:Silent") as client:
            silent.clear()
            reading = asyncio.ensure_future(client.read("A001"))
            await asyncio.to_thread(silent.wait)
        with pytest.raises(atto.AttoError):
            await reading
    run(body())


def test_keyboard_interrupt(silent):
    def interrupt():
        silent.wait()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        with atto.sync.Client("air:Silent") as client:
            client.read("A001")
    thread.join()


@types.coroutine
def cancelled_at(number, body):
    """Awaits a coroutine in a task that is cancelled when it waits for the `number`th time."""
    task, count = asyncio.current_task(), 0
    error = None
    while True:
        try:
            waited = body.throw(error) if error else body.send(None)
        except StopIteration as end:
            return count
        count += 1
        if count == number:
            task.cancel()
        try:
            error = None
            yield waited
        except BaseException as thrown:
            error = thrown


def test_cancellation_at_each_await(strap):
    async def work():
        async with atto.Client("air:Strap") as client:
            await client.read(3)
            async with await client.subscribe(18) as values:
                await anext(values)
            await client.write("2A39", b"\1")

    async def server():
        async with atto.Server(profile(value("A001", "notify")), "air:Lamp") as lamp:
            await lamp.notify("A001", b"")

    async def attempt(number, body):
        async def whole():
            return await cancelled_at(number, body())
        count = None
        task = asyncio.ensure_future(whole())
        try:
            count = await task
        except asyncio.CancelledError:
            pass
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return count

    for body in (work, server):
        number = 1
        while True:
            own = len(children())
            count = run(attempt(number, body))
            assert len(children()) == own
            if count is not None and count < number:
                break
            number += 1
        assert number > 5


def test_fork(strap):
    async def body():
        async with atto.Client("air:Strap") as client:
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    client._session._check()
                except atto.ProcessError:
                    status = 0
                finally:
                    os._exit(status)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert await client.read(3) == b"Atto Strap"
    run(body())
    with atto.sync.Client("air:Strap") as client:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                client.read(3)
            except atto.ProcessError:
                client.close()
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert client.read(3) == b"Atto Strap"


def test_a_callback_that_fails_does_not_end_the_session(strap, caplog):
    async def body():
        loop = asyncio.get_running_loop()
        reported = []
        loop.set_exception_handler(lambda loop, context: reported.append(context["exception"]))
        async with atto.Client("air:Strap") as client:
            def receive(value):
                raise ZeroDivisionError
            values = await client.subscribe(18, receive)
            while not reported:
                await client.request("mtu")
            assert await client.read(3) == b"Atto Strap"
            await values.close()
        assert isinstance(reported[0], ZeroDivisionError)
    run(body())


def test_many_requests_at_once(strap):
    async def body():
        async with atto.Client("air:Strap") as client:
            found = await asyncio.gather(*(client.read(3) for _ in range(1500)))
            assert set(found) == {b"Atto Strap"}
    run(body())
