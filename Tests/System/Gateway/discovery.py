"""Discovery by multicast DNS, with python-zeroconf, which Home Assistant uses, and aioesphomeapi's own search.

Each test has networks of its own: two network namespaces with a pair of interfaces between them. That needs root;
without it only the loopback interface is tried.

    discovery.py ADDRESS...     the client: prints what zeroconf finds on these interfaces, as lines of JSON
"""

import asyncio
import base64
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import support
from support import PATIENCE, Tally, confined, free_port

TYPE = "_esphomelib._tcp.local."
KEY = base64.b64encode(bytes(range(32))).decode()
GROUP = ("224.0.0.251", 5353)


async def browse(addresses: list) -> None:
    """Prints each change of a service with its data, which zeroconf asks for."""
    from zeroconf import ServiceStateChange
    from zeroconf.asyncio import (
        AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf, AsyncZeroconfServiceTypes)
    client = AsyncZeroconf(interfaces=addresses)
    tasks = set()

    async def tell(name: str, change) -> None:
        found = {"name": name, "change": change.name}
        if change is not ServiceStateChange.Removed:
            info = AsyncServiceInfo(TYPE, name)
            found["complete"] = await info.async_request(client.zeroconf, 3000)
            found |= {
                "host": info.server, "port": info.port, "addresses": sorted(info.parsed_addresses()),
                "texts": {key.decode(): value.decode() for key, value in info.properties.items()}}
        print(json.dumps(found), flush=True)

    def changed(zeroconf, service_type, name, state_change) -> None:
        tasks.add(asyncio.ensure_future(tell(name, state_change)))

    browser = AsyncServiceBrowser(client.zeroconf, TYPE, handlers=[changed])
    types = await AsyncZeroconfServiceTypes.async_find(aiozc=client, timeout=3)
    print(json.dumps({"types": list(types)}), flush=True)
    await asyncio.Event().wait()
    await browser.async_cancel()


class Lines:
    """A program whose lines are awaited."""

    def __init__(self, words: list) -> None:
        self.program = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        os.set_blocking(self.program.stdout.fileno(), False)
        self.seen = []

    def until(self, wanted, what: str) -> dict | str:
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            while line := self.program.stdout.readline():
                with contextlib.suppress(ValueError):
                    line = json.loads(line)
                self.seen.append(line)
                if wanted(line):
                    return line
            time.sleep(0.01)
        raise TimeoutError(f"{what}: {self.seen}")

    def end(self) -> None:
        self.program.kill()
        self.program.wait()


class Bench(support.Bench):
    def __init__(self, programs: pathlib.Path, tally) -> None:
        super().__init__(programs)
        self.tally = tally

    def namespace(self) -> list:
        """The words that enter a new network namespace."""
        holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self.running.append(holder)
        own = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{holder.pid}/ns/net") == own:
            time.sleep(0.01)
        words = ["nsenter", "-t", str(holder.pid), "--net"]
        subprocess.run([*words, "ip", "link", "set", "lo", "up"], check=True)
        return words

    def networks(self) -> tuple:
        """Two namespaces with an interface each, 192.0.2.1 and 192.0.2.2, 2001:db8::1 and 2001:db8::2."""
        first, second = self.namespace(), self.namespace()
        for command in [
                f"link add near type veth peer name far netns {second[2]}", "addr add 192.0.2.1/24 dev near",
                "addr add 2001:db8::1/64 dev near nodad", "link set near up"]:
            subprocess.run([*first, "ip", *command.split()], check=True)
        for command in ["addr add 192.0.2.2/24 dev far", "addr add 2001:db8::2/64 dev far nodad",
                        "link set far up"]:
            subprocess.run([*second, "ip", *command.split()], check=True)
        return first, second

    def gateway(self, within: list, name: str, listen: str, **esphome) -> subprocess.Popen:
        file = self.write(f"{name}.json", {
            "name": name, "adapters": ["air"], "esphome": {"listen": listen, "key": KEY} | esphome})
        return self.start(
            *within, *confined(self.programs), file, "--control", self.path / f"{listen}.control",
            log=f"{listen}.log")

    def client(self, within: list, *addresses) -> Lines:
        lines = Lines([*within, sys.executable, __file__, *addresses])
        self.running.append(lines.program)
        return lines


def found(name: str, change: str = "Added"):
    return lambda line: isinstance(line, dict) and (
        line.get("name"), line.get("change")) == (f"{name}.{TYPE}", change)


def loopback(bench: Bench) -> None:
    """On this machine only, which has to be asked for."""
    tally = bench.tally
    name, port = f"hall-{os.getpid()}", free_port()
    gateway = bench.gateway([], name, f"127.0.0.1:{port}", mdns=True, friendlyName="Große Halle")
    client = bench.client([], "127.0.0.1")
    service = client.until(found(name), "found")
    tally.equal(
        (service["host"], service["port"], service["addresses"], service["complete"]),
        (f"{name}.local.", port, ["127.0.0.1"], True), "the service")
    tally.equal(service["texts"]["friendly_name"], "Große Halle", "the name that people see")
    gateway.send_signal(signal.SIGTERM)
    client.until(found(name, "Removed"), "goodbye")
    tally.equal(gateway.wait(), 0, "status")
    # By default this machine's own programs do not look for it.
    bench.gateway([], name, f"127.0.0.1:{free_port()}")


