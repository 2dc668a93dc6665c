"""The folder that keeps what the tests download."""

import os
import pathlib


def cache_folder() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "atto"
