"""Read entries: the entries of some files as just read, as a pool; `memory_pool` and `log_pool` say what an entry is.

A pool that is stored between builds is in `memory_index`, behind the same interface (`model.EntryPool`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from heapq import nlargest
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from contextasm.model import Document, EntryPool, Problem, Reason, ScoreInputs, Workspace

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
