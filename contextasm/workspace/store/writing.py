"""Writing into a store: memories to remember, and days of access. What is written goes straight to the table.

Memories that say nearly the same are found in the mirror, which is brought up to date first. Two writers who store the
same text at the same moment wait for each other; two who store nearly the same text may both store it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date

from contextasm.model import ContextasmError, Memory
from contextasm.text.memory_fields import FieldReport, memory_of_fields
from contextasm.text.memory_parser import ACTIVE_STATUSES
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
from contextasm.workspace.store.connection import Session, StoreUnreachableError
from contextasm.workspace.store.overlay import StoreOverlay
from contextasm.workspace.store.pages import new_id, storable_memory
from contextasm.workspace.store.rows import HeldRow, in_transaction, insert_row, locked_rows, update_row, with_lines


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
    placed = with_lines(workspace, [outcome.memory for outcome in outcomes])
    return [outcome._replace(memory=memory) for outcome, memory in zip(outcomes, placed, strict=True)]


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


class _Writer:
    """Memories of one home that a transaction changes or adds."""

    def __init__(self, session: Session, home: str, day: date, *, force: bool) -> None:
        self._session = session
        self._home = home
        self._day = day
        self._force = force
        self._rows: dict[str, HeldRow] = {}
        self._changed: set[str] = set()
        self._written: dict[int, str] = {}
        """Ids of the memories that the new entries of the call became, by their numbers among these."""

    def lock(self, ids: Sequence[str]) -> None:
        """Take these memories for this transaction; always in the same order, so that no two wait for each other."""
        self._take("id = ANY(%s) AND NOT deleted", [*ids])

    def lock_texts(self, texts: Sequence[str]) -> None:
        """Wait for other transactions that store one of these texts."""
        keys = "SELECT DISTINCT hashtextextended(%s || chr(10) || text, 0) AS key FROM unnest(%s::text[]) AS t(text)"
        statement = f"SELECT pg_advisory_xact_lock(key) FROM ({keys} ORDER BY key) AS keys"
        self._session.rows(statement, self._home, [*texts])

    def _take(self, condition: str, value: object) -> list[str]:
        """Lock the rows that meet a condition; gives the ids of their memories."""
        rows = locked_rows(self._session, self._home, condition, value)
        for row in rows:
            self._rows.setdefault(row.memory.id, row)
        return [row.memory.id for row in rows]

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
            row = insert_row(self._session, self._home, _new_memory(entry, self._day))
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


def change_in_store(
    workspace: Folder, overlay: StoreOverlay, memories: Sequence[Memory], change: Callable[[Memory], Memory]
) -> list[tuple[Memory, Memory]]:
    """Change memories, which the mirror has, in their table; gives each as it was there and as it is, all or none.

    `change` may raise, and its result differs in fields alone. The mirror then has the change. Raises `ContextasmError`
    for a memory that is gone, and where the role may not write.
    """
    overlay.require_server()
    by_home: dict[str, list[Memory]] = {}
    for memory in memories:
        by_home.setdefault(overlay.home(memory.path) or "", []).append(memory)

    def work(session: Session) -> list[tuple[Memory, Memory]]:
        changed: list[tuple[Memory, Memory]] = []
        for home, of_home in sorted(by_home.items()):
            rows = locked_rows(session, home, "id = ANY(%s) AND NOT deleted", [memory.id for memory in of_home])
            held = {row.memory.id: row for row in reversed(rows)}
            for memory in of_home:
                row = held.get(memory.id)
                if row is None:
                    what = f"can't be changed: it is gone from the store, or your role may not write in {home}"
                    raise ContextasmError(memory.id, what, "look with `ctxasm store status`; nothing has been changed")
                changed.append((row.memory, change(row.memory)))
                if changed[-1][0] != changed[-1][1]:
                    update_row(session, row.seq, changed[-1][1])
        return changed

    pairs = in_transaction(overlay.config, work)
    with suppress(ContextasmError):  # it is done, and the next read tells what is wrong
        overlay.pull()
    after = with_lines(workspace, [memory for _, memory in pairs])
    return [(before, memory) for (before, _), memory in zip(pairs, after, strict=True)]


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
