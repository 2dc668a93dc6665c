"""`atto session` at a terminal, with each line editor and without."""

import fcntl
import os
import select
import struct
import subprocess
import termios
import time

from harness import PATIENCE, contains, equal, expect, test


class Shell:
    """`atto session` at a terminal."""

    def __init__(self, bench, *words, editor=None, columns=80, inside=None):
        self.terminal, inner = os.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        self.before = termios.tcgetattr(inner)
        bench.environment.update(XDG_STATE_HOME=bench.path("state"), TERM="xterm")
        if editor is not None:
            bench.environment["ATTO_LINE_EDITOR"] = editor
        self.process = subprocess.Popen(
            inside or [bench.atto, "session", *words], env=bench.environment, stdin=inner, stdout=inner,
            stderr=inner, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.inner = inner
        bench.cleaning.append(self.close)
        self.text = ""

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)
        os.close(self.inner)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def shows(self, part, after=""):
        """Waits for a text, and drops all up to its end. Fails if it does not follow directly on another."""
        deadline = time.monotonic() + PATIENCE
        while part not in self.text:
            ready, _, _ = select.select([self.terminal], [], [], deadline - time.monotonic())
            expect(ready, f"no {part!r} in {self.text!r}")
            self.text += os.read(self.terminal, 65536).decode()
        before, _, self.text = self.text.partition(part)
        expect("atto> atto> " not in before, f"two prompts in a line: {before!r}")
        expect(before.endswith(after), f"no {after!r} in {before!r} before {part!r}")

    def end(self):
        """Waits for the end. Returns the status."""
        status = self.process.wait(PATIENCE)
        equal(termios.tcgetattr(self.inner), self.before, "the terminal's settings")
        return status


def in_shell(bench, editor):
    bench.serve("heart-rate.json", endpoint="air:Strap")
    shell = Shell(bench, "air:Strap", editor=editor)
    shell.shows("connected to air:Strap")
    shell.shows("atto> ")
    shell.type("read 3\r")
    shell.shows('"Atto Strap"')
    shell.type("read 0x99\r")
    shell.shows("the peer answered Invalid Handle")
    # Completed: the command, then a handle that was discovered.
    shell.type("discov\t")
    shell.shows("er ")
    shell.type("\r")
    shell.shows("5 services")
    shell.type("read 0x002\t")
    shell.type("9 --lon\t\r")
    shell.shows("of long reads")
    # A value arrives while a line is typed, and the line is shown again below it.
    shell.type("subscribe 18\r")
    shell.shows("0x0012  0048")
    shell.type("echo typed")
    shell.shows("0x0012  0048")
    shell.shows("echo typed")
    shell.type(" to the end\r")
    shell.shows("\x1b[Ktyped to the end")
    # From here on nothing is printed by itself.
    shell.type("disconnect\r")
    shell.shows("main: disconnected")
    shell.shows("atto> ")
    # Ctrl-C discards a line, and ends a command.
    shell.type("echo never")
    shell.shows("never")
    shell.type("\x03")
    shell.shows("atto> ")
    shell.type("scan air:\r")
    shell.shows("dBm")
    shell.shows("atto> ")
    shell.type("\x03")
    shell.type("echo scanned\r")
    shell.shows("\x1b[Kscanned")
    shell.shows("atto> ")
    shell.type("wait 1000\r")
    shell.shows("wait 1000\r\n")
    shell.shows("atto> ")
    shell.type("\x03")
    shell.shows("interrupted")
    shell.shows("atto> ")
    shell.type("echo still here\r")
    shell.shows("\x1b[Kstill here")
    shell.type("\x04")
    equal(shell.end(), 0, "status")
    expect("never" not in shell.text.replace("echo never", ""), "a discarded line was carried out")
    history = open(bench.path("state/atto/history")).read()
    contains(history, "discover")
    equal(os.stat(bench.path("state/atto/history")).st_mode & 0o777, 0o600, "mode")


def between_prompts(bench, editor):
    """The editor shows its prompt after each line, at the same time as the result of the line comes."""
    shell = Shell(bench, editor=editor)
    shell.shows("atto> ")
    for number in range(500):
        shell.type(f"echo the\\ {number}th\r")
        shell.shows(f"the {number}th\r\n", after="\x1b[K")
    shell.type("\x04")
    equal(shell.end(), 0, "status")


