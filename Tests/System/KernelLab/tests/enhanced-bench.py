"""atto bench with a procedure in flight on each enhanced bearer."""
from enhanced import require_enhanced_channels
from peers import *

require_enhanced_channels()
with Server("bench", "--bearers", "5", listen="le:@hci1"):
    for bearers in (0, 5):
        row = atto("bench", endpoint(), "--mtu", 247, "--security", "medium", "--bearers", bearers,
                   "--for", "2", "--warm-up", "0.1", "--json").objects()[0]
        print(f"{bearers} enhanced bearers: read {row['rate']:8.1f}/s  "
              f"p50 {row['latencyMicroseconds']['p50']} us")
        check((row.get("bearers", 0), row.get("inFlight", 1)) == (bearers, max(1, bearers)), row)
        check(row["lost"] == 0 and row["count"] > 0, row)
        reset()
