"""Memories that come into a store by their ids: those of a workspace's files, and those of other programs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from contextasm.model import CLEAN, ContextasmError, Document, Memory
from contextasm.text.decode import decode_document
from contextasm.text.exchange.checked import CheckedEntry
from contextasm.workspace.editing.import_memories import (
    ImportOutcome,
    alike_memories,
    differing_fields,
    entry_memory,
    outcome_word,
)
from contextasm.workspace.editing.memories import MemoryEditor, PrivateLines
from contextasm.workspace.folder import Folder
from contextasm.workspace.store.connection import Session
from contextasm.workspace.store.overlay import StoreOverlay
from contextasm.workspace.store.pages import (
    COLUMNS,
    FIELDS,
    memory_of_row,
    page_of_name,
    row_of_memory,
    storable_memory,
)
from contextasm.workspace.store.rows import in_transaction, update_row


class IncomingMemory(NamedTuple):
    """A memory to be stored under its id."""

    id: str
    memory: Callable[[Memory | None], Memory]
    """The memory, fit for the store, out of the one that the store has; None where it has none."""
    page: str | None = None
    """The page that it comes from; None leaves that to the store."""
    private: bool | None = None
    """Whether it is a private one, where that is known: of two rows with its id, this tells which is meant."""


class _FoundRow(NamedTuple):
    """A row with the id of an incoming memory, locked."""

    seq: int
    memory: Memory
    deleted: bool
    is_own: bool
    """Whether the role of this connection stored it."""
    role: str
    """The role that stored it."""


class ImportResult(NamedTuple):
    """Numbers of memories by what became of them."""

    stored: int
    changed: int
    unchanged: int


def import_files(overlay: StoreOverlay, home: str, private_lines: PrivateLines) -> ImportResult:
    """Store the memories of a home's files under their ids, all or none.

    Those that are there already get the files' fields, and the files stay. Memories that begin in `private_lines` are
    private in the store. Raises `ContextasmError`, with the place of a memory that can't be stored.
    """
    memories = _file_memories(overlay.root, home, private_lines)
    incoming = [
        IncomingMemory(name, partial(_as_given, each[0]), each[1], each[0].private) for name, each in memories.items()
    ]
    before = _store_by_id(overlay, home, incoming, update=True)
    new = sum(known is None for known in before)
    unchanged = sum(known == each[0] for known, each in zip(before, memories.values(), strict=True))
    return ImportResult(new, len(before) - new - unchanged, unchanged)


def _file_memories(root: str, home: str, private_lines: PrivateLines) -> Mapping[str, tuple[Memory, str | None]]:
    """The memories of a home's own files by id, in the order of their paths, with their pages.

    Raises `ContextasmError`.
    """
    workspace, folder = Folder(Path(root)), f"{home}/memories"
    editor = MemoryEditor(workspace, f"{folder}/new.md", folder)
    memories: dict[str, tuple[Memory, str | None]] = {}
    for path in sorted(editor.files):
        page = page_of_name(os.path.basename(path))
        document = decode_document(path, editor.files[path].data, CLEAN)
        private = private_lines(document) if isinstance(document, Document) else frozenset()
        for memory in editor.memories(path):
            where = f"{path}:{memory.line}"
            if memory.id in memories:
                raise ContextasmError(where, f"the id {memory.id} is taken by another memory", "give it another id")
            as_read = memory._replace(private=memory.private or memory.line in private)
            memories[memory.id] = storable_memory(as_read, where), page
    return memories


def import_entries(
    workspace: Folder,
    overlay: StoreOverlay,
    home: str,
    entries: Sequence[CheckedEntry],
    *,
    update: bool,
    dry_run: bool,
) -> list[ImportOutcome]:
    """Store entries of another program as memories of a home (`editing.import_memories.store_entries`), all or none.

    With `dry_run` the mirror alone is asked. Raises `ContextasmError`.
    """
    if not dry_run:
        overlay.pull()
    mirrored = _mirrored_memories(workspace, home)
    if dry_run:
        before = [mirrored.get(entry.id) for entry in entries]
        for entry, known in zip(entries, before, strict=True):
            _stated(entry, known)  # raises for one that can't be stored
    else:
        incoming = [IncomingMemory(entry.id, partial(_stated, entry)) for entry in entries]
        before = _store_by_id(overlay, home, incoming, update=update)
    new = [entry for entry, known in zip(entries, before, strict=True) if known is None]
    alike = alike_memories(new, mirrored.values())
    if not dry_run:
        mirrored |= _renewed_memories(workspace, overlay, home)
    outcomes: list[ImportOutcome] = []
    for entry, known in zip(entries, before, strict=True):
        fields = differing_fields(known, entry) if known else ()
        what = outcome_word(fields, is_known=known is not None, update=update)
        place = mirrored.get(entry.id)
        path, line = (place.path, place.line) if place else (f"{home}/memories", 0)
        outcomes.append(ImportOutcome(what, entry.id, path, line, fields, alike.get(entry.id, "")))
    return outcomes


def _as_given(memory: Memory, _known: Memory | None) -> Memory:
    return memory


def _stated(entry: CheckedEntry, known: Memory | None) -> Memory:
    memory = known._replace(text=entry.text, **entry.fields) if known else entry_memory(entry)
    return storable_memory(memory, entry.where)


def _mirrored_memories(workspace: Folder, home: str) -> dict[str, Memory]:
    """The memories of a home in the mirror, as they are written, by their ids."""
    folder = f"{home}/memories"
    editor = MemoryEditor(workspace, f"{folder}/new.md", folder)
    return {memory.id: memory for path in editor.files for memory in editor.memories(path)}


def _renewed_memories(workspace: Folder, overlay: StoreOverlay, home: str) -> dict[str, Memory]:
    """The memories of the pages of a home that another pull changes; none where it fails: the next read tells of it."""
    with suppress(ContextasmError):
        paths = [path for path in overlay.pull().changed if path.startswith(f"{home}/")]
        return {memory.id: memory for path in paths for memory in MemoryEditor(workspace, path).memories(path)}
    return {}


def _store_by_id(
    overlay: StoreOverlay, home: str, incoming: Sequence[IncomingMemory], *, update: bool
) -> list[Memory | None]:
    """Store the memories, all or none; gives what the store had under each id, None for nothing.

    Memories that are there already stay as they are without `update`. Raises `ContextasmError`.
    """
    overlay.require_server()

    def work(session: Session) -> list[Memory | None]:
        condition = "home = %s AND id = ANY(%s) ORDER BY seq FOR UPDATE"
        statement = (
            f"SELECT deleted, seq, role = current_user, role::text, {COLUMNS} FROM ctxasm.memory WHERE {condition}"
        )
        rows = session.rows(statement, home, [each.id for each in incoming])
        found = [_FoundRow(seq, memory_of_row(row), deleted, own, role) for deleted, seq, own, role, *row in rows]
        held = _rows_by_id(found, {each.id: each.private for each in incoming})
        before = [None if each.id not in held or held[each.id].deleted else held[each.id].memory for each in incoming]
        stated = [each.memory(known) for each, known in zip(incoming, before, strict=True)]
        new = [
            [home, each.page, *row_of_memory(memory)]
            for each, memory in zip(incoming, stated, strict=True)
            if each.id not in held
        ]
        session.insert_rows("ctxasm.memory", ("home", "page", *FIELDS), new)
        for each, known, memory in zip(incoming, before, stated, strict=True):
            if each.id in held and known != memory and (update or known is None):
                _change(session, home, held[each.id], memory)
        return before

    return in_transaction(overlay.config, work)


def _rows_by_id(rows: Sequence[_FoundRow], private: Mapping[str, bool | None]) -> dict[str, _FoundRow]:
    """The row that each id means: of several, the one that is as private as the incoming one, then the role's own."""
    held: dict[str, _FoundRow] = {}
    for row in sorted(rows, key=lambda row: (row.memory.private is private[row.memory.id], row.is_own)):
        held[row.memory.id] = row  # the last one stays: the best
    return held


def _change(session: Session, home: str, row: _FoundRow, memory: Memory) -> None:
    where = f"store: {home}"
    before = row.memory
    if row.deleted and not row.is_own:
        what = f"{memory.id} was deleted by the role {row.role}, which stored it, and only that role can store it again"
        raise ContextasmError(where, what, "give the memory in the file another id")
    if memory.private != before.private:
        what = f"{memory.id} is {'' if before.private else 'not '}private in the store, and that can't be changed"
        raise ContextasmError(where, what, "give the memory in the file another id")
    if memory.writer != before.writer:
        what = f"{memory.id} has the writer {before.writer or 'none'} in the store, and that can't be changed"
        raise ContextasmError(where, what, "give the memory in the file that writer, or another id")
    if not update_row(session, row.seq, memory):
        what = f"the memory {memory.id} can't be changed"
        raise ContextasmError(where, what, "ask for the right to write in this home")
