"""The version, suggestions for misspelled words, and colour."""

import json
import re

from harness import contains, equal, expect, test


@test("conventions: --version, also in bench results, reports and captures")
def version(b):
    for word in ("--version", "-V"):
        ended = b.run(word)
        equal((ended.code, ended.err), (0, ""))
        expect(re.fullmatch(r"atto \d+\.\d+\.\d+(-\w+)?", ended.out.strip()), ended.out)
    number = ended.out.split()[1]
    _, at = b.serve("bench.json")
    report, capture = b.path("page.html"), b.path("c.pcapng")
    result, = b.run("bench", at, "--test", "read", "--count", 5, "--json", "--report", report).json
    equal(result["version"], number)
    with open(report) as page:
        contains(page.read(), f"atto {number}")
    # An earlier result without a version can still be compared with.
    del result["version"]
    earlier = b.file("old.json", json.dumps(result))
    equal(b.run("bench", at, "--test", "read", "--count", 5, "--compare", earlier).code, 0)
    equal(b.run("read", at, "3", "--capture", capture).code, 0)
    with open(capture, "rb") as file:
        octets = file.read()
    name = f"atto {number}".encode()
    # The option shb_userappl in the section header.
    equal(octets[24:28 + len(name)], b"\4\0" + len(name).to_bytes(2, "little") + name)
