"""Memory pool: the memories of some files as just read, reasons that exclude some of them, and the best of the others.

A pool that is stored between builds is in `memory_index`, behind the same interface (`model.MemoryPool`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from contextasm.model import (
    ChosenEntry,
    EntryChoice,
    Layer,
    Memory,
    MemoryPool,
    Reason,
    Request,
    Score,
    ScoreInputs,
    Workspace,
    least_similarity,
    recency,
    weighted_total,
)
from contextasm.retrieval.entry_choice import means_memory
from contextasm.retrieval.read_entries import ReadEntries, ReadFiles, first_rows, is_later, read_files
from contextasm.text.memory_ids import distinct_memories
from contextasm.text.memory_parser import ACTIVE_STATUSES, parse_memories
from contextasm.text.templates import fill_template, placeholders

if TYPE_CHECKING:
    from contextasm.retrieval.search.inverted_index import IndexEntry, MemoryIndex


KERNEL = 0.5
"""Weight of the matches of a memory's neighbours: in a list of memories half of that in a log."""

MANY = 1000
"""Size of the largest pool that is not indexed; of a larger one, memories that are not shown are counted by reason.

As many are read to look for an id or a text, and nothing is stored for it.

Up to this size, reading adds no more than a tenth of a second to the time of an indexed pool, which is the same for any
size, and the first build takes half the time of one that makes an index (benchmarks/run.py, rows of 1,000 and 10,000
memories).
"""


NO_BOOSTS: Mapping[int, float] = MappingProxyType({})


class ReadMemories(ReadEntries[Memory]):
    """The memories of some files, as just read (`model.MemoryPool`)."""

    def __init__(self, files: ReadFiles[Memory]) -> None:
        """Memories of one id keep the first one's; the others get ids of their own, and a problem."""
        self.all_memories, duplicates = distinct_memories(files.entries)
        states = ((memory.id, memory.status, memory.supersedes) for memory in self.all_memories)
        self.exclusions = exclusion_reasons(states)
        """Reason that excludes a memory, for each of `all_memories`; None for an active one."""
        active = [memory for memory, reason in self._with_reasons() if reason is None]
        super().__init__(active, files.documents, (*files.problems, *duplicates))
        self.excluded = count_reasons(self.exclusions)

    @property
    def size(self) -> int:
        """Number of all memories, excluded ones included."""
        return len(self.all_memories)

    def inputs(self, entry: Memory) -> ScoreInputs:
        """Score inputs of a memory."""
        return score_inputs(entry)

    def is_marked(self, entry: Memory) -> bool:
        """Whether a memory pins itself."""
        return entry.pin

    def inverted_index(self, entries: tuple[Memory, ...]) -> MemoryIndex:
        """Memories as an inverted index; the last one is kept."""
        return _memory_index(entries)

    def meant_rows(self, choice: EntryChoice) -> set[int]:
        """Rows of the active memories that a choice means."""
        return {row for row, memory in enumerate(self.active) if means_memory(choice, memory)}

    def meant_inactive(self, choice: EntryChoice) -> Sequence[ChosenEntry]:
        """The excluded memories that a choice means, in their order, each with its reason."""
        return [
            ChosenEntry(memory, None, reason)
            for memory, reason in self._with_reasons()
            if reason and means_memory(choice, memory)
        ]

    def _with_reasons(self) -> Iterator[tuple[Memory, Reason | None]]:
        return zip(self.all_memories, self.exclusions, strict=True)


def read_pool(workspace: Workspace, paths: Iterable[str]) -> ReadMemories:
    """Read the memories of files, in the order of the paths."""
    pool = read_pool_up_to(workspace, paths, None)
    assert pool
    return pool


def read_pool_up_to(workspace: Workspace, paths: Iterable[str], most: int | None) -> ReadMemories | None:
    """As `read_pool`; None as soon as there are more than `most`, which is None for no limit."""
    files = read_files(workspace, paths, parse_memories, most)
    return ReadMemories(files) if files else None


def exclusion_reasons(memories: Iterable[tuple[str, str, Sequence[str]]]) -> tuple[Reason | None, ...]:
    """Reason that excludes each memory, given as id, status and superseded ids; None for an active one."""
    rows = [*memories]
    successors = {old: new for new, status, supersedes in rows if status in ACTIVE_STATUSES for old in supersedes}
    return tuple(exclusion_reason(id_, status, successors.get(id_, id_)) for id_, status, _ in rows)


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


def best_rows(
    pool: MemoryPool, scores: Mapping[int, Score], layer: Layer, boosts: Mapping[int, float] = NO_BOOSTS
) -> list[int]:
    """Rows in the order in which ranking puts them, up to the layer's `top`; candidates alone (`least_similarity`).

    `boosts` has factors of totals by row; a row without one has 1.
    """
    similarity_of = {row: dict(score)["similarity"] for row, score in scores.items()}
    least = least_similarity(similarity_of.values(), layer.ranking.top)
    rows = [row for row, similarity in similarity_of.items() if similarity >= least]
    keys = {
        row: (boosts.get(row, 1.0) * weighted_total(scores[row], layer.ranking.weights), inputs.created)
        for row, inputs in zip(rows, pool.score_inputs(rows), strict=True)
    }
    return first_rows(pool, keys, layer.ranking.top)
