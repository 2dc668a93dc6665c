"""A backend for bleak without bluetoothd and D-Bus: `AttoClient` and `AttoScanner`.

`python -m atto.bleak PROGRAM [ARGUMENTS]` runs a bleak program with this backend as the default one.
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
    if len(sys.argv) < 2:
        sys.exit("usage: python -m atto.bleak PROGRAM [ARGUMENTS]")
    install()
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")
