"""A page of HTML that needs nothing else: its frame, and texts of others as parts of it.

No script, no address and no file is named in it, and its policy lets a browser load none.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import escape

from contextasm.text.cleaning import clean_text
from contextasm.text.graphemes import clipped
from contextasm.text.templates import one_line

MAX_WORDS = 400
"""Number of characters of a place or a reason that a page shows: one with a long name is cut."""


def page(title: str, style: str, parts: Iterable[str]) -> str:
    """The page of a title, a style sheet and the parts of its body; `parts` are HTML, `title` is any text."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = (
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="robots" content="noindex">',
        f"<title>{words(title)}</title>",
        f"<style>{style}</style>",
    )
    return "\n".join(
        ("<!DOCTYPE html>", '<html lang="en">', "<head>", *head, "</head>", "<body>", *parts, "</body>", "</html>", "")
    )


def words(text: str, most: int = MAX_WORDS) -> str:
    """A text of anybody's in one line of HTML: cleaned, then cut after `most` characters."""
    return escape(clipped(one_line(clean_text(text).text), most))


def lines_of_text(text: str) -> str:
    """A clean text as HTML that keeps its line breaks."""
    return escape("\n".join(map(one_line, text.split("\n"))), quote=False)


def element(tag: str, content: str, **attributes: str) -> str:
    """An element of HTML content; attributes are any text, `class_` is `class`, and empty ones are left out."""
    named = "".join(f' {name.rstrip("_")}="{escape(value)}"' for name, value in attributes.items() if value)
    return f"<{tag}{named}>{content}</{tag}>"


def table(caption: str, header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of HTML cells, the first of each row its heading; `caption` and `header` are any text."""
    head = "".join(element("th", words(title), scope="col") for title in header)
    body = "".join(f"<tr>{_cells(row)}</tr>\n" for row in rows)
    inner = f"<caption>{words(caption)}</caption><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>"
    return f'<div class="scrolls"><table>{inner}</table></div>'


def _cells(row: Iterable[str]) -> str:
    first, *others = row
    return element("th", first, scope="row") + "".join(map("<td>{}</td>".format, others))
