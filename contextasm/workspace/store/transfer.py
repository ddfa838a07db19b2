"""Moving memories into a store and out of it: an import of files by id, and an export of pages as files.

What is exported, read as files and imported again gives the same bytes: texts are moved as they are written, and what
is masked is masked where it is shown.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from contextasm.model import ContextasmError, Memory
from contextasm.workspace.atomic import write
from contextasm.workspace.editing.memories import MemoryEditor
from contextasm.workspace.folder import Folder
from contextasm.workspace.reading import file_bytes
from contextasm.workspace.store.connection import Session
from contextasm.workspace.store.mirror import mirror_folder
from contextasm.workspace.store.overlay import StoreOverlay
from contextasm.workspace.store.pages import (
    COLUMNS,
    FIELDS,
    memory_of_row,
    page_of_name,
    row_of_memory,
    storable_memory,
)
from contextasm.workspace.store.state import load_state
from contextasm.workspace.store.writing import in_transaction, update_row


class ImportResult(NamedTuple):
    """Numbers of memories by what became of them."""

    stored: int
    changed: int
    unchanged: int


class _FileMemory(NamedTuple):
    """A memory of a file, fit for the store, and its page; None leaves that to the store."""

    memory: Memory
    page: str | None


def import_files(overlay: StoreOverlay, home: str) -> ImportResult:
    """Store the memories of a home's files under their ids, all or none.

    Those that are there already get the files' fields, and the files stay. Raises `ContextasmError`, with the place of
    a memory that can't be stored.
    """
    overlay.require_server()
    memories = _file_memories(overlay.root, home)

    def work(session: Session) -> ImportResult:
        condition = "home = %s AND id = ANY(%s) ORDER BY seq FOR UPDATE"
        statement = f"SELECT deleted, seq, {COLUMNS} FROM ctxasm.memory WHERE {condition}"
        rows = session.rows(statement, home, [each.memory.id for each in memories])
        stored = {memory.id: (seq, memory, deleted) for deleted, seq, *row in rows for memory in [memory_of_row(row)]}
        new = [each for each in memories if each.memory.id not in stored]
        columns = ("home", "page", *FIELDS)
        session.insert_rows("ctxasm.memory", columns, [[home, each.page, *row_of_memory(each.memory)] for each in new])
        known = [(each.memory, *stored[each.memory.id]) for each in memories if each.memory.id in stored]
        changed = [each for each in known if each[0] != each[2] or each[3]]
        for memory, seq, before, _ in changed:
            _change(session, home, seq, before, memory)
        return ImportResult(len(new), len(changed), len(memories) - len(new) - len(changed))

    return in_transaction(overlay.config, work)


def _change(session: Session, home: str, seq: int, before: Memory, memory: Memory) -> None:
    where = f"store: {home}"
    if memory.private != before.private:
        what = f"{memory.id} is {'' if before.private else 'not '}private in the store, and that can't be changed"
        raise ContextasmError(where, what, "give the memory in the file another id")
    if memory.writer != before.writer:
        what = f"{memory.id} has the writer {before.writer or 'none'} in the store, and that can't be changed"
        raise ContextasmError(where, what, "give the memory in the file that writer, or another id")
    if not update_row(session, seq, memory):
        raise ContextasmError(
            where, f"the memory {memory.id} can't be changed", "ask for the right to write in this home"
        )


def _file_memories(root: str, home: str) -> list[_FileMemory]:
    """The memories of a home's own files, in the order of their paths. Raises `ContextasmError`."""
    workspace, folder = Folder(Path(root)), f"{home}/memories"
    editor = MemoryEditor(workspace, f"{folder}/new.md", folder)
    memories: dict[str, _FileMemory] = {}
    for path in sorted(editor.files):
        page = page_of_name(os.path.basename(path))
        for memory in editor.memories(path):
            where = f"{path}:{memory.line}"
            if memory.id in memories:
                raise ContextasmError(where, f"the id {memory.id} is taken by another memory", "give it another id")
            memories[memory.id] = _FileMemory(storable_memory(memory, where), page)
    return [*memories.values()]


def export_pages(root: str, homes: Sequence[str], target: Path) -> int:
    """Write the pages of homes, as the mirror has them, to the same paths below a folder; gives the number of files.

    Nothing is written over: raises `ContextasmError` where a home's folder there has other files of memories.
    """
    state = load_state(mirror_folder(root))
    files = {
        target / home / "memories" / name: mirror_folder(root, home) / name
        for home in homes
        if home in state.homes
        for name in state.homes[home].pages
    }
    _refuse_others([target / home / "memories" for home in homes], files)
    for path, page in files.items():
        data = file_bytes(str(page))
        if not isinstance(data, bytes):
            raise ContextasmError(str(page), data.message, "run `ctxasm store pull`")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ContextasmError(
                str(path.parent), f"can't be made: {error.strerror}", "name another folder"
            ) from error
        write(path, data, new_mode=0o600)
    return len(files)


def _refuse_others(folders: Sequence[Path], files: Sequence[Path] | dict[Path, Path]) -> None:
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ContextasmError(str(folder), f"can't be listed: {error.strerror}", "name another folder") from error
        if other := next((name for name in names if name.endswith(".md") and folder / name not in files), None):
            hint = "name an empty folder with --to, or take the file away"
            raise ContextasmError(str(folder / other), "is in the way: it would be read beside the export", hint)
