"""Source `knowledge`: sections of pages that match the topic.

Pages are split at their headings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from math import inf

from contextasm.model import Document, Fragment, Labels, Layer, Reason, RetrievalResult, SourceQuery, recency
from contextasm.retrieval.pool import matches
from contextasm.retrieval.reading.files import layer_display, read_documents
from contextasm.retrieval.reading.query_signals import boosted, keywords
from contextasm.text.markdown.blocks import blocks, heading, passage, trimmed
from contextasm.text.memories.parser import memory_of_numbers
from contextasm.text.names.dates import leading_iso_day

Trail = tuple[str, ...]
"""Headings above a text, the outermost first; the page's name without one."""


def knowledge(query: SourceQuery) -> RetrievalResult:
    """Sections of the layer's pages as fragments, matching ones with their similarity; none without a topic.

    Each keyword in a section raises its similarity by a tenth, and the day of the page may raise it, too.
    """
    if not query.build.request.topic.strip():
        return RetrievalResult()
    from contextasm.retrieval.search.inverted_index import IndexEntry

    documents, problems = read_documents(query)
    sections = [section for document in documents for section in split_sections(document, query.layer)]
    entries = [IndexEntry("\n".join((*trail, fragment.text)), "", fragment.labels.day) for trail, fragment in sections]
    texts = [entry.text for entry in entries]
    scores, late = matches(query, "pages", entries, texts, query.layer.query.min_match)
    words, today = keywords(query.build.request.topic), query.build.request.date
    fragments = []
    for row, (_, fragment) in enumerate(sections):
        if row in scores:
            (_, similarity), *halves = scores[row]
            folded, day = fragment.text.casefold(), fragment.labels.day
            hours = (today - date.fromisoformat(day)).days * 24.0 if day else inf
            parts = ("similarity", boosted(similarity, sum(word in folded for word in words), hours)), *halves
            dated = (("recency", recency(day, today)),) if "recency" in dict(query.layer.ranking.weights) else ()
            fragments.append(fragment._replace(score=(*parts, *dated)))
        else:
            fragments.append(fragment.exclude(Reason("no-match")))
    return RetrievalResult(tuple(fragments), tuple(documents), (*problems, *late))


def split_sections(document: Document, layer: Layer) -> Iterator[tuple[Trail, Fragment]]:
    """Sections of a page, in its order, with the headings above them; a heading without text below it makes none."""
    lines = document.text.split("\n")
    name = document.path.rpartition("/")[2].removesuffix(".md")
    key = _front_word(document, "key")
    claim = document.path if key else ""
    labels = Labels(day=_page_day(document), kind=_front_word(document, "type"), key=key, claim=claim)
    labels = labels._replace(confidence=memory_of_numbers(document.front).confidence)
    for start, stop, trail in _spans(lines, name):
        blank, text = trimmed("\n".join(lines[start:stop]))
        if text:
            location, text = passage(document, document.line + start + blank, text)
            display = layer_display(layer, {"title": " / ".join(trail), "path": location.path})
            yield trail, Fragment(f"{location.path}:{location.line}", location, text, display, labels=labels)


def _spans(lines: Sequence[str], name: str) -> Iterator[tuple[int, int, Trail]]:
    """The lines below each heading, half open, with the headings above them; without one, the `name` of the page."""
    above: list[tuple[int, str]] = []
    start = 0
    for block in blocks(lines):
        if block.levels:
            yield start, block.first, _titles(above, name)
            start = block.body
            for line in lines[block.first : block.body]:
                if title := heading(line):
                    above = [outer for outer in above if outer[0] < title[0]] + [title]
    yield start, len(lines), _titles(above, name)


def _titles(above: Sequence[tuple[int, str]], name: str) -> Trail:
    return tuple(title for _, title in above if title) or (name,)


def _front_word(document: Document, key: str) -> str:
    written = document.front.get(key)
    return written.strip() if isinstance(written, str) else ""


def _page_day(document: Document) -> str:
    for key in ("updated", "date", "created"):
        written = document.front.get(key)
        if isinstance(written, str) and (day := leading_iso_day(written)):
            return day
    return ""
