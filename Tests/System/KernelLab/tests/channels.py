"""L2CAP channels: atto with the kernel sockets of Python, and with itself."""
import re

from peers import *

COUNT = 200_000
DATA = bytes((i * 31 + (i >> 8)) & 0xFF for i in range(COUNT))


def psm_address(adapter: int, psm: int) -> bytes:
    family, octets = struct.pack("<H", mgmt.AF_BLUETOOTH), bytes.fromhex(
        ADDRESSES[adapter].replace(":", ""))[::-1]
    return family + struct.pack("<H", psm) + octets + struct.pack("<HBx", 0, LE_PUBLIC)


def stream(adapter: int) -> socket.socket:
    """The kernel's socket in LE credit-based mode, bound at an adapter."""
    made = socket.socket(mgmt.AF_BLUETOOTH, socket.SOCK_STREAM, 0)
    local = psm_address(adapter, 0)
    checked(libc.bind(made.fileno(), local, len(local)))
    return made


def listener(*words) -> tuple[subprocess.Popen, int]:
    process = subprocess.Popen(
        [ATTO, "channel", "--listen", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    line = process.stderr.readline().decode()
    found = re.match(r".*PSM (\d+) at", line)
    check(found is not None, line)
    return process, int(found[1])


def receive(peer: socket.socket, count: int) -> bytes:
    octets = b""
    while len(octets) < count:
        piece = peer.recv(65536)
        check(piece, "the channel ended after", len(octets))
        octets += piece
    return octets


# The kernel's peer opens a channel that we have published; it sends in pieces, slowly read.
process, psm = listener("le:@hci1", "--close")
check(0x80 <= psm <= 0xFF, psm)
peer = stream(0)
address = psm_address(1, psm)
checked(libc.connect(peer.fileno(), address, len(address)))
peer.settimeout(PATIENCE)
check(b"opened by" in process.stderr.readline())


def feed() -> None:
    for start in range(0, COUNT, 500):
        peer.sendall(DATA[start:start + 500])


feeding = threading.Thread(target=feed)
feeding.start()
there = b""
while len(there) < COUNT:
    piece = os.read(process.stdout.fileno(), 65536)
    check(piece, "our side ended after", len(there))
    there += piece
feeding.join(PATIENCE)
check(there == DATA, "what came is not what was sent")
print("to us:", len(there))
# The other way: more than there are credits for, then the end of it.
writing = threading.Thread(target=lambda: (process.stdin.write(DATA), process.stdin.close()))
writing.start()
check(receive(peer, COUNT) == DATA, "what came back is not what was sent")
writing.join(PATIENCE)
check(process.wait(PATIENCE) == 0, process.stderr.read())
peer.close()
print("from us:", COUNT)

# Nobody listens at another PSM of a peer that is there.
server, psm = listener("le:@hci1")
refused = atto("channel", endpoint(), "--psm", psm + 1, "--timeout", 20, status=None)
check(refused.status != 0 and "nothing is published there" in refused.errors, refused)
# One who has no room: the kernel takes as many as its listener's queue, and one.
crowded = socket.socket(mgmt.AF_BLUETOOTH, socket.SOCK_STREAM, 0)
address = psm_address(1, 0x00C5)
checked(libc.bind(crowded.fileno(), address, len(address)))
crowded.listen(0)
first = stream(0)
checked(libc.connect(first.fileno(), address, len(address)))
full = atto("channel", endpoint(), "--psm", 0xC5, "--timeout", 20, status=None)
check(full.status != 0 and "no resources for another channel" in full.errors, full)
first.close()
crowded.close()
# Ours to ours; both ends of a pipe are held back by what is not read.
server.stdin.close()
came: list[bytes] = []
reading = threading.Thread(target=lambda: came.append(server.stdout.read()))
reading.start()
done = subprocess.run(
    [ATTO, "channel", endpoint(), "--psm", str(psm), "--close"], input=DATA, timeout=PATIENCE,
    capture_output=True)
check(done.returncode == 0, done.stderr)
reading.join(PATIENCE)
check(server.wait(PATIENCE) == 0, server.stderr.read())
check(came == [DATA], len(came[0]) if came else None)
print("ours to ours:", len(came[0]))
