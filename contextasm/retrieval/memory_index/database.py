"""One index file: opened, compared with the workspace's files, made anew where they differ, queried.

An index may have come with the workspace and say anything. It is opened without locks and journal, for reading alone.
It is believed only if it knows a file by its inode and change time, which no other machine and no copy has. A new state
is written to a temporary file that replaces the index, or the small file with its changes (`layers`), so that builds at
the same time do not meet. Knows no postings.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from contextasm.model import Document, EntryPool, Problem, StampedWorkspace, T
from contextasm.retrieval.memory_index.errors_of_use import call_use, raise_errors_of_use
from contextasm.retrieval.memory_index.kinds import EntryKind
from contextasm.retrieval.memory_index.layers import (
    add_views,
    begin_changes,
    has_schema,
    is_of_base,
    mark_base,
    read_only,
)
from contextasm.retrieval.memory_index.reader import IndexedPool
from contextasm.retrieval.memory_index.replacement import remove_abandoned, replacement
from contextasm.retrieval.memory_index.schema import UNUSABLE, DamagedIndex, create_tables
from contextasm.retrieval.memory_index.steps import IndexingSteps
from contextasm.retrieval.memory_index.updater import is_small_change, update_index
from contextasm.text.cleaning.clean import hidden_problems

_YOUNG = 2
"""Seconds in which a changed file may change again without new times."""


class UnusableIndex(Exception):  # noqa: N818 - no error that anybody has to mend
    """An index that can neither be read nor made."""


class IndexInputs(NamedTuple):
    """The files that an index is made of."""

    workspace: StampedWorkspace
    now: float
    """Seconds since 1970."""
    kind: EntryKind
    paths: Sequence[str]
    steps: IndexingSteps
    """Those of the files that are indexed."""


class _CurrentFile:
    """A file as it is now; its entries are parsed when they are asked for (`writer.IndexedFile`)."""

    def __init__(self, inputs: IndexInputs, path: str) -> None:
        self._kind = inputs.kind
        self._read = inputs.workspace.read(path)
        self.digest = self._read.digest if isinstance(self._read, Document) else str(self._read)
        self.problems: Sequence[Problem] = (self._read,) if isinstance(self._read, Problem) else ()

    @cached_property
    def entries(self) -> Sequence[Any]:
        """Its entries, in order; its problems are complete after that."""
        if not isinstance(self._read, Document):
            return ()
        entries, problems = self._kind.parse(self._read)
        self.problems = (*problems, *hidden_problems(self._read))
        return entries


class _CurrentFiles:
    """Stamps and contents of the files as they are now (`writer.CurrentFiles`)."""

    def __init__(self, inputs: IndexInputs) -> None:
        self.stamps = settled_stamps(inputs.workspace, inputs.now, inputs.paths)
        self.steps = inputs.steps
        self._inputs = inputs
        self._files: dict[str, _CurrentFile] = {}
        self._digests: dict[str, str] = {}

    def read(self, path: str) -> _CurrentFile:
        """The content of a file; it is opened once at most until it is forgotten."""
        if path not in self._files:
            self._files[path] = _CurrentFile(self._inputs, path)
        return self._files[path]

    def has_changed(self, path: str, digest: str) -> bool:
        """Whether a file has another digest than this one; only then is its content held."""
        if path not in self._digests:
            self._digests[path] = self.read(path).digest
        if is_same := self._digests[path] == digest:
            self.forget(path)
        return not is_same

    def forget(self, path: str) -> None:
        """Hold the content of a file no longer."""
        self._files.pop(path, None)


@raise_errors_of_use()
def query_database(path: Path, inputs: IndexInputs, use: Callable[[EntryPool[Any]], T]) -> tuple[T, int]:
    """Result of `use` on the indexed pool, brought up to date, and the pool's size.

    `use` may be called twice, where it meets what is damaged. Raises `UnusableIndex`, and what `use` raises.
    """
    files = _CurrentFiles(inputs)
    is_known = is_small = False
    with suppress(*UNUSABLE), closing(_open_for_reading(path)) as connection:
        is_known = has_schema(connection, "main") and _is_known(connection, files.stamps)
        if is_known and not _is_outdated(connection, files):
            return _answer(connection, inputs, use)
        is_small = is_known and is_small_change(connection, files)
    if is_small:
        with suppress(*UNUSABLE):
            return _write_changes(path, files, inputs, use)
    if is_known:
        with suppress(*UNUSABLE):
            return _replace(path, files, inputs, use, start_from=path)
    return make_database(path, inputs, use, files)


def changes_path(path: Path) -> Path:
    """The file with the changes of an index since its file was written."""
    return path.with_suffix(".changes")


@raise_errors_of_use()
def make_database(
    path: Path, inputs: IndexInputs, use: Callable[[EntryPool[Any]], T], files: _CurrentFiles | None = None
) -> tuple[T, int]:
    """Result of `use` on a new index of all files, and its size; nothing of an old one is used.

    `files` are those that were opened before. Raises `UnusableIndex`, and what `use` raises.
    """
    try:
        return _replace(path, files or _CurrentFiles(inputs), inputs, use, start_from=None)
    except UNUSABLE as error:
        raise UnusableIndex(str(error)) from error


def _open_for_reading(path: Path) -> sqlite3.Connection:
    """The index with its changes, or the large file alone where these can't be used."""
    changes = changes_path(path)
    if is_regular_file(changes):
        with suppress(*UNUSABLE):
            return _open_changes(changes, path)
    connection = hardened(sqlite3.connect(read_only(path), uri=True, isolation_level=None))
    add_views(connection, None)
    return connection


