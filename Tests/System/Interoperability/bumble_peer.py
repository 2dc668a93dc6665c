#!/usr/bin/env python3
"""Bumble as an independent peer: its GATT client or server on a Unix SEQPACKET socket.

    bumble_peer.py client --connect PATH [--mtu N] [--script STEP...]
    bumble_peer.py server --listen PATH --profile FILE [--mtu N] [--notify N] [--clients N]

The client prints one JSON object: `services` as `atto discover --json` has it, then `values` and
`errors` by handle, `received` notifications, and `checks`. The server prints `listening` when it
is ready and a JSON object for each client that left.

Where Bumble 0.0.236 does not do what the specification says (Vol 3, Part F unless told), and
what these tests do about it:

| Bumble | Specification | Here |
|---|---|---|
| server: READABLE and WRITEABLE are not looked at | Read and Write Not Permitted, 3.2.5 | StoredValue raises them |
| server: declarations can be written, and change | never, Part G, 3.1 to 3.3 | nobody tries |
| server: 0x0F on a link that was never encrypted | 0x05 without a key, Vol 3, Part C, 10.3.1 | any of 05, 08, 0C, 0F passes |
| server: a request that is malformed, or of an unknown opcode, gets no answer | 0x04 and 0x06, 3.4.1.1 | none is sent |
| server: each request is a task of its own, so pipelined ones may be answered in another order | in order, 3.3.2 | none is pipelined |
| server: Read Multiple of an unknown handle is 0x0A; what lies beyond the MTU is not checked; an error of a value leaves the request without an answer | 0x01; all are checked, 3.4.4.7 | not used |
| server: Read Multiple ends before a value that does not fit | the value is cut, 3.4.4.7 | not used |
| server: Read Multiple Variable exceeds the MTU | at most ATT_MTU, 3.4.4.11 | not used |
| server: Find By Type Value and Read By Group Type with start 0 or start > end are 0x0A or answered | 0x01, 3.4.3.3 and 3.4.4.9 | not sent |
| server: Find By Type Value over a value that cannot be read leaves the request without an answer | skipped, 3.4.3.3 | for services only |
| server: Read Blob of a value that fits a response is 0x0B, at its very end too | optional, 3.4.4.5 | clients take it for the end |
| server: Prepare Write checks no permission; Execute finds it | 0x03 and others at once, 3.4.6.1 | either passes |
| server: prepared parts are put together from nothing, so the first must begin at 0 | offsets are into the value, 3.4.6.3 | long writes begin at 0 |
| server: Execute that fails leaves what came before it written | all or nothing, Part G, 4.9.5 | one value at a time |
| server: Execute with flags 2 to 255 writes | reserved, 3.4.6.3 | not sent |
| server: a one-octet write of a CCCD is answered and ignored | a prefix is written, 3.4.5.1 | two are written |
| server: Signed Write is ignored | 3.4.5.4 | not used |
| server: an include of a 128-bit UUID carries the first two octets of it | no UUID, Part G, 3.2 | built here |
| server: handles go from 0x0001 without gaps; an include adds its service first | Part G, 2.5.1 | built here |
| server: the Database Hash goes out most significant octet first | least, Part G, 7.3 | a plain value |
| client: an include without a UUID ends its discovery with an exception | Part G, 4.5.1 | read by its PDUs |
| client: no procedure for secondary services | Part G, 2.6.3 | read by its PDUs |
| client: a service at 0xFFFF is not looked for; discover_attributes fails after 0xFFFF | 0xFFFF is valid, 3.2.2 | no profile has one; not used |
| client: declarations' handles are forgotten | - | recorded |
| client: subscribe finds the descriptors anew each time | - | costs requests only |
| client: a response of another opcode is dropped, and the request runs into its time | - | the step fails |
| client: a late response is taken for the next request's where the opcode fits | the bearer is dead, 3.3.3 | none is late |
| client: 0x07 in the middle of a long read is taken for the end | the value changed, Part G, 4.8.3 | values rest |
| client: notifications and indications that nobody subscribed to are dropped with a warning | - | subscribes first |
| client: 0x23 Multiple Handle Value Notification is ignored | 3.4.7.4 | not asked for |
"""

import argparse
import asyncio
import json
import logging
import os
import sys

import bumble_bearer
import bumble_client
import bumble_server
import profile_layout


async def client(arguments) -> int:
    bearer = bumble_bearer.SocketBearer(
        await bumble_bearer.connect(arguments.connect)
    )
    inspection = bumble_client.Inspection(bearer)
    bearer.start()
    report = await inspection.run(arguments.mtu, arguments.script)
    bearer.close()
    print(json.dumps(report))
    return 0 if all(check["passed"] for check in report["checks"]) else 1


async def server(arguments) -> int:
    layout = profile_layout.load(arguments.profile)
    if arguments.plain:
        layout = bumble_server.without_behaviours(layout)
    served = bumble_server.ProfileServer(
        layout, arguments.mtu, arguments.notify, bare=arguments.bare
    )
    sock = bumble_bearer.listen(arguments.listen)
    print("listening", flush=True)
    try:
        count = 0
        while arguments.clients == 0 or count < arguments.clients:
            peer, _ = await asyncio.get_running_loop().sock_accept(sock)
            print(json.dumps(await served.serve(peer)), flush=True)
            count += 1
    finally:
        sock.close()
        os.unlink(arguments.listen)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Bumble's GATT client or server on a socket.")
    parser.add_argument("--verbose", action="store_true", help="log each PDU")
    roles = parser.add_subparsers(dest="role", required=True)
    role = roles.add_parser("client")
    role.add_argument("--connect", required=True, metavar="PATH")
    role.add_argument("--mtu", type=int, default=23)
    role.add_argument(
        "--script", nargs="+", default=["discover", "read", "write"], metavar="STEP",
        help=bumble_client.__doc__,
    )
    role = roles.add_parser("server")
    role.add_argument("--listen", required=True, metavar="PATH")
    role.add_argument("--profile", required=True, metavar="FILE")
    role.add_argument("--mtu", type=int, default=517)
    role.add_argument(
        "--notify", type=int, default=0, metavar="N",
        help="notify or indicate each new subscriber so often",
    )
    role.add_argument("--plain", action="store_true", help="leave the behaviours out")
    role.add_argument(
        "--bare", action="store_true", help="look at no permission that Bumble does not look at"
    )
    role.add_argument(
        "--clients", type=int, default=1, metavar="N", help="end after so many; 0 is never"
    )
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.DEBUG if arguments.verbose else logging.ERROR)
    try:
        return asyncio.run(client(arguments) if arguments.role == "client" else server(arguments))
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    except OSError as error:
        print(f"bumble_peer.py: {error}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
