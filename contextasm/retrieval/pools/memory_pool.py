"""Memories as entries of a pool: which of them are excluded, their scores, and the best ones of a large pool."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from contextasm.model import (
    EntryPool,
    Fragment,
    FragmentDisplay,
    Layer,
    Location,
    Memory,
    MemoryScope,
    Problem,
    Reason,
    Score,
    ScoreInputs,
    SourceQuery,
    T,
    Target,
    Verdict,
    least_similarity,
    recency,
    weighted_total,
)
from contextasm.retrieval.pools.entries import (
    MANY,
    EntryKind,
    ReadPool,
    Settled,
    first_rows,
    is_later,
    pool_patterns,
    use_pool,
)
from contextasm.retrieval.reading.files import query_paths
from contextasm.text.cleaning.clean import hidden_problems
from contextasm.text.memories.parser import ACTIVE_STATUSES, distinct_memories, parse_memories
from contextasm.text.names.glob import glob_matches
from contextasm.text.names.places import known_paths

if TYPE_CHECKING:
    from contextasm.retrieval.search.inverted_index import IndexEntry

KERNEL = 0.5
"""Weight of the matches of a memory's neighbours: in a list of memories half of that in a log."""


def settle_memories(memories: Sequence[Memory]) -> Settled[Memory]:
    """Memories of one id keep the first one's; the others get ids of their own, and a problem."""
    distinct, duplicates = distinct_memories(memories)
    states = ((memory.id, memory.status, memory.supersedes) for memory in distinct)
    return distinct, duplicates, exclusion_reasons(states)


def exclusion_reasons(memories: Iterable[tuple[str, str, Sequence[str]]]) -> list[Reason | None]:
    """Reason that excludes each memory, given as id, status and superseded ids; None for an active one."""
    rows = [*memories]
    successors = {old: new for new, status, supersedes in rows if status in ACTIVE_STATUSES for old in supersedes}
    return [exclusion_reason(id_, status, successors.get(id_, id_)) for id_, status, _ in rows]


def exclusion_reason(memory_id: str, status: str, successor: str) -> Reason | None:
    """Reason that excludes a memory; `successor` is the id of the one that supersedes it, or its own for none."""
    is_superseded = successor != memory_id and status == "superseded"
    if status not in ACTIVE_STATUSES and not is_superseded:
        return Reason.of("status", status=status)
    return None if successor == memory_id else Reason.of("superseded", by=successor)


def future_reason(created: str, today: date) -> Reason | None:
    """Reason that excludes a memory that `is_later`; None for any other."""
    if not is_later(created, today):
        return None
    return Reason.of("future", age=(today - date.fromisoformat(created)).days)


def score_inputs(memory: Memory) -> ScoreInputs:
    """Score inputs of a memory; its last day is the day it was accessed, else created."""
    return ScoreInputs(memory.importance, memory.accessed or memory.created, memory.created)


def index_entry(memory: Memory) -> IndexEntry:
    """A memory as an entry of an inverted index; memories of one file and day are one section."""
    from contextasm.retrieval.search.inverted_index import IndexEntry, leading_name

    section = f"{memory.path} {memory.created}"
    return IndexEntry(memory.text, section, memory.created, leading_name(memory.text), KERNEL)


def _restored(values: Sequence[Any]) -> Memory:
    return Memory._make(tuple(value) if isinstance(value, list) else value for value in values)


MEMORIES = EntryKind(
    name="memories",
    parse=parse_memories,
    settle=settle_memories,
    has_ids=True,
    index_entry=index_entry,
    score_inputs=score_inputs,
    is_marked=lambda memory: memory.pin,
    restore=_restored,
)
"""Memories; a memory that pins itself has the mark."""


