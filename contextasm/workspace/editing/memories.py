"""Memories of one owner, edited in memory and then written; `accessed` set after a build.

The memories of a file are parsed only if one of them is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import cached_property

from contextasm.model import AS_WRITTEN, ContextasmError, Decision, Document, FileTexts, Memory
from contextasm.retrieval.pool import MANY, validity_code
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.memories.parser import distinct_memories, parse_memories, superseded_by
from contextasm.text.memories.writer import field_text
from contextasm.text.similarity import SAME, find_candidates, fold_text, similarity
from contextasm.workspace.atomic import refuse_unwritable
from contextasm.workspace.editing.files import locked, open_document, save_file, writable_path
from contextasm.workspace.editing.known_ids import FolderIds, unknown_id
from contextasm.workspace.editing.memory_file import MemoryFile, edited, with_bullets
from contextasm.workspace.folder import Folder
from contextasm.workspace.storage import MemoryPlace, NewMemory


class MemoryEditor:
    """Memories of a folder, with changes that are not written yet. Fields are set before memories are appended."""

    def __init__(self, workspace: Folder, place: MemoryPlace) -> None:
        """Read the file of the place; the files of its folder, if it has one, are read when they are asked for.

        Raises `ContextasmError` if the file can't be read or the folder can't be listed. An unreadable file of the
        folder is left out: `build` reports it.
        """
        folder, path, self._stored, self._private_lines, _ = place
        self._workspace = workspace
        self._opened: dict[str, MemoryFile | None] = {path: MemoryFile(open_document(workspace, path))}
        listed = workspace.list(f"{folder}/*.md") if folder else ()
        for other in listed:
            if other.endswith("/"):
                open_document(workspace, other)
        self._paths = (path, *(other for other in listed if other != path))
        """Paths of all files, including files that can't be read."""
        self._fields: dict[str, dict[int, dict[str, str]]] = {}
        """By the path of a file and the line of a memory, counted from 1."""
        self._replaced: dict[str, dict[int, str]] = {}
        """List items in place of memories, likewise."""
        self._appended: dict[str, Sequence[str]] = {}
        self._memories: dict[str, tuple[Memory, ...]] = {}

    # --- Reading ---

    @cached_property
    def files(self) -> Mapping[str, MemoryFile]:
        """The files that can be read, as they were before any change, by path; all of them are opened."""
        return {path: file for path in self._paths if (file := self.file(path))}

    def file(self, path: str) -> MemoryFile | None:
        """One of the files, as it was before any change; None for one that can't be read."""
        if path not in self._opened:
            self._opened[path] = None
            with suppress(ContextasmError):
                self._opened[path] = MemoryFile(open_document(self._workspace, path))
        return self._opened[path]

    def memories(self, path: str) -> tuple[Memory, ...]:
        """The memories of one file, changes included; none of one that can't be read."""
        if path not in self._memories:
            file = self._current(path)
            self._memories[path] = self._parsed_memories(file) if file else ()
        return self._memories[path]

    def _parsed_memories(self, file: MemoryFile) -> tuple[Memory, ...]:
        """The memories as written, under the ids with which builds read them: the ids of their cleaned texts."""
        memories = distinct_memories(self._visible_memories(file))[0]
        if not (file.document.hidden or file.document.secrets):
            return memories
        as_written = file.written.by_line
        return tuple(as_written.get(memory.line, memory)._replace(id=memory.id) for memory in memories)

    def _visible_memories(self, file: MemoryFile) -> tuple[Memory, ...]:
        """The memories of a file under the ids that it gives them, some of which may be equal."""
        if not self._private_lines:
            return file.memories
        private = self._private_lines(file.document)
        return tuple(memory for memory in file.memories if memory.line not in private)

    def hides_new(self, path: str) -> bool:
        """Whether what is appended to a file is private there, and so not seen."""
        states = [file for file in (self.file(path), self._current(path)) if file]
        hidden = [len(file.memories) - len(self._visible_memories(file)) for file in states]
        return hidden[-1] > hidden[0]

    def is_one_memory(self, path: str) -> bool:
        """Whether a file is one memory as a whole, changes included."""
        file = self._current(path)
        return bool(file and file.is_one_memory)

    def find(self, name: str, where: str) -> Memory:
        """The memory with an id, as `show` finds it. Raises `ContextasmError` at `where` for an id that no memory has.

        It has the id that its file gives it. Call this before anything is changed.
        """
        found = self._ids.find(name)
        if found is None:
            raise unknown_id(name, self._ids.names(), where)
        return next(memory for memory in self.memories(found.path) if memory.line == found.line)

    def superseded_by(self, entries: Sequence[NewMemory]) -> Mapping[str, Memory]:
        """The memories that new entries replace, by their ids. A draft replaces none before it is approved.

        Raises `ContextasmError` as `find`.
        """
        found = {name: self.find(name, "--supersedes") for entry in entries for name in entry.supersedes}
        return {name: found[name] for entry in entries if not entry.status for name in entry.supersedes}

    @cached_property
    def _ids(self) -> FolderIds:
        # What may be stored is of all memories, and here some may be hidden.
        stored = self._stored.ids if self._stored and not self._private_lines else None
        return FolderIds(self._paths, self._memories_as_named, stored)

    def _memories_as_named(self, path: str) -> tuple[Memory, ...]:
        file = self.file(path)
        return self._visible_memories(file) if file else ()

    def find_same(self, entry: NewMemory, day: date) -> tuple[Memory, float] | None:
        """The memory of a day that says the same as an entry and may be reinforced, with their similarity, 0 to 1.

        Of several, the most similar; None without such a memory.
        """
        paths, texts = self._placed_texts
        same = [
            (memory, share)
            for path in dict.fromkeys(paths[at] for at in find_candidates(fold_text(entry.text), texts))
            for memory in self.memories(path)
            if (share := similarity(entry.text, memory.text)) >= SAME
            and memory.id not in entry.supersedes
            and entry.may_reinforce(memory)
            and not validity_code(memory, str(day))
            and memory.id not in self._superseded
        ]
        return max(same, key=lambda pair: pair[1], default=None)

    @cached_property
    def _placed_texts(self) -> tuple[Sequence[str], Sequence[str]]:
        """The path of the file of each text, and the texts."""
        pairs = [(path, text) for path, (texts, _) in self._texts.items() for text in texts]
        return [path for path, _ in pairs], [text for _, text in pairs]

    @cached_property
    def _texts(self) -> Mapping[str, FileTexts]:
        """The texts of each file; if many had to be read, all are stored for later runs, and few files are held."""
        stored = self._stored.texts.load(self._paths) if self._stored else {}
        texts: dict[str, FileTexts] = {}
        read = 0
        for path in self._paths:
            if path in stored:
                texts[path] = stored[path]
                continue
            is_held = path in self._opened or read <= MANY
            if file := self.file(path):
                document = decode_document(path, file.data, AS_WRITTEN)
                assert isinstance(document, Document)
                folded = [fold_text(memory.text) for memory in parse_memories(document)[0]]
                texts[path] = folded, "supersedes" in file.text
                # The first file is the one that is written to, so what is stored of it would not be believed.
                read += len(folded) if path != self._paths[0] else 0
            if not is_held:
                del self._opened[path]
        if self._stored and read > MANY:
            self._stored.texts.store(texts)
        return texts

    @cached_property
    def _superseded(self) -> Mapping[str, str]:
        paths = [path for path, (_, may_supersede) in self._texts.items() if may_supersede]
        return superseded_by(other for path in paths for other in self.memories(path))

    # --- Changing ---

    def change(self, memory: Memory, changed: Memory) -> None:
        """Set the fields in which a memory is to differ."""
        memories = self.memories(memory.path)
        self._memories[memory.path] = tuple(changed if old.line == memory.line else old for old in memories)
        written = self._fields.setdefault(memory.path, {}).setdefault(memory.line, {})
        pairs = changed._asdict().items()
        written.update((name, field_text(value)) for name, value in pairs if value != getattr(memory, name))

    def replace(self, memory: Memory, bullet: str) -> None:
        """Write another list item in place of a memory that is one."""
        self._replaced.setdefault(memory.path, {})[memory.line] = bullet
        self._memories.pop(memory.path, None)

    def append(self, path: str, bullets: Sequence[str]) -> Sequence[Memory]:
        """Have list items at the end of a file, instead of the items of an earlier call; gives its last memories then.

        They are as many as the list items at most. Whoever appends compares them with what they should be: a heading
        may be in a fence, a file may end in one, and front matter may archive all memories of the file.
        """
        self._appended[path] = bullets
        self._memories.pop(path, None)
        return self.memories(path)[-len(bullets) :]

    @property
    def changed(self) -> dict[str, bytes]:
        """The new content of each file that is to be written."""
        return {path: self._content(path) for path in {**self._fields, **self._replaced, **self._appended}}

    def save(self) -> None:
        """Write the changed files; the caller holds the lock. Raises `ContextasmError` if one can't be written."""
        for path, data in self.changed.items():
            save_file(self._workspace, path, data)

    def _content(self, path: str) -> bytes:
        file = self.file(path)
        assert file
        edits = [file.set_fields(line, fields) for line, fields in self._fields.get(path, {}).items()]
        edits += [file.replace(line, bullet) for line, bullet in self._replaced.get(path, {}).items()]
        data = edited(file.data, edits)
        return with_bullets(data, self._appended[path]) if path in self._appended else data

    def _current(self, path: str) -> MemoryFile | None:
        """A file with its changes; None for one that can't be read."""
        if not any(path in changes for changes in (self._fields, self._replaced, self._appended)):
            return self.file(path)
        document = decode_document(path, self._content(path))
        assert isinstance(document, Document)
        return MemoryFile(document)


def touch_memories(workspace: Folder, shown: Sequence[Decision], day: date, *, dry_run: bool) -> None:
    """Set `accessed` of the memories of these decisions to a day.

    A later date stays. A memory that has been changed since it was read is found by its id; a deleted one is left out.
    With `dry_run`, `ContextasmError` is raised if a file can't be written, as far as can be said without trying.
    """
    if not shown:
        return
    with locked(workspace):
        editors = {path: MemoryEditor(workspace, MemoryPlace(path=path)) for path in {each.path for each in shown}}
        for decision in shown:
            _touch(editors[decision.path], decision, str(day))
        for editor in editors.values():
            for path in editor.changed if dry_run else ():
                refuse_unwritable(writable_path(workspace, path))
            if not dry_run:
                editor.save()


def _touch(editor: MemoryEditor, decision: Decision, day: str) -> None:
    name = decision.fragment.partition("~")[0]
    namesakes = [memory for memory in editor.memories(decision.path) if memory.id.partition("~")[0] == name]
    at_line = [memory for memory in namesakes if memory.line == decision.lines[0]]
    memory = next(iter(at_line or namesakes), None)
    if memory and memory.accessed < day:
        editor.change(memory, memory._replace(accessed=day))
