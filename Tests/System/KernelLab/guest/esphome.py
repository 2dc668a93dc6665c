"""In the machine: Home Assistant's client of ESPHome's API, on the gateway's port without encryption.

esphome.py PORT ADDRESS STRANGER     uses the device ADDRESS, and STRANGER, which has no bond

What it finds is printed as JSON lines. Run by the interpreter that has aioesphomeapi.
"""

import asyncio
import json
import sys

import aioesphomeapi as api
from aioesphomeapi.core import BluetoothGATTAPIError
from patience import PATIENCE


def tell(event: str, **fields) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


def number(address: str) -> int:
    return int(address.replace(":", ""), 16)


async def main(port: int, device: str, stranger: str) -> None:
    client = api.APIClient("127.0.0.1", port, None)
    await asyncio.wait_for(client.connect(), PATIENCE)
    heard = {}
    both = asyncio.Event()

    def receive(message) -> None:
        for one in message.advertisements:
            heard[one.address] = one
        if {number(device), number(stranger)} <= heard.keys():
            both.set()

    client.subscribe_bluetooth_le_raw_advertisements(receive)
    await asyncio.wait_for(both.wait(), PATIENCE)
    for address in (device, stranger):
        one = heard[number(address)]
        tell("heard", address=address, rssi=one.rssi, kind=one.address_type, data=one.data.hex())
    flags = (await client.device_info()).bluetooth_proxy_feature_flags

    async def connect() -> tuple:
        states = asyncio.Queue()
        await client.bluetooth_device_connect(
            number(device), lambda *state: states.put_nowait(state), timeout=PATIENCE,
            feature_flags=flags, has_cache=False, address_type=0)
        return states, await states.get()

    states, state = await connect()
    tell("connected", on=state[0], mtu=state[1])
    services = await client.bluetooth_gatt_get_services(number(device))
    found = {
        characteristic.uuid[4:8].upper(): characteristic for service in services.services
        for characteristic in service.characteristics}
    plain = await client.bluetooth_gatt_read(number(device), found["A001"].handle)
    tell("read", value=plain.hex())
    values = asyncio.Queue()
    await client.bluetooth_gatt_start_notify(
        number(device), found["A004"].handle, lambda _, value: values.put_nowait(value))
    configuration = found["A004"].descriptors[0].handle
    await client.bluetooth_gatt_write_descriptor(number(device), configuration, b"\1\0")
    tell("notified", values=[
        (await asyncio.wait_for(values.get(), PATIENCE)).hex() for _ in range(3)])
    await client.bluetooth_device_set_connection_params(number(device), 40, 40, 0, 500)
    tell("parameters")
    for _ in range(2):
        # Pairs; then there is a bond, and nothing is asked.
        paired = await client.bluetooth_device_pair(number(device), timeout=PATIENCE)
        tell("paired", done=paired.paired, error=paired.error)
    secret = await client.bluetooth_gatt_read(number(device), found["A002"].handle)
    tell("read", value=bytes(secret).decode())
    # The kernel ends the link; the answer comes first.
    removed = await client.bluetooth_device_unpair(number(device), timeout=PATIENCE)
    tell("unpaired", done=removed.success, error=removed.error)
    state = await asyncio.wait_for(states.get(), PATIENCE)
    tell("disconnected", on=state[0])
    removed = await client.bluetooth_device_unpair(number(stranger), timeout=PATIENCE)
    tell("unpaired", done=removed.success, error=removed.error)
    try:
        await client.bluetooth_gatt_read(number(device), found["A001"].handle)
    except (BluetoothGATTAPIError, api.APIConnectionError) as error:
        tell("refused", error=str(error))
    await client.disconnect()


asyncio.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
