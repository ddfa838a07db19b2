"""Finding: the memory of an id, wherever in the workspace it stands."""

from __future__ import annotations

from contextasm.model import Document, Memory
from contextasm.text.memory_parser import distinct_memories, parse_memories
from contextasm.workspace.editing.memories import refuse_unknown
from contextasm.workspace.folder import Folder

HOMES = ("agents/*/memories", "teams/*/memories", "memories")
"""Where memories stand (docs/DESIGN.md section 2)."""


def find_memories(workspace: Folder, name: str, home: str = "") -> list[Memory]:
    """The memories of this id, in path order: one for each owner that has one. `home` asks for those of one owner.

    Raises `ContextasmError`, with the nearest id, where there is none.
    """
    folders = (f"{home}/memories",) if home else HOMES
    owners: dict[str, list[Memory]] = {}
    for path in sorted({path for folder in folders for path in workspace.list(f"{folder}/*.md")}):
        read = workspace.read(path)
        if isinstance(read, Document):
            owners.setdefault(path.rpartition("/")[0], []).extend(parse_memories(read)[0])
    every = [each for own in owners.values() for each in distinct_memories(own)[0]]
    refuse_unknown(name, [each.id for each in every], "id")
    return [each for each in every if each.id == name]
