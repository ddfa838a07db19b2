"""Entries of other programs that become memories of a store, or change some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from contextasm.model import ContextasmError, Memory
from contextasm.text.exchange.checked import CheckedEntry
from contextasm.text.memories.fields import unique_ids
from contextasm.workspace.editing.import_memories import (
    ImportOutcome,
    alike_memories,
    differing_fields,
    outcome_word,
)
from contextasm.workspace.editing.memories import MemoryEditor
from contextasm.workspace.folder import Folder
from contextasm.workspace.store.importing import IncomingMemory, store_by_id
from contextasm.workspace.store.overlay import StoreOverlay
from contextasm.workspace.store.pages import storable_memory


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
        before = store_by_id(overlay, home, [_incoming(each, mirrored) for each in entries], update=update)
    new = [entry for entry, known in zip(entries, before, strict=True) if known is None]
    alike = alike_memories(new, mirrored.values())
    renewed = [] if dry_run else _renewed_memories(workspace, overlay, home)
    lines = {(memory.path, memory.id): memory.line for memory in renewed}
    mirrored = {memory.id: memory for memory in renewed} | mirrored
    outcomes: list[ImportOutcome] = []
    for entry, known in zip(entries, before, strict=True):
        fields = differing_fields(known, entry) if known else ()
        what = outcome_word(fields, is_known=known is not None, update=update)
        place = mirrored.get(entry.id)
        path = place.path if place else f"{home}/memories"
        line = lines.get((place.path, place.id), place.line) if place else 0
        outcomes.append(ImportOutcome(what, entry.id, path, line, fields, alike.get(entry.id, "")))
    return outcomes


def _incoming(entry: CheckedEntry, mirrored: Mapping[str, Memory]) -> IncomingMemory:
    """The entry under the id that its row has: the workspace may read a second memory with one id as `ID~2`."""
    where, memory = f"{entry.where}: {entry.id}", partial(_stated, entry)
    if place := mirrored.get(entry.id):
        return IncomingMemory(place.id, where, memory, private=place.private)
    return IncomingMemory(entry.id, where, memory)


def _stated(entry: CheckedEntry, known: Memory | None) -> Memory:
    memory = known._replace(text=entry.text, **entry.fields) if known else entry.memory
    return storable_memory(memory, f"{entry.where}: {entry.id}")


def _mirrored_memories(workspace: Folder, home: str) -> dict[str, Memory]:
    """The memories of a home in the mirror, as they are written, by the ids that the workspace reads them by."""
    folder = f"{home}/memories"
    editor = MemoryEditor(workspace, f"{folder}/new.md", folder)
    memories = [memory for path in sorted(editor.files) for memory in editor.memories(path)]
    return dict(zip(unique_ids(memory.id for memory in memories), memories, strict=True))


def _renewed_memories(workspace: Folder, overlay: StoreOverlay, home: str) -> list[Memory]:
    """The memories of the pages of a home that another pull changes; none where it fails: the next read tells of it."""
    with suppress(ContextasmError):
        paths = [path for path in overlay.pull().changed if path.startswith(f"{home}/")]
        return [memory for path in paths for memory in MemoryEditor(workspace, path).memories(path)]
    return []
