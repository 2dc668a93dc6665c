"""Runs the Python code of the page about Scapy.

    scapy_recipe.py client|server PATH

PATH takes the place of the page's endpoint. Run by the interpreter that has Scapy.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "Sources" / "Tools" / "atto" / "atto.docc" / "Scapy.md"


def main() -> None:
    part, path = sys.argv[1:]
    blocks = re.findall(r"```python\n(.*?)```\n", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    the_socket, client, server = blocks
    code = the_socket + {"client": client, "server": server}[part]
    code, count = re.subn(r'"/tmp/\w+"', repr(path), code)
    assert count == 1, f"{count} endpoints in the page"
    sys.stdout.reconfigure(line_buffering=True)
    exec(compile(code, str(PAGE), "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    main()
