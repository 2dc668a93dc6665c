"""Runs a bleak program with this backend."""

from . import main

main()
