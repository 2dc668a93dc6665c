"""The doctor tells the truth: in order, switched off, blocked, without rights, in another network,
without adapters, with bluetoothd, behind a filter; and other commands send people to it."""
import errno
import shutil

from enhanced import BT_MODE, EXT_FLOWCTL, PARAMETER, SOL_BLUETOOTH
from peers import *

BT_PHY, SO_TIMESTAMPING, TX_COMPLETION = 14, 37, 1 << 18


def doctor(*before, status=0) -> dict[str, list[dict]]:
    """What the doctor says, by name of the check."""
    outcome = run([*before, ATTO, "doctor", "--json"], status)
    found: dict[str, list[dict]] = {}
    for line in outcome.objects():
        found.setdefault(line["check"], []).append(line)
    print(" ".join(before) or "plainly", [
        (line["mark"], line["check"], line.get("adapter", ""))
        for lines in found.values() for line in lines if line["mark"] != "ok"])
    return found


def only(found: dict, name: str, adapter: str | None = None) -> dict:
    lines = [line for line in found.get(name, []) if adapter in (None, line.get("adapter"))]
    check(len(lines) == 1, name, found)
    return lines[0]


NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

# In order: nothing is a problem. This suite has a management socket of its own.
found = doctor()
check(not any(line["mark"] == "problem" for lines in found.values() for line in lines), found)
check([line["adapter"] for line in found["adapter"]] == ["hci0", "hci1", "hci2", "hci3"], found)
check(only(found, "bluetooth")["mark"] == "ok" and "hci_vhci" in only(found, "bluetooth")["text"])
check(only(found, "rfkill", "hci1")["mark"] == "ok", found)
check("python3" in only(found, "programs")["text"] and only(found, "programs")["mark"] == "warn",
      found)
check("btmon" not in only(found, "programs")["text"], found)
check(only(found, "bluetoothd")["mark"] == "ok", found)
check(only(found, "receive-buffer")["mark"] == "ok", found)
text = [line for line in atto("doctor").output.splitlines() if not line.startswith("  fix: ")]
check(text[0].split()[1] == "kernel" and f"Linux {os.uname().release}" in text[0], text)
check(all(line.split()[0] in ("ok", "warn", "problem") for line in text), text)

# The default supervision timeout, and another one.
timeout = state.DEBUG / "bluetooth/hci1/supervision_timeout"
before = timeout.read_text()
check("after 420 ms" in only(found, "supervision", "hci1")["text"], found)
check("supervision_timeout" in only(found, "supervision", "hci1")["remedy"], found)
try:
    timeout.write_text("200")
    changed = only(doctor(), "supervision", "hci1")
    check("after 2000 ms" in changed["text"] and not changed.get("remedy"), changed)
finally:
    timeout.write_text(before)

# What the kernel offers, as a plain socket finds it.
with socket.socket(mgmt.AF_BLUETOOTH, socket.SOCK_SEQPACKET, 0) as plain:
    def accepts(level: int, option: int, value: bytes) -> bool:
        try:
            plain.setsockopt(level, option, value)
        except OSError as failure:
            # An option of Bluetooth that there is is refused, as the socket is not bound.
            return level == SOL_BLUETOOTH and failure.errno != errno.ENOPROTOOPT
        return True

    features = only(found, "features")["text"]
    print(features)
    stamps = accepts(socket.SOL_SOCKET, SO_TIMESTAMPING, struct.pack("@i", TX_COMPLETION))
    check(("received and sent PDUs" in features) == stamps, features)
    enhanced = accepts(SOL_BLUETOOTH, BT_MODE, bytes([EXT_FLOWCTL]))
    check(("(EATT) on" in features) == enhanced, features)
    phy = accepts(SOL_BLUETOOTH, BT_PHY, struct.pack("@I", 0x600))
    check(("a choice of the PHY" in features) == phy, features)
if enhanced:
    try:
        PARAMETER.write_text("0")
        switched_off = only(doctor(), "features")
        check(switched_off["mark"] == "warn" and "(EATT) off" in switched_off["text"], switched_off)
        # The remedy, word for word.
        run(["sh", "-c", switched_off["remedy"].split(",")[0].replace("sudo ", "")])
        check("(EATT) on" in only(doctor(), "features")["text"])
    finally:
        PARAMETER.write_text("1")

