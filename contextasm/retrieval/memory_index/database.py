"""One kept pool's file: opened, compared with the workspace's files, brought up to date, asked.

Two processes may do so at once: one writes, and whoever waits too long does without. Knows no postings.
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
from contextasm.text.memory_parser import parse_memories

_DAMAGE = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT))

_PATIENCE = 1.0
"""Seconds to wait for another process that writes: reading the files instead takes little more."""

_YOUNG = 2
"""Seconds: a file that changed so short a time ago may change again without its times telling."""


class UnusableIndex(Exception):  # noqa: N818 - it is no error of anybody's
    """A pool that can't be had: `damaged`, or just not now."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        # A path that is no Unicode can't be stored, and that is not the file's fault.
        self.damaged = code & 0xFF in _DAMAGE and not isinstance(error, UnicodeEncodeError)


class _Changes(NamedTuple):
    """What differs between the file and the workspace."""

    renew: Sequence[str]
    """Paths whose content is as stored, but not their stamp."""
    any: bool
    """Whether any content differs."""


def query_database(
    path: Path, workspace: StampedWorkspace, now: float, paths: Sequence[str], use: Callable[[MemoryPool], T]
) -> tuple[T, int]:
    """What `use` makes of a pool, and how many memories it holds; `now` in seconds since 1970. Raises `UnusableIndex`."""
    stamps = _stamps(workspace, now, paths)
    pages: dict[str, IndexedFile] = {}

    def page(name: str) -> IndexedFile:
        if name not in pages:
            pages[name] = _page(workspace, name)
        return pages[name]

    try:
        with closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as store:
            _bring_up_to_date(store, stamps, page)
            store.execute("BEGIN")  # so that every look sees the same state
            pool = IndexedPool(store, paths)
            return use(pool), pool.size
    except (sqlite3.Error, ValueError, LookupError) as error:  # the last two are what damaged figures lead to
        raise UnusableIndex(error) from error


def remove(path: Path) -> None:
    """Forget a pool."""
    for name in (path, path.with_name(f"{path.name}-journal")):
        with suppress(OSError):
            name.unlink(missing_ok=True)


def _stamps(workspace: StampedWorkspace, now: float, paths: Sequence[str]) -> dict[str, str]:
    """What a file looks like from outside; empty where that says nothing for certain."""
    stamps = {}
    for path in paths:
        stamp = workspace.stamp(path)
        old = stamp is not None and max(stamp.modified, stamp.changed) < (now - _YOUNG) * 10**9
        stamps[path] = " ".join(map(str, stamp)) if stamp and old else ""
    return stamps


def _page(workspace: StampedWorkspace, path: str) -> IndexedFile:
    """A file's memories."""
    read = workspace.read(path)
    if isinstance(read, Document):
        return IndexedFile(read.digest, *parse_memories(read))
    return IndexedFile(str(read), (), (read,) if read else ())


def _bring_up_to_date(store: sqlite3.Connection, stamps: Mapping[str, str], page: Callable[[str], IndexedFile]) -> None:
    """Make the file hold what the workspace's files hold; those that did not change are not opened."""
    if _version(store) == VERSION:
        changes = _changes(store, stamps, page)
        if not changes.any:
            _renew(store, {path: stamps[path] for path in changes.renew if stamps[path]})
            return
    store.execute("BEGIN IMMEDIATE")
    try:
        update_index(store, stamps, page, new=_version(store) != VERSION)
        store.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            store.execute("ROLLBACK")
        raise


def _version(store: sqlite3.Connection) -> int:
    number: int = store.execute("PRAGMA user_version").fetchone()[0]
    return number


def _changes(store: sqlite3.Connection, stamps: Mapping[str, str], page: Callable[[str], IndexedFile]) -> _Changes:
    """What differs; a file is opened where its stamp does."""
    known = {path: (stamp, digest) for path, stamp, digest in store.execute("SELECT path, stamp, digest FROM files")}
    if known.keys() - stamps.keys() or stamps.keys() - known.keys():
        return _Changes((), any=True)
    doubtful = [path for path, stamp in stamps.items() if not stamp or known[path][0] != stamp]
    return _Changes(doubtful, any=any(page(path).digest != known[path][1] for path in doubtful))


def _renew(store: sqlite3.Connection, stamps: Mapping[str, str]) -> None:
    """Note new stamps of files whose content stayed; where that can't be done, the next build looks again."""
    if stamps:
        with suppress(sqlite3.OperationalError):
            store.execute("BEGIN IMMEDIATE")
            store.executemany(
                "UPDATE files SET stamp = ? WHERE path = ?", [(new, path) for path, new in stamps.items()]
            )
            store.execute("COMMIT")
        if store.in_transaction:
            store.execute("ROLLBACK")
