"""Memories that come into a store by their ids, such as those of a workspace's files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from contextasm.model import CLEAN, ContextasmError, Document, Memory
from contextasm.text.cleaning.decode import decode_document
from contextasm.workspace.editing.memories import MemoryEditor, PrivateLines
from contextasm.workspace.folder import Folder
from contextasm.workspace.store.connection import Session
from contextasm.workspace.store.errors import StatementError
from contextasm.workspace.store.overlay import StoreOverlay
from contextasm.workspace.store.pages import (
    COLUMNS,
    FIELDS,
    PageName,
    as_shown,
    memory_of_row,
    page_of_name,
    row_of_memory,
    storable_memory,
    superseded_ids,
)
from contextasm.workspace.store.rows import IN_HOME, in_transaction, own_private_ids, update_row

_ANOTHER_ID = "give the memory in the file another id"


class IncomingMemory(NamedTuple):
    """A memory to be stored under its id."""

    id: str
    where: str
    """Its place and its id, as messages name it."""
    memory: Callable[[Memory | None], Memory]
    """The memory, fit for the store, out of the one that the store has; None where it has none."""
    page: PageName | None = None
    """The page that it is to be on; None leaves that to the store."""
    private: bool | None = None
    """Whether it is a private one, where that is known: of two rows with its id, this tells which is meant."""


class _FoundRow(NamedTuple):
    """A row with the id of an incoming memory, locked."""

    seq: int
    memory: Memory
    """As the pages show it to the role of this connection."""
    supersedes: tuple[str, ...]
    """All ids that it supersedes, also those that the pages do not show."""
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
    incoming = _file_memories(overlay.root, home, private_lines)
    before = store_by_id(overlay, home, incoming, update=True)
    new = sum(known is None for known in before)
    unchanged = sum(known == each.memory(known) for known, each in zip(before, incoming, strict=True))
    return ImportResult(new, len(before) - new - unchanged, unchanged)


def _file_memories(root: str, home: str, private_lines: PrivateLines) -> list[IncomingMemory]:
    """The memories of a home's own files, in the order of their paths.

    Two may have one id where one of them is private, as in an export. Raises `ContextasmError`.
    """
    workspace, folder = Folder(Path(root)), f"{home}/memories"
    editor = MemoryEditor(workspace, f"{folder}/new.md", folder)
    pages = _pages_of_files(editor.files)
    memories: dict[tuple[str, bool], IncomingMemory] = {}
    for path in sorted(editor.files):
        document = decode_document(path, editor.files[path].data, CLEAN)
        private = private_lines(document) if isinstance(document, Document) else frozenset()
        for memory in editor.memories(path):
            where = f"{path}:{memory.line}: {memory.id}"
            stored = storable_memory(memory._replace(private=memory.private or memory.line in private), where)
            if first := memories.get((memory.id, stored.private)):
                place = first.where.removesuffix(f": {memory.id}")
                raise ContextasmError(where, f"the id is taken by another memory, at {place}", "give it another id")
            new = IncomingMemory(memory.id, where, partial(_as_given, stored), pages[path], stored.private)
            memories[memory.id, stored.private] = new
    return [*memories.values()]


def _pages_of_files(paths: Iterable[str]) -> Mapping[str, PageName | None]:
    """The page in the store that each file becomes; None for a file that is none by its name.

    Pages of several roles, which all become this role's, get new numbers in the order of their names, so that each is a
    page again.
    """
    pages = {path: page_of_name(os.path.basename(path)) for path in sorted(paths)}
    numbered: dict[str, list[str]] = {}
    for path, page in pages.items():
        if page:
            numbered.setdefault(page.stem, []).append(path)
    for stem, of_stem in numbered.items():
        if len({pages[path] for path in of_stem}) < len(of_stem):
            pages |= {path: PageName(stem, f"{number:06}") for number, path in enumerate(of_stem)}
    return pages


def _as_given(memory: Memory, _known: Memory | None) -> Memory:
    return memory


def store_by_id(
    overlay: StoreOverlay, home: str, incoming: Sequence[IncomingMemory], *, update: bool
) -> list[Memory | None]:
    """Store the memories, all or none; gives what the store had under each id, None for nothing.

    Memories that are there already stay as they are without `update`. Raises `ContextasmError`.
    """
    overlay.require_server()

    def work(session: Session) -> list[Memory | None]:
        held = _held_rows(session, home, incoming)
        before = [None if row is None or row.deleted else row.memory for row in held]
        stated = [each.memory(known) for each, known in zip(incoming, before, strict=True)]
        _insert(
            session, home, [(each, memory) for each, memory, row in zip(incoming, stated, held, strict=True) if not row]
        )
        for each, row, known, memory in zip(incoming, held, before, stated, strict=True):
            if row and known != memory and (update or known is None):
                _change(session, each.where, row, memory)
        return before

    return in_transaction(overlay.config, work)


def _held_rows(session: Session, home: str, incoming: Sequence[IncomingMemory]) -> list[_FoundRow | None]:
    """The row that each incoming memory means, locked; None for one that is new.

    Raises `ContextasmError` for one that the store has as a private memory and not as an open one, or the other way
    round, unless both come in: whoever changes that in a file does not mean a second memory.
    """
    found = _rows_by_id(session, home, incoming)
    both = {(each.id, each.private) for each in incoming}
    held: list[_FoundRow | None] = []
    for each in incoming:
        namesakes = found.get(each.id, [])
        meant = _meant_row(namesakes, each.private)
        held.append(meant)
        if meant is None and (each.id, not each.private) not in both and not all(row.deleted for row in namesakes):
            raise _other_privacy(each.where, is_private=not each.private)
    return held


def _other_privacy(where: str, *, is_private: bool) -> ContextasmError:
    """The error of a memory that comes in with another privacy than the store's has."""
    what = f"is {'' if is_private else 'not '}private in the store, and that can't be changed"
    return ContextasmError(where, what, _ANOTHER_ID)


