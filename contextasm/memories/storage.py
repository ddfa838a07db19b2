"""Where the memories of an owner are written: files of the workspace, or a shared store. `storage_of` decides.

Who reads memories reads files in both cases: an overlay of the workspace lays the replica of a store over the folders
of its owners (`workspace.storage.Overlay`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from contextasm.model import Context, Decision, Memory, Problem
from contextasm.workspace.editing.memories import MemoryEditor, touch_memories
from contextasm.workspace.editing.remember import store_entries, store_memories
from contextasm.workspace.folder import Folder
from contextasm.workspace.storage import MemoryPlace, MemoryStorage

AtPathT = TypeVar("AtPathT", Memory, Decision)


class FileMemories:
    """Memories in files of the workspace (`workspace.storage.MemoryStorage`)."""

    def __init__(self, workspace: Folder) -> None:
        self._workspace = workspace
        self.remember = partial(store_memories, workspace)
        self.import_entries = partial(store_entries, workspace)
        self.touch = partial(touch_memories, workspace)

    def change(self, memories: Sequence[Memory], change: Callable[[Memory], Memory]) -> list[tuple[Memory, Memory]]:
        """Change fields of memories in their files."""
        editors: dict[str, MemoryEditor] = {}
        pairs = [(memory, change(memory)) for memory in memories]
        for memory, changed in pairs:
            if changed != memory:
                editor = editors.setdefault(memory.path, MemoryEditor(self._workspace, MemoryPlace(path=memory.path)))
                as_written = next(other for other in editor.memories(memory.path) if other.line == memory.line)
                fields = {name: value for name, value in changed._asdict().items() if value != getattr(memory, name)}
                editor.change(as_written, as_written._replace(**fields))
        for editor in editors.values():
            editor.save()
        return pairs


def touch_shown(workspace: Folder, context: Context, *, dry_run: bool = False) -> list[Problem]:
    """Set `accessed` of the memories that a context shows to its date; gives the problems with that.

    With `dry_run` nothing is written. Raises `ContextasmError` as `MemoryStorage.touch`.
    """
    shown = [each for each in context.decisions if each.kept and each.fragment != each.path]
    day = context.request.date
    touched = [storage.touch(part, day, dry_run=dry_run) for storage, part in by_storage(workspace, shown)]
    return [problem for problem in touched if problem]


def by_storage(workspace: Folder, items: Sequence[AtPathT]) -> list[tuple[MemoryStorage, list[AtPathT]]]:
    """Memories, or decisions on them, by the place that they are written to; files come last."""
    stored = [item for item in items if workspace.kept_elsewhere(item.path)]
    in_files = [item for item in items if not workspace.kept_elsewhere(item.path)]
    return [(storage_of(workspace, part[0].path), part) for part in (stored, in_files) if part]


def storage_of(workspace: Folder, path: str) -> MemoryStorage:
    """The place that the memories at a path of the workspace are written to."""
    overlay = workspace.overlay
    return overlay if overlay and overlay.owner(path) else FileMemories(workspace)
