"""What one owner remembers: the files as they are on the disk, and as they will be.

A file's memories are parsed only when one of them is asked for. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import date

from contextasm.model import Context, ContextasmError, Decision, Document, Memory
from contextasm.text.decode import decode_document
from contextasm.text.memory_parser import ACTIVE_STATUSES, distinct_memories, parse_memories, superseded_by
from contextasm.text.memory_writer import with_fields
from contextasm.text.similarity import find_similar, fold_text, is_same, memory_texts, nearest_of_many, similarity
from contextasm.workspace.editing.files import EditableFile, locked, open_file, save_file
from contextasm.workspace.folder import Folder


class MemoryEditor:
    """The memories of a folder, with the changes that are to be made to them."""

    def __init__(self, workspace: Folder, path: str, folder: str = "") -> None:
        """Read the file at `path`, and those of `folder`. Raises `ContextasmError` where that one can't be read."""
        self.pages: dict[str, EditableFile] = {path: open_file(workspace, path)}
        for each in workspace.list(f"{folder}/*.md") if folder else ():
            # What can't be read is a problem of `build`, not of what is to be remembered.
            with suppress(ContextasmError):
                self.pages.setdefault(each, open_file(workspace, each))
        self.changed: dict[str, bytes] = {}
        """The new content of each file that is to be written."""
        self._memories: dict[str, tuple[Memory, ...]] = {}
        self._said: list[str] = []
        self._paths: list[str] = []
        self._replaced: Mapping[str, str] | None = None

    def memories(self, path: str) -> tuple[Memory, ...]:
        """Those of one file, as it will be."""
        if path not in self._memories:
            read = self._document(path)
            self._memories[path] = distinct_memories(parse_memories(read)[0])[0]
        return self._memories[path]

    def ids(self) -> list[str]:
        """The id of every memory."""
        return [memory.id for path in self.pages for memory in self.memories(path)]

    def change(self, path: str, text: str) -> None:
        """Have a file hold this text, line ends as they are to be."""
        old = self.pages[path]
        data = old.mark + text.encode(old.encoding)
        self.pages[path] = old._replace(data=data)
        self.changed[path] = data
        self._memories.pop(path, None)

    def set(self, memory: Memory, fields: Mapping[str, str], after: Memory) -> None:
        """Change fields of a memory; `after` is what is read of it then."""
        text, kept = self.pages[memory.path].text, self.memories(memory.path)
        new = with_fields(text, memory.line, fields)
        self.change(memory.path, new)
        if new.count("\n") == text.count("\n"):
            # No line has moved: parsing all of it again would tell nothing new.
            self._memories[memory.path] = tuple(after if each.line == memory.line else each for each in kept)

    def same(self, text: str, but: Collection[str] = ()) -> tuple[Memory, float] | None:
        """The memory that counts, says the same as a folded text and is most like it; None if there is none.

        Those with an id in `but` are passed over.
        """
        if not self._paths:
            for path in self.pages:
                own = memory_texts(self._document(path))
                self._said += own
                self._paths += [path] * len(own)
        found = [
            (memory, similarity(text, words))
            for path in dict.fromkeys(self._paths[alike.at] for alike in find_similar(text, self._said))
            for memory in self.memories(path)
            if is_same(text, words := fold_text(memory.text)) and memory.id not in but and self._counts(memory)
        ]
        return max(found, key=lambda each: each[1], default=None)

    def _counts(self, memory: Memory) -> bool:
        """Whether a memory stands for what it says: in force, and not superseded by another one."""
        if self._replaced is None:
            telling = [path for path, each in self.pages.items() if "supersedes" in each.text]
            self._replaced = superseded_by(each for path in telling for each in self.memories(path))
        return memory.status in ACTIVE_STATUSES and memory.id not in self._replaced

    def _document(self, path: str) -> Document:
        """A file as it will be, taken apart."""
        read = decode_document(path, self.pages[path].data)
        assert isinstance(read, Document)
        return read


def refuse_unknown(name: str, ids: Collection[str], where: str) -> None:
    """Raise `ContextasmError` for an id that no memory has; the message names the nearest that one has."""
    if name in ids:
        return
    near = nearest_of_many(name, ids)
    hint = f"did you mean {near}?" if near else "`ctxasm explain` lists the ids of an agent and a team"
    raise ContextasmError(where, f"there is no memory {name}", hint)


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
