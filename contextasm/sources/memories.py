"""Sources `search` and `recent`: remembered statements, those that match the topic or simply the newest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from contextasm.model import Ask, Found, Fragment, Layer, Memory, Pool, Problem, Reason, T
from contextasm.sources.pools import COUNTING, MANY, ReadPool, best, files, patterns, read, replaced, scored
from contextasm.text.scores import Parts, total
from contextasm.text.templates import fill

__all__ = ["COUNTING", "Hits", "hits", "matches", "recent", "replaced", "search"]

Pick = Callable[[Ask, Pool], Mapping[int, Parts] | None]
"""The rows of a pool that answer, with the parts of their scores; None where all do and nothing is scored."""


def recent(ask: Ask) -> Found:
    """Every memory of the layer's files; those that do not count say why."""
    return _found(ask, lambda _ask, _pool: None)


def search(ask: Ask) -> Found:
    """The memories of the layer's files, those that match the request's topic with the parts of their scores.

    Nothing at all where there is no topic.
    """
    return _found(ask, matches) if ask.request.topic.strip() else Found()


def matches(ask: Ask, pool: Pool) -> dict[int, Parts]:
    """The rows that match the request's topic."""
    return scored(pool, pool.similar(ask.request.topic, ask.layer.floor), ask.request.date)


class Hits(NamedTuple):
    """The memories that match a topic, best first."""

    found: tuple[tuple[Memory, Parts], ...]
    """Each with the parts of its score and `total`; as many as the layer shows."""
    rows: int
    """How many memories there are that count."""
    problems: tuple[Problem, ...]


def hits(ask: Ask) -> Hits:
    """What a build would find for the layer and the topic, without the recent ones where that is nothing."""

    def use(pool: Pool) -> Hits:
        scores = matches(ask, pool)
        rows = best(pool, scores, ask.layer)
        sums = [(*scores[row], ("total", total(scores[row], ask.layer.weights))) for row in rows]
        return Hits(tuple(zip(pool.memories(rows), sums, strict=True)), pool.rows, tuple(pool.problems))

    return _asked(ask, use, use)


def _found(ask: Ask, pick: Pick) -> Found:
    """What a pick brings: of a few memories each with what became of it, of many the best and numbers."""
    if ask.pools is None or ask.layer.order != "best":
        return _listed(ask, pick, read(ask.workspace, files(ask)))
    return _asked(ask, partial(_told, ask, pick), partial(_listed, ask, pick))


def _asked(ask: Ask, use: Callable[[Pool], T], use_few: Callable[[ReadPool], T]) -> T:
    """What comes of the pool of the layer's files, which is kept for the next time if there are many memories."""
    own, every = patterns(ask.layer, ask.request), files(ask)
    kept = ask.pools.ask(own, every, use) if ask.pools else None
    if kept is not None:
        return kept
    pool = read(ask.workspace, every)
    if pool.size <= MANY:
        return use_few(pool)
    if ask.pools:
        ask.pools.keep(own, every)
        kept = ask.pools.ask(own, every, use)
    return use(pool) if kept is None else kept


def _listed(ask: Ask, pick: Pick, pool: ReadPool) -> Found:
    """Every memory by itself."""
    picked = pick(ask, pool)
    fragments: list[Fragment] = []
    row = 0
    for memory, reason in zip(pool.every, pool.outs, strict=True):
        score: Parts = ()
        out = reason
        if reason is None:
            if picked is not None:
                score = picked.get(row, ())
                out = None if score else Reason("no-match")
            row += 1
        fragments.append(fragment(memory, ask.layer, out, score))
    return Found(tuple(fragments), tuple(pool.documents), tuple(pool.problems))


def _told(ask: Ask, pick: Pick, pool: Pool) -> Found:
    """The best memories by themselves, all others by number."""
    picked = pick(ask, pool)
    rows = pool.newest(ask.layer.top) if picked is None else best(pool, picked, ask.layer)
    shown = [
        fragment(memory, ask.layer, None, () if picked is None else picked[row])
        for row, memory in zip(rows, pool.memories(rows), strict=True)
    ]
    hits = pool.rows if picked is None else len(picked)
    others = [*pool.left_out]
    if pool.rows > hits:
        others.append(Reason.of("no-match", count=pool.rows - hits))
    if hits > len(rows):
        others.append(Reason.of("not-in-top", count=hits - len(rows), top=ask.layer.top))
    numbers = [_number(ask, reason) for reason in others]
    return Found((*shown, *numbers), tuple(pool.documents), tuple(pool.problems))


def _number(ask: Ask, reason: Reason) -> Fragment:
    """Memories that share a reason, without their texts."""
    where = " ".join(patterns(ask.layer, ask.request))
    facts = "".join(f" {value}" for name, value in reason.facts if name == "status")
    return Fragment(f"{where} {reason.code}{facts}", where, 0, "", ask.layer.heading[0], out=reason)


def fragment(memory: Memory, layer: Layer, out: Reason | None, score: Parts) -> Fragment:
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
        score=score,
        out=out,
    )
