"""The schema of a store: its version, and numbered scripts of SQL, each applied once, in a transaction of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from contextasm.model import NamedTuple
from contextasm.workspace.reading import file_bytes
from contextasm.workspace.store.connection import ResultT, Session, StoreConfig, StoreError, committed, open_session

_VERSION = "store-version"
"""Id of the problem of a store that is of another version than this program."""

SCRIPTS = Path(__file__).parent / "sql"
"""Folder of the scripts; `NNN_NAME.sql` takes a store from version NNN - 1 to NNN."""


@cache
def newest_version() -> int:
    """The number of the last script."""
    return sum(name.endswith(".sql") for name in os.listdir(SCRIPTS))


def store_version(session: Session) -> int:
    """The number of the last migration of a store; 0 without a store."""
    ((table,),) = session.rows("SELECT to_regclass('ctxasm.migration')")
    if table is None:
        return 0
    ((version,),) = session.rows("SELECT coalesce(max(number), 0) FROM ctxasm.migration")
    return int(version)


def require_version(session: Session, config: StoreConfig) -> None:
    """Raise `ContextasmError` for a database without a store, and for a store of another version."""
    version, newest = store_version(session), newest_version()
    where = f"store {config.address}"
    if version > newest:
        raise too_new(where, version, newest)
    if not version:
        raise missing_store(config)
    if version < newest:
        what = f"has version {version}, but this ctxasm needs {newest}"
        raise StoreError(where, what, "ask its owner to run `ctxasm store migrate`", _VERSION)


def missing_store(config: StoreConfig) -> StoreError:
    """The error of a database without a store."""
    what = "the database holds no store"
    return StoreError(f"store {config.address}", what, "make it with `ctxasm store init`", "store-missing")


def too_new(where: str, version: int, newest: int) -> StoreError:
    """The error of a store at `where` that only a later program knows."""
    what = f"has version {version}, but this ctxasm knows versions up to {newest}"
    return StoreError(where, what, "install a newer ctxasm", _VERSION)


def in_transaction(config: StoreConfig, work: Callable[[Session], ResultT]) -> ResultT:
    """The result of `work` on a store of this program's version, as `committed`. Raises `ContextasmError`."""

    def checked(session: Session) -> ResultT:
        require_version(session, config)
        return work(session)

    return committed(config, checked)


class Migration(NamedTuple):
    """One step of the schema."""

    number: int
    name: str
    statements: str


def load_migrations(folder: Path = SCRIPTS) -> list[Migration]:
    """The scripts of a folder in their order. Raises `ContextasmError` if one is missing or can't be read."""
    migrations: list[Migration] = []
    for number, file in enumerate(sorted(name for name in os.listdir(folder) if name.endswith(".sql")), 1):
        path = folder / file
        data = file_bytes(str(path))
        match = re.fullmatch(r"([0-9]{3})_(\w+)\.sql", file)
        if not isinstance(data, bytes) or not match or int(match[1]) != number:
            raise StoreError(str(path), "is not the next migration", "install ctxasm again", _VERSION)
        migrations.append(Migration(number, match[2], data.decode()))
    return migrations


def require_store(config: StoreConfig) -> None:
    """Raise `ContextasmError` for a database without a store."""
    with open_session(config) as session:
        if not store_version(session):
            raise missing_store(config)


def migrate_store(config: StoreConfig, folder: Path = SCRIPTS) -> list[Migration]:
    """Apply the migrations that a store lacks; gives those, in their order.

    Two that run at once wait for each other, and each step is applied by one of them. Raises `ContextasmError`; the
    steps before the failed one then stand.
    """
    migrations = load_migrations(folder)
    newest = len(migrations)
    return [
        each for each in migrations if committed(config, partial(_apply, config=config, migration=each, newest=newest))
    ]


def _apply(session: Session, *, config: StoreConfig, migration: Migration, newest: int) -> bool:
    _require_utf8(session, config)
    version = store_version(session)
    if version and version < migration.number:
        # Only who may change the table can hold it, so no other role keeps a migration waiting.
        session.rows("LOCK TABLE ctxasm.migration IN SHARE ROW EXCLUSIVE MODE")
        version = store_version(session)
    if version > newest:
        raise too_new(f"store {config.address}", version, newest)
    if version >= migration.number:
        return False
    if not version:  # of two that make the table at once, the later one is undone and done again
        session.rows("CREATE SCHEMA IF NOT EXISTS ctxasm")
        session.rows(
            "CREATE TABLE ctxasm.migration (number integer PRIMARY KEY, name text NOT NULL,"
            " applied timestamptz NOT NULL DEFAULT now(), role name NOT NULL DEFAULT current_user)"
        )
    session.rows(migration.statements)
    session.rows("INSERT INTO ctxasm.migration (number, name) VALUES (%s, %s)", migration.number, migration.name)
    return True


def _require_utf8(session: Session, config: StoreConfig) -> None:
    """Raise `ContextasmError` for a database of another encoding: it can't hold each text, and has other checksums."""
    ((encoding,),) = session.rows("SELECT current_setting('server_encoding')")
    if encoding != "UTF8":
        hint = "make a database with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
        raise StoreError(f"store {config.address}", f"the encoding of the database is {encoding}, not UTF8", hint)


def join_owners(config: StoreConfig) -> None:
    """Make the role of this connection a writing member of the configured owners. Raises `ContextasmError`."""
    with open_session(config) as session:
        for owner in config.owners:
            session.rows(
                "INSERT INTO ctxasm.member (role, owner, writes) VALUES (current_user, %s, true)"
                " ON CONFLICT (role, owner) DO UPDATE SET writes = true",
                owner,
            )
        session.commit()
