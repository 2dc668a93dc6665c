"""Filters: what selects nothing is an error; lists of cases as JSON."""

import json

from harness import FIXTURES, contains, equal, expect, test

NOBODY = "unix:/tmp/atto-nobody-here"
DATABASES = FIXTURES / "transcripts/databases.att"


@test("filtering: a --case that matches nothing is an error, before anything is sent")
def cases(b):
    for words in (["conform", NOBODY], ["conform", "--client", "--listen", NOBODY], ["play", NOBODY, DATABASES]):
        b.refuses(2, ["no case matches --case typo", "--list prints"], *words, "--case", "typo")
        # One of several.
        b.refuses(2, ["no case matches --case typo"], *words, "--case", "*", "--case", "typo")
        b.refuses(2, ["no case matches --case typo"], *words, "--list", "--case", "typo")
    b.refuses(2, ['unknown attack "typo"'], "fuzz", NOBODY, "--catalogue", "empty", "--catalogue", "typo")
    _, at = b.serve("heart-rate.json")
    ended = b.run("conform", at, "--case", "mtu/*")
    equal(ended.code, 0)
    expect(len([line for line in ended.lines if "  mtu/" in line or " mtu/" in line]) >= 1, ended)


@test("filtering: a run that checks nothing has status 4")
def nothing_checked(b):
    _, at = b.serve("heart-rate.json")
    ended = b.run("conform", at, "--case", "bearers/*")
    equal(ended.code, 4)
    contains(ended.err, "nothing was checked: 1 passed, 0 broken, 8 skipped")
    place = f"unix:{b.path('client')}"
    running = b.start("conform", "--client", "--listen", place, "--case", "client/plain", "--timeout", "30")
    running.line("case: client/plain", "err")
    b.run("raw", place, "52010000")
    ended = running.end()
    equal(ended.code, 4)
    contains(ended.err, "nothing was checked: 0 passed, 0 broken, 1 not exercised")


@test("filtering: --junit is written when the run ends early, with the other cases as skipped")
def early(b):
    mute = b.peer(lambda pdu: [])
    file = b.path("junit.xml")
    ended = b.run("conform", mute.endpoint, "--case", "mtu/*", "--junit", file, "--timeout", "60", "--max-time", "0.4")
    equal(ended.code, 3)
    with open(file) as written:
        text = written.read()
    contains(text, 'tests="7" failures="0" skipped="7"', 'name="survey/database"', "the run ended before this case")


@test("filtering: play names the profiles of its cases when --profile is none of them")
def profiles(b):
    b.refuses(2, ["no case is for --profile typo.json", "the cases are for", "large-1.json"],
              "play", NOBODY, DATABASES, "--profile", "typo.json")
    b.refuses(2, ["all of the cases are for clients", "--listen plays them"],
              "play", NOBODY, FIXTURES / "transcripts/read-client.att")
    b.refuses(2, ["all of the cases are for servers"],
              "play", "--listen", NOBODY, b.file("server.att", "# ONE/one\n> 0a0300\n< 0b\n"))


@test("filtering: play reports once that the peer serves another profile")
def another_profile(b):
    _, at = b.serve("heart-rate.json")
    for words in ([], ["--profile", "large-1.json"]):
        ended = b.run("play", at, DATABASES, *words)
        equal((ended.code, ended.out), (4, ""))
        contains(ended.err, "the peer does not serve ", "large-1.json", " cases not played")
        equal(len(ended.err.splitlines()), 2, ended.err)
    _, at = b.serve(str(FIXTURES / "transcripts/large-1.json"), name="large")
    ended = b.run("play", at, DATABASES, "--json")
    contains(ended.err, "the peer does not serve ")
    expect("large-1.json" not in ended.err.split("does not serve")[1].split(":")[0], ended.err)
    expect(ended.json and all(report["outcome"] in ("passed", "skipped") for report in ended.json[:-1]), ended.out)
    equal(ended.code, 0)


@test("filtering: play takes a profile that cannot be read as it is")
def unknown_profile(b):
    text = "# ONE/one\nprofile nowhere.json\n> 0a0300\n< 0b ...\n"
    _, at = b.serve("heart-rate.json")
    equal(b.run("play", at, b.file("case.att", text)).code, 0)


@test("filtering: --list prints JSON with --json")
def lists(b):
    for words in (["conform", NOBODY], ["conform", "--client"], ["play", NOBODY, DATABASES],
                  ["conform", NOBODY, "--case", "read/*"]):
        found = b.run(*words, "--list", "--json").json
        text = b.run(*words, "--list").lines
        equal(len(found), len(text), " ".join(map(str, words)))
        for case, line in zip(found, text):
            expect(line.startswith(case["case"] + "  " + case["title"]), line)
            expect(set(case) <= {"case", "title", "writes"}, json.dumps(case))
    found = b.run("conform", NOBODY, "--list", "--json").json
    expect(any(case["writes"] for case in found) and not all(case["writes"] for case in found), found)
