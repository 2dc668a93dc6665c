"""A cluster of three RabbitMQ nodes, of which one is killed: the gateway moves to another and loses nothing.

    Tests/System/Gateway/run PROGRAMS cluster

Needs Debian's rabbitmq-server, and is not part of a test run: the nodes take half a minute of processor time to
start. Each node is killed in turn while two devices send. Prints how long the gateway took to move, and how many
values were lost and came twice.
"""

import json
import os
import pathlib
import signal
import subprocess
import time

import paho.mqtt.client as mqtt

from mqtt import Bench, Listener, counting, first_arrivals, numbers
from support import Tally, free_port

SERVER = pathlib.Path("/usr/lib/rabbitmq/bin")
NAMES = ["a", "b", "c"]
DEVICES = ["one", "two"]
# Seconds until a node has started, with others that keep the processors busy.
START = 240


class Cluster:
    """Three nodes on this machine, with an Erlang port mapper of their own."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.folder = bench.path / "rabbit"
        self.folder.mkdir()
        cookie = self.folder / ".erlang.cookie"
        cookie.write_text("ATTOTESTS")
        cookie.chmod(0o400)
        (self.folder / "plugins").write_text("[rabbitmq_mqtt].\n")
        self.ports = {name: free_port() for name in NAMES}
        mapper = str(free_port())
        self.environment = {
            name: bench.environment | {
                "HOME": str(self.folder), "ERL_EPMD_ADDRESS": "127.0.0.1", "ERL_EPMD_PORT": mapper,
                "RABBITMQ_NODENAME": f"{name}@localhost", "RABBITMQ_DIST_PORT": str(free_port()),
                "RABBITMQ_MNESIA_BASE": str(self.folder / name), "RABBITMQ_LOG_BASE": str(self.folder / name),
                "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
                "RABBITMQ_CONFIG_FILE": str(self.folder / f"{name}.conf"),
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none"}
            for name in NAMES}
        self.nodes = {}

    def write(self, name: str) -> None:
        (self.folder / name).mkdir()
        members = "\n".join(f"cluster_formation.classic_config.nodes.{index} = {other}@localhost"
                            for index, other in enumerate(NAMES, 1))
        (self.folder / f"{name}.conf").write_text(f"""\
