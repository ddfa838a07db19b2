"""Update of an index: files that are gone are removed from it, and new and changed ones are written, so many at a time.

Opens no file that did not change. Decides what has to be written, and in which order; `writer` writes it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence

from contextasm.retrieval.memory_index.columns import ColumnBlocks
from contextasm.retrieval.memory_index.kinds import EntryKind
from contextasm.retrieval.memory_index.layers import has_base, mark_base
from contextasm.retrieval.memory_index.schema import create_tables
from contextasm.retrieval.memory_index.writer import CurrentFiles, FileWriter, StoredFile, stored_files

_HOLES = 1000
"""Rows of removed units stay empty; with more of them than rows in use, and than this, the index is made again."""

_BATCH = 1 << 15
"""Entries after which the index is whole for the files so far, and can be stored."""

_LEAST_CHANGES = 2000
"""Rows that the small file of an index may hold at least."""

_SHARE_OF_CHANGES = 16
"""One row in so many may lie in the small file: with more of them, the changes go to the large one."""


def update_index(
    connection: sqlite3.Connection,
    kind: EntryKind,
    files: CurrentFiles,
    store: Callable[[], None],
    *,
    new: bool,
) -> None:
    """Make the index hold exactly the files of `files`, in their order; `new` makes its tables first.

    Of an index in two layers, the small file is written (`layers`).

    `store` is called outside of a transaction, when the index is whole for some of the files and others are left: after
    the first batch and whenever twice as many are done, so that all that is stored is no more than twice the index.
    """
    if new:
        create_tables(connection)
    is_whole = not has_base(connection)
    if is_whole:
        mark_base(connection)
    stored = stored_files(connection)
    changed, restamped = _changed_files(stored, files)
    files.steps.begin(len(changed))
    connection.execute("BEGIN")
    query = "UPDATE files SET stamp = ? WHERE path = ?"
    connection.executemany(query, [(files.stamps[path], path) for path in restamped])
    removed = stored.keys() - files.stamps.keys()
    done = 0
    for number, batch in enumerate(_batches(changed, files), 1):
        if done:
            connection.execute("BEGIN")
        done += len(batch)
        FileWriter(connection, kind, files, removed).write(batch)
        connection.execute("COMMIT")
        if done < len(changed) and number.bit_count() == 1:
            store()
        removed = set()
    files.steps.begin(0)
    if is_whole and not new and _is_mostly_holes(connection):
        update_index(connection, kind, files, store, new=True)


def is_small_change(connection: sqlite3.Connection, files: CurrentFiles) -> bool:
    """Whether the small file of an index can hold its changes, and those that `files` bring."""
    stored = stored_files(connection)
    size = int(connection.execute("SELECT total(rows) FROM units").fetchone()[0])
    left = max(_LEAST_CHANGES, size // _SHARE_OF_CHANGES)
    if has_base(connection):
        left -= connection.execute("SELECT count(*) FROM main.rows").fetchone()[0]
    for path in _changed_files(stored, files)[0]:
        left -= len(files.read(path).entries)
        if left < 0:
            return False
    return True


def _changed_files(stored: Mapping[str, StoredFile], files: CurrentFiles) -> tuple[list[str], list[str]]:
    """Paths of files whose content is another than in the index, and of those that have another stamp alone."""
    doubtful = [
        path for path, stamp in files.stamps.items() if path not in stored or not stamp or stored[path].stamp != stamp
    ]
    restamped = [path for path in doubtful if path in stored and not files.has_changed(path, stored[path].digest)]
    same = {*restamped}
    return [path for path in doubtful if path not in same], restamped


def _batches(paths: Sequence[str], files: CurrentFiles) -> Iterator[Sequence[str]]:
    """The paths, so many at once that their files hold about `_BATCH` entries; at least one batch."""
    batch: list[str] = []
    entries = 0
    for path in paths:
        batch.append(path)
        entries += len(files.read(path).entries)
        files.steps.step()
        if entries >= _BATCH:
            yield batch
            batch, entries = [], 0
    if batch or not paths:
        yield batch


def _is_mostly_holes(connection: sqlite3.Connection) -> bool:
    in_use = connection.execute("SELECT total(rows) FROM units").fetchone()[0]
    return bool(ColumnBlocks(connection).end - in_use > max(_HOLES, in_use))
