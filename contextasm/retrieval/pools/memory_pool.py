"""Memory pool: the memories of some files as just read, reasons that exclude some of them, and the best of the others.

A pool that is stored between builds is in `memory_index`, behind the same interface (`model.MemoryPool`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from heapq import nlargest
from itertools import repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from contextasm.model import (
    LABEL_KINDS,
    ChosenEntry,
    Document,
    EntryChoice,
    EntryPool,
    Label,
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
from contextasm.text.memories.fields import distinct_memories
from contextasm.text.memories.parser import ACTIVE_STATUSES, parse_memories
from contextasm.text.names.archived_paths import known_ids
from contextasm.text.names.templates import fill_template, placeholders


def memory_labels(memory: Memory) -> Sequence[Label]:
    """The labels of a memory, of each of `LABEL_KINDS`: its type, and each of its tags once."""
    kind, tag = LABEL_KINDS
    return [(kind, memory.type), *zip(repeat(tag), dict.fromkeys(memory.tags), strict=False)]


def means_memory(choice: EntryChoice, memory: Memory) -> bool:
    """Whether a choice means a memory."""
    return means_entry(choice, memory.id, memory.path, memory_labels(memory))


def means_entry(choice: EntryChoice, entry_id: str, path: str, labels: Sequence[Label]) -> bool:
    """Whether a choice means an entry of a file; an archived one is known by its earlier path, too."""
    return (
        not choice.labels.isdisjoint(labels)
        or not choice.ids.isdisjoint(known_ids(entry_id, path))
        or choice.has_path(path)
    )


if TYPE_CHECKING:
    from contextasm.retrieval.search.inverted_index import MemoryIndex


class PlacedEntry(Protocol):
    """An entry with its place in the workspace."""

    @property
    def path(self) -> str:
        """Path of its file."""

    @property
    def line(self) -> int:
        """Line of the file at which it begins."""


EntryT = TypeVar("EntryT", bound=PlacedEntry)

ParseEntries = Callable[[Document], tuple[Sequence[EntryT], Sequence[Problem]]]
"""The entries of a file in their order, and its problems."""


class ReadFiles(NamedTuple, Generic[EntryT]):
    """Files as just read."""

    entries: tuple[EntryT, ...]
    """The entries of all files, in order."""
    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]
    """Of files that can't be read, too."""


def read_files(
    workspace: Workspace, paths: Iterable[str], parse: ParseEntries[EntryT], most: int | None
) -> ReadFiles[EntryT] | None:
    """The files of these paths, in their order; None as soon as they have more than `most` entries.

    A file that does not exist is left out. A `most` of None is no limit.
    """
    entries: list[EntryT] = []
    documents: list[Document] = []
    problems: list[Problem] = []
    for path in paths:
        read = workspace.read(path)
        if isinstance(read, Document):
            documents.append(read)
            file_entries, file_problems = parse(read)
            entries += file_entries
            problems += file_problems
        elif read:
            problems.append(read)
        if most is not None and len(entries) > most:
            return None
    return ReadFiles(tuple(entries), tuple(documents), tuple(problems))


class ReadEntries(Generic[EntryT]):
    """A pool of entries that were just read (`model.EntryPool`). Subclasses say what is known of an entry."""

    excluded: Sequence[Reason] = ()

    def __init__(
        self, active: Sequence[EntryT], documents: tuple[Document, ...], problems: tuple[Problem, ...]
    ) -> None:
        """The place of each active entry is its row."""
        self.active = tuple(active)
        self.documents = documents
        self.problems = problems

    def inputs(self, entry: EntryT) -> ScoreInputs:
        """Score inputs of an entry."""
        raise NotImplementedError

    def is_marked(self, entry: EntryT) -> bool:
        """Whether an entry has the mark of its kind."""
        raise NotImplementedError

    def inverted_index(self, entries: tuple[EntryT, ...]) -> MemoryIndex:
        """Some of the active entries as an inverted index."""
        raise NotImplementedError

    @property
    def rows(self) -> int:
        """Number of active entries."""
        return len(self.active)

    @property
    def size(self) -> int:
        """Number of entries, inactive ones included."""
        return self.rows

    def later(self, today: date) -> Collection[int]:
        """Rows of the active entries of days after `today`."""
        return {row for row, entry in enumerate(self.active) if is_later(self.inputs(entry).created, today)}

    def similar(self, topic: str, min_match: float, today: date) -> Mapping[int, float]:
        """Similarity of each row that answers the topic, from 0 to 1, as if there were no `later` ones."""
        from contextasm.retrieval.search.bm25 import similarities

        later = self.later(today)
        rows = [row for row in range(self.rows) if row not in later]
        found = similarities(topic, self.inverted_index(tuple(self.active[row] for row in rows)), min_match)
        return {rows[place]: similarity for place, similarity in found.items()}

    def newest(self, count: int) -> Sequence[int]:
        """Rows of the newest entries, those of one day by path, then the later in the file; all for a count of 0."""
        days = {row: self.inputs(entry).created for row, entry in enumerate(self.active)}
        return first_rows(self, days, count)

    def marked(self) -> Sequence[int]:
        """Rows of the entries with the mark of their kind."""
        return [row for row, entry in enumerate(self.active) if self.is_marked(entry)]

    def score_inputs(self, rows: Sequence[int]) -> Sequence[ScoreInputs]:
        """Score inputs of each row."""
        return [self.inputs(self.active[row]) for row in rows]

    def entries(self, rows: Sequence[int]) -> Sequence[EntryT]:
        """The entry of each row."""
        return [self.active[row] for row in rows]


def is_later(day: str, today: date) -> bool:
    """Whether an entry of a day counts for nothing yet, as it is after `today`. An empty day is before every other."""
    return day > today.isoformat()


def first_rows(pool: EntryPool[PlacedEntry], keys: Mapping[int, object], count: int) -> list[int]:
    """Rows with the largest keys, largest first; among equals by path, then the later in its file. All for 0."""
    limit = count or len(keys)
    smallest = min(nlargest(limit, keys.values()), default=None)  # type: ignore[type-var]
    candidates = [row for row, key in keys.items() if key >= smallest]  # type: ignore[operator]
    entries = dict(zip(candidates, pool.entries(candidates), strict=True))
    candidates.sort(key=lambda row: (entries[row].path, -entries[row].line))
    candidates.sort(key=lambda row: keys[row], reverse=True)  # type: ignore[arg-type,return-value]
    return candidates[:limit]


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
    from contextasm.retrieval.search.inverted_index import IndexEntry, leading_name

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
