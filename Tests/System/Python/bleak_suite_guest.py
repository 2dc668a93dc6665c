"""In the lab's machine: bleak's integration tests, with Atto as the backend.

    bleak_suite_guest.py ARGUMENTS OF PYTEST

The kernel's adapter and the tests' peripheral have controllers of Bumble's on one air. The tests reach
theirs over TCP, as they would a dongle (`--bleak-hci-transport`), and so run without bluetoothd. Each
connection gets a new controller. Run by `bleak_suite`.
"""

import asyncio
import os
import pathlib
import sys

from bumble import hci
from bumble.controller import Controller
from bumble.transport import open_transport
from bumble.transport.common import StreamPacketSource

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "KernelLab" / "guest"))
from bumble_air import Air, KernelController  # noqa: E402
from mgmt import Mgmt  # noqa: E402
from patience import PATIENCE  # noqa: E402

ADDRESS = "00:BB:02:00:00:01"


class Sink:
    """The tests' end of the peripheral's controller."""

    def __init__(self, writer: asyncio.StreamWriter):
        self.writer = writer

    def on_packet(self, packet: bytes) -> None:
        self.writer.write(packet)


async def adapter(control: Mgmt, before: set[int]) -> int:
    """Powers the kernel's new adapter."""
    async with asyncio.timeout(PATIENCE):
        while not (new := set(control.indexes()) - before):
            await asyncio.sleep(0.02)
    index, = new
    # The kernel's commands are carried out by the controller, which is in this thread.
    await asyncio.to_thread(control.setup_virtual, index)
    return index


async def main() -> int:
    air = Air()

    async def peripheral(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        source = StreamPacketSource()
        controller = Controller("peripheral", host_source=source, host_sink=Sink(writer), link=air)
        try:
            while data := await reader.read(4096):
                source.data_received(data)
        except ConnectionError:
            pass
        finally:
            for link in list(controller.le_connections.values()):
                controller.on_hci_disconnect_command(hci.HCI_Disconnect_Command(
                    connection_handle=link.handle, reason=0x13))
            # Else it advertises forever.
            controller.le_legacy_advertiser.stop()
            for advertising in controller.advertising_sets.values():
                advertising.stop()
            air.remove_controller(controller)
            writer.close()

    control = Mgmt()
    before = set(control.indexes())
    async with await open_transport("vhci") as transport:
        kernel = KernelController(
            "kernel", host_source=transport.source, host_sink=transport.sink, link=air,
            public_address=f"{ADDRESS}/P")
        index = await adapter(control, before)
        server = await asyncio.start_server(peripheral, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        tests = await asyncio.create_subprocess_exec(
            sys.executable, "-B", "-m", "atto.bleak", str(pathlib.Path(sys.executable).parent / "pytest"),
            "-p", "no:cacheprovider", "--no-cov", f"--bleak-hci-transport=tcp-client:127.0.0.1:{port}",
            *sys.argv[1:], env={**os.environ, "ATTO_RADIO": f"le:@hci{index}"})
        status = await tests.wait()
        del kernel
        server.close()
    return status


sys.exit(asyncio.run(main()))
