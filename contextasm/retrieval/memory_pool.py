"""Pools: the memories of some files, read now; which of them count, and which come first.

What is kept from build to build is for the floors above, and is asked in the same words (`model.Pool`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

from contextasm.model import (
    Document,
    Layer,
    Memory,
    MemoryPool,
    Problem,
    Reason,
    Request,
    Score,
    ScoreInputs,
    Workspace,
    recency,
    weighted_total,
)
from contextasm.text.memory_parser import ACTIVE_STATUSES, distinct_memories, parse_memories
from contextasm.text.templates import fill_template, placeholders

if TYPE_CHECKING:
    from contextasm.retrieval.search.inverted_index import IndexEntry, MemoryIndex


KERNEL = 0.5
"""How much a memory shares in its neighbours' matches: in a list of memories half as much as in a log."""

MANY = 1000
"""A pool of more memories than this is worth keeping, and those of it that are not shown are told by number.

Up to here reading adds no more than a tenth of a second to what a kept pool takes, which is the same for any size, and
the first build takes half as long as one that keeps (benchmarks/run.py, rows of 1,000 and 10,000 memories).
"""


class ReadPool(NamedTuple):
    """The memories of some files, as just read (`model.Pool`)."""

    every: tuple[Memory, ...]
    outs: tuple[Reason | None, ...]
    """Why a memory does not count, one for each."""
    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]
    counting: tuple[Memory, ...]
    """Those that count; their places are the rows."""

    @property
    def size(self) -> int:
        """How many memories there are."""
        return len(self.every)

    @property
    def rows(self) -> int:
        """How many of them count."""
        return len(self.counting)

    @property
    def excluded(self) -> Sequence[Reason]:
        """Why the others do not count."""
        return count_reasons(self.outs)

    def similar(self, topic: str, floor: float) -> Mapping[int, float]:
        """Rows with how well they answer a topic."""
        from contextasm.retrieval.search.bm25 import similarities

        return similarities(topic, _index(self.counting), floor)

    def newest(self, count: int) -> Sequence[int]:
        """The rows of the newest."""
        days = [memory.created for memory in self.counting]
        return first_rows(self, dict(enumerate(days)), count)

    def score_inputs(self, rows: Sequence[int]) -> Sequence[ScoreInputs]:
        """What each row's score needs."""
        return [score_inputs(self.counting[row]) for row in rows]

    def memories(self, rows: Sequence[int]) -> Sequence[Memory]:
        """The memories of rows."""
        return [self.counting[row] for row in rows]


def read_pool(workspace: Workspace, every_path: Iterable[str]) -> ReadPool:
    """The memories of files, one after the other."""
    found: list[Memory] = []
    documents: list[Document] = []
    problems: list[Problem] = []
    for path in every_path:
        page = workspace.read(path)
        if isinstance(page, Document):
            documents.append(page)
            own, wrong = parse_memories(page)
            found += own
            problems += wrong
        elif page:
            problems.append(page)
    every, wrong = distinct_memories(found)
    outs = exclusion_reasons((memory.id, memory.status, memory.supersedes) for memory in every)
    counting = tuple(memory for memory, out in zip(every, outs, strict=True) if out is None)
    return ReadPool(every, outs, tuple(documents), (*problems, *wrong), counting)


def exclusion_reasons(found: Iterable[tuple[str, str, Sequence[str]]]) -> tuple[Reason | None, ...]:
    """Why each memory does not count, given ids, states and the ids whose place it takes; None where it does."""
    every = [*found]
    by = {old: own for own, status, supersedes in every if status in ACTIVE_STATUSES for old in supersedes}
    return tuple(_out(own, status, by.get(own, own)) for own, status, _ in every)


def _out(own: str, status: str, by: str) -> Reason | None:
    if status not in ACTIVE_STATUSES:
        return Reason.of("status", status=status)
    return None if by == own else Reason.of("superseded", by=by)


def count_reasons(outs: Iterable[Reason | None]) -> tuple[Reason, ...]:
    """Each reason once with how many it holds for; who supersedes is left off."""
    numbers = Counter((out.code, out.facts if out.code == "status" else ()) for out in outs if out)
    return tuple(Reason(code, (("count", count), *facts)) for (code, facts), count in sorted(numbers.items()))


def score_inputs(memory: Memory) -> ScoreInputs:
    """What a memory's score needs."""
    return ScoreInputs(memory.importance, memory.accessed or memory.created, memory.created)


def index_entry(memory: Memory) -> IndexEntry:
    """A memory as the search sees it."""
    from contextasm.retrieval.search.inverted_index import IndexEntry

    return IndexEntry(memory.text, f"{memory.path} {memory.created}", memory.created, kernel=KERNEL)


@lru_cache(maxsize=1)
def _index(found: tuple[Memory, ...]) -> MemoryIndex:
    from contextasm.retrieval.search.inverted_index import build_index

    return build_index([index_entry(memory) for memory in found])


def pool_patterns(layer: Layer, request: Request) -> list[str]:
    """A layer's paths with the names filled in; those whose name is not given are left out."""
    given = {"agent": request.agent, "team": request.team}
    return [
        fill_template(path, given)
        for path in layer.query.paths
        if all(given.get(name, " ") for name in placeholders(path))
    ]


def score_rows(pool: MemoryPool, similar: Mapping[int, float], today: date) -> dict[int, Score]:
    """The parts of the scores of rows."""
    rows = [*similar]
    days: dict[str, float] = {}
    found: dict[int, Score] = {}
    for row, own in zip(rows, pool.score_inputs(rows), strict=True):
        if own.last not in days:
            days[own.last] = recency(own.last, today)
        found[row] = (("similarity", similar[row]), ("importance", own.importance), ("recency", days[own.last]))
    return found


def best_rows(pool: MemoryPool, scores: Mapping[int, Score], layer: Layer) -> list[int]:
    """The rows that `rank` would put first, as many as the layer shows."""
    rows = [*scores]
    keys = {
        row: (weighted_total(scores[row], layer.ranking.weights), own.created)
        for row, own in zip(rows, pool.score_inputs(rows), strict=True)
    }
    return first_rows(pool, keys, layer.ranking.top)


def first_rows(pool: MemoryPool, keys: Mapping[int, object], count: int) -> list[int]:
    """The rows with the largest keys; among equals by path, then the later in its file. All for a count of 0."""
    limit = count or len(keys)
    least = min(nlargest(limit, keys.values()), default=None)  # type: ignore[type-var]
    tied = [row for row, key in keys.items() if key >= least]  # type: ignore[operator]
    places = dict(zip(tied, pool.memories(tied), strict=True))
    tied.sort(key=lambda row: (places[row].path, -places[row].line))
    tied.sort(key=lambda row: keys[row], reverse=True)  # type: ignore[arg-type,return-value]
    return tied[:limit]
