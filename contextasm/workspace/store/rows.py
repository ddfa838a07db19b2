"""Rows of memories, and texts of new ones, locked and written in transactions.

A transaction that others undo is done again. What a row says of a memory is a `Memory` at the place that its page has.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from typing import NamedTuple, TypeVar

from contextasm.model import Document, Memory
from contextasm.text.memories.parser import parse_memories
from contextasm.workspace.folder import Folder
from contextasm.workspace.store.connection import Session, open_session
from contextasm.workspace.store.errors import TransactionLostError
from contextasm.workspace.store.pages import COLUMNS, FIELDS, memory_of_row, names_of_row, page_name, row_of_memory
from contextasm.workspace.store.settings import StoreConfig
from contextasm.workspace.store.version import require_version

_ATTEMPTS = 5
"""Times that a transaction is tried which others undo."""

_PAUSE = 0.05
"""Seconds, at most, before the second try; each later one waits for up to twice as long."""

ResultT = TypeVar("ResultT")

IN_HOME = "shelf = ANY (ctxasm.shelves(%s))"
"""The condition of SQL for the rows of a home that a role may see (`sql/002_rights.sql`)."""


def in_transaction(config: StoreConfig, work: Callable[[Session], ResultT]) -> ResultT:
    """The result of `work` on a store of this program's version, as `committed`. Raises `ContextasmError`."""

    def checked(session: Session) -> ResultT:
        require_version(session, config)
        return work(session)

    return committed(config, checked)


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


class HeldRow(NamedTuple):
    """A row that a transaction has locked, or added."""

    seq: int
    memory: Memory
    """With the path of its page."""
    is_own: bool
    """Whether the role of this connection stored it."""


class MemoryAt(NamedTuple):
    """Where the workspace has a memory. Its id alone does not name it: a private one may have the id of another's."""

    path: str
    """Path of its page."""
    id: str
    """As the workspace reads it: of a second memory with one id it ends in `~2`."""


def _held_row(home: str, seq: int, page: str, role: str, is_own: bool, memory: Memory) -> HeldRow:
    return HeldRow(seq, memory._replace(path=f"{home}/memories/{page_name(page, role)}"), is_own)


def locked_rows(session: Session, home: str, condition: str, *values: object) -> list[HeldRow]:
    """The rows of a home that meet a condition of SQL, locked; in one order, so that two transactions can't deadlock.

    A row that the role may not change is not among them.
    """
    columns = f"seq, page, role::text, role = current_user, {COLUMNS}"
    statement = f"SELECT {columns} FROM ctxasm.memory WHERE {IN_HOME} AND ({condition}) ORDER BY seq FOR UPDATE"
    found = session.rows(statement, home, *values)
    return [_held_row(home, seq, page, role, own, memory_of_row(row)) for seq, page, role, own, *row in found]


def rows_by_place(rows: Sequence[HeldRow]) -> Mapping[MemoryAt, HeldRow]:
    """Rows by page and id: a page has rows of one role, and of these no two have one id."""
    return {MemoryAt(row.memory.path, row.memory.id): row for row in rows}


def find_row(held: Mapping[MemoryAt, HeldRow], place: MemoryAt) -> HeldRow | None:
    """The row, of `rows_by_place`, of the memory at a place of the workspace; None where it is not among them."""
    names = names_of_row(place.id)
    return next((row for name in names if (row := held.get(MemoryAt(place.path, name)))), None)


def own_private_ids(session: Session, home: str, names: Collection[str]) -> frozenset[str]:
    """Those of the ids that are of private memories of a home which the role of this connection stored."""
    if not names:
        return frozenset()
    statement = f"SELECT id FROM ctxasm.memory WHERE {IN_HOME} AND role = current_user AND private AND id = ANY(%s)"
    return frozenset(name for (name,) in session.rows(statement, home, [*names]))


def writable_homes(session: Session) -> frozenset[str]:
    """The homes in which the role of this connection may write."""
    rights = "SELECT home FROM ctxasm.member WHERE role = current_user AND writes"
    return frozenset(home for (home,) in session.rows(rights))


def insert_row(session: Session, home: str, memory: Memory) -> HeldRow:
    """The row that a new memory becomes. Raises `ContextasmError` where the role may not write in the home."""
    names = ("home", *FIELDS)
    marks = ", ".join(["%s"] * len(names))
    statement = f"INSERT INTO ctxasm.memory ({', '.join(names)}) VALUES ({marks}) RETURNING seq, page, role::text"
    ((seq, page, role),) = session.rows(statement, home, *row_of_memory(memory))
    return _held_row(home, seq, page, role, True, memory)


def update_row(session: Session, seq: int, memory: Memory) -> bool:
    """Write a memory's fields into a row, except those that never change, and undelete it.

    False if the role may not.
    """
    values = dict(zip(FIELDS, row_of_memory(memory), strict=True))
    names = [name for name in FIELDS if name not in {"id", "private", "writer"}]
    assignments = ", ".join(f"{name} = %s" for name in names)
    statement = f"UPDATE ctxasm.memory SET {assignments}, deleted = false WHERE seq = %s RETURNING seq"
    return bool(session.rows(statement, *(values[name] for name in names), seq))


def touch_rows(session: Session, numbers: Collection[int], day: date) -> None:
    """Set `accessed` of the rows with these numbers to a day."""
    session.rows("UPDATE ctxasm.memory SET accessed = %s WHERE seq = ANY(%s)", day, sorted(numbers))


def lock_texts(session: Session, home: str, texts: Sequence[str]) -> None:
    """Wait for other transactions that store one of these texts in a home, and keep others waiting, in one order.

    The keys of the locks are not to be guessed by roles outside of the store, which could hold them.
    """
    keys = (
        "SELECT DISTINCT hashtextextended(s.salt || %s || chr(10) || t.text, 0) AS key"
        " FROM unnest(%s::text[]) AS t(text), ctxasm.salt s"
    )
    statement = f"SELECT pg_advisory_xact_lock(key) FROM ({keys} ORDER BY key) AS keys"
    session.rows(statement, home, [*texts])


def with_lines(workspace: Folder, memories: Sequence[Memory]) -> list[Memory]:
    """The memories with their lines in the mirror; 0 for one that is not there."""
    lines: dict[tuple[str, str], int] = {}
    for path in {memory.path for memory in memories}:
        document = workspace.read(path)
        if isinstance(document, Document):
            lines |= {(path, memory.id): memory.line for memory in parse_memories(document)[0]}
    return [memory._replace(line=lines.get((memory.path, memory.id), 0)) for memory in memories]
