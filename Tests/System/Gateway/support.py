"""What the parts share."""

import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import confining

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TESTS / "Support"))
from listening import free_port, listens  # noqa: E402, F401
from tally import Tally  # noqa: E402, F401

FIXTURES = TESTS.parent / "Fixtures"
# Seconds until something counts as hanging.
PATIENCE = 60


@functools.cache
def unit_filter():
    """A file with the filter of system calls of the gateway's unit. It is removed with this process."""
    file = tempfile.NamedTemporaryFile(prefix="atto-")
    confining.write_filter(file)
    return file


def confined(programs: pathlib.Path) -> list:
    """The words that start the gateway as systemd does, which allows only the system calls that its unit has."""
    return [sys.executable, "-IS", confining.__file__, unit_filter().name, programs / "atto-gateway"]


class Bench:
    """A folder with a virtual air of its own, and the programs that were started there."""

    def __init__(self, programs: pathlib.Path, **environment: str) -> None:
        self.programs = programs
        self.folder = tempfile.TemporaryDirectory(prefix="atto-")
        self.path = pathlib.Path(self.folder.name)
        (self.path / "air").mkdir(mode=0o700)
        self.environment = os.environ | {
            "ATTO_AIR": str(self.path / "air"), "XDG_RUNTIME_DIR": self.folder.name,
            "XDG_STATE_HOME": self.folder.name} | environment
        self.running = []

    def start(self, *command, log: str, environment=None, **streams) -> subprocess.Popen:
        """Starts a program whose output goes to a log, but for other streams."""
        with open(self.path / log, "ab") as output:
            program = subprocess.Popen(
                command, env=self.environment | (environment or {}),
                **{"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT} | streams)
        self.running.append(program)
        return program

    def write(self, file: str, content: dict) -> pathlib.Path:
        """Writes a file in one step, as those that are read again must be."""
        path = self.path / file
        new = path.with_name(path.name + ".new")
        new.write_text(json.dumps(content))
        new.rename(path)
        return path

    def device(self, profile: str | dict, name: str, *options, radio: str = "", **streams) -> subprocess.Popen:
        """A device of this name, with a profile of Fixtures or another one."""
        text = json.loads((FIXTURES / profile).read_text()) if isinstance(profile, str) else profile
        advertising = text.get("advertising", {}) | {"localName": name}
        file = self.write(f"{radio or name}.profile.json", text | {"name": name, "advertising": advertising})
        return self.start(
            self.programs / "atto", "serve", file, "--listen", f"air:{radio}", *options,
            log=f"{radio or name}.device", **streams)

    def log(self, name: str = "gateway.log") -> str:
        try:
            return (self.path / name).read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def until(self, found, what: str):
        """Waits until `found` returns something, and returns it."""
        limit = time.monotonic() + PATIENCE
        while not (result := found()):
            if time.monotonic() > limit:
                raise TimeoutError(f"{what}\n{self.log()[-3000:]}")
            time.sleep(0.01)
        return result

    def logged(self, text: str, count: int = 1, log: str = "gateway.log") -> None:
        self.until(lambda: self.log(log).count(text) >= count, f"no \"{text}\" logged in {log}")

    def end(self) -> None:
        for program in self.running:
            program.kill()
            program.wait()
        self.folder.cleanup()
