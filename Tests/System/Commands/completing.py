"""Completion: the answers, and what bash, zsh and fish make of them."""

import os
import pathlib
import pty
import select
import time

from harness import PATIENCE, Failed, contains, equal, expect, test


def ask(b, *words):
    """The candidates for the last word; ["files"] for files."""
    ended = b.run("__complete", *words)
    equal((ended.code, ended.err), (0, ""))
    mode, *lines = ended.lines
    return [line.split("\t")[0] for line in lines] if mode == "words" else [mode]


@test("completion: commands, options, values, files and endpoints")
def answers(b):
    b.serve("heart-rate.json", endpoint="air:Strap")
    b.serve("heart-rate.json", name="sock")
    contains(ask(b, ""), "read", "doctor", "help")
    equal(ask(b, "des"), ["descriptors"])
    equal(ask(b, "--v"), ["--version"])
    equal(ask(b, "help", "des"), ["descriptors"])
    equal(ask(b, "nonsense", ""), [])
    equal(ask(b, "link", "--phy", ""), ["1M", "2M", "S2", "S8"])
    contains(ask(b, "conform", "--case", "mtu/"), "mtu/used")
    equal(ask(b, "conform", "--client", "--case=client/pl"), ["--case=client/plain"])
    contains(ask(b, "fuzz", "air:Strap", "--catalogue", ""), "list", "empty")
    equal(ask(b, "read", "--lo"), ["--long"])
    equal(ask(b, "read", "air:Strap", "1", "--time"), ["--timeout"])
    # Given options are not offered again, unless they may be repeated.
    expect("--long" not in ask(b, "read", "--long", "--"), "--long twice")
    contains(ask(b, "conform", "--case", "x", "--"), "--case")
    equal(ask(b, "read", "--security", "m"), ["medium"])
    equal(ask(b, "read", "--security=m"), ["--security=medium"])
    equal(ask(b, "read", "--secu", "f"), ["fips"])
    equal(ask(b, "bench", "air:Strap", "--test", "read,writ"), ["read,write", "read,write-command"])
    equal(ask(b, "read", "--mtu", ""), [])
    equal(ask(b, "completion", "f"), ["fish"])
    equal(ask(b, "man", "unp"), ["unpair"])
    for words in (["read", "--capture", ""], ["read", "--capture=x"], ["serve", ""], ["decode", "x"],
                  ["btp", "-s", ""], ["play", "air:Strap", "a.att", ""],
                  ["play", "--listen", "unix:x", ""], ["bonds", "--store", ""]):
        equal(ask(b, *words), ["files"], " ".join(words))
    equal(ask(b, "read", "air:"), ["air:Strap"])
    equal(ask(b, "read", ""), ["air:Strap", "unix:", "le:", "fd:"])
    folder = str(b.folder)
    os.mkdir(b.path("sub"))
    b.file("something", "")
    equal(ask(b, "read", f"unix:{folder}/s"), [f"unix:{folder}/sock", f"unix:{folder}/sub/"])
    equal(ask(b, "read", "unix:/nowhere/"), [])
    contains(ask(b, "serve", "x.json", "--listen", ""), "air:", "unix:")
    # The arguments are complete, so options are next.
    contains(ask(b, "discover", "air:Strap", ""), "--json", "--cache")
    equal(ask(b, "discover", "--", "air:Strap", ""), [])
    equal(ask(b), ask(b, ""))
    equal(b.run("__complete", "read", "--send").lines, ["words", "--send-buffer\tLimit the kernel's send buffer to N bytes"])


@test("completion: names that are hostile, equal or not connectable")
def hostile(b):
    names = ["a b", "$(touch x)", "it's", "w?phy=2M", "line\nbreak", "esc\x1b[31m", "bidi\u202e"]
    for number, name in enumerate(names):
        address = f"C0:00:00:00:00:{number:02X}"
        running = b.start("advertise", f"air:{address}", "--connectable", "--name", name)
        running.line("advertising")
    b.start("advertise", "air:Beacon", "--name", "Beacon").line("advertising")
    equal(sorted(ask(b, "read", "air:")),
          sorted(["air:a b", "air:$(touch x)", "air:it's"] + [f"air:C0:00:00:00:00:{n:02X}" for n in (3, 4, 5, 6)]))
    socket = b.path("s\tx\x1b")
    b.serve("heart-rate.json", name="s\tx\x1b")
    expect(os.path.exists(socket), "no such socket")
    equal(ask(b, "read", f"unix:{b.folder}/s"), [])
    for words in (["read", "unix:" + "/" * 5000], ["x" * 100000, ""], ["read", "--security=" + "," * 1000], ["read", "--="]):
        ask(b, *words)


@test("completion: an unknown shell")
def unknown(b):
    b.refuses(2, ['unknown shell "bsh"', 'hint: did you mean "bash"?'], "completion", "bsh")
    b.refuses(2, ["missing argument SHELL"], "completion")


