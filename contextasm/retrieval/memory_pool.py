"""Memory pool: the memories of some files as just read, reasons that exclude some of them, and the best of the others.

A pool that is stored between builds is in `memory_index`, behind the same interface (`model.MemoryPool`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from heapq import nlargest
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, Protocol

from contextasm.model import (
    ChosenEntry,
    Document,
    EntryChoice,
    EntryPool,
    Layer,
    Memory,
    MemoryPool,
    Problem,
    Reason,
    Request,
    Score,
    ScoreInputs,
    Workspace,
    least_similarity,
    recency,
    weighted_total,
)
from contextasm.retrieval.entry_choice import means_entry, memory_labels
from contextasm.text.memory_ids import distinct_memories
from contextasm.text.memory_parser import ACTIVE_STATUSES, parse_memories
from contextasm.text.templates import fill_template, placeholders

if TYPE_CHECKING:
    from contextasm.retrieval.search.inverted_index import IndexEntry, MemoryIndex


class PlacedEntry(Protocol):
    """An entry with its place in the workspace."""

    @property
    def path(self) -> str:
        """Path of its file."""

    @property
    def line(self) -> int:
        """Line of the file at which it begins."""


KERNEL = 0.5
"""Weight of the matches of a memory's neighbours: in a list of memories half of that in a log."""

MANY = 1000
"""Size of the largest pool that is not indexed; of a larger one, memories that are not shown are counted by reason.

Up to this size, reading adds no more than a tenth of a second to the time of an indexed pool, which is the same for any
size, and the first build takes half the time of one that makes an index (benchmarks/run.py, rows of 1,000 and 10,000
memories).
"""


class ReadPool(NamedTuple):
    """The memories of some files, as just read (`model.MemoryPool`)."""

    all_memories: tuple[Memory, ...]
    exclusions: tuple[Reason | None, ...]
    """Reason that excludes a memory, for each of `all_memories`; None for an active one."""
    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]
    active: tuple[Memory, ...]
    """Memories that are not excluded; the position of each is its row."""

    @property
    def size(self) -> int:
        """Number of all memories, excluded ones included."""
        return len(self.all_memories)

    @property
    def rows(self) -> int:
        """Number of active memories."""
        return len(self.active)

    @property
    def excluded(self) -> Sequence[Reason]:
        """Reasons of the excluded memories, each once with its count."""
        return count_reasons(self.exclusions)

    def later(self, today: date) -> Collection[int]:
        """Rows of the active memories of days after `today`."""
        return {row for row, memory in enumerate(self.active) if is_later(memory.created, today)}

    def similar(self, topic: str, min_match: float, today: date) -> Mapping[int, float]:
        """Similarity of each row that answers the topic, from 0 to 1, as if there were no `later` ones."""
        from contextasm.retrieval.search.bm25 import similarities

        later = self.later(today)
        rows = [row for row in range(self.rows) if row not in later]
        found = similarities(topic, _memory_index(tuple(self.active[row] for row in rows)), min_match)
        return {rows[place]: similarity for place, similarity in found.items()}

    def chosen(self, choice: EntryChoice, most: int) -> Sequence[ChosenEntry] | None:
        """The memories that a choice means, in their order; None where there are more than `most`."""
        rows = count()
        entries = [
            ChosenEntry(memory, next(rows) if reason is None else None, reason)
            for memory, reason in zip(self.all_memories, self.exclusions, strict=True)
        ]
        found = [
            each for each in entries if means_entry(choice, each.entry.id, each.entry.path, memory_labels(each.entry))
        ]
        return found if len(found) <= most else None

    def newest(self, count: int) -> Sequence[int]:
        """Rows of the newest memories, newest first; all for a count of 0."""
        days = [memory.created for memory in self.active]
        return first_rows(self, dict(enumerate(days)), count)

    def marked(self) -> Sequence[int]:
        """Rows of the memories that pin themselves."""
        return [row for row, memory in enumerate(self.active) if memory.pin]

    def score_inputs(self, rows: Sequence[int]) -> Sequence[ScoreInputs]:
        """Score inputs of each row."""
        return [score_inputs(self.active[row]) for row in rows]

    def entries(self, rows: Sequence[int]) -> Sequence[Memory]:
        """The memory of each row."""
        return [self.active[row] for row in rows]


def read_pool(workspace: Workspace, paths: Iterable[str]) -> ReadPool:
    """Read the memories of files, in the order of the paths."""
    pool = read_pool_up_to(workspace, paths, None)
    assert pool
    return pool


