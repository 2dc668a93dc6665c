"""bluetoothd with enhanced bearers: as a server to our client, and as a client to our server."""
from daemon import *
from enhanced import *
from peers import *

require_enhanced_channels()

READ, WRITE = (f"a770{number:04x}-0000-4000-8000-00805f9b34fb" for number in (1, 2))
COUNT = 4
SLOW = [f"a771{number:04x}-0000-4000-8000-00805f9b34fb" for number in range(COUNT)]


def configuration(channels: int) -> str:
    return f"[GATT]\nChannels = {channels}\n"


def marks(errors: str, mark: str, opcode: int) -> set[int]:
    """The bearers of the traced PDUs with this opcode."""
    return {int(bearer or 0) for bearer in re.findall(rf"^\S+ {mark}(\d*) {opcode:02x}", errors, re.M)}


# Its server, our client.
with Daemon(configuration(5)) as daemon:
    app = daemon.app("server", "hci1")
    event(app, "ready")
    advertise(1)
    found = atto("read", endpoint(), READ, WRITE, "--bearers", 3, "--security", "medium", "--link-info",
                 "--trace")
    shown = re.search(r"^bearers: .*$", found.errors, re.M)
    print(shown and shown[0])
    check(shown is not None and re.fullmatch(
        r"bearers: 0 \(MTU \d+\)((, [1-3] \(MTU \d+\)){3})", shown[0]) is not None, found)
    check(marks(found.errors, "<", 0x0F) in ({1}, {2}, {3}), found)
    # What it says of the daemon's bonds has its hint on a line of its own.
    check("\nhint: systemctl stop bluetooth\n" in found.errors, found)
    app.end()
    reset()

# Our server, its client, which pairs to open bearers. The daemon leaves an adapter alone whose SPSM of
# enhanced bearers is in use. Two channels are one enhanced bearer: more of them are cross-wired by its
# kernel, see enhanced-channels.
PROFILE = {"name": "Slow", "mtu": 517, "services": [{"uuid": "A000", "characteristics": [
    {"uuid": uuid, "properties": ["read"], "value": f"hex:0{number}",
     "behaviour": {"delayMilliseconds": 500}} for number, uuid in enumerate(SLOW)]}]}
Path("slow.json").write_text(json.dumps(PROFILE))
taken = bound(1, SPSM)
with Daemon(configuration(2), without=1) as daemon:
    taken.close()
    with Server("", "--bearers", "5", "--trace", listen="le:@hci1", path="slow.json") as server:
        reader = daemon.app("reader", "hci0", ADDRESSES[1], *SLOW)
        values = event(reader, "read")["values"]
        check(values == [f"0{number}" for number in range(COUNT)], values, server.errors)
        used = marks(server.errors, "<", 0x0A)
        print("read on bearers", *sorted(used))
        # The refusal of Linux 6.1 for lack of encryption names no channels, and at such a refusal its client
        # gives up instead of pairing. Whether the daemon has paired before, it does not promise.
        gives_up = tuple(int(part) for part in os.uname().release.split(".")[:2]) < (6, 2)
        check(used == {0, 1} or gives_up and used == {0}, server.errors)
