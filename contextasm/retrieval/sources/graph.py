"""Sources `entities` and `relations` of the files of a graph: the ones that the topic names first, and how they relate.

Relations are followed step by step from the entities that earlier layers found: `start_from` names those layers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from contextasm.model import Data, Fragment, Labels, Location, Problem, Reason, RetrievalResult, SourceQuery, grouped
from contextasm.retrieval.reading.files import layer_display, read_data
from contextasm.text.data.rows import Row, parse_rows
from contextasm.text.names.matching import mentions
from contextasm.text.names.templates import fill_item

ENTITY_LINE = "**{type}**: {name}{fields}"
"""Template of an entity where the layer has no `item` (digest 2.1)."""

SALIENCE = 0.5
"""Salience of an entity that gives none."""


def entities(query: SourceQuery) -> RetrievalResult:
    """Entities of the layer's files as fragments, the ones that the topic names first, then the most salient.

    Besides those, `max_candidates` may enter; the others are excluded.
    """
    files, problems = read_data(query)
    by_id: dict[str, Fragment] = {}
    for row in (row for data in files for row in parse_rows(data, "entities", problems)):
        name = row.word("name") or row.word("id")
        if not name:
            row.report("has no `name`")
            continue
        entity = _entity_fragment(row, name, query)
        first = by_id.setdefault(entity.id, entity)
        if first is not entity:
            message = f"{entity.id} is already in line {first.location.line}"
            problems.append(Problem("duplicate-id", row.path, row.line, message, "keep one of the two lines"))
    fragments = sorted(by_id.values(), key=lambda entity: (*(-value for _, value in entity.score), entity.id))
    if query.layer.ranking.order != "best":
        fragments = [
            entity._replace(display=entity.display._replace(place=(place,))) for place, entity in enumerate(fragments)
        ]
    end = sum(map(_is_named, fragments)) + (query.layer.query.max_candidates or len(fragments))
    reason = Reason.of("not-in-pool", pool=query.layer.query.max_candidates)
    fragments[end:] = [fragment.exclude(reason) for fragment in fragments[end:]]
    return RetrievalResult(tuple(fragments), tuple(data.document for data in files), tuple(problems))


def _is_named(entity: Fragment) -> bool:
    return bool(dict(entity.score).get("named"))


def _entity_fragment(row: Row, name: str, query: SourceQuery) -> Fragment:
    """The entity of a row; relations know it by its `id`, else by its name."""
    id_, kind, aliases = row.word("id", name), row.word("type", "thing"), row.words("aliases")
    properties = row.pairs("fields" if "fields" in row.values else "properties")
    fields = ", ".join(f"{key}: {value}" for key, value in properties.items())
    values = {"type": kind, "name": name, "fields": f" ({fields})" if fields else ""}
    text = fill_item(query.layer.display.item_template or ENTITY_LINE, values)
    topic = query.build.request.topic.casefold()
    is_named = bool(topic) and any(mentions(topic, each) for each in (name, *aliases))
    return Fragment(
        id_,
        Location(row.path, row.line, rows=1),
        " ".join(text.split()),
        layer_display(query.layer),
        score=(("named", float(is_named)), ("salience", row.share("salience", SALIENCE))),
        labels=Labels(kind=kind, entities=tuple(dict.fromkeys((name, id_, *aliases)))),
    )


# --- Relations -------------------------------------------------------------------------------------------------------


RELATION_LINE = "{source} --[{type}]--> {target}"
"""Template of a relation where the layer has no `item` (digest 2.1)."""

WEIGHT = 0.5
"""Weight of a relation that gives none."""

HALVED = 0.5
"""Factor of a weight for each step after the first (digest 001-15)."""


Edge = tuple[str, str, str]
"""Case-folded source, type and target: two relations with the same ones are the same."""


def relations(query: SourceQuery) -> RetrievalResult:
    """Relations of the layer's files as fragments, those within `depth` steps first, by score.

    An edge that is written twice is merged into its first row; one out of reach is excluded.
    """
    files, problems = read_data(query)
    all_relations = [relation for data in files for relation in _relations(data, query, problems)]
    first_of: dict[Edge, Fragment] = {}
    for edge, relation in all_relations:
        first_of.setdefault(edge, relation)
    steps = _steps(first_of, _start_entities(query), query.layer.query.depth)
    not_reached = Reason.of("not-reached", depth=query.layer.query.depth)
    fragments = []
    for number, (edge, relation) in enumerate(all_relations):
        fragment = relation._replace(id=f"{relation.location.path}#{number}")
        if first_of[edge] is relation and edge in steps:
            weight = dict(relation.score)["weight"] * HALVED ** (steps[edge] - 1)
            fragments.append(fragment._replace(score=(("weight", weight),)))
            continue
        repeated = Reason.of("repeated", line=first_of[edge].location.line)
        reason = not_reached if first_of[edge] is relation else repeated
        fragments.append(fragment._replace(text="", score=()).exclude(reason))
    fragments.sort(key=lambda each: (each.verdict.excluded is not None, -dict(each.score).get("weight", 0.0)))
    return RetrievalResult(tuple(fragments), tuple(data.document for data in files), tuple(problems))


def _start_entities(query: SourceQuery) -> set[str]:
    # Those that the topic names, else all that are not excluded.
    entities = [
        fragment
        for result in query.found.values()
        for fragment in result.fragments
        if fragment.verdict.excluded is None
    ]
    named = [*filter(_is_named, entities)]
    return {entity.id.casefold() for entity in named or entities}


def _relations(data: Data, query: SourceQuery, problems: list[Problem]) -> Iterator[tuple[Edge, Fragment]]:
    entities = [entity for result in query.found.values() for entity in result.fragments if entity.labels.entities]
    names = {entity.id.casefold(): entity.labels.entities[0] for entity in entities}
    for row in parse_rows(data, "relations", problems):
        source, target = row.word("source"), row.word("target")
        if not (source and target):
            row.report(f"has no `{'target' if source else 'source'}`")
            continue
        kind = row.word("type", "related")
        first, second = (names.get(each.casefold(), each) for each in (source, target))
        values = {"source": first, "type": kind, "target": second}
        yield (
            (source.casefold(), kind.casefold(), target.casefold()),
            Fragment(
                "",
                Location(row.path, row.line, rows=1),
                fill_item(query.layer.display.item_template or RELATION_LINE, values),
                layer_display(query.layer),
                score=(("weight", row.share("weight", WEIGHT)),),
                labels=Labels(kind=kind, entities=tuple(dict.fromkeys((source, target)))),
            ),
        )


def _steps(edges: Iterable[Edge], start: set[str], depth: int) -> Mapping[Edge, int]:
    """Number of the step, from 1, at which each edge is reached: breadth first, in both directions.

    Each entity is left once, so a circle ends.
    """
    edges_of = grouped((entity, edge) for edge in edges for entity in (edge[0], edge[2]))
    steps: dict[Edge, int] = {}
    visited, border = set(start), start
    for step in range(1, depth + 1):
        reached = [edge for entity in border for edge in edges_of.get(entity, ())]
        for edge in reached:
            steps.setdefault(edge, step)
        border = {entity for source, _, target in reached for entity in (source, target)} - visited
        visited |= border
        if not border:
            break
    return steps
