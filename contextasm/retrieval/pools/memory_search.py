"""Memory search: the memories of a layer as fragments; of a large pool, the best ones and a count of the others.

A large pool is indexed, so that later builds need not open the files again. Ranks nothing but the memories of one pool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

from contextasm.model import (
    EntryPool,
    Fragment,
    FragmentDisplay,
    Layer,
    Location,
    Memory,
    MemoryPool,
    MemoryScope,
    Problem,
    Reason,
    RetrievalResult,
    Score,
    SourceQuery,
    T,
    Verdict,
    weighted_total,
)
from contextasm.retrieval.pools.matches import MeantEntries, PoolMatches, find_meant
from contextasm.retrieval.pools.memory_pool import (
    MANY,
    ReadMemories,
    best_rows,
    pool_patterns,
    read_pool,
    read_pool_up_to,
    score_rows,
)
from contextasm.retrieval.reading.files import query_paths
from contextasm.text.cleaning.clean import hidden_problems

PoolT = TypeVar("PoolT", bound=EntryPool[Any])

ReadPoolUpTo = Callable[[Sequence[str], int | None], PoolT | None]
"""Reads the pool of some files; None as soon as there are more entries than the number, which is None for no limit."""


def query_pool(
    query: SourceQuery,
    kind: str,
    paths: Sequence[str],
    read: ReadPoolUpTo[PoolT],
    use: Callable[[EntryPool[Any]], T],
    use_small: Callable[[PoolT], T],
) -> T:
    """Result of `use` on the pool of these files of the layer, or of `use_small` on a pool of up to `MANY` entries.

    A larger pool is stored in the index, as entries of `kind`: then the index alone reads its files.
    """
    patterns = pool_patterns(query.layer, query.build.request)
    index = query.build.memory_index
    answer = index.query(kind, patterns, paths, use) if index else None
    if answer is not None:
        return answer
    pool = read(paths, MANY if index else None)
    if pool and pool.size <= MANY:
        return use_small(pool)
    if index:
        index.store(kind, patterns, paths)
        answer = index.query(kind, patterns, paths, use)
    if answer is None:
        pool = pool or read(paths, None)
        assert pool
        return use(pool)
    return answer


MatchRows = Callable[[SourceQuery, MemoryPool], Mapping[int, Score] | None]
"""Gives the rows of a pool that match, with their score parts; None where all rows match and none has a score."""

MakeFragment = Callable[[Memory, Layer, Score, Reason | None], Fragment]
"""Makes a fragment of a memory, as the layer shows it, with its score and the reason that excludes it, if any."""

INDEXED_SCORE_PARTS = {"similarity", "importance", "recency"}
"""Parts of a score that an indexed pool can compute."""


def all_rows(_query: SourceQuery, _pool: MemoryPool) -> None:
    """All rows of a pool, without scores: the newest come first."""


def topic_scores(query: SourceQuery, pool: MemoryPool) -> dict[int, Score]:
    """Score parts of the rows that match the request's topic by their words; those of later days count for nothing."""
    request = query.build.request
    similar = pool.similar(request.topic, query.layer.query.min_match, request.date)
    return score_rows(pool, similar, request.date)


class TopicHits(NamedTuple):
    """The memories that match a topic, best first."""

    found: tuple[tuple[Memory, Score], ...]
    """Memories with their score parts and `total`, up to the layer's `top`."""
    rows: int
    """Number of memories that were searched: active ones up to the day of the request."""
    problems: tuple[Problem, ...]


def topic_hits(query: SourceQuery) -> TopicHits:
    """The layer's memories that match the request's topic by their words; none of its recent ones in their place."""

    def hits(pool: MemoryPool) -> TopicHits:
        scores = topic_scores(query, pool)
        rows = best_rows(pool, scores, query.layer)
        totals = [(*scores[row], ("total", weighted_total(scores[row], query.layer.ranking.weights))) for row in rows]
        searched = pool.rows - len(pool.later(query.build.request.date))
        hidden = (problem for document in pool.documents for problem in hidden_problems(document))
        return TopicHits(tuple(zip(pool.entries(rows), totals, strict=True)), searched, (*pool.problems, *hidden))

    return _query_memories(query, query_paths(query), hits, hits)


def can_use_index(query: SourceQuery) -> bool:
    """Whether an indexed pool can order and score the layer's memories.

    Where the profile merges copies or settles conflicts, any memory may be one that takes the place of another.
    """
    layer, profile = query.layer, query.build.profile
    needs_memories = layer.memories != MemoryScope() or layer.display.group_template or layer.ranking.order != "best"
    return not (
        query.build.memory_index is None
        or query.build.semantics
        or profile.merge
        or profile.conflicts
        or needs_memories
        or {name for name, _ in layer.ranking.weights} - INDEXED_SCORE_PARTS
    )


def search_pool(
    query: SourceQuery,
    list_all: Callable[[ReadMemories], RetrievalResult],
    match: MatchRows,
    make_fragment: MakeFragment,
) -> RetrievalResult:
    """The layer's memories as fragments; above `MANY`, the best ones and a count of the others for each reason.

    `list_all` makes the fragments of a pool up to that size.
    """
    if not can_use_index(query):
        return list_all(read_pool(query.build.workspace, query_paths(query)))
    paths = query_paths(query)

    def use(pool: MemoryPool) -> RetrievalResult:
        choices, is_required = query.build.entry_choices, query.layer.limits.required
        meant = find_meant(pool, choices, paths, is_required=is_required) if choices else MeantEntries()
        if meant is None:
            return list_all(read_pool(query.build.workspace, paths))
        return _best_and_counts(query, PoolMatches(pool, query, match(query, pool), meant), pool, make_fragment)

    return _query_memories(query, paths, use, list_all)


def _query_memories(
    query: SourceQuery, paths: Sequence[str], use: Callable[[MemoryPool], T], use_small: Callable[[ReadMemories], T]
) -> T:
    def use_memories(pool: EntryPool[Memory]) -> T:
        return use(cast("MemoryPool", pool))

    read = partial(read_pool_up_to, query.build.workspace)
    return query_pool(query, "memories", paths, read, use_memories, use_small)


def _best_and_counts(
    query: SourceQuery, found: PoolMatches, pool: MemoryPool, make_fragment: MakeFragment
) -> RetrievalResult:
    memories = zip(found.best, pool.entries(found.best), strict=True)
    best = [make_fragment(memory, query.layer, found.score(row), None) for row, memory in memories]
    for_rules = [
        make_fragment(each.entry, query.layer, found.score(each.row), found.exclusion(each)) for each in found.for_rules
    ]
    counts = [_count_fragment(query, reason) for reason in found.counts()]
    return RetrievalResult((*best, *for_rules, *counts), tuple(pool.documents), tuple(pool.problems))


def _count_fragment(query: SourceQuery, reason: Reason) -> Fragment:
    patterns = " ".join(pool_patterns(query.layer, query.build.request))
    named = "".join(f" {value}" for name, value in reason.facts if name in {"status", "rule"})
    return Fragment(
        f"{patterns} {reason.code}{named}",
        Location(patterns, 0),
        "",
        FragmentDisplay(query.layer.heading[0]),
        verdict=Verdict(excluded=reason),
    )
