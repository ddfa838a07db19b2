"""Memories in a store as a place to read from and to write to.

What is written goes straight to the table. Memories that say nearly the same are found in the replica, which is brought
up to date first. Two writers who store the same text at the same moment wait for each other; two who store nearly the
same text may both store it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import date
from hashlib import md5
from pathlib import Path

from contextasm.model import ContextasmError, Decision, Document, Memory, Problem, grouped
from contextasm.text.exchange.entry import SourceEntry
from contextasm.text.memories.parser import ACTIVE_STATUSES, FieldReport, memory_of_fields, parse_memories
from contextasm.workspace.editing.memories import MemoryEditor
from contextasm.workspace.editing.remember import (
    AmongNew,
    alike_memories,
    entry_fields,
    outcome_word,
    reinforce_or_add,
    reinforced,
)
from contextasm.workspace.folder import Folder
from contextasm.workspace.storage import ImportOutcome, MemoryPlace, NewMemory, RememberOutcome
from contextasm.workspace.store.connection import Session, StoreUnreachableError
from contextasm.workspace.store.overlay import StoreOverlay
from contextasm.workspace.store.pages import is_private_id, storable_memory
from contextasm.workspace.store.rows import Row, insert_row, lock_texts, locked_rows, update_row, writable_owners
from contextasm.workspace.store.schema import in_transaction
from contextasm.workspace.store.transfer import stated_memories, store_by_id


class StoredMemories(StoreOverlay):
    """The memories of the owners that a store has, by their paths in the workspace (`workspace.storage.Overlay`)."""

    @property
    def _workspace(self) -> Folder:
        return Folder(Path(self.root), self)

    def _by_owner(self, paths: Iterable[tuple[str, str]]) -> Mapping[str, list[str]]:
        """Ids by the owners of their paths, which come as pairs, both in order."""
        ids = grouped((self.owner(path) or "", id_) for path, id_ in paths)
        return dict(sorted(ids.items()))

    def remember(
        self, place: MemoryPlace, entries: Sequence[NewMemory], day: date, *, force: bool
    ) -> list[RememberOutcome]:
        """Store the entries, or reinforce memories that say the same; with `force`, store all. All of them or none.

        The replica then has them. Raises `ContextasmError` as `store_memories` of files, if the store can't be
        reached, and for a text that a page can't hold.
        """
        new = [(entry, _new_memory(entry, day)) for entry in entries]
        try:
            self.pull()
            editor = MemoryEditor(self._workspace, place._replace(path=f"{place.folder}/new.md"))
            owner = self.owner(place.path) or ""
            outcomes = self._remember(owner, editor, new, day, force=force)
        except StoreUnreachableError as error:
            raise ContextasmError(error.where, f"{error.what}; nothing was stored", error.hint) from error
        placed = self._pulled([outcome.memory for outcome in outcomes])
        return [outcome._replace(memory=memory) for outcome, memory in zip(outcomes, placed, strict=True)]

    def _remember(
        self, owner: str, editor: MemoryEditor, new: Sequence[tuple[NewMemory, Memory]], day: date, *, force: bool
    ) -> list[RememberOutcome]:
        """Store new entries, each with the memory that it may become, in addition to the memories of the replica."""
        replaced = editor.superseded_by([entry for entry, _ in new]).keys()
        added: list[NewMemory] = []
        said = [reinforce_or_add(editor, added, entry, day, force=force) for entry, _ in new]
        ids = {*replaced, *(each.memory.id for each in said if isinstance(each, RememberOutcome))}
        texts = [memory.text for (_, memory), each in zip(new, said, strict=True) if isinstance(each, AmongNew)]

        def work(session: Session) -> list[RememberOutcome]:
            lock_texts(session, owner, [memory.text for _, memory in new])  # before any row is locked
            alike = "md5(text) = ANY(%s) AND NOT private AND status IN ('active', 'approved')"
            sums = [] if force else [md5(text.encode(), usedforsecurity=False).hexdigest() for text in texts]
            rows = locked_rows(session, owner, f"NOT deleted AND (id = ANY(%s) OR {alike})", [*ids], sums)
            writer = _Writer(session, owner, day, rows, force=force)
            outcomes = [writer.write(*each, said_so) for each, said_so in zip(new, said, strict=True)]
            writer.supersede(replaced)
            return outcomes

        return in_transaction(self.config, work)

    def _pulled(self, memories: Sequence[Memory]) -> list[Memory]:
        """The memories with their lines in the replica, which is brought up to date; 0 for one that is not there."""
        with suppress(ContextasmError):  # they are written, and the next read tells what is wrong
            self.pull()
        lines = {memory.id: memory.line for memory in self._on_pages({memory.path for memory in memories})}
        return [memory._replace(line=lines.get(memory.id, 0)) for memory in memories]

    def import_entries(
        self, place: MemoryPlace, entries: Sequence[SourceEntry], *, update: bool, dry_run: bool
    ) -> list[ImportOutcome]:
        """Store entries of another program (`editing.remember.store_entries`), all or none.

        With `dry_run` only the replica is asked. Raises `ContextasmError`.
        """
        if not dry_run:
            self.pull()
        owner = self.owner(place.path) or ""
        editor = MemoryEditor(self._workspace, MemoryPlace(place.folder, f"{place.folder}/new.md"))
        memories = {memory.id: memory for path in sorted(editor.files) for memory in editor.memories(path)}
        known = [*memories.values()]
        if dry_run:
            state = self.state().owners.get(owner)
            rows = {id_: Row(0, memory._replace(line=0), "") for id_, memory in memories.items()}
            stated = stated_memories(entries, state.number if state else 0, rows, rows)
            pairs = [(row.memory if row else None, memory) for row, memory in stated]
        else:
            pairs = store_by_id(self, owner, entries, {}, update=update)
            with suppress(ContextasmError):  # the next read reports it
                pages = [path for path in self.pull() if path.startswith(f"{owner}/")]
                memories |= {memory.id: memory for memory in self._on_pages(pages)}
        alike = alike_memories([each for each, (old, _) in zip(entries, pairs, strict=True) if old is None], known)
        outcomes: list[ImportOutcome] = []
        for entry, (old, memory) in zip(entries, pairs, strict=True):
            names = ("text", *entry.fields)
            differing = tuple(name for name in names if old and getattr(old, name) != getattr(memory, name))
            what = outcome_word(differing, is_known=old is not None, update=update)
            stored = memories.get(memory.id)
            path, line = (stored.path, stored.line) if stored else (place.folder, 0)
            outcomes.append(ImportOutcome(what, memory.id, path, line, differing, alike.get(entry.id, "")))
        return outcomes

    def _on_pages(self, paths: Collection[str]) -> Iterator[Memory]:
        """The memories of some pages of the replica."""
        for path in paths:
            if isinstance(document := self._workspace.read(path), Document):
                yield from parse_memories(document)[0]

    def change(self, memories: Sequence[Memory], change: Callable[[Memory], Memory]) -> list[tuple[Memory, Memory]]:
        """Change fields of memories; gives each as it was and as it is, all or none. The replica then has the change.

        `change` may raise. Raises `ContextasmError` for a memory that is gone, and if the role may not write.
        """
        self.require_server()

        def work(session: Session) -> list[tuple[Memory, Memory]]:
            pairs: list[tuple[Memory, Memory]] = []
            for owner, ids in self._by_owner((memory.path, memory.id) for memory in memories).items():
                rows = locked_rows(session, owner, "id = ANY(%s) AND NOT deleted", ids)
                if gone := next((id_ for id_ in ids if id_ not in rows), None):
                    what = f"can't be changed: it was deleted, or your role may not write in {owner}"
                    raise ContextasmError(
                        f"memory `{gone}`", what, "check `ctxasm store status`; nothing has been changed"
                    )
                for row in (rows[id_] for id_ in ids):
                    pairs.append((row.memory, change(row.memory)))
                    if pairs[-1][0] != pairs[-1][1]:
                        update_row(session, row.seq, pairs[-1][1])
            return pairs

        pairs = in_transaction(self.config, work)
        after = self._pulled([memory for _, memory in pairs])
        return [(before, memory) for (before, _), memory in zip(pairs, after, strict=True)]

    def touch(self, shown: Sequence[Decision], day: date, *, dry_run: bool) -> Problem | None:
        """Set `accessed` of memories that a context shows to a day; the problem with that.

        A later day stays, and a memory that is gone is left out. A store that can't be written is not an error: the
        context is built, and a lost day of access does no harm.
        """
        if dry_run:
            return None
        where = f"store {self.config.address}"
        hint = "ask the owner of the store for access (docs/store.md)"
        try:
            self.require_server()
            refused = in_transaction(self.config, lambda session: self._touch(session, shown, day))
        except ContextasmError as error:
            where, reason, hint = error.where, error.what, error.hint
        else:
            reason = f"your role may not write in {', '.join(refused)}" if refused else ""
        message = f"the store could not set the day of access: {reason}"
        return Problem("store-untouched", where, 0, message, hint) if reason else None

    def _touch(self, session: Session, shown: Sequence[Decision], day: date) -> Sequence[str]:
        """Touch memories; gives the owners whose memories the role may not change."""
        ids = self._by_owner((each.path, each.fragment) for each in shown)
        writable = writable_owners(session)
        condition = "id = ANY(%s) AND NOT deleted AND (accessed IS NULL OR accessed < %s)"
        for owner in (owner for owner in ids if owner in writable):
            rows = locked_rows(session, owner, condition, ids[owner], day)
            numbers = sorted(row.seq for row in rows.values())
            session.rows("UPDATE ctxasm.memory SET accessed = %s WHERE seq = ANY(%s)", day, numbers)
        return [owner for owner in ids if owner not in writable]


def _new_memory(entry: NewMemory, day: date) -> Memory:
    """The memory that an entry may become, with a new id, of which nothing of its text can be guessed.

    Raises `ContextasmError` for one that can't be stored.
    """
    import secrets

    fields = {"id": secrets.token_hex(6), "type": entry.type, "created": str(day), **entry_fields(entry)}
    return storable_memory(memory_of_fields("", 0, entry.text, fields, FieldReport("")), "TEXT")


class _Writer:
    """Memories of one owner that a transaction changes or adds."""

    def __init__(self, session: Session, owner: str, day: date, rows: Mapping[str, Row], *, force: bool) -> None:
        """`rows` are the locked ones, by their ids: of known memories, of replaced ones, and with equal texts."""
        self._session = session
        self._owner = owner
        self._day = day
        self._rows = dict(rows)
        self._force = force
        self._written: dict[int, str] = {}
        """Ids of the rows that the new entries of the call became, by their numbers among these."""

    def write(self, entry: NewMemory, memory: Memory, said: RememberOutcome | AmongNew) -> RememberOutcome:
        """Reinforce the memory that says the same, if it still may be, else store `memory`, that of the entry.

        Raises `ContextasmError` if the role may not change one.
        """
        row = self._same(entry, memory.text, said)
        row = row if row and entry.may_reinforce(row.memory) else None
        # An open memory names no private one, whose status says enough: others would read its id.
        is_private = (row.memory if row else memory).private
        named = tuple(name for name in entry.supersedes if is_private or not is_private_id(name))
        if row:
            known, unmerged = reinforced(row.memory, entry._replace(supersedes=named), self._day)
            outcome = RememberOutcome("reinforced", known, said.alike, unmerged)
            self._update(row, known)
        else:
            row = insert_row(self._session, self._owner, memory._replace(supersedes=named))
            outcome = RememberOutcome("stored", row.memory, 1.0)
        self._rows[row.memory.id] = row._replace(memory=outcome.memory)
        if isinstance(said, AmongNew):
            self._written.setdefault(said.at, row.memory.id)
        return outcome

    def _same(self, entry: NewMemory, text: str, said: RememberOutcome | AmongNew) -> Row | None:
        """The row of the memory that says the same as an entry, whose text a row has as `text`; None for none."""
        id_ = said.memory.id if isinstance(said, RememberOutcome) else self._written.get(said.at, "")
        if id_ in self._rows or self._force or isinstance(said, RememberOutcome):
            return self._rows.get(id_)
        # Stored by another writer after the replica was brought up to date.
        equal = (row for row in self._rows.values() if row.memory.text == text and not row.memory.private)
        return next((row for row in equal if row.memory.id not in entry.supersedes), None)

    def supersede(self, replaced: AbstractSet[str]) -> None:
        """Give replaced memories the status `superseded`. Raises `ContextasmError` as `write`."""
        for row in (self._rows[id_] for id_ in sorted(replaced & self._rows.keys())):
            if row.memory.status in ACTIVE_STATUSES:
                self._update(row, row.memory._replace(status="superseded"))

    def _update(self, row: Row, memory: Memory) -> None:
        if not update_row(self._session, row.seq, memory):
            what = f"the memory {memory.id} can't be changed"
            raise ContextasmError(f"store: {self._owner}", what, "ask for the right to write for this owner")
