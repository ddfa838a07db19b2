"""The database of a workspace's index: a file in the person's cache folder, its tables and its transactions.

SQLite keeps it whole if builds run at once or are killed. A file that is damaged or of another version is removed, and
the next build makes a new one. If it is locked or can't be written, the caller does without it.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeAlias
from zlib import crc32

from contextasm import __version__
from contextasm.model import Location, Memory, T
from contextasm.text.markdown.logs import LogLine

_FORM = 20
"""Number of the format; goes up when a table or a stored value changes, or when the same text gives other terms."""

_MOST_DATABASES = 20
"""Workspaces whose databases are kept."""

_UNUSED_SECONDS = 60 * 86400
"""Seconds after which a database that no build has used is removed."""

_DAY = 86400

_PATIENCE = 0.3
"""Seconds to wait for another process that writes; reading the files takes about as long."""

_busy: set[Path] = set()
"""Databases that were waited for in vain: they are not waited for again until one can be used."""

_MOST_PARAMETERS = 500
"""Values of one query at most; every SQLite takes 999."""


def index_version(fields: Sequence[Sequence[str]]) -> int:
    """The version of a database whose entries have these fields; of 31 bits, as SQLite keeps it."""
    names = " / ".join(map(" ".join, fields))
    return crc32(f"{_FORM} {__version__} {sys.byteorder} {names}".encode()) & 0x7FFFFFFF


VERSION = index_version((Memory._fields, LogLine._fields, Location._fields))
"""Version of a database. It includes the byte order, because numbers are stored as this machine has them in memory."""

SCHEMA = (
    "CREATE TABLE pools (id INTEGER PRIMARY KEY, name TEXT UNIQUE)",
    # A file as it was when it was indexed; `size` counts its entries; active ones have the rows from `first` on. The
    # others are JSON: the ids of its entries; place, status and superseded ids of each entry that has these; place,
    # final id and reason of each entry that has another id in the pool or is excluded; problems.
    """CREATE TABLE files (pool INTEGER, path TEXT, stamp TEXT, digest TEXT, size INTEGER, first INTEGER, rows INTEGER,
    ids TEXT, states TEXT, decided TEXT, problems TEXT, UNIQUE (pool, path))""",
    "CREATE INDEX rows_of_files ON files (pool, first)",
    # The values of each active entry; the other columns are what the newest and the ones of a line are found by.
    """CREATE TABLE rows (pool INTEGER, row INTEGER, created TEXT, path TEXT, line INTEGER, held TEXT,
    PRIMARY KEY (pool, row)) WITHOUT ROWID""",
    "CREATE INDEX newest ON rows (pool, created DESC, path, line DESC)",
    "CREATE TABLE terms (id INTEGER PRIMARY KEY, pool INTEGER, term TEXT, UNIQUE (pool, term))",
    # Rows that hold a term, each with its number; `place` is the term's id, shifted by 32 bits, and the first row.
    "CREATE TABLE postings (place INTEGER PRIMARY KEY, held BLOB)",
    # The numbers of all rows, one column (`numbers.COLUMN_TYPES`) each.
    "CREATE TABLE columns (pool INTEGER, name TEXT, held BLOB, UNIQUE (pool, name))",
    # Texts that columns (`numbers.TEXTS`) hold the places of.
    "CREATE TABLE lists (pool INTEGER, name TEXT, held TEXT, UNIQUE (pool, name))",
    # What `files.FileFacts` knows of the files in a folder.
    "CREATE TABLE facts (kind TEXT, folder TEXT, path TEXT, stamp TEXT, held TEXT, UNIQUE (kind, folder, path))",
)

POOL_TABLES = ("files", "rows", "terms", "columns", "lists")
"""Tables with a column `pool`."""

Numbers: TypeAlias = "array[Any]"
"""An array of numbers of one kind."""

_MEANINGLESS = (ValueError, LookupError, TypeError, AttributeError, OverflowError)
"""Errors of numbers and texts that were read from a damaged database and mean nothing."""


class DamagedIndex(sqlite3.DatabaseError):
    """A database that lacks something, or is of another version."""


class IndexConnection(sqlite3.Connection):
    """An open database."""

    path: Path
    inode: int
    """Inode of the file that was opened."""

    def begin_writing(self) -> None:
        """Begin a transaction that no other process writes in. Raises `sqlite3.OperationalError`, `OSError`."""
        self.execute("BEGIN IMMEDIATE")
        # The journal of a file that was removed would be taken for that of the next one.
        if os.stat(self.path).st_ino != self.inode:
            raise sqlite3.OperationalError("the file was removed")


def use_database(path: Path, now: float, use: Callable[[IndexConnection], T], *, new: bool) -> T | None:
    """Result of `use` on the database at `path`; None if it can't be used.

    `new` makes it if it is missing. `now` is in seconds since 1970.
    """
    try:
        if new:
            _make_file(path, now)
        with closing(_connect(path)) as connection:
            _make_tables(connection)
            if os.stat(path).st_mtime < now - _DAY:  # files that are not used are removed
                os.utime(path, (now, now))
            answer = use(connection)
            _busy.discard(path)
            return answer
    except (sqlite3.OperationalError, OSError):  # it is locked, can't be written, or is not there
        _busy.add(path)
        return None
    except (sqlite3.DatabaseError, *_MEANINGLESS):  # an error of `use` itself comes again when files are read
        remove_database(path)
        return None


def remove_database(path: Path) -> None:
    """Remove a database, if it can be removed."""
    with suppress(sqlite3.Error, OSError), closing(_connect(path)) as connection:
        with suppress(sqlite3.DatabaseError):
            connection.execute("BEGIN EXCLUSIVE")  # no other process is within a transaction then
        path.unlink(missing_ok=True)
        path.with_name(f"{path.name}-journal").unlink(missing_ok=True)


def _make_file(path: Path, now: float) -> None:
    """Make an empty file for its owner only, if it does not exist, and remove databases that are not used."""
    if path.exists():
        return
    path.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    times = {other: other.stat().st_mtime for other in path.parent.glob("*.sqlite")}
    for place, other in enumerate(sorted(times, key=lambda other: -times[other]), 1):
        if place >= _MOST_DATABASES or times[other] < now - _UNUSED_SECONDS:
            remove_database(other)
    path.touch(mode=0o600)


def _connect(path: Path) -> IndexConnection:
    inode = os.stat(path).st_ino
    address = f"{path.absolute().as_uri()}?mode=rw"
    patience = 0 if path in _busy else _PATIENCE
    connection = sqlite3.connect(address, timeout=patience, uri=True, isolation_level=None, factory=IndexConnection)
    connection.path, connection.inode = path, inode
    return connection


def _make_tables(connection: IndexConnection) -> None:
    """Make the tables of a new database. Raises `DamagedIndex` for a database of another version."""
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA cache_size = -32000")
    if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:
        return
    connection.begin_writing()
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        connection.execute("ROLLBACK")
        raise DamagedIndex("the database is of another version")
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def select_among(connection: sqlite3.Connection, query: str, values: Sequence[Any], *first: Any) -> Iterator[Any]:
    """The rows of a query with `IN ({})`, for all of these values: so many at a time. `first` are parameters before."""
    for at in range(0, len(values), _MOST_PARAMETERS):
        some = values[at : at + _MOST_PARAMETERS]
        yield from connection.execute(query.format(",".join("?" * len(some))), (*first, *some))


to_json = json.JSONEncoder(check_circular=False).encode
"""Gives the values of an entry, or a list, as JSON in ASCII; no entry holds itself."""


def from_json(text: str) -> Any:
    """The values of a JSON text that `to_json` gave, tuples as lists."""
    return json.loads(text)
