"""One index file: opened, compared with the workspace's files, brought up to date, queried.

Two processes may do so at the same time: one writes, and the other gives up after `_PATIENCE` seconds. Knows no
postings.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from contextasm.model import Document, MemoryPool, StampedWorkspace, T
from contextasm.retrieval.memory_index.reader import IndexedPool
from contextasm.retrieval.memory_index.schema import VERSION
from contextasm.retrieval.memory_index.updater import IndexedFile, update_index
from contextasm.text.cleaning import hidden_problems
from contextasm.text.memory_parser import parse_memories

_DAMAGE = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT))

_PATIENCE = 1.0
"""Seconds to wait for another process that writes: reading the files instead takes little more."""

_YOUNG = 2
"""Seconds in which a changed file may change again without new times."""


class UnusableIndex(Exception):  # noqa: N818 - no error that anybody has to mend
    """An index that can't be read: `damaged`, or in use by another process."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        # A path that is not Unicode can't be stored; the index file is not damaged by that.
        self.damaged = code & 0xFF in _DAMAGE and not isinstance(error, UnicodeEncodeError)


class _Changes(NamedTuple):
    """Differences between the index and the workspace's files."""

    restamp: Sequence[str]
    """Paths whose content may be as stored, but not their stamp."""
    any: bool
    """Whether any content differs."""


def query_database(
    path: Path, workspace: StampedWorkspace, now: float, paths: Sequence[str], use: Callable[[MemoryPool], T]
) -> tuple[T, int]:
    """Result of `use` on the indexed pool, brought up to date, and the pool's size.

    `now` in seconds since 1970. Raises `UnusableIndex`.
    """
    stamps = _stamps(workspace, now, paths)
    files: dict[str, IndexedFile] = {}

    def read_once(name: str) -> IndexedFile:
        if name not in files:
            files[name] = _read_file(workspace, name)
        return files[name]

    try:
        with closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as connection:
            _bring_up_to_date(connection, stamps, read_once)
            connection.execute("BEGIN")  # so that every query sees the same state
            pool = IndexedPool(connection, paths)
            return use(pool), pool.size
    except (sqlite3.Error, ValueError, LookupError) as error:  # damaged numbers lead to the last two
        raise UnusableIndex(error) from error


def remove(path: Path) -> None:
    """Delete an index file and its journal."""
    for name in (path, path.with_name(f"{path.name}-journal")):
        with suppress(OSError):
            name.unlink(missing_ok=True)


def _stamps(workspace: StampedWorkspace, now: float, paths: Sequence[str]) -> dict[str, str]:
    # Empty where an equal stamp would not prove a file unchanged.
    stamps = {}
    for path in paths:
        stamp = workspace.stamp(path)
        is_settled = stamp is not None and max(stamp.modified, stamp.changed) < (now - _YOUNG) * 10**9
        stamps[path] = " ".join(map(str, stamp)) if stamp and is_settled else ""
    return stamps


def _read_file(workspace: StampedWorkspace, path: str) -> IndexedFile:
    read = workspace.read(path)
    if isinstance(read, Document):
        memories, problems = parse_memories(read)
        return IndexedFile(read.digest, memories, (*problems, *hidden_problems(read)))
    return IndexedFile(str(read), (), (read,) if read else ())


def _bring_up_to_date(
    connection: sqlite3.Connection, stamps: Mapping[str, str], read: Callable[[str], IndexedFile]
) -> None:
    if _version(connection) == VERSION:
        changes = _changes(connection, stamps, read)
        if not changes.any:
            _store_stamps(connection, {path: stamps[path] for path in changes.restamp if stamps[path]})
            return
    connection.execute("BEGIN IMMEDIATE")
    try:
        update_index(connection, stamps, read, new=_version(connection) != VERSION)
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return number


def _changes(connection: sqlite3.Connection, stamps: Mapping[str, str], read: Callable[[str], IndexedFile]) -> _Changes:
    stored = {
        path: (stamp, digest) for path, stamp, digest in connection.execute("SELECT path, stamp, digest FROM files")
    }
    if stored.keys() - stamps.keys() or stamps.keys() - stored.keys():
        return _Changes((), any=True)
    # Only a file whose stamp differs is opened.
    doubtful = [path for path, stamp in stamps.items() if not stamp or stored[path][0] != stamp]
    return _Changes(doubtful, any=any(read(path).digest != stored[path][1] for path in doubtful))


def _store_stamps(connection: sqlite3.Connection, stamps: Mapping[str, str]) -> None:
    # Where another process prevents it, the next build opens the files again.
    if stamps:
        with suppress(sqlite3.OperationalError):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "UPDATE files SET stamp = ? WHERE path = ?", [(stamp, path) for path, stamp in stamps.items()]
            )
            connection.execute("COMMIT")
        if connection.in_transaction:
            connection.execute("ROLLBACK")
