"""The interpreter that has Bumble and Scapy, in a virtual environment in the cache folder."""

import pathlib
import subprocess
import sys
import venv

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "Support"))
import cache  # noqa: E402


def interpreter_path(name: str = "venv") -> pathlib.Path:
    """Its path, before or after it was made."""
    return cache.cache_folder() / name / "bin" / "python"


def python(requirements: pathlib.Path = FOLDER / "requirements.txt", name: str = "venv") -> str:
    """The interpreter that has the packages at the pinned versions, in the environment `name`."""
    interpreter = interpreter_path(name)
    folder = interpreter.parent.parent
    pinned = [line.split("==") for line in requirements.read_text().split()]
    probe = "import importlib.metadata as m\n" + "".join(
        f"assert m.version({name!r}) == {version!r}\n" for name, version in pinned)
    if interpreter.exists():
        found = subprocess.run([interpreter, "-c", probe], capture_output=True)
        if found.returncode == 0:
            return str(interpreter)
    print(f"creating a virtual environment with {pinned}", file=sys.stderr)
    venv.create(folder, with_pip=True)
    subprocess.run(
        [interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        + ["--requirement", requirements],
        check=True,
        timeout=600,
    )
    return str(interpreter)
