"""Writing into a store: memories to remember, and days of access. What is written goes straight to the table.

Memories that say nearly the same are found in the mirror, which is brought up to date first. Two writers who store the
same text at the same moment wait for each other; two who store nearly the same text may both store it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from hashlib import md5

from contextasm.model import ContextasmError, FolderFacts, Memory
from contextasm.text.memories.fields import FieldReport, memory_of_fields
from contextasm.text.memories.parser import ACTIVE_STATUSES
from contextasm.workspace.editing.memories import MemoryEditor, PrivateLines
from contextasm.workspace.editing.remember import (
    AmongNew,
    NewMemory,
    RememberOutcome,
    entry_fields,
    reinforce_or_add,
    reinforced,
    superseded_memories,
)
from contextasm.workspace.folder import Folder
from contextasm.workspace.store.connection import Session
from contextasm.workspace.store.errors import StoreUnreachableError
from contextasm.workspace.store.overlay import StoreOverlay
from contextasm.workspace.store.pages import names_of_row, new_id, storable_memory
from contextasm.workspace.store.rows import (
    HeldRow,
    MemoryAt,
    find_row,
    in_transaction,
    insert_row,
    lock_texts,
    locked_rows,
    rows_by_place,
    touch_rows,
    update_row,
    with_lines,
    writable_homes,
)


def remember_in_store(
    workspace: Folder,
    overlay: StoreOverlay,
    home: str,
    entries: Sequence[NewMemory],
    day: date,
    *,
    force: bool,
    private_lines: PrivateLines | None = None,
    stored: FolderFacts | None = None,
) -> list[RememberOutcome]:
    """Store the entries as memories of a home, or reinforce memories that say the same; with `force`, store all.

    All of them or none. The mirror then has them. `stored` is of the home's pages, and spares reading them.

    Raises `ContextasmError` as `store_memories` of files, where the store can't be reached, and for a text that a page
    can't hold.
    """
    new = [(entry, _new_memory(entry, day)) for entry in entries]
    try:
        overlay.pull()
        folder = f"{home}/memories"
        editor = MemoryEditor(workspace, f"{folder}/new.md", folder, private_lines, stored)
        outcomes = _remember(overlay, home, editor, new, day, force=force)
    except StoreUnreachableError as error:
        raise ContextasmError(error.where, f"{error.what}; nothing was stored", error.hint) from error
    with suppress(ContextasmError):  # they are stored, and the next read tells what is wrong
        overlay.pull()
    placed = with_lines(workspace, [outcome.memory for outcome in outcomes])
    return [outcome._replace(memory=memory) for outcome, memory in zip(outcomes, placed, strict=True)]


def _remember(
    overlay: StoreOverlay,
    home: str,
    editor: MemoryEditor,
    new: Sequence[tuple[NewMemory, Memory]],
    day: date,
    *,
    force: bool,
) -> list[RememberOutcome]:
    """Store new entries, each with the memory that it may become, beside those that the editor has of the mirror."""
    entries = [entry for entry, _ in new]
    superseded = superseded_memories(editor, entries)
    replaced = {name: MemoryAt(memory.path, memory.id) for name, memory in superseded.items()}
    added: list[NewMemory] = []
    said = [reinforce_or_add(editor, added, entry, day, force=force) for entry in entries]
    known = [MemoryAt(each.memory.path, each.memory.id) for each in said if isinstance(each, RememberOutcome)]
    texts = [memory.text for (_, memory), each in zip(new, said, strict=True) if isinstance(each, AmongNew)]

    def work(session: Session) -> list[RememberOutcome]:
        writer = _Writer(session, home, day, replaced, force=force)
        writer.lock_texts([memory.text for _, memory in new])
        writer.lock([*replaced.values(), *known], [] if force else texts)
        outcomes = [writer.write(*each, said_so) for each, said_so in zip(new, said, strict=True)]
        writer.supersede()
        writer.save()
        return outcomes

    return in_transaction(overlay.config, work)


def _new_memory(entry: NewMemory, day: date) -> Memory:
    """The memory that an entry may become, with a new id. Raises `ContextasmError` for one that can't be stored."""
    fields = {"id": new_id(), "type": entry.type, "created": str(day), **entry_fields(entry)}
    return storable_memory(memory_of_fields("", 0, entry.text, fields, FieldReport("")), "TEXT")


