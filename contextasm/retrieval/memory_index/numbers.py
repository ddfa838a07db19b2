"""Numbers that an index knows of its rows: columns of facts about each row, and the postings of each term.

Rows that hold no entry any more are zeros in the columns, and stay in the postings.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain

from contextasm.model import ScoreInputs
from contextasm.retrieval.memory_index.database import DamagedIndex, IndexConnection, Numbers, select_among
from contextasm.retrieval.search.inverted_index import IndexColumns, term

COLUMN_TYPES = dict.fromkeys((*IndexColumns._fields, *ScoreInputs._fields, "marks"), "I") | {
    **dict.fromkeys(("flags", "kernels", "marks"), "B"),
    "importance": "d",
}
"""Type codes of the columns with a number for each row."""

TEXTS = ("authors", *ScoreInputs._fields[1:])
"""Columns of facts that are texts: they have the places of these in a list of each."""


def load_columns(connection: IndexConnection, pool: int) -> dict[str, Numbers]:
    """Every column by its name. Raises `DamagedIndex` if one is not as long as the others."""
    columns: dict[str, Numbers] = {name: array(kind) for name, kind in COLUMN_TYPES.items()}
    for name, held in connection.execute("SELECT name, held FROM columns WHERE pool = ?", (pool,)):
        columns[name].frombytes(held)
    if len({*map(len, columns.values())}) > 1:
        raise DamagedIndex("columns differ in length")
    return columns


def save_columns(connection: IndexConnection, pool: int, columns: Mapping[str, Numbers]) -> None:
    """Write every column."""
    stored = ((pool, name, bytearray(column.tobytes())) for name, column in columns.items())
    connection.executemany("REPLACE INTO columns VALUES (?, ?, ?)", stored)


def save_postings(connection: IndexConnection, pool: int, added: Mapping[str, Sequence[int]]) -> None:
    """Write the postings of rows after all others: by each word the rows that have it, as often as they do."""
    rows_of: defaultdict[str, list[int]] = defaultdict(list)
    for word, rows in added.items():
        rows_of[term(word)] += rows
    connection.executemany("INSERT OR IGNORE INTO terms VALUES (NULL, ?, ?)", ((pool, name) for name in rows_of))
    query = "SELECT id, term FROM terms WHERE pool = ? AND term IN ({})"
    numbers = {name: number for number, name in select_among(connection, query, [*rows_of], pool)}
    blocks = sorted((numbers[name] << 32 | min(rows), sorted(rows)) for name, rows in rows_of.items())
    stored = (
        (place, bytearray(array("I", chain.from_iterable(Counter(rows).items())).tobytes())) for place, rows in blocks
    )
    connection.executemany("INSERT INTO postings VALUES (?, ?)", stored)


def read_postings(connection: IndexConnection, pool: int, name: str) -> tuple[Numbers, Numbers]:
    """Rows that hold or held a term, and its number in each of them."""
    found = connection.execute("SELECT id FROM terms WHERE pool = ? AND term = ?", (pool, name)).fetchone()
    numbers = array("I")
    if found:
        span = (found[0] << 32, (found[0] + 1) << 32)
        query = "SELECT held FROM postings WHERE place >= ? AND place < ? ORDER BY place"
        for (held,) in connection.execute(query, span):
            numbers.frombytes(held)
    return numbers[::2], numbers[1::2]
