"""The client, with asyncio and without."""

import asyncio

import pytest

import atto
import atto.sync
from conftest import profile, run, value


def test_reads_writes_and_discovers(strap):
    async def body():
        async with atto.Client("air:Strap", mtu=247) as client:
            assert client.mtu == 247 and client.is_connected
            assert await client.read(3) == b"Atto Strap"
            assert await client.read("2A00") == b"Atto Strap"
            rate = await client.find(0x2A37)
            assert (rate.handle, rate.properties) == (18, {"notify"})
            assert rate.configuration.handle == 19
            assert await client.security() == "low"
            control = await client.find("2a39")
            await client.write(control, b"\1")
            services = await client.discover()
            assert [service.uuid[4:8] for service in services] == [
                "1800", "1801", "180d", "180f", "180a"]
        assert not client.is_connected
    run(body())


def test_errors_have_kind_code_and_handle(strap):
    async def body():
        async with atto.Client("air:Strap") as client:
            with pytest.raises(atto.ATTError) as refused:
                await client.write(18, b"\0")
            assert (refused.value.code, refused.value.handle, refused.value.kind) == (3, 18, "att")
            with pytest.raises(atto.UsageError, match="no characteristic"):
                await client.find("2A99")
            with pytest.raises(atto.UsageError) as wrong:
                await client.request("read", 18, offsett=1)
            assert "--offset" in wrong.value.hint
        with pytest.raises(atto.ProcessError):
            await client.read(3)
        with pytest.raises(atto.LinkError) as absent:
            async with atto.Client("air:Nobody", timeout=0.1):
                pass
        assert isinstance(absent.value, ConnectionError)
    run(body())


def test_long_values(atto_server):
    atto_server(profile(value("A001", "read", "write", value={"repeat": "31", "count": 512})), "air:Long")

    async def body():
        async with atto.Client("air:Long") as client:
            assert await client.read("A001") == b"1" * 512
            assert await client.read("A001", long=False) == b"1" * 22
            await client.write("A001", bytes(300))
            assert await client.read("A001") == bytes(300)
            await client.write("A001", b"")
            assert await client.read("A001") == b""
            assert await client.exchange_mtu() == 517
    run(body())


def test_subscription(strap):
    async def body():
        async with atto.Client("air:Strap") as client:
            async with await client.subscribe("2A37") as values:
                strap.notify("2A37", b"\0\x50")
                async for found in values:
                    assert found.handle == 18
                    if found.data == b"\0\x50":
                        break
            assert await client.read(19) == b"\0\0"
            # After its end there are no more values.
            assert [found async for found in values if False] == []
            with pytest.raises(atto.UsageError):
                await client.subscribe(3)
    run(body())


def test_end_of_the_connection(strap):
    async def body():
        ended = asyncio.get_running_loop().create_future()
        async with atto.Client("air:Strap", on_disconnect=ended.set_result) as client:
            values = await client.subscribe(18)
            await asyncio.to_thread(strap.disconnect_clients)
            assert isinstance(await ended, atto.LinkError)
            with pytest.raises(atto.LinkError):
                await client.read(3)
            with pytest.raises(atto.LinkError):
                async for _ in values:
                    pass
    run(body())


def test_without_asyncio(strap):
    with atto.sync.Client("air:Strap", mtu=100) as client:
        assert client.mtu == 100
        assert client.read("2A00") == b"Atto Strap"
        client.write("2A39", b"\1")
        with client.subscribe("2A37") as values:
            assert next(values).data[:1] == b"\0"
        assert len(client.discover()) == 5
        with pytest.raises(atto.ATTError):
            client.write(18, b"")
        with client.subscribe("2A19") as silent:
            with pytest.raises(TimeoutError, match="nothing came within 0.01 s"):
                silent.next(timeout=0.01)
    with pytest.raises(atto.ProcessError):
        client.read(3)


def test_unread_values_are_bounded_and_counted(atto_server):
    burst = {"burst": {"count": 6000, "size": 20, "on": "subscribe"}}
    atto_server(profile(value("A001", "notify", "read", behaviour=burst)), "air:Burst")

    async def body():
        async with atto.Client("air:Burst") as client:
            values = await client.subscribe("A001", limit=1000)
            while values.dropped < 5000:
                await client.request("mtu")
            found = [await anext(values) for _ in range(1000)]
            assert found[0].missed == 5000 and not any(it.missed for it in found[1:])
            assert [int.from_bytes(it.data[:4], "little") for it in found] == list(range(5000, 6000))
    run(body())


def test_pairing_with_a_passkey(atto_server):
    secret = value("A001", "read", value="hex:07", permissions=["readAuthenticated"])
    server = atto_server(profile(secret), "air:Lock", options={"io": "display"})
    asked = []

    def agent(question):
        asked.append(question.kind)
        while (event := server.event(60))["event"] != "show":
            pass
        return event["passkey"]

    async def body():
        async with atto.Client("air:Lock", security="auto", io="keyboard", agent=agent) as client:
            assert await client.read("A001") == b"\7"
            assert await client.security() in ("high", "fips")
        async with atto.Client("air:Lock") as client:
            with pytest.raises(atto.ATTError, match="Insufficient"):
                await client.read("A001")
    run(body())
    assert asked == ["enter"]
