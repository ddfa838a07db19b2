"""Pooled: the memories of a layer where there are many, the best by themselves and all others by number.

A large pool is kept from build to build, so that the files it came from need not be opened again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from contextasm.model import Ask, Found, Fragment, Layer, Memory, Pool, Problem, Reason, T
from contextasm.model.score import Parts, total
from contextasm.retrieval.memory_pool import MANY, ReadPool, best, patterns, read, scored
from contextasm.retrieval.reading import named

Pick = Callable[[Ask, Pool], Mapping[int, Parts] | None]
"""The rows of a pool that answer, with the parts of their scores; None where all do and nothing is scored."""

Show = Callable[[Memory, Layer, Parts], Fragment]
"""A memory as the layer shows it, with its score."""

PARTS = {"similarity", "importance", "recency"}
"""What a kept pool knows of a score."""


def everyone(_ask: Ask, _pool: Pool) -> None:
    """All memories, unscored: the newest come first."""


def matches(ask: Ask, pool: Pool) -> dict[int, Parts]:
    """The rows that match the request's topic, by their words."""
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


def fits(ask: Ask) -> bool:
    """Whether a kept pool knows all that the layer wants to know of its memories."""
    layer = ask.layer
    sorting = layer.tier or layer.quota or layer.group or layer.order != "best"
    return not (ask.pools is None or ask.meaning or sorting or {name for name, _ in layer.weights} - PARTS)


def pooled(ask: Ask, tell: Callable[[ReadPool], Found], pick: Pick, show: Show) -> Found:
    """What `tell` makes of the layer's memories; of many, the best of those that are picked, and numbers."""
    if not fits(ask):
        return tell(read(ask.workspace, [*named(ask)]))
    return _asked(ask, partial(_told, ask, pick, show), tell)


def _asked(ask: Ask, use: Callable[[Pool], T], use_few: Callable[[ReadPool], T]) -> T:
    """What comes of the pool of the layer's files, which is kept for the next time if there are many memories."""
    own, every = patterns(ask.layer, ask.request), [*named(ask)]
    known = ask.pools.ask(own, every, use) if ask.pools else None
    if known is not None:
        return known
    pool = read(ask.workspace, every)
    if pool.size <= MANY:
        return use_few(pool)
    if ask.pools:
        ask.pools.keep(own, every)
        known = ask.pools.ask(own, every, use)
    return use(pool) if known is None else known


def _told(ask: Ask, pick: Pick, show: Show, pool: Pool) -> Found:
    """The best memories by themselves, all others by number."""
    picked = pick(ask, pool)
    rows = pool.newest(ask.layer.top) if picked is None else best(pool, picked, ask.layer)
    shown = [
        show(memory, ask.layer, () if picked is None else picked[row])
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