def _open_changes(changes: Path, path: Path) -> sqlite3.Connection:
    connection = hardened(sqlite3.connect(read_only(changes), uri=True, isolation_level=None))
    with ExitStack() as on_error:
        on_error.callback(connection.close)
        add_views(connection, path)
        if not (has_schema(connection, "main") and has_schema(connection, "base") and is_of_base(connection)):
            raise DamagedIndex("the changes are those of another index")
        on_error.pop_all()
    return connection


def is_regular_file(path: Path) -> bool:
    """Whether there is a file that no link leads to: neither the file nor a folder on the way is one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode) and os.path.realpath(path) == str(path)
    except OSError:
        return False


def hardened(connection: sqlite3.Connection) -> sqlite3.Connection:
    """The connection, which trusts neither the schema nor the pages of a file that may come from anybody."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _answer(connection: sqlite3.Connection, inputs: IndexInputs, use: Callable[[EntryPool[Any]], T]) -> tuple[T, int]:
    pool = IndexedPool(connection, inputs.kind, inputs.paths)
    return call_use(use, pool), pool.size


def _replace(
    path: Path,
    files: _CurrentFiles,
    inputs: IndexInputs,
    use: Callable[[EntryPool[Any]], T],
    start_from: Path | None,
) -> tuple[T, int]:
    remove_abandoned(path, inputs.now)
    with replacement(path) as made:
        if start_from:
            shutil.copyfile(start_from, made.name)
        with closing(open_for_writing(made.name)) as connection:
            add_views(connection, None)
            update_index(connection, inputs.kind, files, partial(_store_copy, made.name, path), new=start_from is None)
            made.put_in_place(path)
            with suppress(OSError):
                changes_path(path).unlink()
            return _answer(connection, inputs, use)


def _write_changes(
    path: Path, files: _CurrentFiles, inputs: IndexInputs, use: Callable[[EntryPool[Any]], T]
) -> tuple[T, int]:
    """Result of `use` on the index with new changes, which a small file holds; the large one stays as it is."""
    remove_abandoned(path, inputs.now)
    changes = changes_path(path)
    with replacement(path) as made:
        if is_regular_file(changes):
            with suppress(*UNUSABLE), closing(_open_changes(changes, path)):
                shutil.copyfile(changes, made.name)
        with closing(open_for_writing(made.name)) as connection:
            if not os.path.getsize(made.name):
                create_tables(connection)
                add_views(connection, path)
                begin_changes(connection)
            else:
                add_views(connection, path)
            if not is_of_base(connection):
                raise DamagedIndex("another index has taken the place of this one")
            update_index(connection, inputs.kind, files, lambda: None, new=False)
            made.put_in_place(changes)
            return _answer(connection, inputs, use)


def open_for_writing(path: str) -> sqlite3.Connection:
    """A database that is thrown away as a whole if anything fails, and is on the disk when it is put in place."""
    connection = hardened(sqlite3.connect(Path(path).as_uri(), uri=True, isolation_level=None))
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -32000")
    return connection


def _store_copy(made: str, path: Path) -> None:
    """Store the index as far as it is made, so that the next run goes on from there."""
    with replacement(path) as copy:
        shutil.copyfile(made, copy.name)
        with closing(open_for_writing(copy.name)) as connection:
            mark_base(connection)  # changes of the copy are not those of the whole index
        copy.put_in_place(path)


def _is_known(connection: sqlite3.Connection, stamps: Mapping[str, str]) -> bool:
    """Whether the index was made by this program, on this machine, of at least one of these files as it is now."""
    stored = connection.execute("SELECT path, stamp FROM files")
    return any(stamp and stamps.get(path) == stamp for path, stamp in stored)


def _is_outdated(connection: sqlite3.Connection, files: _CurrentFiles) -> bool:
    """Whether the content of a file differs from the index, or a stamp that can be stored."""
    query = "SELECT path, stamp, digest FROM files"
    stored = {path: (stamp, digest) for path, stamp, digest in connection.execute(query)}
    if stored.keys() != files.stamps.keys():
        return True
    # Only a file whose stamp differs is opened.
    doubtful = [path for path, stamp in files.stamps.items() if not stamp or stored[path][0] != stamp]
    return any(files.stamps[path] or files.has_changed(path, stored[path][1]) for path in doubtful)


def settled_stamps(workspace: StampedWorkspace, now: float, paths: Sequence[str]) -> dict[str, str]:
    """Stamp of each file; empty where an equal stamp would not prove it unchanged. `now` is in seconds since 1970."""
    stamps = {}
    newest = (now - _YOUNG) * 10**9
    for path in paths:
        stamp = workspace.stamp(path)
        is_settled = stamp is not None and stamp.modified < newest and stamp.changed < newest
        stamps[path] = " ".join(map(str, stamp)) if stamp and is_settled else ""
    return stamps
