#!/usr/bin/env python3
"""The part of atto's command line that `run` uses, done by Bumble.

With it in atto's place, `run` tests itself: `run bumble_atto.py` must pass, and whatever fails
there is no fault of atto's.
"""

import argparse
import asyncio
import json
import os
import sys

from bumble import att

import bumble_bearer
import bumble_client
import bumble_server
import profile_layout


async def serve(arguments) -> int:
    layout = profile_layout.load(arguments.profile)
    with open(arguments.profile, encoding="utf-8") as file:
        mtu = json.load(file).get("mtu", 517)
    served = bumble_server.ProfileServer(layout, mtu, 0)
    path = arguments.listen.removeprefix("unix:")
    sock = bumble_bearer.listen(path)
    peer, _ = await asyncio.get_running_loop().sock_accept(sock)
    if arguments.control:
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
        )
        served.spawn(control(reader, served))
    await served.serve(peer)
    os.unlink(path)
    return 0


async def control(reader, served) -> None:
    while line := (await reader.readline()).decode().split():
        command, handle, value = line
        await served.send(
            served.device.bearers[1],
            served.characteristics[int(handle, 16)],
            bytes.fromhex(value),
            notify=command == "notify",
        )


async def visit(arguments) -> int:
    path = arguments.endpoint.removeprefix("unix:")
    bearer = bumble_bearer.SocketBearer(await bumble_bearer.connect(path))
    inspection = bumble_client.Inspection(bearer)
    client = inspection.client
    bearer.start()
    if arguments.mtu:
        await client.request_mtu(arguments.mtu)
    try:
        if arguments.command == "discover":
            await inspection.step_discover()
            print(json.dumps({"services": inspection.report()["services"]}))
        elif arguments.command == "read":
            value = await client.read_value(int(arguments.handle, 16), not arguments.long)
            print(json.dumps({"handle": int(arguments.handle, 16), "value": value.hex()}))
        elif arguments.command == "write":
            await client.write_value(
                int(arguments.handle, 16), bytes.fromhex(arguments.value), with_response=True
            )
        else:
            await subscribe(arguments, inspection)
    except att.ATT_Error as error:
        print(f"error 0x{error.error_code:02X}", file=sys.stderr)
        return 1
    return 0


async def subscribe(arguments, inspection) -> None:
    await inspection.step_discover()
    handle = int(arguments.handle, 16)
    await inspection.step_subscribe(arguments.handle, str(arguments.count))
    for value in inspection.received[handle][: arguments.count]:
        print(json.dumps({"handle": handle, "value": value.hex()}))


def main() -> int:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("serve")
    command.add_argument("profile")
    command.add_argument("--listen")
    command.add_argument("--once", action="store_true")
    command.add_argument("--control", action="store_true")
    for name in ("discover", "read", "write", "subscribe"):
        command = commands.add_parser(name)
        command.add_argument("endpoint")
        if name != "discover":
            command.add_argument("handle")
        if name == "write":
            command.add_argument("value")
        command.add_argument("--mtu", type=int)
        command.add_argument("--timeout", type=float)
        command.add_argument("--json", action="store_true")
        command.add_argument("--long", action="store_true")
        command.add_argument("--indicate", action="store_true")
        command.add_argument("--count", type=int)
    arguments = parser.parse_args()
    return asyncio.run(serve(arguments) if arguments.command == "serve" else visit(arguments))


sys.exit(main())
