"""Writing into a store: memories to remember, and days of access. What is written goes straight to the table.

Memories that say nearly the same are found in the mirror, which is brought up to date first. Two writers who store the
same text at the same moment wait for each other; two who store nearly the same text may both store it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any, NamedTuple, TypeVar

from contextasm.model import ContextasmError, Document, Memory
from contextasm.text.memory_fields import FieldReport, memory_of_fields
from contextasm.text.memory_parser import ACTIVE_STATUSES, parse_memories
from contextasm.workspace.editing.memories import MemoryEditor, PrivateLines
from contextasm.workspace.editing.remember import (
    AmongNew,
    NewMemory,
    RememberOutcome,
    check_superseded_ids,
    entry_fields,
    reinforce_or_add,
    reinforced,
)
from contextasm.workspace.folder import Folder
from contextasm.workspace.store.connection import Session, StoreUnreachableError, TransactionLostError, open_session
from contextasm.workspace.store.overlay import StoreOverlay
from contextasm.workspace.store.pages import (
    COLUMNS,
    FIELDS,
    memory_of_row,
    new_id,
    page_name,
    row_of_memory,
    storable_memory,
)
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


def remember_in_store(
    workspace: Folder,
    overlay: StoreOverlay,
    home: str,
    entries: Sequence[NewMemory],
    day: date,
    *,
    force: bool,
    private_lines: PrivateLines | None = None,
) -> list[RememberOutcome]:
    """Store the entries as memories of a home, or reinforce memories that say the same; with `force`, store all.

    All of them or none. The mirror then has them. Raises `ContextasmError` as `store_memories` of files, where the
    store can't be reached, and for a text that a page can't hold.
    """
    for entry in entries:
        storable_memory(_new_memory(entry, day), "TEXT")
    try:
        outcomes = _remember(workspace, overlay, home, entries, day, force=force, private_lines=private_lines)
    except StoreUnreachableError as error:
        raise ContextasmError(error.where, f"{error.what}; nothing was stored", error.hint) from error
    with suppress(ContextasmError):  # they are stored, and the next read tells what is wrong
        overlay.pull()
    return _placed(workspace, outcomes)


def _remember(
    workspace: Folder,
    overlay: StoreOverlay,
    home: str,
    entries: Sequence[NewMemory],
    day: date,
    *,
    force: bool,
    private_lines: PrivateLines | None,
) -> list[RememberOutcome]:
    overlay.pull()
    folder = f"{home}/memories"
    editor = MemoryEditor(workspace, f"{folder}/new.md", folder, private_lines)
    check_superseded_ids(editor, entries)
    added: list[NewMemory] = []
    said = [reinforce_or_add(editor, added, entry, day, force=force) for entry in entries]
    replaced = [name for entry in entries for name in entry.supersedes]

    def work(session: Session) -> list[RememberOutcome]:
        writer = _Writer(session, home, day, force=force)
        writer.lock([*replaced, *(each.memory.id for each in said if isinstance(each, RememberOutcome))])
        writer.lock_texts([entry.text for entry in entries])
        outcomes = [writer.write(entry, each) for entry, each in zip(entries, said, strict=True)]
        writer.supersede(replaced)
        writer.save()
        return outcomes

    return in_transaction(overlay.config, work)


def _new_memory(entry: NewMemory, day: date) -> Memory:
    fields = {"id": new_id(), "type": entry.type, "created": str(day), **entry_fields(entry)}
    return memory_of_fields("", 0, entry.text, fields, FieldReport(""))


class _HeldRow(NamedTuple):
    """A row that a transaction has locked, or added."""

    seq: int
    memory: Memory
    """With the path of its page."""


class _Writer:
    """Memories of one home that a transaction changes or adds."""

    def __init__(self, session: Session, home: str, day: date, *, force: bool) -> None:
        self._session = session
        self._home = home
        self._day = day
        self._force = force
        self._rows: dict[str, _HeldRow] = {}
        self._changed: set[str] = set()
        self._written: dict[int, str] = {}
        """Ids of the memories that the new entries of the call became, by their numbers among these."""

    def lock(self, ids: Sequence[str]) -> None:
        """Take these memories for this transaction; always in the same order, so that no two wait for each other."""
        self._take("id = ANY(%s)", [*ids])

    def lock_texts(self, texts: Sequence[str]) -> None:
        """Wait for other transactions that store one of these texts."""
        keys = "SELECT DISTINCT hashtextextended(%s || chr(10) || text, 0) AS key FROM unnest(%s::text[]) AS t(text)"
        statement = f"SELECT pg_advisory_xact_lock(key) FROM ({keys} ORDER BY key) AS keys"
        self._session.rows(statement, self._home, [*texts])

    def _take(self, condition: str, value: object) -> list[str]:
        """Lock the rows that meet a condition; gives the ids of their memories."""
        columns = f"seq, page, role::text, {COLUMNS}"
        statement = f"SELECT {columns} FROM ctxasm.memory WHERE home = %s AND {condition} ORDER BY seq FOR UPDATE"
        rows = [
            self._held(seq, page, role, memory_of_row(row)) for seq, page, role, *row in self._found(statement, value)
        ]
        for row in rows:
            self._rows.setdefault(row.memory.id, row)
        return [row.memory.id for row in rows]

    def _found(self, statement: str, value: object) -> list[tuple[Any, ...]]:
        return self._session.rows(statement, self._home, value)

    def _held(self, seq: int, page: str, role: str, memory: Memory) -> _HeldRow:
        return _HeldRow(seq, memory._replace(path=f"{self._home}/memories/{page_name(page, role)}"))

    def write(self, entry: NewMemory, said: RememberOutcome | AmongNew) -> RememberOutcome:
        """Reinforce the memory that says the same, if it is still active, else store the entry."""
        number = said.at if isinstance(said, AmongNew) else None
        name, alike = self._same(entry, said)
        row = self._rows.get(name)
        if row and row.memory.status in ACTIVE_STATUSES:
            memory, unmerged = reinforced(row.memory, entry, self._day)
            outcome = RememberOutcome("reinforced", memory, alike, unmerged)
            self._changed.add(name)
        else:
            row = self._insert(_new_memory(entry, self._day))
            outcome = RememberOutcome("stored", row.memory, 1.0)
        self._rows[outcome.memory.id] = row._replace(memory=outcome.memory)
        if number is not None:
            self._written.setdefault(number, outcome.memory.id)
        return outcome

    def _same(self, entry: NewMemory, said: RememberOutcome | AmongNew) -> tuple[str, float]:
        """The id of the memory that says the same as an entry, empty for none, and its likeness."""
        if isinstance(said, RememberOutcome):
            return said.memory.id, said.alike
        if name := self._written.get(said.at):
            return name, said.alike
        if self._force:
            return "", 1.0
        # Stored by another writer after the mirror was brought up to date.
        condition = "md5(text) = md5(%s) AND NOT private AND NOT deleted AND status IN ('active', 'approved')"
        return next(iter(self._take(condition, entry.text)), ""), 1.0

    def _insert(self, memory: Memory) -> _HeldRow:
        names = ("home", *FIELDS)
        marks = ", ".join(["%s"] * len(names))
        statement = f"INSERT INTO ctxasm.memory ({', '.join(names)}) VALUES ({marks}) RETURNING seq, page, role::text"
        ((seq, page, role),) = self._session.rows(statement, self._home, *row_of_memory(memory))
        return self._held(seq, page, role, memory)

    def supersede(self, ids: Iterable[str]) -> None:
        """Give memories that are replaced the status `superseded`."""
        for name in ids:
            row = self._rows.get(name)
            if row and row.memory.status in ACTIVE_STATUSES:
                self._rows[name] = row._replace(memory=row.memory._replace(status="superseded"))
                self._changed.add(name)

    def save(self) -> None:
        """Write the changed memories. Raises `ContextasmError` where the role may not change one."""
        for seq, memory in sorted(self._rows[name] for name in self._changed):
            if not update_row(self._session, seq, memory):
                what = f"the memory {memory.id} can't be changed"
                raise ContextasmError(f"store: {self._home}", what, "ask for the right to write in this home")


def update_row(session: Session, seq: int, memory: Memory) -> bool:
    """Make a row hold the fields of a memory, but for those that never change; False where the role may not.

    A deleted row is one no longer.
    """
    values = dict(zip(FIELDS, row_of_memory(memory), strict=True))
    names = [name for name in FIELDS if name not in {"id", "private", "writer"}]
    assignments = ", ".join(f"{name} = %s" for name in names)
    statement = f"UPDATE ctxasm.memory SET {assignments}, deleted = false WHERE seq = %s RETURNING seq"
    return bool(session.rows(statement, *(values[name] for name in names), seq))


def _placed(workspace: Folder, outcomes: Sequence[RememberOutcome]) -> list[RememberOutcome]:
    """The outcomes with the lines of their memories in the mirror."""
    lines: dict[tuple[str, str], int] = {}
    for path in {outcome.memory.path for outcome in outcomes}:
        document = workspace.read(path)
        if isinstance(document, Document):
            lines |= {(path, memory.id): memory.line for memory in parse_memories(document)[0]}
    return [
        outcome._replace(memory=memory._replace(line=lines.get((memory.path, memory.id), 0)))
        for outcome in outcomes
        for memory in [outcome.memory]
    ]


def touch_in_store(overlay: StoreOverlay, ids: Mapping[str, Sequence[str]], day: date) -> int:
    """Set `accessed` of memories, by their homes, to a day; gives the number of those that changed.

    A later day stays. Raises `ContextasmError`.
    """
    overlay.require_server()
    statement = (
        "UPDATE ctxasm.memory SET accessed = %s WHERE seq IN (SELECT seq FROM ctxasm.memory WHERE home = %s"
        " AND id = ANY(%s) AND (accessed IS NULL OR accessed < %s) ORDER BY seq FOR UPDATE) RETURNING seq"
    )

    def work(session: Session) -> int:
        return sum(len(session.rows(statement, day, home, [*names], day)) for home, names in sorted(ids.items()))

    return in_transaction(overlay.config, work)
