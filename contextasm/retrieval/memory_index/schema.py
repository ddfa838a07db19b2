"""Tables of an index, and the encoding of numbers and entries in them. Every blob carries a check sum.

An index of another version is never read: the version changes with each release, and with each change of a table, of
the analyzer or of the fields of an entry.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from array import array
from collections.abc import Sequence
from typing import Any, TypeAlias
from zlib import crc32

from contextasm import __version__
from contextasm.model import Location, Memory
from contextasm.text.log_parser import LogLine

_FORM = 9
"""Number of the format; goes up when a table or a stored value changes, or when the same text gives other terms."""

_FIELDS = (Memory._fields, LogLine._fields, Location._fields)
"""Fields of the entries, which are stored by their places."""


def index_version(fields: Sequence[Sequence[str]]) -> int:
    """The version of an index whose entries have these fields; of 31 bits, as SQLite keeps it."""
    names = " / ".join(map(" ".join, fields))
    return crc32(f"{_FORM} {__version__} {sys.byteorder} {names}".encode()) & 0x7FFFFFFF


VERSION = index_version(_FIELDS)
"""Version of an index. It includes the byte order, because numbers are stored as this machine has them in memory."""

SCHEMA = (
    """CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT UNIQUE, stamp TEXT, digest TEXT, first INTEGER,
    rows INTEGER, terms BLOB, problems TEXT)""",
    """CREATE TABLE entries (file INTEGER, place INTEGER, id TEXT, given INTEGER, line INTEGER, status TEXT,
    supersedes TEXT, final TEXT, out TEXT, PRIMARY KEY (file, place)) WITHOUT ROWID""",
    "CREATE TABLE rows (row INTEGER PRIMARY KEY, created TEXT, path TEXT, line INTEGER, held BLOB)",
    "CREATE INDEX newest ON rows (created DESC, path, line DESC)",
    "CREATE TABLE terms (id INTEGER PRIMARY KEY, term TEXT UNIQUE)",
    "CREATE TABLE postings (id INTEGER PRIMARY KEY, held BLOB)",
    "CREATE TABLE columns (name TEXT PRIMARY KEY, held BLOB)",
)

TABLES = ("files", "entries", "rows", "terms", "postings", "columns")

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


class DamagedIndex(sqlite3.DatabaseError):
    """A blob whose check sum is wrong, or a row that is missing."""


def create_tables(connection: sqlite3.Connection) -> None:
    """Drop all tables, and make empty ones."""
    for table in TABLES:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def seal(data: bytes) -> bytes:
    """Bytes behind their check sum."""
    return crc32(data).to_bytes(4, "big") + data


def unseal(blob: object) -> bytes:
    """Bytes of a blob without its check sum. Raises `DamagedIndex` where the check sum is wrong."""
    if not isinstance(blob, bytes) or crc32(blob[4:]) != int.from_bytes(blob[:4], "big"):
        raise DamagedIndex("a blob is not what was written")
    return blob[4:]


def as_blob(entry: tuple[Any, ...]) -> bytes:
    """An entry as a sealed blob."""
    return seal(json.dumps(entry).encode())


def load_blob(blob: object) -> Any:
    """The values of the entry in a sealed blob, tuples as lists. Raises `DamagedIndex`."""
    return json.loads(unseal(blob))


def halves(blob: object) -> tuple[Numbers, Numbers]:
    """Rows and counts of stored postings: the first and the second half of a blob; both empty for None."""
    numbers = array("I", unseal(blob)) if blob is not None else array("I")
    middle = len(numbers) // 2
    return numbers[:middle], numbers[middle:]


def load_columns(connection: sqlite3.Connection) -> dict[str, Numbers]:
    """Every column by its name; a column that is not stored is empty."""
    stored = dict(connection.execute("SELECT name, held FROM columns"))
    return {name: array(kind, unseal(stored[name]) if name in stored else b"") for name, kind in COLUMN_TYPES.items()}


def load_value(connection: sqlite3.Connection, name: str, default: object) -> object:
    """Value that is stored as JSON under a name; `default` where there is none."""
    row = connection.execute("SELECT held FROM columns WHERE name = ?", (name,)).fetchone()
    return json.loads(unseal(row[0])) if row else default


def save_value(connection: sqlite3.Connection, name: str, value: object) -> None:
    """Store a column as bytes, or any other value as JSON."""
    data = value.tobytes() if isinstance(value, array) else json.dumps(value).encode()
    connection.execute("REPLACE INTO columns VALUES (?, ?)", (name, seal(data)))
