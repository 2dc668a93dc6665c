"""Two programs use the same adapter: each gets what can be shared, and learns of the other.

By Bumble's controllers: two sets of one peer that btvirt reports at once make the kernel ask twice for one link,
and wait for the second (see Adapters that seem deaf)."""
from peers import *

with BumbleAir(2) as air, Server("heart-rate", listen=air.listen(1)) as first:
    # A second server on the same adapter: both advertise, the newest gets the connections.
    second = client("serve", profile("uart"), "--listen", air.listen(1), "--json")
    check(json.loads(second.line())["event"] == "listening")
    warned = time.monotonic() + PATIENCE
    while "the newest gets the connections" not in second.errors and time.monotonic() < warned:
        time.sleep(0.02)
    print(second.errors.strip())
    check(f"atto (process {first.process.pid})" in second.errors, second.errors)
    check("listen" not in first.errors, first.errors)
    read = atto("services", air.endpoint(1, 0), "--uuid", "6E400001-B5A3-F393-E0A9-E50E24DCCA9E", "--json")
    check(len(read.objects()) == 1, read)
    told = next(line for line in atto("doctor", "--json").objects() if line["check"] == "programs")
    check(told["mark"] == "warn" and f"atto (process {second.process.pid})" in told["text"], told)
    control.disconnect_all(air.indexes[0])
    control.await_no_connections()
    # When the second ends, the first goes on.
    second.signal(signal.SIGINT)
    check(second.wait() == 0, second.errors)
    read = atto("services", air.endpoint(1, 0), "--uuid", "180D", "--json")
    check(len(read.objects()) == 1, read)
