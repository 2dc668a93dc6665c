"""The pages of the site as DocC reads them: one catalog, made from the catalogs of the modules, the
README files and the manuals."""

import os
import pathlib
import re
import shutil
import subprocess

import symbols
from symbols import ROOT

# Pages that are not in a catalog, and their names in the site.
READMES = {
    "Sources/README.md": "Architecture.md", "Sources/C/README.md": "libatto.md",
    "Sources/Python/README.md": "Python.md", "Sources/Python/Compatibility.md": "Bleak.md",
    "Tests/README.md": "Tests.md",
    "Tests/System/KernelLab/README.md": "KernelLab.md", "Benchmarks/README.md": "Benchmarks.md",
    "Sources/Debian/README.md": "Packages.md", "CHANGELOG.md": "Changes.md",
}
SYMBOL_PAGE = re.compile(r"# ``([^`]+)``\n")
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")


class Catalog:
    """Copies pages into a catalog, and the files that they link to into the site."""

    def __init__(self, folder: pathlib.Path, site: pathlib.Path, names: dict):
        """names: the modules, each with its top-level symbols."""
        self.folder, self.site, self.symbols = folder, site, names
        found = [*(ROOT / "Sources").rglob("*.docc/*.md"), *(ROOT / "Documentation").rglob("*.docc/*.md")]
        self.names = {path: path.name for path in sorted(found)}
        self.names |= {
            ROOT / path: name for path, name in READMES.items() if (ROOT / path).exists()}

    def write(self) -> None:
        for path, name in self.names.items():
            text = path.read_text(encoding="utf-8")
            module = self.module(path)
            if path.name == "README.md" and name == "libatto.md":
                text = re.sub(r"^# libatto\n", "# ``libatto``\n", text) + "\n" + symbols.library_topics()
            # The parts between the fences are not code.
            parts = FENCE.split(text)
            parts[::2] = [self.linked(path, module, part) for part in parts[::2]]
            target = self.folder / (path.parent.name + path.parent.parent.name) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("".join(parts), encoding="utf-8")

    def module(self, path: pathlib.Path) -> str:
        """The module in which an article looks its symbols up; empty for the page of a symbol."""
        if SYMBOL_PAGE.match(path.read_text(encoding="utf-8")):
            return ""
        titles = [SYMBOL_PAGE.match(other.read_text(encoding="utf-8"))
                  for other in self.names if other.parent == path.parent]
        return next((title[1] for title in titles if title and "/" not in title[1]), "")

    def linked(self, page: pathlib.Path, module: str, text: str) -> str:
        def link(match: re.Match) -> str:
            return match[1] + self.target(page, match[2]) + match[3]

        def symbol(match: re.Match) -> str:
            """An article belongs to no module for docc, so its symbols are named with theirs."""
            first = match[1].split("/")[0]
            if not module or first in self.symbols or not first:
                return match[0]
            owner = next((one for one in [module, *self.symbols] if first in self.symbols[one]), module)
            return f"``{owner}/{match[1]}``"

        return re.sub(r"``([^`\n]+)``", symbol, LINK.sub(link, text))

    def target(self, page: pathlib.Path, link: str) -> str:
        """A link between files as one between pages."""
        if re.match(r"\w+:|#", link):
            return link
        name, _, anchor = link.partition("#")
        path = pathlib.Path(os.path.normpath(page.parent / name))
        if path == ROOT / "README.md":
            return "doc:Start"
        if path in self.names:
            title = SYMBOL_PAGE.match(path.read_text(encoding="utf-8"))
            name = title[1] if title else pathlib.Path(self.names[path]).stem
            return "doc:" + name + (f"#{anchor}" if anchor else "")
        if not path.exists():
            if name.split("/")[0] in ("manuals", "python"):
                return link
            raise SystemExit(f"{page.relative_to(ROOT)}: no file for the link {link}")
        if path.suffix == ".md":
            raise SystemExit(f"{page.relative_to(ROOT)}: {link} is not a page of the site")
        if path.suffix == ".svg":
            # DocC finds pictures in its catalog by their names.
            shutil.copyfile(path, self.folder / path.name)
            return path.name
        return self.shown(path)

    def shown(self, path: pathlib.Path) -> str:
        """Copies a file, or the files of a folder, into the site as text."""
        sources = [path] if path.is_file() else sorted(
            one for one in path.rglob("*") if one.is_file() and "__pycache__" not in one.parts)
        target = self.site / "files" / path.relative_to(ROOT)
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            listed = []
            for one in sources:
                self.shown(one)
                name = f"{one.relative_to(path)}.txt"
                listed.append(f'<li><a href="{name}">{name.removesuffix(".txt")}</a>')
            title = path.relative_to(ROOT)
            (target / "index.html").write_text(
                f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
                f'<meta name="viewport" content="width=device-width"><h1>{title}</h1><ul>'
                + "\n".join(listed) + "</ul>", encoding="utf-8")
            return f"files/{path.relative_to(ROOT)}/index.html"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, f"{target}.txt")
        return f"files/{path.relative_to(ROOT)}.txt"