class Shell:
    """An interactive shell on a terminal, in which `atto` records its arguments instead of running."""

    def __init__(self, b, words, script, setup=()):
        folder = pathlib.Path(b.path("bin"))
        folder.mkdir(exist_ok=True)
        self.log = folder / "log"
        program = folder / "atto"
        program.write_text(
            f'#!/bin/sh\nif [ "$1" = __complete ]; then exec "{b.atto}" "$@"; fi\n'
            f'printf "%s\\n" "$@" > "{self.log}.new" && mv "{self.log}.new" "{self.log}"\n')
        program.chmod(0o755)
        path = b.file("script", b.run("completion", script).out)
        environment = dict(b.environment, PATH=f"{folder}:{os.environ['PATH']}", TERM="xterm",
                           HOME=str(b.folder), LC_ALL="C.UTF-8", PS1="$ ")
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(b.folder)
            os.execvpe(words[0], words, environment)
        b.cleaning.append(self.close)
        self.seen = b""
        for line in (*setup, f"source {path}"):
            self.type(line + "\r")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def close(self):
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)

    def completed(self, line, *rest):
        """The arguments after the line is completed and run. `rest` is typed after the completion."""
        self.log.unlink(missing_ok=True)
        # Everything is read in order, so that no wait is needed in between.
        self.type(line + "\t" + "".join(rest) + "\r")
        deadline = time.monotonic() + PATIENCE
        while not self.log.exists():
            if time.monotonic() > deadline:
                raise Failed(f"{line!r} did not run: {self.seen[-500:]}")
            if select.select([self.terminal], [], [], 0.02)[0]:
                self.seen += os.read(self.terminal, 65536)
        return self.log.read_text().splitlines()


def try_shell(b, shell):
    """What all shells have to complete."""
    equal(shell.completed("atto desc"), ["descriptors"])
    equal(shell.completed("atto read air:Str", "0x10"), ["read", "air:Strap", "0x10"])
    equal(shell.completed("atto read air:Strap 1 --jso"), ["read", "air:Strap", "1", "--json"])
    equal(shell.completed("atto read air:Strap 1 --security hi"), ["read", "air:Strap", "1", "--security", "high"])
    equal(shell.completed("atto read air:Strap 1 --security=me"), ["read", "air:Strap", "1", "--security=medium"])
    equal(shell.completed("atto serve prof"), ["serve", "profile one.json"])
    equal(shell.completed("atto decode --mtu 23 prof"), ["decode", "--mtu", "23", "profile one.json"])
    equal(shell.completed(f"atto discover unix:{b.folder}/so"), ["discover", f"unix:{b.folder}/sock"])
    equal(shell.completed(f"atto discover unix:{b.folder}/fol", "so\t"),
          ["discover", f"unix:{b.folder}/folder/socket"])
    # A name with the shell's characters is one word, and is not evaluated.
    equal(shell.completed("atto discover air:My", "--json"), ["discover", "air:My $(touch x) Lamp", "--json"])
    expect(not os.path.exists(b.path("x")), "the name of a radio was run")


def prepare(b):
    b.serve("heart-rate.json", endpoint="air:Strap")
    b.start("advertise", "air:C0:00:00:00:00:01", "--connectable", "--name", "My $(touch x) Lamp").line("advertising")
    b.serve("heart-rate.json", name="sock")
    os.mkdir(b.path("folder"))
    b.serve("heart-rate.json", name="folder/socket")
    b.file("profile one.json", "{}")


@test("completion: bash")
def bash(b):
    prepare(b)
    shell = Shell(b, ["bash", "--norc", "--noprofile", "-i"], "bash", ["bind 'set bell-style none'"])
    try_shell(b, shell)
    equal(shell.completed("atto discover 'air:Str", "--json"), ["discover", "air:Strap", "--json"])
    equal(shell.completed("atto read air:Strap 1 --capture=prof"), ["read", "air:Strap", "1", "--capture=profile one.json"])
    equal(shell.completed("atto discover air:My\\ ", "--json"), ["discover", "air:My $(touch x) Lamp", "--json"])


@test("completion: zsh", needs=["zsh"])
def zsh(b):
    prepare(b)
    shell = Shell(b, ["zsh", "-f", "-i"], "zsh", ["autoload -U compinit; compinit -u -D"])
    try_shell(b, shell)
    equal(shell.completed("atto discover 'air:Str", "--json"), ["discover", "air:Strap", "--json"])
    equal(shell.completed("atto read air:Strap 1 --capture=prof"), ["read", "air:Strap", "1", "--capture=profile one.json"])


@test("completion: fish", needs=["fish"])
def fish(b):
    prepare(b)
    shell = Shell(b, ["fish", "--no-config", "-i"], "fish")
    try_shell(b, shell)
    equal(shell.completed("atto read air:Strap 1 --capture=prof"), ["read", "air:Strap", "1", "--capture=profile one.json"])


@test("completion: zsh and fish load the script from a folder", needs=["zsh"])
def autoload(b):
    prepare(b)
    os.mkdir(b.path("functions"))
    b.file("functions/_atto", b.run("completion", "zsh").out)
    shell = Shell(b, ["zsh", "-f", "-i"], "zsh",
                  [f"fpath=({b.path('functions')} $fpath)", "autoload -U compinit; compinit -u -D", "source() { }"])
    equal(shell.completed("atto read air:Str"), ["read", "air:Strap"])
    equal(shell.completed("atto read air:Str"), ["read", "air:Strap"])
