"""A page of HTML that needs nothing else: its frame, and texts of others as parts of it.

No script, no address and no file is named in it, and its policy lets a browser load none.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from itertools import accumulate

from contextasm.model import CLEAN, Context, Decision, Document, LayerUsage, grouped
from contextasm.rendering.wording import decision_words
from contextasm.text.cleaning.clean import clean_text
from contextasm.text.graphemes import beginning, clipped
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
    """An element of HTML content; attributes are any text, and empty ones are left out.

    `class_` is `class`, and `aria_label` is `aria-label`.
    """
    given = ((name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items() if value)
    named = "".join(f' {name}="{words(value)}"' for name, value in given)
    return f"<{tag}{named}>{content}</{tag}>"


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], figures: Collection[int] = ()) -> str:
    """A table of HTML cells, the first of each row its heading; `caption` and `header` are any text.

    `figures` are the columns that hold figures; empty for all after the first.
    """
    styles = ["words" if figures and number not in figures else "" for number in range(len(header))]
    titles = zip(header, styles, strict=True)
    head = "".join(element("th", words(title), class_=style, scope="col") for title, style in titles)
    body = "".join(f"<tr>{_cells(row, styles)}</tr>\n" for row in rows)
    inner = f"<caption>{words(caption)}</caption><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>"
    # A wide table scrolls by itself, also by the keyboard.
    return element("div", f"<table>{inner}</table>", class_="scrolls", tabindex="0", role="group", aria_label=caption)


def _cells(row: Sequence[str], styles: Sequence[str]) -> str:
    others = zip(row[1:], styles[1:], strict=True)
    return element("th", row[0], scope="row") + "".join(element("td", cell, class_=style) for cell, style in others)


COLOURS = 10
"""Number of colours; the layers after these have them again, paler."""

_WIDTH, _HEIGHT = 1000, 24


NamedContext = tuple[str, Context]
"""The name of a context on a page, such as its budget, and the context."""


def layer_colours(contexts: Sequence[Context]) -> Mapping[str, str]:
    """The class of the style sheet that colours each layer, by id."""
    return colours(usage.layer for context in contexts for usage in context.allowances)


def colours(names: Iterable[str]) -> Mapping[str, str]:
    """A class of the style sheet with a colour for each name."""
    numbered = enumerate(dict.fromkeys(names))
    return {name: f"c{number % COLOURS}{' pale' if number // COLOURS % 2 else ''}" for number, name in numbered}


BarPiece = tuple[str, int, str]
"""A piece of a bar: its class of the style sheet, its tokens, and their name."""


def bars(rows: Sequence[tuple[str, str, Sequence[BarPiece]]]) -> str:
    """A bar for each row of a name, figures and pieces; all have one scale."""
    longest = max(sum(tokens for _, tokens, _ in pieces) for _, _, pieces in rows) or 1
    drawn = "\n".join(_bar(name, figures, pieces, longest) for name, figures, pieces in rows)
    return f'<div class="bars">\n{drawn}\n</div>'


def _bar(name: str, figures: str, pieces: Sequence[BarPiece], longest: int) -> str:
    ends = accumulate((tokens for _, tokens, _ in pieces), initial=0)
    drawn = "".join(_piece(piece, start, longest) for piece, start in zip(pieces, ends, strict=False))
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none"'
    bar = f'<svg {size} role="img" aria-label="{words(f"{name}: {figures}")}">{drawn}</svg>'
    title = element("span", words(name), class_="name")
    return f'<div class="bar">{title}{bar}{element("span", words(figures), class_="figures")}</div>'


def _piece(piece: BarPiece, start: int, longest: int) -> str:
    colour, tokens, name = piece
    left, right = (place * _WIDTH / longest for place in (start, start + tokens))
    place = f'x="{left:.2f}" width="{right - left:.2f}" height="{_HEIGHT}"'
    return f'<rect class="{colour}" {place}><title>{words(f"{name}: {tokens:,} tokens")}</title></rect>'


def layer_bars(contexts: Sequence[NamedContext]) -> str:
    """A bar for each context: its layers in their order, then the room that is left."""
    colour_of = layer_colours([context for _, context in contexts])
    rows = []
    for name, context in contexts:
        figures = f"{context.tokens:,} of {context.request.budget:,} tokens"
        rows.append((name, figures, [*_layer_pieces(context, colour_of)]))
    return bars(rows)


def _layer_pieces(context: Context, colour_of: Mapping[str, str]) -> Iterator[BarPiece]:
    left = context.request.budget
    for usage in context.allowances:
        if usage.used:
            yield colour_of[usage.layer], usage.used, usage.layer
            left -= usage.used
    if left > 0:
        yield "free", left, "free"


def layer_table(contexts: Sequence[NamedContext]) -> str:
    """The tokens of each layer, wanted and used, with a column for each context."""
    colour_of = layer_colours([context for _, context in contexts])
    usages = [{usage.layer: usage for usage in context.allowances} for _, context in contexts]
    headings = layer_headings([context for _, context in contexts])
    rows: list[Sequence[str]] = []
    for layer, colour in colour_of.items():
        name = f'<span class="key {colour}"></span>{words(layer)} {element("small", words(headings.get(layer, "")))}'
        wanted = max(own[layer].wanted for own in usages if layer in own)
        rows.append((name, f"{wanted:,}", *(_used(own.get(layer)) for own in usages)))
    rows.append(("document", "", *(f"<b>{context.tokens:,}</b>" for _, context in contexts)))
    return table("Tokens of each layer", ("layer", "wanted", *(name for name, _ in contexts)), rows)


def layer_headings(contexts: Sequence[Context]) -> Mapping[str, str]:
    """The headings of each layer's sections, by id."""
    titles = grouped((section.layer, section.heading) for context in contexts for section in context.sections)
    return {layer: ", ".join(dict.fromkeys(own)) for layer, own in titles.items()}


