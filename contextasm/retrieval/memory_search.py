"""Memory search: the memories of a layer as fragments; of a large pool, the best ones and a count of the others.

A large pool is indexed, so that later builds need not open the files again. Ranks nothing but the memories of one pool.
"""

from collections.abc import Callable, Mapping
from datetime import date
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
from contextasm.retrieval.indexed_pools import query_pool
from contextasm.retrieval.memory_pool import (
    ReadPool,
    best_rows,
    past_rows,
    pool_patterns,
    read_pool,
    read_pool_up_to,
    score_rows,
)
from contextasm.retrieval.reading import query_paths

MatchRows = Callable[[SourceQuery, MemoryPool], Mapping[int, Score] | None]
"""Gives the rows of a pool that match, with their score parts; None where all rows match and none has a score."""

MakeFragment = Callable[[Memory, Layer, Score], Fragment]
"""Makes a fragment of a memory, as the layer shows it, with its score."""

INDEXED_SCORE_PARTS = {"similarity", "importance", "recency"}
"""Parts of a score that an indexed pool can compute."""


def all_rows(_query: SourceQuery, _pool: MemoryPool) -> None:
    """All rows of a pool, without scores: the newest come first."""


def topic_scores(query: SourceQuery, pool: MemoryPool) -> dict[int, Score]:
    """Score parts of the rows that match the request's topic by their words; rows of later days are left out."""
    today = query.build.request.date
    similar = pool.similar(query.build.request.topic, query.layer.query.min_match)
    past = {row: similar[row] for row in past_rows(pool, similar, today)}
    return score_rows(pool, past, today)


class TopicHits(NamedTuple):
    """The memories that match a topic, best first."""

    found: tuple[tuple[Memory, Score], ...]
    """Memories with their score parts and `total`, up to the layer's `top`."""
    rows: int
    """Number of active memories that were searched."""
    problems: tuple[Problem, ...]


def topic_hits(query: SourceQuery) -> TopicHits:
    """The layer's memories that match the request's topic by their words; none of its recent ones in their place."""

    def hits(pool: MemoryPool) -> TopicHits:
        scores = topic_scores(query, pool)
        rows = best_rows(pool, scores, query.layer)
        totals = [(*scores[row], ("total", weighted_total(scores[row], query.layer.ranking.weights))) for row in rows]
        return TopicHits(tuple(zip(pool.entries(rows), totals, strict=True)), pool.rows, tuple(pool.problems))

    return _query_memories(query, hits, hits)


def can_use_index(query: SourceQuery) -> bool:
    """Whether an indexed pool can order and score the layer's memories."""
    layer = query.layer
    needs_memories = (
        layer.memories.tier or layer.memories.key_quota or layer.display.group_template or layer.ranking.order != "best"
    )
    return not (
        query.build.memory_index is None
        or query.build.semantics
        or needs_memories
        or {name for name, _ in layer.ranking.weights} - INDEXED_SCORE_PARTS
    )


def search_pool(
    query: SourceQuery, list_all: Callable[[ReadPool], RetrievalResult], match: MatchRows, make_fragment: MakeFragment
) -> RetrievalResult:
    """The layer's memories as fragments; above `MANY`, the best ones and a count of the others for each reason.

    `list_all` makes the fragments of a pool up to that size.
    """
    if not can_use_index(query):
        return list_all(read_pool(query.build.workspace, [*query_paths(query)]))
    return _query_memories(query, partial(_best_and_counts, query, match, make_fragment), list_all)


def _query_memories(query: SourceQuery, use: Callable[[MemoryPool], T], use_small: Callable[[ReadPool], T]) -> T:
    return query_pool(
        query, "memories", [*query_paths(query)], partial(read_pool_up_to, query.build.workspace), use, use_small
    )


def _best_and_counts(
    query: SourceQuery, match: MatchRows, make_fragment: MakeFragment, pool: MemoryPool
) -> RetrievalResult:
    top = query.layer.ranking.top
    scores = match(query, pool)
    today = query.build.request.date
    future = _count_future(pool, today)
    if scores is None:
        newest = pool.newest(top + future if top else 0)
        rows = past_rows(pool, newest, today)[: top or None]
    else:
        rows = best_rows(pool, scores, query.layer)
    pins = [row for row in past_rows(pool, pool.marked(), today) if row not in rows]
    best = [
        make_fragment(memory, query.layer, () if scores is None else scores.get(row, ()))
        for row, memory in zip([*rows, *pins], pool.entries([*rows, *pins]), strict=True)
    ]
    hits = pool.rows - future if scores is None else len({*scores, *pins})
    reasons = [*pool.excluded]
    if future:
        reasons.append(Reason.of("future", count=future))
    if pool.rows - future > hits:
        reasons.append(Reason.of("no-match", count=pool.rows - future - hits))
    if hits > len(best):
        reasons.append(Reason.of("not-in-top", count=hits - len(best), top=top))
    counts = [_count_fragment(query, reason) for reason in reasons]
    return RetrievalResult((*best, *counts), tuple(pool.documents), tuple(pool.problems))


def _count_future(pool: MemoryPool, today: date) -> int:
    """Number of active memories of days after `today`: they come first among the newest."""
    batch = 64
    while True:
        rows = pool.newest(batch)
        past = past_rows(pool, rows, today)
        if past or len(rows) < batch:
            return len(rows) - len(past)
        batch *= 8


def _count_fragment(query: SourceQuery, reason: Reason) -> Fragment:
    patterns = " ".join(pool_patterns(query.layer, query.build.request))
    status = "".join(f" {value}" for name, value in reason.facts if name == "status")
    return Fragment(
        f"{patterns} {reason.code}{status}",
        Location(patterns, 0),
        "",
        FragmentDisplay(query.layer.heading[0]),
        verdict=Verdict(excluded=reason),
    )
