"""Servers that run for years: exhausted descriptors, leaks, and idle load."""

import os
import resource
import time

from harness import PATIENCE, contains, equal, expect, test
from serving import ALL


def limited(count):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


def descriptors(running):
    """The number of open descriptors, without the loop's timer, which opens when first needed."""
    folder = f"/proc/{running.process.pid}/fd"
    found = []
    for number in os.listdir(folder):
        try:
            found.append(os.readlink(f"{folder}/{number}"))
        except OSError:
            pass  # Closed in the meantime.
    return len([target for target in found if target != "anon_inode:[timerfd]"])


@test("enduring: out of descriptors: clients are disconnected, an error is reported, later clients are served")
def unix(b):
    server, at = b.serve(ALL, preexec_fn=limited(32))
    alone = descriptors(server)
    clients = [b.connect(at) for _ in range(40)]
    line = server.line("out of descriptors")
    contains(line, "cannot serve a client", at)
    server.line("hint: raise the limit (ulimit -n)", where="err")
    # The accepted clients are served, the others disconnected.
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
    # Later clients are served, and their descriptors closed.
    for _ in range(100):
        client = b.connect(at)
        equal(client.ask("0a0300"), "0b0048")
        client.close()
    ended_with = descriptors(server)
    expect(ended_with <= alone + 1, f"{ended_with} descriptors, {alone} at the beginning")
    equal(server.stop().code, 0)


@test("enduring: out of descriptors on the air: centrals wait, an error is reported, and they are served later")
def air(b):
    server, at = b.serve(ALL, endpoint="air:Short", preexec_fn=limited(24))
    # Each central needs two descriptors.
    centrals = [b.start("subscribe", at, "3", "--timeout", "30") for _ in range(14)]
    line = server.line("out of descriptors")
    contains(line, "cannot serve a client", "air:Short")
    for central in centrals[:10]:
        central.process.kill()
    for central in centrals[:10]:
        central.process.wait()
    # The waiting centrals are accepted first, then new ones.
    deadline = time.monotonic() + PATIENCE
    while (read := b.run("read", at, "3", "--json")).code != 0:
        contains(read.err, "limited resources")
        expect(time.monotonic() < deadline, f"never served again: {read}")
    equal(read.json, [{"handle": 3, "value": "0048"}])
    for central in centrals[10:]:
        # Served, refused, or still waiting.
        ended = central.stop()
        expect(ended.code == 0 or ended.code == 3 and (
            "limited resources" in ended.err or "interrupted" in ended.err), ended)
    ended = server.stop()
    equal(ended.code, 0)


@test("enduring: descriptors are close-on-exec, and closed when clients leave")
def inherited(b):
    """FD_CLOEXEC is the bit 02000000 of the flags in /proc."""
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
        # Whatever way a client disconnects.
        reader.process.kill()
        server.line("disconnected")
        equal(descriptors(server), alone, f"descriptors of {at}")
        equal(server.stop().code, 0)


@test("enduring: an idle server uses no CPU")
def idle(b):
    server, at = b.serve(ALL, endpoint="air:Idle")
    reader = b.start("subscribe", at, "3")
    server.line("subscribed")

    def wakes():
        """The number of voluntary context switches of each thread."""
        found = {}
        for thread in os.listdir(f"/proc/{server.process.pid}/task"):
            with open(f"/proc/{server.process.pid}/task/{thread}/status") as status:
                found[thread] = next(line for line in status if line.startswith("voluntary"))
        return found

    # The first intervals may finish earlier work; then there must be none.
    for _ in range(5):
        before = wakes()
        time.sleep(1)
        if wakes() == before:
            break
    else:
        equal(wakes(), before, "wake-ups")
    reader.stop()
    server.stop()
