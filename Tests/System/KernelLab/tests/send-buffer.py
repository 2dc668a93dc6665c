"""A small send buffer leaves few PDUs in flight: counted while the radio is paused."""
from peers import *

SENT = 600


def in_flight(*words: str) -> int:
    """How many notifications leave a server that dies while nothing leaves the controller."""
    with Server("heart-rate", "--control", *words) as server:
        reader = client("subscribe", endpoint(), "0x0012", "--json")
        reader.line()
        with standstill():
            for number in range(SENT):
                server.say(f"notify 0x0012 FF{number:06X}")
            # All that the kernel takes it takes at once.
            time.sleep(1)
            server.end()
        numbers = []
        while (line := reader.line()) is not None:
            value = bytes.fromhex(json.loads(line)["value"])
            if value[0] == 0xFF:
                numbers.append(int.from_bytes(value[1:], "big"))
        check(numbers == list(range(len(numbers))), numbers)
    reset()
    return len(numbers)


usual = in_flight()
few = in_flight("--send-buffer", "4096")
print(f"{usual} by default, {few} with 4096 octets")
check(5 <= few <= 16, few)
check(usual > 10 * few, usual, few)
