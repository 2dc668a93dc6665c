"""The folder that keeps what the tests download."""

import os
import pathlib
import shutil
from collections.abc import Callable


def cache_folder() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "atto"


def kept(root: pathlib.Path, fetch: Callable[[pathlib.Path], None], renews: bool = False) -> pathlib.Path:
    """A folder of the cache, made by `fetch` if it is not there or if it is renewed."""
    if renews or not root.exists():
        part = root.with_name(f"{root.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        fetch(part)
        shutil.rmtree(root, ignore_errors=True)
        part.rename(root)
    return root
