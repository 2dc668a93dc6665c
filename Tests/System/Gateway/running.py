"""The gateway as a service: its command line, its status, signals, systemd, and what can go wrong."""

import base64
import contextlib
import html
import json
import os
import pathlib
import pty
import re
import select
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request

import support
from support import FIXTURES, PATIENCE, confined, free_port, listens

PACKAGING = FIXTURES.parent / "Sources/Gateway/atto-gateway/Packaging"
COMPLETIONS = PACKAGING / "completions"


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def expect(condition, what) -> None:
    if not condition:
        raise Failed(what)


class Bench(support.Bench):
    """A gateway that reads one file, and its devices."""

    def __init__(self, programs: pathlib.Path) -> None:
        super().__init__(programs)
        self.environment = {name: value for name, value in self.environment.items() if name not in (
            "RUNTIME_DIRECTORY", "STATE_DIRECTORY", "NOTIFY_SOCKET", "JOURNAL_STREAM", "XDG_RUNTIME_DIR",
            "XDG_STATE_HOME")}
        self.environment["ATTO_STORE"] = str(self.path / "store")
        self.file = self.path / "gateway.json"
        self.control = self.path / "control"

    def run(self, *arguments) -> subprocess.CompletedProcess:
        return subprocess.run(
            [self.programs / "atto-gateway", *arguments], env=self.environment, text=True,
            capture_output=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)

    def configure(self, **configuration) -> None:
        self.write(self.file.name, {"name": "hall", "log": "debug"} | configuration)

    def gateway(self, stderr=subprocess.STDOUT, within=(), is_confined=True, **environment) -> subprocess.Popen:
        """Starts the gateway, by the words `within` if there are any."""
        words = confined(self.programs) if is_confined else [self.programs / "atto-gateway"]
        return self.start(
            *within, *words, self.file, "--control", self.control, log="gateway.log", stderr=stderr,
            environment=environment)

    def device(self, name: str, radio: str = "") -> subprocess.Popen:
        radio = f"{radio}{len(self.running)}" if radio else name
        return super().device("heart-rate.json", name, radio=radio)

    def status(self) -> dict:
        ended = self.run("status", "--json", "--control", self.control)
        return json.loads(ended.stdout) if ended.returncode == 0 else {}

    def connected(self, *names: str) -> dict:
        """Waits until these devices are connected; returns the devices by name."""
        def found():
            devices = {device["name"]: device for device in self.status().get("devices", [])}
            good = all(devices.get(name, {}).get("state") == "connected" for name in names)
            return devices if good else None
        return self.until(found, f"{names} are not connected")

    def stop(self, program: subprocess.Popen, number=signal.SIGTERM) -> None:
        program.send_signal(number)
        expect(program.wait(PATIENCE) == 0, f"ended with {program.returncode}")


def named(name: str) -> dict:
    return {"name": name, "match": {"localName": name}}


def command_line(bench: Bench) -> None:
    bench.configure(devices=[named("strap")])
    good = bench.run("--check", bench.file)
    expect(good.returncode == 0 and "devices: 1" in good.stdout, good)
    for words, text in [
        ([], "no configuration given"), (["--chek", bench.file], '(did you mean "--check"?)'),
        ([bench.file, "more"], 'unexpected argument "more"'), (["--control"], "needs a path"),
        (["--check", "/no/such"], "cannot read /no/such: No such file"),
        ([bench.file, "--json"], "--json is for status"),
    ]:
        wrong = bench.run(*words)
        expect(wrong.returncode == 2 and text in wrong.stderr and not wrong.stdout, wrong)
    bench.file.write_text('{"name": "hall",\n "devcies": []}')
    for words in (["--check", bench.file], [bench.file]):
        wrong = bench.run(*words)
        expect(wrong.returncode == 2 and ":2:13: devcies:" in wrong.stderr, wrong)
    expect(bench.run("--version").stdout.startswith("atto-gateway "), "no version")
    options = set(re.findall(r"--[a-z-]+", bench.run("--help").stdout))
    expect("--check" in options, "no help")
    # They are written by hand.
    written = {script: (COMPLETIONS / script).read_text() for script, _, _ in SHELLS.values()}
    found = {script: set(re.findall(r"--[a-z-]+", text)) for script, text in written.items()}
    fish = SHELLS["fish"][0]
    found[fish] = {f"--{name}" for name in re.findall(r"complete .* -l (\S+)", written[fish])}
    page = set(re.findall(r"Fl (-[a-z-]+)", (PACKAGING / "atto-gateway.8").read_text()))
    found["atto-gateway.8"] = {f"-{name}" for name in page} - {"--broker-connection"}
    for place, words in found.items():
        expect(words == options, f"{place}: {sorted(words ^ options)}")
    absent = bench.run("status", "--control", bench.control)
    expect(absent.returncode == 3 and "is the gateway running?" in absent.stderr, absent)


