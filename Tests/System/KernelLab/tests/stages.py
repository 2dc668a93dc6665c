"""atto bench --stages finds delays where they were put in: one at the peer, one in the program that measures,
one at the link. The kernel's monitor says when each PDU passed, however slow the machine is. Pings of a channel
have the same stages."""
from monitor import *
from peers import *

DELAY = 1.0
FIRST, AGAIN = bytes.fromhex("040100ffff"), bytes.fromhex("0410001000")
FOUND = bytes.fromhex("0501100000281100032812000029")
# What the stages may differ by: a machine that its host does not run stands still for some 10 ms, also between a
# stamp of the kernel and its monitor's. A delay in the wrong stage is four times that far off.
TOLERANCE = DELAY / 4

seen = []


def await_happening(what: str, count: int = 1, since: float = 0) -> Happening:
    """The last of so many happenings at the client's adapter since a time."""
    deadline = time.monotonic() + PATIENCE
    while True:
        seen.extend(monitor.rest(0))
        found = [one for one in seen if one.what == what and one.seconds >= since]
        if len(found) >= count:
            return found[count - 1]
        check(time.monotonic() < deadline, what, count, seen)
        select.select([monitor.socket], [], [], 0.1)


def respond(number: int) -> None:
    """Answers the request of this number after it is stamped as completed. An adapter's events and PDUs wait in one
    queue, where a PDU is stamped when it comes in, and the event of completion only when it is handled: on a machine
    that is late, after the response. So this waits for the answer to a command, which is behind that event."""
    await_happening("completed", since=await_happening("sent", number).seconds)
    advertise(0)
    peer.send(FOUND)


def is_close(found: float, wanted: float) -> bool:
    return abs(found - wanted) <= TOLERANCE


monitor = Monitor()
listener = Listener()
running = client("bench", endpoint(), "--test", "ping", "--count", 3, "--warm-up", 0, "--stages", "--json")
peer = listener.accept()
check(peer.receive() == FIRST)
peer.send(FOUND)

# At the peer.
check(peer.receive() == AGAIN)
start = time.time()
time.sleep(DELAY)
at_peer = time.time() - start
respond(2)

# In the program.
check(peer.receive() == AGAIN)
running.signal(signal.SIGSTOP)
respond(3)
arrived = await_happening("received", 3).seconds
time.sleep(DELAY)

# At the link: the next request finds controllers that do nothing.
with standstill():
    in_program = time.time() - arrived
    running.signal(signal.SIGCONT)
    sent = await_happening("sent", 4).seconds
    time.sleep(DELAY)
    at_link = time.time() - sent
check(peer.receive() == AGAIN)
respond(4)
check(running.wait() == 0, running.errors)
row = json.loads(running.line())
await_happening("received", 4)

stages = row["stages"]
check((stages["count"], stages["leftOut"]) == (3, 0), stages)
seconds = {part["stage"]: part["latencyMicroseconds"]["mean"] * 3 / 1e6 for part in stages["parts"]}
total = row["latencyMicroseconds"]["mean"] * 3 / 1e6
print({name: round(found, 4) for name, found in seconds.items()}, stages.get("missing"), stages["summary"])
print(f"put in: {at_peer:.4f} s at the peer, {in_program:.4f} s in the program, {at_link:.4f} s at the link")
# Nothing is counted twice or forgotten.
check(abs(sum(seconds.values()) - total) < 0.001, seconds, total)
check(sum(part["share"] for part in stages["parts"]) > 0.999, stages)

# The monitor's times of the three exchanges that were measured.
times = {what: [one.seconds for one in seen if one.what == what][-3:] for what in ("sent", "received")}
wire = sum(times["received"]) - sum(times["sent"])
print(f"by the monitor: {wire:.4f} s from the controller and back")
if "controller" in seconds:
    # Packets that are not ATT's are completed too, so each request's completion is the first one after it.
    completed = [min(one.seconds for one in seen if one.what == "completed" and one.seconds >= sent_at)
                 for sent_at in times["sent"]]
    controller = sum(completed) - sum(times["sent"])
    answering = sum(times["received"]) - sum(completed)
    print(f"by the monitor: {controller:.4f} s in the controller, {answering:.4f} s at the peer")
    check("missing" not in stages, stages)
    check(is_close(seconds["controller"], controller), seconds, controller)
    check(is_close(seconds["peer"], answering), seconds, answering)
    # All else is what the monitor leaves of the whole: no delay is in another stage.
    rest = sum(seconds[name] for name in ("queue", "kernel", "application"))
    check(is_close(total - wire - seconds["delivery"], rest), seconds, total, wire)
    check(at_link - TOLERANCE <= seconds["controller"], seconds, at_link)
    check(at_peer - TOLERANCE <= seconds["peer"], seconds, at_peer)
