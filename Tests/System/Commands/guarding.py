"""Who may touch what: the files and sockets that the command makes, and those of other users."""

import os
import resource
import signal
import stat
import threading

from harness import contains, equal, expect, test

# A user without rights of its own.
NOBODY = 65534
IS_ROOT = os.geteuid() == 0
CASE = "# one  reads a value\n> 0a1500\n< 0b01\n"


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def shared(b, name="shared"):
    """A folder like /tmp."""
    path = b.path(name)
    os.mkdir(path)
    os.chmod(path, 0o1777)
    os.chmod(b.folder, 0o711)
    return path


@test("guard: captures are for their user only, and an existing one is closed to others")
def captures(b):
    _, at = b.serve("heart-rate.json")
    new, old = b.path("new.btsnoop"), b.file("old.pcapng", "precious")
    os.chmod(old, 0o644)
    # A command that fails to connect leaves the file as it is.
    b.refuses(3, ["no such socket"], "read", "unix:/tmp/none", "1", "--capture", old)
    equal((mode(old), open(old).read()), (0o644, "precious"))
    for path in (new, old):
        equal(b.run("read", at, "0x0015", "--capture", path, umask=0).code, 0)
        equal(mode(path), 0o600, path)


@test("guard: an output that is a symbolic link is refused, unless it leads to a device or a pipe")
def links(b):
    _, at = b.serve("heart-rate.json")
    case = b.file("case.att", CASE)
    kept = b.file("kept", "precious")
    for name in ("c.btsnoop", "junit.xml"):
        link = b.path(name)
        for target in (kept, b.path("missing")):
            os.symlink(target, link)
            words = (["read", at, "0x0015", "--capture", link] if name.startswith("c")
                     else ["play", at, case, "--junit", link])
            ended = b.refuses(2, [f"cannot write {link}: it is a symbolic link", "name the file"],
                              *words)
            equal(len(ended.err.splitlines()), 2, ended.err)
            os.unlink(link)
    equal(open(kept).read(), "precious")
    expect(not os.path.exists(b.path("missing")), "a file was made through a link")
    os.symlink("/dev/null", b.path("null.btsnoop"))
    equal(b.run("read", at, "0x0015", "--capture", b.path("null.btsnoop")).err, "")
    expect(stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null was replaced")


@test("guard: an output of another user, or with several names, in a shared folder is refused")
def foreign(b):
    _, at = b.serve("heart-rate.json")
    folder = shared(b)
    case = b.file("case.att", CASE)
    kept = b.file("kept", "precious")
    os.link(kept, folder + "/linked.btsnoop")
    b.refuses(2, ["several names"], "read", at, "0x0015", "--capture", folder + "/linked.btsnoop")
    b.refuses(2, ["several names"], "play", at, case, "--junit", folder + "/linked.btsnoop")
    equal(open(kept).read(), "precious")
    if not IS_ROOT:
        return
    for make in (lambda path: open(path, "w").close(), os.mkfifo):
        path = folder + "/theirs.btsnoop"
        make(path)
        os.chown(path, NOBODY, NOBODY)
        for words in (["read", at, "0x0015", "--capture", path], ["play", at, case, "--junit", path]):
            b.refuses(2, [f"cannot write {path}: it belongs to user {NOBODY}"], *words)
        os.unlink(path)


@test("guard: a report is replaced as a whole, also where the disk is full or the command is killed")
def reports(b):
    _, at = b.serve("heart-rate.json")
    case = b.file("case.att", CASE)
    path = b.path("junit.xml")
    equal(b.run("play", at, case, "--junit", path, umask=0).code, 0)
    equal(mode(path), 0o600)
    whole = open(path).read()
    contains(whole, "<testsuite")
    # A mode that its user has chosen stays.
    os.chmod(path, 0o644)
    many = [b.file(f"case{n}.att", CASE) for n in range(20)]

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limit()

    before = sorted(os.listdir(b.folder))
    ended = b.run("play", at, *many, "--junit", path, preexec_fn=limited, restore_signals=False)
    equal((ended.code, open(path).read()), (2, whole), ended.err)
    contains(ended.err, f"cannot write {path}: File too large")
    equal(sorted(os.listdir(b.folder)), before)
    ended = b.run("play", at, *many, "--junit", path, preexec_fn=limit)
    equal((ended.code, open(path).read()), (-signal.SIGXFSZ, whole), ended.err)
    equal(b.run("play", at, *many, "--junit", path).code, 0)
    expect(len(open(path).read()) > 1000, "the report is not the new one")
    equal(mode(path), 0o644)


@test("guard: a report goes to a pipe, a device or a standard stream as it is")
def streams(b):
    _, at = b.serve("heart-rate.json")
    case = b.file("case.att", CASE)
    pipe = b.path("pipe")
    os.mkfifo(pipe)
    got = []
    thread = threading.Thread(target=lambda: got.append(open(pipe).read()), daemon=True)
    thread.start()
    equal(b.run("play", at, case, "--junit", pipe).code, 0)
    thread.join(60)
    contains(got[0], "<testsuite", "</testsuite>")
    expect(stat.S_ISFIFO(os.lstat(pipe).st_mode), "the pipe was replaced")
    contains(b.run("play", at, case, "--junit", "/dev/stdout", "--json").out, "</testsuite>")
    with open(b.path("out"), "w+") as out:
        name = f"/dev/fd/{out.fileno()}"
        equal(b.run("play", at, case, "--junit", name, fds=(out.fileno(),)).code, 0)
        contains(open(b.path("out")).read(), "</testsuite>")
    equal(b.run("play", at, case, "--junit", "/dev/null").code, 0)
    b.refuses(2, ["Is a directory"], "play", at, case, "--junit", b.path(""))
