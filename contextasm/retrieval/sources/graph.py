"""Sources `entities` and `relations` of the files of a graph: the ones that the topic names first, and how they relate.

Relations are followed step by step from the entities that earlier layers found: `start_from` names those layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from contextasm.model import (
    Data,
    Document,
    Fragment,
    Labels,
    Location,
    Problem,
    Reason,
    RetrievalResult,
    SourceQuery,
    Verdict,
)
from contextasm.retrieval.reading.files import layer_display, read_data
from contextasm.text.data.rows import Row, parse_rows
from contextasm.text.names.matching import mentions
from contextasm.text.names.templates import fill_item

ENTITY_LINE = "**{type}**: {name}{fields}"
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
    """Entities of the layer's files as fragments, the ones that the topic names first, then the most salient.

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
            message = f"{entity.id} is already in line {by_id[entity.id].line}"
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
    text = fill_item(query.layer.display.item_template or ENTITY_LINE, values)
    return Fragment(
        entity.id,
        Location(entity.path, entity.line, rows=1),
        " ".join(text.split()),
        layer_display(query.layer, place=() if query.layer.ranking.order == "best" else (place,)),
        score=(("named", float(named)), ("salience", entity.salience)),
        labels=Labels(kind=entity.type, entities=tuple(dict.fromkeys((entity.id, entity.name, *entity.aliases)))),
    )


# --- Relations -------------------------------------------------------------------------------------------------------


RELATION_LINE = "{source} --[{type}]--> {target}"
"""Template of a relation where the layer has no `item` (digest 2.1)."""

WEIGHT = 0.5
"""Weight of a relation that gives none."""

HALVED = 0.5
"""Factor of a weight for each step after the first (digest 001-15)."""


class Relation(NamedTuple):
    """One row of a file of relations."""

    path: str
    line: int
    source: str
    type: str
    target: str
    weight: float
    """0 to 1."""

    @property
    def edge(self) -> tuple[str, str, str]:
        """Case-folded source, type and target: two relations with the same ones are the same."""
        return self.source.casefold(), self.type.casefold(), self.target.casefold()


def relations(query: SourceQuery) -> RetrievalResult:
    """Relations of the layer's files as fragments, those within `depth` steps first, by score.

    An edge that is written twice is merged into its first row; one out of reach is excluded.
    """
    files, problems = read_data(query)
    all_relations = [relation for data in files for relation in _relations(data, problems)]
    first_of: dict[tuple[str, str, str], Relation] = {}
    for relation in all_relations:
        first_of.setdefault(relation.edge, relation)
    steps = _steps([*first_of.values()], _start_entities(query), query.layer.query.depth)
    not_reached = Reason.of("not-reached", depth=query.layer.query.depth)
    fragments = []
    for number, relation in enumerate(all_relations):
        first = first_of[relation.edge]
        if first is not relation:
            exclusion: Reason | None = Reason.of("repeated", line=first.line)
        else:
            exclusion = None if relation.edge in steps else not_reached
        fragment = _relation_fragment(relation, query, steps.get(relation.edge, 0), exclusion)
        fragments.append(fragment._replace(id=f"{relation.path}#{number}"))
    fragments.sort(
        key=lambda fragment: (fragment.verdict.excluded is not None, -dict(fragment.score).get("weight", 0.0))
    )
    return RetrievalResult(tuple(fragments), tuple(data.document for data in files), tuple(problems))


def _start_entities(query: SourceQuery) -> set[str]:
    # Those that the topic names, else all that are not excluded.
    entities = [
        fragment
        for result in query.found.values()
        for fragment in result.fragments
        if fragment.verdict.excluded is None
    ]
    named = [entity for entity in entities if dict(entity.score).get("named")]
    return {entity.id.casefold() for entity in named or entities}


def _relations(data: Data, problems: list[Problem]) -> Iterator[Relation]:
    for row in parse_rows(data, "relations", problems):
        source, target = row.word("source"), row.word("target")
        if source and target:
            type_ = row.word("type", "related")
            yield Relation(row.path, row.line, source, type_, target, row.share("weight", WEIGHT))
        else:
            row.report(f"has no `{'target' if source else 'source'}`")


def _steps(relations: Sequence[Relation], start: set[str], depth: int) -> Mapping[tuple[str, str, str], int]:
    """Number of the step, from 1, at which each edge is reached: breadth first, in both directions.

    Each entity is left once, so a circle ends.
    """
    relations_of: dict[str, list[Relation]] = {}
    for relation in relations:
        source, _, target = relation.edge
        relations_of.setdefault(source, []).append(relation)
        relations_of.setdefault(target, []).append(relation)
    steps: dict[tuple[str, str, str], int] = {}
    visited, border = set(start), start
    for step in range(1, depth + 1):
        neighbours: set[str] = set()
        for entity in border:
            for relation in relations_of.get(entity, ()):
                steps.setdefault(relation.edge, step)
                neighbours |= {relation.edge[0], relation.edge[2]}
        border = neighbours - visited
        visited |= border
        if not border:
            break
    return steps


def _relation_fragment(relation: Relation, query: SourceQuery, step: int, exclusion: Reason | None) -> Fragment:
    values = {"source": relation.source, "type": relation.type, "target": relation.target}
    score = (("weight", relation.weight * HALVED ** (step - 1)),) if step and exclusion is None else ()
    return Fragment(
        f"{relation.path}:{relation.line}",
        Location(relation.path, relation.line, rows=1),
        fill_item(query.layer.display.item_template or RELATION_LINE, values) if exclusion is None else "",
        layer_display(query.layer),
        score=score,
        labels=Labels(kind=relation.type, entities=tuple(dict.fromkeys((relation.source, relation.target)))),
        verdict=Verdict(excluded=exclusion),
    )