class _Writer:
    """Memories of one home that a transaction changes or adds."""

    def __init__(
        self, session: Session, home: str, day: date, replaced: Mapping[str, MemoryAt], *, force: bool
    ) -> None:
        """`replaced` has the places of the memories that entries supersede, by the ids that these name."""
        self._session = session
        self._home = home
        self._day = day
        self._replaced = replaced
        self._force = force
        self._rows: dict[int, HeldRow] = {}
        self._places: dict[MemoryAt, int] = {}
        """Numbers of the rows by the places that they were asked for."""
        self._changed: set[int] = set()
        self._written: dict[int, int] = {}
        """Numbers of the rows that the new entries of the call became, by their numbers among these."""

    def lock_texts(self, texts: Sequence[str]) -> None:
        """Wait for other transactions that store one of these texts. Always before any row is locked."""
        lock_texts(self._session, self._home, texts)

    def lock(self, places: Sequence[MemoryAt], texts: Sequence[str]) -> None:
        """Take the memories at these places, and the open ones with these texts, for this transaction.

        All at once and in one order, so that no two transactions wait for each other.
        """
        alike = "md5(text) = ANY(%s) AND NOT private AND status IN ('active', 'approved')"
        names = [name for place in places for name in names_of_row(place.id)]
        sums = [md5(text.encode(), usedforsecurity=False).hexdigest() for text in texts]
        rows = locked_rows(self._session, self._home, f"NOT deleted AND (id = ANY(%s) OR {alike})", names, sums)
        self._rows = {row.seq: row for row in rows}
        held = rows_by_place(rows)
        self._places = {place: row.seq for place in places if (row := find_row(held, place))}

    def write(self, entry: NewMemory, memory: Memory, said: RememberOutcome | AmongNew) -> RememberOutcome:
        """Reinforce the memory that says the same, if it is still active, else store `memory`, that of the entry."""
        number = said.at if isinstance(said, AmongNew) else None
        superseded = self._superseded_ids(entry, memory)
        entry, memory = entry._replace(supersedes=superseded), memory._replace(supersedes=superseded)
        row = self._same(entry, memory.text, said)
        if row and row.memory.status in ACTIVE_STATUSES:
            known, unmerged = reinforced(row.memory, entry, self._day)
            if not row.is_own and known.supersedes != row.memory.supersedes:
                # Only the role that stored a memory says what it supersedes: on a page of its own it would read
                # an id of a private memory that another one guessed.
                lacks = [name for name in known.supersedes if name not in row.memory.supersedes]
                known = known._replace(supersedes=row.memory.supersedes)
                unmerged = (*unmerged, f"supersedes={','.join(lacks)}")
            outcome = RememberOutcome("reinforced", known, said.alike, unmerged)
            self._changed.add(row.seq)
        else:
            row = insert_row(self._session, self._home, memory)
            outcome = RememberOutcome("stored", row.memory, 1.0)
        self._rows[row.seq] = row._replace(memory=outcome.memory)
        if number is not None:
            self._written.setdefault(number, row.seq)
        return outcome

    def _superseded_ids(self, entry: NewMemory, memory: Memory) -> tuple[str, ...]:
        """The ids that `memory`, that of an entry, supersedes, as their rows have them: `ID~2` is a workspace's name.

        An open memory names no private one, whose status says enough: others read its id as that of an open one.
        """
        rows = [self._rows.get(self._places.get(self._replaced[name], 0)) for name in entry.supersedes]
        return tuple(row.memory.id for row in rows if row and (memory.private or not row.memory.private))

    def _same(self, entry: NewMemory, text: str, said: RememberOutcome | AmongNew) -> HeldRow | None:
        """The row of the memory that says the same as an entry, whose text a row has as `text`; None for none."""
        if isinstance(said, RememberOutcome):
            seq = self._places.get(MemoryAt(said.memory.path, said.memory.id))
        else:
            seq = self._written.get(said.at)
        if seq is not None:
            return self._rows[seq]
        if self._force or isinstance(said, RememberOutcome):
            return None
        # Stored by another writer after the mirror was brought up to date.
        equal = (row for row in self._rows.values() if row.memory.text == text and not row.memory.private)
        return next((row for row in equal if row.memory.id not in entry.supersedes), None)

    def supersede(self) -> None:
        """Give memories that are replaced the status `superseded`."""
        for seq in (self._places[place] for place in self._replaced.values() if place in self._places):
            row = self._rows[seq]
            if row.memory.status in ACTIVE_STATUSES:
                self._rows[seq] = row._replace(memory=row.memory._replace(status="superseded"))
                self._changed.add(seq)

    def save(self) -> None:
        """Write the changed memories. Raises `ContextasmError` where the role may not change one."""
        for seq in sorted(self._changed):
            memory = self._rows[seq].memory
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

    def work(session: Session) -> list[tuple[str, Memory, Memory]]:
        return [
            (memory.id, *_changed(session, home, held, memory, change))
            for home, of_home in sorted(by_home.items())
            for held in [_rows_of(session, home, of_home)]
            for memory in of_home
        ]

    changes = in_transaction(overlay.config, work)
    with suppress(ContextasmError):  # it is done, and the next read tells what is wrong
        overlay.pull()
    after = with_lines(workspace, [memory for _, _, memory in changes])
    # Under the ids that they were named by: of equal ids, the workspace gives the second one another.
    return [
        (before._replace(id=name), memory._replace(id=name))
        for (name, before, _), memory in zip(changes, after, strict=True)
    ]


