"""A bond outlives both processes, killed, and the kernel's memory of it; so do subscriptions,
what a client has discovered, and the counters of signed writes."""
from peers import *

ENCRYPTED, NOTIFYING, SIGNED = "0x010A", "0x0215", "0x0210"
HERE = ["--store", "client.sqlite"]
THERE = ["--store", "server.sqlite"]


def serve() -> Server:
    return Server("edges", "--control", *THERE)


def bond(words, *more) -> dict:
    listed = atto("bonds", "--json", *words, *more).objects()
    check(len(listed) == 1, listed)
    return listed[0]


def forget() -> None:
    """What a restart of the machine does to the kernel's keys."""
    for index in (0, 1):
        control.forget_all(index)


def kill(*processes) -> None:
    for process in processes:
        process.signal(signal.SIGKILL)
        process.wait()
    control.await_no_connections()


def requests(outcome) -> list[str]:
    """The PDUs that a command has sent."""
    return [line for line in outcome.errors.splitlines() if " > " in line]


# The kernel may have keys of tests before.
forget_bonds()
with serve() as server:
    refused = atto("read", endpoint(), ENCRYPTED, *HERE, status=1)
    check("Insufficient" in refused.errors, refused)
    check(not os.path.exists("client.sqlite"), "a store for a command that cannot lead to a bond")
    paired = atto("pair", endpoint(), "--json", *HERE)
    print([line.get("key") for line in paired.objects()])
    for words in (HERE, THERE):
        check(os.stat(words[1]).st_mode & 0o777 == 0o600, words)
    ours, theirs = bond(HERE, "--show-keys"), bond(THERE, "--show-keys")
    check(ours["adapter"] == theirs["peer"] == ADDRESSES[0], ours, theirs)
    check(ours["peer"] == theirs["adapter"] == ADDRESSES[1], ours, theirs)
    print(atto("bonds", *HERE).output)
    check("keys" not in bond(HERE), "keys are shown without being asked for")

    found = atto("read", endpoint(), ENCRYPTED, "--security", "medium", "--json", *HERE)
    check(found.objects()[0]["value"] == "14", found)
    first = atto("discover", endpoint(), "--cache", "--json", "--trace", *HERE)
    subscriber = client("subscribe", endpoint(), NOTIFYING, "--security", "medium", "--json", *HERE)
    server.event("configured")
    # Nothing is sent before the record is durable: when this value arrives, nothing can be lost.
    server.say(f"notify {NOTIFYING} 01")
    check(json.loads(subscriber.line())["value"] == "01", server.errors, subscriber.errors)
    kill(subscriber, server)
forget()

with serve() as server:
    resumed = client(
        "subscribe", endpoint(), NOTIFYING, "--resume", "--count", "1", "--security", "medium",
        "--json", "--trace", *HERE)
    server.event("connected")
    deadline = time.monotonic() + PATIENCE
    while resumed.lines.empty() and time.monotonic() < deadline:
        server.say(f"notify {NOTIFYING} 2a")
        time.sleep(0.1)
    check(not resumed.lines.empty(), "no value", server.seen, server.errors, resumed.errors)
    check(json.loads(resumed.line())["value"] == "2a", server.errors, resumed.errors)
    check(resumed.wait() == 0, resumed.errors)
    sent = [line for line in resumed.errors.splitlines() if " > " in line]
    check(not sent, "the subscription was to be remembered", sent)

    found = atto("read", endpoint(), ENCRYPTED, "--security", "medium", "--json", *HERE)
    check(found.objects()[0]["value"] == "14", found)
    # By the keys of then, and no others.
    check(bond(HERE, "--show-keys")["keys"] == ours["keys"], ours)
    check(bond(THERE, "--show-keys")["keys"] == theirs["keys"], theirs)

    again = atto("discover", endpoint(), "--cache", "--json", "--trace", *HERE)
    check(again.output == first.output, again)
    print(f"discovered with {len(requests(first))} requests, and then {len(requests(again))}")
    check(len(requests(again)) == 1 and len(requests(first)) > 20, again)

    # Signed writes require an unencrypted link.
    control.disconnect_all(0)
    control.await_no_connections()
    atto("write", endpoint(), SIGNED, "a1", "--signed", *HERE)
    check(server.event("written")["value"] == "a1", server.errors)
    check(bond(THERE)["peerSignCounter"] == bond(HERE)["ownSignCounter"] == 1, bond(THERE))
    kill(server)
forget()

with serve() as server:
    # Nothing signed is accepted twice, not even by another process.
    key = next(key["value"] for key in ours["keys"] if key["name"] == "CSRK, ours")
    atto("write", endpoint(), SIGNED, "ee", "--signed", "--key", key, "--counter", "0", *HERE)
    atto("write", endpoint(), SIGNED, "a2", "--signed", *HERE)
    check(server.event("written")["value"] == "a2", server.seen)
    check(bond(THERE)["peerSignCounter"] == bond(HERE)["ownSignCounter"] == 2, bond(THERE))
    control.disconnect_all(0)
    control.await_no_connections()

    # Given up at one end, in the kernel and in the store.
    atto("unpair", endpoint(), *HERE)
    check(atto("bonds", "--json", *HERE).output == "", "unpaired and still kept")
    missing = atto("unpair", endpoint(), *HERE, status=3)
    check("not paired" in missing.errors, missing)
    refused = atto("write", endpoint(), SIGNED, "a3", "--signed", *HERE, status=2)
    check("atto pair" in refused.errors, refused)

    # Where a bond comes about on the way, all its keys are kept before the command ends.
    atto("unpair", endpoint(server=0, client=1), *THERE)
    control.await_no_connections()
    found = atto("read", endpoint(), ENCRYPTED, "--security", "medium", "--json", *HERE)
    # A machine that is busy pairs slowly, which is told.
    told = [line for line in found.errors.splitlines() if not line.startswith(("waiting", "hint"))]
    check(found.objects()[0]["value"] == "14" and not told, found)
    for words in (HERE, THERE):
        made = bond(words)
        check(made["keySize"] == 16 and made["ownSignCounter"] == 0, made)

    # Beside bluetoothd nothing is loaded: it would lose its own keys.
    name = "open('/proc/self/comm', 'w').write('bluetoothd'); print('ready', flush=True); input()"
    daemon = Process(sys.executable, "-c", name)
    check(daemon.line() == "ready", daemon.errors)
    # The kernel is about to end the link of the last command.
    control.await_no_connections()
    beside = atto("read", endpoint(), "0x0025", *HERE)
    check(f"bluetoothd (process {daemon.process.pid})" in beside.errors, beside)
    daemon.end()
    check("bluetoothd" not in atto("read", endpoint(), "0x0025", *HERE).errors)
