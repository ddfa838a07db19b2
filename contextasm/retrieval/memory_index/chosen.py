"""Chosen entries of an index: those that rules may mean, found by path, id, type and tag.

Finds entries. For ids and labels it parses every inactive entry. What rules do with them is decided elsewhere.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from contextasm.model import ChosenEntry, EntryChoice
from contextasm.retrieval.memory_index.kinds import EntryKind
from contextasm.retrieval.memory_index.postings import label_term, read_postings
from contextasm.retrieval.memory_index.schema import load_blob
from contextasm.retrieval.memory_index.states import stored_exclusion
from contextasm.retrieval.pools.memory_pool import means_entry
from contextasm.text.memories.fields import id_root
from contextasm.text.names.archived_paths import known_paths

_LIVING = "SELECT row FROM current_rows WHERE row >= ? AND row < ?"


def chosen_rows(connection: sqlite3.Connection, choice: EntryChoice) -> set[int]:
    """Rows of the active entries that a choice may mean; a row that was emptied since may be among them."""
    rows: set[int] = set()
    for label in choice.labels:
        rows.update(read_postings(connection, label_term(*label))[0])
    for file in _chosen_files(connection, choice):
        for first, end in _spans(connection, file):
            rows.update(range(first, end))
    paths = [path for (path,) in connection.execute("SELECT path FROM files")] if choice.ids else []
    for name in choice.ids.union(*(_archived_ids(choice, path) for path in paths)):
        if not _is_storable(name):
            continue
        query = "SELECT file, line FROM current_entries WHERE root = ? AND final = ? AND out = ''"
        for file, line in connection.execute(query, (id_root(name), name)).fetchall():
            for span in _spans(connection, file):
                rows.update(row for (row,) in connection.execute(f"{_LIVING} AND line = ?", (*span, line)))
    return rows


def chosen_inactive(connection: sqlite3.Connection, kind: EntryKind, choice: EntryChoice) -> Iterator[ChosenEntry]:
    """The excluded entries that a choice may mean, each with its reason. Raises `DamagedIndex`."""
    query = "SELECT held, out FROM current_entries WHERE out != ''"
    if choice.ids or choice.labels:
        stored = connection.execute(query).fetchall()
    else:
        files = _chosen_files(connection, choice)
        stored = [row for file in files for row in connection.execute(f"{query} AND file = ?", (file,))]
    for held, reason in stored:
        entry = kind.restore(load_blob(held))
        if means_entry(choice, entry.id, entry.path, kind.labels(entry)):
            yield ChosenEntry(entry, None, stored_exclusion(reason))


def _chosen_files(connection: sqlite3.Connection, choice: EntryChoice) -> list[int]:
    """Numbers of the files of which all entries are chosen."""
    return [file for file, path in connection.execute("SELECT id, path FROM files") if choice.has_path(path)]


def _spans(connection: sqlite3.Connection, file: int) -> list[tuple[int, int]]:
    """First row of each unit of a file, and the row behind its last one."""
    query = "SELECT first, first + rows FROM units WHERE file = ?"
    return connection.execute(query, (file,)).fetchall()


def _is_storable(name: str) -> bool:
    """Whether an id can be in the index: half of a surrogate pair can't."""
    return name.encode(errors="replace").decode() == name


def _archived_ids(choice: EntryChoice, path: str) -> Iterator[str]:
    """Ids that begin with the path of an archived file, where the choice names them by an earlier path of it."""
    for earlier in known_paths(path)[1:]:
        yield from (path + name[len(earlier) :] for name in choice.ids if name.startswith(earlier))
