"""The client commands that meet each server, with arguments after the endpoint."""

KEY = "611B64EBFBCD1FD372EC9196DF425E50"
TRANSCRIPT = """\
# HOSTILE/one  reads and writes
> 0a 04 00
< 0b ...
> 12 08 00 02
< 13

# HOSTILE/two  nothing comes
silence 20ms
"""

# The words of each command; {folder} is a folder of its own.
COMMANDS = {
    "discover": ["discover"],
    "discover --mtu": ["discover", "--mtu", "517", "--json"],
    "discover --cache": ["discover", "--cache"],
    "discover --values": ["discover", "--values", "--save-profile", "{folder}/clone.json"],
    "services": ["services"],
    "services --uuid": ["services", "--uuid", "180d"],
    "includes": ["includes", "0x0001-0xFFFF"],
    "characteristics": ["characteristics", "0x0001-0xFFFF"],
    "descriptors": ["descriptors", "0x0001-0xFFFF"],
    "read": ["read", "4"],
    "read --json": ["read", "4", "--json", "--trace"],
    "read --offset": ["read", "4", "--offset", "3"],
    "read --long": ["read", "4", "--long"],
    "read several": ["read", "4", "8"],
    "read --variable": ["read", "4", "8", "--variable"],
    "read --uuid": ["read", "--uuid", "2a37"],
    "read by UUID": ["read", "2A37@180D", "8", "--decode", "--variable"],
    "write": ["write", "4", "0102"],
    "write --no-response": ["write", "4", "0102", "--no-response"],
    "write --signed": ["write", "4", "0102", "--signed", "--key", KEY, "--counter", "1"],
    "write --long": ["write", "4", "00" * 40, "--long"],
    "write --reliable": ["write", "--reliable", "4", "01", "8", "02"],
    "subscribe": ["subscribe", "4", "--count", "2", "--for", "0.2"],
    "subscribe several": ["subscribe", "4", "2A37", "--time", "--for", "0.2"],
    "subscribe --indicate": ["subscribe", "4", "--indicate", "--cccd", "5", "--for", "0.1"],
    "subscribe --mtu": ["subscribe", "4", "--mtu", "65535", "--for", "0.2"],
    "raw": ["raw", "0a0400", "520400ff", "ff00", "", "--for", "0.1"],
    "raw --mtu": ["raw", "0a0400", "--mtu", "185", "--json"],
    "play": ["play", "{folder}/play.att"],
    "bench read": ["bench", "--test", "read,ping", "--for", "0.1", "--warm-up", "0"],
    "bench notify": ["bench", "--test", "notify", "--for", "0.1", "--warm-up", "0"],
    "bench discover": ["bench", "--test", "discover", "--count", "3", "--warm-up", "0", "--json"],
    "conform": ["conform", "--allow-writes"],
    "fuzz": ["fuzz", "--count", "20", "--allow-writes", "--catalogue", "empty"],
}
# Seconds for a response; only some commands have the option's common meaning.
TIMEOUT = 0.12
# Seconds for a command as a whole, more where a lawful database is large.
MAX_TIME = 0.5


def words(name, endpoint, folder, max_time):
    command = [word.format(folder=folder) for word in COMMANDS[name]]
    return [command[0], endpoint, *command[1:], "--timeout", str(TIMEOUT), "--max-time", str(max_time)]
