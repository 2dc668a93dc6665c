"""atto conform --client and atto play --listen at le:, which advertise and wait for BlueZ's gatttool."""
from peers import *

CASES = ["client/plain", "mtu/23", "request/unknown", "notification/several", "search/length-0"]


def prompts(judge: Process, count: int) -> Iterator[None]:
    """Each case that waits for a client."""
    for number in range(1, count + 1):
        deadline = time.monotonic() + PATIENCE
        while judge.errors.count("case: ") < number:
            check(time.monotonic() < deadline and judge.process.poll() is None, judge.errors)
            time.sleep(0.02)
        yield


def gatttool() -> None:
    """Discovers the services. The tool waits without end for an answer that does not come."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            ["gatttool", "-i", "hci0", "-b", ADDRESSES[1], "-t", "public", "--primary"],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
    # A new listener does not get a link that was there before it.
    control.await_no_connections()


selected = [word for case in CASES for word in ("--case", case)]
judge = client("conform", "--client", "--listen", "le:@hci1", "--timeout", PATIENCE, "--json", *selected)
for _ in prompts(judge, len(CASES)):
    gatttool()
status = judge.wait()
found = {line["case"]: line for line in [json.loads(line) for line in judge.drain() if line] if "case" in line}
print({case: found[case]["outcome"] for case in found})
check(set(found) == set(CASES), found, judge.errors)
check(not any(line["outcome"] == "unreachable" for line in found.values()), found)
check(status in (0, 4), status, judge.errors)
check(found["client/plain"]["outcome"] == "passed", found["client/plain"])

text = """# A  a search for the services
procedure discover-primary
> 10 01 00 ff ff 00 28
< 01 10 01 00 0a
"""
with open("search.att", "w") as file:
    file.write(text)
player = client("play", "--listen", "le:@hci1", "search.att", "--timeout", PATIENCE)
for _ in prompts(player, 1):
    gatttool()
check(player.wait() == 0, player.errors, list(player.drain()))
