"""`atto doctor` on whatever machine this is."""

from harness import contains, equal, expect, test

NAMES = ["kernel", "container", "bluetooth", "adapter", "rfkill", "power", "le", "address",
         "bondable", "supervision", "capability", "bluetoothd", "programs", "receive-buffer", "air", "sqlite"]


@test("doctor: each check has a name, a mark and a text; the status counts problems")
def checks(b):
    ended = b.run("doctor", "--json")
    found = ended.json
    expect({"kernel", "bluetooth", "air", "sqlite"} <= {line["check"] for line in found}, found)
    for line in found:
        expect(line["check"] in NAMES, line)
        expect(line["mark"] in ("ok", "warn", "problem") and line["text"], line)
        expect(line["mark"] == "ok" or line.get("remedy"), f"nothing to be done about {line}")
    problems = sum(line["mark"] == "problem" for line in found)
    equal(ended.code, 4 if problems else 0)
    people = b.run("doctor")
    equal(people.code, ended.code)
    equal([line.split()[:2] for line in people.lines if not line.startswith("  fix: ")],
          [[line["mark"], line["check"]] for line in found])
    if problems:
        contains(people.err, f"{problems} problem")


@test("doctor: the virtual air's folder")
def air(b):
    b.file("plain", "x")
    for path, part in ((b.path("plain"), "is not a folder"), (b.path("no/such"), "cannot be created")):
        b.environment["ATTO_AIR"] = str(path)
        ended = b.run("doctor", "--json")
        equal(ended.code, 4)
        line = next(line for line in ended.json if line["check"] == "air")
        equal(line["mark"], "problem")
        contains(line["text"], part)
        contains(line["remedy"], "ATTO_AIR")


@test("doctor: wrong arguments")
def words(b):
    b.refuses(2, ["unexpected argument \"hci0\"", "usage: atto doctor"], "doctor", "hci0")


@test("doctor: a hint of commands that fail because of the radio, and of no other")
def pointers(b):
    works = b.run("doctor", "--json").code == 0
    for words in (["read", "le:AA:BB:CC:DD:EE:FF", "1", "--timeout", "0.2"], ["scan", "le:@hci77"]):
        ended = b.run(*words)
        equal((ended.code, ended.out), (3, ""), ended)
        # On a machine with a radio, the device or adapter is missing, and doctor finds no problem.
        equal("atto doctor" in ended.err, not works, ended)
    ended = b.run("read", "unix:/tmp/atto-nobody-here", "1")
    expect("doctor" not in ended.err, ended)
