"""The manual pages as HTML, by mandoc, and the page that lists them."""

import pathlib
import re
import subprocess

# mandoc's own style sheet is not in its package.
STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 46rem; padding: 1rem;
  overflow-wrap: break-word; }
table { width: 100%; font-size: .85rem; }
td.head-vol { text-align: center; } td.head-rtitle, td.foot-os { text-align: right; }
@media (max-width: 30rem) { td.head-rtitle { display: none; } }
h1, h2 { font-size: 1.2rem; margin: 1.5rem 0 .5rem; }
pre { overflow-x: auto; } dd { margin-left: 1.5rem; }
h1 a, h2 a, dt a { color: inherit; text-decoration: none; }
"""


def write(atto: pathlib.Path, packaged: list, site: pathlib.Path) -> str:
    """Writes the manuals of the command, and those files, into the site. Returns the page about them."""
    def said(*words) -> str:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
        return done.stdout

    site.mkdir()
    (site / "manual.css").write_text(STYLE, encoding="utf-8")
    sources = {name: said(atto, "man", name) for name in said(atto, "man", "--list").split()}
    sources |= {path.name: path.read_text(encoding="utf-8") for path in packaged}
    rows = []
    for name, text in sources.items():
        title = name.rpartition(".")[0]
        shown = subprocess.run(
            ["mandoc", "-T", "html", "-O", "fragment"], input=text, capture_output=True, text=True)
        if shown.returncode != 0 or not shown.stdout:
            raise SystemExit(f"mandoc cannot convert {name}: {shown.stderr}")
        body = re.sub(
            r"<b>(atto[-\w]*)</b>\((\d)\)",
            lambda found: f'<a href="{found[1]}.{found[2]}.html">{found[0]}</a>'
            if f"{found[1]}.{found[2]}" in sources else found[0], shown.stdout)
        (site / f"{name}.html").write_text(
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<link rel="stylesheet" href="manual.css"></head>\n<body>\n'
            '<p><a href="../documentation/guides/manuals/">All manuals</a></p>\n'
            f"{body}</body></html>\n", encoding="utf-8")
        summary = re.search(r"^\.SH NAME\n.*? \\- (.*)$|^\.Nd (.*)$", text, re.MULTILINE)
        summary = (summary[1] or summary[2]).replace("\\-", "-").replace("\\(aq", "'") if summary else ""
        rows.append(f"| [`{title}`](manuals/{name}.html) | {summary} |")
    return "\n".join([
        "# Manuals", "", "The manual pages of the programs, as `man` shows them.", "", "## Overview", "",
        "| Page | |", "|---|---|", *rows, ""])
