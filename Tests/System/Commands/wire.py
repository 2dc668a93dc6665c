"""The exact PDUs of each command."""

from harness import equal, expect, script, test

KEY = "611B64EBFBCD1FD372EC9196DF425E50"


def nothing(opcode, handle="0100"):
    return f"01{opcode}{handle}0a"


# Options, and the exchange as requests and responses.
# A UUID of 16 bits, sent as 128.
BASE = "fb349b5f8000008000100000%s0000"

DIALOGUES = [
    ("services", ["services"], [
        ("100100ffff0028", "1106010005000018"), ("100600ffff0028", "011006000a")]),
    ("services to the last handle", ["services"], [("100100ffff0028", "11060100ffff0018")]),
    ("services --uuid", ["services", "--uuid", "180d"], [
        ("060100ffff00280d18", "0710001700"), ("061800ffff00280d18", "010618000a")]),
    ("services --uuid of 128 bits", ["services", "--uuid", "6e400001-b5a3-f393-e0a9-e50e24dcca9e"], [
        ("060100ffff00289ecadc240ee5a9e093f3a3b50100406e", "010601000a")]),
    ("services --secondary", ["services", "--secondary"], [("100100ffff0128", "011001000a")]),
    ("includes", ["includes", "0x0010-0x0020"], [
        ("08100020000228", "09081100010005000a18"), ("08120020000228", "010812000a")]),
    ("includes of 128 bits", ["includes", "0x0010-0x0011"], [
        ("08100011000228", "0906100001000500"),
        ("08110011000228", "010811000a"),
        ("0a0100", "0b9ecadc240ee5a9e093f3a3b50100406e")]),
    ("characteristics", ["characteristics", "0x0010-0x0017"], [
        ("08100017000328", "0907110010120037" + "2a"), ("08120017000328", "010812000a")]),
    ("characteristics --uuid", ["characteristics", "0x0010-0x0017", "--uuid", "2a37"], [
        ("08100017000328", "0907110010120037" + "2a"), ("08120017000328", "010812000a")]),
    ("descriptors", ["descriptors", "0x0012-0x0014"], [
        ("0412001400", "0501120037" + "2a13000229"), ("0414001400", "010414000a")]),
    ("descriptors to the end of the range", ["descriptors", "0x0012-0x0013"], [
        ("0412001300", "0501120037" + "2a13000229")]),
    ("read", ["read", "0x0012"], [("0a1200", "0b01")]),
    ("read of a full PDU", ["read", "0x0012", "--json"], [("0a1200", "0b" + "01" * 22)]),
    ("read --offset", ["read", "0x0012", "--offset", "3"], [("0c12000300", "0d01")]),
    ("read --long of a short value", ["read", "0x0012", "--long"], [("0a1200", "0b01")]),
    ("read --long", ["read", "0x0012", "--long"], [
        ("0a1200", "0b" + "01" * 22), ("0c12001600", "0d0203")]),
    ("read --long --offset", ["read", "0x0012", "--long", "--offset", "5"], [
        ("0c12000500", "0d0203")]),
    ("read of several", ["read", "0x0012", "0x0013", "20"], [("0e120013001400", "0f0102")]),
    ("read --variable", ["read", "0x0012", "0x0013", "--variable"], [
        ("2012001300", "2101000101000102"[:14] + "02")]),
    ("read --uuid", ["read", "--uuid", "2a00"], [
        ("080100ffff002a", "0904030041" + "42"), ("080400ffff002a", "010804000a")]),
    ("read --uuid --range", ["read", "--uuid", "2a00", "--range", "0x0003-0x0003"], [
        ("0803000300002a", "0904030041" + "42")]),
    ("write", ["write", "0x0012", "0102"], [("1212000102", "13")]),
    ("services --uuid-as-is", [
        "services", "--uuid", "0000180d-0000-1000-8000-00805f9b34fb", "--uuid-as-is"], [
        ("060100ffff0028" + BASE % "0d18", "010601000a")]),
    ("services --uuid in full", ["services", "--uuid", "0000180d-0000-1000-8000-00805f9b34fb"], [
        ("060100ffff00280d18", "010601000a")]),
    ("services --uuid-as-is of 16 bits", ["services", "--uuid", "180d", "--uuid-as-is"], [
        ("060100ffff00280d18", "010601000a")]),
    ("read --uuid-as-is", [
        "read", "--uuid", "00002a00-0000-1000-8000-00805f9b34fb", "--uuid-as-is"], [
        ("080100ffff" + BASE % "002a", "0904030041" + "42"),
        ("080400ffff" + BASE % "002a", "010804000a")]),
    ("write of nothing", ["write", "0x0012", ""], [("121200", "13")]),
    ("write --no-response", ["write", "0x0012", "0102", "--no-response"], [("5212000102",)]),
    ("write --signed", ["write", "0x0012", "1337", "--signed", "--key", KEY, "--counter", "1"], [
        ("d21200133701000000f1871e933c900ff2",)]),
    ("write --long", ["write", "0x0012", "00" * 20, "--long"], [
        ("161200" + "0000" + "00" * 18, "171200" + "0000" + "00" * 18),
        ("161200" + "1200" + "00" * 2, "171200" + "1200" + "00" * 2), ("1801", "19")]),
    ("write --offset", ["write", "0x0012", "0102", "--offset", "7"], [
        ("16120007000102", "17120007000102"), ("1801", "19")]),
    ("write --reliable", ["write", "--reliable", "0x0012", "01", "0x0013", "02"], [
        ("161200000001", "171200000001"), ("161300000002", "171300000002"), ("1801", "19")]),
    ("write --reliable with a wrong echo is cancelled", ["write", "--reliable", "0x0012", "01"], [
        ("161200000001", "171200000002"), ("1800", "19")]),
    ("subscribe", ["subscribe", "0x0012", "--count", "1"], [
        ("041200ffff", "05011200372a13000229"), ("1213000100", "13", "1b120005"), ("1213000000", "13")]),
    ("subscribe --cccd", ["subscribe", "0x0012", "--cccd", "0x0020", "--count", "1"], [
        ("1220000100", "1b120005", "13"), ("1220000000", "13")]),
    ("subscribe --indicate", ["subscribe", "0x0012", "--indicate", "--cccd", "19", "--count", "1"], [
        ("1213000200", "13", "1d120005"), ("1e",), ("1213000000", "13")]),
    ("raw", ["raw", "0a1200", "52120001", "ff00", "--for", "0.05"], [
        ("0a1200", "0b"), ("52120001",), ("ff00",)]),
    ("discover", ["discover"], None),
]


