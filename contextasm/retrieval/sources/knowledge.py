"""Source `knowledge`: pages split at their headings, those sections that have to do with the topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from math import inf
from typing import NamedTuple

from contextasm.model import Document, Fragment, FragmentDisplay, Labels, Location, Reason, RetrievalResult, SourceQuery
from contextasm.retrieval.query_signals import boosted, keywords
from contextasm.retrieval.reading import read_documents
from contextasm.text.markdown import blocks, heading, trimmed
from contextasm.text.templates import fill_template


class _Part(NamedTuple):
    """What stands between two headings of a page."""

    path: str
    line: int
    """The first line below the heading."""
    text: str
    trail: tuple[str, ...]
    """The page's name, where it has no title, and the headings above the text, the outermost first."""
    day: str


def knowledge(query: SourceQuery) -> RetrievalResult:
    """The sections of the layer's pages with how well they answer the topic; nothing at all without one.

    A hit counts a tenth more for each keyword that it holds, and more if its page is of the day.
    """
    if not query.build.request.topic.strip():
        return RetrievalResult()
    documents, problems = read_documents(query)
    parts = [part for document in documents for part in split_sections(document)]
    hits = _hits(query, parts)
    words = keywords(query.build.request.topic)
    fragments = []
    for row, part in enumerate(parts):
        if row in hits:
            folded = part.text.casefold()
            score = boosted(
                hits[row], sum(word in folded for word in words), _hours(part.day, query.build.request.date)
            )
            fragments.append(_fragment(part, query)._replace(score=(("similarity", score),)))
        else:
            fragments.append(_fragment(part, query).exclude(Reason("no-match")))
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


def _hits(query: SourceQuery, parts: Sequence[_Part]) -> dict[int, float]:
    """The sections that answer the topic, by their places, with how well."""
    from contextasm.retrieval.search.bm25 import similarities
    from contextasm.retrieval.search.inverted_index import IndexEntry, build_index

    entries = [IndexEntry("\n".join((*part.trail, part.text)), "", part.day) for part in parts]
    return similarities(query.build.request.topic, build_index(entries), query.layer.query.min_match)


def _hours(day: str, today: date) -> float:
    """The age of a page in hours; without end where it names no day."""
    return (today - date.fromisoformat(day)).days * 24.0 if day else inf


def split_sections(document: Document) -> Iterator[_Part]:
    """The texts between the headings of a page; a heading with nothing below it has none."""
    lines = document.text.split("\n")
    name = document.path.rpartition("/")[2].removesuffix(".md")
    day = _day(document)
    trail: list[tuple[int, str]] = []
    start, at = 0, 0
    for block in blocks(lines):
        if block.levels:
            yield from _part(document, lines[start : block.first], start, _named(trail, name), day)
            start = block.body
            for line in lines[block.first : block.body]:
                if title := heading(line):
                    trail = [each for each in trail if each[0] < title[0]] + [title]
        at = block.stop
    yield from _part(document, lines[start:at], start, _named(trail, name), day)


def _named(trail: Sequence[tuple[int, str]], name: str) -> tuple[str, ...]:
    """The headings above a text."""
    return tuple(title for _, title in trail if title) or (name,)


def _part(document: Document, lines: Sequence[str], start: int, trail: tuple[str, ...], day: str) -> Iterator[_Part]:
    """A section, if it holds anything."""
    blank, text = trimmed("\n".join(lines))
    if text:
        yield _Part(document.path, document.line + start + blank, text, trail, day)


def _day(document: Document) -> str:
    """The day that the front matter says the page is of; empty for none."""
    for key in ("updated", "date", "created"):
        written = document.front.get(key)
        try:
            if isinstance(written, str):
                return date.fromisoformat(written[:10]).isoformat()
        except ValueError:
            continue
    return ""


def _fragment(part: _Part, query: SourceQuery) -> Fragment:
    """A section under the headings that lead to it."""
    layer = query.layer
    return Fragment(
        f"{part.path}:{part.line}",
        Location(part.path, part.line),
        part.text,
        FragmentDisplay(
            layer.heading[0],
            group=fill_template(layer.display.group_template, {"title": " / ".join(part.trail), "path": part.path}),
            keep=layer.overflow.keep,
        ),
        labels=Labels(day=part.day),
    )
