"""Source `patterns`: ways of working, with their rates of success; the ones that fit the topic.

A pattern fits by its keywords, intents and entities; its text is not searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from contextasm.model import (
    Data,
    Fragment,
    Location,
    Problem,
    Reason,
    RetrievalResult,
    SourceQuery,
    Verdict,
)
from contextasm.retrieval.reading.files import layer_display, read_data
from contextasm.retrieval.reading.query_signals import intent, keywords
from contextasm.text.data.rows import parse_rows
from contextasm.text.names.templates import fill_item

LINE = "**{name}**: {text}"
"""Template of a pattern where the layer has no `item`."""


class Pattern(NamedTuple):
    """One row of a file of patterns."""

    path: str
    line: int
    name: str
    text: str
    keywords: tuple[str, ...]
    intents: tuple[str, ...]
    entities: tuple[str, ...]
    """Types of entities that it fits."""
    applied: int
    succeeded: int

    @property
    def rate(self) -> float:
        """Rate of success, from 0 to 1, nearer to a half the fewer the tries; 0 if it was never tried (001-16)."""
        return (self.succeeded + 1) / (self.applied + 2) if self.applied else 0.0


def patterns(query: SourceQuery) -> RetrievalResult:
    """Patterns of the layer's files as fragments, matches of the topic first, by rate of success.

    One fits by a keyword, by the intent, or by the type of an entity that the topic names (`start_from`).
    """
    files, problems = read_data(query)
    all_patterns = [pattern for data in files for pattern in _patterns(data, problems)]
    topic = query.build.request.topic
    words, topic_intent, types = set(keywords(topic)), intent(topic), _named_entity_types(query)
    fragments = []
    for number, pattern in enumerate(all_patterns):
        fits = (
            bool(words & {word.casefold() for word in pattern.keywords})
            or topic_intent in pattern.intents
            or bool(types & {type_.casefold() for type_ in pattern.entities})
        )
        fragments.append(_pattern_fragment(pattern, query, number, fits=fits))
    fragments.sort(
        key=lambda fragment: (
            fragment.verdict.excluded is not None,
            -dict(fragment.score).get("rate", 0.0),
            fragment.text,
        )
    )
    return RetrievalResult(tuple(fragments), tuple(data.document for data in files), tuple(problems))


def _named_entity_types(query: SourceQuery) -> set[str]:
    fragments = [fragment for result in query.found.values() for fragment in result.fragments]
    return {fragment.labels.kind.casefold() for fragment in fragments if dict(fragment.score).get("named")}


def _patterns(data: Data, problems: list[Problem]) -> Iterator[Pattern]:
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


def _pattern_fragment(pattern: Pattern, query: SourceQuery, number: int, *, fits: bool) -> Fragment:
    tried = f"worked {pattern.succeeded} of {pattern.applied} times" if pattern.applied else "not tried yet"
    values = {"name": pattern.name, "text": " ".join(pattern.text.split()), "tried": tried}
    return Fragment(
        f"{pattern.path}#{number}",
        Location(pattern.path, pattern.line, rows=1),
        fill_item(query.layer.display.item_template or LINE, values),
        layer_display(query.layer),
        score=(("rate", pattern.rate),) if fits else (),
        verdict=Verdict(excluded=None if fits else Reason("no-match")),
    )
