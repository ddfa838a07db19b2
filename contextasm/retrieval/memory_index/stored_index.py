"""Stored postings of a pool, as a search reads them: of all its rows, or as they are on an earlier day."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from contextasm.retrieval.memory_index.postings import FIRST_WORD, read_postings, terms_between
from contextasm.retrieval.memory_index.schema import DamagedIndex, Numbers, load_list
from contextasm.retrieval.search.inverted_index import PADDING, IndexColumns

LAST_WORD = "\U0010ffff"
"""No term of a text comes after it."""


class StoredIndex:
    """The stored postings of a pool (`search.inverted_index.Index`)."""

    def __init__(self, connection: sqlite3.Connection, columns: Mapping[str, Numbers]) -> None:
        """Index over loaded columns; postings are read when a search needs them."""
        sections = columns["sections"]
        others = {field: columns[field] for field in IndexColumns._fields if field != "sections"}
        self.columns = IndexColumns(sections=sections + array("I", [0] * PADDING), **others)
        self.authors: Sequence[str] = load_list(connection, "names")
        self.size = len(sections) - sections.count(0)
        self.average = sum(columns["lengths"]) / max(1, self.size)
        self._connection = connection
        self._postings: dict[str, tuple[Numbers, Numbers]] = {}

    def row(self, place: int) -> int:
        """The row of the pool that a search finds at a place: each has its own number."""
        return place

    def postings(self, name: str) -> tuple[Numbers, Numbers]:
        """Rows that hold a term, and its number in each of them."""
        if name not in self._postings:
            rows, counts = self._read(name)
            sections = self.columns.sections
            if self.size < len(sections) - PADDING:  # some rows are empty
                living = [at for at, row in enumerate(rows) if sections[row]]
                if len(living) < len(rows):
                    rows, counts = array("I", [rows[at] for at in living]), array("I", [counts[at] for at in living])
            self._postings[name] = (rows, counts)
        return self._postings[name]

    def beginning(self, prefix: str) -> Sequence[str]:
        """Terms of texts that begin with a prefix, in order; all of them for an empty one."""
        return terms_between(self._connection, prefix or FIRST_WORD, prefix + LAST_WORD)

    def _read(self, name: str) -> tuple[Numbers, Numbers]:
        """Rows that hold or held a term, and its number in each of them."""
        return read_postings(self._connection, name)


class DayIndex(StoredIndex):
    """The stored postings of a pool on a day: the entries of later days have no part in it.

    Entries of a file may be in any order of days. Two entries with only later ones between them become neighbours, so
    all rows of such a file are moved behind the others, in the order of the file: a search finds them at their new
    places. Terms that later entries alone hold are still listed, and no row holds them.
    """

    def __init__(self, connection: sqlite3.Connection, columns: Mapping[str, Numbers], later: Collection[int]) -> None:
        """`later` has the rows to leave out."""
        files = [[row for row in rows if row not in later] for rows in _rows_of_files(connection, columns, later)]
        self._moved = [row for rows in files for row in rows]
        self._end = len(columns["sections"])
        self._place_of = {row: self._end + at for at, row in enumerate(self._moved)}
        super().__init__(connection, _moved_columns(columns, files, later))

    def row(self, place: int) -> int:
        """The row of the pool that a search finds at a place."""
        return place if place < self._end else self._moved[place - self._end]

    def _read(self, name: str) -> tuple[Numbers, Numbers]:
        rows, counts = super()._read(name)
        if not self._place_of.keys().isdisjoint(rows):
            rows = array("I", [self._place_of.get(row, row) for row in rows])
        return rows, counts


def _rows_of_files(
    connection: sqlite3.Connection, columns: Mapping[str, Numbers], wanted: Iterable[int]
) -> Iterator[list[int]]:
    """The rows of each file that holds one of the wanted rows, in the order of the file. Raises `DamagedIndex`."""
    files: dict[int, None] = {}
    end = 0
    for row in sorted(wanted):
        if row >= end:
            query = "SELECT file, first + rows FROM units WHERE first <= ? ORDER BY first DESC LIMIT 1"
            file, end = connection.execute(query, (row,)).fetchone() or (0, 0)
            files[file] = None
    for file in files:
        units = connection.execute("SELECT first, first + rows FROM units WHERE file = ?", (file,)).fetchall()
        if any(end > len(columns["sections"]) for _, end in units):
            raise DamagedIndex("a unit has rows that are not there")
        query = "SELECT line FROM current_rows WHERE row = ?"
        units.sort(key=lambda unit: connection.execute(query, unit[:1]).fetchone() or (0,))
        yield [row for unit in units for row in range(*unit)]


def _moved_columns(
    columns: Mapping[str, Numbers], files: Sequence[Sequence[int]], later: Iterable[int]
) -> dict[str, Numbers]:
    """The columns of a search, with the rows of these files moved behind all others, and without later ones."""
    created = columns["created"]
    sections: dict[tuple[int, int], int] = {}
    end = len(created)
    moved = [row for rows in files for row in rows]
    numbers = [
        sections.setdefault((file, created[row]), end + 1 + len(sections))
        for file, rows in enumerate(files)
        for row in rows
    ]
    left = [*moved, *later]
    made = {}
    for name in IndexColumns._fields:
        column = columns[name][:]
        taken = numbers if name == "sections" else [column[row] for row in moved]
        for row in left:
            column[row] = 0
        column.extend(array(column.typecode, taken))
        made[name] = column
    return made
