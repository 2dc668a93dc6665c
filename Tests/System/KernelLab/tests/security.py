"""A link is encrypted where both ends have an agent, and refused clearly where not."""
from peers import *

with Server("edges") as server:
    # 0x010A requires encryption to be read.
    refused = atto("read", endpoint(), "0x010A", status=1)
    check("Insufficient" in refused.errors, refused)
    agent = Process(sys.executable, "-B", mgmt.__file__, "agent")
    agent.line()
    found = atto("read", endpoint(), "0x010A", "--security", "medium", "--json", status=None)
    print(found, agent.lines.qsize())
    check(found.status == 0 and found.objects()[0]["value"] == "14", found)
    reset()
    # Paired, it takes the stored key, without questions.
    agent.end()
    found = atto("read", endpoint(), "0x010A", "--security", "medium", "--json")
    check(found.objects()[0]["value"] == "14", found)
