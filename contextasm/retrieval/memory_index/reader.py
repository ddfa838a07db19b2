"""A kept pool as it is asked: what a question needs is read from the file, and no more (`model.Pool`).

Nothing is changed here, and nothing is compared with the workspace.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from contextasm.model import Document, Memory, Problem, Reason, ScoreInputs
from contextasm.retrieval.memory_index.schema import DamagedIndex, Numbers, as_memory, halves, load_columns, load_value


class StoredIndex:
    """The stored postings (`contextasm.search.Index`)."""

    def __init__(self, store: sqlite3.Connection, held: Mapping[str, Numbers]) -> None:
        """The columns; the postings stay where they are until asked for."""
        from contextasm.retrieval.search.inverted_index import PADDING, IndexColumns

        sections = held["sections"]
        names = [name for name in IndexColumns._fields if name != "sections"]
        self.columns = IndexColumns(
            sections=sections + array("I", [0] * PADDING), **{name: held[name] for name in names}
        )
        self.authors: Sequence[str] = [""]
        self.size = len(sections) - sections.count(0)
        self.average = sum(held["lengths"]) / max(1, self.size)
        self._store = store
        self._postings: dict[str, tuple[Numbers, Numbers]] = {}

    def postings(self, term: str) -> tuple[Numbers, Numbers]:
        """The rows that hold a term, and how often each does."""
        if term not in self._postings:
            query = "SELECT held FROM postings JOIN terms USING (id) WHERE term = ?"
            row = self._store.execute(query, (term,)).fetchone()
            self._postings[term] = halves(row[0] if row else None)
        return self._postings[term]

    def beginning(self, prefix: str) -> list[str]:
        """The terms that begin with a prefix, in order."""
        query = "SELECT term FROM terms WHERE term >= ? AND term < ? ORDER BY term"
        return [term for (term,) in self._store.execute(query, (prefix, prefix + "\U0010ffff"))]


class IndexedPool:
    """The pool in an open file, for as long as that is open."""

    def __init__(self, store: sqlite3.Connection, paths: Sequence[str]) -> None:
        """`paths` are the pool's files in the order that they are read in."""
        self._store = store
        self._paths = paths
        counts: Any = load_value(store, "counts", [0, 0])
        self.size, self.rows = int(counts[0]), int(counts[1])
        self.documents: Sequence[Document] = ()

    @cached_property
    def excluded(self) -> Sequence[Reason]:
        """Why the others do not count."""
        stored: Any = load_value(self._store, "left_out", [])
        return [Reason(code, tuple((name, fact) for name, fact in facts)) for code, facts in stored]

    @cached_property
    def problems(self) -> Sequence[Problem]:
        """What is wrong with any of the files."""
        own = dict(self._store.execute("SELECT path, problems FROM files WHERE problems != ''"))
        pages = [json.loads(own[path]) for path in self._paths if path in own]
        stored: Any = load_value(self._store, "duplicates", [])
        return [Problem(*each) for page in (*pages, stored) for each in page]

    def similar(self, topic: str, floor: float) -> Mapping[int, float]:
        """Rows with how well they answer a topic."""
        from contextasm.retrieval.search.bm25 import similarities

        return similarities(topic, StoredIndex(self._store, self._columns), floor)

    def newest(self, count: int) -> Sequence[int]:
        """The rows of the newest."""
        query = "SELECT row FROM rows ORDER BY created DESC, path, line DESC LIMIT ?"
        return [row for (row,) in self._store.execute(query, (count or -1,))]

    def score_inputs(self, rows: Sequence[int]) -> Sequence[ScoreInputs]:
        """What each row's score needs."""
        days: Any = load_value(self._store, "dates", [])
        columns = self._columns
        importance, last, created = columns["importance"], columns["last"], columns["created"]
        return [ScoreInputs(importance[row], days[last[row]], days[created[row]]) for row in rows]

    def memories(self, rows: Sequence[int]) -> Sequence[Memory]:
        """The memories of rows."""
        query = "SELECT held FROM rows WHERE row = ?"
        found = [self._store.execute(query, (row,)).fetchone() for row in rows]
        if None in found:
            raise DamagedIndex("a row is missing")
        return [as_memory(held) for (held,) in found]

    @cached_property
    def _columns(self) -> dict[str, Numbers]:
        return load_columns(self._store)