listeners.tcp.1 = 127.0.0.1:{free_port()}
mqtt.listeners.tcp.1 = 127.0.0.1:{self.ports[name]}
mqtt.allow_anonymous = true
distribution.listener.interface = 127.0.0.1
cluster_formation.peer_discovery_backend = classic_config
{members}
""")

    def start(self, name: str) -> None:
        with open(self.folder / f"{name}.log", "ab") as log:
            self.nodes[name] = subprocess.Popen(
                [SERVER / "rabbitmq-server"], env=self.environment[name], stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True)

    def control(self, name: str, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [SERVER / "rabbitmqctl", "-n", f"{name}@localhost", *words], env=self.environment[name],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=START)

    def wait(self, name: str) -> None:
        """Waits until a node belongs to the cluster and accepts clients."""
        for words in (["await_startup"], ["await_online_nodes", str(len(NAMES))]):
            limit = time.monotonic() + START
            while (done := self.control(name, *words)).returncode:
                if time.monotonic() > limit or self.nodes[name].poll() is not None:
                    log = (self.folder / f"{name}.log").read_text(errors="replace")[-2000:]
                    raise RuntimeError(f"node {name}: {done.stdout}{done.stderr}{log}")

    def kill(self, name: str) -> None:
        node = self.nodes.pop(name)
        os.killpg(node.pid, signal.SIGKILL)
        node.wait()

    def end(self) -> None:
        for name in list(self.nodes):
            self.kill(name)
        # It refuses while it knows nodes, and takes a moment to notice that they have died.
        limit = time.monotonic() + 10
        while subprocess.run(["epmd", "-port", self.environment["a"]["ERL_EPMD_PORT"], "-kill"],
                             stdin=subprocess.DEVNULL, capture_output=True).returncode:
            if time.monotonic() > limit:
                break
            time.sleep(0.1)


def topic(device: str) -> str:
    return f"atto/hall/{device}/a001"


def moving(bench: Bench, cluster: Cluster) -> None:
    tally = bench.tally
    for name in NAMES:
        cluster.write(name)
        cluster.start(name)
    for name in NAMES:
        cluster.wait(name)
    for device in DEVICES:
        bench.device(counting(10), device)
    # RabbitMQ 3.10 has no version 5. Each node keeps the queue of the subscriber that is connected to it, so the
    # subscriber is at a node that is not killed, and that the gateway does not know.
    bench.gateway(DEVICES, broker={
        "url": [f"mqtt://127.0.0.1:{cluster.ports[name]}" for name in "ab"], "version": "3.1.1"})
    listener = Listener(cluster.ports["c"], filters=("atto/#",), protocol=mqtt.MQTTv311)
    bench.listeners.append(listener)
    times = []
    connected = "mqtt: connected to mqtt://127.0.0.1:"
    for round in range(3):
        for device in DEVICES:
            for _ in range(200):
                listener.on(topic(device))
        before = bench.log().count(connected)
        place = int(bench.log().split(connected)[-1].split()[0])
        name = next(name for name in NAMES if cluster.ports[name] == place)
        cluster.kill(name)
        began = time.monotonic()
        bench.logged(connected, before + 1)
        # A value that did not wait has come by way of the other node.
        for device in DEVICES:
            listener.on(topic(device), lambda m: "late" not in json.loads(m.payload))
        times.append(time.monotonic() - began)
        if round < 2:
            cluster.start(name)
            cluster.wait(name)
    for device in DEVICES:
        for _ in range(200):
            listener.on(topic(device))
    lost = duplicates = values = 0
    for device in DEVICES:
        counts = numbers(listener.seen, topic(device))
        first = first_arrivals(counts)
        values += len(first)
        duplicates += len(counts) - len(first)
        lost += first[-1] - first[0] + 1 - len(first)
        tally.check(first == sorted(first), f"{device}: in order",
                    [pair for pair in zip(first, first[1:]) if pair[0] > pair[1]][:5])
    tally.check(values > 2000, "values", values)
    tally.equal(lost, 0, "values lost")
    late = sum(b'"late":true' in m.payload for m in listener.seen)
    print(f"moved in {', '.join(f'{time:.1f} s' for time in times)}; {values} values, {lost} lost, "
          f"{duplicates} twice, {late} late")


def refused(bench: Bench, cluster: Cluster) -> None:
    """RabbitMQ 3.10 closes a connection with version 5 without an answer, and the log says so."""
    bench.gateway(DEVICES, name="attic", broker={"url": f"mqtt://127.0.0.1:{cluster.ports['c']}"})
    bench.logged("mqtt: ", 2, log="attic.log")
    bench.tally.check("cannot connect to mqtt://" in bench.log("attic.log"), "version 5 is not spoken",
                      bench.log("attic.log"))


def main(programs: pathlib.Path, names: list) -> tuple:
    tally = Tally("cluster")
    if not (SERVER / "rabbitmq-server").exists():
        raise SystemExit("cluster: rabbitmq-server is missing: apt install rabbitmq-server")
    bench = Bench(programs, tally)
    cluster = Cluster(bench)
    try:
        moving(bench, cluster)
        refused(bench, cluster)
    except Exception as error:
        logs = "".join(f"{path.name}:\n{path.read_text(errors='replace')[-3000:]}"
                       for path in cluster.folder.glob("*/*@localhost.log"))
        tally.check(False, type(error).__name__, f"{error}\n{bench.log()[-3000:]}\n{logs}")
    finally:
        cluster.end()
        bench.end()
    return tally.passed, tally.failed
