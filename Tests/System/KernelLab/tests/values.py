"""Reading and writing, short and long, and the peer's refusals."""
from peers import *

with Server("edges") as server:
    to = endpoint()
    b512 = bytes(range(16)).hex() * 32

    def value(*words) -> str:
        return atto("read", to, *words, "--json").objects()[0]["value"]

    check(value("0x0025") == "01")
    check(value("0x0023") == "")
    check(value("0x0035") == b512[:44], "22 octets of the longest value without an exchange")
    check(value("0x0035", "--long") == b512)
    check(value("0x0035", "--mtu", "517") == b512)
    check(value("0x0035", "--mtu", "517", "--long") == b512)
    check(value("0x0035", "--offset", "500", "--mtu", "100") == b512[1000:])
    by_type = atto("read", to, "--uuid", "B500", "--json").objects()
    check([line["value"] for line in by_type][:3] == ["5000", "5001", "5002"], by_type)

    atto("write", to, "0x0204", b"written".hex())
    check(value("0x0204") == b"written".hex())
    long = bytes(index % 251 for index in range(300)).hex()
    for mtu in ([], ["--mtu", "517"]):
        atto("write", to, "0x020A", long, "--long", *mtu)
        check(value("0x020A", "--long", "--mtu", "200") == long)
        atto("write", to, "0x020A", "00" * 300, "--long", *mtu)
    atto("write", to, "--reliable", "0x020C", "aabb", "0x0204", "ccdd")
    check(value("0x020C") == "aabb" and value("0x0204") == "ccdd")
    atto("write", to, "0x020A", "c0ffee", "--no-response")
    server.event("written")
    check(value("0x020A") == "c0ffee")

    for words, name in [
        (["read", to, "0x0104"], "Read Not Permitted"),
        (["read", to, "0x1234"], "Invalid Handle"),
        (["read", to, "0x010A"], "Insufficient"),
        (["read", to, "0x0516"], "0x80"),
        (["write", to, "0x0204", "00" * 21], "Invalid Attribute Value Length"),
    ]:
        refused = atto(*words, "--mtu", "100", status=1)
        check(name.lower() in refused.errors.lower(), refused)
