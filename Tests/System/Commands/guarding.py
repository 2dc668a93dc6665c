"""Who may touch what: the files and sockets that the command makes, and those of other users."""

import errno
import fcntl
import json
import os
import resource
import shutil
import signal
import socket
import stat
import threading

from harness import PATIENCE, contains, equal, expect, test

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


def as_nobody(b, body, stays=False):
    """Runs a function as another user. Returns its result, or the name of its OSError; what it has opened
    stays open until the end of the test with `stays`."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            try:
                result = body()
            except OSError as error:
                result = errno.errorcode[error.errno]
            os.write(writer, json.dumps(result, default=repr).encode())
            os.close(writer)
            while stays:
                signal.pause()
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        text = stream.read().decode()

    def end():
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    if stays:
        b.cleaning.append(end)
    else:
        os.waitpid(child, 0)
    return json.loads(text)


def connect(path):
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link.settimeout(PATIENCE)
    link.connect(path)
    return link


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


@test("guard: a store in a folder that others may write to is refused")
def stores(b):
    folder = shared(b)
    words = ("bonds", "--store", folder + "/store.sqlite")
    b.refuses(2, [f"other users may write to {folder} (mode 1777)", "a directory of your own"], *words)
    equal(os.listdir(folder), [])
    os.chmod(folder, 0o777)
    b.refuses(2, [f"{folder} (mode 777)", f"chmod go-w {folder}"], *words)
    os.chmod(folder, 0o755)
    _, at = b.serve("heart-rate.json")
    equal(b.run("discover", at, "--cache").code, 0)
    equal(b.run("bonds").code, 0)
    if not IS_ROOT:
        return
    os.chown(folder, NOBODY, NOBODY)
    b.refuses(2, [f"{folder} belongs to user {NOBODY}", "(--store)"], *words)
    journal = b.path("store.sqlite-journal")
    open(journal, "w").close()
    os.chown(journal, NOBODY, NOBODY)
    b.refuses(2, [f"{journal} belongs to user {NOBODY}"], "bonds")


@test("guard: the virtual air is for one user, whatever the umask")
def airs(b):
    os.mkdir(b.path("air"))
    os.chmod(b.path("air"), 0o755)
    b.refuses(3, ["is open to others (mode 755)", f"chmod 700 {b.path('air')}"],
              "advertise", "air:Strap", "--for", "0.1")
    os.rmdir(b.path("air"))
    b.serve("heart-rate.json", endpoint="air:Strap", umask=0)
    equal(mode(b.path("air")), 0o700)
    names = os.listdir(b.path("air"))
    equal(len(names), 3, f"files of the radio {names}")
    for name in names:
        equal(mode(f"{b.path('air')}/{name}"), 0o600, name)
    if not IS_ROOT:
        return
    # Its owner opens all of it to others, too late: they are not served.
    place = next(f"{b.path('air')}/{name}" for name in names if name.endswith(".sock"))
    hello = bytes.fromhex("0101 010000000000")
    link = connect(place)
    link.send(hello)
    equal(link.recv(100), b"\x02", "the answer to this user")
    os.chmod(b.folder, 0o711)
    os.chmod(b.path("air"), 0o711)
    os.chmod(place, 0o666)

    def take():
        with connect(place) as link:
            try:
                link.send(hello)
                return link.recv(100).hex()
            except (BrokenPipeError, ConnectionResetError):
                return ""

    equal(as_nobody(b, take), "", "the answer to another user")


@test("guard: a radio of another user on the virtual air is not connected to")
def foreign_radio(b):
    if not IS_ROOT:
        return
    os.mkdir(b.path("air"))
    for path in (b.folder, b.path("air")):
        os.chmod(path, 0o777)
    stem = f"{b.path('air')}/c01122334455"

    def listen():
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(stem + ".sock")
        listener.listen(8)
        os.mkfifo(stem + ".life")
        global kept
        kept = (listener, os.open(stem + ".life", os.O_RDWR))
        with open(stem + ".adv", "w") as record:
            record.write("atto-air 1\nprocess 1\nname Strap\nconnectable 1\ninterval 100000\nrssi -50\n")

    equal(as_nobody(b, listen, stays=True), None)
    for path in (b.folder, b.path("air")):
        os.chmod(path, 0o700)
    b.refuses(3, [f"a radio of user {NOBODY}", "not permitted"],
              "read", "air:C0:11:22:33:44:55", "3", "--timeout", "30")


@test("guard: a radio that is there and does not answer is told from one that is not there")
def busy_radio(b):
    os.mkdir(b.path("air"), 0o700)
    stem = f"{b.path('air')}/c01122334455"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(stem + ".sock")
    listener.listen(0)
    os.mkfifo(stem + ".life")
    life = os.open(stem + ".life", os.O_RDWR)
    with open(stem + ".adv", "w") as record:
        record.write("atto-air 1\nprocess 1\nname Busy\nconnectable 1\ninterval 100000\nrssi -50\n")
    links = [connect(stem + ".sock")]
    for name in ("C0:11:22:33:44:55", "Busy"):
        ended = b.run("read", f"air:{name}", "3", "--timeout", "3.5")
        equal(ended.code, 3, ended)
        contains(ended.err, f"waiting for air:{name}, which is on the air but has not accepted",
                 "C0:11:22:33:44:55 did not answer within 3.5")
        expect("not on the air" not in ended.err, ended.err)
    os.close(life)
    for end in (listener, *links):
        end.close()


@test("guard: a Unix socket is for its user only, or with --group for a group")
def sockets(b):
    server, at = b.serve("heart-rate.json", umask=0)
    path = b.path("server")
    equal(mode(path), 0o600)
    group = NOBODY if IS_ROOT else os.getegid()
    shared_server, _ = b.serve("heart-rate.json", "--group", group, name="shared", umask=0o077)
    equal((mode(b.path("shared")), os.lstat(b.path("shared")).st_gid), (0o660, group))
    equal(b.run("read", f"unix:{b.path('shared')}", "0x0015").code, 0)
    fixture = b.file("p.json", {"services": []})
    b.refuses(2, ["no such group", "--group"], "serve", fixture, "--listen", at, "--group", "no-such")
    b.refuses(2, ["--group can only be used with --listen unix:PATH"],
              "serve", fixture, "--listen", "air:Strap", "--group", group)
    b.refuses(2, ["--group requires --listen"], "capture", "hci0", "--group", group)
    if IS_ROOT:
        os.chmod(b.folder, 0o711)
        equal(as_nobody(b, lambda: connect(path)), "EACCES")

        def ask():
            with connect(b.path("shared")) as link:
                link.send(bytes.fromhex("0a1500"))
                return link.recv(100).hex()

        equal(as_nobody(b, ask), "0b01")
    for running in (server, shared_server):
        equal(running.stop().code, 0)
    relay = b.start("capture", "--listen", f"unix:{b.path('relay')}", at, "--group", group)
    relay.line("listening", where="err")
    equal(mode(b.path("relay")), 0o660)


@test("guard: another user cannot keep a server from listening, and nothing is left behind")
def locks(b):
    folder = shared(b)
    at = f"unix:{folder}/server"
    kept = []

    def hold():
        for path, flags in ((folder, os.O_RDONLY), (f"{folder}/server.atto-lock", os.O_RDONLY | os.O_CREAT)):
            kept.append(os.open(path, flags, 0o666))
            fcntl.flock(kept[-1], fcntl.LOCK_EX)

    def listens():
        server, _ = b.serve("heart-rate.json", endpoint=at)
        equal(b.run("read", at, "0x0015").code, 0)
        equal(server.stop().code, 0)

    if IS_ROOT:
        equal(as_nobody(b, hold, stays=True), None)
        listens()
        os.unlink(f"{folder}/server.atto-lock")
    listens()
    equal(os.listdir(folder), [])


@test("guard: another user's socket is named as such")
def foreign_socket(b):
    if not IS_ROOT:
        return
    # A copy that the other user may run.
    folder = shared(b)
    shutil.copy(b.atto, folder + "/atto")
    os.chmod(folder + "/atto", 0o755)
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    dead.bind(folder + "/dead")
    os.chmod(folder + "/dead", 0o600)
    dead.close()
    profile = folder + "/profile.json"
    with open(profile, "w") as file:
        json.dump({"services": []}, file)
    os.chmod(profile, 0o644)
    for permissions in (0o600, 0o666):
        os.chmod(folder + "/dead", permissions)
        b.atto = folder + "/atto"
        b.refuses(3, [f"the socket there belongs to user {os.geteuid()}", "choose another path"],
                  "serve", profile, "--listen", f"unix:{folder}/dead", user=NOBODY, group=NOBODY,
                  extra_groups=[])
