"""A reader that sleeps loses nothing that fits the receive buffer."""
from peers import *

COUNT = 1000

with Server("uart"):
    # 1,000 of 20 octets. The kernel drops in silence what does not fit; by default, nearly all.
    reader = client("subscribe", endpoint(), "0x001A", "--mtu", "23", "--count", COUNT, "--json")
    reader.line()
    reader.signal(signal.SIGSTOP)
    time.sleep(2)
    reader.signal(signal.SIGCONT)
    for count in range(1, COUNT):
        line = reader.line()
        check(line is not None, count, reader.errors)
        value = bytes.fromhex(json.loads(line)["value"])
        check(int.from_bytes(value[:4], "little") == count, count, value.hex())
    check(reader.wait() == 0, reader.errors)
