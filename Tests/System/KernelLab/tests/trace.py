"""Our pairing, encryption and reading as BlueZ's btmon decodes them, step by step."""
import re

from monitor import Monitor
from peers import *

ENCRYPTED, LONG = "0x010A", "0x0035"

monitor = Monitor()
with Server("edges", listen="le:@hci1"):
    # Keys of an earlier test would spare them the pairing.
    atto("unpair", endpoint(), status=None)
    atto("unpair", endpoint(server=0, client=1), status=None)
    atto("read", endpoint(), ENCRYPTED, status=1)
    control.disconnect_all(0)
    control.await_no_connections()
    atto("read", endpoint(), ENCRYPTED, "--security", "medium", "--mtu", "100")
    atto("unpair", endpoint())
    atto("unpair", endpoint(server=0, client=1))
    control.await_no_connections()
monitor.save("own.btsnoop")

# Each step as hci0 saw it: its direction, and the line that says what it is.
steps: list[str] = []
direction = None
decoded = run(["btmon", "-r", "own.btsnoop"])
for line in decoded.output.splitlines():
    # btmon leaves the number of a frame out where the line has no room for it.
    head = re.match(r"([<>]) (.*?)\s+(?:#\d+ )?\[hci(\d+)\]", line)
    if head:
        direction = head[1] if head[3] == "0" else None
        if direction and "ACL Data" not in head[2]:
            steps.append(f"{direction} {head[2]}")
    elif direction and re.match(r" {6}(ATT|SMP|LE \w+ Connection Complete|LE Connection)", line):
        steps.append(f"{direction} {line.strip()}")
    elif direction and re.match(r" {8}(Error|Client RX MTU|Server RX MTU|Status|Encryption): ", line):
        steps.append(f"  {line.strip()}")

WANTED = r"""
> LE (Enhanced )?Connection Complete
< ATT: Read Request
> ATT: Error Response
  Error: (Insufficient|Authentication)
> HCI Event: Disconnect Complete
> LE (Enhanced )?Connection Complete
< SMP: Pairing Request
> SMP: Pairing Response
< SMP: Pairing (Public Key|Confirm)
> SMP: Pairing (Public Key|Confirm)
< SMP: Pairing Random
> SMP: Pairing Random
< HCI Command: LE Start Encryption
> HCI Event: Encryption Change
  Status: Success
  Encryption: Enabled with AES-CCM
< ATT: Exchange MTU Request
  Client RX MTU: 100
> ATT: Exchange MTU Response
  Server RX MTU: 517
< ATT: Read Request
> ATT: Read Response
""".strip().splitlines()
place = 0
for wanted in WANTED:
    start = place
    while place < len(steps) and not re.match(wanted, steps[place]):
        place += 1
    check(place < len(steps), "no", wanted, "after", start, "of", steps)
    place += 1
# Nothing was asked in the clear once the link was to be protected.
second = [i for i, it in enumerate(steps) if "Connection Complete" in it and it[0] == ">"][1]
encrypted = next(i for i in range(second, len(steps)) if "Encryption Change" in steps[i])
early = [it for it in steps[second:encrypted] if "ATT:" in it and it[0] == "<"]
check(not early, early)
print(f"{len(WANTED)} steps found among {len(steps)}")