def _rows_of(session: Session, home: str, memories: Sequence[Memory]) -> Mapping[MemoryAt, HeldRow]:
    ids = [name for memory in memories for name in names_of_row(memory.id)]
    return rows_by_place(locked_rows(session, home, "id = ANY(%s) AND NOT deleted", ids))


def _changed(
    session: Session,
    home: str,
    held: Mapping[MemoryAt, HeldRow],
    memory: Memory,
    change: Callable[[Memory], Memory],
) -> tuple[Memory, Memory]:
    """A memory as its row was, and as `change` makes it, which is written where it differs."""
    row = find_row(held, MemoryAt(memory.path, memory.id))
    if row is None:
        what = f"can't be changed: it is gone from the store, or your role may not write in {home}"
        raise ContextasmError(memory.id, what, "look with `ctxasm store status`; nothing has been changed")
    changed = change(row.memory)
    if changed != row.memory:
        update_row(session, row.seq, changed)
    return row.memory, changed


def touch_in_store(overlay: StoreOverlay, places: Iterable[MemoryAt], day: date) -> Sequence[str]:
    """Set `accessed` of the memories at these places to a day; gives the homes whose memories the role may not change.

    A later day stays, and a memory that is gone is left out. Raises `ContextasmError`.
    """
    overlay.require_server()
    by_home: dict[str, list[MemoryAt]] = {}
    for place in places:
        by_home.setdefault(overlay.home(place.path) or "", []).append(place)

    def work(session: Session) -> Sequence[str]:
        writable = writable_homes(session)
        for home, of_home in sorted(each for each in by_home.items() if each[0] in writable):
            names = [name for place in of_home for name in names_of_row(place.id)]
            condition = "id = ANY(%s) AND NOT deleted AND (accessed IS NULL OR accessed < %s)"
            held = rows_by_place(locked_rows(session, home, condition, names, day))
            touch_rows(session, {row.seq for place in of_home if (row := find_row(held, place))}, day)
        return sorted(by_home.keys() - writable)

    return in_transaction(overlay.config, work)
