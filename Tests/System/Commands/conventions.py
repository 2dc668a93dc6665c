"""The version, suggestions for misspelled words, and colour."""

import json
import re

from harness import FIXTURES, contains, equal, expect, test


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


@test("conventions: misspelled commands, options and values are suggested")
def suggestions(b):
    nobody = "unix:/tmp/atto-nobody-here"
    for word, meant in (("servces", "services"), ("reed", "read"), ("dsicover", "discover"),
                        ("char", "characteristics"), ("DISCOVER", "discover")):
        b.refuses(2, [f'hint: did you mean "{meant}"?', "hint: atto --help lists the commands"], word)
    for word, meant in (("--jsn", "json"), ("--max-tme", "max-time"), ("-json", "json"),
                        ("--time-out", "timeout")):
        b.refuses(2, [f"unknown option {word}", f'hint: did you mean "--{meant}"?'], "read", nobody, 1, word)
    b.refuses(2, ['hint: did you mean "medium"?'], "read", nobody, 1, "--security", "meduim")
    b.refuses(2, ['hint: did you mean "keyboard"?'], "read", nobody, 1, "--io=keybord")
    b.refuses(2, ['hint: did you mean "notify"?'], "bench", nobody, "--test", "read,notifi")
    b.refuses(2, ["expected on or off"], "adapters", "--power", "x")
    b.refuses(2, ["hint: the command comes first: atto discover air:Strap"], "air:Strap", "discover")
    for text, meant in (("Strap", "air:Strap"), ("/tmp/peer", "unix:/tmp/peer"), ("./peer", "unix:./peer"),
                        ("AA:BB:CC:DD:EE:FF", "le:AA:BB:CC:DD:EE:FF"),
                        ("C0:BB:CC:DD:EE:FF/random@hci1", "le:C0:BB:CC:DD:EE:FF/random@hci1")):
        b.refuses(2, [f'invalid endpoint "{text}"', f'hint: did you mean "{meant}"?'], "discover", text)
    b.refuses(2, ['hint: did you mean "unix:/tmp/x"?'], "serve", FIXTURES / "bench.json", "--listen", "/tmp/x")
    for text in ("", "tcp:host", "xx:/tmp/y"):
        expect("did you mean" not in b.run("discover", text).err, text)
    # Nothing is near.
    for words in (["frobnicate"], ["read", nobody, "1", "--frobnicate"], ["x" * 100000]):
        ended = b.run(*words)
        equal(ended.code, 2)
        expect("did you mean" not in ended.err, ended.err)


@test("conventions: colour for errors, hints, warnings and headings, on a terminal only")
def colour(b):
    missing = ["read", "unix:/tmp/atto-nobody-here", "1", "--jsn"]
    escape = "\x1b["

    def shown(*words, **options):
        text, ended = b.on_terminal(*words, **options)
        return text

    b.environment.update(NO_COLOR="", TERM="xterm")
    error = shown(*missing)
    contains(error, "\x1b[1;31matto read:\x1b[0m unknown option --jsn", "\x1b[1;36mhint:\x1b[0m did you",
             "\x1b[1musage:\x1b[0m atto read")
    for words in (["--help"], ["read", "--help"]):
        contains(shown(*words, stream="stdout"), "\x1b[1musage:\x1b[0m atto")
        expect(escape not in b.run(*words).out, "colour in a pipe")
    contains(shown("read", "--help", stream="stdout"), "\x1b[1mcommon options:\x1b[0m")
    expect(escape not in b.run(*missing).err, "colour in a pipe")
    # What the user or a peer names stays escaped.
    text = shown("read", "air:\x1b[31mhint: x", "1")
    expect("\x1b[31m" not in text, text)
    contains(text, "\\u{1B}[31mhint: x")
    for change in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
        saved = dict(b.environment)
        b.environment.update(change)
        expect(escape not in shown(*missing), f"colour with {change}")
        b.environment = saved


@test("conventions: a duration is --for; the names of earlier versions are accepted with a note")
def former_names(b):
    _, at = b.serve("heart-rate.json")
    for old, new, words in (
            ("--timeout", "--for", ["scan", "air:", "--json"]), ("--seconds", "--for", ["demo"]),
            ("--seconds", "--for", ["bench", at, "--test", "ping", "--warm-up", "0", "--json"]),
            ("--listen", "--for", ["raw", at, "0a1500"])):
        note = f"atto {words[0]}: warning: {old} is called {new} now\n"
        if words[0] == "scan":
            ended = b.run("session", input=f"scan air: {old} 0.05\n")
            equal(ended.err, f"scan: warning: {old} is called {new} now\n", "in a session")
        equal(b.run(*words, new, "0.05").err.count("is called"), 0, words)
        for given in ([old, "0.05"], [f"{old}=0.05"]):
            ended = b.run(*words, *given)
            equal((ended.code, note in ended.err), (0, True), f"{words}: {ended}")
        expect(old + " " not in b.run(words[0], "--help").out.replace("--timeout SECONDS", ""), words)


@test("conventions: the word warning is in colour")
def warnings(b):
    b.environment.update(NO_COLOR="", TERM="xterm")
    text, _ = b.on_terminal("advertise", "air:", "--name", "n" * 60, "--for", "0.01")
    contains(text, "atto advertise: \x1b[1;33mwarning:\x1b[0m the name")
