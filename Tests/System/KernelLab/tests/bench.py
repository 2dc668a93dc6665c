"""atto bench over the kernel's link, against a machine that runs atto serve and nothing else: all
kinds, what the kernel tells of the link, and a link that dies under it."""
from monitor import shown_if_it_fails
from peers import *

TESTS = ["read", "write", "write-command", "notify", "indicate", "long-read", "discover", "ping"]
BRIEF = ["--for", "2", "--warm-up", "0.1"]

# It advertises by itself.
with Server("bench", listen="le:@hci1") as server:
    found = atto("bench", endpoint(), "--test", "all", "--mtu", 247, "--size", 100, *BRIEF,
                 "--json").objects()
    check([row["test"] for row in found] == TESTS, found)
    for row in found:
        print(f"{row['test']:14} {row['rate']:8.1f}/s  p50 {row['latencyMicroseconds']['p50']} us  "
              f"lost {row['lost']}")
        check(row["count"] > 0 and not row["partial"] and row["mtu"] == 247, row)
        check(row["lost"] == 0 and row["countedAt"] == "receiver", row)
        # What the controllers have agreed on, as the kernel's monitor has shown it.
        link = row["link"]
        check((link["source"], link["phy"], link["intervalMicroseconds"], link["dataLength"])
              == ("kernel", "1M", 50000, 27), link)
        # Emulated controllers have no intervals, so most rates are more than a link can carry.
        check(("shareOfLimit" in link) != link.get("another", False), row)
    reset()

    # For people: the link and its limit below the table. What is stated goes before what is told.
    with shown_if_it_fails():
        told = atto("bench", endpoint(), "--test", "notify", *BRIEF, "--report", "page.html").output
    check("B/s limit of phy=1M&interval=50ms&dle=27" in told
          or "another link than phy=1M&interval=50ms&dle=27 (reported by the kernel)" in told, told)
    check("reported by the kernel" in Path("page.html").read_text())
    reset()
    with shown_if_it_fails():
        row = atto("bench", endpoint(), "--test", "write", *BRIEF, "--json",
                   "--link", "phy=2M&interval=15ms&dle=251").objects()[0]
    check((row["link"]["source"], row["link"]["phy"]) == ("stated", "2M"), row)

    # The kernel has kept the link: it is older than the one who asks. The rest is still measured.
    told = atto("bench", endpoint(), "--test", "ping", *BRIEF).output
    check("interval and data length are unknown" in told and "--link" in told, told)
    reset()

    # The link dies in the middle: what there is so far, marked, and status 3.
    server.events("of before", quiet=0.5)
    with shown_if_it_fails():
        running = client("bench", endpoint(), "--test", "notify", "--for", "30", "--warm-up", "0", "--json")
        try:
            server.event("configured")
        except SystemExit as end:
            check(False, end, "the client:", running.process.poll(), running.errors, running.drain())
    # For values to be counted, of which nobody tells before the end.
    time.sleep(2)
    reset()
    status = running.wait()
    row = json.loads(running.line())
    print(status, row["error"], row["count"])
    check(status == 3 and row["partial"] and row["error"] and row["count"] > 0, row)
