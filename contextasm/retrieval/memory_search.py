"""Memory search: the memories of a layer as fragments; of a large pool, the best ones and a count of the others.

A large pool is indexed, so that later builds need not open the files again. Ranks nothing but the memories of one pool.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, cast

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
from contextasm.retrieval.indexed_pools import query_pool
from contextasm.retrieval.memory_pool import (
    ReadPool,
    best_rows,
    pool_patterns,
    read_pool,
    read_pool_up_to,
    score_rows,
)
from contextasm.retrieval.pool_matches import PoolMatches
from contextasm.retrieval.reading import query_paths
from contextasm.text.cleaning import hidden_problems

MatchRows = Callable[[SourceQuery, MemoryPool], Mapping[int, Score] | None]
"""Gives the rows of a pool that match, with their score parts; None where all rows match and none has a score."""

MakeFragment = Callable[[Memory, Layer, Score, Reason | None], Fragment]
"""Makes a fragment of a memory, as the layer shows it, with its score and the reason that excludes it, if any."""

MOST_CHOSEN = 5000
"""Memories of a layer that rules may mean, up to which they are fragments beside the best; with more, all are."""

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

    return _query_memories(query, hits, hits)


def can_use_index(query: SourceQuery) -> bool:
    """Whether an indexed pool can order and score the layer's memories."""
    layer = query.layer
    needs_memories = layer.memories != MemoryScope() or layer.display.group_template or layer.ranking.order != "best"
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
    use = partial(_best_and_counts, query, list_all, match, make_fragment)
    return _query_memories(query, use, list_all)


def _query_memories(query: SourceQuery, use: Callable[[MemoryPool], T], use_small: Callable[[ReadPool], T]) -> T:
    def use_memories(pool: EntryPool[Memory]) -> T:
        return use(cast("MemoryPool", pool))

    paths, read = [*query_paths(query)], partial(read_pool_up_to, query.build.workspace)
    return query_pool(query, "memories", paths, read, use_memories, use_small)


def _best_and_counts(
    query: SourceQuery,
    list_all: Callable[[ReadPool], RetrievalResult],
    match: MatchRows,
    make_fragment: MakeFragment,
    pool: MemoryPool,
) -> RetrievalResult:
    choice = query.build.chosen_memories
    chosen = pool.chosen(choice, MOST_CHOSEN) if choice else ()
    if chosen is None:
        return list_all(read_pool(query.build.workspace, [*query_paths(query)]))
    found = PoolMatches(pool, match(query, pool), chosen, query.build.request.date)
    rows = found.listed(query.layer)
    listed = [*zip(rows, pool.entries(rows), strict=True)]
    best = [make_fragment(memory, query.layer, found.score(row), None) for row, memory in listed]
    own = [make_fragment(each.entry, query.layer, found.score(each.row), found.exclusion(each)) for each in chosen]
    counts = [_count_fragment(query, reason) for reason in found.uncounted(query, rows)]
    return RetrievalResult((*best, *own, *counts), tuple(pool.documents), tuple(pool.problems))


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
