"""A page of HTML that needs nothing else: its frame, and texts of others as parts of it.

No script, no address and no file is named in it, and its policy lets a browser load none.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from typing import NamedTuple

from contextasm.model import Context, LayerUsage
from contextasm.text.cleaning.clean import clean_text
from contextasm.text.graphemes import clipped
from contextasm.text.names.templates import one_line

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


COLOURS = 10
"""Number of colours; the layers after these have them again, paler."""

_WIDTH, _HEIGHT = 1000, 24


class NamedContext(NamedTuple):
    """A context with its name on a page, such as its budget."""

    name: str
    context: Context


def layer_colours(contexts: Sequence[Context]) -> Mapping[str, str]:
    """The class of the style sheet that colours each layer, by id."""
    ids = dict.fromkeys(usage.layer for context in contexts for usage in context.allowances)
    return {layer: f"c{number % COLOURS}{' pale' if number // COLOURS % 2 else ''}" for number, layer in enumerate(ids)}


def layer_bars(contexts: Sequence[NamedContext]) -> str:
    """A bar for each context, in tokens of one scale: its layers in their order, then the room that is left."""
    colours = layer_colours([each.context for each in contexts])
    longest = max(max(each.context.request.budget, each.context.tokens) for each in contexts) or 1
    rows = "\n".join(_bar_row(each, colours, longest) for each in contexts)
    return f'<div class="bars">\n{rows}\n</div>'


def _bar_row(named: NamedContext, colours: Mapping[str, str], longest: int) -> str:
    context = named.context
    figures = f"{context.tokens:,} of {context.request.budget:,} tokens"
    label = f"{named.name}: {figures}"
    pieces = "".join(_bar_pieces(context, colours, longest))
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none"'
    bar = f'<svg {size} role="img" aria-label="{words(label)}">{pieces}</svg>'
    name = element("span", words(named.name), class_="name")
    return f'<div class="bar">{name}{bar}{element("span", words(figures), class_="figures")}</div>'


def _bar_pieces(context: Context, colours: Mapping[str, str], longest: int) -> Iterator[str]:
    at = 0
    for usage in context.allowances:
        if usage.used:
            yield _piece(at, at + usage.used, longest, colours[usage.layer], f"{usage.layer}: {usage.used:,} tokens")
            at += usage.used
    if at < context.request.budget:
        yield _piece(at, context.request.budget, longest, "free", f"free: {context.request.budget - at:,} tokens")


def _piece(start: int, stop: int, longest: int, colour: str, title: str) -> str:
    left, right = (place * _WIDTH / longest for place in (start, stop))
    place = f'x="{left:.2f}" width="{right - left:.2f}" height="{_HEIGHT}"'
    return f'<rect class="{colour}" {place}><title>{words(title)}</title></rect>'


def layer_table(contexts: Sequence[NamedContext]) -> str:
    """The tokens of each layer, wanted and used, with a column for each context."""
    colours = layer_colours([each.context for each in contexts])
    usages = [{usage.layer: usage for usage in each.context.allowances} for each in contexts]
    headings = layer_headings([each.context for each in contexts])
    rows = [
        (
            f'<span class="key {colour}"></span>{words(layer)} {element("small", words(headings.get(layer, "")))}',
            f"{max(own[layer].wanted for own in usages if layer in own):,}",
            *(_used(own.get(layer)) for own in usages),
        )
        for layer, colour in colours.items()
    ]
    rows.append(("document", "", *(f"<b>{each.context.tokens:,}</b>" for each in contexts)))
    return table("Tokens of each layer", ("layer", "wanted", *(each.name for each in contexts)), rows)


def layer_headings(contexts: Sequence[Context]) -> Mapping[str, str]:
    """The headings of each layer's sections, by id."""
    headings: dict[str, dict[str, None]] = {}
    for context in contexts:
        for section in context.sections:
            headings.setdefault(section.layer, {})[section.heading] = None
    return {layer: ", ".join(titles) for layer, titles in headings.items()}


def _used(usage: LayerUsage | None) -> str:
    if usage is None:
        return "–"
    return f"{usage.used:,}{' <em>cut</em>' if usage.used < usage.wanted else ''}"