def read_pool_up_to(workspace: Workspace, paths: Iterable[str], most: int | None) -> ReadPool | None:
    """Read the memories of files, in the order of the paths; None as soon as there are more than `most`."""
    memories: list[Memory] = []
    documents: list[Document] = []
    problems: list[Problem] = []
    for path in paths:
        read = workspace.read(path)
        if isinstance(read, Document):
            documents.append(read)
            file_memories, file_problems = parse_memories(read)
            memories += file_memories
            problems += file_problems
        elif read:
            problems.append(read)
        if most is not None and len(memories) > most:
            return None
    all_memories, duplicates = distinct_memories(memories)
    exclusions = exclusion_reasons((memory.id, memory.status, memory.supersedes) for memory in all_memories)
    active = tuple(memory for memory, reason in zip(all_memories, exclusions, strict=True) if reason is None)
    return ReadPool(all_memories, exclusions, tuple(documents), (*problems, *duplicates), active)


def exclusion_reasons(memories: Iterable[tuple[str, str, Sequence[str]]]) -> tuple[Reason | None, ...]:
    """Reason that excludes each memory, given as id, status and superseded ids; None for an active one."""
    rows = [*memories]
    successors = {old: new for new, status, supersedes in rows if status in ACTIVE_STATUSES for old in supersedes}
    return tuple(exclusion_reason(id_, status, successors.get(id_, id_)) for id_, status, _ in rows)


def is_later(created: str, today: date) -> bool:
    """Whether a memory of a day counts for nothing yet, as it is after `today`. An empty day is before every other."""
    return created > today.isoformat()


def future_reason(created: str, today: date) -> Reason | None:
    """Reason that excludes a memory that `is_later`; None for any other."""
    if not is_later(created, today):
        return None
    return Reason.of("future", age=(today - date.fromisoformat(created)).days)


def exclusion_reason(memory_id: str, status: str, successor: str) -> Reason | None:
    """Reason that excludes a memory; `successor` is the id of the one that supersedes it, or its own for none."""
    is_superseded = successor != memory_id and status == "superseded"
    if status not in ACTIVE_STATUSES and not is_superseded:
        return Reason.of("status", status=status)
    return None if successor == memory_id else Reason.of("superseded", by=successor)


def count_reasons(exclusions: Iterable[Reason | None]) -> tuple[Reason, ...]:
    """Each reason once, with its number as `count`; the id of a superseding memory is dropped."""
    numbers = Counter((reason.code, reason.facts if reason.code == "status" else ()) for reason in exclusions if reason)
    return tuple(Reason(code, (("count", count), *facts)) for (code, facts), count in sorted(numbers.items()))


def score_inputs(memory: Memory) -> ScoreInputs:
    """Score inputs of a memory; its last day is the day it was accessed, else created."""
    return ScoreInputs(memory.importance, memory.accessed or memory.created, memory.created)


def index_entry(memory: Memory) -> IndexEntry:
    """A memory as an entry of an inverted index; memories of one file and day are one section."""
    from contextasm.retrieval.search.analyzer import leading_name
    from contextasm.retrieval.search.inverted_index import IndexEntry

    section = f"{memory.path} {memory.created}"
    return IndexEntry(memory.text, section, memory.created, leading_name(memory.text), KERNEL)


@lru_cache(maxsize=1)
def _memory_index(memories: tuple[Memory, ...]) -> MemoryIndex:
    from contextasm.retrieval.search.inverted_index import build_index

    return build_index([index_entry(memory) for memory in memories])


def pool_patterns(layer: Layer, request: Request) -> list[str]:
    """A layer's paths with agent and team filled in, without the paths whose name is not given."""
    names = {"agent": request.agent, "team": request.team}
    return [
        fill_template(path, names)
        for path in layer.query.paths
        if all(names.get(name, " ") for name in placeholders(path))
    ]


def score_rows(pool: MemoryPool, similar: Mapping[int, float], today: date) -> dict[int, Score]:
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


def best_rows(pool: MemoryPool, scores: Mapping[int, Score], layer: Layer) -> list[int]:
    """Rows in the order in which ranking puts them, up to the layer's `top`; candidates alone (`least_similarity`)."""
    similarity_of = {row: dict(score)["similarity"] for row, score in scores.items()}
    least = least_similarity(similarity_of.values(), layer.ranking.top)
    rows = [row for row, similarity in similarity_of.items() if similarity >= least]
    keys = {
        row: (weighted_total(scores[row], layer.ranking.weights), inputs.created)
        for row, inputs in zip(rows, pool.score_inputs(rows), strict=True)
    }
    return first_rows(pool, keys, layer.ranking.top)


def first_rows(pool: EntryPool[PlacedEntry], keys: Mapping[int, object], count: int) -> list[int]:
    """Rows with the largest keys, largest first; among equals by path, then the later in its file. All for 0."""
    limit = count or len(keys)
    smallest = min(nlargest(limit, keys.values()), default=None)  # type: ignore[type-var]
    candidates = [row for row, key in keys.items() if key >= smallest]  # type: ignore[operator]
    entries = dict(zip(candidates, pool.entries(candidates), strict=True))
    candidates.sort(key=lambda row: (entries[row].path, -entries[row].line))
    candidates.sort(key=lambda row: keys[row], reverse=True)  # type: ignore[arg-type,return-value]
    return candidates[:limit]
