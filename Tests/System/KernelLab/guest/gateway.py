"""`atto-gateway` in the machine: started with a configuration, and asked for its status."""

import contextlib
import json
import os
import signal
import socket
import time
from pathlib import Path

from peers import ATTO, PATIENCE, Process, check

PROGRAM = os.environ.get("GATEWAY") or str(Path(ATTO).parent / "atto-gateway")


class Gateway(Process):
    """A gateway with a folder and a store of its own, which the next one of the same name finds again."""

    def __init__(self, *prefix: str, name: str = "hall", **configuration):
        self.folder = Path(os.getcwd()) / name
        self.folder.mkdir(exist_ok=True)
        self.control = self.folder / "control"
        self.file = self.folder / "gateway.json"
        self.configuration = {
            "name": name, "log": "debug", "store": str(self.folder / "store.sqlite"),
            "state": str(self.folder)} | configuration
        self.write()
        check(os.access(PROGRAM, os.X_OK), f"{PROGRAM} is missing: build the package first")
        super().__init__(*prefix, PROGRAM, str(self.file), "--control", str(self.control))

    def write(self, **changes) -> None:
        self.configuration |= changes
        self.file.write_text(json.dumps(self.configuration))

    def reload(self, **changes) -> None:
        self.write(**changes)
        self.signal(signal.SIGHUP)

    def status(self) -> dict:
        """The status; empty while the gateway does not answer."""
        with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(OSError):
            client.settimeout(PATIENCE)
            client.connect(str(self.control))
            client.sendall(b"GET /status.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b""
            while part := client.recv(65536):
                answer += part
            return json.loads(answer.partition(b"\r\n\r\n")[2])
        return {}

    def until(self, found, what: str, seconds: float = PATIENCE):
        """Waits until `found` returns something of the status, and returns it."""
        deadline = time.monotonic() + seconds
        while True:
            status = self.status()
            if status and (result := found(status)):
                return result
            check(
                time.monotonic() < deadline and self.process.poll() is None,
                f"{what}\n{self.errors[-5000:]}\n{json.dumps(status)}")
            time.sleep(0.1)

    def connected(self, *names: str, links: int | None = None, seconds: float = PATIENCE) -> dict:
        """Waits until these devices are connected; returns the devices by name."""
        def found(status):
            devices = {device["name"]: device for device in status["devices"]}
            good = all(
                devices[name]["state"] == "connected" and links in (None, devices[name]["links"])
                for name in names)
            return devices if good else None
        return self.until(found, f"{names} are not connected", seconds)

    def adapter(self, name: str, state: str, seconds: float = PATIENCE) -> dict:
        """Waits until an adapter is in this state."""
        return self.until(
            lambda status: next((
                one for one in status["adapters"] if (one["name"], one["state"]) == (name, state)),
                None), f"{name} is not {state}", seconds)

    def logged(self, text: str, count: int = 1, seconds: float = PATIENCE) -> None:
        deadline = time.monotonic() + seconds
        while self.errors.count(text) < count:
            check(
                time.monotonic() < deadline and self.process.poll() is None,
                f'"{text}" was not logged:\n{self.errors[-5000:]}')
            time.sleep(0.05)

    def stop(self) -> None:
        self.signal(signal.SIGTERM)
        check(self.wait() == 0, self.errors[-3000:])

    def __enter__(self) -> "Gateway":
        return self

    def __exit__(self, *_) -> None:
        self.end()
