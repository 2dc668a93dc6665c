"""Values that count, so that a lost one is noticed: a server that notifies them, and processes that print them."""

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

from patience import PATIENCE, Waiting
from peers import Process, Server, check

NAME, VALUE = "Counter", "A001"


def counter(adapter: int = 1, milliseconds: int = 500) -> Server:
    """`atto serve` with a value that counts and is notified at this interval."""
    path = Path(f"counter-{adapter}.json").absolute()
    path.write_text(json.dumps({
        "name": NAME, "advertising": {"localName": NAME, "interval": 100},
        "services": [{"uuid": "A000", "characteristics": [
            {"uuid": VALUE, "properties": ["notify"], "value": "hex:00000000",
             "behaviour": {"counter": 4, "notifyEveryMilliseconds": milliseconds}}]}]}))
    return Server(NAME, adapter=adapter, path=str(path))


class Values:
    """The counted values that a process prints: `atto subscribe --json`, or mosquitto_sub."""

    def __init__(self, process: Process, may_repeat: bool = False):
        self.process = process
        self.may_repeat = may_repeat
        self.last: int | None = None
        self.count = 0

    def more(self, count: int) -> list[dict]:
        """Waits for so many values, each by 1 more than the one before it."""
        found: list[dict] = []
        waiting = Waiting()
        while len(found) < count:
            line = self.process.line(waiting)
            check(line is not None, "no more values:", self.process.errors[-2000:])
            value = json.loads(line[line.index("{"):])
            number = int.from_bytes(bytes.fromhex(value["value"]), "little")
            if self.may_repeat and self.last is not None and number <= self.last:
                continue
            check(self.last is None or number == self.last + 1, f"{number} after {self.last}", line)
            check("missed" not in value, line)
            self.last = number
            self.count += 1
            found.append(value)
        return found


@contextlib.contextmanager
def broker(port: int) -> Iterator[Process]:
    """mosquitto, which listens on this port of 127.0.0.1."""
    Path("mosquitto.conf").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nuser root\n")
    process = Process("mosquitto", "-c", "mosquitto.conf")
    try:
        deadline = time.monotonic() + PATIENCE
        while "running" not in process.errors:
            check(time.monotonic() < deadline and process.process.poll() is None, process.errors)
            time.sleep(0.02)
        yield process
    finally:
        process.end()


def published(port: int, gateway: str, device: str, may_repeat: bool = False) -> Values:
    """The values of a device that a gateway publishes."""
    return Values(Process(
        "mosquitto_sub", "-p", str(port), "-q", "1", "-t", f"atto/{gateway}/{device}/{VALUE.lower()}"), may_repeat)
