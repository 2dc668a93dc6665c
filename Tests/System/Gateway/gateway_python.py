"""The interpreter that has the gateway's clients, in a virtual environment in the cache folder."""

import os
import pathlib
import subprocess
import sys
import venv

FOLDER = pathlib.Path(__file__).resolve().parent


def python() -> str:
    """The interpreter that has the packages of requirements.txt."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    interpreter = cache / "atto" / "gateway-venv" / "bin" / "python"
    requirements = FOLDER / "requirements.txt"
    pinned = [line.split("==") for line in requirements.read_text().split()]
    probe = "import importlib.metadata as m\n" + "".join(
        f"assert m.version({name!r}) == {version!r}\n" for name, version in pinned)
    if interpreter.exists():
        found = subprocess.run([interpreter, "-c", probe], capture_output=True)
        if found.returncode == 0:
            return str(interpreter)
    print(f"creating a virtual environment with {pinned}", file=sys.stderr)
    venv.create(interpreter.parent.parent, with_pip=True)
    subprocess.run(
        [interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        + ["--requirement", requirements],
        check=True, timeout=600)
    return str(interpreter)