def _rows_by_id(session: Session, home: str, incoming: Sequence[IncomingMemory]) -> Mapping[str, Sequence[_FoundRow]]:
    """The rows with the ids of incoming memories, deleted ones as well, locked, as the role is shown them."""
    columns = f"deleted, seq, role = current_user, role::text, {COLUMNS}"
    statement = f"SELECT {columns} FROM ctxasm.memory WHERE {IN_HOME} AND id = ANY(%s) ORDER BY seq FOR UPDATE"
    rows = [
        (deleted, seq, is_own, role, memory_of_row(row))
        for deleted, seq, is_own, role, *row in session.rows(statement, home, [each.id for each in incoming])
    ]
    private = own_private_ids(session, home, superseded_ids(row[-1] for row in rows if not row[2]))
    private |= {each.id for each in incoming if each.private}
    found: dict[str, list[_FoundRow]] = {}
    for deleted, seq, is_own, role, whole in rows:
        memory = whole if is_own else as_shown(whole, private)
        found.setdefault(memory.id, []).append(_FoundRow(seq, memory, whole.supersedes, deleted, is_own, role))
    return found


def _meant_row(rows: Sequence[_FoundRow], private: bool | None) -> _FoundRow | None:
    """The row that is as private as the incoming memory; the role's own where that is not known."""
    fitting = [row for row in rows if private in (None, row.memory.private)]
    return max(fitting, key=lambda row: (not row.deleted, row.is_own, not row.memory.private), default=None)


def _insert(session: Session, home: str, new: Sequence[tuple[IncomingMemory, Memory]]) -> None:
    """Add rows, with few statements. Raises `ContextasmError`, which names the first memory that is refused."""
    rows = [_new_row(home, each, memory) for each, memory in new]
    names = ("home", "page", *FIELDS)
    session.rows("SAVEPOINT before_new")
    try:
        session.insert_rows("ctxasm.memory", names, rows)
    except StatementError:
        session.rows("ROLLBACK TO before_new")
        for (each, _), row in zip(new, rows, strict=True):  # one by one, to find it
            try:
                session.insert_rows("ctxasm.memory", names, [row])
            except StatementError as error:
                raise ContextasmError(each.where, f"can't be stored: {error.what}", error.hint) from error
        raise


def _new_row(home: str, each: IncomingMemory, memory: Memory) -> list[object]:
    page = each.page.page if each.page and each.page.private == memory.private else None
    return [home, page, *row_of_memory(memory)]


def _change(session: Session, where: str, row: _FoundRow, memory: Memory) -> None:
    """Make a row hold a memory. Raises `ContextasmError` at `where` for what the role may not change."""
    before, another = row.memory, _ANOTHER_ID
    if row.deleted and not row.is_own:
        what = f"was deleted by the role {row.role}, which stored it, and only that role can store it again"
        raise ContextasmError(where, what, another)
    if memory.private != before.private:
        raise _other_privacy(where, is_private=before.private)
    if memory.writer != before.writer:
        what = f"has the writer {before.writer or 'none'} in the store, and that can't be changed"
        raise ContextasmError(where, what, "give the memory in the file that writer, or another id")
    if memory.text != before.text and not row.is_own:
        what = f"was stored by the role {row.role}, and only the role that stored it changes its text"
        raise ContextasmError(where, what, another)
    supersedes = row.supersedes if memory.supersedes == before.supersedes else memory.supersedes
    try:
        is_changed = update_row(session, row.seq, memory._replace(supersedes=supersedes))
    except StatementError as error:
        raise ContextasmError(where, f"can't be changed: {error.what}", another) from error
    if not is_changed:
        raise ContextasmError(where, "can't be changed", "ask for the right to write in this home")
