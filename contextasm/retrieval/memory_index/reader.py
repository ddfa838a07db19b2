"""Reader of an index: a pool that reads from the database what a query needs, and no more (`model.EntryPool`).

Changes nothing, and compares nothing with the workspace. The connection is within one transaction.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from itertools import accumulate, compress
from typing import Any

from contextasm.model import Document, Problem, Reason, Request, ScoreInputs, SourceQuery
from contextasm.retrieval.memory_index.database import DamagedIndex, IndexConnection, Numbers, from_json, select_among
from contextasm.retrieval.memory_index.numbers import TEXTS, load_columns, read_postings
from contextasm.retrieval.pool import EntryKind, count_reasons, outside_code
from contextasm.retrieval.search.inverted_index import PADDING, Index, IndexColumns
from contextasm.text.cleaning.clean import HIDDEN_TEXT

LAST_WORD = "\U0010ffff"
"""No term of a text comes after it."""


class IndexedPool:
    """A pool of the index, usable while its connection is open."""

    def __init__(self, connection: IndexConnection, pool: int, kind: EntryKind[Any], paths: Sequence[str]) -> None:
        """Pool of entries of a kind; `paths` are its files in the order in which they would be read.

        Raises `DamagedIndex` if the numbers of entries do not agree.
        """
        self._connection = connection
        self._pool = pool
        self._kind = kind
        self._paths = paths
        self.size, self.rows = map(int, self._select("SELECT total(size), total(rows) FROM files WHERE pool = ?")[0])
        self.documents: Sequence[Document] = ()
        self._outside: dict[tuple[Request, bool], Mapping[int, str]] = {}
        stored = self._select("SELECT count(*) FROM rows WHERE pool = ?")[0][0]
        active = self.size - sum(int(dict(reason.facts)["count"]) for reason in self.excluded)
        if not self.rows == stored == active:
            raise DamagedIndex("entries are missing")

    def _select(self, query: str, *values: object) -> list[Any]:
        return self._connection.execute(query, (self._pool, *values)).fetchall()

    @cached_property
    def excluded(self) -> Sequence[Reason]:
        """Reasons of the excluded entries, each once with its count."""
        files = self._select("SELECT decided FROM files WHERE pool = ? AND decided != '[]'")
        reasons = (reason for (decided,) in files for _, _, reason in from_json(decided) if reason)
        return count_reasons(Reason(code, tuple(map(tuple, facts))) for code, facts in reasons)

    @cached_property
    def problems(self) -> Sequence[Problem]:
        """Problems of all files, in the order of the paths; then duplicate ids, then characters that were removed."""
        of_files = dict(self._select("SELECT path, problems FROM files WHERE pool = ? AND problems != '[]'"))
        found = [Problem(*fields) for path in self._paths if path in of_files for fields in from_json(of_files[path])]
        return sorted(found, key=lambda problem: {"duplicate-id": 1, HIDDEN_TEXT: 2}.get(problem.code, 0))

    def outside(self, query: SourceQuery) -> Mapping[int, str]:
        """Rows of the active entries that count for nothing in the layer, each with the code of its reason."""
        request = query.build.request, query.layer.instructs
        if request not in self._outside:
            found: dict[int, str] = {}
            nothing = ScoreInputs(0.0, "", "")
            for name in TEXTS[1:]:
                inputs = (nothing._replace(**{name: text}) for text in self._texts[name])  # type: ignore[arg-type]
                codes = {place: code for place, each in enumerate(inputs) if (code := outside_code(each, query))}
                for row, place in enumerate(self._columns[name] if codes else ()):
                    if place in codes:
                        found.setdefault(row, codes[place])
            self._outside[request] = found
        return self._outside[request]

    def similar(
        self, query: SourceQuery, min_match: float, min_cover: float = 0.0, *, authors_follow: bool = False
    ) -> Mapping[int, float]:
        """Similarity of each row that answers the topic, from 0 to 1, as if there were no `outside` ones."""
        from contextasm.retrieval.search.bm25 import similarities

        index, rows = self.index(query)
        topic = query.build.request.topic
        found = similarities(topic, index, min_match, min_cover, authors_follow=authors_follow)
        return {rows[place]: value for place, value in found.items()}

    def index(self, query: SourceQuery) -> tuple[Index, Sequence[int]]:
        """The postings of the entries that are not `outside`, by the places of these, and the row of each place.

        Entries of a file may be in any order of days. Two with only `outside` ones between them are neighbours here.
        Terms that only `outside` ones hold are still listed, and no row holds them.
        """
        living = bytearray(map(bool, self._columns["sections"]))
        for row in self.outside(query):
            living[row] = 0
        runs = [slice(*match.span()) for match in re.finditer(rb"\x01+", living)]
        columns = (self._columns[name] for name in IndexColumns._fields)
        facts = IndexColumns(*(array(each.typecode, b"".join(each[run].tobytes() for run in runs)) for each in columns))
        facts = facts._replace(sections=[*facts.sections, *[0] * PADDING])
        places = array("I", accumulate(living, initial=0))
        size = places[-1]

        @cache
        def postings(name: str) -> tuple[Numbers, Numbers]:
            rows, counts = read_postings(self._connection, self._pool, name)
            if size < len(living):
                held = [living[row] for row in rows]
                rows, counts = array("I", compress(rows, held)), array("I", compress(counts, held))
                rows = array("I", [places[row] for row in rows])
            return rows, counts

        def beginning(prefix: str) -> Sequence[str]:
            names = "SELECT term FROM terms WHERE pool = ? AND term >= ? AND term < ? ORDER BY term"
            return [name for (name,) in self._select(names, prefix, prefix + LAST_WORD)]

        average, authors = sum(facts.lengths) / max(1, size), self._texts["authors"]
        index = Index(size, average, facts, authors, postings, beginning, self._kind.length_penalty)
        return index, [*compress(range(len(living)), living)]

    def newest(self, count: int) -> Sequence[int]:
        """Rows of the newest entries, newest first; all for a count of 0."""
        query = "SELECT row FROM rows WHERE pool = ? ORDER BY created DESC, path, line DESC LIMIT ?"
        return [row for (row,) in self._select(query, count or -1)]

    def marked(self) -> Sequence[int]:
        """Rows of the entries with the mark of their kind."""
        return [row for row, mark in enumerate(self._columns["marks"]) if mark]

    def score_inputs(self, rows: Sequence[int]) -> Sequence[ScoreInputs]:
        """Score inputs of each row."""
        importance = self._columns["importance"]
        columns = [(self._columns[name], self._texts[name]) for name in TEXTS[1:]]
        return [ScoreInputs(importance[row], *(texts[column[row]] for column, texts in columns)) for row in rows]

    def entries(self, rows: Sequence[int]) -> Sequence[Any]:
        """The entry of each row. Raises `LookupError` for a row that is missing."""
        query = "SELECT row, held FROM rows WHERE pool = ? AND row IN ({})"
        stored = dict(select_among(self._connection, query, [*rows], self._pool))
        return [self._kind.restore(from_json(stored[row])) for row in rows]

    @cached_property
    def _columns(self) -> dict[str, Numbers]:
        columns = load_columns(self._connection, self._pool)
        sections = columns["sections"]
        if len(sections) - sections.count(0) != self.rows:
            raise DamagedIndex("numbers of entries are missing")
        return columns

    @cached_property
    def _texts(self) -> Mapping[str, Sequence[str]]:
        """The texts of each column that has places of some."""
        return {name: load_list(self._connection, self._pool, name) for name in TEXTS}


def load_list(connection: IndexConnection, pool: int, name: str) -> list[str]:
    """The list of texts that a pool stores under a name: its first text is empty, and means none."""
    row = connection.execute("SELECT held FROM lists WHERE pool = ? AND name = ?", (pool, name)).fetchone()
    texts: list[str] = from_json(row[0]) if row else [""]
    return texts
