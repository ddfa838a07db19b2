"""What one owner remembers: the files as they are on the disk, and as they will be.

A file's memories are parsed only when one of them is asked for. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress

from contextasm.model import ContextasmError, Document, Memory
from contextasm.retrieval.memory_pool import ACTIVE_STATUSES, superseded_by
from contextasm.text.decode_decode import decode_document
from contextasm.text.memory_parser import distinct_memories, parse_memories
from contextasm.text.memory_writer import with_fields
from contextasm.text.similarity import find_similar, fold_text, is_same, memory_texts, nearest_of_many, similarity
from contextasm.workspace.editing.files import EditableFile, open_file
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
    todo = f"did you mean {near}?" if near else "`ctxasm explain` lists the ids of an agent and a team"
    raise ContextasmError(where, f"there is no memory {name}", todo)
