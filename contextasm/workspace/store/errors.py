"""Errors of a store. `problem` is the id that is reported when the mirror is read instead."""

from __future__ import annotations

from collections.abc import Iterator

from contextasm.model import ContextasmError


class StoreError(ContextasmError):
    """Something is wrong with a store."""

    problem = "store-failed"
    """Id of the problem."""


class StatementError(StoreError):
    """The server refused a statement: no right, or a value that its table does not take."""


class StoreUnreachableError(StoreError):
    """The server can't be reached, or the connection to it is lost."""

    problem = "store-unreachable"


class LoginRefusedError(StoreError):
    """The server answers, and does not let this role into this database."""

    problem = "store-login"


class StoreBusyError(StoreError):
    """The server did not finish a statement within the longest wait, or has no room for a connection now."""

    problem = "store-busy"


class TransactionLostError(StoreBusyError):
    """A transaction was undone in favour of another one, and can be tried again."""


class CommitUnknownError(StoreError):
    """The connection broke in the moment of storing, and whether that worked can't be told."""

    problem = StoreUnreachableError.problem


class StoreMissingError(StoreError):
    """The database holds no store."""

    problem = "store-missing"


class StoreVersionError(StoreError):
    """The store is of another version than this program."""

    problem = "store-version"


class DriverMissingError(StoreError):
    """The driver of the database is not installed."""

    problem = "store-driver"


UNWRITABLE = "store-unwritable"
"""Id of the problem of a mirror that can't be written."""


def _kinds(kind: type[StoreError]) -> Iterator[type[StoreError]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from _kinds(narrower)


PULL_PROBLEMS = frozenset({UNWRITABLE, *(kind.problem for kind in _kinds(StoreError))})
"""Ids of the problems for which a mirror is read as it is."""


def pull_problem(error: ContextasmError) -> str:
    """The id of the problem that keeps a mirror from being brought up to date."""
    if isinstance(error, StoreError):
        return error.problem
    return StoreBusyError.problem if is_mirror_locked(error) else UNWRITABLE


def is_mirror_locked(error: ContextasmError) -> bool:
    """Whether another pull of the same workspace held the mirror for too long, so that no server was asked."""
    return isinstance(error.__cause__, BlockingIOError)
