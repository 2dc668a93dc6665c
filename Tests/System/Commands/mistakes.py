"""Wrong command lines and files: status 2, and messages that say what to write."""

import os
import re
import subprocess

from harness import FIXTURES, PATIENCE, Skipped, contains, equal, expect, test

COMMANDS = ["demo", "serve", "discover", "services", "includes", "characteristics", "descriptors",
            "read", "write", "subscribe", "raw", "scan", "advertise", "doctor",
            "link", "bench"]
NOBODY = "unix:/tmp/atto-nobody-here"


@test("mistakes: no command, an unknown command")
def commands(b):
    ended = b.run()
    equal(ended.code, 2)
    contains(ended.out + ended.err, "usage: atto COMMAND")
    b.refuses(2, ['unknown command "foo"', "hint: atto --help"], "foo")
    b.refuses(2, ['unknown command "servces"'], "servces")


@test("mistakes: --phy where no PHY can be chosen")
def phy(b):
    b.refuses(2, ['--phy requires an le: endpoint, not "unix:'], "read", NOBODY, "0x0003", "--phy", "2M")
    b.refuses(2, ['--phy requires an le: endpoint, not "air:X"', "hint: ", "air:NAME?phy=2M"],
              "serve", FIXTURES / "heart-rate.json", "--listen", "air:X", "--phy", "2M")
    b.refuses(2, ['--subrate and --frame-space require an le: endpoint, not "air:X"', "air:NAME?subrate=4"],
              "read", "air:X", "0x0003", "--subrate", "4")
    b.refuses(2, ["--continuation requires --subrate"], "read", NOBODY, "0x0003", "--continuation", "1")
    b.refuses(2, ["--continuation must be less than --subrate, 4"], "read", NOBODY, "0x0003", "--subrate", "2-4",
              "--continuation", "4")
    for words, expected in ((("--subrate", "0"), "1 to 500"), (("--subrate", "5-4"), "1 to 500"),
                            (("--subrate", "501"), "1 to 500"), (("--subrate", "1-"), "1 to 500"),
                            (("--frame-space", "11ms"), "0us to 10ms"), (("--frame-space", "x"), "0us to 10ms")):
        b.refuses(2, [f'invalid value "{words[1]}" for {words[0]}', expected], "read", NOBODY, "0x0003", *words)
    b.refuses(2, ['invalid value "3M" for --phy: expected 1M, 2M or coded'], "read", NOBODY, "0x0003", "--phy", "3M")


@test("mistakes: without /proc")
def without_proc(b):
    words = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if os.geteuid() != 0 or subprocess.run([*words, "true"], capture_output=True).returncode != 0:
        raise Skipped("only root can cover /proc")

    def run(*arguments):
        ended = subprocess.run(
            [*words, b.atto, *arguments], env=b.environment, text=True, capture_output=True, timeout=PATIENCE)
        return ended.returncode, ended.stdout + ended.stderr

    equal(run("--version"), (0, b.run("--version").out))
    equal(run("read", "--help"), (0, b.run("read", "--help").out))
    code, text = run("foo")
    contains(text, 'unknown command "foo"')
    equal(code, 2)
    equal(run("read", NOBODY, "3"), (
        2, "atto read: /proc is not mounted, and Swift's runtime needs it\nhint: mount -t proc proc /proc\n"))


@test("mistakes: help for all commands")
def help(b):
    for words in (["--help"], ["-h"], ["help"]):
        ended = b.run(*words)
        equal((ended.code, ended.err), (0, ""))
        for name in COMMANDS:
            contains(ended.out, f"  {name} ")
        longest = max(ended.lines, key=len)
        expect(len(longest) <= 80, longest)
    for name in COMMANDS:
        for words in ([name, "--help"], ["help", name], [name, "x", "-h"]):
            ended = b.run(*words)
            equal((ended.code, ended.err), (0, ""), " ".join(words))
            contains(ended.out, f"usage: atto {name} ")
            expect(not ended.out.endswith("\n\n"), f"{words}: an empty line at the end")
            longest = max(len(line) for line in ended.lines)
            expect(longest <= 80, f"{words}: a line of {longest} columns")
    for name in COMMANDS:
        if name not in ("demo", "serve", "scan", "advertise", "doctor", "link"):
            out = b.run(name, "--help").out
            contains(out, "--mtu N", "--timeout SECONDS", "--security LEVEL", "--json", "--trace",
                     "--capture FILE", "unix:PATH")


