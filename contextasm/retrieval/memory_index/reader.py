"""Reader of an index: a pool that reads from the open file what a query needs, and no more (`model.EntryPool`).

Changes nothing, and compares nothing with the workspace.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from contextasm.model import ChosenEntry, Document, EntryChoice, Problem, Reason, ScoreInputs
from contextasm.retrieval.memory_index.chosen import chosen_inactive, chosen_rows
from contextasm.retrieval.memory_index.columns import load_columns
from contextasm.retrieval.memory_index.kinds import EntryKind
from contextasm.retrieval.memory_index.postings import FIRST_WORD, read_postings, terms_between
from contextasm.retrieval.memory_index.schema import DamagedIndex, Numbers, load_blob, load_list, select_among
from contextasm.retrieval.search.inverted_index import PADDING, IndexColumns


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

    def postings(self, term: str) -> tuple[Numbers, Numbers]:
        """Rows that hold a term, and its number in each of them."""
        if term not in self._postings:
            rows, counts = read_postings(self._connection, term)
            sections = self.columns.sections
            if self.size < len(sections) - PADDING:  # some rows are empty
                living = [at for at, row in enumerate(rows) if sections[row]]
                if len(living) < len(rows):
                    rows, counts = array("I", [rows[at] for at in living]), array("I", [counts[at] for at in living])
            self._postings[term] = (rows, counts)
        return self._postings[term]

    def beginning(self, prefix: str) -> list[str]:
        """Terms of texts that begin with a prefix, in order; all of them for an empty one."""
        return terms_between(self._connection, prefix or FIRST_WORD, prefix + "\U0010ffff")


class IndexedPool:
    """The pool of an index file, usable while its connection is open."""

    def __init__(self, connection: sqlite3.Connection, kind: EntryKind, paths: Sequence[str]) -> None:
        """Pool of entries of a kind; `paths` are its files in the order in which they would be read."""
        self._connection = connection
        self._kind = kind
        self._paths = paths
        self.size = int(connection.execute("SELECT total(size) FROM files").fetchone()[0])
        self.rows = int(connection.execute("SELECT total(rows) FROM units").fetchone()[0])
        self.documents: Sequence[Document] = ()
        self._entries: dict[int, Any] = {}

    @cached_property
    def excluded(self) -> Sequence[Reason]:
        """Reasons of the excluded entries, each once with its count."""
        numbers: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        for (text,) in self._connection.execute("SELECT excluded FROM files WHERE excluded != ''"):
            for code, facts in json.loads(text):
                (_, count), *others = facts
                numbers[code, tuple((name, fact) for name, fact in others)] += count
        return [Reason(code, (("count", count), *facts)) for (code, facts), count in sorted(numbers.items())]

    @cached_property
    def problems(self) -> Sequence[Problem]:
        """Problems of all files, in the order of the paths; duplicate ids come last."""
        return [*self._problems("problems"), *self._problems("duplicates")]

    def _problems(self, column: str) -> list[Problem]:
        of_files = dict(self._connection.execute(f"SELECT path, {column} FROM files WHERE {column} != ''"))
        return [Problem(*fields) for path in self._paths if path in of_files for fields in json.loads(of_files[path])]

    def similar(self, topic: str, min_match: float) -> Mapping[int, float]:
        """Similarity of each row that answers the topic, from 0 to 1."""
        from contextasm.retrieval.search.bm25 import similarities

        return similarities(topic, StoredIndex(self._connection, self._columns), min_match)

    def newest(self, count: int) -> Sequence[int]:
        """Rows of the newest entries, newest first; all for a count of 0."""
        query = "SELECT row FROM current_rows ORDER BY created DESC, path, line DESC"
        sections = self._columns["sections"]
        living = (row for (row,) in self._connection.execute(query) if sections[row])
        return [*islice(living, count or None)]

    def marked(self) -> Sequence[int]:
        """Rows of the entries with the mark of their kind."""
        return [row for row, mark in enumerate(self._columns["marks"]) if mark]

    def score_inputs(self, rows: Sequence[int]) -> Sequence[ScoreInputs]:
        """Score inputs of each row."""
        days = self._days
        columns = self._columns
        importance, last, created = columns["importance"], columns["last"], columns["created"]
        return [ScoreInputs(importance[row], days[last[row]], days[created[row]]) for row in rows]

    def entries(self, rows: Sequence[int]) -> Sequence[Any]:
        """The entry of each row; each is read once. Raises `DamagedIndex` for a row that is missing."""
        unread = [row for row in dict.fromkeys(rows) if row not in self._entries]
        query = "SELECT row, held FROM current_rows WHERE row IN ({})"
        for row, blob in select_among(self._connection, query, unread):
            self._entries[row] = self._kind.restore(load_blob(blob))
        if not self._entries.keys() >= {*rows}:
            raise DamagedIndex("a row is missing")
        return [self._entries[row] for row in rows]

    def meant_rows(self, choice: EntryChoice) -> set[int]:
        """Rows of the active entries that a choice means."""
        sections = self._columns["sections"]
        return {row for row in chosen_rows(self._connection, choice) if sections[row]}

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
