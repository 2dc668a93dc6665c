"""Enhanced bearers between two atto, a server under misuse by plain sockets, and a kernel without them."""
import errno
import select

from enhanced import *
from peers import *

require_enhanced_channels()

BEARERS = 5
# Values that take the server a while, and values that it sends by itself.
SLOW, SENT = [0x0022 + 2 * n for n in range(BEARERS)], ["0x0042", "0x0045", "0x0048"]
LONG = 0x0062
NAME = b"\x0BBearers"
DEVICE_NAME = b"\x0A\x03\x00"
PROFILE = {
    "name": "Bearers", "mtu": 247,
    "services": [
        {"uuid": "A000", "handle": "0x0020", "characteristics": [
            {"uuid": f"B00{n}", "properties": ["read"], "value": f"hex:0{n}",
             "behaviour": {"delayMilliseconds": 500}} for n in range(BEARERS)]},
        {"uuid": "A001", "handle": "0x0040", "characteristics": [
            {"uuid": f"C00{n}", "properties": ["read", "notify"], "value": f"hex:1{n}",
             "behaviour": {"notifyEveryMilliseconds": 300}} for n in range(3)]},
        {"uuid": "A002", "handle": "0x0060", "characteristics": [
            {"uuid": "D000", "properties": ["read"], "value": {"repeat": "55", "count": 300}}]}]}
Path("profile.json").write_text(json.dumps(PROFILE))


def serve() -> Server:
    return Server("", "--bearers", str(BEARERS), listen="le:@hci1", path="profile.json")


def traced(errors: str, opcode: int) -> list[tuple[str, int]]:
    """The directions and bearers of the traced PDUs with this opcode."""
    found = re.findall(rf"^\S+ ([<>])(\d*) {opcode:02x}", errors, re.M)
    return [(mark, int(bearer or 0)) for mark, bearer in found]


def is_taken(psm: int = SPSM) -> bool:
    try:
        bound(1, psm).close()
    except OSError as failure:
        check(failure.errno == errno.EADDRINUSE, failure)
        return True
    return False


