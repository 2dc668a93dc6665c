"""The machine is suspended up to the point where all processes are frozen, which lasts 5 s. The kernel ends all links
before. A client and a server are told, and the gateway's link and its values come back."""
from counting import *
from gateway import *
from peers import *

PORT = 1883
TEST, STATE = Path("/sys/power/pm_test"), Path("/sys/power/state")
START = time.monotonic()
# By Bumble: btvirt may keep one end of a link that both ends disconnect at once.
HELD = {"name": "Dev", "address": "00:CC:00:00:00:01", "notifications": 3}


def passed(what: str) -> None:
    print(f"{time.monotonic() - START:6.1f} s  {what}", flush=True)


def suspend() -> None:
    """Does not let the devices sleep: the machine's files (9p) do not come back from that."""
    TEST.write_text("freezer")
    try:
        STATE.write_text("freeze")
    finally:
        TEST.write_text("none")


def received(count: int) -> None:
    """Waits until the gateway has received so many values."""
    gateway.until(lambda status: status["devices"][0]["values"] == count, f"not {count} values")


if not TEST.exists():
    skip("this kernel has no /sys/power/pm_test")
with BumbleAir(1, "--devices", json.dumps([HELD])) as air, counter() as server, broker(PORT):
    device = {"name": HELD["name"], "match": {"address": HELD["address"]}, "subscribe": ["A004"]}
    values = Values(client("subscribe", endpoint(), VALUE, "--json"))
    values.more(2)
    with Gateway(
            adapters=[f"hci{air.indexes[0]}"], devices=[device], limits={"attemptSeconds": 40},
            mqtt={"url": f"mqtt://127.0.0.1:{PORT}", "keepAliveSeconds": 5}) as gateway:
        gateway.connected(HELD["name"])
        received(HELD["notifications"])
        passed("a client and a gateway")
        suspend()
        passed("resumed")
        check(values.process.wait() == 3 and "disconnected" in values.process.errors, values.process.errors)
        server.event("disconnected")
        passed("the client and its server were told")
        gateway.connected(HELD["name"], links=2)
        received(2 * HELD["notifications"])
        passed("the gateway's link and values")
        gateway.stop()
