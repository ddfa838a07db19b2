"""Columns of an index: facts with a number for each row, stored in blocks of so many rows.

A change of some rows writes the blocks that they lie in. Rows that hold no entry are zeros.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Sequence

from contextasm.retrieval.memory_index.schema import COLUMN_TYPES, DamagedIndex, Numbers, seal, unseal

BLOCK = 4096
"""Rows of a block; the last one may have less."""


def load_columns(connection: sqlite3.Connection) -> dict[str, Numbers]:
    """Every column by its name. Raises `DamagedIndex` where one is not as long as the others."""
    columns: dict[str, Numbers] = {name: array(kind) for name, kind in COLUMN_TYPES.items()}
    for name, held in connection.execute("SELECT name, held FROM current_columns ORDER BY block"):
        columns[name].frombytes(unseal(held))
    if len({*map(len, columns.values())}) > 1:
        raise DamagedIndex("columns differ in length")
    return columns


class ColumnBlocks:
    """The columns of an index that is changed: blocks are read when a change reaches them, and written by `save`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._blocks: dict[int, dict[str, Numbers]] = {}
        last = connection.execute("SELECT max(block) FROM current_columns").fetchone()[0]
        self.end = 0 if last is None else BLOCK * last + len(self._block(last)["lengths"])
        """The row behind the last one."""

    def clear(self, first: int, rows: int) -> None:
        """Make the rows from `first` on hold no entry."""
        row, stop = first, first + rows
        while row < stop:
            number, at = divmod(row, BLOCK)
            count = min(BLOCK - at, stop - row)
            for column in self._block(number).values():
                column[at : at + count] = array(column.typecode, bytes(count * column.itemsize))
            row += count

    def extend(self, values: Sequence[Sequence[float]]) -> None:
        """Add rows at the end: for each one its numbers, in the order of `COLUMN_TYPES`."""
        done = 0
        while done < len(values):
            number, at = divmod(self.end, BLOCK)
            some = values[done : done + BLOCK - at]
            block = self._block(number)
            for name, numbers in zip(COLUMN_TYPES, zip(*some, strict=True), strict=True):
                block[name].extend(array(COLUMN_TYPES[name], numbers))
            done += len(some)
            self.end += len(some)

    def is_empty(self, row: int) -> bool:
        """Whether a row holds no entry."""
        number, at = divmod(row, BLOCK)
        return not self._block(number)["sections"][at]

    def save(self) -> None:
        """Write the blocks that were read."""
        stored = (
            (number, name, seal(column.tobytes()))
            for number, block in self._blocks.items()
            for name, column in block.items()
        )
        self._connection.executemany("REPLACE INTO columns VALUES (?, ?, ?)", stored)
        self._blocks.clear()

    def _block(self, number: int) -> dict[str, Numbers]:
        if number not in self._blocks:
            query = "SELECT name, held FROM current_columns WHERE block = ?"
            stored = dict(self._connection.execute(query, (number,)))
            self._blocks[number] = {
                name: array(kind, unseal(stored[name]) if name in stored else b"")
                for name, kind in COLUMN_TYPES.items()
            }
        return self._blocks[number]
