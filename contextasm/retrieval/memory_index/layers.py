"""Layers of an index: a large file that is written seldom, and a small one with the changes since.

The small file has the same tables. It holds all files and units of the pool, the entries of the files in `rewritten`,
the blocks of columns that changed, the terms whose holders changed, and the rows and postings that are new. Everything
is written to it, and read through views that put it over the large file. Its mark is that of the large file.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from contextasm.retrieval.memory_index.schema import SCHEMA, VERSION, load_list, save_list, select_among

_OVER: dict[str, str] = {
    "entries": "WHERE file NOT IN (SELECT file FROM main.rewritten)",
    "successions": "WHERE file NOT IN (SELECT file FROM main.rewritten)",
    "columns": "WHERE block NOT IN (SELECT block FROM main.columns)",
    "terms": "WHERE id NOT IN (SELECT id FROM main.terms)",
    "rows": "",
    "postings": "",
}
"""Tables of both layers, and which rows of the large file still hold."""


def add_views(connection: sqlite3.Connection, base: Path | None) -> None:
    """Make the views `current_...` of all tables in both layers; `base` is the large file, None where it is alone."""
    if base:
        connection.execute("ATTACH ? AS base", (read_only(base),))
    for table, condition in _OVER.items():
        under = f" UNION ALL SELECT * FROM base.{table} {condition}" if base else ""
        connection.execute(f"CREATE TEMP VIEW current_{table} AS SELECT * FROM main.{table}{under}")


def read_only(path: Path) -> str:
    """The address of a database that is read without locks.

    A journal beside the file is not played back, since it could name other files to be deleted.
    """
    return f"{path.as_uri()}?mode=ro&immutable=1"


def has_base(connection: sqlite3.Connection) -> bool:
    """Whether the connection is to the small file."""
    return any(name == "base" for _, name, _ in connection.execute("PRAGMA database_list"))


def has_schema(connection: sqlite3.Connection, layer: str) -> bool:
    """Whether this version of the program made a layer, `main` or `base`."""
    if connection.execute(f"PRAGMA {layer}.user_version").fetchone()[0] != VERSION:
        return False
    return {sql for (sql,) in connection.execute(f"SELECT sql FROM {layer}.sqlite_master") if sql} == set(SCHEMA)


def mark_base(connection: sqlite3.Connection) -> None:
    """Give the large file another mark: changes of what it was before are not its own."""
    save_list(connection, "mark", [secrets.token_hex(16)])


def is_of_base(connection: sqlite3.Connection) -> bool:
    """Whether the small file holds changes of this large file."""
    return bool(load_list(connection, "mark") == load_list(connection, "mark", "base"))


def begin_changes(connection: sqlite3.Connection) -> None:
    """Fill the tables of a new small file with what it holds of the whole pool."""
    for table in ("files", "units", "lists"):
        connection.execute(f"INSERT INTO main.{table} SELECT * FROM base.{table}")


def stored_terms(connection: sqlite3.Connection, names: Sequence[str]) -> dict[str, Sequence[int]]:
    """Number, holders and blocks of those of these terms that a layer has; blocks are those of `main` alone."""
    query = "SELECT term, id, holders, {} FROM {}.terms WHERE term IN ({{}})"
    own = select_among(connection, query.format("blocks", "main"), names)
    terms: dict[str, Sequence[int]] = {name: facts for name, *facts in own}
    if has_base(connection):
        others = [name for name in names if name not in terms]
        under = select_among(connection, query.format("0", "base"), others)
        terms |= {name: facts for name, *facts in under}
    return terms


def last_term(connection: sqlite3.Connection) -> int:
    """The greatest number of a term in both layers; 0 for none."""
    layers = ("main", "base") if has_base(connection) else ("main",)
    return max(connection.execute(f"SELECT max(id) FROM {layer}.terms").fetchone()[0] or 0 for layer in layers)
