"""Source `relations`: what joins the entities that earlier layers found, followed step by step.

Needs those layers to be done: `layer.start` names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from contextasm.model import (
    Data,
    Fragment,
    FragmentDisplay,
    Labels,
    Location,
    Problem,
    Reason,
    RetrievalResult,
    SourceQuery,
    Verdict,
)
from contextasm.retrieval.reading import read_data
from contextasm.text.rows import parse_rows
from contextasm.text.templates import fill_template

LINE = "{source} --[{type}]--> {target}"
"""The form of a relation where the layer names none (digest 2.1)."""

WEIGHT = 0.5
"""Of a relation that does not say."""

HALVED = 0.5
"""What is left of a weight with each step away from where it began (digest 001-15)."""


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
        """What makes two relations the same."""
        return self.source.casefold(), self.type.casefold(), self.target.casefold()


def relations(query: SourceQuery) -> RetrievalResult:
    """Every relation of the layer's files, those within `layer.depth` steps with their scores, nearest first.

    An edge that stands there twice is merged into its first row; one out of reach says so.
    """
    read, problems = read_data(query)
    known = [relation for data in read for relation in _relations(data, problems)]
    first: dict[tuple[str, str, str], Relation] = {}
    for relation in known:
        first.setdefault(relation.edge, relation)
    steps = _steps([*first.values()], _begun(query), query.layer.query.depth)
    far = Reason.of("not-reached", depth=query.layer.query.depth)
    fragments = []
    for number, relation in enumerate(known):
        kept = first[relation.edge]
        if kept is not relation:
            out: Reason | None = Reason.of("repeated", line=kept.line)
        else:
            out = None if relation.edge in steps else far
        fragments.append(
            _fragment(relation, query, steps.get(relation.edge, 0), out)._replace(id=f"{relation.path}#{number}")
        )
    fragments.sort(key=lambda each: (each.verdict.excluded is not None, -dict(each.score).get("weight", 0.0)))
    return RetrievalResult(tuple(fragments), tuple(each.document for each in read), tuple(problems))


def _begun(query: SourceQuery) -> set[str]:
    """The ids of the entities from which relations are followed: those that the topic names, else all that count."""
    found = [each for layer in query.found.values() for each in layer.fragments if each.verdict.excluded is None]
    named = [each for each in found if dict(each.score).get("named")]
    return {each.id.casefold() for each in named or found}


def _relations(data: Data, problems: list[Problem]) -> Iterator[Relation]:
    """The relations of one file."""
    for row in parse_rows(data, "relations", problems):
        source, target = row.word("source"), row.word("target")
        if source and target:
            type_ = row.word("type", "related")
            yield Relation(row.path, row.line, source, type_, target, row.share("weight", WEIGHT))
        else:
            row.report(f"has no `{'target' if source else 'source'}`")


def _steps(known: Sequence[Relation], begun: set[str], depth: int) -> Mapping[tuple[str, str, str], int]:
    """Each edge within reach with the number of its step, from 1: breadth first, along both directions.

    An entity is left once only, so a circle ends.
    """
    at: dict[str, list[Relation]] = {}
    for relation in known:
        source, _, target = relation.edge
        at.setdefault(source, []).append(relation)
        at.setdefault(target, []).append(relation)
    steps: dict[tuple[str, str, str], int] = {}
    visited, border = set(begun), begun
    for step in range(1, depth + 1):
        beyond: set[str] = set()
        for entity in border:
            for relation in at.get(entity, ()):
                steps.setdefault(relation.edge, step)
                beyond |= {relation.edge[0], relation.edge[2]}
        border = beyond - visited
        visited |= border
        if not border:
            break
    return steps


def _fragment(relation: Relation, query: SourceQuery, step: int, out: Reason | None) -> Fragment:
    """A relation in one line."""
    given = {"source": relation.source, "type": relation.type, "target": relation.target}
    score = (("weight", relation.weight * HALVED ** (step - 1)),) if step and out is None else ()
    return Fragment(
        f"{relation.path}:{relation.line}",
        Location(relation.path, relation.line, rows=1),
        fill_template(query.layer.display.item_template or LINE, given) if out is None else "",
        FragmentDisplay(query.layer.heading[0], keep=query.layer.overflow.keep),
        score=score,
        labels=Labels(kind=relation.type),
        verdict=Verdict(excluded=out),
    )