else:
    check(stages["missing"]["stages"] == ["kernel", "controller", "peer"], stages)
    check("Linux 6.15" in stages["missing"]["reason"], stages)
    check(at_peer + at_link - TOLERANCE <= seconds["away"], seconds)
    check(is_close(seconds["away"], wire), seconds, wire)
# Until the program has sent the next request.
check(in_program - TOLERANCE <= seconds["delivery"], seconds, in_program)
longest = max(part["latencyMicroseconds"]["max"] for part in stages["parts"] if part["stage"] == "delivery") / 1e6
check(longest <= sent - arrived + TOLERANCE, longest, sent - arrived)
peer.close()
listener.close()
reset()

# Several tests on one connection, whose PDUs the kernel goes on to count.
with Server("bench", listen="le:@hci1"):
    for row in atto("bench", endpoint(), "--test", "write,notify,read", "--count", 20, "--warm-up", 0, "--stages",
                    "--json").objects():
        stages = row["stages"]
        print(row["test"], stages["count"], stages["leftOut"], [part["share"] for part in stages["parts"]])
        check(stages["count"] > stages["leftOut"] and stages["count"] + stages["leftOut"] >= 20, stages)
reset()

# Commands, each until the controller has reported it as completed.
with Server("bench", listen="le:@hci1"):
    row = atto("bench", endpoint(), "--test", "write-command", "--count", 200, "--warm-up", "0.2", "--stages",
               "--json").objects()[0]
    stages = row["stages"]
    shares = {part["stage"]: part["share"] for part in stages["parts"]}
    print("commands", row["count"], stages["count"], stages["leftOut"], shares, stages.get("missing"))
    if "missing" in stages:
        check(list(shares) == ["queue"] and stages["missing"]["stages"] == ["kernel", "controller"], stages)
    else:
        check(list(shares) == ["queue", "kernel", "controller"] and sum(shares.values()) > 0.999, stages)
        # The last ones may be under way at the end.
        check(100 < stages["count"] <= 200 and stages["leftOut"] < 20, stages)
reset()

# The scenarios over GATT: commands, and commands with their answers.
for scenario, counterpart, stages_of in (("send", "receive", ["queue", "kernel", "controller"]),
                                         ("ping", "pong", ["queue", "kernel", "controller", "peer", "delivery",
                                                           "application"])):
    listening = client("bench", "--listen", "le:@hci1", "--scenario", counterpart)
    running = client("bench", endpoint(), "--scenario", scenario, "--count", 30, "--size", 20, "--stages", "--json")
    check(running.wait() == 0, running.errors)
    stages = json.loads(running.line())["stages"]
    shares = {part["stage"]: part["share"] for part in stages["parts"]}
    print(scenario, stages["count"], stages["leftOut"], shares)
    if "missing" in stages:
        check(list(shares) == (["queue"] if scenario == "send" else ["queue", "away", "delivery", "application"]), stages)
    else:
        check(list(shares) == stages_of, stages)
    check(stages["count"] > 15 and stages["count"] + stages["leftOut"] <= 30, stages)
    check(listening.wait() == 0, listening.errors)
    reset()

listening = client("bench", "--listen", "le:@hci1", "--scenario", "pong", "--over", "channel", "--psm", 128)
running = client("bench", endpoint(), "--scenario", "ping", "--over", "channel", "--count", 20, "--size", 100,
                 "--stages", "--json")
check(running.wait() == 0, running.errors)
stages = json.loads(running.line())["stages"]
shares = {part["stage"]: part["share"] for part in stages["parts"]}
print("channel", stages["count"], stages["leftOut"], shares)
check(stages["count"] + stages["leftOut"] == 20 and stages["count"] > stages["leftOut"], stages)
known = ["queue", "kernel", "controller", "peer", "delivery", "application"]
check(list(shares) == (["queue", "away", "delivery", "application"] if "missing" in stages else known), stages)
check(listening.wait() == 0, listening.errors)