def wrapped(bench, editor):
    """A line that takes several rows leaves none of them among the results."""
    bench.serve("heart-rate.json", endpoint="air:Strap")
    shell = Shell(bench, "air:Strap", editor=editor, columns=40)
    shell.shows("atto> ")
    shell.type("subscribe 18\r")
    shell.shows("0x0012  0048")
    text = "e" * 100
    shell.type(f"echo {text}")
    # 6, 5 and 100 columns: the cursor is in the third row.
    shell.shows("0x0012  0048", after="\r\x1b[2A\x1b[J")
    shell.shows("0x0012  0048", after="\r\x1b[2A\x1b[J")
    # At the beginning of the line, in the first row.
    shell.type("\x01")
    shell.shows("0x0012  0048", after="\r\x1b[K")
    shell.type("\r")
    shell.shows(f"{text}\r\n", after="\x1b[K")
    shell.type("\x04")
    equal(shell.end(), 0, "status")


@test("session: a line of several rows, with libedit", needs=["libedit.so.2"])
def wrapped_with_libedit(bench):
    wrapped(bench, "libedit.so.2")


@test("session: a line of several rows, with readline", needs=["libreadline.so.8"])
def wrapped_with_readline(bench):
    wrapped(bench, "libreadline.so.8")


def suspended(bench, editor):
    """Ctrl-Z gives the terminal to the shell as it was, and `fg` shows what was typed."""
    shell = Shell(bench, editor=editor, inside=["bash", "--norc", "--noprofile", "--noediting", "-i"])
    # The quotes keep the line itself from looking like the prompt.
    shell.type("PS1='shell''> '\r")
    shell.shows("shell> ")
    settings = termios.tcgetattr(shell.inner)
    shell.type("%s session\r" % bench.atto)
    shell.shows("atto> ")
    shell.type("echo half")
    shell.shows("half")
    shell.type("\x1a")
    shell.shows("Stopped")
    shell.shows("shell> ")
    equal(termios.tcgetattr(shell.inner), settings, "the terminal's settings")
    shell.type("fg\r")
    shell.shows("atto> echo half")
    shell.type(" and half\r")
    shell.shows("half and half\r\n", after="\x1b[K")
    shell.type("\x04")
    shell.shows("shell> ")
    shell.type("exit\r")
    equal(shell.process.wait(PATIENCE), 0, "status")


@test("session: stopped and continued, with libedit", needs=["libedit.so.2"])
def suspended_with_libedit(bench):
    suspended(bench, "libedit.so.2")


@test("session: stopped and continued, with readline", needs=["libreadline.so.8"])
def suspended_with_readline(bench):
    suspended(bench, "libreadline.so.8")


def end_at_once(bench, editor):
    """A result can be seen before the prompt is there again."""
    for _ in range(40):
        shell = Shell(bench, editor=editor)
        shell.shows("atto> ")
        shell.type("echo the\\ end\r")
        shell.shows("the end\r\n", after="\x1b[K")
        shell.type("\x04")
        equal(shell.end(), 0, "status")


@test("session: Ctrl-D as soon as a result is there ends it, with libedit", needs=["libedit.so.2"])
def ended_with_libedit(bench):
    end_at_once(bench, "libedit.so.2")


@test("session: Ctrl-D as soon as a result is there ends it, with readline", needs=["libreadline.so.8"])
def ended_with_readline(bench):
    end_at_once(bench, "libreadline.so.8")


@test("session: at a terminal, with libedit", needs=["libedit.so.2"])
def with_libedit(bench):
    in_shell(bench, "libedit.so.2")


@test("session: at a terminal, with readline", needs=["libreadline.so.8"])
def with_readline(bench):
    in_shell(bench, "libreadline.so.8")


@test("session: results replace the prompt, with libedit", needs=["libedit.so.2"])
def replaced_with_libedit(bench):
    between_prompts(bench, "libedit.so.2")


@test("session: results replace the prompt, with readline", needs=["libreadline.so.8"])
def replaced_with_readline(bench):
    between_prompts(bench, "libreadline.so.8")


@test("session: at a terminal without a line editor")
def without_editor(bench):
    bench.serve("heart-rate.json", endpoint="air:Strap")
    shell = Shell(bench, editor="none")
    shell.shows("lines cannot be edited")
    shell.type("connect air:Strap\n")
    shell.shows("MTU 23")
    shell.type("quit\n")
    shell.shows("main: disconnected")
    equal(shell.end(), 0, "status")


@test("session: SIGTERM gives the terminal back")
def terminated(bench):
    shell = Shell(bench)
    shell.shows("atto> ")
    shell.process.terminate()
    equal(shell.end(), 3, "status")


@test("session: a question of pairing is asked at the terminal")
def asked(bench):
    server, endpoint = bench.serve(
        "heart-rate.json", "--io", "display", "--json", endpoint="air:Strap")
    shell = Shell(bench)
    shell.shows("atto> ")
    shell.type("connect air:Strap --security high --io keyboard-display\r")
    shown = server.event("show")["passkey"]
    shell.shows("enter the six digits")
    shell.type(shown + "\r")
    shell.shows("security fips")
    shell.type("quit\r")
    equal(shell.end(), 0, "status")
