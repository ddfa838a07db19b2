"""The tables of a kept pool, and how numbers and memories stand in them. Every blob carries a check sum.

A file of another version is never read: the version goes up with every change of a table or of how texts are cut.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from array import array
from typing import Any, TypeAlias
from zlib import crc32

from contextasm import __version__
from contextasm.model import Memory

_FORM = 1
"""Goes up when a table changes, or the same text gives other terms."""

VERSION = crc32(f"{_FORM} {__version__} {sys.byteorder}".encode()) & 0x7FFFFFFF
"""Numbers are stored as this machine has them in memory, so its byte order is part of it."""

SCHEMA = (
    """CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT UNIQUE, stamp TEXT, digest TEXT, first INTEGER,
    rows INTEGER, terms BLOB, problems TEXT)""",
    """CREATE TABLE memories (file INTEGER, place INTEGER, id TEXT, given INTEGER, line INTEGER, status TEXT,
    supersedes TEXT, final TEXT, out TEXT, PRIMARY KEY (file, place)) WITHOUT ROWID""",
    "CREATE TABLE rows (row INTEGER PRIMARY KEY, created TEXT, path TEXT, line INTEGER, held BLOB)",
    "CREATE INDEX newest ON rows (created DESC, path, line DESC)",
    "CREATE TABLE terms (id INTEGER PRIMARY KEY, term TEXT UNIQUE)",
    "CREATE TABLE postings (id INTEGER PRIMARY KEY, held BLOB)",
    "CREATE TABLE columns (name TEXT PRIMARY KEY, held BLOB)",
)

TABLES = ("files", "memories", "rows", "terms", "postings", "columns")

KINDS = {
    "lengths": "I",
    "sections": "I",
    "days": "I",
    "authors": "I",
    "flags": "B",
    "kernels": "B",
    "importance": "d",
    "last": "I",
    "created": "I",
}
"""The columns with a number for each row. `last` and `created` are places in the list of dates."""

Numbers: TypeAlias = "array[Any]"
"""An array of one of the kinds above."""


class DamagedIndex(sqlite3.DatabaseError):
    """A blob is not what was written."""


def create_tables(store: sqlite3.Connection) -> None:
    """Make the tables anew."""
    for table in TABLES:
        store.execute(f"DROP TABLE IF EXISTS {table}")
    for statement in SCHEMA:
        store.execute(statement)
    store.execute(f"PRAGMA user_version = {VERSION}")


def seal(data: bytes) -> bytes:
    """Bytes with their check sum in front."""
    return crc32(data).to_bytes(4, "big") + data


def unseal(blob: object) -> bytes:
    """The bytes of a blob. Raises `DamagedIndex`."""
    if not isinstance(blob, bytes) or crc32(blob[4:]) != int.from_bytes(blob[:4], "big"):
        raise DamagedIndex("a blob is not what was written")
    return blob[4:]


def as_blob(memory: Memory) -> bytes:
    """A memory as stored."""
    return seal(json.dumps(memory).encode())


def as_memory(blob: object) -> Memory:
    """A memory from what was stored."""
    values: Any = json.loads(unseal(blob))
    return Memory._make(tuple(value) if isinstance(value, list) else value for value in values)


def halves(blob: object) -> tuple[Numbers, Numbers]:
    """Postings as stored: all rows, then as many counts."""
    both = array("I", unseal(blob)) if blob is not None else array("I")
    middle = len(both) // 2
    return both[:middle], both[middle:]


def load_columns(store: sqlite3.Connection) -> dict[str, Numbers]:
    """Every column."""
    stored = dict(store.execute("SELECT name, held FROM columns"))
    return {name: array(kind, unseal(stored[name]) if name in stored else b"") for name, kind in KINDS.items()}


def load_value(store: sqlite3.Connection, name: str, default: object) -> object:
    """What is stored under a name besides the columns, as JSON has it."""
    row = store.execute("SELECT held FROM columns WHERE name = ?", (name,)).fetchone()
    return json.loads(unseal(row[0])) if row else default


def save_value(store: sqlite3.Connection, name: str, value: object) -> None:
    """Store a column, or a value that JSON can hold."""
    data = value.tobytes() if isinstance(value, array) else json.dumps(value).encode()
    store.execute("REPLACE INTO columns VALUES (?, ?)", (name, seal(data)))
