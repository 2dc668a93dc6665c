"""A backend for bleak without bluetoothd and D-Bus: `AttoClient` and `AttoScanner`.

`python -m atto.bleak PROGRAM [ARGUMENTS]` runs a bleak program with this backend as the default one, and
`python -m atto.bleak -m MODULE [ARGUMENTS]` a module.
"""

from __future__ import annotations

import os
import runpy
import sys
from typing import Any, cast

import bleak

from .client import AttoClient
from .scanner import AttoScanner

__all__ = ["AttoClient", "AttoScanner"]


def install() -> None:
    """Makes this the default backend of bleak in this process."""
    module = cast(Any, bleak)
    module.get_platform_client_backend_type = lambda: (AttoClient, AttoClient.__name__)
    module.get_platform_scanner_backend_type = lambda: (AttoScanner, AttoScanner.__name__)


def main() -> None:
    words = sys.argv[1:]
    is_module = words[:1] == ["-m"]
    sys.argv = words[is_module:]
    if not sys.argv:
        sys.exit("usage: python -m atto.bleak PROGRAM|-m MODULE [ARGUMENTS]")
    install()
    if is_module:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
        runpy.run_path(sys.argv[0], run_name="__main__")
