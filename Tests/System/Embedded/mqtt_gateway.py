"""Examples/gateway.c on each processor, between the server example and mosquitto."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading

from running import PATIENCE, Running, wait_for
from targets import LIBRARY, ROOT

sys.path[:0] = [str(ROOT / "Sources" / "Debian"), str(ROOT / "Tests" / "Support")]
from archive import Apt  # noqa: E402
from cache import cache_folder, kept  # noqa: E402
from listening import free_port  # noqa: E402

# Debian's name of each processor, and the oldest suite that has it.
DEBIAN = {
    "x86_64": ("amd64", "bookworm"), "aarch64": ("arm64", "bookworm"), "arm": ("armhf", "bookworm"),
    "riscv64": ("riscv64", "trixie"),
}


def system(target) -> pathlib.Path:
    """A folder with Debian's libmosquitto for a processor, and with what that needs; kept in the cache."""
    architecture, suite = DEBIAN[target.triple.partition("-")[0]]
    return kept(
        cache_folder() / "libmosquitto" / architecture,
        lambda part: Apt(cache_folder(), suite, architecture).unpack_system(["libmosquitto-dev"], part))


def compile_gateway(target, root) -> str | None:
    return target.compile(
        "gateway", "-I", root / "usr/include", LIBRARY / "Examples/gateway.c", "-L", root / "usr/lib" / target.triple,
        "-lmosquitto", "-Wl,--allow-shlib-undefined")


class Subscriber:
    """What the broker has and gets under `garden`, also for a client that comes later."""

    def __init__(self, port):
        self.process = subprocess.Popen(
            ["mosquitto_sub", "-p", str(port), "-t", "garden/#", "-v"], stdout=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL)
        self.timer = threading.Timer(PATIENCE, self.process.kill)
        self.timer.start()

    def sees(self, pattern) -> bool:
        """Waits for a line."""
        return any(re.fullmatch(pattern, line.rstrip()) for line in self.process.stdout)

    def end(self):
        self.timer.cancel()
        self.process.kill()
        self.process.communicate()


def broker(port, folder):
    file = pathlib.Path(folder) / "mosquitto.conf"
    file.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    process = subprocess.Popen(
        ["mosquitto", "-c", file], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0 or process.poll() is not None)
    return process


def serve(target, path):
    return Running(target.command("server", f"unix:{path}"), path,
                   dict(os.environ, LD_LIBRARY_PATH=f"{target.prefix}/lib")).process


def test(target, folder, check) -> str:
    """Returns a line about the size of the program and its memory."""
    root = system(target)
    problem = compile_gateway(target, root)
    if not check(problem is None, f"{target.name}: gateway.c compiles", problem):
        return ""
    libraries = root / "usr/lib" / target.triple
    words = [str(target.folder / "gateway")]
    environment = dict(os.environ)
    if target.emulator:
        words = [target.emulator[0], "-L", str(root), *words]
    else:
        # The C library stays this machine's.
        environment["LD_PRELOAD"] = " ".join(
            str(next(libraries.glob(f"{name}.so.[0-9]*"))) for name in ("libcrypto", "libssl", "libmosquitto"))
    port = free_port()
    environment["MQTT_PORT"] = str(port)
    path = f"{folder}/sensor"
    value = "garden/value 0848...."

    def start():
        return subprocess.Popen(
            [*words, f"unix:{path}", "2A37", "127.0.0.1", "garden"], env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    running = [broker(port, folder), serve(target, path), start()]
    watching = Subscriber(port)
    try:
        check(watching.sees(value), f"{target.name}: the gateway publishes values")
        memory = int(re.search(r"VmHWM:\s*(\d+)", pathlib.Path(f"/proc/{running[2].pid}/status").read_text())[1])
        running[1].kill()
        running[1].wait()
        check(watching.sees("garden/availability offline"), f"{target.name}: a sensor that has gone")
        os.unlink(path)
        running[1] = serve(target, path)
        check(watching.sees("garden/availability online"), f"{target.name}: a sensor that is back")
        running[0].kill()
        running[0].wait()
        watching.end()
        running[0] = broker(port, folder)
        watching = Subscriber(port)
        check(watching.sees("garden/availability online") and watching.sees(value),
              f"{target.name}: a broker that has forgotten everything")
        running[2].kill()
        check(watching.sees("garden/availability offline"), f"{target.name}: the will of a gateway that was killed")
        running[2].wait()
        running[2] = start()
        check(watching.sees("garden/availability online"), f"{target.name}: a gateway that starts again")
        running[2].send_signal(signal.SIGTERM)
        check(watching.sees("garden/availability offline") and running[2].wait(PATIENCE) == 0,
              f"{target.name}: SIGTERM")
        for wrong in ([], [f"unix:{path}", "2A37", "127.0.0.1"], [f"unix:{path}", "heart", "127.0.0.1", "garden"],
                      ["nowhere", "2A37", "127.0.0.1", "garden"]):
            done = subprocess.run([*words, *wrong], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=PATIENCE)
            check(done.returncode == 2, f"{target.name}: the gateway with {wrong}", done)
    finally:
        watching.end()
        for process in running:
            process.kill()
            process.wait()
    stripped = target.folder / "gateway.stripped"
    subprocess.run([f"{target.tools}strip", "-o", stripped, target.folder / "gateway"], check=True)
    return f"{target.triple.partition('-')[0]:8} {stripped.stat().st_size:8}" + (
        "" if target.emulator else f" {memory:6} kB")
