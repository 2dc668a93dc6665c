"""A thousand notifications arrive in order at each MTU, and none is lost."""
from peers import *

COUNT = 1000

with Server("uart"):
    for mtu, length in [(517, 512), (247, 244), (23, 20)]:
        found = atto(
            "subscribe", endpoint(), "0x001A", "--mtu", mtu, "--count", COUNT, "--json")
        values = [bytes.fromhex(line["value"]) for line in found.objects()]
        numbers = [int.from_bytes(value[:4], "little") for value in values]
        check(numbers == list(range(COUNT)), "at", mtu, numbers[:5], len(numbers))
        check({len(value) for value in values} == {length}, {len(value) for value in values})
        print(f"MTU {mtu}: {COUNT} in {found.seconds:.2f} s")
