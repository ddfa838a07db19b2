"""Rows of memories, locked and written in transactions.

A transaction that others undo is done again. What a row says of a memory is a `Memory` at the place that its page has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from contextasm.model import Document, Memory
from contextasm.text.memory_parser import parse_memories
from contextasm.workspace.folder import Folder
from contextasm.workspace.store.connection import Session, TransactionLostError, open_session
from contextasm.workspace.store.pages import COLUMNS, FIELDS, memory_of_row, page_name, row_of_memory
from contextasm.workspace.store.settings import StoreConfig

_ATTEMPTS = 5
"""Times that a transaction is tried which others undo."""

ResultT = TypeVar("ResultT")


def in_transaction(config: StoreConfig, work: Callable[[Session], ResultT]) -> ResultT:
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
    raise AssertionError


class HeldRow(NamedTuple):
    """A row that a transaction has locked, or added."""

    seq: int
    memory: Memory
    """With the path of its page."""


def _held_row(home: str, seq: int, page: str, role: str, memory: Memory) -> HeldRow:
    return HeldRow(seq, memory._replace(path=f"{home}/memories/{page_name(page, role)}"))


def locked_rows(session: Session, home: str, condition: str, value: object) -> list[HeldRow]:
    """The rows of a home that meet a condition of SQL, locked; always in the same order, so that no two wait in a ring.

    A row that the role may not change is not among them.
    """
    columns = f"seq, page, role::text, {COLUMNS}"
    statement = f"SELECT {columns} FROM ctxasm.memory WHERE home = %s AND {condition} ORDER BY seq FOR UPDATE"
    found = session.rows(statement, home, value)
    return [_held_row(home, seq, page, role, memory_of_row(row)) for seq, page, role, *row in found]


def insert_row(session: Session, home: str, memory: Memory) -> HeldRow:
    """The row that a new memory becomes. Raises `ContextasmError` where the role may not write in the home."""
    names = ("home", *FIELDS)
    marks = ", ".join(["%s"] * len(names))
    statement = f"INSERT INTO ctxasm.memory ({', '.join(names)}) VALUES ({marks}) RETURNING seq, page, role::text"
    ((seq, page, role),) = session.rows(statement, home, *row_of_memory(memory))
    return _held_row(home, seq, page, role, memory)


def update_row(session: Session, seq: int, memory: Memory) -> bool:
    """Make a row hold the fields of a memory, but for those that never change; False where the role may not.

    A deleted row is one no longer.
    """
    values = dict(zip(FIELDS, row_of_memory(memory), strict=True))
    names = [name for name in FIELDS if name not in {"id", "private", "writer"}]
    assignments = ", ".join(f"{name} = %s" for name in names)
    statement = f"UPDATE ctxasm.memory SET {assignments}, deleted = false WHERE seq = %s RETURNING seq"
    return bool(session.rows(statement, *(values[name] for name in names), seq))


def with_lines(workspace: Folder, memories: Sequence[Memory]) -> list[Memory]:
    """The memories with their lines in the mirror; 0 for one that is not there."""
    lines: dict[tuple[str, str], int] = {}
    for path in {memory.path for memory in memories}:
        document = workspace.read(path)
        if isinstance(document, Document):
            lines |= {(path, memory.id): memory.line for memory in parse_memories(document)[0]}
    return [memory._replace(line=lines.get((memory.path, memory.id), 0)) for memory in memories]
