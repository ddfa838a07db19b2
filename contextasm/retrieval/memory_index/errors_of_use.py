"""Errors of use: those of the function that uses a pool, told from the damage that it meets in the index.

A damaged index raises errors of SQLite; a pool turns those of meaningless values (`schema.MEANINGLESS`)
into these. So the index is made again for these alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from contextasm.model import EntryPool, T


class _FailedUse(Exception):  # noqa: N818 - it is never seen: the error that it holds is raised in its place
    """An error of the function that uses a pool: the index has no part in it."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def call_use(use: Callable[[EntryPool[Any]], T], pool: EntryPool[Any]) -> T:
    """Result of `use` on a pool. Raises errors of SQLite as they are; others pass to `raise_errors_of_use`."""
    try:
        return use(pool)
    except sqlite3.Error:
        raise  # nothing but the pool has to do with SQLite
    except Exception as error:
        raise _FailedUse(error) from error


@contextmanager
def raise_errors_of_use() -> Iterator[None]:
    """Raise, from a block or a function, what a `use` raised that was called within."""
    try:
        yield
    except _FailedUse as failed:
        raise failed.error from failed.error.__cause__
