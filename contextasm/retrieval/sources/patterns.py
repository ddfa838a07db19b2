"""Source `patterns`: ways of working that have proved themselves, those that fit what is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from contextasm.model import (
    Data,
    Fragment,
    FragmentDisplay,
    Location,
    Problem,
    Reason,
    RetrievalResult,
    SourceQuery,
    Verdict,
)
from contextasm.retrieval.query_signals import intent, keywords
from contextasm.retrieval.reading import read_data
from contextasm.text.rows import parse_rows
from contextasm.text.templates import fill_template

LINE = "**{name}**: {text}"
"""The form of a pattern where the layer names none."""


class Pattern(NamedTuple):
    """One row of a file of patterns."""

    path: str
    line: int
    name: str
    text: str
    keywords: tuple[str, ...]
    intents: tuple[str, ...]
    entities: tuple[str, ...]
    """Types of entities."""
    applied: int
    succeeded: int

    @property
    def rate(self) -> float:
        """How often it worked, drawn towards a half where it was seldom tried; 0 where it never was (001-16)."""
        return (self.succeeded + 1) / (self.applied + 2) if self.applied else 0.0


def patterns(query: SourceQuery) -> RetrievalResult:
    """The patterns of the layer's files, those that fit the topic by how often they worked.

    One fits by a keyword, by the intent, or by the type of an entity that the topic names (`layer.start`).
    """
    read, problems = read_data(query)
    known = [pattern for data in read for pattern in _patterns(data, problems)]
    words, meant, types = set(keywords(query.build.request.topic)), intent(query.build.request.topic), _types(query)
    fragments = []
    for number, pattern in enumerate(known):
        by_word = bool(words & {word.casefold() for word in pattern.keywords})
        fits = by_word or meant in pattern.intents or bool(types & {each.casefold() for each in pattern.entities})
        fragments.append(_fragment(pattern, query, number, fits=fits))
    fragments.sort(key=lambda each: (each.verdict.excluded is not None, -dict(each.score).get("rate", 0.0), each.text))
    return RetrievalResult(tuple(fragments), tuple(each.document for each in read), tuple(problems))


def _types(query: SourceQuery) -> set[str]:
    """The types of the entities that the topic names."""
    found: Sequence[Fragment] = [each for layer in query.found.values() for each in layer.fragments]
    return {each.labels.kind.casefold() for each in found if dict(each.score).get("named")}


def _patterns(data: Data, problems: list[Problem]) -> Iterator[Pattern]:
    """The patterns of one file."""
    for row in parse_rows(data, "patterns", problems):
        name = row.word("name") or row.word("text")
        applied, succeeded = row.count("applied"), row.count("succeeded")
        if not name:
            row.report("has no `name`")
            continue
        if succeeded > applied:
            row.report(f"succeeded {succeeded} times of {applied}; counted as {applied}")
        yield Pattern(
            path=row.path,
            line=row.line,
            name=name,
            text=row.word("text"),
            keywords=row.words("keywords"),
            intents=row.words("intent"),
            entities=row.words("entities"),
            applied=applied,
            succeeded=min(succeeded, applied),
        )


def _fragment(pattern: Pattern, query: SourceQuery, number: int, *, fits: bool) -> Fragment:
    """A pattern as a list item."""
    tried = f"worked {pattern.succeeded} of {pattern.applied} times" if pattern.applied else "not tried yet"
    given = {"name": pattern.name, "text": " ".join(pattern.text.split()), "tried": tried}
    return Fragment(
        f"{pattern.path}#{number}",
        Location(pattern.path, pattern.line, rows=1),
        fill_template(query.layer.display.item_template or LINE, given),
        FragmentDisplay(query.layer.heading[0], keep=query.layer.overflow.keep),
        score=(("rate", pattern.rate),) if fits else (),
        verdict=Verdict(excluded=None if fits else Reason("no-match")),
    )
