"""The version of a store, and which one this program reads and writes."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from contextasm.workspace.store.connection import Session
from contextasm.workspace.store.errors import StoreMissingError, StoreVersionError
from contextasm.workspace.store.settings import StoreConfig

SCRIPTS = Path(__file__).parent / "sql"
"""Folder of the scripts; `NNN_NAME.sql` takes a store from version NNN - 1 to NNN."""


@cache
def newest_version() -> int:
    """The number of the last script."""
    return sum(name.endswith(".sql") for name in os.listdir(SCRIPTS))


def store_version(session: Session) -> int:
    """The number of the last migration of a store; 0 where there is no store."""
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
        what = f"is of version {version}, and this ctxasm needs {newest}"
        raise StoreVersionError(where, what, "have its owner run `ctxasm store migrate`")


def missing_store(config: StoreConfig) -> StoreMissingError:
    """The error of a database without a store."""
    what = "the database holds no store"
    return StoreMissingError(f"store {config.address}", what, "make it with `ctxasm store init`")


def too_new(where: str, version: int, newest: int) -> StoreVersionError:
    """The error of a store at `where` that only a later program knows."""
    what = f"is of version {version}, and this ctxasm knows versions up to {newest}"
    return StoreVersionError(where, what, "install a newer ctxasm")
