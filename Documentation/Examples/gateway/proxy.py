"""Uses a heart rate sensor with bleak, through a gateway: proxy.py ADDRESS KEY NAME"""

import asyncio
import sys

import habluetooth
from bleak_esphome import APIConnectionManager
from bleak_retry_connector import establish_connection
from habluetooth.usage import install_multiple_bleak_catcher

BATTERY_LEVEL = "00002a19-0000-1000-8000-00805f9b34fb"
HEART_RATE = "00002a37-0000-1000-8000-00805f9b34fb"


class Manager(habluetooth.BluetoothManager):
    def _discover_service_info(self, service_info) -> None:
        """Called with each advertisement; this program looks for its device by name."""


async def main(address: str, key: str, name: str) -> None:
    # From here on bleak's own classes use the gateway.
    install_multiple_bleak_catcher()
    from bleak import BleakClient, BleakScanner

    habluetooth.set_manager(manager := Manager())
    await manager.async_setup()
    gateway = APIConnectionManager({"address": address, "noise_psk": key})
    await gateway.start()
    try:
        async with BleakScanner() as scanner:
            async for device, advertisement in scanner.advertisement_data():
                if advertisement.local_name == name:
                    break
        client = await establish_connection(BleakClient, device, name)
        print("battery:", (await client.read_gatt_char(BATTERY_LEVEL))[0])
        values = asyncio.Queue()
        await client.start_notify(HEART_RATE, lambda _, value: values.put_nowait(value))
        print("heart rate:", (await values.get())[1])
        await client.disconnect()
    finally:
        await gateway.stop()


asyncio.run(main(*sys.argv[1:]))
