"""Postings of an index: for each term the rows that hold it and its number in each of them, in blocks.

A change adds a block to each term of the new rows. Rows that are emptied stay in their blocks until so many blocks of
a term are made one; `holders` counts the rows that are left. A block is named by its term and its first row.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from contextasm.retrieval.memory_index.layers import has_base, last_term, own_terms
from contextasm.retrieval.memory_index.schema import Numbers, seal, unseal

_MOST_BLOCKS = 24
"""Blocks of a term that are made one when another is added; up to half as many more, so that not all are at once."""


FIRST_WORD = "\x01"
"""No term of a text comes before it; what `label_term` gives does."""


def label_term(kind: str, value: str) -> str:
    """The term that stands for a label of an entry, such as its type: no text has it, and every character is ASCII."""
    return "\0" + json.dumps([kind, value])


def read_postings(connection: sqlite3.Connection, term: str) -> tuple[Numbers, Numbers]:
    """Rows that hold or held a term, and its number in each of them."""
    row = connection.execute("SELECT id FROM current_terms WHERE term = ?", (term,)).fetchone()
    return _joined_blocks(connection, row[0]) if row else (array("I"), array("I"))


def terms_between(connection: sqlite3.Connection, first: str, last: str) -> list[str]:
    """Terms from `first` to `last` that a row holds, in order."""
    query = "SELECT term FROM current_terms WHERE term >= ? AND term < ? AND holders > 0 ORDER BY term"
    return [term for (term,) in connection.execute(query, (first, last))]


def _joined_blocks(
    connection: sqlite3.Connection, number: int, table: str = "current_postings"
) -> tuple[Numbers, Numbers]:
    query = f"SELECT held FROM {table} WHERE place >= ? AND place < ? ORDER BY place"
    rows, counts = array("I"), array("I")
    for (held,) in connection.execute(query, (number << 32, (number + 1) << 32)):
        numbers = unseal(held)
        middle = len(numbers) // 2
        rows.frombytes(numbers[:middle])
        counts.frombytes(numbers[middle:])
    return rows, counts


class AddedPostings:
    """Postings of new rows and the terms of lost ones, until `save` writes them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._added: defaultdict[str, tuple[Numbers, Numbers]] = defaultdict(_no_postings)
        self._lost: Counter[str] = Counter()

    def add_row(self, row: int, counts: Mapping[str, int]) -> None:
        """Add the terms of a row, which lies behind all others."""
        for term, count in counts.items():
            rows, row_counts = self._added[term]
            rows.append(row)
            row_counts.append(count)

    def lose_row(self, counts: Mapping[str, int]) -> None:
        """Count a row that is emptied off its terms."""
        self._lost.update(counts.keys())

    def save(self, is_empty: Callable[[int], bool]) -> None:
        """Write the blocks, and the numbers of holders. `is_empty` says whether a row holds no entry."""
        if has_base(self._connection):
            own_terms(self._connection, [*{*self._lost, *self._added}])
        lost = [(holders, term) for term, holders in self._lost.items()]
        self._connection.executemany("UPDATE terms SET holders = holders - ? WHERE term = ?", lost)
        ids = self._ids_of_added()
        blocks = ((_place(ids[term], rows), _sealed(rows, counts)) for term, (rows, counts) in self._added.items())
        self._connection.executemany("INSERT INTO postings VALUES (?, ?)", blocks)
        more = ((len(rows), ids[term]) for term, (rows, _) in self._added.items())
        self._connection.executemany("UPDATE terms SET holders = holders + ?, blocks = blocks + 1 WHERE id = ?", more)
        self._join_blocks(ids.values(), is_empty)
        self._added.clear()
        self._lost.clear()

    def _ids_of_added(self) -> dict[str, int]:
        ids: dict[str, int] = {}
        number = last_term(self._connection)
        for term in self._added:
            row = self._connection.execute("SELECT id FROM terms WHERE term = ?", (term,)).fetchone()
            if row is None:
                number += 1
                self._connection.execute("INSERT INTO terms VALUES (?, ?, 0, 0)", (number, term))
            ids[term] = row[0] if row else number
        return ids

    def _join_blocks(self, numbers: Iterable[int], is_empty: Callable[[int], bool]) -> None:
        for number in numbers:
            query = "SELECT blocks FROM terms WHERE id = ?"
            if self._connection.execute(query, (number,)).fetchone()[0] <= _MOST_BLOCKS + number % (_MOST_BLOCKS // 2):
                continue
            rows, counts = _joined_blocks(self._connection, number, "main.postings")
            kept = [at for at, row in enumerate(rows) if not is_empty(row)]
            rows, counts = array("I", [rows[at] for at in kept]), array("I", [counts[at] for at in kept])
            span = (number << 32, (number + 1) << 32)
            self._connection.execute("DELETE FROM postings WHERE place >= ? AND place < ?", span)
            self._connection.execute(
                "INSERT INTO postings VALUES (?, ?)", (_place(number, rows), _sealed(rows, counts))
            )
            self._connection.execute("UPDATE terms SET blocks = 1 WHERE id = ?", (number,))


def _no_postings() -> tuple[Numbers, Numbers]:
    return array("I"), array("I")


def _place(number: int, rows: Sequence[int]) -> int:
    return number << 32 | rows[0]


def _sealed(rows: Numbers, counts: Numbers) -> bytes:
    return seal(rows.tobytes() + counts.tobytes())
