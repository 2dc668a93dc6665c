"""The peer: what a bleak and paho script does for the same devices. Without arguments beyond

    bleak_script.py PORT COUNT

it connects to device0 and so on by name, and publishes each value of A001 as hexadecimal digits at QoS 0."""

import asyncio
import sys

import paho.mqtt.client as mqtt
from atto.bleak import AttoClient, AttoScanner
from bleak import BleakClient, BleakScanner

CHARACTERISTIC = "0000a001-0000-1000-8000-00805f9b34fb"


async def follow(device, broker: mqtt.Client) -> BleakClient:
    topic = f"script/{device.name}/a001"
    client = BleakClient(device, backend=AttoClient)
    await client.connect()
    await client.start_notify(
        CHARACTERISTIC, lambda _, value: broker.publish(topic, value.hex(), qos=0))
    return client


async def main() -> None:
    port, count = int(sys.argv[1]), int(sys.argv[2])
    broker = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    broker.connect("127.0.0.1", port)
    broker.loop_start()
    clients = []
    for number in range(count):
        device = await BleakScanner.find_device_by_name(f"device{number}", backend=AttoScanner)
        clients.append(await follow(device, broker))
    print("connected", flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