def register(name, words, dialogue):
    @test(f"wire: {name}, and nothing else")
    def body(b):
        peer = b.peer(script(*dialogue))
        ended = b.run(words[0], peer.endpoint, *words[1:], "--timeout", "2")
        equal(peer.heard(), [request for request, *_ in dialogue], f"PDUs ({ended})")
        if "wrong echo" in name:
            equal(ended.code, 3, f"status ({ended})")
        else:
            equal((ended.code, ended.err), (0, ""))

    @test(f"wire: {name} with --mtu exchanges first")
    def exchanged(b):
        answer = script(("02b900", "03b900"), *dialogue)
        peer = b.peer(answer)
        b.run(words[0], peer.endpoint, *words[1:], "--timeout", "10", "--mtu", "185")
        heard = peer.heard()
        equal(heard[0], "02b900")
        equal(len([pdu for pdu in heard if pdu[:2] == "02"]), 1, "exchanges")
        expect(len(heard) > 1, "nothing after the exchange")


for entry in DIALOGUES:
    if entry[2]:
        register(*entry)


@test("wire: discover does not exchange the MTU, and sends only what is needed")
def discover(b):
    def answer(pdu):
        if pdu == "100100ffff0028":
            return ["11060100ffff0018"]
        return [f"01{pdu[:2]}{pdu[2:6]}0a"]

    peer = b.peer(answer)
    equal(b.run("discover", peer.endpoint, "--json").code, 0)
    heard = peer.heard()
    expect(all(pdu[:2] in ("04", "08", "10") for pdu in heard), heard)
    expect(len(heard) <= 4, heard)


@test("wire: a command interrupted after connecting sends nothing")
def silent(b):
    peer = b.peer(lambda pdu: [])
    running = b.start("raw", peer.endpoint, "ff", "--for", "10", "--json")
    running.line("sent")
    ended = running.stop()
    equal((ended.code, ended.err), (0, ""))
    equal(peer.heard(), ["ff"])


@test("wire: raw waits for the response, not for other PDUs, and confirms nothing")
def raw_between(b):
    peer = b.peer(script(("026400", "1b030001", "1d030002", "036400"),
                         ("0a0300", "1b030003", "0b" + "01" * 40), ("1e",)))
    ended = b.run("raw", peer.endpoint, "--mtu", "100", "0a0300", "1e", "--for", "0.05", "--json")
    equal((ended.code, ended.err), (0, ""))
    equal([(p["direction"][0], p["pdu"]) for p in ended.json], [
        ("s", "026400"), ("r", "1b030001"), ("r", "1d030002"), ("r", "036400"), ("s", "0a0300"),
        ("r", "1b030003"), ("r", "0b" + "01" * 40), ("s", "1e")])
    equal(peer.heard(), ["026400", "0a0300", "1e"])
