"""L2CAP channels that want an encrypted link: refused in the clear, and what is sent over them
goes through once the peers have paired; against the kernel's own sockets and against itself."""
import errno
import re

from peers import *

BT_SECURITY, SOL_BLUETOOTH, MEDIUM = 4, 274, 2
DATA = bytes((i * 7 + (i >> 8)) & 0xFF for i in range(50_000))


def psm_address(adapter: int, psm: int) -> bytes:
    octets = bytes(int(pair, 16) for pair in reversed(ADDRESSES[adapter].split(":")))
    return struct.pack("<HH6sHBx", mgmt.AF_BLUETOOTH, psm, octets, 0, LE_PUBLIC)


def bound(
    adapter: int, psm: int = 0, level: int | None = None, seconds: int = PATIENCE
) -> socket.socket:
    """The kernel's socket in LE credit-based mode. Each call ends after these seconds."""
    made = socket.socket(mgmt.AF_BLUETOOTH, socket.SOCK_STREAM, 0)
    local = psm_address(adapter, psm)
    checked(libc.bind(made.fileno(), local, len(local)))
    made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@qq", seconds, 0))
    if level:
        made.setsockopt(SOL_BLUETOOTH, BT_SECURITY, struct.pack("<BB", level, 0))
    return made


def publish(*words: str) -> tuple[subprocess.Popen, int]:
    process = subprocess.Popen(
        [ATTO, "channel", "--listen", "le:@hci1", *words], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    line = process.stderr.readline().decode()
    found = re.search(r"PSM (\d+) at", line)
    check(found is not None, line)
    return process, int(found[1])


def is_encrypted(made: socket.socket) -> bool:
    return made.getsockopt(SOL_BLUETOOTH, BT_SECURITY, 2)[0] >= MEDIUM


forget_bonds()

# In the clear: our publication refuses the kernel's socket, which does not ask for a pairing.
process, psm = publish("--encrypted")
peer = bound(0, seconds=8)
address = psm_address(1, psm)
refused = libc.connect(peer.fileno(), address, len(address))
code = ctypes.get_errno()
print("in the clear:", os.strerror(code) if refused else "connected", flush=True)
# Or nothing until its time is up, while the kernel waits for a pairing that nobody answers.
check(refused != 0, "a channel in the clear at a PSM that wants encryption")
check(code in (errno.ECONNREFUSED, errno.EACCES, errno.EINPROGRESS), code)
peer.close()
process.kill()
process.communicate()
forget_bonds()

# The kernel's listener refuses ours, and that is told as what it is.
strict = bound(1, 0xC7, MEDIUM)
strict.listen(1)
advertise(1)
try:
    for index in (0, 1):
        control.switch(index, "bondable", False)
    refused = atto("channel", endpoint(), "--psm", 0xC7, "--timeout", PATIENCE, "--close", status=3)
    print(refused.errors.strip(), flush=True)
    # By the kernel's refusal, or by the pairing that is tried first and cannot be.
    check("it requires an encrypted link" in refused.errors or "pairing with" in refused.errors, refused)
    # Told apart from a PSM where nobody listens.
    nobody = atto("channel", endpoint(), "--psm", 0xC8, "--timeout", PATIENCE, "--close", status=3)
    check("nothing is published there" in nobody.errors and "encrypted" not in nobody.errors, nobody)
finally:
    for index in (0, 1):
        control.switch(index, "bondable", True)
strict.close()
forget_bonds()

# Paired, both ways of opening have an encrypted link.
with Server("edges", listen="le:@hci1"):
    atto("pair", endpoint())
control.disconnect_all(0)
control.await_no_connections()
process, psm = publish("--encrypted", "--close")
peer = bound(0, level=MEDIUM)
address = psm_address(1, psm)
checked(libc.connect(peer.fileno(), address, len(address)))
check(b"opened by" in process.stderr.readline())
check(is_encrypted(peer), "the kernel's end is in the clear")
peer.settimeout(PATIENCE)


def feed() -> None:
    # The kernel takes no more at a time than the channel's MTU.
    for start in range(0, len(DATA), 500):
        peer.sendall(DATA[start:start + 500])


feeding = threading.Thread(target=feed)
feeding.start()
came = b""
while len(came) < len(DATA):
    piece = os.read(process.stdout.fileno(), 65536)
    check(piece, "our side ended after", len(came))
    came += piece
feeding.join(PATIENCE)
check(came == DATA, "what came is not what was sent")
process.stdin.close()
check(process.wait(PATIENCE) == 0, process.stderr.read())
peer.close()
print("from the kernel's socket, encrypted:", len(came))
control.disconnect_all(0)
control.await_no_connections()

# Ours to ours, on a link that is new.
server, psm = publish("--encrypted")
server.stdin.close()
taken: list[bytes] = []
reading = threading.Thread(target=lambda: taken.append(server.stdout.read()))
reading.start()
done = subprocess.run(
    [ATTO, "channel", endpoint(), "--psm", str(psm), "--close"], input=DATA, timeout=PATIENCE,
    capture_output=True)
check(done.returncode == 0, done.stderr)
reading.join(PATIENCE)
check(server.wait(PATIENCE) == 0, server.stderr.read())
check(taken == [DATA], len(taken[0]) if taken else None)
print("ours to ours, encrypted:", len(taken[0]))
forget_bonds()
