"""Every way to pair that LE has, and every way that it fails, with an agent at both ends."""
from peers import *

# Read for nothing, encrypted, authenticated, with Secure Connections.
ENCRYPTED, AUTHENTICATED, SECURE = "0x010A", "0x010E", "0x0112"


def event(process: Process, name: str) -> dict:
    while True:
        line = process.line()
        check(line is not None, "no", name, process.errors)
        told = json.loads(line)
        if told["event"] == name:
            return told


def pair(server_words, client_words, middle=None, *, status=0, reason="", at_server=None) -> float:
    """Pairs; both ends must end as said. Gives the seconds that it took."""
    start = time.monotonic()
    with Server("edges", *server_words, listen="le:@hci1") as server:
        pairing = client("pair", endpoint(), "--timeout", "40", "--json", *client_words)
        if middle:
            middle(server, pairing)
        ended = pairing.wait()
        check(ended == status, ended, pairing.errors)
        check(reason in pairing.errors, pairing.errors)
        if at_server == "paired":
            check(event(server, "paired")["peer"] == ADDRESSES[0], server.seen)
            value = atto("read", endpoint(), ENCRYPTED, "--security", "medium", "--json")
            check(value.objects()[0]["value"] == "14", value)
        elif at_server:
            told = event(server, "pairing failed")
            check(at_server in told["error"], told)
    return time.monotonic() - start


def enter_at_client(server, pairing):
    shown = event(server, "show")["passkey"]
    event(pairing, "enter")
    pairing.say(shown)


def enter_at_server(server, pairing):
    shown = event(pairing, "show")["passkey"]
    event(server, "enter")
    server.say(shown)


def compare(at_server: str, at_client: str):
    def answer(server, pairing):
        shown = event(server, "compare")["passkey"]
        check(event(pairing, "compare")["passkey"] == shown, shown)
        server.say(at_server)
        pairing.say(at_client)
    return answer


def way(title: str, *words, **wanted) -> None:
    seconds = pair(*words, **wanted)
    forget_bonds()
    print(f"{seconds:5.1f} s  {title}", flush=True)


DISPLAY, KEYBOARD, YES_NO = ["--io", "display"], ["--io", "keyboard"], ["--io", "yes-no"]
WRONG = ["--passkey", "1"]

forget_bonds()

# The kernel waits 30 s for an answer: meanwhile there is the rest, on other adapters.
server = Server("edges", *YES_NO, "--store", "other.sqlite", listen="le:@hci3")
unanswered = client("pair", endpoint(3, client=2), "--timeout", "40", "--json", *YES_NO,
                    "--store", "another.sqlite")
begun = time.monotonic()
event(server, "compare")
event(unanswered, "compare")
server.signal(signal.SIGKILL)
unanswered.say("yes")

way("Just Works", [], [], at_server="paired")
way("passkey entered at the client", DISPLAY, KEYBOARD, enter_at_client, at_server="paired")
way("passkey entered at the server", KEYBOARD, DISPLAY, enter_at_server, at_server="paired")
way("numbers equal", YES_NO, YES_NO, compare("yes", "yes"), at_server="paired")
way("numbers equal, --yes", [*YES_NO, "--yes"], [*YES_NO, "--yes"], at_server="paired")
way("numbers not equal at the server", YES_NO, YES_NO, compare("no", "yes"), status=3,
    reason="the peer did not confirm", at_server="this end refused")
way("numbers not equal at the client", YES_NO, YES_NO, compare("yes", "no"), status=3,
    reason="this end refused", at_server="the peer did not confirm")
way("wrong passkey at the client", DISPLAY, [*KEYBOARD, *WRONG], status=3,
    reason="the passkey entered here differs from the one", at_server="the passkey shown here was not")
way("wrong passkey at the server", [*KEYBOARD, *WRONG], DISPLAY, status=3,
    reason="the passkey shown here was not", at_server="the passkey entered here differs from the one")
way("refused by the server", ["--refuse"], [], status=3, reason="the peer refused",
    at_server="this end refused")
way("refused by the client", [], ["--refuse"], status=3, reason="this end refused",
    at_server="the peer refused")


def power_off(adapter: int):
    def act(server, pairing):
        event(server, "compare")
        event(pairing, "compare")
        control.switch(adapter, "power", False)
    return act


# A peer that vanishes: its controller is off in the midst of it.
try:
    way("the server's controller goes", YES_NO, YES_NO, power_off(1), status=3,
        reason="the link was lost")
    control.switch(1, "power", True)
    way("the client's controller goes", YES_NO, YES_NO, power_off(0), status=3,
        reason="the link was lost", at_server="the link was lost")
finally:
    for index in (0, 1):
        control.switch(index, "power", True)


# Levels that keys reach, and what they let read.
for server_words, client_words, level, values in [
    ([], [], "medium", {ENCRYPTED: 0, AUTHENTICATED: 1, SECURE: 1}),
    ([*YES_NO, "--yes"], [*YES_NO, "--yes"], "fips", {ENCRYPTED: 0, AUTHENTICATED: 0, SECURE: 0}),
]:
    with Server("edges", *server_words, listen="le:@hci1") as server:
        atto("pair", endpoint(), *client_words)
        for handle, status in values.items():
            read = atto("read", endpoint(), handle, "--security", level, status=status)
            check(status == 0 or "Insufficient Authentication (0x05)" in read.errors, read)
        if level == "medium":
            # A higher level than Just Works gives is not had, and that is told.
            high = atto("read", endpoint(), AUTHENTICATED, "--security", "high", status=3)
            check("pairing with" in high.errors and "failed" in high.errors, high)
    forget_bonds()
    print(f"         the key of {level} reads what it should")

ended = unanswered.wait()
print(f"{time.monotonic() - begun:5.1f} s  the server's process is killed: nobody answers", flush=True)
check(ended == 3 and "did not answer in time" in unanswered.errors, ended, unanswered.errors)
