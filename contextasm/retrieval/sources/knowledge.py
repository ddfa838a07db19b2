"""Source `knowledge`: sections of pages that match the topic.

Pages are split at their headings. Searches by words alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from math import inf
from typing import NamedTuple

from contextasm.model import Document, Fragment, FragmentDisplay, Labels, Location, Reason, RetrievalResult, SourceQuery
from contextasm.retrieval.reading.files import read_documents
from contextasm.retrieval.reading.query_signals import boosted, keywords
from contextasm.text.markdown.blocks import blocks, heading, passage, trimmed
from contextasm.text.names.dates import leading_iso_day
from contextasm.text.names.templates import fill_template


class _Page(NamedTuple):
    """Facts of a page that all of its sections share."""

    day: str
    key: str
    kind: str


class _PageSection(NamedTuple):
    """The text between two headings of a page."""

    location: Location
    text: str
    trail: tuple[str, ...]
    """Headings above the text, the outermost first; the page's name where there are none."""
    day: str
    """Day of the page, as YYYY-MM-DD; empty for none."""
    key: str
    """Subject that the page's front matter names as its `key`; empty for none."""
    kind: str
    """Type of the page in its front matter; empty for none."""


def knowledge(query: SourceQuery) -> RetrievalResult:
    """Sections of the layer's pages as fragments, matching ones with their similarity; none without a topic.

    Each keyword in a section raises its similarity by a tenth, and the day of the page may raise it, too.
    """
    if not query.build.request.topic.strip():
        return RetrievalResult()
    documents, problems = read_documents(query)
    sections = [section for document in documents for section in split_sections(document)]
    similarity_of = _similarities(query, sections)
    words = keywords(query.build.request.topic)
    fragments = []
    for row, section in enumerate(sections):
        if row in similarity_of:
            folded = section.text.casefold()
            score = boosted(
                similarity_of[row],
                sum(word in folded for word in words),
                _age_in_hours(section.day, query.build.request.date),
            )
            fragments.append(_section_fragment(section, query)._replace(score=(("similarity", score),)))
        else:
            fragments.append(_section_fragment(section, query).exclude(Reason("no-match")))
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


def _similarities(query: SourceQuery, sections: Sequence[_PageSection]) -> dict[int, float]:
    from contextasm.retrieval.search.bm25 import similarities
    from contextasm.retrieval.search.inverted_index import IndexEntry, build_index

    entries = [IndexEntry("\n".join((*section.trail, section.text)), "", section.day) for section in sections]
    return similarities(query.build.request.topic, build_index(entries), query.layer.query.min_match)


def _age_in_hours(day: str, today: date) -> float:
    return (today - date.fromisoformat(day)).days * 24.0 if day else inf


def split_sections(document: Document) -> Iterator[_PageSection]:
    """Sections of a page, in its order; a heading without text below it makes none."""
    lines = document.text.split("\n")
    name = document.path.rpartition("/")[2].removesuffix(".md")
    page = _Page(_page_day(document), _front_word(document, "key"), _front_word(document, "type"))
    trail: list[tuple[int, str]] = []
    start, end = 0, 0
    for block in blocks(lines):
        if block.levels:
            yield from _section_unless_blank(document, lines[start : block.first], start, _titles(trail, name), page)
            start = block.body
            for line in lines[block.first : block.body]:
                if title := heading(line):
                    trail = [outer for outer in trail if outer[0] < title[0]] + [title]
        end = block.stop
    yield from _section_unless_blank(document, lines[start:end], start, _titles(trail, name), page)


def _titles(trail: Sequence[tuple[int, str]], name: str) -> tuple[str, ...]:
    return tuple(title for _, title in trail if title) or (name,)


def _section_unless_blank(
    document: Document, lines: Sequence[str], start: int, trail: tuple[str, ...], page: _Page
) -> Iterator[_PageSection]:
    blank, text = trimmed("\n".join(lines))
    if text:
        location, text = passage(document, document.line + start + blank, text)
        yield _PageSection(location, text, trail, *page)


def _front_word(document: Document, key: str) -> str:
    written = document.front.get(key)
    return written.strip() if isinstance(written, str) else ""


def _page_day(document: Document) -> str:
    for key in ("updated", "date", "created"):
        written = document.front.get(key)
        if isinstance(written, str) and (day := leading_iso_day(written)):
            return day
    return ""


def _section_fragment(section: _PageSection, query: SourceQuery) -> Fragment:
    layer = query.layer
    path = section.location.path
    names = {"title": " / ".join(section.trail), "path": path}
    return Fragment(
        f"{path}:{section.location.line}",
        section.location,
        section.text,
        FragmentDisplay(
            layer.heading[0],
            group=fill_template(layer.display.group_template, names),
            keep=layer.overflow.keep,
        ),
        labels=Labels(day=section.day, kind=section.kind, key=section.key, claim=path if section.key else ""),
    )
