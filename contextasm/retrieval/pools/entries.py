"""Pools of entries: the memories or log lines of some files, read in this build or stored by an earlier one.

A stored pool is in `memory_index`, behind the same interface (`model.EntryPool`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from heapq import nlargest
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from contextasm.model import Document, EntryPool, Problem, Reason, ScoreInputs, SourceQuery, T, Workspace
from contextasm.text.names.templates import fill_template, placeholders

if TYPE_CHECKING:
    from contextasm.retrieval.search.inverted_index import IndexEntry

MANY = 1000
"""Size of the largest pool that is not stored; of a larger one, entries that are not shown are counted by reason.

As many are read to look for an id or a text, and nothing is stored for it.

Up to this size, reading adds no more than a tenth of a second to the time of a stored pool, which is the same for any
size, and the first build takes half the time of one that makes an index (benchmarks/run.py, rows of 1,000 and 10,000
memories).
"""


class PlacedEntry(Protocol):
    """An entry with its place in the workspace."""

    @property
    def path(self) -> str:
        """Path of its file."""

    @property
    def line(self) -> int:
        """Line of the file at which it begins."""


EntryT = TypeVar("EntryT", bound=PlacedEntry)

Settled = tuple[Sequence[EntryT], Sequence[Problem], Sequence[Reason | None]]
"""All entries of a pool with their final ids, problems of ids, and the reason that excludes each entry, if any."""


class EntryKind(NamedTuple, Generic[EntryT]):
    """How entries of one kind are parsed, searched and stored; each is a named tuple of values that JSON can hold."""

    name: str
    parse: Callable[[Document], tuple[Sequence[EntryT], Sequence[Problem]]]
    """The entries of a file in their order, and its problems."""
    settle: Callable[[Sequence[EntryT]], Settled[EntryT]]
    """Decides on the entries of all files, in order."""
    has_ids: bool
    """Whether entries have ids and states that decide on other entries."""
    index_entry: Callable[[EntryT], IndexEntry]
    score_inputs: Callable[[EntryT], ScoreInputs]
    is_marked: Callable[[EntryT], bool]
    restore: Callable[[Sequence[Any]], EntryT]
    """The entry of its values, tuples as lists."""


class ReadPool(Generic[EntryT]):
    """The entries of some files, as just read (`model.EntryPool`)."""

    def __init__(
        self,
        kind: EntryKind[EntryT],
        entries: Sequence[EntryT],
        documents: Sequence[Document] = (),
        problems: Sequence[Problem] = (),
    ) -> None:
        """Pool of the entries of `documents`; the position of an entry among the active ones is its row."""
        self._kind = kind
        self.all_entries, duplicates, self.exclusions = kind.settle(entries)
        self.active = [entry for entry, reason in zip(self.all_entries, self.exclusions, strict=True) if reason is None]
        self.documents = tuple(documents)
        self.problems = (*problems, *duplicates)
        self.excluded = count_reasons(self.exclusions)

    @property
    def rows(self) -> int:
        """Number of active entries."""
        return len(self.active)

    @property
    def size(self) -> int:
        """Number of entries, excluded ones included."""
        return len(self.all_entries)

    def later(self, today: date) -> Collection[int]:
        """Rows of the active entries of days after `today`."""
        created = (inputs.created for inputs in map(self._kind.score_inputs, self.active))
        return {row for row, day in enumerate(created) if is_later(day, today)}

    def similar(self, topic: str, min_match: float, today: date) -> Mapping[int, float]:
        """Similarity of each row that answers the topic, from 0 to 1, as if there were no `later` ones."""
        from contextasm.retrieval.search.bm25 import similarities
        from contextasm.retrieval.search.inverted_index import build_index

        later = self.later(today)
        rows = [row for row in range(self.rows) if row not in later]
        index = build_index([self._kind.index_entry(self.active[row]) for row in rows])
        return {rows[at]: similarity for at, similarity in similarities(topic, index, min_match).items()}

    def newest(self, count: int) -> Sequence[int]:
        """Rows of the newest entries, those of one day by path, then the later in the file; all for a count of 0."""
        days = {row: self._kind.score_inputs(entry).created for row, entry in enumerate(self.active)}
        return first_rows(self, days, count)

    def marked(self) -> Sequence[int]:
        """Rows of the entries with the mark of their kind."""
        return [row for row, entry in enumerate(self.active) if self._kind.is_marked(entry)]

    def score_inputs(self, rows: Sequence[int]) -> Sequence[ScoreInputs]:
        """Score inputs of each row."""
        return [self._kind.score_inputs(self.active[row]) for row in rows]

    def entries(self, rows: Sequence[int]) -> Sequence[EntryT]:
        """The entry of each row."""
        return [self.active[row] for row in rows]


def read_pool(workspace: Workspace, kind: EntryKind[EntryT], paths: Iterable[str]) -> ReadPool[EntryT]:
    """Read the entries of files, in the order of the paths; a file that does not exist is left out."""
    pool = read_pool_up_to(workspace, kind, paths, None)
    assert pool
    return pool


def read_pool_up_to(
    workspace: Workspace, kind: EntryKind[EntryT], paths: Iterable[str], most: int | None
) -> ReadPool[EntryT] | None:
    """As `read_pool`; None as soon as there are more entries than `most`, which is None for no limit."""
    entries: list[EntryT] = []
    documents: list[Document] = []
    problems: list[Problem] = []
    for path in paths:
        read = workspace.read(path)
        if isinstance(read, Document):
            documents.append(read)
            file_entries, file_problems = kind.parse(read)
            entries += file_entries
            problems += file_problems
        elif read:
            problems.append(read)
        if most is not None and len(entries) > most:
            return None
    return ReadPool(kind, entries, documents, problems)


def use_pool(
    query: SourceQuery, kind: EntryKind[EntryT], paths: Sequence[str], use: Callable[[EntryPool[EntryT]], T]
) -> T:
    """Result of `use` on the pool of these files of the layer.

    Up to `MANY` entries are read. A larger pool comes from the build's index, if it has one that can be used.
    """
    index, workspace = query.build.memory_index, query.build.workspace
    if index is None:
        return use(read_pool(workspace, kind, paths))
    patterns = pool_patterns(query)
    answer = index.query(kind, patterns, paths, use)
    if answer is None:
        if pool := read_pool_up_to(workspace, kind, paths, MANY):
            return use(pool)
        answer = index.query(kind, patterns, paths, use, new=True)
    return use(read_pool(workspace, kind, paths)) if answer is None else answer


def pool_patterns(query: SourceQuery) -> list[str]:
    """The layer's paths with agent and team filled in, without the paths whose name is not given."""
    names = {"agent": query.build.request.agent, "team": query.build.request.team}
    return [
        fill_template(path, names)
        for path in query.layer.query.paths
        if all(names.get(name, " ") for name in placeholders(path))
    ]


def count_reasons(exclusions: Iterable[Reason | None]) -> tuple[Reason, ...]:
    """Each reason once, with its number as `count`; the id of a superseding memory is dropped."""
    numbers = Counter((reason.code, reason.facts if reason.code == "status" else ()) for reason in exclusions if reason)
    return tuple(Reason(code, (("count", count), *facts)) for (code, facts), count in sorted(numbers.items()))


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
