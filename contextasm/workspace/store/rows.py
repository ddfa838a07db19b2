"""Rows of memories, and texts of new ones, locked and written in a transaction.

What a row says of a memory is a `Memory` at the path that its page has.
"""

from __future__ import annotations

from collections.abc import Sequence

from contextasm.model import Memory, NamedTuple
from contextasm.workspace.store.connection import Session
from contextasm.workspace.store.pages import COLUMNS, FIELDS, memory_of_row, page_name, row_of_memory

OF_OWNER = "scope = ANY (ctxasm.scopes(%s))"
"""The condition of SQL for the rows of an owner that a role may see (`sql/001_memories.sql`)."""


class Row(NamedTuple):
    """A row that a transaction has locked, or added."""

    seq: int
    memory: Memory
    """With the path of its page."""
    role: str
    """The role that stored it."""
    is_own: bool = True
    """Whether that is the role of this connection."""
    deleted: bool = False


def locked_rows(session: Session, owner: str, condition: str, *values: object) -> dict[str, Row]:
    """The rows of an owner that meet a condition of SQL, locked, by their ids.

    In one order, so that two transactions can't deadlock. A row that the role may not change is not among them.
    """
    columns = f"seq, page, role::text, role = current_user, deleted, {COLUMNS}"
    statement = f"SELECT {columns} FROM ctxasm.memory WHERE {OF_OWNER} AND ({condition}) ORDER BY seq FOR UPDATE"
    rows = [
        Row(seq, _at_page(memory_of_row(row), owner, page, role), role, is_own, deleted)
        for seq, page, role, is_own, deleted, *row in session.rows(statement, owner, *values)
    ]
    return {row.memory.id: row for row in rows}


def _at_page(memory: Memory, owner: str, page: str, role: str) -> Memory:
    return memory._replace(path=f"{owner}/memories/{page_name(page, role)}")


def writable_owners(session: Session) -> dict[str, int]:
    """The owners whose memories the role of this connection may write, with its number in each."""
    return dict(session.rows("SELECT owner, number FROM ctxasm.member WHERE role = current_user AND writes"))


def insert_row(session: Session, owner: str, memory: Memory) -> Row:
    """The row that a new memory becomes, with the number of the role before its id.

    Raises `ContextasmError` if the role may not write for the owner.
    """
    names = ("owner", *FIELDS)
    marks = ", ".join(["%s"] * len(names))
    statement = f"INSERT INTO ctxasm.memory ({', '.join(names)}) VALUES ({marks}) RETURNING seq, id, page, role::text"
    ((seq, id_, page, role),) = session.rows(statement, owner, *row_of_memory(memory))
    return Row(seq, _at_page(memory._replace(id=id_), owner, page, role), role)


def update_row(session: Session, seq: int, memory: Memory) -> bool:
    """Write a memory's fields into a row, except the ones that never change, and undelete it.

    False if the role may not.
    """
    values = dict(zip(FIELDS, row_of_memory(memory), strict=True))
    names = [name for name in FIELDS if name not in {"id", "private", "writer"}]
    assignments = ", ".join(f"{name} = %s" for name in names)
    statement = f"UPDATE ctxasm.memory SET {assignments}, deleted = false WHERE seq = %s RETURNING seq"
    return bool(session.rows(statement, *(values[name] for name in names), seq))


def lock_texts(session: Session, owner: str, texts: Sequence[str]) -> None:
    """Wait for other transactions that store one of these texts for an owner, and keep others waiting, in one order.

    The keys of the locks are not to be guessed by roles outside of the store, which could hold them.
    """
    keys = (
        "SELECT DISTINCT hashtextextended(s.salt || %s || chr(10) || t.text, 0) AS key"
        " FROM unnest(%s::text[]) AS t(text), ctxasm.salt s"
    )
    statement = f"SELECT pg_advisory_xact_lock(key) FROM ({keys} ORDER BY key) AS keys"
    session.rows(statement, owner, [*texts])