def score_rows(pool: EntryPool[Memory], similar: Mapping[int, float], today: date) -> dict[int, Score]:
    """Score parts of each row in `similar`: similarity, importance and recency, each from 0 to 1."""
    rows = [*similar]
    recency_of: dict[str, float] = {}
    scores: dict[int, Score] = {}
    for row, inputs in zip(rows, pool.score_inputs(rows), strict=True):
        if inputs.last not in recency_of:
            recency_of[inputs.last] = recency(inputs.last, today)
        scores[row] = (
            ("similarity", similar[row]),
            ("importance", inputs.importance),
            ("recency", recency_of[inputs.last]),
        )
    return scores


def best_rows(pool: EntryPool[Memory], scores: Mapping[int, Score], layer: Layer) -> list[int]:
    """Rows in the order in which ranking puts them, up to the layer's `top`; candidates only (`least_similarity`)."""
    similarity_of = {row: dict(score)["similarity"] for row, score in scores.items()}
    least = least_similarity(similarity_of.values(), layer.ranking.top)
    rows = [row for row, similarity in similarity_of.items() if similarity >= least]
    keys = {
        row: (weighted_total(scores[row], layer.ranking.weights), inputs.created)
        for row, inputs in zip(rows, pool.score_inputs(rows), strict=True)
    }
    return first_rows(pool, keys, layer.ranking.top)


INDEXED_SCORE_PARTS = {"similarity", "importance", "recency"}
"""Parts of a score that an indexed pool can compute."""


class TopicHits(NamedTuple):
    """The memories that match a topic, best first."""

    found: tuple[tuple[Memory, Score], ...]
    """Memories with their score parts and `total`, up to the layer's `top`."""
    rows: int
    """Number of memories that were searched: active ones up to the day of the request."""
    problems: tuple[Problem, ...]


def topic_hits(query: SourceQuery) -> TopicHits:
    """The layer's memories that match the request's topic by their words; none of its recent ones in their place."""

    def hits(pool: EntryPool[Memory]) -> TopicHits:
        scores = topic_scores(query, pool)
        rows = best_rows(pool, scores, query.layer)
        totals = [(*scores[row], ("total", weighted_total(scores[row], query.layer.ranking.weights))) for row in rows]
        searched = pool.rows - len(pool.later(query.build.request.date))
        hidden = (problem for document in pool.documents for problem in hidden_problems(document))
        return TopicHits(tuple(zip(pool.entries(rows), totals, strict=True)), searched, (*pool.problems, *hidden))

    return use_pool(query, MEMORIES, [*query_paths(query)], hits)


def use_memories(query: SourceQuery, use: Callable[[SourceQuery, EntryPool[Memory]], T]) -> T:
    """Result of `use` on the layer's memories; the query has no index if the layer needs all of them."""
    paths = [*query_paths(query)]
    if not can_use_index(query, paths):
        query = query._replace(build=query.build._replace(memory_index=None))
    return use_pool(query, MEMORIES, paths, partial(use, query))


def has_all(pool: EntryPool[Memory], query: SourceQuery) -> TypeGuard[ReadPool[Memory]]:
    """Whether each memory of the pool is a fragment; of a larger one, the others are counted (`best_and_counts`)."""
    return isinstance(pool, ReadPool) and (pool.size <= MANY or query.build.memory_index is None)


def can_use_index(query: SourceQuery, paths: Sequence[str]) -> bool:
    """Whether an indexed pool of these files can order and score the layer's memories.

    If the profile merges copies or settles conflicts, any memory may be one that takes the place of another. A rule
    that may apply to memories is applied to each of them.
    """
    layer, profile, rules = query.layer, query.build.profile, query.build.rules
    needs_memories = layer.memories != MemoryScope() or layer.display.group_template or layer.ranking.order != "best"
    return not (
        query.build.memory_index is None
        or query.build.semantics
        or profile.merge
        or profile.conflicts
        or needs_memories
        or {name for name, _ in layer.ranking.weights} - INDEXED_SCORE_PARTS
        or any(_may_mean_memory(effect.target, paths) for effect in (rules.effects if rules else ()))
    )


