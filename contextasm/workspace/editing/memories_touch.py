"""Touching: the day on which a memory was last shown."""

from __future__ import annotations

from datetime import date

from contextasm.model import Context, Decision
from contextasm.workspace.editing.files import locked, save_file
from contextasm.workspace.editing.memories import MemoryEditor
from contextasm.workspace.folder import Folder


def touch_memories(workspace: Folder, context: Context) -> int:
    """Set `accessed` of the memories that a context shows to its date, where none later stands there; how many.

    A memory that has been changed since it was read is found by its id; one that is gone is passed over.
    """
    shown: dict[str, list[Decision]] = {}
    for each in context.decisions:
        if each.kept and each.fragment != each.path:
            shown.setdefault(each.path, []).append(each)
    if not shown:
        return 0
    with locked(workspace):
        changed = {path: _touched(workspace, path, own, context.request.date) for path, own in shown.items()}
        for path, (_, data) in changed.items():
            if data:
                save_file(workspace, path, data)
    return sum(count for count, _ in changed.values())


def _touched(workspace: Folder, path: str, shown: list[Decision], day: date) -> tuple[int, bytes]:
    """How many memories of one file are to change, and what the file then holds; nothing where none is."""
    known = MemoryEditor(workspace, path)
    count = 0
    for decision in shown:
        name = decision.fragment.partition("~")[0]
        own = [each for each in known.memories(path) if each.id.partition("~")[0] == name]
        memory = next((each for each in own if each.line == decision.lines[0]), own[0] if own else None)
        if memory and memory.accessed < str(day):
            known.set(memory, {"accessed": str(day)}, memory._replace(accessed=str(day)))
            count += 1
    return count, known.changed.get(path, b"")
