"""The examples of the package's README."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import PATIENCE

README = pathlib.Path(__file__).resolve().parents[3] / "Sources" / "Python" / "README.md"
EXAMPLES = re.findall(
    r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number, strap, tmp_path):
    program, output = EXAMPLES[number]
    name = re.match(r"# (test_\w+\.py)", program)
    file = tmp_path / (name[1] if name else "program.py")
    file.write_text(program, encoding="utf-8")
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if name else []
    done = subprocess.run(
        [sys.executable, *command, str(file)], capture_output=True, text=True, timeout=PATIENCE,
        cwd=tmp_path, env=dict(os.environ))
    assert done.returncode == 0, done.stdout + done.stderr
    if name:
        assert "1 passed" in done.stdout
    else:
        assert (done.stdout, done.stderr) == (output, "")


def test_there_are_examples():
    assert len(EXAMPLES) >= 5