def _used(usage: LayerUsage | None) -> str:
    if usage is None:
        return "–"
    return f"{usage.used:,}{' <em>cut</em>' if usage.used < usage.wanted else ''}"


_ADDITIONAL = "--additional"
"""Path of the additional text of a request, which no file holds."""


class FragmentTexts:
    """Clean texts of fragments and lines of files, as people may see them."""

    def __init__(self, contexts: Iterable[Context]) -> None:
        """Of several contexts of one workspace, each file is taken as the first that opened it has it."""
        self._documents: dict[str, Document] = {}
        self._additional = ""
        for context in contexts:
            self._additional = self._additional or context.request.additional
            self._documents = {document.path: document for document in context.documents} | self._documents
        self._lines: dict[str, Sequence[str]] = {}

    @property
    def paths(self) -> Sequence[str]:
        """The files that were opened, in their order."""
        return [*self._documents]

    def lines(self, path: str) -> tuple[int, Sequence[str]]:
        """The number of the first line below the front matter of a file, and the lines from there on.

        No lines for a file that was not opened.
        """
        document = self._documents.get(path)
        if document is None:
            return 1, ()
        if path not in self._lines:
            text = document.text if document.cleaning == CLEAN else clean_text(document.text).text
            self._lines[path] = text.rstrip("\n").split("\n")
        return document.line, self._lines[path]

    def text(self, decision: Decision) -> str:
        """The lines of the file that a fragment covers; empty if it was not opened, or is private."""
        if decision.reason.code == "private":
            return ""
        if decision.path == _ADDITIONAL:
            return clean_text(self._additional).text
        start, lines = self.lines(decision.path)
        first, last = decision.lines
        return "\n".join(lines[max(first - start, 0) : last - start + 1]) if last else ""


MAX_FRAGMENTS = 2000
"""Number of fragments that a page lists; those beyond are counted. Fragments that a context shows are listed first."""

MAX_FRAGMENT_BYTES = 3_000_000
"""Number of bytes of all fragments on a page."""

MAX_BEGINNING = 200
"""Number of characters of a fragment's text on a page."""


_Row = tuple[Decision | None, ...]
"""One fragment: the decision that each context made about it; None if a context has no such fragment."""


def fragment_list(contexts: Sequence[NamedContext], texts: FragmentTexts, anchors: Mapping[str, str]) -> str:
    """All fragments by layer: the shown ones first, then the others folded together.

    `anchors` are the places of files on the page, by path.
    """
    rows = _rows(contexts)
    names = [name for name, _ in contexts]
    items = _items(rows, names, texts, anchors)
    layers = grouped((_decision(row).layer, row) for row in rows if id(row) in items)
    titles = layer_headings([context for _, context in contexts])
    parts = [f"{_layer_title(layer, titles)}\n{_layer_part(own, items)}" for layer, own in layers.items()]
    if rest := [row for row in rows if id(row) not in items]:
        parts.append(_rest_table(rest, names, limit_words(len(items))))
    return "\n".join(parts)


def _items(
    rows: Sequence[_Row], names: Sequence[str], texts: FragmentTexts, anchors: Mapping[str, str]
) -> Mapping[int, str]:
    """The HTML of as many fragments as a page holds, by the identity of the row; shown ones come first."""
    ordered = sorted(rows, key=lambda row: not _is_shown(row))[:MAX_FRAGMENTS]
    items = that_fit((_item(row, names, texts, anchors) for row in ordered), MAX_FRAGMENT_BYTES)
    return {id(row): html for row, html in zip(ordered, items, strict=False)}


