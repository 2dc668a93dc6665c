"""The state of the machine that a test must leave as it found it."""

import os
import signal
import struct
import subprocess
import time
from pathlib import Path

import mgmt
from mgmt import MgmtError

# Not where Atto looks for it: most machines have it, but only root may read it.
DEBUG = Path("/run/debug")
# What debugfs and the kernel's module let a test change.
DEFAULTS = [
    "conn_min_interval", "conn_max_interval", "conn_latency", "supervision_timeout",
    "adv_min_interval", "adv_max_interval"]
KEYS = ["long_term_keys", "identity_resolving_keys"]
PARAMETERS = Path("/sys/module/bluetooth/parameters")
SETTINGS = [
    "powered", "connectable", "fast-connectable", "discoverable", "bondable", "link-security",
    "ssp", "br/edr", "high-speed", "le", "advertising", "secure-connections", "debug-keys",
    "privacy", "configuration", "static-address", "phy-configuration"]
RFKILL_CHANGE_ALL, RFKILL_BLUETOOTH = 3, 2
# Seconds. A test that sets the clock sets it back within far less.
CLOCK_TOLERANCE = 10


def text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def mount_debugfs() -> None:
    DEBUG.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "debugfs", "debugfs", str(DEBUG)], check=True)


def rfkill(is_blocked: bool) -> None:
    """Blocks or unblocks all adapters."""
    with open("/dev/rfkill", "wb", buffering=0) as switch:
        switch.write(struct.pack("<IBBBB", 0, RFKILL_BLUETOOTH, RFKILL_CHANGE_ALL, is_blocked, 0))


def processes() -> dict[int, str]:
    """The processes that are neither the kernel's nor about to end: their states and names."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        name, _, rest = text(path / "stat").partition(") ")
        if rest and rest[0] not in "ZX" and text(path / "cmdline"):
            found[int(path.name)] = f"{name.partition('(')[2]} {'stopped' if rest[0] in 'Tt' else 'runs'}"
    return found


class State:
    """What was found. Each item has a name for messages."""

    def __init__(self, control: mgmt.Mgmt):
        self.adapters = sorted(control.indexes())
        self.processes = processes()
        self.parameters = {path.name: text(path) for path in sorted(PARAMETERS.glob("*"))}
        self.rfkill = {
            text(path / "name"): text(path / "soft") for path in Path("/sys/class/rfkill").glob("*")
            if text(path / "type") == "bluetooth"}
        self.mounts = text(Path("/proc/self/mounts")).splitlines()
        self.namespaces = sorted(path.name for path in Path("/run/netns").glob("*"))
        # Of the wall clock from that which nobody sets.
        self.clock = time.time() - time.monotonic()
        self.items = {}
        for index in self.adapters:
            for name, value in adapter(control, index).items():
                self.items[f"hci{index}: {name}"] = value

    def differences(self, before: "State") -> list[str]:
        """What a test has left, for a message."""
        found = []
        for process in self.processes.keys() | before.processes.keys():
            now, then = self.processes.get(process), before.processes.get(process)
            if now != then:
                found.append(f"process {process}: {now or then + ', and now it has ended'}")
        for name in ("adapters", "rfkill", "parameters", "mounts", "namespaces"):
            now, then = getattr(self, name), getattr(before, name)
            if now != then:
                found.append(f"{name}: {now} rather than {then}")
        if abs(self.clock - before.clock) > CLOCK_TOLERANCE:
            found.append(f"the wall clock: off by {self.clock - before.clock:+.0f} s")
        for name in self.items.keys() & before.items.keys():
            if self.items[name] != before.items[name]:
                found.append(f"{name}: {self.items[name]} rather than {before.items[name]}")
        return sorted(found)


def adapter(control: mgmt.Mgmt, index: int) -> dict[str, object]:
    folder = DEBUG / "bluetooth" / f"hci{index}"
    bits, = struct.unpack("<I", control.command(mgmt.READ_INFO, index)[13:17])
    found: dict[str, object] = {
        "settings": [name for bit, name in enumerate(SETTINGS) if bits >> bit & 1],
        "links": len(control.connections(index)),
        "advertising instances": list(control.command(mgmt.READ_ADVERTISING_FEATURES, index)[8:])}
    for name in KEYS:
        found[name.replace("_", " ")] = len(text(folder / name).splitlines())
    for name in DEFAULTS:
        found[name] = text(folder / name)
    for name, opcode in (("defaults", mgmt.READ_DEFAULTS), ("monitors", mgmt.READ_MONITORS)):
        try:
            found[name] = control.command(opcode, index).hex()
        except MgmtError:
            pass  # Not on this kernel.
    return found


def restore(control: mgmt.Mgmt, before: State) -> None:
    """Undoes what can be undone. The caller looks whether that was all."""
    for process, said in processes().items():
        if process not in before.processes:
            os.kill(process, signal.SIGKILL)
        elif said != before.processes[process]:
            os.kill(process, signal.SIGCONT)
    rfkill(False)
    if abs(time.time() - time.monotonic() - before.clock) > CLOCK_TOLERANCE:
        time.clock_settime(time.CLOCK_REALTIME, time.monotonic() + before.clock)
    for name, value in before.parameters.items():
        if text(PARAMETERS / name) != value:
            (PARAMETERS / name).write_text(value)
    for line in text(Path("/proc/self/mounts")).splitlines():
        if line not in before.mounts:
            subprocess.run(["umount", "--lazy", line.split()[1]])
    control.await_adapters(before.adapters)
    for index in before.adapters:
        for name in DEFAULTS:
            value = before.items[f"hci{index}: {name}"]
            path = DEBUG / "bluetooth" / f"hci{index}" / name
            if value and text(path) != value:
                path.write_text(value)
        control.setup(index)
        control.forget_all(index)
        control.stop_advertising(index)
        if defaults := before.items.get(f"hci{index}: defaults"):
            control.command(mgmt.SET_DEFAULTS, index, bytes.fromhex(defaults))