def await_that(condition, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        check(time.monotonic() < deadline, what)
        time.sleep(0.05)


with serve() as server:
    # The server is found by the first client, because it listens from the beginning.
    check(is_taken(), "nothing listens at the SPSM of enhanced bearers")
    options = ["--bearers", BEARERS, "--security", "medium", "--trace"]
    found = atto("read", endpoint(), "2A00", "--link-info", *options)
    shown = re.search(r"^bearers: (.*)$", found.errors, re.M)
    print(shown and shown[0])
    wanted = ", ".join(["0 (MTU 23)"] + [f"{n} (MTU 247)" for n in range(1, BEARERS + 1)])
    check(shown is not None and shown[1] == wanted, found)

    # Requests of a session. It carries out those for one connection in turn, so one bearer is enough.
    session = client("session", endpoint(), "--json", *options)
    for number, handle in enumerate(SLOW):
        session.say(json.dumps({"id": number, "command": "read", "arguments": [handle]}))
    values, done = {}, set()
    while len(done) < len(SLOW):
        line = session.line()
        check(line is not None, session.errors)
        told = json.loads(line)
        check("error" not in told, told)
        if isinstance(told.get("id"), int):
            if told.get("done"):
                done.add(told["id"])
            else:
                values[told["id"]] = told["result"]["value"]
    session.process.stdin.close()
    check(session.wait() == 0, session.errors)
    check(values == {n: f"0{n}" for n in range(BEARERS)}, values)
    for mark, opcode in ((">", 0x0A), ("<", 0x0B)):
        found = traced(session.errors, opcode)
        check(len(found) == BEARERS and all(one[0] == mark and one[1] > 0 for one in found), session.errors)
    print(f"{BEARERS} reads on enhanced bearers")

    # The values of three characteristics have a bearer each.
    found = atto("subscribe", endpoint(), *SENT, "--count", 9, *options)
    used = {bearer for mark, bearer in traced(found.errors, 0x1B)}
    check(len(used) == 3 and 0 not in used, found)
    print("three notified values had a bearer each")
    control.disconnect_all(0)
    control.await_no_connections()

    # The client raises its MTU, and the server follows.
    session = client("session", endpoint(), "--json", "--bearers", 2, "--mtu", 64, "--security", "medium")
    for number, (command, words, further) in enumerate([
            ("read", [LONG], {}), ("mtu", [], {}), ("mtu", [], {"raise": 200}), ("read", [LONG], {}),
            ("read", [LONG], {"long": True})]):
        session.say(json.dumps({"id": number, "command": command, "arguments": words, "options": further}))
    results, done = {}, 0
    while done < 5:
        line = session.line()
        check(line is not None, session.errors)
        told = json.loads(line)
        check("error" not in told, told)
        if isinstance(told.get("id"), int):
            if "result" in told:
                results[told["id"]] = told["result"]
            done += told.get("done", False)
    session.process.stdin.close()
    check(session.wait() == 0, session.errors)
    check([len(results[number]["value"]) // 2 for number in (0, 3, 4)] == [63, 199, 300], results)
    check([[bearer["mtu"] for bearer in results[number]["bearers"]] for number in (1, 2)]
          == [[64, 64, 64], [64, 200, 200]], results)
    print("a client raised its MTU from 64 to 200")
    control.disconnect_all(0)
    control.await_no_connections()

    # Plain sockets: the server takes as many as it allows, and closes the next.
    fixed = Bearer.connect()
    channels = []
    for _ in range(BEARERS):
        channels.append(bound(0))
        connect(channels[-1])
    further = bound(0)
    try:
        connect(further)
        check(receive(further) == b"", "a bearer more than --bearers is open")
    except ConnectionResetError:
        # The server has closed it before the kernel reported that it was open.
        pass
    further.close()
    for made in channels:
        made.send(DEVICE_NAME)
    check([receive(made) for made in channels] == [NAME] * BEARERS)
    # The MTU belongs to the channel.
    channels[0].send(b"\x02\x64\x00")
    check(receive(channels[0]) == b"\x01\x02\x00\x00\x06", "Exchange MTU on an enhanced bearer")

    # One ends while its response is due; the others go on.
    for made, handle in zip(channels, SLOW):
        made.send(struct.pack("<BH", 0x0A, handle))
    channels[1].close()
    for number in (4, 3, 2, 0):
        check(receive(channels[number]) == bytes([0x0B, number]), number)
    check(fixed.answer(DEVICE_NAME) == NAME)
    channels[1] = bound(0)
    connect(channels[1])
    channels[1].send(DEVICE_NAME)
    check(receive(channels[1]) == NAME, "the room of the ended bearer is not free")
    print("one bearer ended alone, and another took its place")

    # One is flooded, and its responses are not read: the others are served.
    channels[0].setblocking(False)
    flood = 0
    try:
        while flood < 5000:
            channels[0].send(DEVICE_NAME)
            flood += 1
    except BlockingIOError:
        pass
    check(flood < 5000, "there is no flow control")
    for made in channels[1:] * 5:
        made.send(DEVICE_NAME)
        check(receive(made) == NAME)
    check(fixed.answer(DEVICE_NAME) == NAME)
    for _ in range(flood):
        check(receive(channels[0]) == NAME)
    print(f"the others were served while the responses to {flood} requests were not read")

    for made in channels:
        made.close()
    check(fixed.answer(DEVICE_NAME) == NAME)
    fixed.close()
    check(server.process.poll() is None, server.errors)
await_that(lambda: not is_taken(), "the SPSM is in use after the end of its server")
reset((0, 1))

# A kernel that has them switched off: said once, and ATT goes on.
PARAMETER.write_text("0")
try:
    with serve() as server:
        for _ in range(2):
            found = atto("read", endpoint(), "2A00", "--bearers", 2, "--security", "medium")
            check("no enhanced bearers: the peer does not offer" in found.errors, found)
            check("Bearers" in found.output, found)
        await_that(lambda: "warning" in server.errors, "the server does not warn")
        check(server.errors.count("enhanced channels are switched off") == 1, server.errors)
        await_that(lambda: "hint:" in server.errors, "the warning has no hint")
        check(server.errors.count("hint: echo 1 | sudo tee /sys/module/bluetooth/parameters/enable_ecred")
              == 1, server.errors)
        print(server.errors.strip())
finally:
    PARAMETER.write_text("1")
