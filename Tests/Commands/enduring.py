"""What a server meets that runs for years: a process or a machine without descriptors."""

import os
import resource
import time

from harness import PATIENCE, contains, equal, expect, test
from serving import ALL


def limited(count):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


def descriptors(running):
    return len(os.listdir(f"/proc/{running.process.pid}/fd"))


@test("enduring: out of descriptors, clients see an end, it is told, and others are served later")
def unix(b):
    server, at = b.serve(ALL, preexec_fn=limited(32))
    alone = descriptors(server)
    clients = [b.connect(at) for _ in range(40)]
    line = server.line("out of descriptors")
    contains(line, "was not served", at, "ulimit -n")
    # Those who were taken are served, the others closed.
    answers = []
    for client in clients:
        try:
            answers.append(client.ask("0a0300"))
        except OSError:
            answers.append("")
    served = answers.count("0b0048")
    equal(served + answers.count(""), 40, "answers")
    expect(0 < served < 40, f"{served} clients were served")
    for client in clients:
        client.close()
    # One after the other has room again, and each leaves nothing.
    for _ in range(100):
        client = b.connect(at)
        equal(client.ask("0a0300"), "0b0048")
        client.close()
    ended_with = descriptors(server)
    expect(ended_with <= alone + 1, f"{ended_with} descriptors, {alone} at the beginning")
    equal(server.stop().code, 0)


@test("enduring: out of descriptors on the air, centrals wait, it is told, and they are served later")
def air(b):
    server, at = b.serve(ALL, endpoint="air:Short", preexec_fn=limited(24))
    # A central takes two descriptors here; some hold theirs.
    centrals = [b.start("subscribe", at, "3", "--timeout", "30") for _ in range(14)]
    line = server.line("out of descriptors")
    contains(line, "was not served", "air:Short", "ulimit -n")
    for central in centrals[:10]:
        central.process.kill()
    for central in centrals[:10]:
        central.process.wait()
    # Those who waited are taken first; as soon as there is room, so is a newcomer.
    deadline = time.monotonic() + PATIENCE
    while (read := b.run("read", at, "3", "--json")).code != 0:
        contains(read.err, "limited resources")
        expect(time.monotonic() < deadline, f"never served again: {read}")
    equal(read.json, [{"handle": 3, "value": "0048"}])
    for central in centrals[10:]:
        # Served or told so.
        ended = central.stop()
        expect(ended.code == 0 or ended.code == 3 and "limited resources" in ended.err, ended)
    ended = server.stop()
    equal(ended.code, 0)


@test("enduring: what a server opens is closed in programs that it starts, and gone when clients are")
def inherited(b):
    """FD_CLOEXEC is the bit 02000000 of the flags that the kernel tells."""
    for at in (f"unix:{b.path('s')}", "air:Closing"):
        server, _ = b.serve(ALL, endpoint=at)
        alone = descriptors(server)
        reader = b.start("subscribe", at, "3")
        server.line("subscribed")
        folder = f"/proc/{server.process.pid}/fdinfo"
        expect(descriptors(server) > alone, "the client has no descriptor")
        for number in os.listdir(folder):
            if int(number) <= 2:
                continue
            with open(f"{folder}/{number}") as info:
                flags = next(line for line in info if line.startswith("flags:"))
            expect(int(flags.split()[1], 8) & 0o2000000,
                   f"{os.readlink(folder.replace('fdinfo', 'fd') + '/' + number)} is inherited")
        # However a client goes.
        reader.process.kill()
        server.line("disconnected")
        equal(descriptors(server), alone, f"descriptors of {at}")
        equal(server.stop().code, 0)


@test("enduring: nothing turns while nothing happens")
def idle(b):
    server, at = b.serve(ALL, endpoint="air:Idle")
    reader = b.start("subscribe", at, "3")
    server.line("subscribed")

    def wakes():
        """How often each thread has gone to sleep."""
        found = {}
        for thread in os.listdir(f"/proc/{server.process.pid}/task"):
            with open(f"/proc/{server.process.pid}/task/{thread}/status") as status:
                found[thread] = next(line for line in status if line.startswith("voluntary"))
        return found

    # What the connection has left to do is done in one of these; then nothing is.
    for _ in range(5):
        before = wakes()
        time.sleep(1)
        if wakes() == before:
            break
    else:
        equal(wakes(), before, "wake-ups")
    reader.stop()
    server.stop()
