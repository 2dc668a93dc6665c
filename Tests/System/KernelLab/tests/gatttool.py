"""BlueZ's gatttool, an independent client, with our server."""
from peers import *

import re


def gatttool(*words, status=0) -> Outcome:
    return run(["gatttool", "-i", "hci0", "-b", ADDRESSES[1], "-t", "public", *words], status)


with Server("edges", listen="unix:socket"):
    wanted = atto("discover", "unix:socket", "--json").objects()[0]

with Server("edges") as server:
    services = [
        (int(start, 16), int(end, 16), uuid) for start, end, uuid in re.findall(
            r"attr handle = (0x\w+), end grp handle = (0x\w+) uuid: (\S+)",
            gatttool("--primary").output)]
    ours = [
        (service["handle"], service["endHandle"], service["uuid"])
        for service in wanted["services"] if service["primary"]]

    def long(uuid: str) -> str:
        if len(uuid) > 8:
            return uuid
        return f"{uuid:0>8}-0000-1000-8000-00805f9b34fb"

    check(services == [(start, end, long(uuid)) for start, end, uuid in ours], services, ours)

    found = [
        (int(handle, 16), int(value, 16), uuid) for handle, value, uuid in re.findall(
            r"handle = (0x\w+), char properties = 0x\w+, char value handle = (0x\w+), "
            r"uuid = (\S+)", gatttool("--characteristics").output)]
    ours = [
        (it["handle"], it["valueHandle"], long(it["uuid"]))
        for service in wanted["services"] if service["primary"]
        for it in service["characteristics"]]
    # The secondary service is no group of its own to gatttool, which asks for all handles.
    check(set(ours) <= set(found) and len(found) <= len(ours) + 1, found, ours)

    descriptors = gatttool("--char-desc", "--start=0x0300", "--end=0x030a").output
    check(re.findall(r"handle = (0x\w+), uuid = (\S+)", descriptors) == [
        ("0x0300", long("2803")), ("0x0301", long("b306")), ("0x0302", long("2901")),
        ("0x0303", long("2904")), ("0x0304", long("2904")), ("0x0305", long("2905")),
        ("0x0308", long("2902")), ("0x030a", "c0000001-1111-2222-3333-444455556666")],
        descriptors)

    # It goes on with Read Blob by itself.
    long_value = gatttool("--char-read", "--handle=0x0035").output
    check(bytes.fromhex(long_value.split(":")[1]) == bytes(range(16)) * 32, long_value)
    gatttool("--char-write-req", "--handle=0x0204", "--value=c0ffee")
    check("c0 ff ee" in gatttool("--char-read", "--handle=0x0204").output)
    server.events("written")
    # Its one-shot command never sends a Write Command; its own prompt does.
    prompt = Process("stdbuf", "-oL", "gatttool", "-I", "-i", "hci0", "-b", ADDRESSES[1])
    prompt.say("connect")
    while "successful" not in prompt.line():
        pass
    prompt.say("char-write-cmd 0x0208 0badf00d")
    written = server.event("written")
    check((written["handle"], written["value"]) == (0x0208, "0badf00d"), written)
    prompt.say("quit")
    prompt.wait()
    refused = gatttool("--char-read", "--handle=0x0104", status=None)
    check("can't be read" in refused.errors or "can't be read" in refused.output, refused)

reset()
with Server("heart-rate"):
    # Through a terminal of its own, so that its lines come as they are.
    listener = Process(
        "stdbuf", "-oL", "gatttool", "-i", "hci0", "-b", ADDRESSES[1], "--char-write-req",
        "--handle=0x0013", "--value=0100", "--listen")
    lines = [listener.line() for _ in range(3)]
    check(any("Notification handle = 0x0012 value: 00 48" in line for line in lines), lines)
    listener.end()