SHELLS = {
    "bash": ("bash/atto-gateway", ["bash", "--norc", "--noprofile", "-i"], "bind 'set bell-style none'"),
    "zsh": ("zsh/_atto-gateway", ["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D"),
    "fish": ("fish/atto-gateway.fish", ["fish", "--no-config", "-i"], "true"),
}


def completion(bench: Bench) -> None:
    """What shells make of the beginning of a command; in place of the gateway a script notes its arguments."""
    (bench.path / "bin").mkdir()
    noted, program = bench.path / "noted", bench.path / "bin" / "atto-gateway"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{noted}.new && mv {noted}.new {noted}\n')
    program.chmod(0o755)
    (bench.path / "hall one.json").touch()
    environment = bench.environment | {
        "PATH": f"{program.parent}:{os.environ['PATH']}", "TERM": "xterm", "HOME": str(bench.path),
        "LC_ALL": "C.UTF-8", "PS1": "$ "}
    for shell, (script, words, setup) in SHELLS.items():
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(bench.path)
            os.execvpe(words[0], words, environment)
        try:
            os.write(terminal, f"{setup}\rsource {COMPLETIONS / script}\r".encode())
            for line, arguments in [
                    ("stat\t", ["status"]), ("status --js\t", ["status", "--json"]),
                    ("--che\thall\t", ["--check", "hall one.json"]),
                    ("hall\t", ["hall one.json"]), ("status --cont\thal\t", ["status", "--control", "hall one.json"])]:
                noted.unlink(missing_ok=True)
                os.write(terminal, f"atto-gateway {line}\r".encode())
                seen, limit = b"", time.monotonic() + PATIENCE
                while not noted.exists():
                    expect(time.monotonic() < limit, f"{shell}: {line!r} did not run: {seen[-500:]}")
                    if select.select([terminal], [], [], 0.02)[0]:
                        seen += os.read(terminal, 65536)
                found = noted.read_text().splitlines()
                expect(found == arguments, f"{shell}: {line!r}: {found}")
        finally:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(terminal)


def fetch(port: int, path: str, **headers) -> tuple:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def exchange(port: int, octets: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
        client.sendall(octets)
        answer = b""
        while part := client.recv(65536):
            answer += part
        return answer


def status_pages(bench: Bench) -> None:
    bench.device("strap")
    port = free_port()
    bench.configure(devices=[named("strap"), named("away")], metrics=f"127.0.0.1:{port}")
    gateway = bench.gateway()
    devices = bench.connected("strap")
    expect(devices["strap"]["advice"] is None and devices["strap"]["heardBy"] == "air", devices)
    expect(devices["away"]["advice"].startswith("never heard: switch it on"), devices)
    expect(devices["strap"]["links"] == 1 and devices["strap"]["mtu"] > 23, devices)
    table = bench.run("status", "--control", bench.control).stdout
    expect("hall, up for" in table and "strap   connected" in table, table)
    expect("\naway: never heard: " in table, table)
    code, metrics = fetch(port, "/metrics")
    expect(code == 200 and 'atto_device_connected{device="strap"} 1' in metrics, metrics)
    for line in metrics.splitlines():
        expect(line.startswith("# ") or len(line.split(" ")) == 2, line)
    code, page = fetch(port, "/")
    expect(code == 200 and '>strap</td><td data-head="STATE">connected</td>' in page, page)
    expect("never heard: switch it on" in page, page)
    expect(json.loads(fetch(port, "/status.json")[1])["name"] == "hall", "no JSON")
    expect(fetch(port, "/nothing")[0] == 404, "not 404")
    # A page of the web whose name leads here.
    expect(fetch(port, "/", Host="evil.example")[0] == 421, "not 421")
    expect(fetch(port, "/", Host="localhost:80")[0] == 200, "localhost refused")
    expect(b" 405 " in exchange(port, b"POST / HTTP/1.1\r\n\r\n"), "not 405")
    expect(b" 400 " in exchange(port, b"\0\xff\r\n\r\n"), "not 400")
    expect(b" 431 " in exchange(port, b"GET / HTTP/1.1\r\nX: " + 20_000 * b"x"), "not 431")
    head = b"GET /metrics HTTP/1.1\r\nX: %s\r\n\r\n"
    for octets, code in ((8192, b" 200 "), (8193, b" 431 "), (9500, b" 431 ")):
        answer = exchange(port, head % (b"x" * (octets + 2 - len(head))))
        expect(code in answer.split(b"\r\n")[0], f"{octets} octets: {answer[:60]}")
    # Connections that say nothing cost the others nothing.
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
    expect(fetch(port, "/metrics")[0] == 200, "no answer beside silent clients")
    for client in silent:
        client.close()
    expect(os.stat(bench.control).st_mode & 0o777 == 0o600, "others may ask for the status")
    bench.stop(gateway)
    expect(not bench.control.exists(), "the status socket was left")


def heard_page(bench: Bench) -> None:
    """The lines of the page of devices in range can be pasted."""
    bench.device("strap")
    names = ["other one", "</script><b x=\"'", "\u202egnp"]
    for name in names:
        bench.device(name, radio="heard")
    port = free_port()
    bench.configure(devices=[named("strap")], metrics=f"127.0.0.1:{port}")
    gateway = bench.gateway()
    bench.connected("strap")
    page = bench.until(
        lambda: (text := fetch(port, "/heard")[1]).count('<tr class="heard">') == 3 and text, "3 devices are heard")
    lines = [html.unescape(line) for line in re.findall("<pre>(.*?)</pre>", page)]
    found = sorted((json.loads(line) for line in lines), key=lambda line: line["match"]["localName"])
    expect([line["match"]["localName"] for line in found] == sorted(names[:2]), found)
    expect("</script" not in page and "\u202e" not in page, page)
    expect(fetch(port, "/heard", Host="evil.example")[0] == 421, "not 421")
    configuration = json.loads(bench.file.read_text())
    bench.file.write_text(json.dumps(configuration | {"devices": configuration["devices"] + found}))
    checked = bench.run("--check", bench.file)
    expect(checked.returncode == 0, checked.stderr)
    gateway.send_signal(signal.SIGHUP)
    bench.connected("strap", *(line["name"] for line in found))
    bench.stop(gateway)


def pair_page(bench: Bench) -> None:
    """A device that shows a passkey is answered at the page, by those who have the token and from that page only."""
    guarded = {"services": [{"uuid": "A000", "characteristics": [
        {"uuid": "A001", "properties": ["read"], "value": "hex:07", "permissions": ["readAuthenticated"]}]}],
        "name": "lock", "advertising": {"localName": "lock"}}
    (bench.path / "lock.json").write_text(json.dumps(guarded))
    shown = bench.path / "lock.shown"
    with open(shown, "wb") as output:
        bench.running.append(subprocess.Popen(
            [bench.programs / "atto", "serve", bench.path / "lock.json", "--listen", "air:lock", "--io", "display",
             "--json"], env=bench.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output))
    port, token = free_port(), "correct-horse-battery"
    bench.configure(devices=[named("lock") | {"security": "high"}], metrics=f"127.0.0.1:{port}", askPasskeys=True,
                pageToken=token)
    bench.file.chmod(0o644)
    bench.path.chmod(0o755)
    checked = bench.run("--check", bench.file)
    # A folder above it may be closed to them.
    is_open = all(folder.stat().st_mode & 0o001 for folder in bench.path.resolve().parents)
    expect(("other users of this machine can read its secrets" in checked.stderr) == is_open, checked.stderr)
    expect(checked.returncode == 0 and token not in checked.stdout + checked.stderr, checked)
    gateway = bench.gateway()
    line = bench.until(lambda: [l for l in shown.read_text().splitlines() if '"show"' in l], "the lock shows nothing")
    passkey = json.loads(line[-1])["passkey"]

    def basic(password: str) -> dict:
        return {"Authorization": "Basic " + base64.b64encode(f"me:{password}".encode()).decode()}
    good = basic(token)
    for headers in ({}, basic(token[:-1]), basic(token[:-1] + "x"), basic(""), {"Authorization": f"Basic {token}"}):
        expect(fetch(port, "/pair", **headers)[0] == 401, f"{headers}: not 401")
    code, page = fetch(port, "/pair", **good)
    expect(code == 200 and "<b>lock</b> pairs." in page and passkey not in page, page)
    question = re.search('name="question" value="([0-9a-fA-F]{16})"', page).group(1)
    expect("lock pairs and waits for an answer" in bench.run("status", "--control", bench.control).stdout, "no question")
    expect(question not in fetch(port, "/")[1] + fetch(port, "/status.json")[1], "the question is public")

    def post(body: str, length=None, **fields) -> bytes:
        fields = {"Host": f"127.0.0.1:{port}", "Content-Length": length or len(body)} | good | fields
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items() if value is not None)
        return exchange(port, f"POST /pair HTTP/1.1\r\n{lines}\r\n{body}".encode())
    body = f"question={question}&answer={passkey}"
    for code, answer in {
            b"401": [post(body, **basic("wrong-horse-battery")), post(body, Authorization=None)],
            b"403": [post(body, Origin="http://evil.example"), post(body, Origin="null"),
                     post(body, Sec_Fetch_Site="cross-site"), post(body, Sec_Fetch_Site="same-site"),
                     post(body, Host=None, Origin=f"http://127.0.0.1:{port}")],
            b"421": [post(body, Host="evil.example", Origin="http://evil.example")],
            b"413": [post(body, length=257), post("x" * 1_000_000)],
            b"400": [post(body, length="-1"), post(body, length="x"), post(f"{body}&{body}"), post("a=b")]}.items():
        for number, text in enumerate(answer):
            expect(text.startswith(b"HTTP/1.1 " + code), f"{code} {number}: {text[:80]}")
    wrong = post(f"question={'0' * 16}&answer={passkey}")
    expect(b" 200 " in wrong and b"no device asks" in wrong, wrong)
    expect(b"six digits" in post(f"question={question}&answer=yes"), "yes is no number")
    expect(bench.status()["devices"][0]["state"] != "connected", "connected without an answer")
    answered = post(body, Origin=f"http://127.0.0.1:{port}")
    expect(b"Answered." in answered, answered)
    bench.connected("lock")
    expect(b"no device asks" in post(body), "a second answer")
    expect(token not in bench.log(), "the token was logged")
    bench.stop(gateway)
    bench.configure(metrics=f"127.0.0.1:{port}")
    gateway = bench.gateway()
    bench.until(bench.status, "no status")
    expect(fetch(port, "/pair", **good)[0] == 404, "a page without a token")
    bench.stop(gateway)


def coming_back(bench: Bench) -> None:
    bench.configure(devices=[named("strap"), named("absent")])
    strap = bench.device("strap")
    gateway = bench.gateway()
    bench.connected("strap")
    for links in (2, 3):
        strap.kill()
        strap.wait()
        bench.until(
            lambda: any(d["name"] == "strap" and d["state"] != "connected"
                        for d in bench.status().get("devices", [])), "the loss was not noticed")
        strap = bench.device("strap")
        expect(bench.connected("strap")["strap"]["links"] == links, "other links")
    bench.stop(gateway, signal.SIGINT)


def reloading(bench: Bench) -> None:
    bench.device("a")
    bench.device("b")
    bench.configure(devices=[named("a")])
    gateway = bench.gateway()
    bench.connected("a")
    bench.file.write_text("{")
    gateway.send_signal(signal.SIGHUP)
    bench.logged("the configuration stays as it was")
    # Nobody writes to this pipe.
    bench.file.unlink()
    os.mkfifo(bench.file)
    gateway.send_signal(signal.SIGHUP)
    bench.logged("not a regular file")
    bench.file.unlink()
    bench.configure(devices=[named("a"), named("b")])
    gateway.send_signal(signal.SIGHUP)
    devices = bench.connected("a", "b")
    expect(devices["a"]["links"] == 1, "the link was dropped")
    bench.configure(devices=[named("b")])
    gateway.send_signal(signal.SIGHUP)
    bench.until(
        lambda: [d["name"] for d in bench.status().get("devices", [])] == ["b"], "a was not dropped")
    expect(bench.connected("b")["b"]["links"] == 1, "the link was dropped")
    bench.stop(gateway)


def sharing(bench: Bench) -> None:
    bench.device("strap")
    folder = bench.path / "devices"
    folder.mkdir()
    bench.configure(devices=[named("strap")], endpoints=str(folder))
    gateway = bench.gateway()
    path = folder / "strap.att"
    bench.until(lambda: listens(path), "no socket")
    for _ in range(2):
        found = subprocess.run(
            [bench.programs / "atto", "discover", f"unix:{path}", "--json"], capture_output=True,
            text=True, timeout=PATIENCE)
        expect(found.returncode == 0 and "2a37" in found.stdout, found)
    if os.geteuid() == 0:
        os.chmod(bench.path, 0o755)
        refused = subprocess.run(
            ["python3", "-c", f"import socket; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)"
             f".connect('{path}')"], user=65534, capture_output=True, text=True)
        expect("PermissionError" in refused.stderr, refused)
    expect(bench.connected("strap")["strap"]["links"] == 1, "another link")
    bench.stop(gateway)
    expect(not path.exists(), "the socket was left")


def service_manager(bench: Bench) -> None:
    # A path, and an abstract name.
    supervised(bench, str(bench.path / "notify"))
    supervised(bench, f"@{bench.path}/notify")


def supervised(bench: Bench, place: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(place.replace("@", "\0"))
        manager.settimeout(PATIENCE)
        heard = []

        def hear(text: str) -> None:
            while not (heard and heard[-1].startswith(text)):
                heard.append(manager.recv(4096).decode())

        bench.configure()
        journal = open(bench.path / "journal", "wb")
        status = os.fstat(journal.fileno())
        gateway = bench.gateway(
            stderr=journal, NOTIFY_SOCKET=place, WATCHDOG_USEC="100000",
            JOURNAL_STREAM=f"{status.st_dev}:{status.st_ino}")
        hear("READY=1")
        for _ in range(3):
            heard.clear()
            hear("WATCHDOG=1")
        gateway.send_signal(signal.SIGHUP)
        hear("RELOADING=1\nMONOTONIC_USEC=")
        hear("READY=1")
        gateway.send_signal(signal.SIGTERM)
        hear("STOPPING=1")
        expect(gateway.wait(PATIENCE) == 0, gateway.returncode)
        lines = (bench.path / "journal").read_text().splitlines()
        expect(lines and all(line[:3] in ("<5>", "<6>", "<7>") for line in lines), lines)


def misfortunes(bench: Bench) -> None:
    # A port that is taken is told, and the links are held nevertheless.
    bench.device("strap")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        bench.configure(devices=[named("strap")], metrics=f"127.0.0.1:{port}")
        gateway = bench.gateway()
        bench.logged("Address already in use")
        bench.connected("strap")
        bench.stop(gateway)
    # A log that nobody reads stops nothing.
    bench.configure(devices=[named("strap")])
    reader, writer = os.pipe()
    gateway = bench.gateway(stderr=writer)
    os.close(writer)
    bench.connected("strap")
    bench.file.write_text("x" * 3000)
    for _ in range(300):
        gateway.send_signal(signal.SIGHUP)
        time.sleep(0.001)
    bench.connected("strap")
    gateway.send_signal(signal.SIGTERM)
    expect(gateway.wait(PATIENCE) == 0, gateway.returncode)
    os.close(reader)
    # A folder of the air that is unusable.
    bench.configure(devices=[named("strap")])
    gateway = bench.gateway(ATTO_AIR="/proc/nothing")
    bench.logged("adapter air")
    bench.stop(gateway)


def interrupted(bench: Bench) -> None:
    """Ctrl-C at each phase of the start."""
    bench.device("strap")
    bench.configure(devices=[named("strap")])
    for step in range(16):
        gateway = bench.gateway(is_confined=False)
        time.sleep(step * 0.005)
        gateway.send_signal(signal.SIGINT)
        # Before the signals are watched they have their default action.
        expect(gateway.wait(PATIENCE) in (0, -signal.SIGINT), gateway.returncode)


def namespace(script: str) -> list:
    """The words that run a program with mounts of its own, after a shell has run the script."""
    words = ["unshare", "--mount", "sh", "-c", f'{script}\nexec "$@"', "sh"]
    tried = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    if os.geteuid() != 0 or subprocess.run(tried, capture_output=True).returncode != 0:
        raise Skipped("only root can mount file systems")
    return words


class StoreBench:
    """A gateway whose store fails at its start, and works later."""

    def __init__(self, bench: Bench, cause: str, within=(), **configuration) -> None:
        self.bench = bench
        bench.configure(devices=[named("strap")], **configuration)
        bench.device("strap")
        self.gateway = bench.gateway(within=within)
        bench.connected("strap")
        bench.until(lambda: not self.store()["healthy"], "the store works")
        expect(cause in self.store()["state"], self.store())
        bench.logged(f"warning: {WITHOUT_STORE}")

    def store(self) -> dict:
        return self.bench.status().get("store", {"healthy": None})

    def mend(self) -> None:
        """To be called when the store can be used again."""
        self.bench.logged("works: bonds and services are kept")
        expect(self.store() == {"healthy": True, "state": "working"}, self.store())

    def end(self) -> None:
        expect(self.bench.connected("strap")["strap"]["links"] == 1, "the link was dropped")
        self.bench.stop(self.gateway)
        log = self.bench.log()
        lines = log.split("\n")
        warned = [index for index, line in enumerate(lines) if WITHOUT_STORE in line]
        expect(len(warned) == 1, log)
        expect(lines[warned[0] + 1].startswith("hint: "), log)
        (self.bench.path / "gateway.log").unlink()
        for program in self.bench.running:
            program.kill()
            program.wait()


def make_store(bench: Bench, file: pathlib.Path) -> None:
    """Has a gateway make a store."""
    def has_tables() -> bool:
        with contextlib.suppress(sqlite3.OperationalError), contextlib.closing(
                sqlite3.connect(f"file:{file}?mode=rw", uri=True)) as database:
            return database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0
        return False

    gateway = bench.gateway()
    bench.logged("configured devices")
    bench.until(has_tables, "no store")
    bench.stop(gateway)
    (bench.path / "gateway.log").unlink()
    # Rolls back what the gateway was about when it ended.
    has_tables()


WITHOUT_STORE = "bonds and services are not kept until the store works: "


def missing_folder(bench: Bench) -> None:
    """A folder for what is kept that is missing, and one that is a file."""
    folder = bench.path / "state"
    started = StoreBench(bench, "No such file or directory", state=str(folder))
    checked = bench.run("--check", bench.file)
    expect(checked.returncode == 0 and "state: cannot write" in checked.stderr, checked)
    folder.mkdir(mode=0o700)
    started.mend()
    started.end()
    expect((folder / "store.sqlite").exists(), "no store")
    plain = bench.path / "plain"
    plain.touch()
    started = StoreBench(bench, "Not a directory", state=str(plain))
    plain.unlink()
    plain.mkdir(mode=0o700)
    started.mend()
    started.end()


def damaged_store(bench: Bench) -> None:
    """Files that are no stores are left as they are."""
    file = bench.path / "store"
    bench.configure()
    make_store(bench, file)
    whole = file.read_bytes()
    for octets, cause in ((os.urandom(5000), "is not an SQLite database"),
                          (whole[:4096] + os.urandom(len(whole) - 4096), "is damaged")):
        file.write_bytes(octets)
        started = StoreBench(bench, cause)
        expect(file.read_bytes() == octets, "the file was changed")
        file.rename(bench.path / "damaged")
        started.mend()
        started.end()
        expect((bench.path / "damaged").read_bytes() == octets, "the file was changed")


def full_disk(bench: Bench) -> None:
    """A disk that is full when the gateway starts, and again later."""
    (bench.path / "state").mkdir(mode=0o700)
    (bench.path / "devices").mkdir()
    state = bench.path / "state"
    words = namespace(f"mount -t tmpfs -o size=256k,mode=700 none {state} && ! yes 2>/dev/null >{state}/full")
    started = StoreBench(bench, "no space left", words, state=str(state), endpoints=str(bench.path / "devices"))
    # Where the gateway's mounts can be seen.
    inside = pathlib.Path("/proc", str(started.gateway.pid), "root", state.relative_to("/"))
    (inside / "full").unlink()
    started.mend()
    # The services of another device find no room.
    with open(inside / "full", "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    bench.configure(devices=[named("strap"), named("other")], state=str(state), endpoints=str(bench.path / "devices"))
    started.gateway.send_signal(signal.SIGHUP)
    bench.device("other")
    bench.logged(WITHOUT_STORE, 2)
    bench.until(lambda: listens(bench.path / "devices" / "other.att"), "the device cannot be used")
    (inside / "full").unlink()
    bench.logged("works: bonds and services are kept", 2)
    bench.stop(started.gateway)


def read_only_disk(bench: Bench) -> None:
    """A disk that is mounted read-only when the gateway starts, without a store and with one."""
    state = bench.path / "state"
    state.mkdir(mode=0o700)
    for mount in (f"mount -t tmpfs -o mode=700 none {state}", f"mount --bind {state} {state}"):
        words = namespace(f"{mount} && mount -o remount,bind,ro {state}")
        started = StoreBench(bench, "ead-only", words, state=str(state))
        subprocess.run(["nsenter", "--mount", f"--target={started.gateway.pid}", "mount", "-o", "remount,bind,rw",
                        state], check=True)
        started.mend()
        started.end()
        # The second time with a store.
        bench.configure(state=str(state))
        make_store(bench, state / "store.sqlite")


def without_proc(bench: Bench) -> None:
    bench.configure()
    words = namespace("mount -t tmpfs none /proc")

    def run(*arguments) -> tuple:
        ended = subprocess.run(
            [*words, bench.programs / "atto-gateway", *arguments], env=bench.environment, text=True,
            capture_output=True, timeout=PATIENCE)
        return ended.returncode, ended.stdout + ended.stderr

    expect(run("--check", bench.file) == (0, f"{bench.file}: name: hall, devices: 0, adapters: air\n"), "not checked")
    code, text = run(bench.file)
    expect(code == 3 and "/proc is not mounted" in text and "hint: mount" in text, text)


TESTS = [
    command_line, completion, status_pages, heard_page, pair_page, coming_back, reloading, sharing, service_manager, misfortunes,
    interrupted, missing_folder, damaged_store, full_disk, read_only_disk, without_proc,
]


def main(programs: pathlib.Path, names: list) -> tuple:
    passed = failed = 0
    for test in TESTS:
        if names and not any(name in test.__name__ for name in names):
            continue
        bench = Bench(programs)
        began = time.monotonic()
        try:
            test(bench)
            passed += 1
        except Skipped as reason:
            print(f"skipped: running {test.__name__}: {reason}")
        except Exception as error:
            failed += 1
            print(f"FAILED running {test.__name__}: {type(error).__name__}: {error}")
        finally:
            bench.end()
        if os.environ.get("ATTO_TIMES"):
            print(f"{time.monotonic() - began:6.2f} s  {test.__name__}")
    return passed, failed
