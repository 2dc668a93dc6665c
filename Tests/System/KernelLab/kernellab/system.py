"""The files of a machine whose processor is not ours: a Debian system, unpacked and not configured."""

import subprocess
import tempfile
from pathlib import Path

from . import packages
from .processors import Processor
from .trouble import LabError

SUITE = "bookworm"
PYTHON = "3.11"
# What wheels for its C library are called.
MANYLINUX = ["2014", "_2_17", "_2_28", "_2_31", "_2_34", "_2_36"]
PACKAGES = """
  base-files base-passwd bash coreutils dash findutils grep hostname iproute2 mount procps sed util-linux
  bluez bluez-test-tools busybox-static dbus python3 python3-dbus python3-gi
  libmosquitto1 libsodium23 libsqlite3-0 mosquitto mosquitto-clients
""".split()
# What the scripts of packages would have added.
USERS = "messagebus:x:100:100::/nonexistent:/usr/sbin/nologin\nmosquitto:x:101:101::/:/usr/sbin/nologin\n"
MACHINE = "0123456789abcdef0123456789abcdef\n"
INTERPRETER = """#!/bin/sh
PYTHONPATH={folder}/lib exec /usr/bin/python3 "$@"
"""


def fetch(cache: Path, processor: Processor, root: Path) -> None:
    """Unpacks the system."""
    apt = packages.apt_of(cache, SUITE, processor.name)
    packages.say(f"fetching {' '.join(PACKAGES)} and what they need, for {processor.name}")
    packages.unpack_system(apt, PACKAGES, root)
    for name in ("passwd", "group"):
        master = (root / "usr/share/base-passwd" / f"{name}.master").read_text()
        more = USERS if name == "passwd" else "messagebus:x:100:\nmosquitto:x:101:\n"
        (root / "etc" / name).write_text(master.replace(":*:", ":x:") + more)
    (root / "etc/machine-id").write_text(MACHINE)
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    for name in ("proc", "sys", "dev", "run", "tmp", "root", "mnt"):
        (root / name).mkdir(exist_ok=True)


def add_modules(root: Path, processor: Processor, interpreter: str, requirements: Path) -> None:
    """Puts packages of Python into the system. There the interpreter that has them stands where the one of
    this machine's virtual environment stands here, with the same versions."""
    environment = Path(interpreter).parent.parent
    folder = root / environment.relative_to("/")
    made_of = folder / "requirements.txt"
    found = pip(interpreter, "freeze")
    if made_of.exists() and made_of.read_text() == found:
        return
    packages.say(f"fetching {requirements.read_text().split()} for {processor.name}")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as versions:
        versions.write(found)
        versions.flush()
        kinds = (f"--platform=manylinux{kind}_{processor.triple.partition('-')[0]}" for kind in MANYLINUX)
        pip(interpreter, "install", "--quiet", "--upgrade", "--target", folder / "lib", "--no-deps",
            "--python-version", PYTHON, "--implementation", "cp", *kinds, "--requirement", versions.name)
    there = folder / "bin" / "python"
    there.parent.mkdir(exist_ok=True)
    there.write_text(INTERPRETER.format(folder=environment))
    there.chmod(0o755)
    made_of.write_text(found)


def pip(interpreter: str, *words) -> str:
    done = subprocess.run(
        [interpreter, "-m", "pip", "--disable-pip-version-check", *map(str, words)], stdin=subprocess.DEVNULL,
        capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"pip {words[0]} failed\n{done.stderr.strip()}")
    return done.stdout
