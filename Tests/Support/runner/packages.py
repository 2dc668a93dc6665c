"""The Debian packages that the steps need, and their installation."""

import ctypes
import importlib.util
import os
import pathlib
import platform
import shutil
import subprocess

# Root's folders are not in everybody's PATH.
SEARCH_PATH = os.environ.get("PATH", os.defpath) + ":/usr/local/sbin:/usr/sbin:/sbin"


def command(name: str):
    return lambda: shutil.which(name, path=SEARCH_PATH) is not None


def file(path: str):
    return lambda: pathlib.Path(path).exists()


def library(name: str):
    def is_there() -> bool:
        try:
            ctypes.CDLL(name)
        except OSError:
            return False
        return True
    return is_there


def has_venv() -> bool:
    return all(importlib.util.find_spec(name) for name in ("ensurepip", "venv"))


def cross_compiler(architecture: str, triple: str) -> list:
    """The compiler of another processor and its C library, unless it is this machine's own."""
    if platform.machine() == {"arm64": "aarch64", "armhf": "armv7l", "riscv64": "riscv64"}[architecture]:
        return []
    steps = ["embedded --all", *["arm64"][:architecture == "arm64"]]
    return [
        (f"gcc-{triple}", command(f"{triple}-gcc"), steps),
        (f"libc6-dev-{architecture}-cross", file(f"/usr/{triple}/include/stdio.h"), steps),
    ]


LAB = ["lab", "lab-newest"]
# Steps whose tests say themselves what they lack, and are left out one by one.
SKIPPING = ["commands", "test"]

# For each package: a function that says whether it is installed, and the steps that need it, in every
# run or only with --all.
PACKAGES = [
    ("libbluetooth-dev", file("/usr/include/bluetooth/bluetooth.h"), ["abi"]),
    ("binutils", command("readelf"), ["libraries", "regex", "leaks", "embedded", "bindings", "package", "arm64"]),
    ("gcc", command("gcc"), ["embedded", "bindings", "package"]),
    ("g++", command("g++"), ["release"]),
    ("git", command("git"), ["architecture", "dependents", "changes", "environments"]),
    ("patch", command("patch"), ["broken"]),
    ("python3-venv", has_venv, ["interoperability", "conformance", *LAB, "gateway", "python", "sensors", "site", "arm64"]),
    ("libsqlite3-0", library("libsqlite3.so.0"), ["test", "commands", "hostile", *LAB, "snippets", "thread", "gateway"]),
    ("libsodium23", library("libsodium.so.23"), ["test", "thread", "fuzz", "gateway"]),
    ("libseccomp2", library("libseccomp.so.2"), ["gateway", "arm64"]),
    ("systemd-container", command("systemd-nspawn"), ["package"]),
    ("systemd", command("systemd-analyze"), ["gateway", "arm64"]),
    ("libmosquitto1", library("libmosquitto.so.1"), ["gateway"]),
    ("mosquitto", command("mosquitto"), ["gateway", "embedded --all", "arm64"]),
    ("mosquitto-clients", command("mosquitto_sub"), ["gateway", "embedded --all", "arm64"]),
    ("libedit2", library("libedit.so.2"), ["commands"]),
    ("libreadline8", library("libreadline.so.8"), ["commands"]),
    ("openssl", command("openssl"), ["commands", "gateway", "arm64"]),
    ("tshark", command("tshark"), ["commands", "arm64"]),
    ("zsh", command("zsh"), ["commands", "gateway", "arm64"]),
    ("fish", command("fish"), ["commands", "gateway", "arm64"]),
    ("man-db", command("man"), ["commands", "arm64"]),
    ("mandoc", command("mandoc"), ["commands", "site", "arm64"]),
    ("strace", command("strace"), ["counts", "gateway"]),
    ("debhelper", command("dh"), ["package", "arm64"]),
    ("dh-python", command("dh_python3"), ["package", "arm64"]),
    ("devscripts", command("hardening-check"), ["package", "arm64"]),
    ("dpkg-dev", command("dpkg-buildpackage"), ["package", "arm64"]),
    ("flit", command("flit"), ["package", "arm64"]),
    ("lintian", command("lintian"), ["package", "arm64"]),
    ("mmdebstrap", command("mmdebstrap"), ["environments", "package", "arm64"]),
    ("pybuild-plugin-pyproject", file("/usr/share/doc/pybuild-plugin-pyproject"), ["package", "arm64"]),
    ("python3-all", file("/usr/share/doc/python3-all"), ["package", "arm64"]),
    ("valgrind", command("valgrind"), ["counts", "embedded", "leaks"]),
    ("pkgconf", command("pkg-config"), ["bindings"]),
    # Debian's, whatever else is in PATH.
    ("cargo", file("/usr/bin/cargo"), ["bindings"]),
    ("bindgen", file("/usr/bin/bindgen"), ["bindings"]),
    ("libclang1", file("/usr/share/doc/libclang1"), ["bindings"]),
    ("gccgo", file("/usr/bin/gccgo"), ["bindings"]),
    *cross_compiler("arm64", "aarch64-linux-gnu"),
    *cross_compiler("armhf", "arm-linux-gnueabihf"),
    *cross_compiler("riscv64", "riscv64-linux-gnu"),
    ("qemu-user", command("qemu-arm"), ["embedded", "arm64"]),
    # The kernel lab: a machine with Bluetooth under emulation, and bluetoothd as a peer in it.
    ("qemu-system-x86", command("qemu-system-x86_64"), LAB),
    ("busybox-static", file("/bin/busybox"), LAB),
    ("kmod", command("modprobe"), LAB),
    ("bluez", command("btmon"), LAB),
    ("bluez-test-tools", command("btvirt"), LAB),
    ("dbus", command("dbus-daemon"), LAB),
    ("python3-dbus", file("/usr/lib/python3/dist-packages/dbus"), LAB),
    ("python3-gi", file("/usr/lib/python3/dist-packages/gi"), LAB),
]


def missing(steps: list, is_short: bool) -> dict:
    """The packages that are not installed, each with those of the steps that need it."""
    found = {}
    for name, is_installed, users in PACKAGES:
        needing = [step for step in steps if step in users or not is_short and f"{step} --all" in users]
        if needing and not is_installed():
            found[name] = needing
    return found


def as_root() -> list:
    """The words before a command that run it as root without a question; None if nothing does."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo"):
        asked = subprocess.run(
            ["sudo", "-n", "true"], stdin=subprocess.DEVNULL, capture_output=True)
        if asked.returncode == 0:
            return ["sudo", "-n"]
    return None


def install(names: list, log: pathlib.Path) -> None:
    """Installs packages if this process may; `missing` tells afterwards what it did not get."""
    prefix = as_root()
    if prefix is None or shutil.which("apt-get") is None:
        return
    print(f"installing {' '.join(names)}", flush=True)
    environment = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive"]
    with open(log, "w") as output:
        def apt(*words: str) -> None:
            subprocess.run(
                [*environment, "apt-get", *words], stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT)
        apt("update", "-qq")
        apt("install", "-y", "-qq", "--no-install-recommends", *names)


def install_line(names: list) -> str:
    """The line to run for packages that could not be installed."""
    return f"sudo apt-get install -y --no-install-recommends {' '.join(names)}"
