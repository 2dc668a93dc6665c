"""Finds paths and symbols that Markdown pages and Swift comments name in backquotes and that do not exist.

A path is a text that ends in .swift, .py, .md, .c or .h, or that begins with a folder of one of these
places: the repository, Sources, Tests, the page's folder, and for a page of a DocC catalog the catalog's
folder. It must exist in one of them. A file name alone must be that of a file anywhere in the
repository. Where the text is a command, each of its words that has a slash is checked.

A symbol is a text such as `Loop`, `sendBuffer`, `Loop.shared` or `pair(with:)`. Each of its names must
occur in code, that is outside of comments and pages, and a type and its member in one file. A function,
initialiser or case must be declared with these labels, perhaps among others. Symbols in double
backquotes are checked in comments only, because docc looks up those of pages.

A link of a page to a file must lead to one; `manuals/` and `python/` are folders of the site.
"""

import os
import pathlib
import re

# Names of other projects.
ELSEWHERE = {
    "apps/bench.py": "Bumble", "emulator/btdev.c": "BlueZ", "sr1()": "Scapy", "dispatchMain()": "Dispatch",
    "String(format:)": "Foundation", "removeAll(keepingCapacity:)": "Swift", "NSLog": "Foundation",
    "_BridgedStoredNSError": "Foundation", "OSLogStore": "Apple's OSLog",
}
# Pages about other projects: only paths that begin at the top of this repository are checked.
PAGES_OF_OTHERS = {
    "Sources/Apple/CoreBluetooth/CoreBluetooth.docc/Compatibility.md", "Sources/Python/Compatibility.md"}

FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
# A quotation ends in its paragraph.
QUOTATION = re.compile(r"(?<!`)(``?)(?!`)((?:[^`\n]|\n(?! *\n))+)\1(?!`)")
COMMENT = re.compile(r"(?<!:)//[^\n]*|/\*.*?\*/", re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:|#|manuals/|python/)([^)#\s]+)[^)\s]*\)")
SOURCE_FILE = re.compile(r"\w[\w.+-]*\.(?:swift|py|md|c|h)")
PATH = re.compile(r"\w[\w.+-]*(?:/[\w.+-]+)*/?")
SYMBOL = re.compile(r"((?:\w+[./])*)(\w+)(\((?:\w+:)*\))?")
# A name that is not a word of the language.
NAME = re.compile(r"_?[A-Z]\w*[a-z]\w*|[a-z]+[A-Z]\w*")
DECLARED = re.compile(r"(?:\bfunc\s+|\bcase\s+|,\s*|\b(?=init\b))(\w+)[?!]?(?:<[^()]*?>)?\(")
LABEL = re.compile(r"\s*(\w+)(?:\s+\w+)?\s*:")


def labels(text: str, start: int) -> list:
    """The labels of the parameters that begin at `start`, after the parenthesis."""
    found, depth, begun = [], 0, start
    for match in re.compile(r"[(\[{<,)\]}]|(?<!-)>").finditer(text, start):
        mark = match[0]
        if depth == 0 and mark in ",)":
            if text[begun:match.start()].strip():
                label = LABEL.match(text, begun, match.start())
                found.append(label[1] if label else "_")
            begun = match.end()
            if mark == ")":
                break
        depth += (mark in "([{<") - (mark in ")]}>")
    return found


def is_part(some: list, others: list) -> bool:
    """Whether some elements are among the others, in their order."""
    rest = iter(others)
    return all(one in rest for one in some)


class Names:
    def __init__(self, texts: dict):
        """texts: the content of each file of the repository, by its path."""
        self.paths = {""}
        # The files of code in which a word occurs, and the labels of what is declared, by its name.
        self.files, self.declared = {}, {}
        for path, text in texts.items():
            self.paths |= {path, *map(str, pathlib.PurePath(path).parents)}
            suffix = pathlib.PurePath(path).suffix
            if suffix == ".md":
                continue
            if suffix in (".swift", ".c", ".h"):
                text = COMMENT.sub("", text)
            for word in set(re.findall(r"\w+", text)):
                self.files.setdefault(word, set()).add(path)
            if suffix == ".swift":
                for match in DECLARED.finditer(text):
                    self.declared.setdefault(match[1], []).append(labels(text, match.end()))
        self.file_names = {path.rsplit("/", 1)[-1] for path in self.paths}

    def faults(self, page: str, text: str) -> list:
        """What a Markdown page, or the comments of a Swift file, name in vain."""
        if page.endswith(".swift"):
            lines = (re.match(r" *///?(.*)", line) for line in text.splitlines())
            text = "\n".join(line[1] if line else "" for line in lines)
        text = FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
        found = []
        for match in LINK.finditer(text) if page.endswith(".md") else ():
            if os.path.normpath(pathlib.PurePath(page).parent / match[1]) not in self.paths:
                found.append(f"{page}:{text.count(chr(10), 0, match.start()) + 1}: {match[1]}")
        for match in QUOTATION.finditer(text):
            quoted = " ".join(match[2].split())
            is_link = match[1] == "``"
            if quoted in ELSEWHERE or is_link and page.endswith(".md"):
                continue
            paths = [] if is_link else [
                word for word in quoted.split() if self.looks_like_path(word, page, word == quoted)]
            if not all(self.is_path(word, page) for word in paths) or not (
                    paths or page in PAGES_OF_OTHERS or self.is_symbol(quoted, is_link)):
                found.append(f"{page}:{text.count(chr(10), 0, match.start()) + 1}: {quoted}")
        return found

    def places(self, page: str) -> list:
        if page in PAGES_OF_OTHERS:
            return [""]
        folder = pathlib.PurePath(page).parent
        return ["", "Sources/", "Tests/", f"{folder}/", *([f"{folder.parent}/"] * (folder.suffix == ".docc"))]

    def looks_like_path(self, word: str, page: str, is_alone: bool) -> bool:
        if not PATH.fullmatch(word) or not (is_alone or "/" in word):
            return False
        first, slash, _ = word.partition("/")
        return bool(slash) and any(place + first in self.paths for place in self.places(page)) or (
            page not in PAGES_OF_OTHERS and SOURCE_FILE.fullmatch(word.rsplit("/", 1)[-1]) is not None)

    def is_path(self, word: str, page: str) -> bool:
        if "/" not in word:
            return word in self.file_names
        return any((place + word).rstrip("/") in self.paths for place in self.places(page))

    def is_symbol(self, quoted: str, is_link: bool) -> bool:
        """Whether a text is a symbol that exists, or no symbol."""
        match = SYMBOL.fullmatch(quoted)
        if not match or "/" in quoted and not is_link:
            return True
        owners, name, parameters = re.findall(r"\w+", match[1]), match[2], match[3]
        if not (is_link or parameters or NAME.fullmatch((*owners, name)[0])):
            return True
        if parameters and parameters != "()":
            # What is written as a call of a type is one of its initialiser.
            declared = self.declared.get("init" if name[0].isupper() else name, [])
            wanted = re.findall(r"\w+", parameters)
            # A call leaves out parameters with a default, and the last closure.
            if not any(is_part(wanted, labels) for labels in declared):
                return False
        if not all(word in self.files for word in (*owners, name)):
            return False
        return not owners or not self.files[owners[-1]].isdisjoint(self.files[name])


def example_faults() -> list:
    """What is found otherwise than it should be in a made-up repository."""
    page, code = "Sources/Core/Engine.docc/Engine.md", "Sources/Core/Engine.swift"
    right = ["Sources/Core", "Core/Engine.swift", "Engine.swift", "Tests/run --all", "Engine.start(at:)",
             "Engine(fuel:)", "maximumSpeed", "le:", "air:X", "a/topic", "GAP", "~/.cache", "speed(_:)"]
    wrong = ["Sources/Wheel", "Core/Wheel.swift", "Wheel.swift", "Tests/go --all", "Engine.stop", "Wheel",
             "Engine.start(to:)", "Engine(oil:)", "minimumSpeed", "Engine.maximumSpeed", "speed(at:)"]
    text = "\n".join([*(f"Names `{name}`." for name in [*right, *wrong]), "[A](../Engine.swift#a), [B](B.md)"])
    source = """// `Gear` and ``Wheel/turn()``
enum Engine { case speed([Int: Int])
  init(fuel: Int) {}
  func start<Value>(at speed: (Int) -> Void, _ body: (Value) -> Void) {}
}
"""
    texts = {page: text, code: source, "Sources/Core/Speed.swift": "let maximumSpeed = 1", "Tests/run": ""}
    names = Names(texts)
    expected = {f"{page}:{len(right) + number}: {name}" for number, name in enumerate(wrong, 1)}
    expected |= {f"{page}:{len(right) + len(wrong) + 1}: B.md", f"{code}:1: Gear", f"{code}:1: Wheel/turn()"}
    return sorted(expected ^ {*names.faults(page, text), *names.faults(code, source)})
