"""Writer of an index: the entries, units and rows of changed files, and what follows from them for other files.

The rows of a file are units: entries whose neighbours are in the unit. Of a changed file, only units that changed are
written; a file is changed, too, where another file changes the id or the exclusion of one of its entries.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

from contextasm.model import Problem
from contextasm.retrieval.memory_index.columns import ColumnBlocks
from contextasm.retrieval.memory_index.kinds import EntryKind
from contextasm.retrieval.memory_index.postings import AddedPostings, label_term
from contextasm.retrieval.memory_index.schema import as_blob, blob_of_any, load_blob, load_list, save_list
from contextasm.retrieval.memory_index.states import DecidedState, Decisions, decide
from contextasm.retrieval.memory_index.steps import IndexingSteps
from contextasm.retrieval.pools.memory_pool import count_reasons
from contextasm.retrieval.search.inverted_index import PADDING, IndexEntry, day_number, text_words
from contextasm.text.memories.fields import duplicate_id_problem, id_root
from contextasm.text.memories.parser import ACTIVE_STATUSES

_LEAST_UNIT = 32
"""Rows that a unit has at least, but for the last one of a file."""


class IndexedFile(Protocol):
    """A file as it is now."""

    @property
    def digest(self) -> str:
        """Digest of its bytes; of an unreadable file, its problem as text."""

    @property
    def entries(self) -> Sequence[Any]:
        """Its entries, in order."""

    @property
    def problems(self) -> Sequence[Problem]:
        """Its problems."""


class CurrentFiles(Protocol):
    """The files of a pool as they are now."""

    @property
    def stamps(self) -> Mapping[str, str]:
        """Stamp of each path, in the order of the pool; empty where an equal stamp would prove nothing."""

    @property
    def steps(self) -> IndexingSteps:
        """Steps of indexing them."""

    def read(self, path: str) -> IndexedFile:
        """The content of a file; it is opened once at most until it is forgotten."""

    def has_changed(self, path: str, digest: str) -> bool:
        """Whether a file has another digest than this one; only then is its content held."""

    def forget(self, path: str) -> None:
        """Hold the content of a file no longer."""


class StoredFile(NamedTuple):
    """A file in the index."""

    id: int
    stamp: str
    digest: str


class _Unit(NamedTuple):
    """Active entries of a file that are written together."""

    digest: bytes
    entries: Sequence[_ActiveEntry]


class _ActiveEntry(NamedTuple):
    """An entry with its text as a search sees it, and as it is stored."""

    entry: Any
    line: int
    indexed: IndexEntry
    held: bytes


def stored_files(connection: sqlite3.Connection) -> dict[str, StoredFile]:
    """The files of an index by path."""
    query = "SELECT path, id, stamp, digest FROM files"
    return {path: StoredFile(*facts) for path, *facts in connection.execute(query)}


class FileWriter:
    """Writes files to an index: one step of an update, in a transaction of the caller."""

    def __init__(self, connection: sqlite3.Connection, kind: EntryKind, files: CurrentFiles, removed: set[str]) -> None:
        self._connection = connection
        self._kind = kind
        self._files = files
        self._removed = removed
        self._stored = stored_files(connection)
        self._columns = ColumnBlocks(connection)
        self._postings = AddedPostings(connection)
        self._places = {name: _places(load_list(connection, name)) for name in ("dates", "names")}
        self._sizes = {name: len(places) for name, places in self._places.items()}

    def write(self, changed: Sequence[str]) -> None:
        """Remove files, and write the changed ones and those that they change."""
        paths = [*changed]
        decisions = self._decide(paths)
        while decisions.affected:
            paths += sorted(decisions.affected)
            decisions = self._decide(paths)
        for path in sorted(self._removed):
            self._write_units(self._stored[path].id, path, ())
            self._write_entries(self._stored[path].id, (), ())
            self._connection.execute("DELETE FROM files WHERE path = ?", (path,))
        for path in paths:
            self._write_file(path, decisions)
            self._files.forget(path)
            self._files.steps.step()
        self._columns.save()
        self._postings.save(self._columns.is_empty)
        for name, places in self._places.items():
            if len(places) > self._sizes[name]:
                save_list(self._connection, name, [*places])

    def _decide(self, paths: Sequence[str]) -> Decisions:
        order = {path: place for place, path in enumerate(self._files.stamps)}
        states = {path: [self._kind.state(entry) for entry in self._files.read(path).entries] for path in paths}
        return decide(self._connection, order, states, self._removed)

    def _write_file(self, path: str, decisions: Decisions) -> None:
        file, states = self._files.read(path), decisions.states[path]
        decided = [*zip(file.entries, states, strict=True)]
        duplicates = [
            duplicate_id_problem(state.facts.id, path, state.facts.line)
            for entry, state in decided
            if state.final_id != state.facts.id and self._kind.is_given(entry)
        ]
        excluded = count_reasons([state.exclusion for state in states])
        facts = (
            self._files.stamps[path],
            file.digest,
            len(states),
            *map(blob_of_any, (file.problems, duplicates, excluded)),
        )
        if path in self._stored:
            number = self._stored[path].id
            query = "UPDATE files SET stamp=?, digest=?, size=?, problems=?, duplicates=?, excluded=? WHERE id=?"
            self._connection.execute(query, (*facts, number))
        else:
            insert = "INSERT INTO files VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)"
            number = self._connection.execute(insert, (path, *facts)).lastrowid or 0
        self._write_entries(number, file.entries, states)
        active = [
            (self._kind.finish(entry, state.final_id), state.facts.line)
            for entry, state in decided
            if state.exclusion is None
        ]
        self._write_units(number, path, active)

    def _write_entries(self, number: int, entries: Sequence[Any], states: Sequence[DecidedState]) -> None:
        """Write what changed of the entries of a file."""
        self._connection.execute("INSERT OR IGNORE INTO rewritten VALUES (?)", (number,))
        query = "SELECT * FROM entries WHERE file = ? ORDER BY place"
        old = {*self._connection.execute(query, (number,))}
        new = [
            (*_entry_values(number, place, state), self._inactive(entry, state))
            for place, (entry, state) in enumerate(zip(entries, states, strict=True))
        ]
        for values in old.difference(new):
            self._connection.execute("DELETE FROM entries WHERE file = ? AND place = ?", values[:2])
            if values[6]:
                self._connection.executemany(
                    "DELETE FROM successions WHERE file = ? AND place = ? AND old = ?",
                    [(*values[:2], old_id) for old_id in load_blob(values[6])],
                )
        added = [values for values in new if values not in old] if old else new
        self._connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", added)
        successions = [
            (old_id, number, values[1])
            for values in added
            if values[6] and values[5] in ACTIVE_STATUSES
            for old_id in states[values[1]].facts.supersedes
        ]
        self._connection.executemany("INSERT OR IGNORE INTO successions VALUES (?, ?, ?)", successions)

    def _inactive(self, entry: Any, state: DecidedState) -> bytes | str:
        """An excluded entry as it is stored; empty for an active one, which has a row."""
        return as_blob(self._kind.finish(entry, state.final_id)) if state.exclusion else ""

    def _write_units(self, number: int, path: str, active: Sequence[tuple[Any, int]]) -> None:
        """Write the units of a file that changed, behind all rows."""
        query = "SELECT first, rows, digest FROM units WHERE file = ? ORDER BY first"
        old: dict[bytes, list[tuple[int, int]]] = {}
        for first, rows, digest in self._connection.execute(query, (number,)):
            old.setdefault(digest, []).append((first, rows))
        for unit in self._units(active):
            if old.get(unit.digest):
                old[unit.digest].pop()
            else:
                self._add_unit(number, path, unit)
        for first, rows in (lost for units in old.values() for lost in units):
            self._remove_unit(first, rows)

    def _remove_unit(self, first: int, rows: int) -> None:
        self._connection.execute("DELETE FROM units WHERE first = ?", (first,))
        span = (first, first + rows)
        for (held,) in self._connection.execute("SELECT held FROM current_rows WHERE row >= ? AND row < ?", span):
            entry = self._kind.restore(load_blob(held))
            words = text_words(self._kind.index_entry(entry).text)[2]
            self._postings.lose_row(words, self._labels(entry))
        self._connection.execute("DELETE FROM rows WHERE row >= ? AND row < ?", span)
        self._columns.clear(first, rows)

    def _units(self, active: Sequence[tuple[Any, int]]) -> Iterator[_Unit]:
        index_entry = self._kind.index_entry
        entries = [_ActiveEntry(entry, line, index_entry(entry), as_blob(entry)) for entry, line in active]
        for some in _split_units(entries):
            held = b"".join(each.held for each in some)
            yield _Unit(blake2b(held, digest_size=16).digest(), some)

    def _add_unit(self, number: int, path: str, unit: _Unit) -> None:
        first = self._columns.end
        values, rows, terms = [], [], []
        sections: dict[str, int] = {}
        for row, (entry, line, indexed, held) in enumerate(unit.entries, first):
            length, flag, words = text_words(indexed.text)
            inputs = self._kind.score_inputs(entry)
            section = sections.setdefault(indexed.section, row + 1)
            numbers = (length, section, day_number(indexed.day), self._place("names", indexed.author), flag)
            days = self._place("dates", inputs.last), self._place("dates", inputs.created)
            kernel, mark = round(100 * indexed.kernel), self._kind.is_marked(entry)
            values.append((*numbers, kernel, inputs.importance, *days, mark))
            rows.append((row, inputs.created, path, line, bytearray(held)))
            terms.append((words, self._labels(entry)))
        insert = "INSERT INTO units VALUES (?, ?, ?, ?)"
        self._connection.execute(insert, (first, number, len(rows), unit.digest))
        self._connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", rows)
        self._columns.extend(values)
        self._postings.add_rows(first, terms)

    def _labels(self, entry: Any) -> list[str]:
        return [label_term(kind, value) for kind, value in self._kind.labels(entry)]

    def _place(self, name: str, text: str) -> int:
        places = self._places[name]
        return places.setdefault(text, len(places))


def _places(texts: Sequence[str]) -> dict[str, int]:
    return {text: place for place, text in enumerate(texts)}


def _entry_values(number: int, place: int, state: DecidedState) -> tuple[Any, ...]:
    """The facts of an entry in its table."""
    facts = state.facts
    decided = (blob_of_any(facts.supersedes), state.final_id, blob_of_any(state.exclusion))
    return (number, place, facts.id, id_root(facts.id), facts.line, facts.status, *decided)


def _split_units(entries: Sequence[_ActiveEntry]) -> Iterator[Sequence[_ActiveEntry]]:
    """The entries, split where no two that are `PADDING` or less apart are of one section."""
    first = 0
    for at in range(_LEAST_UNIT, len(entries)):
        if at - first < _LEAST_UNIT or entries[at - 1].indexed.section == entries[at].indexed.section:
            continue
        before = {each.indexed.section for each in entries[max(at - PADDING, 0) : at]}
        if before.isdisjoint(each.indexed.section for each in entries[at : at + PADDING]):
            yield entries[first:at]
            first = at
    if entries:
        yield entries[first:]
