"""Source `entities`: people, parts and places in the files of a graph, those that the topic names first."""

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
from contextasm.retrieval.reading.files import read_data
from contextasm.text.data.rows import Row, parse_rows
from contextasm.text.names.matching import mentions
from contextasm.text.names.templates import fill_item

LINE = "**{type}**: {name}{fields}"
"""Template of an entity where the layer has no `item` (digest 2.1)."""

SALIENCE = 0.5
"""Salience of an entity that gives none."""


class Entity(NamedTuple):
    """One row of a file of entities."""

    id: str
    """Name of the entity in relations: its `id`, else its name."""
    path: str
    line: int
    type: str
    name: str
    aliases: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]
    salience: float
    """0 to 1."""


def entities(query: SourceQuery) -> RetrievalResult:
    """Entities of the layer's files as fragments, those that the topic names first, then the most salient.

    Besides those, `max_candidates` may enter; the others are excluded.
    """
    all_entities, documents, problems = _distinct_entities(query)
    topic = query.build.request.topic.casefold()
    named = {
        entity.id
        for entity in all_entities
        if topic and any(mentions(topic, name) for name in (entity.name, *entity.aliases))
    }
    ordered = sorted(all_entities, key=lambda entity: (entity.id not in named, -entity.salience, entity.id))
    end = len(named) + (query.layer.query.max_candidates or len(all_entities))
    reason = Reason.of("not-in-pool", pool=query.layer.query.max_candidates)
    fragments = [
        _entity_fragment(entity, query, place, named=entity.id in named) for place, entity in enumerate(ordered)
    ]
    fragments[end:] = [fragment.exclude(reason) for fragment in fragments[end:]]
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


def _distinct_entities(query: SourceQuery) -> tuple[list[Entity], list[Document], list[Problem]]:
    files, problems = read_data(query)
    by_id: dict[str, Entity] = {}
    for entity in (entity for data in files for entity in _entities(data, problems)):
        if entity.id in by_id:
            message = f"{entity.id} stands in line {by_id[entity.id].line} already"
            problems.append(Problem("duplicate-id", entity.path, entity.line, message, "keep one of them"))
        else:
            by_id[entity.id] = entity
    return [*by_id.values()], [data.document for data in files], problems


def _entities(data: Data, problems: list[Problem]) -> Iterator[Entity]:
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
            fields=_entity_fields(row),
            salience=row.share("salience", SALIENCE),
        )


def _entity_fields(row: Row) -> tuple[tuple[str, str], ...]:
    key = "fields" if "fields" in row.values else "properties"
    return tuple(row.pairs(key).items())


def _entity_fragment(entity: Entity, query: SourceQuery, place: int, *, named: bool) -> Fragment:
    fields = ", ".join(f"{key}: {value}" for key, value in entity.fields)
    values = {"type": entity.type, "name": entity.name, "fields": f" ({fields})" if fields else ""}
    text = fill_item(query.layer.display.item_template or LINE, values)
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
        labels=Labels(kind=entity.type, entities=tuple(dict.fromkeys((entity.id, entity.name, *entity.aliases)))),
    )
