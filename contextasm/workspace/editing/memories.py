"""Memories of one owner, edited in memory; `accessed` set after a build.

The memories of a file are parsed only where one of them is needed. `MemoryEditor` writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date

from contextasm.model import (
    AS_WRITTEN,
    CLEAN,
    Cleaning,
    Decision,
    Document,
    FileTexts,
    FolderFacts,
    Memory,
)
from contextasm.retrieval.pools.memory_pool import MANY
from contextasm.text.cleaning.decode import decode_document
from contextasm.text.memories.fields import distinct_memories
from contextasm.text.memories.parser import ACTIVE_STATUSES, is_one_memory, parse_memories, superseded_by
from contextasm.text.memories.writer import with_fields
from contextasm.text.similarity import find_similar, fold_text, is_same, memory_texts, similarity
from contextasm.workspace.atomic import refuse_unwritable
from contextasm.workspace.editing.files import EditableFiles, locked, save_file, writable_path
from contextasm.workspace.editing.known_ids import FolderIds, unknown_id
from contextasm.workspace.folder import Folder

PrivateLines = Callable[[Document], Collection[int]]
"""Gives the lines of a file, counted from 1, that are private."""


class MemoryEditor:
    """Memories of a folder, with changes that are not written yet."""

    def __init__(
        self,
        workspace: Folder,
        path: str,
        folder: str = "",
        private_lines: PrivateLines | None = None,
        stored: FolderFacts | None = None,
    ) -> None:
        """Read the file at `path`; the files of `folder` are read when they are asked for.

        Memories that begin in `private_lines` are left out. `stored` spares reading files of `folder`.

        Raises `ContextasmError` where `path` can't be read or `folder` can't be listed. An unreadable file of `folder`
        is left out: `build` reports it.
        """
        self.files = EditableFiles(workspace, path, folder)
        self.changed: dict[str, bytes] = {}
        """The new content of each file that is to be written."""
        self._memories: dict[str, tuple[Memory, ...]] = {}
        self._stored = stored
        self._ids: FolderIds | None = None
        self._texts: Mapping[str, FileTexts] | None = None
        self._folded_texts: list[str] = []
        self._paths_of_texts: list[str] = []
        self._superseded: Mapping[str, str] | None = None
        self._private_lines = private_lines

    def memories(self, path: str) -> tuple[Memory, ...]:
        """The memories of one file, changes included."""
        if path not in self._memories:
            self._memories[path] = self._parsed_memories(path)
        return self._memories[path]

    def _parsed_memories(self, path: str) -> tuple[Memory, ...]:
        """The memories as written, under the ids that they have where they are read: those of their cleaned texts."""
        cleaned = _parse(path, self.files[path].data, CLEAN)
        memories = distinct_memories(self._shown_memories(cleaned))[0]
        if not (cleaned.hidden or cleaned.secrets):
            return memories
        as_written = {memory.line: memory for memory in parse_memories(self._document(path))[0]}
        return tuple(as_written.get(memory.line, memory)._replace(id=memory.id) for memory in memories)

    def _shown_memories(self, cleaned: Document) -> tuple[Memory, ...]:
        """The memories of a file under the ids that it gives them, some of which may be equal."""
        memories = parse_memories(cleaned)[0]
        if not self._private_lines:
            return memories
        private = self._private_lines(cleaned)
        return tuple(memory for memory in memories if memory.line not in private)

    def is_one_memory(self, path: str) -> bool:
        """Whether a file is one memory as a whole."""
        return is_one_memory(self._document(path))

    def find(self, name: str, where: str) -> Memory:
        """The memory with an id, as `show` finds it. Raises `ContextasmError` at `where` for an id that none has.

        It is given under the id that its file alone gives it. To be asked before anything is changed.
        """
        if self._ids is None:
            # What may be stored is of all memories, and here some may be hidden.
            stored = self._stored.ids if self._stored and not self._private_lines else None
            self._ids = FolderIds(self.files.paths, self._memories_as_named, stored)
        found = self._ids.find(name)
        if found is None:
            raise unknown_id(name, self._ids.names(), where)
        return next(memory for memory in self.memories(found.path) if memory.line == found.line)

    def _memories_as_named(self, path: str) -> tuple[Memory, ...]:
        return self._shown_memories(_parse(path, self.files[path].data, CLEAN)) if path in self.files else ()

    def change(self, path: str, text: str) -> None:
        """Make `text` the new text of a file; its line ends are taken as they are."""
        file = self.files[path]
        data = file.mark + text.encode(file.encoding)
        self.files.replace(file._replace(data=data))
        self.changed[path] = data
        self._memories.pop(path, None)

    def set_fields(self, memory: Memory, fields: Mapping[str, str], changed: Memory) -> None:
        """Change fields of a memory; `changed` is the memory with its new fields."""
        text, memories = self.files[memory.path].text, self.memories(memory.path)
        new_text = with_fields(text, memory.line, fields)
        self.change(memory.path, new_text)
        if new_text.count("\n") == text.count("\n"):
            # No line has moved, so the file need not be parsed again.
            self._memories[memory.path] = tuple(changed if old.line == memory.line else old for old in memories)

    def find_same(self, text: str, excluded_ids: Collection[str] = ()) -> tuple[Memory, float] | None:
        """The active memory that says the same as a folded text, with its similarity to the text, 0 to 1.

        Of several, the most similar; None if there is none.
        """
        if self._texts is None:
            self._texts = self._load_texts()
            for path, file in self._texts.items():
                self._folded_texts += file.texts
                self._paths_of_texts += [path] * len(file.texts)
        similar = find_similar(text, self._folded_texts)
        same = [
            (memory, similarity(text, folded))
            for path in dict.fromkeys(self._paths_of_texts[hit.at] for hit in similar)
            for memory in self.memories(path)
            if is_same(text, folded := fold_text(memory.text))
            and memory.id not in excluded_ids
            and self._is_active(memory)
        ]
        return max(same, key=lambda pair: pair[1], default=None)

    def _load_texts(self) -> dict[str, FileTexts]:
        """The texts of each file; where many had to be read, all are stored for later runs, and few files are held."""
        stored = self._stored.texts.load(self.files.paths) if self._stored else {}
        texts: dict[str, FileTexts] = {}
        read = 0
        for path in self.files.paths:
            if path in stored:
                texts[path] = stored[path]
            elif file := self.files.get(path) if read <= MANY else self.files.look_at(path):
                document = _parse(path, file.data, AS_WRITTEN)
                texts[path] = FileTexts(memory_texts(document), "supersedes" in file.text)
                # The first file is the one that is written to, so what is stored of it would not be believed.
                read += len(texts[path].texts) if path != self.files.paths[0] else 0
        if self._stored and read > MANY:
            self._stored.texts.store(texts)
        return texts

    def _is_active(self, memory: Memory) -> bool:
        """Whether a memory has an active status, and no other memory supersedes it."""
        if self._superseded is None:
            paths = [path for path, file in (self._texts or {}).items() if file.supersedes]
            self._superseded = superseded_by(other for path in paths for other in self.memories(path))
        return memory.status in ACTIVE_STATUSES and memory.id not in self._superseded

    def _document(self, path: str) -> Document:
        return _parse(path, self.files[path].data, AS_WRITTEN)


def _parse(path: str, data: bytes, cleaning: Cleaning) -> Document:
    document = decode_document(path, data, cleaning)
    assert isinstance(document, Document)
    return document


def touch_memories(workspace: Folder, shown: Sequence[Decision], day: date) -> int:
    """Set `accessed` of the memories of these decisions to a day; gives the number of memories that changed.

    A later date stays. A memory that has been changed since it was read is found by its id; a deleted one is left out.
    """
    if not shown:
        return 0
    with locked(workspace):
        changes = _access_changes(workspace, shown, day)
        for path, (_, data) in changes.items():
            if data:
                save_file(workspace, path, data)
    return sum(count for count, _ in changes.values())


def refuse_untouchable(workspace: Folder, shown: Sequence[Decision], day: date) -> None:
    """Raise `ContextasmError` where `touch_memories` could not write, as far as can be said without trying."""
    if not shown:
        return
    with locked(workspace):
        for path, (_, data) in _access_changes(workspace, shown, day).items():
            if data:
                refuse_unwritable(writable_path(workspace, path))


def _access_changes(workspace: Folder, shown: Sequence[Decision], day: date) -> dict[str, tuple[int, bytes]]:
    by_path: dict[str, list[Decision]] = {}
    for decision in shown:
        by_path.setdefault(decision.path, []).append(decision)
    return {path: _with_access_date(workspace, path, decisions, day) for path, decisions in by_path.items()}


def _with_access_date(workspace: Folder, path: str, shown: list[Decision], day: date) -> tuple[int, bytes]:
    """The number of changed memories in one file, and its new content; empty where no memory changes."""
    editor = MemoryEditor(workspace, path)
    count = 0
    for decision in shown:
        name = decision.fragment.partition("~")[0]
        namesakes = [memory for memory in editor.memories(path) if memory.id.partition("~")[0] == name]
        at_line = [memory for memory in namesakes if memory.line == decision.lines[0]]
        memory = next(iter(at_line or namesakes), None)
        if memory and memory.accessed < str(day):
            editor.set_fields(memory, {"accessed": str(day)}, memory._replace(accessed=str(day)))
            count += 1
    return count, editor.changed.get(path, b"")
