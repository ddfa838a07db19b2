"""A pool as it is stored: compared with its files, brought up to date, and handed to who asks, in one transaction.

Opens no file that did not change; of one that did, all rows are written anew. The ids and states of all entries are
decided upon at each change, as if the pool was read; a file is written, too, if the entries of other files change what
is decided on its own.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from contextasm.model import EntryPool, Reason, T
from contextasm.retrieval.memory_index.database import POOL_TABLES, IndexConnection, from_json, to_json
from contextasm.retrieval.memory_index.files import CurrentFiles
from contextasm.retrieval.memory_index.numbers import COLUMN_TYPES, TEXTS, load_columns, save_columns, save_postings
from contextasm.retrieval.memory_index.reader import IndexedPool, load_list
from contextasm.retrieval.pool import EntryKind, exclusion_reasons
from contextasm.retrieval.search.inverted_index import entry_facts
from contextasm.text.memories.parser import (
    ACTIVE_STATUSES,
    duplicate_id_problem,
    is_given_by_hand,
    unique_ids,
)

_BATCH = 1 << 15
"""Entries after which the index is stored as far as it is made: a build that is interrupted goes on from there."""

_HOLES = 1000
"""Rows of changed files stay empty; with more of them than rows in use, and than this, the index is made again."""

Decided = dict[int, tuple[str, Reason | None]]
"""Final id of entries of a file, and the reason that excludes each; not of entries active under their own ids."""


class StoredPool:
    """A pool of the database, which may not be there yet."""

    def __init__(self, connection: IndexConnection, kind: EntryKind[Any], name: str, files: CurrentFiles) -> None:
        """The pool of this name, of entries of a kind, with its files as they are now."""
        self._connection = connection
        self._kind = kind
        self._name = name
        self._files = files

    def answer(self, use: Callable[[EntryPool[Any]], T], least: int, *, new: bool) -> T | None:
        """Result of `use` on the pool, brought up to date; None if it is not stored.

        `new` stores it. A pool of no more than `least` entries is removed, and gives None, too.
        """
        with self._connection:
            self._connection.execute("BEGIN")
            number = self._number()
            if number is None and not new:
                return None
            if number is not None:
                same, changed, removed = self._compare(number)
                if not (changed or removed or any(self._files.stamps[path] for path in same)):
                    return self._used(number, use, least)
        may_remake = True  # but once: later batches may leave a new index sparse, too
        while True:
            with self._connection:
                self._connection.begin_writing()
                number = self._number()
                if number is None:
                    number = self._connection.execute("INSERT INTO pools VALUES (NULL, ?)", (self._name,)).lastrowid
                assert number is not None
                is_whole, is_sparse = self._update(number)
                if is_whole and is_sparse and may_remake:
                    self._remove(number)
                    may_remake = False
                elif is_whole:
                    return self._used(number, use, least)

    def _number(self) -> int | None:
        found = self._connection.execute("SELECT id FROM pools WHERE name = ?", (self._name,)).fetchone()
        return found and int(found[0])

    def _used(self, number: int, use: Callable[[EntryPool[Any]], T], least: int) -> T | None:
        pool = IndexedPool(self._connection, number, self._kind, [*self._files.stamps])
        if pool.size > least:
            return use(pool)
        self._remove(number)
        return None

    def _remove(self, number: int) -> None:
        query = "DELETE FROM postings WHERE place >> 32 IN (SELECT id FROM terms WHERE pool = ?)"
        self._connection.execute(query, (number,))
        for table in POOL_TABLES:
            self._connection.execute(f"DELETE FROM {table} WHERE pool = ?", (number,))
        self._connection.execute("DELETE FROM pools WHERE id = ?", (number,))

    def _compare(self, number: int) -> tuple[set[str], list[str], set[str]]:
        """Files whose stamps are not as stored although their content is, changed and new files, and removed ones.

        Only files without the stored stamp are opened.
        """
        query = "SELECT path, stamp, digest FROM files WHERE pool = ?"
        stored = {path: (stamp, digest) for path, stamp, digest in self._connection.execute(query, (number,))}
        stamps = self._files.stamps
        doubtful = [path for path, stamp in stamps.items() if not stamp or stored.get(path, ("",))[0] != stamp]
        changed = [path for path in doubtful if path not in stored or self._files.has_changed(path, stored[path][1])]
        return {*doubtful} - {*changed}, changed, stored.keys() - stamps.keys()

    def _update(self, number: int) -> tuple[bool, bool]:
        """Make the pool hold the files as they are now, but only so many entries.

        Whether that is all of them, and whether few rows are in use.
        """
        files = self._files
        same, changed, removed = self._compare(number)
        query = "UPDATE files SET stamp = ? WHERE pool = ? AND path = ?"
        self._connection.executemany(query, [(files.stamps[path], number, path) for path in sorted(same)])
        batch: list[str] = []
        entries = 0
        for path in changed:
            if entries >= _BATCH:
                break
            batch.append(path)
            entries += len(files.read(path).entries)
        is_sparse = _FileWriter(self._connection, number, self._kind, files).write(batch, removed)
        return len(batch) == len(changed), is_sparse


class _FileWriter:
    """Writes files to a pool, in a transaction of the caller."""

    def __init__(self, connection: IndexConnection, pool: int, kind: EntryKind[Any], files: CurrentFiles) -> None:
        self._connection = connection
        self._pool = pool
        self._kind = kind
        self._files = files
        self._columns = load_columns(connection, pool)
        self._postings: defaultdict[str, list[int]] = defaultdict(list)
        """The new rows of each word, as often as they have it."""
        texts = {name: load_list(connection, pool, name) for name in TEXTS}
        self._lists = {name: {text: place for place, text in enumerate(own)} for name, own in texts.items()}

    def write(self, changed: Sequence[str], removed: set[str]) -> bool:
        """Remove files, and write the changed ones and the ones that they change; whether few rows are in use then."""
        for path in sorted(removed):
            self._remove(path)
        for path, decided in self._decide(changed).items():
            self._write_file(path, decided)
            self._files.forget(path)
        save_columns(self._connection, self._pool, self._columns)
        save_postings(self._connection, self._pool, self._postings)
        for name, places in self._lists.items():
            insert = "REPLACE INTO lists VALUES (?, ?, ?)"
            self._connection.execute(insert, (self._pool, name, to_json([*places])))
        sections = self._columns["sections"]
        empty = sections.count(0)
        return empty > max(_HOLES, len(sections) - empty)

    def _decide(self, changed: Sequence[str]) -> dict[str, Decided]:
        """Decisions on the entries of the changed files, and of other files whose decisions are not as stored."""
        if not self._kind.settle:
            return {path: {} for path in changed}
        query = "SELECT path, ids, states, decided FROM files WHERE pool = ?"
        stored = {path: facts for path, *facts in self._connection.execute(query, (self._pool,))}
        new = {path: _ids_and_states(self._files.read(path).entries) for path in changed}
        paths = [path for path in self._files.stamps if path in stored or path in new]
        decided = _decide([new[path] if path in new else map(from_json, stored[path][:2]) for path in paths])
        return {
            path: of_file
            for path, of_file in zip(paths, decided, strict=True)
            if path in new or to_json(_decided(of_file)) != stored[path][2]
        }

    def _write_file(self, path: str, decided: Decided) -> None:
        file = self._files.read(path)
        ids, states = _ids_and_states(file.entries) if self._kind.settle else ([], [])
        entries = [
            entry._replace(id=decided[place][0]) if place in decided else entry
            for place, entry in enumerate(file.entries)
        ]
        duplicates = [
            duplicate_id_problem(file.entries[place].id, path, file.entries[place].line)
            for place, (name, _) in decided.items()
            if name != file.entries[place].id and is_given_by_hand(file.entries[place])
        ]
        excluded = {place for place, (_, reason) in decided.items() if reason}
        active = [entry for place, entry in enumerate(entries) if place not in excluded]
        self._remove(path)
        own = (self._pool, path, self._files.stamps[path], file.digest, len(entries), self._end, len(active))
        facts = (ids, states, _decided(decided), (*file.problems, *duplicates))
        insert = "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self._connection.execute(insert, (*own, *map(to_json, facts)))
        self._add_rows(path, active)

    @property
    def _end(self) -> int:
        """The row after the last one."""
        return len(self._columns["sections"])

    def _remove(self, path: str) -> None:
        """Remove a file, if it is stored: its rows hold no entry any more."""
        query = "SELECT first, rows FROM files WHERE pool = ? AND path = ?"
        for first, rows in self._connection.execute(query, (self._pool, path)).fetchall():
            self._connection.execute("DELETE FROM files WHERE pool = ? AND path = ?", (self._pool, path))
            query = "DELETE FROM rows WHERE pool = ? AND row >= ? AND row < ?"
            self._connection.execute(query, (self._pool, first, first + rows))
            for column in self._columns.values():
                column[first : first + rows] = array(column.typecode, bytes(rows * column.itemsize))

    def _add_rows(self, path: str, active: Sequence[Any]) -> None:
        """Add the active entries of a file after all rows."""
        values, rows = [], []
        sections: dict[str, int] = {}
        for row, entry in enumerate(active, self._end):
            indexed, inputs = self._kind.index_entry(entry), self._kind.score_inputs(entry)
            author, *texts = map(self._place, TEXTS, (indexed.author, *inputs[1:]))
            facts, words = entry_facts(indexed, row, sections, author)
            values.append((*facts, inputs.importance, *texts, self._kind.is_marked(entry)))
            rows.append((self._pool, row, inputs.created, path, entry.line, to_json(entry)))
            for word in words:
                self._postings[word].append(row)
        self._connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", rows)
        for name, numbers in zip(COLUMN_TYPES, zip(*values, strict=True), strict=False):
            self._columns[name].extend(numbers)

    def _place(self, name: str, text: str) -> int:
        places = self._lists[name]
        return places.setdefault(text, len(places))


def _ids_and_states(entries: Sequence[Any]) -> tuple[list[str], list[tuple[int, str, Sequence[str]]]]:
    """The ids of a file's entries, and place, status and superseded ids of the ones that are not plainly active."""
    states = [
        (place, entry.status, entry.supersedes)
        for place, entry in enumerate(entries)
        if entry.status not in ACTIVE_STATUSES or entry.supersedes
    ]
    return [entry.id for entry in entries], states


def _decide(files: Iterable[Iterable[Any]]) -> Iterator[Decided]:
    """Decisions on the entries of each file of a pool, by the `_ids_and_states` of all files in order."""
    own: list[str] = []
    states: dict[int, tuple[str, Sequence[str]]] = {}
    ends = []
    for ids, of_file in files:
        states |= {len(own) + place: (status, supersedes) for place, status, supersedes in of_file}
        own += ids
        ends.append(len(own))
    final = unique_ids(own)
    reasons = exclusion_reasons((name, *states.get(at, ("active", ()))) for at, name in enumerate(final))
    start = 0
    for end in ends:
        places = (at for at in range(start, end) if reasons[at] or final[at] != own[at])
        yield {at - start: (final[at], reasons[at]) for at in places}
        start = end


def _decided(decided: Decided) -> Sequence[Any]:
    return [(place, *outcome) for place, outcome in decided.items()]
