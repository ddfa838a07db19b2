"""Pooled: the memories of a layer where there are many, the best by themselves and all others by number.

A large pool is kept from build to build, so that the files it came from need not be opened again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from contextasm.model import (
    Fragment,
    FragmentDisplay,
    Layer,
    Location,
    Memory,
    MemoryPool,
    Problem,
    Reason,
    RetrievalResult,
    Score,
    SourceQuery,
    T,
    Verdict,
    weighted_total,
)
from contextasm.retrieval.memory_pool import MANY, ReadPool, best_rows, pool_patterns, read_pool, score_rows
from contextasm.retrieval.reading import query_paths

Pick = Callable[[SourceQuery, MemoryPool], Mapping[int, Score] | None]
"""The rows of a pool that answer, with the parts of their scores; None where all do and nothing is scored."""

Show = Callable[[Memory, Layer, Score], Fragment]
"""A memory as the layer shows it, with its score."""

PARTS = {"similarity", "importance", "recency"}
"""What a kept pool knows of a score."""


def all_rows(_ask: SourceQuery, _pool: MemoryPool) -> None:
    """All memories, unscored: the newest come first."""


def topic_scores(query: SourceQuery, pool: MemoryPool) -> dict[int, Score]:
    """The rows that match the request's topic, by their words."""
    return score_rows(
        pool, pool.similar(query.build.request.topic, query.layer.query.min_match), query.build.request.date
    )


class TopicHits(NamedTuple):
    """The memories that match a topic, best first."""

    found: tuple[tuple[Memory, Score], ...]
    """Each with the parts of its score and `weighted_total`; as many as the layer shows."""
    rows: int
    """How many memories there are that count."""
    problems: tuple[Problem, ...]


def topic_hits(query: SourceQuery) -> TopicHits:
    """What a build would find for the layer and the topic, without the recent ones where that is nothing."""

    def use(pool: MemoryPool) -> TopicHits:
        scores = topic_scores(query, pool)
        rows = best_rows(pool, scores, query.layer)
        sums = [(*scores[row], ("total", weighted_total(scores[row], query.layer.ranking.weights))) for row in rows]
        return TopicHits(tuple(zip(pool.memories(rows), sums, strict=True)), pool.rows, tuple(pool.problems))

    return _asked(query, use, use)


def can_use_index(query: SourceQuery) -> bool:
    """Whether a kept pool knows all that the layer wants to know of its memories."""
    layer = query.layer
    sorting = (
        layer.memories.tier or layer.memories.key_quota or layer.display.group_template or layer.ranking.order != "best"
    )
    return not (
        query.build.memory_index is None
        or query.build.semantics
        or sorting
        or {name for name, _ in layer.ranking.weights} - PARTS
    )


def search_pool(
    query: SourceQuery, tell: Callable[[ReadPool], RetrievalResult], pick: Pick, show: Show
) -> RetrievalResult:
    """What `tell` makes of the layer's memories; of many, the best of those that are picked, and numbers."""
    if not can_use_index(query):
        return tell(read_pool(query.build.workspace, [*query_paths(query)]))
    return _asked(query, partial(_told, query, pick, show), tell)


def _asked(query: SourceQuery, use: Callable[[MemoryPool], T], use_few: Callable[[ReadPool], T]) -> T:
    """What comes of the pool of the layer's files, which is kept for the next time if there are many memories."""
    own, every = pool_patterns(query.layer, query.build.request), [*query_paths(query)]
    known = query.build.memory_index.query(own, every, use) if query.build.memory_index else None
    if known is not None:
        return known
    pool = read_pool(query.build.workspace, every)
    if pool.size <= MANY:
        return use_few(pool)
    if query.build.memory_index:
        query.build.memory_index.store(own, every)
        known = query.build.memory_index.query(own, every, use)
    return use(pool) if known is None else known


def _told(query: SourceQuery, pick: Pick, show: Show, pool: MemoryPool) -> RetrievalResult:
    """The best memories by themselves, all others by number."""
    picked = pick(query, pool)
    rows = pool.newest(query.layer.ranking.top) if picked is None else best_rows(pool, picked, query.layer)
    shown = [
        show(memory, query.layer, () if picked is None else picked[row])
        for row, memory in zip(rows, pool.memories(rows), strict=True)
    ]
    hits = pool.rows if picked is None else len(picked)
    others = [*pool.excluded]
    if pool.rows > hits:
        others.append(Reason.of("no-match", count=pool.rows - hits))
    if hits > len(rows):
        others.append(Reason.of("not-in-top", count=hits - len(rows), top=query.layer.ranking.top))
    numbers = [_number(query, reason) for reason in others]
    return RetrievalResult((*shown, *numbers), tuple(pool.documents), tuple(pool.problems))


def _number(query: SourceQuery, reason: Reason) -> Fragment:
    """Memories that share a reason, without their texts."""
    where = " ".join(pool_patterns(query.layer, query.build.request))
    facts = "".join(f" {value}" for name, value in reason.facts if name == "status")
    return Fragment(
        f"{where} {reason.code}{facts}",
        Location(where, 0),
        "",
        FragmentDisplay(query.layer.heading[0]),
        verdict=Verdict(excluded=reason),
    )
