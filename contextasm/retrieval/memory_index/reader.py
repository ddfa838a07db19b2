"""Reader of an index: a pool that reads from the open file what a query needs, and no more (`model.EntryPool`).

Changes nothing, and compares nothing with the workspace.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import cached_property
from itertools import islice
from typing import Any

from contextasm.model import ChosenEntry, Document, EntryChoice, Problem, Reason, ScoreInputs
from contextasm.retrieval.memory_index.chosen import chosen_inactive, chosen_rows
from contextasm.retrieval.memory_index.columns import load_columns
from contextasm.retrieval.memory_index.kinds import EntryKind
from contextasm.retrieval.memory_index.schema import (
    MEANINGLESS,
    DamagedIndex,
    Numbers,
    load_blob,
    load_list,
    select_among,
)
from contextasm.retrieval.memory_index.stored_index import DayIndex, StoredIndex
from contextasm.retrieval.pools.memory_pool import is_later
from contextasm.text.cleaning.clean import HIDDEN_TEXT


@contextmanager
def _reading() -> Iterator[None]:
    """Raise `DamagedIndex` where what was read means nothing."""
    try:
        yield
    except MEANINGLESS as error:
        raise DamagedIndex(str(error)) from error


class IndexedPool:
    """The pool of an index file, usable while its connection is open. What it gives raises `DamagedIndex`."""

    def __init__(self, connection: sqlite3.Connection, kind: EntryKind, paths: Sequence[str]) -> None:
        """Pool of entries of a kind; `paths` are its files in the order in which they would be read."""
        self._connection = connection
        self._kind = kind
        self._paths = paths
        self.size = int(connection.execute("SELECT total(size) FROM files").fetchone()[0])
        self.rows = int(connection.execute("SELECT total(rows) FROM units").fetchone()[0])
        self.documents: Sequence[Document] = ()
        self._later: dict[date, Collection[int]] = {}
        self._entries: dict[int, Any] = {}

    @cached_property
    @_reading()
    def excluded(self) -> Sequence[Reason]:
        """Reasons of the excluded entries, each once with its count."""
        numbers: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        for (blob,) in self._connection.execute("SELECT excluded FROM files WHERE excluded != ''"):
            for code, facts in load_blob(blob):
                (_, count), *others = facts
                numbers[code, tuple((name, fact) for name, fact in others)] += count
        return [Reason(code, (("count", count), *facts)) for (code, facts), count in sorted(numbers.items())]

    @cached_property
    @_reading()
    def problems(self) -> Sequence[Problem]:
        """Problems of all files, in the order of the paths; then duplicate ids, then characters that were removed."""
        hidden = [problem for problem in self._problems("problems") if problem.code == HIDDEN_TEXT]
        others = [problem for problem in self._problems("problems") if problem.code != HIDDEN_TEXT]
        return [*others, *self._problems("duplicates"), *hidden]

    def _problems(self, column: str) -> list[Problem]:
        of_files = dict(self._connection.execute(f"SELECT path, {column} FROM files WHERE {column} != ''"))
        return [Problem(*fields) for path in self._paths if path in of_files for fields in load_blob(of_files[path])]

    @_reading()
    def later(self, today: date) -> Collection[int]:
        """Rows of the active entries of days after `today`."""
        if today not in self._later:
            places = {place for place, day in enumerate(self._days) if is_later(day, today)}
            created = self._columns["created"] if places else ()
            self._later[today] = {row for row, place in enumerate(created) if place in places}
        return self._later[today]

    @_reading()
    def similar(self, topic: str, min_match: float, today: date) -> Mapping[int, float]:
        """Similarity of each row that answers the topic, from 0 to 1, as if there were no `later` ones."""
        from contextasm.retrieval.search.bm25 import similarities

        index = self._index(today)
        return {index.row(place): value for place, value in similarities(topic, index, min_match).items()}

    def _index(self, today: date) -> StoredIndex:
        """The postings of a day."""
        if later := self.later(today):
            return DayIndex(self._connection, self._columns, later)
        return StoredIndex(self._connection, self._columns)

    @_reading()
    def newest(self, count: int) -> Sequence[int]:
        """Rows of the newest entries, newest first; all for a count of 0."""
        query = "SELECT row FROM current_rows ORDER BY created DESC, path, line DESC"
        sections = self._columns["sections"]
        living = (row for (row,) in self._connection.execute(query) if sections[row])
        return [*islice(living, count or None)]

    @_reading()
    def marked(self) -> Sequence[int]:
        """Rows of the entries with the mark of their kind."""
        return [row for row, mark in enumerate(self._columns["marks"]) if mark]

    @_reading()
    def score_inputs(self, rows: Sequence[int]) -> Sequence[ScoreInputs]:
        """Score inputs of each row."""
        days = self._days
        columns = self._columns
        importance, last, created = columns["importance"], columns["last"], columns["created"]
        return [ScoreInputs(importance[row], days[last[row]], days[created[row]]) for row in rows]

    @_reading()
    def entries(self, rows: Sequence[int]) -> Sequence[Any]:
        """The entry of each row; each is read once. Raises `DamagedIndex` for a row that is missing."""
        unread = [row for row in dict.fromkeys(rows) if row not in self._entries]
        query = "SELECT row, held FROM current_rows WHERE row IN ({})"
        for row, blob in select_among(self._connection, query, unread):
            self._entries[row] = self._kind.restore(load_blob(blob))
        if not self._entries.keys() >= {*rows}:
            raise DamagedIndex("a row is missing")
        return [self._entries[row] for row in rows]

    @_reading()
    def meant_rows(self, choice: EntryChoice) -> set[int]:
        """Rows of the active entries that a choice means."""
        sections = self._columns["sections"]
        return {row for row in chosen_rows(self._connection, choice) if sections[row]}

    @_reading()
    def meant_inactive(self, choice: EntryChoice) -> Sequence[ChosenEntry]:
        """The excluded entries that a choice means, in any order, each with its reason. Raises `DamagedIndex`."""
        return [*chosen_inactive(self._connection, self._kind, choice)]

    @cached_property
    def _columns(self) -> dict[str, Numbers]:
        return load_columns(self._connection)

    @cached_property
    def _days(self) -> Sequence[str]:
        days: Sequence[str] = load_list(self._connection, "dates")
        return days