def _may_mean_memory(target: Target, paths: Sequence[str]) -> bool:
    """Whether the target of a rule may mean a memory of these files. No memory has an entity."""
    if target.kind == "path":
        return any(glob_matches(target.value, known) for path in paths for known in known_paths(path))
    if target.kind == "heading-path":
        return any(target.value in known_paths(path) for path in paths)
    return target.kind in {"id", "type", "tag"}


def topic_scores(query: SourceQuery, pool: EntryPool[Memory]) -> dict[int, Score]:
    """Score parts of the rows that match the request's topic by their words; those of later days count for nothing."""
    request = query.build.request
    similar = pool.similar(request.topic, query.layer.query.min_match, request.date)
    return score_rows(pool, similar, request.date)


def best_and_counts(
    query: SourceQuery, pool: EntryPool[Memory], scores: Mapping[int, Score] | None
) -> tuple[list[tuple[Memory, Score]], list[Fragment]]:
    """The best memories of a large pool, and those that pin themselves; a count of the others for each reason.

    `scores` has the score parts of each row that matches; None if all rows match and none has a score.
    """
    later = pool.later(query.build.request.date)
    pins = [row for row in pool.marked() if row not in later]
    if scores is None:
        rows = _newest(pool, later, query.layer.ranking.top)
    else:
        rows = _most_relevant(pool, scores, query.layer, has_pins=bool(pins))
    shown = [*dict.fromkeys((*rows, *pins))]
    scores_shown = [(scores or {}).get(row, ()) for row in shown]
    unmatched = 0 if scores is None else pool.rows - len(later) - len(scores.keys() | {*shown})
    unlisted = pool.rows - len(later) - len(shown) - unmatched
    counts = [*pool.excluded, *_counts(query.layer, later=len(later), unmatched=unmatched, unlisted=unlisted)]
    best = [*zip(pool.entries(shown), scores_shown, strict=True)]
    return best, [_count_fragment(query, reason) for reason in counts]


def _newest(pool: EntryPool[Memory], later: Collection[int], top: int) -> list[int]:
    """Rows of the newest memories up to today, up to `top`; all for 0."""
    rows = pool.newest(top + len(later) if top else 0)
    return [row for row in rows if row not in later][: top or None]


def _most_relevant(pool: EntryPool[Memory], scores: Mapping[int, Score], layer: Layer, *, has_pins: bool) -> list[int]:
    """The rows that ranking may show, best first.

    Pins may raise the similarity of a candidate (`least_similarity`), and no other entry may. If it goes up, all that
    may be shown is among the `top` most similar rows.
    """
    able = scores
    if least := 0.0 if layer.limits.required else layer.ranking.min_score:
        able = {row: score for row, score in scores.items() if weighted_total(score, layer.ranking.weights) >= least}
    # Rows below the least score are listed if nothing else is: a build says so.
    best = best_rows(pool, able or scores, layer)
    if not has_pins:
        return best
    similarity_of = {row: dict(score)["similarity"] for row, score in able.items()}
    return [*best, *first_rows(pool, similarity_of, layer.ranking.top)]


def _counts(layer: Layer, *, later: int, unmatched: int, unlisted: int) -> Iterator[Reason]:
    """The reasons why active memories are not listed, each with its `count`."""
    if later:
        yield Reason.of("future", count=later)
    if unmatched:
        yield Reason.of("no-match", count=unmatched)
    if unlisted:
        yield Reason.of("not-in-top", count=unlisted, top=layer.ranking.top)


def _count_fragment(query: SourceQuery, reason: Reason) -> Fragment:
    patterns = " ".join(pool_patterns(query))
    named = "".join(f" {value}" for name, value in reason.facts if name == "status")
    return Fragment(
        f"{patterns} {reason.code}{named}",
        Location(patterns, 0),
        "",
        FragmentDisplay(query.layer.heading[0]),
        verdict=Verdict(excluded=reason),
    )
