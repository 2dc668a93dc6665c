"""The wall clock is set forward and back by an hour while a client receives values, a benchmark and a scan run, and
the gateway holds a link and publishes. Times that are shown follow; durations, time limits and links do not."""
import datetime

from counting import *
from gateway import *
from peers import *

PORT = 1883
BENCH_SECONDS, SCAN_SECONDS = 20, 15
# Hours from the right time. Between the first two the clock goes back.
STEPS = (1, -1, 0)
START = time.monotonic()


def passed(what: str) -> None:
    print(f"{time.monotonic() - START:6.1f} s  {what}", flush=True)


@contextlib.contextmanager
def wall_clock():
    """Yields a function that sets the wall clock to so many hours from the right time."""
    offset = time.time() - time.monotonic()

    def put(hours: float) -> None:
        time.clock_settime(time.CLOCK_REALTIME, time.monotonic() + offset + 3600 * hours)
    try:
        yield put
    finally:
        put(0)


def is_now(moment: float) -> bool:
    """Whether a time that was just shown is that of the wall clock."""
    return abs(moment - time.time()) < 60


wrong = []
with wall_clock() as put:
    with counter(), Server("bench", adapter=3) as bench:
        values = Values(client("subscribe", endpoint(), VALUE, "--json", "--time"))
        begin = time.monotonic()
        running = client("bench", endpoint(3, 2), "--test", "notify", "--for", BENCH_SECONDS, "--json")
        bench.event("configured")
        values.more(2)
        passed("values and a benchmark")
        for hours in STEPS:
            put(hours)
            # The first ones may have come before.
            received = values.more(6)[-1]
            check(running.process.poll() is None, "the benchmark ended before", running.errors)
            if not is_now(received["time"]):
                wrong.append(f"subscribe --time: {received['time'] - time.time():+.0f} s at {hours:+} h")
            passed(f"{hours:+} h: {values.count} values, none lost")
        check(running.wait() == 0, running.errors)
        elapsed = time.monotonic() - begin
        row = json.loads(running.line())
        latency = row["latencyMicroseconds"]
        passed(f"bench: {row['count']} values in {row['seconds']:.2f} s, {row['rate']}/s, {latency}")
        check(BENCH_SECONDS - 1 < row["seconds"] < elapsed, row["seconds"], elapsed)
        check(row["count"] > 0 and row["lost"] == 0 and not row["partial"], row)
        check(abs(row["rate"] * row["seconds"] / row["count"] - 1) < 0.01, row)
        check(0 <= latency["min"] <= latency["p50"] <= latency["max"] < elapsed * 1e6, latency, elapsed)
        rates = row["rateOverTime"]
        check(all(one["rate"] >= 0 for one in rates), rates)
        times = [one["seconds"] for one in rates]
        check(times == sorted(times) and times[-1] < elapsed, times)
        values.more(2)
        values.process.signal(signal.SIGINT)
        check(values.process.wait() == 0, values.process.errors)
    reset()

    device = {"name": "counter", "match": {"address": ADDRESSES[1]}, "subscribe": [VALUE]}
    with counter(), broker(PORT):
        began = time.monotonic()
        values = published(PORT, "hall", "counter")
        with Gateway(
                adapters=["hci0"], devices=[device], limits={"attemptSeconds": 40},
                mqtt={"url": f"mqtt://127.0.0.1:{PORT}", "keepAliveSeconds": 5}) as gateway, \
                on_air({3: (b"", bytes([4, 9]) + b"Air")}):
            values.more(2)
            # Not beside the benchmark: the kernel's buffer for it would overflow.
            seen = client("capture", "hci0", "--json")
            begin = time.monotonic()
            scan = client("scan", "le:@hci2", "--json", "--duplicates", "--address", ADDRESSES[3],
                          "--for", SCAN_SECONDS)
            scan.expect("found")
            passed("a gateway and a scan")
            for hours in STEPS:
                put(hours)
                scan.drain()
                scan.expect("seen", 2)
                check(scan.process.poll() is None, "the scan ended before", scan.errors)
                received = values.more(6)[-1]
                check(is_now(datetime.datetime.fromisoformat(received["time"]).timestamp()), received)
                pdu = json.loads(seen.expect(f'"pdu":"1b.*{received["value"]}"')[-1])
                check(is_now(pdu["time"]), "capture", hours, pdu, time.time())
                passed(f"{hours:+} h: {values.count} values, none lost")
            # More than two times the keep-alive.
            values.more(12)
            check(scan.wait() == 0, scan.errors)
            check(time.monotonic() - begin >= SCAN_SECONDS, time.monotonic() - begin)
            status = gateway.status()
            found = status["devices"][0]
            check((found["state"], found["links"]) == ("connected", 1), found)
            check(0 < status["uptimeSeconds"] <= time.monotonic() - began, status["uptimeSeconds"])
            check("lost" not in gateway.errors, gateway.errors[-3000:])
            passed(f"{values.count} values of the gateway, none lost, up for {status['uptimeSeconds']} s")
            gateway.stop()
check(not wrong, *wrong)
