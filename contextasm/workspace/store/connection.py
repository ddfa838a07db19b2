"""The database of a store: its settings, its errors, and transactions. The one module that knows the driver.

Nothing of the driver is used but the DB-API. Every error of the driver becomes a `StoreError` in words of ours, without
the values that a row holds.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote

from contextasm.model import ContextasmError, NamedTuple

STORE_KEYS = ("host", "port", "dbname", "user", "sslmode")
"""Parts of an address that settings may give; libpq takes all others from the environment of the person."""


class StoreConfig(NamedTuple):
    """Database, owners and freshness of a shared store."""

    line: int
    """Line of `ctxasm.yaml`, counted from 1."""
    parts: Mapping[str, str]
    """Parts of the address by their `STORE_KEYS`; libpq's own defaults and variables give what is missing."""
    owners: tuple[str, ...]
    """Folders of the owners whose memories are in the store, such as `teams/q1`."""
    max_age: float = 5.0
    """Seconds for which a replica counts as up to date without a question to the server."""

    @property
    def address(self) -> str:
        """The address as a URL, for messages and comparisons."""
        user = f"{quote(self.parts['user'], safe='')}@" if "user" in self.parts else ""
        port = f":{self.parts['port']}" if "port" in self.parts else ""
        mode = f"?sslmode={self.parts['sslmode']}" if "sslmode" in self.parts else ""
        host = self.parts.get("host", "")
        shown_host = f"[{host}]" if ":" in host else host
        return f"postgresql://{user}{shown_host}{port}/{quote(self.parts.get('dbname', ''), safe='')}{mode}"


# --- Errors ---


UNREACHABLE = "store-unreachable"
"""Id of the problem of a server that can't be reached, or to which the connection is lost."""

BUSY = "store-busy"
"""Id of the problem of a server that did not finish in time, or has no room for a connection now."""


class StoreError(ContextasmError):
    """Something is wrong with a store; `problem` is the id of the problem of a build that goes on without it."""

    problem = "store-failed"

    def __init__(self, where: str, what: str, hint: str, problem: str = "") -> None:
        super().__init__(where, what, hint)
        self.problem = problem or self.problem


class StatementError(StoreError):
    """The server refused a statement: no right, or a value that its table does not take."""


class TransactionLostError(StoreError):
    """A transaction was undone in favour of another one, and can be tried again."""

    problem = BUSY


class StoreUnreachableError(StoreError):
    """The server can't be reached, or the connection to it is lost while nothing is being stored."""

    problem = UNREACHABLE


UNWRITABLE = "store-unwritable"
"""Id of the problem of a replica that can't be written."""


def pull_problem(error: ContextasmError) -> str:
    """The id of the problem that keeps a replica from being brought up to date."""
    if isinstance(error, StoreError):
        return error.problem
    return BUSY if is_replica_locked(error) else UNWRITABLE


def is_replica_locked(error: ContextasmError) -> bool:
    """Whether another pull of the same workspace held the replica for too long, so that no server was asked."""
    return isinstance(error.__cause__, BlockingIOError)


# --- Transactions ---


_ATTEMPTS = 5
"""Times that a transaction is tried which others undo."""

_PAUSE = 0.05
"""Seconds, at most, before the second try; each later one waits for up to twice as long."""

ResultT = TypeVar("ResultT")

CONNECT_SECONDS = 5
"""Seconds to wait for a server, unless PGCONNECT_TIMEOUT names another number."""

_LIMITS = "-c lock_timeout=5s -c statement_timeout=60s"
"""The longest waits of a statement: for what another transaction holds, and in all. The parts of a first pull and of an
import take a second. PGOPTIONS comes after it, and can name others."""

_ANSWERS = (
    "-c search_path=pg_catalog -c row_security=on -c extra_float_digits=1 -c DateStyle=ISO -c TimeZone=UTC"
    " -c standard_conforming_strings=on"
)
"""What answers depend on, overriding the settings of the role and its database: which functions a statement calls,
that policies choose rows and do not refuse the question, every digit of numbers, days, the month of a memory without a
day, and backslashes. It comes after PGOPTIONS. No statement gives intervals or bytes, whose form has settings, too;
the encoding and the isolation of transactions are set with the connection."""

_BUSY = {"55P03": "another transaction holds a lock that this one needs", "57014": "the server did not finish in time"}
"""Words by the state of a statement that waited for too long."""

_SERVER_SAYS = re.compile(r"(?:^|: )[^:\n]+:  (\S.*)$", re.MULTILINE)
"""What a server that answers says to a role that may not connect: after a word such as FATAL, a colon and two blanks.

The driver names no state for that, and the server speaks its own language before it knows who asks; only the blanks are
the same in all of them.
"""

_NOTHING_GIVEN = "no password supplied"
"""What libpq says if the server wants a password and nothing gives one."""

_NOT_NOW = re.compile(r"starting up|shutting down|recovery|accepting connections|too many|connection slots")
"""What a server says that has no room, or will have some soon. One of another language seems to refuse the login."""

_TRY_AGAIN = {"40001", "40P01", "23505", "42P07"}
"""States of a transaction that lost against another one: a serialization failure, a deadlock, and a key or a table that
the other one made first."""

_HINTS = {
    "3F000": "make it with `ctxasm store init`",
    "42P01": "make it with `ctxasm store init`",
    "42501": "ask the owner of the store for access (docs/store.md)",
}
"""Hints by the state of an error: no such schema, no such table, no right."""