def network(bench: Bench) -> None:
    """On a network: what Home Assistant needs, both versions of the protocol, aioesphomeapi's search."""
    tally = bench.tally
    near, far = bench.networks()
    client = bench.client(far, "192.0.2.2")
    search = Lines([*far, sys.executable, "-m", "aioesphomeapi.discover"])
    bench.running.append(search.program)
    gateway = bench.gateway(near, "hall", "[::]:6053")
    service = client.until(found("hall"), "found")
    tally.equal((service["host"], service["port"]), ("hall.local.", 6053), "host and port")
    tally.check({"192.0.2.1", "2001:db8::1"} <= set(service["addresses"]), "addresses", service)
    texts = service["texts"]
    bench.logged("announced by mDNS as hall.local on near", log="[::]:6053.log")
    address = bench.log("[::]:6053.log").split(" as ")[1].split(",")[0]
    tally.equal(texts["mac"], address.replace(":", "").lower(), "the address of the gateway")
    tally.equal(
        sorted(texts),
        ["api_encryption", "board", "friendly_name", "mac", "network", "platform", "project_name",
         "project_version", "version"], "texts")
    types = client.until(lambda line: isinstance(line, dict) and "types" in line, "types")
    tally.check(TYPE in types["types"], "the list of all types", types)
    line = search.until(lambda line: "ONLINE" in str(line) and "hall" in str(line), "discover")
    tally.check("192.0.2.1" in line and texts["mac"] in line, "aioesphomeapi's search", line)
    # A client that comes later, one over IPv6, and one of the ordinary DNS.
    client.end()
    for addresses in (["192.0.2.2"], ["2001:db8::2"]):
        late = bench.client(far, *addresses)
        tally.check(late.until(found("hall"), f"found over {addresses}")["complete"], "complete")
    if subprocess.run(["which", "dig"], capture_output=True).returncode == 0:
        answer = subprocess.run(
            [*far, "dig", "+short", "+timeout=60", "-b", "192.0.2.2", "-p", "5353", "@224.0.0.251", "hall.local", "A"],
            capture_output=True, text=True).stdout
        tally.equal(answer, "192.0.2.1\n", "dig")
    # An address that comes later, and one that goes.
    subprocess.run([*near, "ip", "addr", "add", "198.51.100.1/24", "dev", "near"], check=True)
    late.until(lambda line: "198.51.100.1" in str(line), "the new address")
    flood(far)
    tally.check(bench.client(far, "192.0.2.2").until(found("hall"), "after a flood")["complete"], "complete")
    gateway.send_signal(signal.SIGTERM)
    late.until(found("hall", "Removed"), "goodbye")
    search.until(lambda line: "OFFLINE" in str(line), "offline")
    tally.equal(gateway.wait(), 0, "status")


def flood(within: list) -> None:
    """Octets at random, and 20,000 questions."""
    code = f"""
import os, socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("192.0.2.2"))
question = bytes.fromhex("000000000001000000000000") + b"\\x0b_esphomelib\\x04_tcp\\x05local\\0" + bytes([0, 12, 0, 1])
for number in range(20000):
    sender.sendto(os.urandom(number % 1400) if number % 3 == 0 else question, {GROUP})
"""
    subprocess.run([*within, sys.executable, "-c", code], check=True)


def names(bench: Bench) -> None:
    """Two gateways of one name, a network that comes later, and a port that another program has for itself."""
    tally = bench.tally
    near, far = bench.networks()
    client = bench.client(far, "192.0.2.2")
    bench.gateway(far, "hall", "192.0.2.2:6053")
    client.until(found("hall"), "the first")
    bench.gateway(near, "hall", "192.0.2.1:6054")
    bench.logged("another host in the network is hall.local", log="192.0.2.1:6054.log")
    digits = bench.log("192.0.2.1:6054.log").split(" as ")[1].split(",")[0].replace(":", "").lower()[6:]
    service = client.until(found(f"hall-{digits}"), "the second, under another name")
    tally.equal((service["port"], service["addresses"]), (6054, ["192.0.2.1"]), "the second")
    alone = bench.namespace()
    bench.gateway(alone, "alone", "0.0.0.0:6055")
    bench.logged("no network is up", log="0.0.0.0:6055.log")
    for command in ["link add late type veth peer name other", "addr add 203.0.113.1/24 dev late",
                    "link set other up", "link set late up"]:
        subprocess.run([*alone, "ip", *command.split()], check=True)
    bench.logged("announced by mDNS as alone.local on late", log="0.0.0.0:6055.log")
    taken = bench.namespace()
    holder = Lines([*taken, sys.executable, "-c", (
        "import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        "s.bind(('0.0.0.0', 5353)); print('bound', flush=True); time.sleep(600)")])
    bench.running.append(holder.program)
    holder.until(lambda line: "bound" in str(line), "bound")
    bench.gateway(taken, "taken", "127.0.0.1:6056", mdns=True)
    bench.logged("another program has UDP port 5353 for itself", log="127.0.0.1:6056.log")


TESTS = [loopback, network, names]


def main(programs: pathlib.Path, names: list) -> tuple:
    tally = Tally("discovery")
    for test in TESTS if os.geteuid() == 0 else [loopback]:
        if names and not any(name in test.__name__ for name in names):
            continue
        tally.where = test.__name__
        bench = Bench(programs, tally)
        try:
            test(bench)
        except Exception as error:
            tally.check(False, type(error).__name__, error)
        finally:
            bench.end()
    return tally.passed, tally.failed


if __name__ == "__main__":
    asyncio.run(browse(sys.argv[1:]))
