"""A client that comes back at once gets the link that the kernel has kept, is told apart, and fares
as a new one; one that comes later has a new link. When is what the kernel's monitor says."""
from monitor import Monitor
from peers import *

# The kernel keeps a link for so long after its last socket (HCI_DISCONN_TIMEOUT).
KEPT = 2.0
LAST = "0x0035"

monitor = Monitor()
ended = None


def visit(*words) -> tuple[bool, float, Outcome]:
    """Runs a client: whether its link is an old one, how long after the last PDU of the client
    before its own first went out, and what it said."""
    global ended
    outcome = atto(*words, "--json", "--link-info")
    happened = monitor.rest(0)
    pdus = [it for it in happened if it.what in ("sent", "received")]
    came = pdus[0].seconds
    connected = [it for it in happened if it.what == "connected" and it.seconds < came]
    check(len(connected) <= 1, happened)
    pause = came - ended if ended else None
    gone = [it for it in happened if it.what == "disconnected"]
    if connected:
        # Not before the one before had gone, at the kernel's time.
        check(ended is None or gone and gone[0].seconds - ended > KEPT * 0.9, ended, happened)
    else:
        check(not gone and pause is not None, happened)
    ended = pdus[-1].seconds
    # Told apart, for people too.
    check(("interval 50 ms" in outcome.errors) == bool(connected), outcome)
    check(("a link opened by this command" in outcome.errors) == (not connected), outcome)
    return not connected, pause, outcome


with Server("edges") as server:
    # Each has another MTU than the one before, which the server goes on with until it is told.
    kept = 0
    before = 23
    for offered in (517, 64, None, 517, 23, None):
        words = ["--mtu", offered] if offered else []
        is_old, pause, found = visit("read", endpoint(), LAST, *words)
        mtu = offered or (before if is_old else 23)
        length = len(found.objects()[0]["value"]) // 2
        print(f"MTU {offered}: {length} octets, "
              + (f"on the link of {pause:.2f} s before" if is_old else "on a new link"))
        check(length == min(512, mtu - 1), offered, length, found)
        if pause is not None and pause < KEPT * 0.9:
            check(is_old, "the kernel has not kept the link", pause)
        kept += is_old
        before = mtu
    check(kept > 0, "no client came back in time")
    # Whatever the MTU, all of it.
    is_old, _, found = visit("read", endpoint(), LAST, "--long")
    check(len(found.objects()[0]["value"]) == 1024, found)
    kept += is_old
    # The server has been told of each link, once.
    connected = len(server.events("connected", 0.2))
    check(connected == 7 - kept, connected, kept)

    # After the link has gone the next client is new to the server.
    control.await_no_connections()
    is_old, pause, found = visit("read", endpoint(), LAST)
    check(not is_old and pause > KEPT * 0.9, is_old, pause)
    check(len(found.objects()[0]["value"]) == 44, "an MTU of 23 on a new link", found)
    check(server.event("connected"), server.seen)
reset()

# What a client has subscribed to and left behind comes to the next one on the same link, who has
# not asked for it; whatever comes, it has its answer.
monitor.rest(0)
with Server("heart-rate") as server:
    left = client("subscribe", endpoint(), "0x0012", "--json")
    left.line()
    left.signal(signal.SIGKILL)
    left.wait()
    # One value a second, for as long as somebody takes them.
    following = client("raw", endpoint(), "0a0300", "--json", "--for", "3")
    unasked, answers = [], []
    while not (unasked and answers) and (line := following.line()) is not None:
        pdu = json.loads(line)["pdu"]
        if pdu == "0a0300":
            continue
        (unasked if pdu.startswith("1b1200") else answers).append(pdu)
    following.signal(signal.SIGINT)
    check(following.wait() == 0, following.errors)
    check(len(answers) == 1 and answers[0].startswith("0b"), answers)
    happened = monitor.rest(0)
    request = next(it for it in happened if it.what == "sent" and it.pdu.hex() == "0a0300")
    ways = [it.what for it in happened if it.seconds < request.seconds]
    is_old = ways.count("connected") == 1
    check(ways.count("connected") == 1 + ways.count("disconnected"), ways.count("connected"))
    print(f"{len(unasked)} values unasked for, on {'the same' if is_old else 'a new'} link")
    check(bool(unasked) == is_old, is_old, unasked)
