"""Symbol graphs of the public interfaces: of Swift modules that are built, and of the C library."""

import json
import pathlib
import platform
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = [ROOT / "Sources" / "C" / "include" / name for name in ("atto.h", "atto_linux.h")]


def call(command: list) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed for {command[-1]}:\n{done.stdout}{done.stderr}")


def extract(build: pathlib.Path, module: str, folder: pathlib.Path) -> None:
    """Writes the symbol graphs of a module, whose compiled form is in build/Modules, into a folder."""
    command = [
        "swift", "symbolgraph-extract", "-I", build / "Modules",
        "-target", f"{platform.machine()}-unknown-linux-gnu", "-minimum-access-level", "public",
        "-output-dir", folder,
    ]
    for path in [*(ROOT / "Sources").rglob("module.modulemap"),
                 *build.glob("C*.build/module.modulemap")]:
        command += ["-Xcc", f"-fmodule-map-file={path}"]
    call([*command, "-module-name", module])


def extract_library(folder: pathlib.Path) -> None:
    """Writes the symbol graph of the C library, whose comments are ordinary ones."""
    call([ROOT / "Sources" / "toolchain", "clang", "-extract-api", "-fparse-all-comments",
          "--product-name=libatto", "-x", "c-header", f"--target={platform.machine()}-unknown-linux-gnu", *HEADERS,
          "-o", folder / "libatto.symbols.json"])
    # docc lists each language's symbols apart, behind a switch. A reader wants one list.
    path = folder / "libatto.symbols.json"
    graph = json.loads(path.read_text(encoding="utf-8"))
    # A macro that passes the caller's sizes is called as its function is, which has the page.
    functions = {symbol["names"]["title"] for symbol in graph["symbols"]
                 if symbol["kind"]["identifier"].endswith("func")}
    graph["symbols"] = [symbol for symbol in graph["symbols"]
                        if not symbol["kind"]["identifier"].endswith("macro")
                        or symbol["names"]["title"] not in functions]
    for symbol in graph["symbols"]:
        symbol["identifier"]["interfaceLanguage"] = "swift"
    path.write_text(json.dumps(graph), encoding="utf-8")


def names(folder: pathlib.Path) -> dict:
    """The top-level symbols of each module whose graphs are in a folder."""
    found = {}
    for path in sorted(folder.glob("*.symbols.json")):
        if "@" not in path.name:
            graph = json.loads(path.read_text(encoding="utf-8"))
            found[graph["module"]["name"]] = {
                symbol["pathComponents"][0] for symbol in graph["symbols"]}
    return found


def library_topics() -> str:
    """The symbols of the C library under the headings of its headers, as DocC's topics."""
    lines = ["## Topics", ""]
    for header in HEADERS:
        # A heading is a comment such as /* ---- Clients ---- */.
        parts = re.split(r"/\* -{4} (.*?) -{4}", header.read_text(encoding="utf-8"))
        for heading, text in zip(["Devices and sockets", *parts[1::2]], parts[::2]):
            code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
            names = re.findall(r"^\w[\w *]*?\b(atto_\w+)\(", code, re.MULTILINE)
            names += re.findall(r"^} (\w+);|^ +(ATTO_\w+)\b", code, re.MULTILINE)
            names = [name if isinstance(name, str) else "".join(name) for name in names]
            if names:
                lines += [f"### {heading}", "", *(f"- ``{name}``" for name in dict.fromkeys(names)), ""]
    return "\n".join(lines)
