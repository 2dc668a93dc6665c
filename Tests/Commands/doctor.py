"""`atto doctor` on whatever machine this is."""

from harness import contains, equal, expect, test

NAMES = ["kernel", "container", "bluetooth", "adapter", "rfkill", "power", "le", "address",
         "bondable", "capability", "bluetoothd", "programs", "receive-buffer", "air", "sqlite"]


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
    equal([line.split()[:2] for line in people.lines],
          [[line["mark"], line["check"]] for line in found])
    if problems:
        contains(people.err, f"{problems} problem")


@test("doctor: the virtual air's folder")
def air(b):
    b.file("plain", "x")
    for path, part in ((b.path("plain"), "is not a folder"), (b.path("no/such"), "cannot be made")):
        b.environment["ATTO_AIR"] = str(path)
        ended = b.run("doctor", "--json")
        equal(ended.code, 4)
        line = next(line for line in ended.json if line["check"] == "air")
        equal(line["mark"], "problem")
        contains(line["text"], part)
        contains(line["remedy"], "ATTO_AIR")


@test("doctor: words that make no sense")
def words(b):
    b.refuses(2, ["what is \"hci0\"?", "usage: atto doctor"], "doctor", "hci0")


@test("doctor: commands that find no radio send people there")
def pointers(b):
    if b.run("doctor", "--json").code == 0:
        return  # There is a radio, so nothing of this kind can be shown here.
    b.refuses(3, ["atto doctor"], "read", "le:AA:BB:CC:DD:EE:FF", "1", "--timeout", "0.2")
    b.refuses(3, ["atto doctor"], "scan", "le:@hci77")
    # Others have nothing to do with the radio.
    ended = b.run("read", "unix:/tmp/atto-nobody-here", "1")
    expect("doctor" not in ended.err, ended)
