"""--subrate and --frame-space: what the controller is asked, how its answers are told, and what the kernel lets
through of its events."""
import re

from monitor import Monitor
from peers import *

MASK = re.compile(r"LE Set Event Mask \(0x08\|0x0001\) plen 8.*?Mask: (0x[0-9a-f]+)", re.DOTALL)


def asked(trace: Monitor, path: str) -> str:
    trace.save(path)
    return run(["btmon", "-r", path]).output


trace = Monitor()
with BumbleAir(1, "--subrating", host=True) as air:
    # The kernel's own mask, from when the adapter was set up.
    mask = MASK.search(asked(trace, "/run/setup.snoop"))
    check(mask is not None, "no event mask was set")
    print("LE event mask", mask[1], "with LE Subrate Change" if int(mask[1], 16) >> 34 & 1 else "without LE Subrate Change")

    # Bumble's controllers send their event, masked or not.
    told = atto("read", air.endpoint(None, 0), "0x0003", "--subrate", "2", "--continuation", "1", "--link-info").errors
    print(told)
    check("subrate: 2 asked for, 2 in use" in told, told)
    check("subrate 2, continuation 1" in told, told)
    control.await_no_connections()
    seen = asked(trace, "/run/subrate.snoop")
    for part in (r"LE Read Local Supported Features", r"LE Set Host Feature \(0x08\|0x0074\)",
                 r"LE Subrate Request|\(0x08\|0x007e\)"):
        check(re.search(part, seen), part, seen[-3000:])

    # The model of the link has it.
    row = atto("bench", air.endpoint(None, 0), "--test", "read", "--count", 5, "--warm-up", 0, "--subrate", 2,
               "--json").objects()[0]
    print(row["link"])
    check("subrate=2" in row["link"]["parameters"], row)
    control.await_no_connections()

    # A range, of which the controllers choose one; what the controller cannot do.
    told = atto("read", air.endpoint(None, 0), "0x0003", "--subrate", "2-10").errors
    check("subrate: 2-10 asked for, 2 in use" in told, told)
    control.await_no_connections()
    # Past the limit of factor and latency, which this controller checks.
    said = atto("read", air.endpoint(None, 0), "0x0003", "--subrate", "400", "--latency", "2", status=3).errors
    print(said)
    check("cannot subrate the link: the controller does not take these parameters" in said, said)
    control.await_no_connections()
    # Bumble 0.0.236 does not answer commands that it does not carry out.
    said = atto("read", air.endpoint(None, 0), "0x0003", "--frame-space", "60us", status=3).errors
    print(said)
    check("cannot change the frame space of the link: the controller did not answer" in said, said)
    control.await_no_connections()

# A controller without subrating.
with Server("heart-rate", listen="le:@hci1"):
    said = atto("read", endpoint(), "0x0003", "--subrate", "4", status=3).errors
    print(said)
    check("subrating: the controller of hci0 does not have it" in said, said)
    said = atto("read", endpoint(), "0x0003", "--frame-space", "60us", status=3).errors
    print(said)
    check("cannot change the frame space of the link: the controller does not have this command" in said, said)
    reset()

    # Without the right to send commands.
    program = "/run/tmp/atto-of-nobody"
    run(["cp", ATTO, program])
    os.chmod(program, 0o755)
    os.chmod("/run/tmp", 0o755)
    said = run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "read", endpoint(), "0x0003",
                "--subrate", "4"], status=3).errors
    print(said)
    check("CAP_NET_RAW" in said, said)
