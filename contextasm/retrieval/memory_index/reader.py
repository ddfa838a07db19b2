"""Reader of an index: a pool that reads from the open file what a query needs, and no more (`model.EntryPool`).

Changes nothing, and compares nothing with the workspace.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from contextasm.model import Document, Problem, Reason, ScoreInputs
from contextasm.retrieval.memory_index.kinds import EntryKind
from contextasm.retrieval.memory_index.schema import (
    DamagedIndex,
    Numbers,
    halves,
    load_blob,
    load_columns,
    load_value,
)


class StoredIndex:
    """The stored postings of a pool (`search.inverted_index.Index`)."""

    def __init__(self, connection: sqlite3.Connection, columns: Mapping[str, Numbers]) -> None:
        """Index over loaded columns; postings are read when a search needs them."""
        from contextasm.retrieval.search.inverted_index import PADDING, IndexColumns

        sections = columns["sections"]
        others = {field: columns[field] for field in IndexColumns._fields if field != "sections"}
        self.columns = IndexColumns(sections=sections + array("I", [0] * PADDING), **others)
        names: Any = load_value(connection, "names", [""])
        self.authors: Sequence[str] = names
        self.size = len(sections) - sections.count(0)
        self.average = sum(columns["lengths"]) / max(1, self.size)
        self._connection = connection
        self._postings: dict[str, tuple[Numbers, Numbers]] = {}

    def postings(self, term: str) -> tuple[Numbers, Numbers]:
        """Rows that hold a term, and its number in each of them."""
        if term not in self._postings:
            query = "SELECT held FROM postings JOIN terms USING (id) WHERE term = ?"
            row = self._connection.execute(query, (term,)).fetchone()
            self._postings[term] = halves(row[0] if row else None)
        return self._postings[term]

    def beginning(self, prefix: str) -> list[str]:
        """Terms that begin with a prefix, in order; all of them for an empty one."""
        query = "SELECT term FROM terms WHERE term >= ? AND term < ? ORDER BY term"
        return [term for (term,) in self._connection.execute(query, (prefix, prefix + "\U0010ffff"))]


class IndexedPool:
    """The pool of an index file, usable while its connection is open."""

    def __init__(self, connection: sqlite3.Connection, kind: EntryKind, paths: Sequence[str]) -> None:
        """Pool of entries of a kind; `paths` are its files in the order in which they would be read."""
        self._connection = connection
        self._kind = kind
        self._paths = paths
        counts: Any = load_value(connection, "counts", [0, 0])
        self.size, self.rows = int(counts[0]), int(counts[1])
        self.documents: Sequence[Document] = ()

    @cached_property
    def excluded(self) -> Sequence[Reason]:
        """Reasons of the excluded entries, each once with its count."""
        stored: Any = load_value(self._connection, "left_out", [])
        return [Reason(code, tuple((name, fact) for name, fact in facts)) for code, facts in stored]

    @cached_property
    def problems(self) -> Sequence[Problem]:
        """Problems of all files, in the order of the paths; duplicate ids come last."""
        problems_of = dict(self._connection.execute("SELECT path, problems FROM files WHERE problems != ''"))
        by_file = [json.loads(problems_of[path]) for path in self._paths if path in problems_of]
        duplicates: Any = load_value(self._connection, "duplicates", [])
        return [Problem(*fields) for problems in (*by_file, duplicates) for fields in problems]

    def similar(self, topic: str, min_match: float) -> Mapping[int, float]:
        """Similarity of each row that answers the topic, from 0 to 1."""
        from contextasm.retrieval.search.bm25 import similarities

        return similarities(topic, StoredIndex(self._connection, self._columns), min_match)

    def newest(self, count: int) -> Sequence[int]:
        """Rows of the newest entries, newest first; all for a count of 0."""
        query = "SELECT row FROM rows ORDER BY created DESC, path, line DESC LIMIT ?"
        return [row for (row,) in self._connection.execute(query, (count or -1,))]

    def marked(self) -> Sequence[int]:
        """Rows of the entries with the mark of their kind."""
        return [row for row, mark in enumerate(self._columns["marks"]) if mark]

    def score_inputs(self, rows: Sequence[int]) -> Sequence[ScoreInputs]:
        """Score inputs of each row."""
        days: Any = load_value(self._connection, "dates", [])
        columns = self._columns
        importance, last, created = columns["importance"], columns["last"], columns["created"]
        return [ScoreInputs(importance[row], days[last[row]], days[created[row]]) for row in rows]

    def entries(self, rows: Sequence[int]) -> Sequence[Any]:
        """The entry of each row. Raises `DamagedIndex` for a row that is missing."""
        query = "SELECT held FROM rows WHERE row = ?"
        stored = [self._connection.execute(query, (row,)).fetchone() for row in rows]
        if None in stored:
            raise DamagedIndex("a row is missing")
        return [self._kind.restore(load_blob(blob)) for (blob,) in stored]

    @cached_property
    def _columns(self) -> dict[str, Numbers]:
        return load_columns(self._connection)
