"""update: firmware for a device with MCUmgr, with links that break and programs that are killed."""

import random
import signal

from harness import contains, equal, expect, test
from mcumgr import PROFILE, UPLOAD, Device, Radio, hash_of, image

OLD, NEW = image(3000, (1, 0, 0), 1), image(20_000, (1, 1, 0), 2)


def joined(b, device, mtu=247, name="device"):
    """The program of a device, and its endpoint."""
    server, endpoint = b.serve(PROFILE, "--control", "--mtu", mtu, "--json", input=True, name=name)
    Radio(device, server.out.get, server.say, mtu)
    return server, endpoint


def bench(b, content=NEW, **options):
    device = Device(OLD, **options)
    path = b.folder / "new.bin"
    path.write_bytes(content)
    return device, joined(b, device)[1], path


def uploads(device):
    return [body for command, body in device.requests if command == UPLOAD]


@test("update: an image is uploaded, started and confirmed")
def whole(b):
    device, endpoint, path = bench(b)
    ended = b.run("update", endpoint, path, "--json")
    equal((ended.code, ended.err), (0, "the device runs version 1.0.0\n"))
    events = ended.json
    equal([one["event"] for one in events if one["event"] != "progress"], ["uploaded", "started", "confirmed"])
    offsets = [one["offset"] for one in events if one["event"] == "progress"]
    equal((offsets, offsets[-1]), (sorted(offsets), len(NEW)))
    equal((events[-1]["version"], events[-1]["hash"]), ("1.1.0", hash_of(NEW).hex()))
    equal((device.slots, device.is_confirmed, device.boots_count), ([NEW, OLD], True, 1))
    # What the device has room for, and not what an MTU has.
    expect(max(len(body["data"]) for body in uploads(device)) > 300, "the size of a request")
    ended = b.run("update", endpoint, path)
    equal((ended.code, ended.out), (0, "the device runs version 1.1.0 already\n"))
    # It stays at the next start.
    device.boots()
    equal(device.slots, [NEW, OLD])


@test("update: an upload goes on where its link broke")
def broken(b):
    device, endpoint, path = bench(b)
    device.breaks_at = 9000
    ended = b.run("update", endpoint, path)
    equal(ended.code, 0)
    contains(ended.err, "connecting again", "octets of an earlier upload")
    equal(device.slots, [NEW, OLD])
    equal(sum(body["off"] == 0 for body in uploads(device)), 2)
    expect(all(body["off"] == 0 or body["off"] >= 9000 for body in uploads(device)[-20:]), "it began again")
    device.breaks_at = 0
    path.write_bytes(image(500, (2, 0, 0)))
    b.refuses(3, ["disconnected"], "update", endpoint, path, "--attempts", "1")


@test("update: an upload goes on where its program was killed")
def killed(b):
    seed = 7
    print(f"seed {seed}")
    device, endpoint, path = bench(b)
    offsets = sorted(random.Random(seed).sample(range(400, len(NEW) // 2), 5))
    for offset in offsets:
        running = b.start("update", endpoint, path, "--json", "--only-upload")
        while (found := running.event("progress")["offset"]) < offset:
            pass
        running.signal(signal.SIGKILL)
        running.process.wait()
        expect(len(device.upload) >= found, "the device has lost octets")
    # The last one may have been killed when little was left, or nothing.
    before, count = len(device.upload), len(uploads(device))
    equal(b.run("update", endpoint, path, "--only-upload").code, 0)
    again = uploads(device)[count:]
    expect(all(body["off"] in (0, *range(before, len(NEW))) for body in again), f"it began again: {again}")
    equal((device.slots, device.boots_count), ([OLD, NEW], 0))
    ended = b.run("update", endpoint, path, "--only-upload")
    equal((ended.code, ended.out), (0, "the device has version 1.1.0 already\n"))


@test("update: requests that the device has no memory for are sent again")
def busy(b):
    device, endpoint, path = bench(b, buffers=(256, 8))
    device.busy = set(range(8, 200, 9))
    ended = b.run("update", endpoint, path, "--window", 4)
    equal((ended.code, ended.err), (0, "the device runs version 1.0.0\n"))
    equal(device.slots, [NEW, OLD])


@test("update: a device that does not start the image, or that goes back")
def refused(b):
    device, endpoint, path = bench(b)
    device.is_refused = True
    ended = b.run("update", endpoint, path)
    equal(ended.code, 4)
    contains(ended.err, "has not started version 1.1.0: it runs 1.0.0", "signed with the device's key")
    device.is_refused = False
    ended = b.run("update", endpoint, path, "--only-test")
    equal((ended.code, device.slots, device.is_confirmed), (0, [NEW, OLD], False))
    contains(ended.out, "at its next start")
    device.boots()
    equal((device.slots, device.is_confirmed), ([OLD, NEW], True))


@test("update: images and devices that do not fit")
def misfits(b):
    device, endpoint, path = bench(b, has_parameters=False)
    old = b.folder / "older.bin"
    old.write_bytes(image(200, (0, 9, 0)))
    ended = b.run("update", endpoint, old, "--only-upgrade")
    equal(ended.code, 4)
    contains(ended.err, "the device refuses: its image is newer (group 1, error 27)")
    for content, part in ((b"", "no firmware image"), (OLD[:500], "cut off"), (OLD[:-40], "cut off"),
                          (OLD[:100] + b"x" + OLD[101:], "damaged")):
        old.write_bytes(content)
        b.refuses(2, [part, "older.bin"], "update", endpoint, old)
    b.refuses(2, ["cannot read", "No such file"], "update", endpoint, b.path("missing"))
    b.refuses(2, ["FILE"], "update", endpoint)
    _, strap = b.serve("heart-rate.json", name="strap")
    b.refuses(4, ["no SMP service"], "update", strap, path)
    # A single value holds each request.
    equal(b.run("update", endpoint, path, "--only-upload").code, 0)
    equal(device.slots[1], NEW)
    _, small = joined(b, Device(OLD, has_parameters=False), mtu=23, name="small")
    b.refuses(4, ["too short", "MTU"], "update", small, path)


@test("update: hostile devices")
def hostile(b):
    device, path = Device(OLD), b.folder / "new.bin"
    path.write_bytes(NEW)
    server, endpoint = joined(b, device)
    answer = device.answer
    for octets in (b"", b"\xff" * 20, b"\x01\x00\x00\x01\x00\x01\x00\x00\xff", b"\x01\x00\xff\xff\x00\x01"):
        device.answer = lambda request: octets
        ended = b.run("update", endpoint, path, "--attempts", 1, "--max-time", 3)
        expect(ended.code in (3, 4), f"{octets}: {ended}")
    # More and more of them.
    def flood(request):
        for _ in range(200):
            server.say(f"notify 0x0012 {answer(request).hex()}")
        return answer(request)
    device.answer = flood
    ended = b.run("update", endpoint, path)
    contains(ended.err, "another request")
    # A response to another request.
    device.answer = lambda request: answer(request[:6] + bytes([request[6] ^ 1]) + request[7:])
    ended = b.run("update", endpoint, path)
    contains(ended.err, "another request")
