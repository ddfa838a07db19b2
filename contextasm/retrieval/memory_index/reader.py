"""Reader of an index: a pool that reads from the database what a query needs, and no more (`model.EntryPool`).

Changes nothing, and compares nothing with the workspace. The connection is within one transaction.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

from contextasm.model import Document, Problem, Reason, Request, ScoreInputs, SourceQuery
from contextasm.retrieval.memory_index.database import DamagedIndex, IndexConnection, Numbers, from_json, select_among
from contextasm.retrieval.memory_index.numbers import LIMITS, load_columns, read_postings
from contextasm.retrieval.pool import EntryKind, outside_code
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
        self.size = int(self._select("SELECT total(size) FROM files WHERE pool = ?")[0][0])
        self.rows = int(self._select("SELECT total(rows) FROM files WHERE pool = ?")[0][0])
        self.documents: Sequence[Document] = ()
        self._outside: dict[tuple[Request, bool], Mapping[int, str]] = {}
        self._entries: dict[int, Any] = {}
        stored = self._select("SELECT count(*) FROM rows WHERE pool = ?")[0][0]
        active = self.size - sum(int(dict(reason.facts)["count"]) for reason in self.excluded)
        if not self.rows == stored == active:
            raise DamagedIndex("entries are missing")

    def _select(self, query: str, *values: object) -> list[Any]:
        return self._connection.execute(query, (self._pool, *values)).fetchall()

    @cached_property
    def excluded(self) -> Sequence[Reason]:
        """Reasons of the excluded entries, each once with its count."""
        numbers: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        for (reasons,) in self._select("SELECT excluded FROM files WHERE pool = ? AND excluded != '[]'"):
            for code, ((_, count), *facts) in from_json(reasons):
                numbers[code, tuple((name, fact) for name, fact in facts)] += count
        return [Reason(code, (("count", count), *facts)) for (code, facts), count in sorted(numbers.items())]

    @cached_property
    def problems(self) -> Sequence[Problem]:
        """Problems of all files, in the order of the paths; then duplicate ids, then characters that were removed."""
        hidden = [problem for problem in self._problems("problems") if problem.code == HIDDEN_TEXT]
        others = [problem for problem in self._problems("problems") if problem.code != HIDDEN_TEXT]
        return [*others, *self._problems("duplicates"), *hidden]

    def _problems(self, column: str) -> list[Problem]:
        of_files = dict(self._select(f"SELECT path, {column} FROM files WHERE pool = ? AND {column} != '[]'"))
        return [Problem(*fields) for path in self._paths if path in of_files for fields in from_json(of_files[path])]

    def outside(self, query: SourceQuery) -> Mapping[int, str]:
        """Rows of the active entries that count for nothing in the layer, each with the code of its reason."""
        request = query.build.request, query.layer.instructs
        if request not in self._outside:
            found: dict[int, str] = {}
            for name, days in self._validity.items():
                fields = (
                    ScoreInputs(0.0, *(day if name == each else "" for each in ScoreInputs._fields[1:])) for day in days
                )
                codes = {place: code for place, each in enumerate(fields) if (code := outside_code(each, query))}
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

        index, moved = self.index(query)
        end, topic = len(self._columns["sections"]), query.build.request.topic
        found = similarities(topic, index, min_match, min_cover, authors_follow=authors_follow)
        return {place if place < end else moved[place - end]: value for place, value in found.items()}

    def index(self, query: SourceQuery) -> tuple[Index, Sequence[int]]:
        """The postings of the entries that are not `outside`, and the rows that are moved after all others.

        Entries of a file may be in any order of days. Two with only `outside` ones between them become neighbours, so
        all rows of such a file are moved, in the order of the file. Terms that only `outside` ones hold are still
        listed, and no row holds them.
        """
        outside, end = self.outside(query), len(self._columns["sections"])
        rows_of_files = _rows_of_files(self._connection, self._pool, outside)
        files = [[row for row in rows if row not in outside] for rows in rows_of_files]
        moved = [row for rows in files for row in rows]
        columns = _moved_columns(self._columns, files, outside) if outside else self._columns
        place_of = {row: end + at for at, row in enumerate(moved)}
        index = _stored_index(self._connection, self._pool, columns, place_of)
        return index._replace(length_penalty=self._kind.length_penalty), moved

    def newest(self, count: int) -> Sequence[int]:
        """Rows of the newest entries, newest first; all for a count of 0."""
        query = "SELECT row FROM rows WHERE pool = ? ORDER BY created DESC, path, line DESC LIMIT ?"
        return [row for (row,) in self._select(query, count or -1)]

    def marked(self) -> Sequence[int]:
        """Rows of the entries with the mark of their kind."""
        return [row for row, mark in enumerate(self._columns["marks"]) if mark]

    def score_inputs(self, rows: Sequence[int]) -> Sequence[ScoreInputs]:
        """Score inputs of each row."""
        importance, days = self._columns["importance"], {"last": self._days, **self._validity}
        columns = [(self._columns[name], days[name]) for name in ScoreInputs._fields[1:]]
        return [ScoreInputs(importance[row], *(own[column[row]] for column, own in columns)) for row in rows]

    def entries(self, rows: Sequence[int]) -> Sequence[Any]:
        """The entry of each row; each is read once. Raises `LookupError` for a row that is missing."""
        unread = [row for row in dict.fromkeys(rows) if row not in self._entries]
        query = "SELECT row, held FROM rows WHERE pool = ? AND row IN ({})"
        for row, held in select_among(self._connection, query, unread, self._pool):
            self._entries[row] = self._kind.restore(from_json(held))
        return [self._entries[row] for row in rows]

    @cached_property
    def _columns(self) -> dict[str, Numbers]:
        columns = load_columns(self._connection, self._pool)
        sections = columns["sections"]
        if len(sections) - sections.count(0) != self.rows:
            raise DamagedIndex("numbers of entries are missing")
        return columns

    @cached_property
    def _days(self) -> Sequence[str]:
        return load_list(self._connection, self._pool, "dates")

    @cached_property
    def _validity(self) -> Mapping[str, Sequence[str]]:
        """The texts that say when and where entries count, by the name of their column."""
        return {"created": self._days, **{name: load_list(self._connection, self._pool, name) for name in LIMITS}}


def load_list(connection: IndexConnection, pool: int, name: str) -> list[str]:
    """The list of texts that a pool stores under a name: its first text is empty, and means none."""
    row = connection.execute("SELECT held FROM lists WHERE pool = ? AND name = ?", (pool, name)).fetchone()
    texts: list[str] = from_json(row[0]) if row else [""]
    return texts


def _stored_index(
    connection: IndexConnection, pool: int, columns: Mapping[str, Numbers], place_of: Mapping[int, int]
) -> Index:
    """The postings of a pool, which are read when a search needs them; `place_of` has the new places of moved rows."""
    sections = columns["sections"]
    size = len(sections) - sections.count(0)

    @cache
    def postings(name: str) -> tuple[Numbers, Numbers]:
        rows, counts = read_postings(connection, pool, name)
        if place_of and not place_of.keys().isdisjoint(rows):
            rows = array("I", [place_of.get(row, row) for row in rows])
        if size < len(sections):  # some rows are empty
            living = [at for at, row in enumerate(rows) if sections[row]]
            if len(living) < len(rows):
                rows, counts = array("I", [rows[at] for at in living]), array("I", [counts[at] for at in living])
        return rows, counts

    def beginning(prefix: str) -> Sequence[str]:
        query = "SELECT term FROM terms WHERE pool = ? AND term >= ? AND term < ? ORDER BY term"
        return [name for (name,) in connection.execute(query, (pool, prefix, prefix + LAST_WORD))]

    padded = {**columns, "sections": sections + array("I", [0] * PADDING)}
    facts = IndexColumns(*(padded[name] for name in IndexColumns._fields))
    average = sum(columns["lengths"]) / max(1, size)
    return Index(size, average, facts, load_list(connection, pool, "names"), postings, beginning)


def _rows_of_files(connection: IndexConnection, pool: int, wanted: Iterable[int]) -> Iterator[range]:
    """The rows of each file that holds one of the wanted rows."""
    end = 0
    for row in sorted(wanted):
        if row >= end:
            query = "SELECT first, rows FROM files WHERE pool = ? AND first <= ? AND rows ORDER BY first DESC LIMIT 1"
            first, rows = connection.execute(query, (pool, row)).fetchone()
            end = first + rows
            yield range(first, end)


def _moved_columns(
    columns: Mapping[str, Numbers], files: Sequence[Sequence[int]], outside: Iterable[int]
) -> dict[str, Numbers]:
    """The columns of a search, with the rows of these files moved after all others, and without the ones `outside`."""
    created = columns["created"]
    sections: dict[tuple[int, int], int] = {}
    end = len(created)
    moved = [row for rows in files for row in rows]
    numbers = [
        sections.setdefault((file, created[row]), end + 1 + len(sections))
        for file, rows in enumerate(files)
        for row in rows
    ]
    left = [*moved, *outside]
    made = {}
    for name in IndexColumns._fields:
        column = columns[name][:]
        taken = numbers if name == "sections" else [column[row] for row in moved]
        for row in left:
            column[row] = 0
        column.extend(array(column.typecode, taken))
        made[name] = column
    return made
