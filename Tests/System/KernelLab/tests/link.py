"""What the kernel tells of a link: RSSI by its management, the interval and more as its monitor
shows them, to whoever looked when they came about. (The emulated controllers know no other PHY
than 1M and no longer data; what would tell of those is tested with events as octets.)"""
from peers import *

HCI_CHANNEL_RAW = 0
LE_CONNECTION_UPDATE = 0x2013


def hci(adapter: int, opcode: int, parameters: bytes) -> None:
    """Has the controller do something, past the kernel."""
    raw = socket.socket(mgmt.AF_BLUETOOTH, socket.SOCK_RAW, mgmt.BTPROTO_HCI)
    address = struct.pack("<HHH", mgmt.AF_BLUETOOTH, adapter, HCI_CHANNEL_RAW)
    checked(libc.bind(raw.fileno(), address, len(address)))
    raw.send(struct.pack("<BHB", 1, opcode, len(parameters)) + parameters)
    raw.close()


with Server("heart-rate", "--link-info") as server:
    told = atto("read", endpoint(), "0x0003", "--link-info").errors.strip()
    print(told)
    check("interval 50 ms, latency 0, supervision timeout 420 ms, data length 27/27" in told, told)
    check("RSSI" in told, told)
    # Of the controllers' events. BT_PHY is 0 on Linux 6.12 and all that are allowed on 7.3.
    check("PHY 1M," in told, told)
    # The server tells of the same link.
    told = server.event("link")
    print(told)
    check((told["peer"], told["phy"], told["intervalMicroseconds"]) == (ADDRESSES[0], "1M", 50_000), told)
    # The link is still there, and older than the one who asks.
    told = atto("read", endpoint(), "0x0003", "--link-info").errors.strip()
    print(told)
    check("PHY unknown" in told and "interval and data length unknown" in told, told)
    reset()

    # Changed under way. Before the kernel has parameters for this peer, on which its two ends disagree.
    subscriber = client("subscribe", endpoint(), "0x0012", "--link-info", "--for", "2", "--json")
    subscriber.line()
    handle = next(int(name.split(":")[1]) for name in os.listdir("/sys/class/bluetooth")
                  if name.startswith("hci0:"))
    # 15 ms, 3 events, 2 s.
    hci(0, LE_CONNECTION_UPDATE, struct.pack("<7H", handle, 12, 12, 3, 200, 0, 0))
    check(subscriber.wait() == 0, subscriber.errors)
    print(subscriber.errors.strip())
    check("interval 15 ms, latency 3, supervision timeout 2000 ms" in subscriber.errors,
          subscriber.errors)
    while server.event("link")["intervalMicroseconds"] != 15_000:
        pass
    check(server.seen[-1]["latency"] == 3, server.seen[-1])
    reset()

    # The interval that the client asks for. A peripheral that accepts only others asks for them as soon
    # as the link stands, and the central's kernel gives in: here the default, 30 to 50 ms.
    least, most = (state.DEBUG / f"bluetooth/hci1/conn_{end}_interval" for end in ("min", "max"))
    before = least.read_text(), most.read_text()
    try:
        least.write_text("6")
        most.write_text("3200")
        for asked, seen in (("15ms-20ms", "20 ms, latency 0, supervision timeout 420 ms"),
                            ("1000", "1000 ms, latency 0, supervision timeout 6000 ms")):
            told = atto("read", endpoint(), "0x0003", "--interval", asked, "--link-info").errors.strip()
            print(told)
            check(f"interval {seen}" in told, told)
            reset()
        told = atto("read", endpoint(), "0x0003", "--latency", "2", "--supervision", "720ms", "--link-info").errors
        print(told.strip())
        check("latency 2, supervision timeout 720 ms" in told, told)
        reset()
    finally:
        least.write_text(before[0])
        most.write_text(before[1])

    # In a session, which also changes the interval; one that the peripheral allows, or its kernel would
    # ask for another one.
    session = client("session", endpoint(), "--json")

    def asked(number, **options):
        session.say(json.dumps({"id": number, "command": "link-info", "options": options}))
        while (line := json.loads(session.line() or "{}")) and line.get("id") != number:
            pass
        print(line)
        return line

    told = asked(1)["result"]
    check(told["link"]["intervalMicroseconds"] in (30_000, 50_000) and told["link"]["phy"] == "1M"
          and told["link"]["source"] == "kernel" and "rssi" in told["link"], told)
    check(told["link"]["dataLength"] == {"transmit": 27, "receive": 27}, told)
    check(told["bearers"] == [{"number": 0, "mtu": 23}], told)
    session.line()
    told = asked(2, interval="37.5ms")["result"]
    check(told["link"]["intervalMicroseconds"] == 37_500, told)
    session.line()
    told = asked(3, supervision="2s")["result"]
    check(told["link"]["supervisionTimeoutMicroseconds"] == 2_000_000, told)
    session.process.stdin.close()
    check(session.wait() == 0, session.errors)
    reset()

    # Without rights the rest is still told.
    program = "/run/tmp/atto-of-nobody"
    run(["cp", ATTO, program])
    os.chmod(program, 0o755)
    os.chmod("/run/tmp", 0o755)
    told = run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "read",
                endpoint(), "0x0003", "--link-info"]).errors.strip()
    print(told)
    check("PHY" in told and "CAP_NET_RAW" in told, told)
