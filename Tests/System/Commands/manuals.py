"""Manual pages."""

import os
import re
import subprocess

from harness import contains, equal, expect, test


@test("manuals: each page passes mandoc and man without warnings", needs=["mandoc", "man"])
def lint(b):
    listed = b.run("man", "--list").lines
    names = re.findall(r"^  ([a-z]+)  ", b.run("help").out, re.M)
    equal(sorted(listed), sorted(["atto.1"] + [f"atto-{name}.1" for name in names]))
    paths = [b.file(page, b.run("man", page).out) for page in listed]
    environment = dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="80")
    found = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *paths], capture_output=True, text=True)
    equal((found.returncode, found.stdout + found.stderr), (0, ""), "mandoc")
    for path in paths:
        found = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        equal((found.returncode, found.stderr), (0, ""), path)


@test("manuals: a page says what the help says", needs=["mandoc"])
def content(b):
    for name in ("read", "serve", "decode", "link"):
        page = b.file("page.1", b.run("man", name).out)
        shown = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=400", page], capture_output=True,
                               text=True, check=True).stdout
        # Bold and italic characters are overstruck.
        words = " ".join(re.sub(".\b", "", shown).split())
        text = b.run(name, "--help").out.split("\n\n", 2)[2]
        for paragraph in re.split(r"\n\n|\n  (?=\S)", text):
            line = " ".join(re.sub(r"^(arguments|options|.* options|examples?):$", "", paragraph, flags=re.M).split())
            contains(words.lower(), line.lower())
    equal(b.run("man").out, b.run("man", "atto.1").out)
    equal(b.run("man", "read").out, b.run("man", "atto-read.1").out)


@test("manuals: mistakes")
def mistakes(b):
    b.refuses(2, ['no page for "reed"', 'hint: did you mean "read"?'], "man", "reed")
    b.refuses(2, ['unexpected argument "read"'], "man", "--list", "read")
    b.refuses(2, ['unexpected argument "b"'], "man", "read", "b")
    for words in (["man", ".1"], ["man", "../read"], ["man", ""]):
        expect(b.run(*words).code == 2, words)
