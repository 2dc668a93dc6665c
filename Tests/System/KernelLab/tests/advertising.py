"""Advertising data arrives as it was set. Advertising ends with its process, even a killed one."""
from peers import *


def scan(*words, status=0):
    return atto("scan", "le:@hci0", "--json", *words, status=status)


# Refreshed, it outlives its timeout: looked at in the end.
lasting = client("advertise", "le:@hci3", "--json", "--name", "Lasting")
lasting.line()
begun = time.monotonic()

advertiser = client(
    "advertise", "le:@hci1", "--json", "--name", "Kettle", "--service", "180F", "--service",
    "12345678-1234-1234-1234-123456789abc", "--manufacturer", "0059:0102", "--appearance",
    "0x0341")
check(json.loads(advertiser.line())["event"] == "advertising")
device = scan("--name", "Kettle", "--count", "1", "--for", "5").objects()[0]
check(set(device["services"]) == {"180f", "12345678-1234-1234-1234-123456789abc"}, device)
check(device["appearance"] == 0x0341, device)
check("05ff59000102" in device["advertisement"] + device["scanResponse"], device)
long = atto("advertise", "le:@hci1", "--manufacturer", "0059:" + "00" * 40, status=2)
check("too many" in long.errors, long)

watcher = client("scan", "le:@hci0", "--json", "--name", "Kettle")
check(json.loads(watcher.line())["event"] == "found")
start = time.monotonic()
advertiser.signal(signal.SIGKILL)
advertiser.wait()
# The kernel removes the instance at its timeout: at most 12 s after the last refresh.
# Asked of the kernel: a scan that hears nothing proves nothing, least of all on 6.1.
while control.command(mgmt.READ_ADVERTISING_FEATURES, 1)[8:]:
    check(time.monotonic() - start < 16, "the advertisement has outlived its process")
    time.sleep(0.05)
print(f"off the air {time.monotonic() - start:.1f} s after SIGKILL")
watcher.signal(signal.SIGINT)
watcher.wait()

time.sleep(max(0.0, begun + 13.5 - time.monotonic()))
scan("--name", "Lasting", "--count", "1", "--for", "5")
lasting.signal(signal.SIGINT)
check(lasting.wait() == 0, lasting.errors)
scan("--count", "1", "--for", "3", status=4)
