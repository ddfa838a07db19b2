"""Source `entities`: the people, parts and places that a graph's file knows, those that the topic names first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from contextasm.model import (
    Data,
    Document,
    Fragment,
    FragmentDisplay,
    Labels,
    Location,
    Problem,
    Reason,
    RetrievalResult,
    SourceQuery,
)
from contextasm.retrieval.reading import read_data
from contextasm.text.matching import mentions
from contextasm.text.rows import Row, parse_rows
from contextasm.text.templates import fill_template

LINE = "**{type}**: {name}{fields}"
"""The form of an entity where the layer names none (digest 2.1)."""

SALIENCE = 0.5
"""Of an entity that does not say."""


class Entity(NamedTuple):
    """One row of a file of entities."""

    id: str
    """What relations call it: its `id`, else its name."""
    path: str
    line: int
    type: str
    name: str
    aliases: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]
    salience: float
    """0 to 1."""


def entities(query: SourceQuery) -> RetrievalResult:
    """Every entity of the layer's files, those that the topic names first, then the most salient.

    Beside those named, `layer.pool` are looked at.
    """
    known, documents, problems = _known(query)
    topic = query.build.request.topic.casefold()
    named = {each.id for each in known if topic and any(mentions(topic, name) for name in (each.name, *each.aliases))}
    ordered = sorted(known, key=lambda each: (each.id not in named, -each.salience, each.id))
    last = len(named) + (query.layer.query.max_candidates or len(known))
    out = Reason.of("not-in-pool", pool=query.layer.query.max_candidates)
    fragments = [_fragment(entity, query, place, named=entity.id in named) for place, entity in enumerate(ordered)]
    fragments[last:] = [fragment.exclude(out) for fragment in fragments[last:]]
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


def _known(query: SourceQuery) -> tuple[list[Entity], list[Document], list[Problem]]:
    """The entities of the layer's files, each once."""
    read, problems = read_data(query)
    found: dict[str, Entity] = {}
    for entity in (each for data in read for each in _entities(data, problems)):
        if entity.id in found:
            message = f"{entity.id} stands in line {found[entity.id].line} already; keep one of them"
            problems.append(Problem("duplicate-id", entity.path, entity.line, message))
        else:
            found[entity.id] = entity
    return [*found.values()], [each.document for each in read], problems


def _entities(data: Data, problems: list[Problem]) -> Iterator[Entity]:
    """The entities of one file."""
    for row in parse_rows(data, "entities", problems):
        name = row.word("name") or row.word("id")
        if not name:
            row.report("has no `name`")
            continue
        yield Entity(
            id=row.word("id", name),
            path=row.path,
            line=row.line,
            type=row.word("type", "thing"),
            name=name,
            aliases=row.words("aliases"),
            fields=_fields(row),
            salience=row.share("salience", SALIENCE),
        )


def _fields(row: Row) -> tuple[tuple[str, str], ...]:
    """What is said of an entity, in the file's order."""
    key = "fields" if "fields" in row.values else "properties"
    return tuple(row.pairs(key).items())


def _fragment(entity: Entity, query: SourceQuery, place: int, *, named: bool) -> Fragment:
    """An entity in one line."""
    fields = ", ".join(f"{key}: {value}" for key, value in entity.fields)
    given = {"type": entity.type, "name": entity.name, "fields": f" ({fields})" if fields else ""}
    text = fill_template(query.layer.display.item_template or LINE, given)
    return Fragment(
        entity.id,
        Location(entity.path, entity.line, rows=1),
        " ".join(text.split()),
        FragmentDisplay(
            query.layer.heading[0],
            place=() if query.layer.ranking.order == "best" else (place,),
            keep=query.layer.overflow.keep,
        ),
        score=(("named", float(named)), ("salience", entity.salience)),
        labels=Labels(kind=entity.type),
    )
