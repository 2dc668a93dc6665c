"""The gateway's service as systemd runs it, with a broker, in a system that is booted in a container."""

import json
import re

from system import Image, System, call

# What the service uses, and what it is tried with.
IMAGE = Image(installed=(
    "libmosquitto1", "libsodium23", "libsqlite3-0", "mosquitto", "mosquitto-clients", "procps", "python3", "systemd"))
CONFIGURATION = {
    "name": "hall", "adapters": ["air"], "mqtt": {"url": "mqtt://127.0.0.1"}, "metrics": "127.0.0.1:9100",
    "devices": [{"name": "strap", "match": {"localName": "Atto Strap"}, "subscribe": ["2A37"]}]}
DROP_IN = "[Service]\nEnvironment=ATTO_AIR=/run/air\nReadWritePaths=/run/air\n"
TRIAL = """[Service]
ExecStart=/bin/sh /trial
ExecStopPost=/bin/systemctl --no-block poweroff
[Install]
WantedBy=multi-user.target
"""
# What both scripts begin with.
STEPPING = r"""
exec > /said 2>&1
step() { echo "step: $1"; }
broker() { pgrep -f -- --broker-connection; }
values() { timeout 60 mosquitto_sub -h 127.0.0.1 -t atto/hall/strap/2a37 -C 2 -F %p; }
"""
# Each line `step: NAME` is followed by what its command has printed, which a pattern of STEPS matches.
SCRIPT = r"""
main() { systemctl show -p MainPID --value atto-gateway; }
install -d -m 700 -o atto-gateway /run/air
systemctl start mosquitto
step start; systemctl start atto-gateway && systemctl is-active atto-gateway; first=$(main)
systemd-run --quiet --unit strap --uid=atto-gateway -E ATTO_AIR=/run/air \
  /usr/bin/atto serve /usr/share/doc/atto/examples/heart-rate.json --listen air:Strap
step values; values
step filter; grep Seccomp: /proc/$first/status
step privileges; grep CapEff /proc/$(broker)/status
step processes; nsenter --target "$first" --mount setpriv --reuid atto-gateway --clear-groups cat /proc/1/comm
step reload; systemctl reload atto-gateway; values; [ "$(main)" = "$first" ] && echo same process
killed=$(broker)
step broker; kill -KILL $killed; until [ -n "$(broker)" ] && [ "$(broker)" != "$killed" ]; do sleep 0.1; done
values; [ "$(main)" = "$first" ] && echo same process
step state; find /var/lib/atto-gateway/ -name '*.sqlite' -printf '%f %m %u\n'
step restart; systemctl restart atto-gateway; values; [ "$(main)" != "$first" ] && echo another process
crashed=$(main)
step crash; kill -SEGV $crashed
until [ "$(main)" != $crashed ] && systemctl --quiet is-active atto-gateway; do sleep 0.1; done
values
step stop; systemctl stop atto-gateway; systemctl show atto-gateway -p Result
step log; journalctl -b -u atto-gateway --no-pager -o cat
step end
"""
# The same without systemd: the gateway as its unit starts it, by its user, with its folders.
BY_HAND = r"""
as_gateway() { exec setpriv --reuid atto-gateway --regid atto-gateway --init-groups env ATTO_AIR=/run/air \
  STATE_DIRECTORY=/var/lib/atto-gateway RUNTIME_DIRECTORY=/run/atto-gateway "$@"; }
install -d -m 700 -o atto-gateway /run/air
install -d -m 700 -o atto-gateway -g atto-gateway /var/lib/atto-gateway /run/atto-gateway
mosquitto > /dev/null 2>&1 & mosquitto=$!
step check; atto-gateway --check /etc/atto/gateway.json && echo right
(as_gateway atto serve /usr/share/doc/atto/examples/heart-rate.json --listen air:Strap) > /dev/null 2>&1 & strap=$!
(as_gateway atto-gateway /etc/atto/gateway.json) > /log 2>&1 & gateway=$!
step values; values
step status; atto-gateway status
step reload; kill -HUP $gateway; values
killed=$(broker)
step broker; kill -KILL $killed; until [ -n "$(broker)" ] && [ "$(broker)" != "$killed" ]; do sleep 0.1; done
values
step state; find /var/lib/atto-gateway/ -name '*.sqlite' -printf '%f %m %u\n'
step stop; kill $gateway; wait $gateway; echo status $?
kill $strap $mosquitto; wait
step log; cat /log
step end
"""
VALUE = r"\{.*\"value\":\"0048\".*\}\n"
STEPS = {
    "start": r"active\n",
    "values": VALUE * 2,
    "filter": r"Seccomp:\t2\n",
    "privileges": r"CapEff:\t0+\n",
    # It must find bluetoothd.
    "processes": "systemd\n",
    "reload": VALUE * 2 + "same process\n",
    "broker": VALUE * 2 + "same process\n",
    "state": r"(\w+\.sqlite 600 atto-gateway\n){2}",
    "restart": VALUE * 2 + "another process\n",
    "crash": VALUE * 2,
    "stop": "Result=success\n",
    "log": r"(?s)(?!.*(?i:denied|not permitted|cannot)).*the configuration was read again.*",
}
BY_HAND_STEPS = {
    "check": r"(?s).*right\n",
    "values": VALUE * 2,
    "status": r"(?s).*strap.*",
    "reload": VALUE * 2,
    "broker": VALUE * 2,
    "state": STEPS["state"],
    "stop": "status 0\n",
    "log": STEPS["log"],
}


def configure(system: System) -> None:
    system.path("/etc/atto/gateway.json").write_text(json.dumps(CONFIGURATION))


def judge(system: System, steps: dict, check, printed: str) -> None:
    """Compares what the script has said of its steps."""
    said = system.path("/said").read_text(errors="replace") if system.path("/said").exists() else ""
    found = dict(re.findall(r"^step: (\w+)\n(.*?)(?=^step: )", said, re.M | re.S))
    if not found:
        check("the service starts", False, printed)
    for name, wanted in steps.items():
        check(f"the service: {name}", re.fullmatch(wanted, found.get(name, "")),
              f"{found.get(name)!r}; log: {found.get('log')}")


def try_by_hand(system: System, check) -> None:
    """Starts the gateway in a system in which the packages are installed, and which is not booted."""
    configure(system)
    # Not as words of a shell, among which its search for a process would find itself.
    system.path("/trial").write_text(STEPPING + BY_HAND)
    ran = system.run("sh /trial")
    judge(system, BY_HAND_STEPS, check, ran.stdout + ran.stderr)


def try_service(system: System, check) -> None:
    """Boots a system in which the packages are installed."""
    configure(system)
    units = system.path("/etc/systemd/system")
    for name, text in (("atto-gateway.service.d/air.conf", DROP_IN), ("trial.service", TRIAL)):
        (units / name).parent.mkdir(exist_ok=True)
        (units / name).write_text(text)
    (units / "multi-user.target.wants").mkdir(exist_ok=True)
    (units / "multi-user.target.wants" / "trial.service").symlink_to("/etc/systemd/system/trial.service")
    system.path("/trial").write_text(STEPPING + SCRIPT)
    booted = call(
        "systemd-nspawn", "--quiet", "--directory", system.root, "--boot", "--private-network", "--register=no",
        "--keep-unit", "--console=pipe")
    judge(system, STEPS, check, booted.stdout[-3000:] + booted.stderr)