# Switched off: one of several is a warning, all are a problem.
with contextlib.ExitStack() as switched:
    switched.enter_context(off(0))
    power = only(doctor(), "power", "hci0")
    check(power["mark"] == "warn" and power["remedy"] == "atto adapters hci0 --power on", power)
    for index in (1, 2, 3):
        switched.enter_context(off(index))
    check(only(doctor(status=4), "power", "hci3")["mark"] == "problem")
    for words in (["scan", "le:@hci9"], ["read", endpoint(), "1", "--timeout", "2"]):
        check("atto doctor" in atto(*words, status=3).errors, words)
    # The remedy that was named mends it.
    for index in range(4):
        atto("adapters", f"hci{index}", "--power", "on")
    doctor()

# LE off.
try:
    control.switch(0, "power", False)
    control.switch(0, "bredr", True)
    control.switch(0, "le", False)
    le = only(doctor(), "le", "hci0")
    check(le["mark"] == "warn" and "--power on" in le["remedy"], le)
finally:
    control.setup(0)

# Blocked by software.
with blocked():
    found = doctor(status=4)
    for index in range(4):
        blocked = only(found, "rfkill", f"hci{index}")
        check(blocked["mark"] == "problem" and "rfkill unblock bluetooth" in blocked["remedy"], blocked)
        check("unblock it first" in only(found, "power", f"hci{index}")["remedy"], found)
    refused = atto("adapters", "hci0", "--power", "on", status=3)
    check("rfkill unblock" in refused.errors and "atto doctor" in refused.errors, refused)
    # The remedy's second form, word for word.
    remedy = only(found, "rfkill", "hci0")["remedy"].split("or: ")[1].replace("sudo ", "")
    run(["sh", "-c", remedy])
    check(only(doctor(status=4), "rfkill", "hci0")["mark"] == "ok")
doctor()

# Taken by a program that drives the controller itself.
HCI_CHANNEL_USER = 1
with off(3), socket.socket(mgmt.AF_BLUETOOTH, socket.SOCK_RAW, mgmt.BTPROTO_HCI) as taken:
    address = struct.pack("<HHH", mgmt.AF_BLUETOOTH, 3, HCI_CHANNEL_USER)
    checked(libc.bind(taken.fileno(), address, len(address)))
    stranger = only(doctor(), "adapter", "hci3")
    check(stranger["mark"] == "warn" and "user channel" in stranger["text"], stranger)
control.setup(3)

# An ordinary user, and one whom a capability of the file would not help.
os.environ["ATTO_AIR"] = "/tmp/air-of-nobody"
program = "/run/tmp/atto-of-nobody"
shutil.copy(ATTO, program)
os.chmod(program, 0o755)
os.chmod("/run/tmp", 0o755)
# Newer kernels have a higher limit.
limit = Path("/proc/sys/net/core/rmem_max")
before = limit.read_text()
try:
    limit.write_text("212992")
    plain = run([*NOBODY, program, "doctor", "--json"], 4)
finally:
    limit.write_text(before)
lines = {line["check"]: line for line in plain.objects()}
check(lines["capability"]["mark"] == "problem", plain)
check(lines["capability"]["remedy"].startswith(f"sudo setcap cap_net_admin+ep {program}"), plain)
check(lines["receive-buffer"]["mark"] == "warn" and "rmem_max" in lines["receive-buffer"]["remedy"],
      plain)
check("processes of other users hold" in lines["programs"]["text"], plain)
refused = run([*NOBODY, program, "scan", "le:@hci0", "--for", "1"], 3)
check("CAP_NET_ADMIN" in refused.errors and "atto doctor" in refused.errors, refused)
held = run([*NOBODY, "--no-new-privs", program, "doctor", "--json"], 4)
check("NoNewPrivs" in held.output and "setcap" not in held.output, held)
# The remedy: the capability of the file.
granted = run([*NOBODY, "--inh-caps=+net_admin", "--ambient-caps=+net_admin",
               program, "doctor", "--json"], 0)
check('"check":"capability","mark":"ok"' in granted.output, granted)
del os.environ["ATTO_AIR"]

# Another network.
found = doctor("unshare", "--net", status=4)
bluetooth = only(found, "bluetooth")
check(bluetooth["mark"] == "problem" and "network namespace" in bluetooth["text"], bluetooth)
check("--network=host" in bluetooth["remedy"], bluetooth)
check("adapter" not in found, found)
outside = run(["unshare", "--net", ATTO, "scan", "le:@hci0"], 3)
check("atto doctor" in outside.errors, outside)
# As in a container, where the first process is one's own.
found = doctor("unshare", "--net", "--pid", "--fork", "--mount-proc", status=4)
check("network namespace" in only(found, "bluetooth")["text"], found)
