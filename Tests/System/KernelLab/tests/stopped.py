"""A client, the gateway, and then their peers are stopped for longer than the gateway waits for its broker, and go on.
The kernel keeps the links, and no value is lost."""
from counting import *
from gateway import *
from peers import *

PORT = 1883
KEEP_ALIVE = 5
# Longer than the gateway waits for the process of its broker, 1.5 times the keep-alive and 5 s, and than `--timeout`
# below. Shorter than the 30 s of an ATT transaction.
SECONDS = 14
# Of the device's name. Each read of the value would count.
NAME_HANDLE = "0x0003"
START = time.monotonic()


def passed(what: str) -> None:
    print(f"{time.monotonic() - START:6.1f} s  {what}", flush=True)


@contextlib.contextmanager
def stopped(*processes: Process):
    for process in processes:
        process.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            process.signal(signal.SIGCONT)


device = {"name": "counter", "match": {"address": ADDRESSES[1]}, "subscribe": [VALUE]}
wrong = []
with counter() as held, counter(3) as other, broker(PORT):
    published = published(PORT, "hall", "counter")
    values = Values(client("subscribe", endpoint(3, 2), VALUE, "--json"))
    with Gateway(
            adapters=["hci0"], devices=[device], limits={"attemptSeconds": 40}, endpoints=os.getcwd(),
            mqtt={"url": f"mqtt://127.0.0.1:{PORT}", "keepAliveSeconds": KEEP_ALIVE}) as gateway:
        published.more(2)
        values.more(2)
        passed("a client and a gateway")

        with stopped(values.process, gateway):
            time.sleep(SECONDS)
        # What came meanwhile, and more.
        values.more(2 * SECONDS)
        published.more(2 * SECONDS)
        gateway.connected("counter", links=1)
        if "does not respond" in gateway.errors:
            wrong.append(gateway.errors[-1000:])
        passed(f"stopped clients: {values.count} and {published.count} values, none lost")

        with stopped(held, other):
            begin = time.monotonic()
            waiting = client("read", "unix:counter.att", NAME_HANDLE, "--json")
            late = atto("read", "unix:counter.att", NAME_HANDLE, "--timeout", 2, status=3)
            check("no response to Read Request" in late.errors and 2 <= late.seconds, late)
            time.sleep(max(0.0, SECONDS - (time.monotonic() - begin)))
            check(waiting.process.poll() is None, waiting.errors)
        check(waiting.wait() == 0, waiting.errors)
        read = json.loads(waiting.line())
        check(bytes.fromhex(read["value"]) == NAME.encode(), read)
        values.more(6)
        published.more(6)
        gateway.connected("counter", links=1)
        atto("read", "unix:counter.att", NAME_HANDLE)
        passed(f"stopped peers: {values.count} and {published.count} values, none lost, and reads")
        for process in (held, other):
            check(not [event for event in process.events("disconnected")], "a link has ended", process.seen)
        values.process.signal(signal.SIGINT)
        check(values.process.wait() == 0, values.process.errors)
        gateway.stop()
check(not wrong, *wrong)
