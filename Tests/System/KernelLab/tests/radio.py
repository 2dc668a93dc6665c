"""The radio without a daemon: adapters, advertising by the server itself, scanning, connecting."""
from peers import *

listed = atto("adapters", "--json").objects()
check([line["adapter"] for line in listed][:2] == ["hci0", "hci1"], listed)
check([line["address"] for line in listed][:2] == ADDRESSES[:2], listed)
check(all("powered" in line["settings"] and "le" in line["settings"] for line in listed), listed)
missing = atto("adapters", "hci9", status=3)
check("no adapter hci9" in missing.errors, missing)


def scan(*words, status=0):
    return atto("scan", "le:@hci0", "--json", *words, status=status)


def serve(*words) -> Server:
    """A server that is left to advertise by itself."""
    server = Server("heart-rate", *words, listen="le:@hci1")
    server.adapter = 1
    return server


with serve() as server:
    found = scan("--name", "Atto Strap", "--service", "180D", "--count", "1", "--for", "5")
    device = found.objects()[0]
    check(device["address"] == ADDRESSES[1] and device["connectable"], device)
    check("180d" in device["services"], device)
    print(f"found by name in {found.seconds:.2f} s")
    check(found.seconds < 10, found)
    # Two scans at a time, of two processes.
    other = client("scan", "le:@hci0", "--json", "--count", "1", "--for", "5")
    scan("--count", "1", "--for", "5")
    check(other.wait() == 0, other.errors)
    scan("--service", "1810", "--count", "1", "--for", "3", status=4)

    found = atto("discover", endpoint(), "--mtu", "517")
    print(f"discovered in {found.seconds:.2f} s")
    pdus = atto("raw", endpoint(), "0a0300", "--json", "--mtu", "517").objects()
    check(pdus[0]["pdu"] == "020502", pdus)
    # While a central is connected, others find the server as well. (A second link to the same
    # emulated controller has the first one's handle, so none is made.)
    subscriber = client("subscribe", endpoint(), "0x0013", "--json")
    subscriber.line()
    atto("scan", "le:@hci2", "--name", "Atto Strap", "--count", "1", "--for", "5")
    server.signal(signal.SIGINT)
    check(server.wait() == 0, server.errors)
    subscriber.wait()
reset()
# It ended with its process.
scan("--count", "1", "--for", "3", status=4)
