"""What a server meets that runs for years: a process or a machine without descriptors."""

import os
import resource

from harness import contains, equal, expect, test
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
    line = server.line("out of descriptors", where="err")
    contains(line, "accept", at, "ulimit -n")
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


@test("enduring: out of descriptors on the air, centrals wait, it is told once, and they are served later")
def air(b):
    server, at = b.serve(ALL, endpoint="air:Short", preexec_fn=limited(24))
    # A central takes two descriptors here; some hold theirs.
    centrals = [b.start("subscribe", at, "3", "--timeout", "30") for _ in range(14)]
    line = server.line("out of descriptors", where="err")
    contains(line, "accept", "air:Short", "ulimit -n")
    for central in centrals[:10]:
        central.process.kill()
    for central in centrals[:10]:
        central.process.wait()
    # Whoever waited is taken when there is room, and so is a newcomer.
    equal(b.run("read", at, "3", "--json").json, [{"handle": 3, "value": "0048"}])
    for central in centrals[10:]:
        equal(central.stop().code, 0)
    ended = server.stop()
    equal(ended.code, 0)
    expect(ended.err.count("out of descriptors") <= 2, ended.err)
