"""Tables of an index, and the encoding of numbers and entries in them. Every blob carries a check sum.

An index of another version is never read: the version changes with each release, and with each change of a table, of
the analyzer, of the fields of an entry or of the kinds of its labels.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias
from zlib import crc32

from contextasm import __version__
from contextasm.model import LABEL_KINDS, Location, Memory
from contextasm.text.markdown.logs import LogLine

_FORM = 15
"""Number of the format; goes up when a table or a stored value changes, or when the same text gives other terms."""

_FIELDS = (Memory._fields, LogLine._fields, Location._fields, LABEL_KINDS)
"""Fields of the entries, which are stored by their places, and kinds of labels, which are stored as terms."""


def index_version(fields: Sequence[Sequence[str]]) -> int:
    """The version of an index whose entries have these fields and labels; of 31 bits, as SQLite keeps it."""
    names = " / ".join(map(" ".join, fields))
    return crc32(f"{_FORM} {__version__} {sys.byteorder} {names}".encode()) & 0x7FFFFFFF


VERSION = index_version(_FIELDS)
"""Version of an index. It includes the byte order, because numbers are stored as this machine has them in memory."""

SCHEMA = (
    # A file as it was when it was indexed. `size` counts all its entries; `problems`, `duplicates` (problems, too) and
    # `excluded` (reasons with counts) are sealed JSON, empty for none.
    """CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT UNIQUE, stamp TEXT, digest TEXT, size INTEGER,
    problems BLOB, duplicates BLOB, excluded BLOB)""",
    # Active entries of a file that stand together have the rows from `first` on; `digest` is that of the entries.
    "CREATE TABLE units (first INTEGER PRIMARY KEY, file INTEGER, rows INTEGER, digest BLOB)",
    "CREATE INDEX units_of_files ON units (file)",
    # Every entry by its place in its file: the id that it has there, and its root; `final` is its id in the pool. `out`
    # is the reason that excludes it, empty for an active one; an excluded one has its values in `held`, and no row.
    """CREATE TABLE entries (file INTEGER, place INTEGER, id TEXT, root TEXT, line INTEGER, status TEXT,
    supersedes BLOB, final TEXT, out BLOB, held BLOB, PRIMARY KEY (file, place)) WITHOUT ROWID""",
    "CREATE INDEX inactive ON entries (file, place) WHERE out != ''",
    "CREATE INDEX roots ON entries (root)",
    # Which active entry supersedes an id.
    """CREATE TABLE successions (old TEXT, file INTEGER, place INTEGER, PRIMARY KEY (old, file, place))
    WITHOUT ROWID""",
    # The values of each active entry; the other columns are what the newest and the ones of a line are found by.
    "CREATE TABLE rows (row INTEGER PRIMARY KEY, created TEXT, path TEXT, line INTEGER, held BLOB)",
    "CREATE INDEX newest ON rows (created DESC, path, line DESC)",
    # Words and labels; `holders` counts their rows, `blocks` those in `postings` since they were last joined.
    "CREATE TABLE terms (id INTEGER PRIMARY KEY, term TEXT UNIQUE, holders INTEGER, blocks INTEGER)",
    # Blocks of rows that hold a term; `place` is the term's id, shifted by 32 bits, and the block's first row.
    "CREATE TABLE postings (place INTEGER PRIMARY KEY, held BLOB)",
    # Numbers of so many rows, one column (`COLUMN_TYPES`) each.
    "CREATE TABLE columns (block INTEGER, name TEXT, held BLOB, PRIMARY KEY (block, name))",
    # Texts that columns hold the places of: names and dates; and the index's mark.
    "CREATE TABLE lists (name TEXT PRIMARY KEY, held BLOB)",
    # Files of which the small layer has the entries.
    "CREATE TABLE rewritten (file INTEGER PRIMARY KEY)",
)

TABLES = ("files", "units", "entries", "successions", "rows", "terms", "postings", "columns", "lists", "rewritten")

COLUMN_TYPES = {
    "lengths": "I",
    "sections": "I",
    "days": "I",
    "authors": "I",
    "flags": "B",
    "kernels": "B",
    "importance": "d",
    "last": "I",
    "created": "I",
    "marks": "B",
}
"""Type codes of the columns with a number for each row. `last` and `created` are places in the list of dates."""

Numbers: TypeAlias = "array[Any]"
"""An array of one of the kinds above."""


_MOST_PARAMETERS = 500
"""Values of one query at most; every SQLite takes 999."""


class DamagedIndex(sqlite3.DatabaseError):
    """A blob whose check sum is wrong, or a row that is missing."""


MEANINGLESS = (ValueError, LookupError, TypeError, AttributeError, OverflowError)
"""Errors of numbers and texts that were read from a damaged index and mean nothing."""

UNUSABLE = (sqlite3.Error, OSError, *MEANINGLESS)
"""Errors of an index that is damaged or can't be made."""


def create_tables(connection: sqlite3.Connection) -> None:
    """Drop all tables, and make empty ones."""
    connection.execute("BEGIN")
    for table in TABLES:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def seal(data: bytes) -> bytes:
    """Bytes behind their check sum.

    Where many are stored at once, as a `bytearray`: for `bytes`, as for None, `sqlite3` looks for an adapter each time.
    """
    return crc32(data).to_bytes(4, "big") + data


def unseal(blob: object) -> bytes:
    """Bytes of a blob without its check sum. Raises `DamagedIndex` where the check sum is wrong."""
    if not isinstance(blob, bytes) or crc32(blob[4:]) != int.from_bytes(blob[:4], "big"):
        raise DamagedIndex("a blob is not what was written")
    return blob[4:]


_JSON = json.JSONEncoder(check_circular=False)
"""No entry holds itself."""


def as_blob(values: Sequence[Any]) -> bytes:
    """The values of an entry, or a list of texts, as a sealed blob."""
    return seal(_JSON.encode(values).encode())


def blob_of_any(values: Sequence[Any] | None) -> bytes | str:
    """As `as_blob`; an empty text for none, so that a query can tell."""
    return as_blob(values) if values else ""


def load_blob(blob: object) -> Any:
    """The values in a sealed blob, tuples as lists. Raises `DamagedIndex`."""
    return json.loads(unseal(blob))


def load_list(connection: sqlite3.Connection, name: str, layer: str = "main") -> Any:
    """The list of texts that a layer stores under a name: its first text is empty, and stands for none."""
    row = connection.execute(f"SELECT held FROM {layer}.lists WHERE name = ?", (name,)).fetchone()
    return load_blob(row[0]) if row else [""]


def save_list(connection: sqlite3.Connection, name: str, texts: list[str]) -> None:
    """Store a list of texts under a name."""
    connection.execute("REPLACE INTO lists VALUES (?, ?)", (name, as_blob(texts)))


def select_among(connection: sqlite3.Connection, query: str, values: Sequence[str | int]) -> Iterator[tuple[Any, ...]]:
    """The rows of a query with `IN ({})`, for all of these values: so many at a time."""
    for first in range(0, len(values), _MOST_PARAMETERS):
        some = values[first : first + _MOST_PARAMETERS]
        yield from connection.execute(query.format(",".join("?" * len(some))), some)