def that_fit(parts: Iterable[str], room: int) -> Iterator[str]:
    """The first parts of a page, in their order, that have no more than `room` bytes together."""
    for part in parts:
        room -= len(part.encode())
        if room < 0:
            return
        yield part


FragmentKey = tuple[str, str, int]
"""Layer, fragment, and a number that tells equal fragments apart."""


def numbered(decisions: Iterable[Decision]) -> dict[FragmentKey, Decision]:
    """The decisions by their fragments, in their order."""
    numbers: Counter[tuple[str, str]] = Counter()
    by_key: dict[FragmentKey, Decision] = {}
    for decision in decisions:
        key = (decision.layer, decision.fragment)
        by_key[*key, numbers[key]] = decision
        numbers[key] += 1
    return by_key


def _rows(contexts: Sequence[NamedContext]) -> Sequence[_Row]:
    """The fragments of all contexts, each once, in the order of the last context that has it."""
    tables = [numbered(context.decisions) for _, context in contexts]
    keys = dict.fromkeys(key for decisions in reversed(tables) for key in decisions)
    return [tuple(decisions.get(key) for decisions in tables) for key in keys]


def _decision(row: _Row) -> Decision:
    """The decision of the first context that has the fragment."""
    return next(decision for decision in row if decision)


def _is_shown(row: _Row) -> bool:
    return any(decision and decision.tokens_after for decision in row)


def _layer_title(layer: str, titles: Mapping[str, str]) -> str:
    return element("h3", f"{words(layer)} {element('small', words(titles.get(layer, '')))}")


def _layer_part(rows: Sequence[_Row], items: Mapping[int, str]) -> str:
    shown = [items[id(row)] for row in rows if _is_shown(row)]
    others = [row for row in rows if not _is_shown(row)]
    parts = ['<ol class="fragments">', *shown, "</ol>"] if shown else []
    if others:
        counts = Counter(_decision(row).outcome for row in others)
        kinds = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items())
        folded = "\n".join(items[id(row)] for row in others)
        summary = f"<summary>{len(others):,} left out: {words(kinds)}</summary>"
        parts.append(f'<details>{summary}\n<ol class="fragments">\n{folded}\n</ol></details>')
    return "\n".join(parts)


def _item(row: _Row, names: Sequence[str], texts: FragmentTexts, anchors: Mapping[str, str]) -> str:
    decision = _decision(row)
    place = words(f"{decision.path}:{decision.lines[0]}" if decision.lines[0] else decision.path)
    if anchor := anchors.get(decision.path):
        place = element("a", place, href=f"#{anchor}")
    text = words(beginning(texts.text(decision), MAX_BEGINNING))
    about = (element("p", place, class_="place"), element("p", text, class_="text") if text else "")
    return f'<li><div>{"".join(about)}</div><ul class="decisions">{"".join(_decision_items(row, names))}</ul></li>'


def _decision_items(row: _Row, names: Sequence[str]) -> Iterator[str]:
    """The decisions, by context; once if all decided the same."""
    if len({each and (each.reason, each.tokens_before, each.tokens_after, each.stands_for) for each in row}) == 1:
        names = [""]
    for name, decision in zip(names, row, strict=False):
        label = element("b", words(name), class_="name") if name else ""
        if decision is None:
            yield element("li", f"{label} no such fragment", class_="none")
            continue
        outcome = element("b", decision.outcome, class_="outcome") + _token_words(decision)
        yield element("li", f"{label} {outcome}: {words(decision_words(decision))}", class_=decision.outcome)


def _token_words(decision: Decision) -> str:
    """The tokens of a fragment in brackets, after a blank; empty if they were not counted."""
    before, after = decision.tokens_before, decision.tokens_after
    if before is None or before == after:
        return f" ({after:,} tokens)" if after or before is not None else ""
    return f" ({after:,} of {before:,} tokens)"


def limit_words(listed: int) -> str:
    """The limit that ended a list of this many fragments or changes: their number, or the room of a page."""
    if listed >= MAX_FRAGMENTS:
        return f"a page lists {MAX_FRAGMENTS:,} at most"
    return f"a page has room for {MAX_FRAGMENT_BYTES:,} bytes of them"


def _rest_table(rows: Sequence[_Row], names: Sequence[str], limit: str) -> str:
    """The numbers of fragments that are not listed, by layer, and by outcome in each context."""
    cells = [
        (words(layer), f"{len(own):,}", *(words(_outcomes(own, place)) for place in range(len(names))))
        for layer, own in grouped((_decision(row).layer, row) for row in rows).items()
    ]
    caption = f"{len(rows):,} more fragments are not listed: {limit}"
    return table(caption, ("layer", "fragments", *names), cells)


def _outcomes(rows: Sequence[_Row], place: int) -> str:
    outcomes = Counter(decision.outcome for row in rows if (decision := row[place]))
    return ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.items())
