"""What a page of DocC says to a reader without JavaScript, and to a search engine: its text and links as
plain HTML, from the page's data.

`docc convert --experimental-transform-for-static-hosting-with-content` is meant to write the same. The
one of Swift 6.3 for Linux crashes on most paragraphs of several lines.
"""

from html import escape


class Plain:
    """One page, whose links begin at the folder `root`."""

    def __init__(self, page: dict, root: str):
        self.page, self.root = page, root
        self.references = page.get("references", {})

    def html(self) -> str:
        page = self.page
        crumbs = [self.reference(name) for name in page.get("hierarchy", {}).get("paths", [[]])[0]]
        parts = [f"<p>{' / '.join(crumbs)}</p>", f"<h1>{escape(page['metadata']['title'])}</h1>",
                 f"<p>{self.inline(page.get('abstract', []))}</p>"]
        for section in page.get("primaryContentSections", []):
            parts.append(self.section(section))
        for title, key in (("Topics", "topicSections"), ("Relationships", "relationshipsSections"),
                           ("See also", "seeAlsoSections")):
            if page.get(key):
                parts.append(f"<h2>{title}</h2>")
            for group in page.get(key, []):
                parts.append(f"<h3>{escape(group.get('title', ''))}</h3><ul>" + "".join(
                    f"<li>{self.reference(name)} {self.abstract(name)}</li>"
                    for name in group["identifiers"]) + "</ul>")
        return "<article>" + "".join(parts) + "</article>"

    def abstract(self, name: str) -> str:
        return self.inline(self.references.get(name, {}).get("abstract", []))

    def reference(self, name: str, text: str = "") -> str:
        found = self.references.get(name, {})
        text = text or escape(found.get("title", name))
        url = found.get("url", "")
        if not url:
            return text
        if url.startswith("/"):
            path, _, anchor = url[1:].partition("#")
            url = f"{self.root}{path}/" + (f"#{anchor}" if anchor else "")
        elif not url.startswith(("http:", "https:", "mailto:")):
            url = self.root + url
        return f'<a href="{escape(url)}">{text}</a>'

    def section(self, section: dict) -> str:
        kind = section["kind"]
        if kind == "content":
            return self.blocks(section["content"])
        if kind == "declarations":
            return "".join(
                "<pre><code>" + escape("".join(token["text"] for token in declaration["tokens"]))
                + "</code></pre>" for declaration in section["declarations"])
        if kind == "parameters":
            return "<h2>Parameters</h2><dl>" + "".join(
                f"<dt><code>{escape(one['name'])}</code></dt><dd>{self.blocks(one['content'])}</dd>"
                for one in section["parameters"]) + "</dl>"
        return ""

    def blocks(self, blocks: list) -> str:
        return "".join(self.block(block) for block in blocks)

    def block(self, block: dict) -> str:
        kind = block["type"]
        if kind == "paragraph":
            return f"<p>{self.inline(block['inlineContent'])}</p>"
        if kind == "heading":
            level = block["level"]
            return f'<h{level} id="{escape(block["anchor"])}">{escape(block["text"])}</h{level}>'
        if kind == "codeListing":
            return "<pre><code>" + escape("\n".join(block["code"])) + "</code></pre>"
        if kind in ("unorderedList", "orderedList"):
            tag = "ul" if kind == "unorderedList" else "ol"
            items = "".join(f"<li>{self.blocks(item['content'])}</li>" for item in block["items"])
            return f"<{tag}>{items}</{tag}>"
        if kind == "termList":
            return "<dl>" + "".join(
                f"<dt>{self.inline(item['term']['inlineContent'])}</dt>"
                f"<dd>{self.blocks(item['definition']['content'])}</dd>" for item in block["items"]) + "</dl>"
        if kind == "table":
            return "<table>" + "".join(
                "<tr>" + "".join(f"<td>{self.blocks(cell)}</td>" for cell in row) + "</tr>"
                for row in block["rows"]) + "</table>"
        if kind == "links":
            return "<ul>" + "".join(
                f"<li>{self.reference(name)} {self.abstract(name)}</li>" for name in block["items"]) + "</ul>"
        if kind == "aside":
            return f"<blockquote>{self.blocks(block['content'])}</blockquote>"
        raise SystemExit(f"plain.py does not know the block {kind!r}")

    def inline(self, parts: list) -> str:
        return "".join(self.span(part) for part in parts)

    def span(self, part: dict) -> str:
        kind = part["type"]
        if kind == "text":
            return escape(part["text"])
        if kind == "codeVoice":
            return f"<code>{escape(part['code'])}</code>"
        if kind in ("emphasis", "strong", "newTerm", "inlineHead", "strikethrough"):
            tag = {"emphasis": "em", "strikethrough": "s"}.get(kind, "strong")
            return f"<{tag}>{self.inline(part['inlineContent'])}</{tag}>"
        if kind == "reference":
            title = part.get("overridingTitleInlineContent")
            return self.reference(part["identifier"], self.inline(title) if title else "")
        if kind == "image":
            found = self.references[part["identifier"]]
            # The variants are for other densities and styles of screens.
            url = self.root + found["variants"][0]["url"].removeprefix("/")
            return f'<img src="{escape(url)}" alt="{escape(found.get("alt") or "")}">'
        raise SystemExit(f"plain.py does not know the span {kind!r}")
