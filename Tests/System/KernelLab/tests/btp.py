"""Two adapters, each driven by a tester: a connection, values, a channel, a pairing, and the end."""
from peers import *

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Commands"))
from bluetooth_tester import GAP, GATT, L2CAP, READ, WRITE, Listener, u16s, uuid, value

listeners = [Listener(f"tester{number}", PATIENCE) for number in range(2)]
processes = [
    subprocess.Popen([ATTO, "btp", f"le:@hci{number}", "-s", listeners[number].path, "--no-store"])
    for number in range(2)]
lt, iut = [listener.accept().begin(GAP, GATT, L2CAP) for listener in listeners]
check(iut.address == b"\x00" + bytes.fromhex(ADDRESSES[1].replace(":", ""))[::-1], iut.address)

# A server with a value that notifies, and one that must be encrypted.
iut.ask(GATT, 0x02, b"\x00" + uuid("180d"))
iut.ask(GATT, 0x03, u16s(0) + bytes([0x12, READ | WRITE]) + uuid("2a37"))
iut.ask(GATT, 0x06, u16s(0) + value(b"\x00\x48"))
cccd = iut.ask(GATT, 0x04, u16s(0) + bytes([READ | WRITE]) + uuid("2902"))
iut.ask(GATT, 0x03, u16s(0) + bytes([0x02, 0x04]) + uuid("2a3a"))
iut.ask(GATT, 0x06, u16s(0) + value(b"secret"))
iut.ask(GATT, 0x07)
measured, guarded = iut.ask(GATT, 0x22, uuid("2a37")), iut.ask(GATT, 0x22, uuid("2a3a"))

iut.advertise(bytes([9, 3]) + b"IUT")
lt.ask(GAP, 0x0C, b"\x09")
check(lt.event(GAP, 0x81)[:7] == iut.address, "another device was found")
lt.ask(GAP, 0x0D)
peer = lt.connect(iut)
check(peer == iut.address, peer)
check(lt.ask(GATT, 0x11, peer + measured) == b"\x00" + value(b"\x00\x48"))
check(lt.ask(GATT, 0x1A, peer + b"\x01" + cccd) == b"")
iut.ask(GATT, 0x06, measured + value(b"\x00\x50"))
check(lt.event(GATT, 0x80) == peer + b"\x01" + measured + value(b"\x00\x50"))

# A channel at a PSM that the tester chooses.
iut.ask(L2CAP, 0x05, u16s(0x85) + b"\x01" + u16s(64, 0))
lt.ask(L2CAP, 0x02, peer + u16s(0x85, 64) + b"\x01\x00")
lt.event(L2CAP, 0x81)
iut.event(L2CAP, 0x81)
lt.ask(L2CAP, 0x04, b"\x00" + value(b"by channel"))
check(iut.event(L2CAP, 0x83) == b"\x00" + value(b"by channel"))

check(lt.ask(GATT, 0x11, peer + guarded) == b"\x0f" + value(b""))
lt.ask(GAP, 0x11, peer)
check(lt.event(GAP, 0x89)[7:] == b"\x01", "not encrypted")
check(lt.ask(GATT, 0x11, peer + guarded) == b"\x00" + value(b"secret"))
lt.ask(GAP, 0x12, peer)
lt.event(GAP, 0x83)
iut.event(GAP, 0x83)
iut.ask(GAP, 0x04)
for tester, process in ((lt, processes[0]), (iut, processes[1])):
    tester.close()
    check(process.wait(PATIENCE) == 0, process.returncode)
