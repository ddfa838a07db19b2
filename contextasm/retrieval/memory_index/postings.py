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
from functools import lru_cache

from contextasm.retrieval.memory_index.layers import last_term, stored_terms
from contextasm.retrieval.memory_index.schema import Numbers, seal, unseal
from contextasm.retrieval.search.inverted_index import term

_MOST_BLOCKS = 24
"""Blocks of a term that are made one when another is added; up to half as many more, so that not all are at once."""


FIRST_WORD = "\x01"
"""No term of a text comes before it; what `label_term` gives does."""


@lru_cache(maxsize=1 << 14)
def label_term(kind: str, value: str) -> str:
    """The term that stands for a label of an entry, such as its type: no text has it, and every character is ASCII."""
    return "\0" + json.dumps([kind, value])


def read_postings(connection: sqlite3.Connection, name: str) -> tuple[Numbers, Numbers]:
    """Rows that hold or held a term, and its number in each of them."""
    row = connection.execute("SELECT id FROM current_terms WHERE term = ?", (name,)).fetchone()
    return _joined_blocks(connection, row[0]) if row else (array("I"), array("I"))


def terms_between(connection: sqlite3.Connection, first: str, last: str) -> list[str]:
    """Terms from `first` up to, but not including, `last` that a row holds, in order."""
    query = "SELECT term FROM current_terms WHERE term >= ? AND term < ? AND holders > 0 ORDER BY term"
    return [name for (name,) in connection.execute(query, (first, last))]


def _joined_blocks(
    connection: sqlite3.Connection, number: int, table: str = "current_postings"
) -> tuple[Numbers, Numbers]:
    query = f"SELECT held FROM {table} WHERE place >= ? AND place < ? ORDER BY place"
    rows, counts = array("I"), array("I")
    for (held,) in connection.execute(query, _places(number)):
        numbers = array("I", unseal(held))
        behind = numbers[0] + 1
        rows += numbers[1:behind]
        counts += numbers[behind:] or array("I", [1]) * numbers[0]
    return rows, counts


class _Term:
    """A term as it is in its table, and as a change has it there."""

    __slots__ = ("blocks", "holders", "id")

    def __init__(self, number: int, holders: int = 0, blocks: int = 0) -> None:
        self.id = number
        self.holders = holders
        self.blocks = blocks

    @property
    def is_crowded(self) -> bool:
        """Whether its blocks are to be made one."""
        return self.blocks > _MOST_BLOCKS + self.id % (_MOST_BLOCKS // 2)


class _RowsOfWords(dict[str, list[int]]):
    """The rows of each word; words of one term have one list."""

    def __init__(self, rows_of: defaultdict[str, list[int]]) -> None:
        super().__init__()
        self._rows_of = rows_of

    def __missing__(self, word: str) -> list[int]:
        rows = self[word] = self._rows_of[term(word)]
        return rows


class AddedPostings:
    """Postings of new rows and the terms of lost ones, until `save` writes them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._added: defaultdict[str, list[int]] = defaultdict(list)
        self._of_words = _RowsOfWords(self._added)
        self._lost: Counter[str] = Counter()

    def add_rows(self, first: int, rows: Iterable[tuple[Iterable[str], Iterable[str]]]) -> None:
        """Add the words, each as often as it is there, and the labels of the rows from `first` on; none lies behind."""
        of_words, added = self._of_words, self._added
        for row, (words, labels) in enumerate(rows, first):
            for word in words:
                of_words[word].append(row)
            for label in labels:
                added[label].append(row)

    def lose_row(self, words: Iterable[str], labels: Iterable[str]) -> None:
        """Count a row that is emptied off the terms of its words and labels."""
        self._lost.update({*map(term, words), *labels})

    def save(self, is_empty: Callable[[int], bool]) -> None:
        """Write the blocks, and the numbers of holders. `is_empty` says whether a row holds no entry.

        Nothing is added after that.
        """
        terms = self._stored_terms()
        blocks = []
        for name, rows in self._added.items():
            facts = terms[name]
            holders, block = _block(rows)
            blocks.append((_place(facts.id, rows), block))
            facts.holders += holders
            facts.blocks += 1
        for name, lost in self._lost.items():
            terms[name].holders -= lost
        blocks.sort()
        self._connection.executemany("INSERT INTO postings VALUES (?, ?)", blocks)
        for facts in terms.values():
            if facts.is_crowded:
                self._join_blocks(facts.id, is_empty)
                facts.blocks = 1
        self._save_terms(terms)

    def _stored_terms(self) -> dict[str, _Term]:
        """The terms that change, as they are stored; a new one has its number alone."""
        names = [*dict.fromkeys((*self._added, *self._lost))]
        stored = {name: _Term(*facts) for name, facts in stored_terms(self._connection, names).items()}
        new = [name for name in names if name not in stored]
        return stored | {name: _Term(number) for number, name in enumerate(new, last_term(self._connection) + 1)}

    def _save_terms(self, terms: Mapping[str, _Term]) -> None:
        facts = [(each.id, name, each.holders, each.blocks) for name, each in terms.items()]
        change = "ON CONFLICT (id) DO UPDATE SET holders = excluded.holders, blocks = excluded.blocks"
        self._connection.executemany(f"INSERT INTO terms VALUES (?, ?, ?, ?) {change}", facts)

    def _join_blocks(self, number: int, is_empty: Callable[[int], bool]) -> None:
        """Make the blocks of a term one, without the rows that hold no entry; one at least holds one."""
        rows, counts = _joined_blocks(self._connection, number, "main.postings")
        kept = [row for row, count in zip(rows, counts, strict=True) if not is_empty(row) for _ in range(count)]
        self._connection.execute("DELETE FROM postings WHERE place >= ? AND place < ?", _places(number))
        self._connection.execute("INSERT INTO postings VALUES (?, ?)", (_place(number, kept), _block(kept)[1]))


def _places(number: int) -> tuple[int, int]:
    """The place before every block of a term, and the one behind them."""
    return number << 32, (number + 1) << 32


def _place(number: int, rows: Sequence[int]) -> int:
    """The place of the block of a term with these rows."""
    return number << 32 | rows[0]


def _block(rows: Sequence[int]) -> tuple[int, bytearray]:
    """The number of rows in a block, and what is stored of them; `rows` has each as often as it holds the term.

    Stored are the number of rows, the rows, and how often each one holds the term, if one does more than once.
    """
    once = {*rows}
    if len(once) == len(rows):
        numbers = array("I", [len(rows), *rows])
    else:
        counts = Counter(rows)
        numbers = array("I", [len(counts), *counts, *counts.values()])
    return len(once), bytearray(seal(numbers.tobytes()))
