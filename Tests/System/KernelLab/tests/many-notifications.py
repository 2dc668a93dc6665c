"""Thousands of notifications at once arrive in order, and none is lost."""
from peers import *

# As many as may wait for the command's output: four times `valueLimit` of its connection. It drops
# further ones, as the fixed channel has no flow control, and a machine under load may delay the output
# for as long as the whole burst takes.
COUNT = 4096

with open("many.json", "w") as file:
    json.dump({"name": "Many", "services": [{"uuid": "A001", "handle": "0x0020", "characteristics": [
        {"uuid": "B001", "valueHandle": "0x0022", "properties": ["notify"], "maxLength": 100,
         "behaviour": {"burst": {"count": COUNT, "size": 100, "on": "subscribe"}}}]}]}, file)

with Server("many", path="many.json"):
    found = atto(
        "subscribe", endpoint(), "0x0022", "--mtu", "247", "--count", COUNT, "--json")
    values = [bytes.fromhex(line["value"]) for line in found.objects()]
    numbers = [int.from_bytes(value[:4], "little") for value in values]
    check(numbers == list(range(COUNT)), len(numbers))
    check({len(value) for value in values} == {100})
    print(f"{COUNT} in {found.seconds:.2f} s")
