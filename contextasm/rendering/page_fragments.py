"""The fragments of contexts on a page: place, text, and what each context decided about it, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from contextasm.model import CLEAN, Context, Decision, Document
from contextasm.rendering.page import NamedContext, element, layer_headings, table, words
from contextasm.rendering.wording import decision_words
from contextasm.text.cleaning.clean import clean_text
from contextasm.text.graphemes import beginning

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
        """The lines of the file that a fragment stands for; empty where it was not opened, or is private."""
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


class _Row(NamedTuple):
    """One fragment, with the decision that each context made about it; None where a context has no such fragment."""

    decisions: tuple[Decision | None, ...]

    @property
    def any(self) -> Decision:
        return next(decision for decision in self.decisions if decision)

    @property
    def is_shown(self) -> bool:
        return any(decision and decision.tokens_after for decision in self.decisions)


def fragment_list(contexts: Sequence[NamedContext], texts: FragmentTexts, anchors: Mapping[str, str]) -> str:
    """All fragments by layer: those that a context shows, then the others folded together.

    `anchors` are the places of files on the page, by path.
    """
    rows = _rows(contexts)
    names = [each.name for each in contexts]
    items = _items(rows, names, texts, anchors)
    layers: dict[str, list[_Row]] = {}
    for row in rows:
        if id(row) in items:
            layers.setdefault(row.any.layer, []).append(row)
    titles = layer_headings([each.context for each in contexts])
    parts = [f"{_layer_title(layer, titles)}\n{_layer_part(own, items)}" for layer, own in layers.items()]
    if rest := [row for row in rows if id(row) not in items]:
        parts.append(_rest_table(rest, names, limit_words(len(items))))
    return "\n".join(parts)


def _items(
    rows: Sequence[_Row], names: Sequence[str], texts: FragmentTexts, anchors: Mapping[str, str]
) -> Mapping[int, str]:
    """The HTML of as many fragments as a page holds, by the identity of the row; those that are shown come first."""
    items: dict[int, str] = {}
    room = MAX_FRAGMENT_BYTES
    for row in sorted(rows, key=lambda row: not row.is_shown)[:MAX_FRAGMENTS]:
        html = _item(row, names, texts, anchors)
        room -= len(html.encode())
        if room < 0:
            break
        items[id(row)] = html
    return items


def _rows(contexts: Sequence[NamedContext]) -> Sequence[_Row]:
    """The fragments of all contexts, each once, in the order of the last context that has it."""
    tables: list[dict[tuple[str, str, int], Decision]] = []
    for each in contexts:
        numbers: Counter[tuple[str, str]] = Counter()
        decisions: dict[tuple[str, str, int], Decision] = {}
        for decision in each.context.decisions:
            key = (decision.layer, decision.fragment)
            decisions[*key, numbers[key]] = decision
            numbers[key] += 1
        tables.append(decisions)
    keys = dict.fromkeys(key for decisions in reversed(tables) for key in decisions)
    return [_Row(tuple(decisions.get(key) for decisions in tables)) for key in keys]


def _layer_title(layer: str, titles: Mapping[str, str]) -> str:
    return element("h3", f"{words(layer)} {element('small', words(titles.get(layer, '')))}")


def _layer_part(rows: Sequence[_Row], items: Mapping[int, str]) -> str:
    shown = [items[id(row)] for row in rows if row.is_shown]
    others = [row for row in rows if not row.is_shown]
    parts = ['<ol class="fragments">', *shown, "</ol>"] if shown else []
    if others:
        counts = Counter(row.any.outcome for row in others)
        kinds = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items())
        folded = "\n".join(items[id(row)] for row in others)
        summary = f"<summary>{len(others):,} left out: {words(kinds)}</summary>"
        parts.append(f'<details>{summary}\n<ol class="fragments">\n{folded}\n</ol></details>')
    return "\n".join(parts)


def _item(row: _Row, names: Sequence[str], texts: FragmentTexts, anchors: Mapping[str, str]) -> str:
    decision = row.any
    place = words(f"{decision.path}:{decision.lines[0]}" if decision.lines[0] else decision.path)
    if anchor := anchors.get(decision.path):
        place = element("a", place, href=f"#{anchor}")
    text = words(beginning(texts.text(decision), MAX_BEGINNING))
    about = (element("p", place, class_="place"), element("p", text, class_="text") if text else "")
    return f'<li><div>{"".join(about)}</div><ul class="decisions">{"".join(_decision_items(row, names))}</ul></li>'


def _decision_items(row: _Row, names: Sequence[str]) -> Iterator[str]:
    """The decisions, by context; once where all decided the same."""
    first = row.decisions[0]
    if all(_same(first, decision) for decision in row.decisions):
        names = [""]
    for name, decision in zip(names, row.decisions, strict=False):
        label = element("b", words(name), class_="name") if name else ""
        if decision is None:
            yield element("li", f"{label} no such fragment", class_="none")
            continue
        outcome = element("b", decision.outcome, class_="outcome") + _token_words(decision)
        yield element("li", f"{label} {outcome}: {words(decision_words(decision))}", class_=decision.outcome)


def _same(one: Decision | None, other: Decision | None) -> bool:
    def visible(decision: Decision | None) -> object:
        return decision and (decision.reason, decision.tokens_before, decision.tokens_after, decision.stands_for)

    return visible(one) == visible(other)


def _token_words(decision: Decision) -> str:
    """The tokens of a fragment in brackets, behind a blank; empty where they were not counted."""
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
    layers: dict[str, list[_Row]] = {}
    for row in rows:
        layers.setdefault(row.any.layer, []).append(row)
    cells = [
        (words(layer), f"{len(own):,}", *(words(_outcomes(own, place)) for place in range(len(names))))
        for layer, own in layers.items()
    ]
    caption = f"{len(rows):,} more fragments are not listed: {limit}"
    return table(caption, ("layer", "fragments", *names), cells)


def _outcomes(rows: Sequence[_Row], place: int) -> str:
    outcomes = Counter(decision.outcome for row in rows if (decision := row.decisions[place]))
    return ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.items())