@test("mistakes: the error for an unknown option shows the usage")
def options(b):
    for name in COMMANDS:
        b.refuses(2, ["--wrong", f"usage: atto {name} "], name, "--wrong")
    b.refuses(2, ["-xy"], "read", NOBODY, "1", "-xy")
    b.refuses(2, ["-j"], "read", NOBODY, "1", "-j")
    b.refuses(2, ["--mtu requires a value"], "read", NOBODY, "1", "--mtu")
    b.refuses(2, ["--json does not take a value"], "read", NOBODY, "1", "--json=yes")
    b.refuses(2, ["ambiguous option --t: --timeout or --trace"], "read", NOBODY, "1", "--t")


@test("mistakes: connection intervals")
def intervals(b):
    for wrong in ("", "-", "0", "7ms", "16ms", "20ms-10ms", "15ms-", "1-2-3", "4001", "1s", "nan", "15msms"):
        b.refuses(2, ["for --interval: expected", "7.5ms to 4000ms"], "read", "air:X", "1", f"--interval={wrong}")
    b.refuses(2, ["--interval requires an le: or air: endpoint"], "read", NOBODY, "1", "--interval", "15ms")
    b.refuses(2, ["for interval: expected", "a packet of 251 octets"], "read", "air:X?phy=S8", "1",
              "--interval", "7.5ms")
    b.refuses(2, ["--interval cannot be used with fuzz"], "fuzz", "air:X", "--interval", "15ms")


@test("mistakes: missing and invalid endpoints")
def endpoints(b):
    forms = ["unix:PATH, fd:N, le:AA:BB:CC:DD:EE:FF", "air:NAME"]
    for name in ("discover", "services", "includes", "characteristics", "descriptors", "read",
                 "write", "subscribe", "raw", "bench"):
        b.refuses(2, ["missing argument ENDPOINT", f"usage: atto {name}"] + forms, name)
    b.refuses(2, ['"tcp:host"'] + forms, "discover", "tcp:host")
    b.refuses(2, ['"nonsense"'] + forms, "discover", "nonsense")
    b.refuses(2, ["expected a path after unix:"], "discover", "unix:")
    b.refuses(2, ["number"], "discover", "fd:three")
    b.refuses(2, ["number"], "discover", "fd:-1")
    b.refuses(2, ["address"], "discover", "le:AA:BB")
    b.refuses(2, ["address"], "discover", "le:AA:BB:CC:DD:EE:GG")
    b.refuses(2, ["adapter"], "discover", "le:AA:BB:CC:DD:EE:FF@wlan0")
    b.refuses(2, ["it names no peer"], "discover", "le:")
    b.refuses(2, ["it names no peer"], "discover", "air:")
    strap = FIXTURES / "heart-rate.json"
    b.refuses(2, ["cannot listen at"], "serve", strap, "--listen", "le:AA:BB:CC:DD:EE:FF")
    b.refuses(2, ["tcp:x"], "serve", strap, "--listen", "tcp:x")
    b.refuses(2, ["air:"], "scan", "unix:/tmp/x")
    b.refuses(2, ["air:"], "advertise", "unix:/tmp/x")
    b.refuses(2, ["invalid radio"], "read", "air:a\tb", "1")