class Session:
    """One transaction with the database of a store."""

    def __init__(self, connection: Any, config: StoreConfig) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._where = f"store {config.address}"

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows that a statement gives; empty for one that gives none. Raises `StoreError`."""
        # Without values the driver reads no placeholders, so a script may hold any per cent sign.
        self._run(lambda: self._cursor.execute(statement, values or None))
        return self._cursor.fetchall() if self._cursor.description else []

    def insert_rows(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Insert rows in their order, with as few statements as needed. Raises `StoreError`."""
        from psycopg2.extras import execute_values

        names = ", ".join(columns)
        self._run(lambda: execute_values(self._cursor, f"INSERT INTO {table} ({names}) VALUES %s", rows, page_size=500))

    def commit(self) -> None:
        """End the transaction for good. Raises `StoreError`, also if it is not known whether that worked."""
        import psycopg2

        try:
            self._connection.commit()
        except psycopg2.Error as error:
            if not isinstance(error, psycopg2.OperationalError) or not _is_broken(error):
                self._fail(error)  # the server says that it has undone the transaction
            what = f"the connection broke ({_words(error)}), so the change may be stored or not"
            raise StoreError(self._where, what, "check with `ctxasm search`, then try again", UNREACHABLE) from error

    def _run(self, action: Any) -> None:
        import psycopg2

        try:
            action()
        except psycopg2.Error as error:
            self._fail(error)

    def _fail(self, error: Any) -> NoReturn:
        state = error.pgcode or ""
        if state in _TRY_AGAIN:
            raise TransactionLostError(self._where, _words(error), "try again") from error
        if state in _BUSY:
            raise StoreError(self._where, _BUSY[state], "try again later (docs/store.md, Waits)", BUSY) from error
        if _is_broken(error):
            raise StoreUnreachableError(self._where, _words(error), "try again once the server is back") from error
        raise StatementError(self._where, _words(error), _HINTS.get(state, "see docs/store.md")) from error


def _is_broken(error: Any) -> bool:
    """Whether an error is of the connection, or of a server that ends; every other one is the answer of a server."""
    return not error.pgcode or error.pgcode.startswith(("08", "57P"))


@contextmanager
def open_session(config: StoreConfig, *, snapshot: bool = False) -> Iterator[Session]:
    """A transaction that is undone unless it is committed. Raises `StoreError`.

    With `snapshot` it only reads, and all its statements see one state of the database. Else each statement sees what
    is committed before it, as writers do who waited for one another.
    """
    connection = _connect(config)
    try:
        if snapshot:
            connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        else:
            connection.set_session(isolation_level="READ COMMITTED")
        yield Session(connection, config)
    finally:
        with suppress(Exception):  # a connection that is lost can't be closed either
            connection.close()


def _connect(config: StoreConfig) -> Any:
    where = f"store {config.address}"
    try:
        import psycopg2
    except ImportError as error:
        hint = "install it with `pip install 'contextasm[postgres]'`"
        raise StoreError(where, "the driver psycopg2 is not installed", hint, "store-driver") from error
    waits = {} if os.environ.get("PGCONNECT_TIMEOUT") else {"connect_timeout": CONNECT_SECONDS}
    # A server that has gone without a word is noticed within half a minute.
    alive = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4, "tcp_user_timeout": 30_000}
    try:
        return psycopg2.connect(
            **config.parts,
            **waits,
            **alive,
            options=f"{_LIMITS} {os.environ.get('PGOPTIONS', '')} {_ANSWERS}",
            application_name="ctxasm",
            client_encoding="UTF8",
        )
    except psycopg2.Error as error:
        raise _connect_error(where, error) from error
    except UnicodeError as error:  # of what is sent, or of an answer that quotes it
        what = "can't connect, because a setting or an answer of the server is not UTF-8"
        raise StoreError(where, what, "write PGOPTIONS, PGUSER and the address in UTF-8") from error


def _connect_error(where: str, error: Any) -> StoreError:
    """Why connecting failed: the server refuses it, has no room for it now, or does not answer."""
    said = _SERVER_SAYS.search(str(error))
    if said and _NOT_NOW.search(said[1]):
        return StoreError(where, f"takes no connection: {said[1]}", "try again later", BUSY)
    if said or _NOTHING_GIVEN in str(error):
        what = f"the server does not let you in: {said[1] if said else _NOTHING_GIVEN}"
        hint = "check PGUSER, the name of the database, and the password in ~/.pgpass or PGPASSWORD"
        return StoreError(where, what, hint, "store-login")
    hint = "check that the server runs, and that `store:` or PGHOST names it"
    return StoreUnreachableError(where, f"can't be reached: {_words(error)}", hint)


def _words(error: Any) -> str:
    """An error of the driver as one line; details, which may quote a row, are left out."""
    primary = error.diag.message_primary if getattr(error, "diag", None) else None
    lines = [line.strip() for line in str(primary or error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def committed(config: StoreConfig, work: Callable[[Session], ResultT]) -> ResultT:
    """The result of `work`, committed; it is done again if another transaction undoes it. Raises `ContextasmError`."""
    for attempt in range(_ATTEMPTS):
        try:
            with open_session(config) as session:
                result = work(session)
                session.commit()
                return result
        except TransactionLostError:
            if attempt == _ATTEMPTS - 1:
                raise
            time.sleep(random.uniform(0, _PAUSE * 2**attempt))  # noqa: S311 -- apart in time, no secret
    raise AssertionError
