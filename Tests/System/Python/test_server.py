"""Servers whose values are answered by Python."""

import asyncio

import pytest

import atto
import atto.sync
from conftest import HEART_RATE, profile, run, value


def test_handlers(atto_air):
    async def body():
        written = []
        server = atto.Server(
            profile(
                value("A001", "read"), value("A002", "write", "writeWithoutResponse"),
                value("A003", "read", "write"), value("A004", "read", "notify", value="hex:01")),
            "air:Lamp")

        @server.on_read("A001")
        async def level(request):
            await asyncio.sleep(0)
            return bytes([request.client, request.handle]) * 150

        @server.on_write("A002")
        def change(request):
            written.append((request.value, request.is_command))
            if request.value == b"\xff":
                raise atto.ATTError(0x80)

        @server.on_read("A003")
        def broken(request):
            raise ValueError("a fault of the handler")

        async with server, atto.Client("air:Lamp", mtu=100) as client:
            handle = server.handle("A001")
            assert await client.read("A001") == bytes([1, handle]) * 150
            await client.write("A002", b"\1")
            await client.write("A002", b"\2", response=False)
            # A long value arrives in one call.
            await client.write("A002", bytes(200))
            with pytest.raises(atto.ATTError) as refused:
                await client.write("A002", b"\xff")
            assert refused.value.code == 0x80
            assert written == [
                (b"\1", False), (b"\2", True), (bytes(200), False), (b"\xff", False)]
            for attempt, code in ((client.read("A003"), 0x0E), (client.write("A003", b""), 0x03)):
                with pytest.raises(atto.ATTError) as refused:
                    await attempt
                assert refused.value.code == code
            # The others are the server's own.
            assert await client.read("A004") == b"\1"
            await server.set("A004", b"\2")
            assert await client.read("A004") == b"\2"
    run(body())


def test_notifications_indications_and_events(atto_air):
    async def body():
        server = atto.Server(
            profile(value("A001", "notify"), value("A002", "indicate")), "air:Lamp")
        async with server:
            assert await server.notify("A001", b"\1") == 0
            async with atto.Client("air:Lamp") as client:
                notified = await client.subscribe("A001")
                indicated = await client.subscribe("A002", indicate=True)
                assert await server.notify("A001", b"\1") == 1
                assert await server.indicate("A002", b"\2") == 1
                assert (await anext(notified)).data == b"\1"
                found = await anext(indicated)
                assert (found.data, found.is_indication) == (b"\2", True)
                assert server.clients == {1}
            names = []
            async for event in server.events():
                names.append(event["event"])
                if event["event"] == "disconnected":
                    break
            assert names == ["connected", "configured", "configured", "disconnected"]
            assert server.clients == set()
    run(body())


def test_values_for_one_client(atto_air):
    async def body():
        server = atto.Server(
            profile(value("A001", "read", "notify"), value("A002", "indicate")), "air:Lamp")
        readers = []

        @server.on_read("A001")
        def level(request):
            readers.append(request.client)
            return b"\0"

        async with server, atto.Client("air:Lamp") as one, atto.Client("air:Lamp") as two:
            values = [(await client.subscribe("A001"),
                       await client.subscribe("A002", indicate=True)) for client in (one, two)]
            # The clients' numbers, in this order.
            for client in (one, two):
                await client.read("A001")
            assert set(readers) == server.clients and len(server.clients) == 2
            for number, (client, (notified, indicated)) in enumerate(zip(readers, values)):
                assert await server.notify("A001", bytes([number]), client=client) == 1
                assert await server.indicate("A002", bytes([number]), client=client) == 1
                assert (await anext(notified)).data == bytes([number])
                assert (await anext(indicated)).data == bytes([number])
            assert await server.notify("A001", b"\7") == 2
            # Nothing came before it that was for the other client.
            assert [(await anext(notified)).data for notified, _ in values] == [b"\7"] * 2
            await values[0][0].close()
            assert await server.notify("A001", b"\7", client=readers[0]) == 0
            with pytest.raises(atto.UsageError, match="client 9 is not connected"):
                await server.notify("A001", b"\7", client=9)
    run(body())


def test_a_handler_that_does_not_answer_in_time(atto_air):
    async def body():
        server = atto.Server(profile(value("A001", "read")), "air:Slow", reply_timeout=0.1)

        @server.on_read("A001")
        async def never(request):
            await asyncio.get_running_loop().create_future()

        async with server, atto.Client("air:Slow") as client:
            with pytest.raises(atto.ATTError) as refused:
                await client.read("A001")
            assert refused.value.code == 0x0E
    run(body())


def test_large_profiles_and_files(atto_air):
    many = profile(*(value(f"{number:04X}", "read", value="hex:01") for number in range(0xB000, 0xB600)))

    async def body():
        async with atto.Server(many, "air:Large") as server:
            async with atto.Client("air:Large", mtu=517) as client:
                assert await client.read(server.handle("B5FF")) == b"\1"
        server = atto.Server(HEART_RATE, "air:Strap")

        @server.on_read("2A38")
        def location(request):
            return b"\5"

        async with server, atto.Client("air:Strap") as client:
            assert await client.read("2A38") == b"\5"
    run(body())


def test_wrong_servers(atto_air, tmp_path):
    server = atto.Server(profile(value("A001", "read"), value("A001", "read")))
    with pytest.raises(atto.UsageError, match="2 values A001"):
        server.on_read("A001")
    with pytest.raises(atto.UsageError, match="no values A009"):
        server.on_write("A009")
    with pytest.raises(atto.UsageError, match="nope.json"):
        atto.Server(tmp_path / "nope.json")

    async def body():
        with pytest.raises(atto.UsageError, match=r"services\[0\].characteristics\[0\].uuid"):
            async with atto.Server(profile(value("nonsense"))):
                pass
        with pytest.raises(atto.AttoError, match="behaviour"):
            async with atto.Server(profile(
                    value("A001", "read", behaviour={"application": True, "delayMilliseconds": 1}))):
                pass
    run(body())


def test_without_asyncio(atto_air):
    server = atto.sync.Server(profile(value("A001", "read", "notify")), "air:Lamp")

    @server.on_read("A001")
    def level(request):
        return b"\7"

    with server, atto.sync.Client(server.endpoint) as client:
        assert client.read("A001") == b"\7"
        with client.subscribe("A001") as values:
            assert server.notify("A001", b"\1") == 1
            assert next(values).data == b"\1"
            assert server.notify("A001", b"\2", client=1) == 1
            assert next(values).data == b"\2"
        assert server.event()["event"] == "connected"
        assert server.clients == {1}