@test("mistakes: invalid handles, ranges, hex, UUIDs and numbers")
def forms(b):
    for word in ("0x10000", "65536", "xyz", "0x", "-1", "+5", "0x+5", ""):
        parts = ["0x0000 to 0xFFFF"] if word != "-1" else []
        b.refuses(2, parts, "read", NOBODY, word)
    for word in ("5", "0x0005-0x0001", "1-", "-2", "1-70000", "a-b", "1-2-3"):
        parts = ["0x0001"] if word != "-2" else []
        for name in ("includes", "characteristics", "descriptors"):
            b.refuses(2, parts, name, NOBODY, word)
    b.refuses(2, ["--range", "--uuid"], "read", NOBODY, "5", "--range", "1-2")
    for word in ("0", "abc", "0g", "a b", "0x"):
        b.refuses(2, ["hex"], "write", NOBODY, "5", word)
        b.refuses(2, ["hex"], "raw", NOBODY, word)
    for word in ("18OD", "180", "", "180d-", "6e400001-b5a3-f393-e0a9"):
        b.refuses(2, ["for --uuid: expected a UUID"], "services", NOBODY, "--uuid", word)
        b.refuses(2, ["for --uuid: expected a UUID"], "read", NOBODY, "--uuid", word)
    for word in ("22", "65536", "x", "-5", ""):
        b.refuses(2, ["for --mtu: expected a number from 23 to 65535"], "services", NOBODY, "--mtu", word)
    for word in ("0", "-1", "x", "nan", "inf", "1e9", ""):
        b.refuses(2, ["for --timeout: expected seconds"], "services", NOBODY, "--timeout", word)
    b.refuses(2, ['invalid value "top" for --security: expected low, medium, high, fips, auto or stated'],
              "services", NOBODY, "--security", "top")
    b.refuses(2, ["for --count: expected a number"], "subscribe", NOBODY, "5", "--count", "0")
    b.refuses(2, ["for --for: expected seconds"], "subscribe", NOBODY, "5", "--for", "x")
    b.refuses(2, ["0x0001 to 0xFFFF"], "subscribe", NOBODY, "5", "--cccd", "0")
    b.refuses(2, ["for --offset: expected a number"], "read", NOBODY, "5", "--offset", "65536")


@test("mistakes: missing arguments, too many arguments, and options that cannot be combined")
def words(b):
    for command in ("includes", "characteristics", "descriptors"):
        b.refuses(2, ['invalid range "0x20-0x10": it ends before it starts', "usage:"],
                  command, NOBODY, "0x20-0x10")
    b.refuses(2, ["--range", "the lower first"], "read", NOBODY, "--uuid", "2A00", "--range", "9-8")
    b.refuses(2, ["missing argument HANDLE"], "subscribe", NOBODY)
    b.refuses(2, ["did you mean 0x001F?"], "read", NOBODY, "1f")
    b.refuses(2, ['did you mean "battery level"?'], "read", NOBODY, "batery level")
    b.refuses(2, ["did you mean \"atto --version\"?"], "version")
    b.refuses(2, ["give either handles or --uuid"], "read", NOBODY)
    b.refuses(2, ["give either handles or --uuid"], "read", NOBODY, "5", "--uuid", "2a00")
    b.refuses(2, ["at least two handles"], "read", NOBODY, "5", "--variable")
    b.refuses(2, ["one handle"], "read", NOBODY, "5", "6", "--long")
    b.refuses(2, ["one handle"], "read", NOBODY, "--uuid", "2a00", "--long")
    b.refuses(2, ["give a handle and a value"], "write", NOBODY, "5")
    b.refuses(2, ["give a handle and a value"], "write", NOBODY)
    b.refuses(2, ["--reliable"], "write", NOBODY, "5", "00", "6", "00")
    b.refuses(2, ["--no-response cannot be combined with --long"], "write", NOBODY, "5", "00", "--long", "--no-response")
    b.refuses(2, ["--offset"], "write", NOBODY, "5", "00", "--offset", "1", "--no-response")
    b.refuses(2, ["--key and --counter"], "write", NOBODY, "5", "00", "--signed")
    b.refuses(2, ["16 octets"], "write", NOBODY, "5", "00", "--signed", "--key", "00", "--counter", "1")
    b.refuses(2, ["--counter requires --signed"], "write", NOBODY, "5", "00", "--counter", "1")
    b.refuses(2, ["no PDU given"], "raw", NOBODY)
    b.refuses(2, ["missing argument HANDLE"], "subscribe", NOBODY)
    b.refuses(2, ['"more"'], "discover", NOBODY, "more")
    b.refuses(2, ['"more"'], "demo", "more")
    b.refuses(2, ["--secondary"], "services", NOBODY, "--secondary", "--uuid", "180d")
    b.refuses(2, ["missing argument PROFILE.json"], "serve")
    b.refuses(2, ["octets"], "advertise", "--manufacturer", "0059:" + "00" * 300, "--for", "0.1")


@test("mistakes: a value that is too long")
def values(b):
    _, at = b.serve("edges.json")
    b.refuses(2, ["octets", "limit"], "write", at, "0x0023", "00" * 100)
    b.refuses(2, ["512"], "write", at, "0x0023", "00" * 513, "--long")


