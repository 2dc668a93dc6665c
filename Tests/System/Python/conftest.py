"""Fixtures and helpers of the package's tests."""

import asyncio
import os
import pathlib
import signal

import pytest

import atto

FIXTURES = pathlib.Path(__file__).resolve().parents[3] / "Fixtures"
HEART_RATE = FIXTURES / "heart-rate.json"
# Seconds until something counts as hanging.
PATIENCE = 300


def value(uuid, *properties, **more):
    return {"uuid": uuid, "properties": list(properties), **more}


def profile(*characteristics, **more):
    return {"services": [{"uuid": "A000", "characteristics": list(characteristics)}], **more}


def children():
    """The processes of atto that this one has started and that have not ended."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text(errors="replace").rpartition(") ")
        except OSError:
            continue
        fields = rest.split()
        if int(fields[1]) == os.getpid() and fields[0] not in "ZX" and "(atto" in name:
            found.append(int(stat.parent.name))
    return found


def run(body):
    """Runs a coroutine to its end, within the patience."""
    async def limited():
        async with asyncio.timeout(PATIENCE):
            return await body
    return asyncio.run(limited())


@pytest.fixture(autouse=True)
def nothing_is_left(atto_air):
    """No process of atto outlives its test."""
    yield
    left = children()
    for process in left:
        os.kill(process, signal.SIGKILL)
    assert not left


@pytest.fixture
def strap(atto_server):
    """A heart rate strap on the test's air."""
    return atto_server(HEART_RATE, "air:Strap")
