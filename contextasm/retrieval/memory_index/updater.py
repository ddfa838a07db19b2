"""Update of an index: entries of files that are gone are removed, those of new and changed files are added.

A file is added anew, too, where another file changes the id or the exclusion of one of its entries. Works inside the
caller's transaction, and opens no file that did not change.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from contextasm.model import Problem, Reason
from contextasm.retrieval.memory_index.kinds import EntryKind, EntryState
from contextasm.retrieval.memory_index.schema import (
    COLUMN_TYPES,
    Numbers,
    as_blob,
    create_tables,
    halves,
    load_columns,
    load_value,
    save_value,
    seal,
)
from contextasm.retrieval.memory_pool import count_reasons, exclusion_reasons
from contextasm.retrieval.search.dates import day_number
from contextasm.retrieval.search.inverted_index import count_terms
from contextasm.text.memory_ids import duplicate_id_problem, unique_ids

_HOLES = 1000
"""Rows of removed files stay empty; with more of them than rows in use, and than this, the index is made again."""


class IndexedFile(NamedTuple):
    """The content of an indexed file, as it is now."""

    digest: str
    """Digest of its bytes; of an unreadable file, its problem as text."""
    entries: Sequence[Any]
    problems: Sequence[Problem]


class _StoredState(NamedTuple):
    """The facts of an entry that decide on other entries, with its path, and its final id and exclusion as stored."""

    path: str
    facts: EntryState
    final_id: str = ""
    exclusion: str = ""
    """As JSON; empty for an active entry."""


class _PoolState(NamedTuple):
    """Final ids and exclusions of the whole pool."""

    ids: Mapping[str, Sequence[str]]
    """By path."""
    exclusions: Mapping[str, Sequence[Reason | None]]
    """By path."""
    duplicates: Sequence[Problem]
    affected: frozenset[str]
    """Paths of unchanged files with an entry whose final id or exclusion is no longer as stored."""


class _Writes(NamedTuple):
    """Columns, dates, names and term numbers as they will be stored, and the postings to be added."""

    columns: dict[str, Numbers]
    dates: dict[str, int]
    names: dict[str, int]
    """Leading names, with their places in the list that the column `authors` points to."""
    term_ids: dict[str, int]
    postings: dict[int, tuple[Numbers, Numbers]]


def update_index(
    connection: sqlite3.Connection,
    kind: EntryKind,
    stamps: Mapping[str, str],
    read: Callable[[str], IndexedFile],
    *,
    new: bool,
) -> None:
    """Make the index hold exactly the files of `stamps`, in that order; `new` makes its tables first."""
    if new:
        create_tables(connection)
    stored = {
        path: (stamp, digest) for path, stamp, digest in connection.execute("SELECT path, stamp, digest FROM files")
    }
    removed = stored.keys() - stamps.keys()
    changed = {path for path, stamp in stamps.items() if path not in stored or not stamp or stored[path][0] != stamp}
    restamped = {path for path in changed & stored.keys() if read(path).digest == stored[path][1]}
    changed -= restamped
    if not new and _is_mostly_holes(connection, {*removed, *changed}):
        update_index(connection, kind, stamps, read, new=True)
        return
    pool = _pool_state(connection, kind, stamps, changed, read)
    while pool.affected:
        changed |= pool.affected
        pool = _pool_state(connection, kind, stamps, changed, read)
    writes = _Writes(load_columns(connection), _places(connection, "dates"), _places(connection, "names"), {}, {})
    lost_terms, is_dead = _remove_files(connection, sorted({*removed, *(changed & stored.keys())}), writes.columns)
    for path in (path for path in stamps if path in changed):
        _add_file(connection, kind, path, stamps[path], read(path), pool, writes)
    connection.executemany("UPDATE files SET stamp = ? WHERE path = ?", [(stamps[path], path) for path in restamped])
    _write_postings(connection, lost_terms, is_dead, writes.postings)
    _write_values(connection, writes, pool)


def _places(connection: sqlite3.Connection, name: str) -> dict[str, int]:
    # A list of which the first value is empty, and stands for none.
    values: Any = load_value(connection, name, [""])
    return {value: place for place, value in enumerate(values)}


def _is_mostly_holes(connection: sqlite3.Connection, removed: Iterable[str]) -> bool:
    rows = dict(connection.execute("SELECT path, rows FROM files"))
    end = connection.execute("SELECT max(first + rows) FROM files").fetchone()[0] or 0
    in_use = sum(rows.values()) - sum(rows.get(path, 0) for path in removed)
    return bool(end - in_use > max(_HOLES, in_use))


def _pool_state(
    connection: sqlite3.Connection,
    kind: EntryKind,
    paths: Iterable[str],
    changed: Iterable[str],
    read: Callable[[str], IndexedFile],
) -> _PoolState:
    stored = _stored_states(connection)
    new = {path: [_StoredState(path, kind.state(entry)) for entry in read(path).entries] for path in changed}
    states = [state for path in paths for state in (new[path] if path in new else stored.get(path, ()))]
    ids = unique_ids([state.facts.id for state in states])
    exclusions = exclusion_reasons(
        (final_id, state.facts.status, state.facts.supersedes) for final_id, state in zip(ids, states, strict=True)
    )
    by_path: dict[str, tuple[list[str], list[Reason | None]]] = {}
    affected: set[str] = set()
    duplicates: list[Problem] = []
    for final_id, exclusion, state in zip(ids, exclusions, states, strict=True):
        file_ids, file_exclusions = by_path.setdefault(state.path, ([], []))
        file_ids.append(final_id)
        file_exclusions.append(exclusion)
        if final_id != state.facts.id and state.facts.given:
            duplicates.append(duplicate_id_problem(state.facts.id, state.path, state.facts.line))
        if state.path not in new and (final_id, _exclusion_text(exclusion)) != (state.final_id, state.exclusion):
            affected.add(state.path)
    ids_of = {path: pair[0] for path, pair in by_path.items()}
    exclusions_of = {path: pair[1] for path, pair in by_path.items()}
    return _PoolState(ids_of, exclusions_of, duplicates, frozenset(affected))


def _stored_states(connection: sqlite3.Connection) -> dict[str, list[_StoredState]]:
    states: dict[str, list[_StoredState]] = {}
    query = (
        "SELECT path, entries.id, given, line, status, supersedes, final, out FROM entries"
        " JOIN files ON files.id = file ORDER BY file, place"
    )
    for path, id_, given, line, status, supersedes, final_id, exclusion in connection.execute(query):
        superseded = tuple(json.loads(supersedes)) if supersedes else ()
        state = _StoredState(path, EntryState(id_, bool(given), line, status, superseded), final_id, exclusion)
        states.setdefault(path, []).append(state)
    return states


def _exclusion_text(exclusion: Reason | None) -> str:
    return json.dumps(exclusion) if exclusion else ""


def _remove_files(
    connection: sqlite3.Connection, paths: Sequence[str], columns: Mapping[str, Numbers]
) -> tuple[set[int], bytearray]:
    """Empty the rows of files in all tables and columns.

    Returns the numbers of the terms in them, and a byte for each row: 1 where it was removed.
    """
    lost_terms: set[int] = set()
    is_dead = bytearray(len(columns["sections"]))
    for path in paths:
        query = "DELETE FROM files WHERE path = ? RETURNING id, first, rows, terms"
        ((file, first, rows, terms),) = connection.execute(query, (path,)).fetchall()
        connection.execute("DELETE FROM entries WHERE file = ?", (file,))
        connection.execute("DELETE FROM rows WHERE row >= ? AND row < ?", (first, first + rows))
        lost_terms.update(array("I", terms))
        is_dead[first : first + rows] = b"\1" * rows
        for column in columns.values():
            column[first : first + rows] = array(column.typecode, bytes(rows * column.itemsize))
    return lost_terms, is_dead


def _add_file(
    connection: sqlite3.Connection,
    kind: EntryKind,
    path: str,
    stamp: str,
    file: IndexedFile,
    pool: _PoolState,
    writes: _Writes,
) -> None:
    # Active entries get rows behind all others, so that no row of another file moves.
    first = row = len(writes.columns["sections"])
    terms: set[int] = set()
    sections: dict[str, int] = {}
    query = "INSERT INTO files (path, stamp, digest, first, problems) VALUES (?, ?, ?, ?, ?)"
    problems = json.dumps(file.problems) if file.problems else ""
    number = connection.execute(query, (path, stamp, file.digest, first, problems)).lastrowid
    decided = zip(file.entries, pool.ids.get(path, ()), pool.exclusions.get(path, ()), strict=True)
    for place, (entry, final_id, exclusion) in enumerate(decided):
        state = kind.state(entry)
        supersedes = json.dumps(state.supersedes) if state.supersedes else ""
        facts = (*state[:-1], supersedes, final_id, _exclusion_text(exclusion))
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (number, place, *facts))
        if exclusion is None:
            values = (row, kind.score_inputs(entry).created, path, state.line, as_blob(kind.finish(entry, final_id)))
            connection.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", values)
            terms |= _add_row(connection, kind, entry, row, sections, writes)
            row += 1
    term_blob = array("I", sorted(terms)).tobytes()
    connection.execute("UPDATE files SET rows = ?, terms = ? WHERE id = ?", (row - first, term_blob, number))


def _add_row(
    connection: sqlite3.Connection, kind: EntryKind, entry: Any, row: int, sections: dict[str, int], writes: _Writes
) -> set[int]:
    # Returns the numbers of its terms.
    indexed, inputs = kind.index_entry(entry), kind.score_inputs(entry)
    length, flag, counts = count_terms(indexed.text)
    last, created = (writes.dates.setdefault(day, len(writes.dates)) for day in (inputs.last, inputs.created))
    section = sections.setdefault(indexed.section, row + 1)
    day, kernel = day_number(indexed.day), round(100 * indexed.kernel)
    author = writes.names.setdefault(indexed.author, len(writes.names))
    values = (length, section, day, author, flag, kernel, inputs.importance, last, created, kind.is_marked(entry))
    for name, value in zip(COLUMN_TYPES, values, strict=True):
        writes.columns[name].append(value)
    numbers = set()
    for term, count in counts.items():
        number = writes.term_ids.get(term) or _stored_or_new_term(connection, term, writes.term_ids)
        numbers.add(number)
        rows, row_counts = writes.postings.setdefault(number, (array("I"), array("I")))
        rows.append(row)
        row_counts.append(count)
    return numbers


def _stored_or_new_term(connection: sqlite3.Connection, term: str, term_ids: dict[str, int]) -> int:
    row = connection.execute("SELECT id FROM terms WHERE term = ?", (term,)).fetchone()
    if row is None:
        row = connection.execute("INSERT INTO terms (term) VALUES (?) RETURNING id", (term,)).fetchone()
    number: int = row[0]
    term_ids[term] = number
    return number


def _write_postings(
    connection: sqlite3.Connection,
    lost_terms: set[int],
    is_dead: bytearray,
    added: Mapping[int, tuple[Numbers, Numbers]],
) -> None:
    # Each term is rewritten once; a term without any row is deleted.
    for number in sorted(lost_terms | added.keys()):
        stored = connection.execute("SELECT held FROM postings WHERE id = ?", (number,)).fetchone()
        rows, counts = halves(stored[0] if stored else None)
        if number in lost_terms:
            living = [place for place, row in enumerate(rows) if not is_dead[row]]
            rows, counts = (
                array("I", [rows[place] for place in living]),
                array("I", [counts[place] for place in living]),
            )
        more_rows, more_counts = added.get(number, ((), ()))
        rows.extend(more_rows)
        counts.extend(more_counts)
        if rows:
            blob = seal(rows.tobytes() + counts.tobytes())
            connection.execute("REPLACE INTO postings VALUES (?, ?)", (number, blob))
        else:
            connection.execute("DELETE FROM postings WHERE id = ?", (number,))
            connection.execute("DELETE FROM terms WHERE id = ?", (number,))


def _write_values(connection: sqlite3.Connection, writes: _Writes, pool: _PoolState) -> None:
    exclusions = [exclusion for file_exclusions in pool.exclusions.values() for exclusion in file_exclusions]
    for name, column in writes.columns.items():
        save_value(connection, name, column)
    save_value(connection, "dates", [*writes.dates])
    save_value(connection, "names", [*writes.names])
    save_value(connection, "counts", [len(exclusions), sum(exclusion is None for exclusion in exclusions)])
    save_value(connection, "left_out", count_reasons(exclusions))
    save_value(connection, "duplicates", pool.duplicates)
