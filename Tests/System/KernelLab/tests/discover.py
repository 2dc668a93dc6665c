"""Each profile is discovered over the air as over a Unix socket, in several ways."""
from peers import *

for name, ways in {
    "heart-rate": [["--mtu", "517"], []],
    "uart": [["--mtu", "517"]],
    "edges": [["--mtu", "517"], ["--mtu", "23"], ["--mtu", "48"]],
    "reference-820": [["--mtu", "247"]],
}.items():
    with Server(name, listen="unix:socket"):
        wanted = atto("discover", "unix:socket", "--json").output
    with Server(name):
        for way in ways:
            found = atto("discover", endpoint(), "--json", *way)
            print(f"{name} {way}: {len(found.output)} octets in {found.seconds:.2f} s")
            check(found.output == wanted, name, way, found)
    reset()
