"""Programs of the tests in the background, and what is waited for."""

import pathlib
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Support"))
from listening import listens  # noqa: E402

PATIENCE = 60


def wait_for(holds) -> bool:
    end = time.monotonic() + PATIENCE
    while not (found := holds()) and time.monotonic() < end:
        time.sleep(0.01)
    return bool(found)


class Running:
    """A server in the background, which listens at `path` when this returns."""

    def __init__(self, words, path, environment, stderr=subprocess.DEVNULL):
        self.process = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=stderr, stdin=subprocess.DEVNULL, env=environment)
        wait_for(lambda: listens(path) or self.process.poll() is not None)

    def end(self):
        self.process.terminate()
        self.process.wait()
