"""A client's socket also receives the peer's requests. The client answers them, and its own continue."""
from peers import *

listener = Listener()
reader = client("subscribe", endpoint(), "0x0003", "--cccd", "0x0004", "--json", "--for", "5")
peer = listener.accept()
check(peer.receive() == bytes.fromhex("1204000100"), "the subscription")
# Requests while the client waits for its own answer.
check(peer.answer(bytes.fromhex("020502"))[0] == 0x03, "an exchange of the MTU is answered")
for request, refusal in [
    ("100100ffff0028", "01100100" "0a"), ("0a0300", "010a0300" "01"),
    ("080100ffff032a", "01080100" "0a"), ("040100ffff", "01040100" "0a"),
    ("1203000102", "0112"),
]:
    answer = peer.answer(bytes.fromhex(request))
    check(answer.hex().startswith(refusal), request, answer.hex())
peer.send(bytes.fromhex("13"))
# An indication is confirmed, a notification is not.
peer.send(bytes.fromhex("1b0300aa"))
check(json.loads(reader.line())["value"] == "aa")
check(peer.answer(bytes.fromhex("1d0300bb")) == b"\x1e")
check(json.loads(reader.line())["value"] == "bb")
peer.close()
check(reader.wait() == 3, reader.errors)
listener.close()