@test("mistakes: a profile that does not exist, is a folder, or cannot be read")
def files(b):
    b.refuses(2, ["/nowhere.json"], "serve", b.path("nowhere.json"), "--listen", "air:")
    b.refuses(2, [str(b.folder)], "serve", b.folder, "--listen", "air:")
    if os.geteuid() != 0:
        path = b.file("secret.json", "{}")
        os.chmod(path, 0)
        b.refuses(2, ["ermission"], "serve", path, "--listen", "air:")


@test("mistakes: the error for a malformed profile names file, place, path and expectation")
def profiles(b):
    cases = [
        ("{", ["bad.json:1:"]),
        ("", ["bad.json:1:1"]),
        ('{"services": [\n  {"uuid": "18OD"}]}', ["bad.json:2:", "services[0].uuid", "expected",
                                                  '"18OD"']),
        ('{"services": [{"uuid": "180D", "characteristics": [{"uuid": "2A37"},\n'
         ' {"uuid": "2A38", "value": "hex:0"}]}]}',
         ["bad.json:2:", "services[0].characteristics[1].value", "expected"]),
        ('{"services": [], "nme": "x"}', ["bad.json:1:", "nme", "name"]),
        ('{"services": 5}', ["services", "expected", "5"]),
        ('{"services": [{"uuid": "180D", "characteristics": [{"uuid": "2A37", '
         '"behaviour": {"readError": "0x00"}}]}]}', ["behaviour.readError", "0x01"]),
        ('{"services": [{"uuid": "180D", "handle": "0x0010"}, '
         '{"uuid": "180F", "handle": "0x0005"}]}', ["services[1]"]),
    ]
    for text, parts in cases:
        b.refuses(2, parts, "serve", b.file("bad.json", text), "--listen", "air:")


@test("mistakes: each help has examples with existing options; the overview lists the exit status")
def examples(b):
    overview = b.run("help").out
    contains(overview, "  0  success", "  1  the peer answered with an ATT error", "  4  a check failed")
    names = re.findall(r"^  ([a-z]+)  ", overview, re.M)
    expect(len(names) >= 24, f"{names}")
    for name in names:
        out = b.run(name, "--help").out
        part = out.partition("\nexample:\n")[2] or out.partition("\nexamples:\n")[2]
        found = [line for line in part.split("\n\n")[0].splitlines() if f"  atto {name}" in line
                 or f"| atto {name}" in line]
        expect(found, f"no example for {name}: {out!r}")
        for line in found:
            # Another command may follow.
            for word in line.split(" && ")[0].split():
                if word.startswith("--"):
                    contains(out, f"  {word} ")
        longest = max(len(line) for line in out.splitlines())
        expect(longest <= 80, f"{name}: a line of {longest} columns")


@test("mistakes: an output file is checked before the work, and not created by the check")
def unwritable(b):
    _, at = b.serve("heart-rate.json")
    place = b.path("none/x")
    case = str(FIXTURES / "transcripts/discovery.att")
    for words in (["conform", at, "--junit", place], ["play", at, case, "--junit", place],
                  ["fuzz", at, "--save", place], ["bench", at, "--report", place]):
        b.refuses(2, [f"cannot write {place}: No such file or directory"], *words)
    for words in (["conform", at, "--case", "mtu/exchange", "--junit", "/dev/full"],
                  ["bench", at, "--count", 5, "--report", "/dev/full"]):
        ended = b.run(*words)
        equal(ended.code, 2)
        contains(ended.err, "cannot write /dev/full: No space left on device")
    saved = b.path("death.att")
    equal(b.run("fuzz", at, "--catalogue", "empty", "--save", saved).code, 0)
    expect(not os.path.exists(saved), "a file of no death")


@test("mistakes: numbers without an upper limit, times, and transcripts without a case")
def ranges(b):
    b.refuses(2, ['invalid value "0" for --count: expected a number of at least 1'], "scan", "--count", "0")
    for time in ("0", "nan", "-1", "1e300"):
        b.refuses(2, ["more than 0 and at most 1000000"], "read", NOBODY, "1", "--timeout", time)
    empty = b.file("empty.att", "")
    b.refuses(2, ["no case in"], "play", NOBODY, empty)
