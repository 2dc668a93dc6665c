"""Ten thousand notifications arrive in order, none lost."""
# deadline: 60
from peers import *

COUNT = 10000

with open("many.json", "w") as file:
    json.dump({"name": "Many", "services": [{"uuid": "A001", "handle": "0x0020", "characteristics": [
        {"uuid": "B001", "valueHandle": "0x0022", "properties": ["notify"], "maxLength": 100,
         "behaviour": {"burst": {"count": COUNT, "size": 100, "on": "subscribe"}}}]}]}, file)

with Server("many", path="many.json"):
    reader = client("subscribe", endpoint(), "0x0022", "--mtu", "247", "--count", COUNT, "--json")
    start = time.monotonic()
    for count in range(COUNT):
        line = reader.line(20)
        check(line is not None, count, reader.errors)
        value = bytes.fromhex(json.loads(line)["value"])
        check((int.from_bytes(value[:4], "little"), len(value)) == (count, 100), count, line)
    print(f"{COUNT} in {time.monotonic() - start:.2f} s")
    check(reader.wait() == 0, reader.errors)
