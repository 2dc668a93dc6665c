"""What a test leaves is found, named and undone: the check of the suite after each test (state.py)."""
from peers import *

before = state.State(control)
check(not state.State(control).differences(before), "a machine at rest differs from itself")

latency = state.DEBUG / "bluetooth/hci1/conn_latency"
parameter = next(path for path in sorted(state.PARAMETERS.glob("*")) if state.text(path) in ("Y", "N"))
sleeper = subprocess.Popen(["sleep", "1000"])
control.switch(0, "bondable", False)
control.advertise(1)
latency.write_text("7")
parameter.write_text("N" if state.text(parameter) == "Y" else "Y")
run(["mount", "-t", "tmpfs", "left", "/mnt"])
try:
    found = state.State(control).differences(before)
    # Ends what is advertised.
    state.rfkill(True)
    found += state.State(control).differences(before)
finally:
    state.restore(control, before)
print("\n".join(found))
for name in ("process ", "hci0: settings", "hci1: advertising instances", "hci1: conn_latency: 7", "mounts",
             "parameters", "rfkill"):
    check(any(line.startswith(name) for line in found), name, found)
# The process that was killed is this test's, which has to take note of its end.
sleeper.wait(PATIENCE)
left = state.State(control).differences(before)
check(not left, left)
