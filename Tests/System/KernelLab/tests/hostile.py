"""Peers that send nothing, too much, or PDUs after the end."""
from peers import *

listener = Listener()


def reading(*words) -> tuple[Process, Bearer]:
    process = client("read", endpoint(), "0x0003", "--json", "--timeout", "5", *words)
    peer = listener.accept()
    return process, peer


# An empty PDU is not the link's end.
process, peer = reading("--mtu", "64")
check(peer.receive() == bytes.fromhex("024000"))
peer.send(b"")
peer.send(bytes.fromhex("034000"))
check(peer.receive() == bytes.fromhex("0a0300"))
peer.send(b"")
# As long as the channel carries, which is longer than the MTU.
peer.send(b"\x0b" + bytes(671))
check(process.wait() == 3, process.errors)
check("more than the ATT_MTU" in process.errors, process.errors)
peer.close()
control.disconnect_all(1)
control.await_no_connections()
advertise()

# On a link that is new, nobody has agreed on more than 23.
process, peer = reading()
check(peer.receive() == bytes.fromhex("0a0300"))
peer.send(b"\x0b" + bytes(23))
check(process.wait() == 3 and "more than the ATT_MTU" in process.errors, process.errors)
peer.close()
control.disconnect_all(1)
control.await_no_connections()
advertise()

# The end in the middle of a request.
process, peer = reading()
check(peer.receive() == bytes.fromhex("0a0300"))
start = time.monotonic()
control.disconnect_all(1)
check(process.wait() == 3, process.errors)
print(f"told {time.monotonic() - start:.2f} s after the end: {process.errors.strip()}")
peer.close()
control.await_no_connections()

# A server that gets the same.
listener.close()
with Server("edges") as server:
    peer = Bearer.connect()
    peer.send(b"")
    check(peer.answer(b"\x0a\x25\x00" + bytes(600)).hex() == "010a0000" "04")
    check(peer.answer(bytes.fromhex("0a2500")).hex() == "0b01")
    peer.send(b"\xff" * 672)
    check(peer.answer(bytes.fromhex("0a2500")).hex() == "0b01")
    peer.close()
