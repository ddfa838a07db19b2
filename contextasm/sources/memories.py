"""Sources `search` and `recent`: remembered statements, those that match the topic or simply the newest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from math import exp
from typing import TYPE_CHECKING

from contextasm.model import Ask, Document, Found, Fragment, Layer, Memory, Problem, Reason
from contextasm.text.memories import distinct, memories
from contextasm.text.templates import fill, paths

if TYPE_CHECKING:
    from contextasm.search.fusion import Hit

COUNTING = {"active", "approved"}
"""The states in which a memory may be shown."""

DECAY = 0.05
"""Of recency, per day: half of it is gone after 13.86 days (digest 1.2)."""

KERNEL = 0.5
"""How much a memory shares in its neighbours' matches: in a list of memories half as much as in a log."""


def recent(ask: Ask) -> Found:
    """Every memory of the layer's files; those that do not count say why."""
    return _found(ask)[0]


def search(ask: Ask) -> Found:
    """The memories of the layer's files, those that match the request's topic with the parts of their scores.

    Nothing at all where there is no topic.
    """
    if not ask.request.topic.strip():
        return Found()
    found, own = _found(ask)
    asked = [number for number, each in enumerate(found.fragments) if each.out is None]
    hits, problems = _hits(ask, [own[number] for number in asked])
    fragments = [*found.fragments]
    for row, number in enumerate(asked):
        if hit := hits.get(row):
            score = (*score_parts(own[number], hit.similarity, ask.request.date), *hit.parts)
            fragments[number] = fragments[number]._replace(score=score)
        else:
            fragments[number] = fragments[number]._replace(out=Reason("no-match"))
    return found._replace(fragments=tuple(fragments), problems=(*found.problems, *problems))


def _hits(ask: Ask, pool: Sequence[Memory]) -> tuple[Mapping[int, Hit], tuple[Problem, ...]]:
    """The memories that answer the topic, by their place: by words, and by meaning too where that can be asked."""
    from contextasm.search import Entry, index, similarities
    from contextasm.search.fusion import Hit, fused

    topic, floor = ask.request.topic, ask.layer.floor
    entries = [Entry(each.text, f"{each.path} {each.created}", each.created, kernel=KERNEL) for each in pool]
    postings = index(entries)
    words = similarities(topic, postings, floor)
    near = ask.meaning(topic, [each.text for each in pool]) if ask.meaning and pool else ()
    if isinstance(near, Problem) or not near:
        problems = (near,) if isinstance(near, Problem) else ()
        return {row: Hit(similarity) for row, similarity in words.items()}, problems
    return fused(words, similarities(topic, postings, 0.0), near, floor, entries), ()


def score_parts(memory: Memory, similarity: float, today: date) -> tuple[tuple[str, float], ...]:
    """The parts of a memory's score, each from 0 to 1."""
    last = memory.accessed or memory.created
    days = max(0, (today - date.fromisoformat(last)).days) if last else None
    recency = 0.0 if days is None else exp(-DECAY * days)
    return (("similarity", similarity), ("importance", memory.importance), ("recency", recency))


def _found(ask: Ask) -> tuple[Found, tuple[Memory, ...]]:
    """Every memory of the layer's files as a fragment, and as it stands."""
    found: list[Memory] = []
    documents: list[Document] = []
    problems: list[Problem] = []
    for path in dict.fromkeys(path for each in ask.layer.path for path in paths(ask.workspace, each, ask.request)):
        read = ask.workspace.read(path)
        if isinstance(read, Document):
            documents.append(read)
            own, wrong = memories(read)
            found += own
            problems += wrong
        elif read:
            problems.append(read)
    every, wrong = distinct(found)
    superseded = replaced(every)
    fragments = tuple(fragment(memory, ask.layer, superseded) for memory in every)
    return Found(fragments, tuple(documents), (*problems, *wrong)), every


def replaced(found: Iterable[Memory]) -> dict[str, str]:
    """The ids that a memory which counts takes the place of, each with that memory's id."""
    return {old: memory.id for memory in found if memory.status in COUNTING for old in memory.supersedes}


def fragment(memory: Memory, layer: Layer, superseded: dict[str, str]) -> Fragment:
    """A memory in the form in which the layer shows it."""
    shown = {"type": memory.type, "text": memory.text.replace("\n", "\n  ")}
    text = fill(layer.line, shown) if layer.line else memory.text
    return Fragment(
        id=memory.id,
        path=memory.path,
        line=memory.line,
        text="\n".join(line.rstrip() for line in text.split("\n")),
        heading=layer.heading[0],
        day=memory.created,
        keep=layer.keep,
        tags=memory.tags,
        kind=memory.type,
        out=_out(memory, superseded),
    )


def _out(memory: Memory, superseded: dict[str, str]) -> Reason | None:
    """Why a memory does not count; None if it does."""
    if memory.status not in COUNTING:
        return Reason.of("status", status=memory.status)
    if memory.id in superseded and superseded[memory.id] != memory.id:
        return Reason.of("superseded", by=superseded[memory.id])
    return None
