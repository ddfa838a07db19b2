"""The memories of one owner as a planner changes them: what can be edited, and the edits and moves of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from contextasm.model import AS_WRITTEN, Document, Memory
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.cleaning.decode import decode_document
from contextasm.text.markdown.blocks import begins_bullet, bullet_end, without_block_comments
from contextasm.text.memories.fields import memory_id
from contextasm.text.memories.parser import is_one_memory, parse_memories
from contextasm.text.memories.writer import bullet_with_fields, front_matter_with_fields
from contextasm.text.names.archived_paths import archived_path
from contextasm.text.names.templates import one_line
from contextasm.upkeep.base.action import Action, Edit, Move
from contextasm.upkeep.base.upkeep_input import OwnerMemories
from contextasm.workspace.editing.files import EditableFile
from contextasm.workspace.folder import Folder


class MemoryFile:
    """A file of memories as it was read."""

    def __init__(self, document: Document) -> None:
        """Parse nothing yet."""
        self._document = document
        self._file = EditableFile(document.path, document.data)

    @cached_property
    def is_one_memory(self) -> bool:
        """Whether the file is one memory as a whole."""
        return is_one_memory(self._document)

    @property
    def front(self) -> Mapping[str, object]:
        """Values of the front matter, which hold for every bullet that does not set them."""
        return self._document.front

    @cached_property
    def _views(self) -> tuple[_View, ...]:
        """The file as builds read it; and as it is written, where reading takes characters or secrets out."""
        document = self._document
        if not (document.hidden or document.secrets):
            return (_View(document),)
        written = decode_document(document.path, document.data, AS_WRITTEN)
        return (_View(document), _View(written)) if isinstance(written, Document) else ()

    def is_as_written(self, memory: Memory) -> bool:
        """Whether builds read the memory's text as it is written, without taking anything out."""
        if not (self._document.hidden or self._document.secrets):
            return True
        return len(self._views) > 1 and all(view.texts.get(memory.line) == memory.text for view in self._views)

    def _extent(self, memory: Memory) -> tuple[int, int] | None:
        """First line of a memory, and the line behind its last one, from 0; None where the views do not agree.

        Nor does a memory have one around the managed block, or around lines of a secret.
        """
        extents = {view.extent(memory) for view in self._views}
        is_found = len(self._views) == 1 or all(memory.line in view.texts for view in self._views)
        extent = extents.pop() if is_found and len(extents) == 1 else None
        if extent is None or any(gap.first <= extent[1] and gap.last > extent[0] for gap in self._document.gaps):
            return None
        return extent

    @cached_property
    def _lines(self) -> Sequence[str]:
        """The lines as written, without byte order mark and line feed."""
        return self._file.text.split("\n")

    @cached_property
    def _offsets(self) -> Sequence[int]:
        """The byte at which each line begins, and that behind a line feed at the end of the last one."""
        encoding, feed = self._file.encoding, len("\n".encode(self._file.encoding))
        sizes = (len(line.encode(encoding)) + feed for line in self._lines)
        return [*accumulate(sizes, initial=len(self._file.mark))]

    def can_change(self, memory: Memory) -> bool:
        """Whether fields of the memory can be set."""
        return self._extent(memory) is not None

    def can_remove(self, memory: Memory) -> bool:
        """Whether the memory is a bullet that can be taken out, with no comment of the file's own inside it."""
        extent = self._extent(memory)
        return bool(extent and not self.is_one_memory and not self._views[0].has_comment(*extent))

    def set_fields(self, memory: Memory, fields: Mapping[str, str], bullet: str = "") -> Edit:
        """The edit that sets fields of a memory, with a new list item, LF lines, behind it; of the lines that change.

        The memory is one that `can_change`; with a `bullet`, it is a list item itself.
        """
        extent = self._extent(memory)
        assert extent
        first, stop = extent
        if self.is_one_memory:
            stop = self._views[0].head
            new_lines = front_matter_with_fields(self._lines[first:stop], fields)
        else:
            new_lines = bullet_with_fields(self._lines[first:stop], fields)
        if bullet:
            new_lines = self._with_bullet(new_lines, stop, bullet)
        return self._edit(first, stop, new_lines)

    def _with_bullet(self, lines: Sequence[str], stop: int, bullet: str) -> list[str]:
        """The lines of a memory that ends before line `stop`, and a list item with the same line ends."""
        is_last = stop == len(self._lines)  # such a line has no end, and what takes its place has none either
        end = "\r" if self._lines[0 if is_last else stop - 1].endswith("\r") else ""
        *above, last = bullet.split("\n")
        before = [*lines[:-1], lines[-1] + end] if is_last else lines
        return [*before, *(line + end for line in above), last if is_last else last + end]

    def size(self, memory: Memory) -> int:
        """The bytes of the memory: those of its lines, of its file if it is one, and of its text where none is told."""
        if self.is_one_memory:
            return len(self._file.data)
        extent = self._extent(memory)
        if extent is None:
            return len(memory.text.encode(errors="surrogatepass"))
        start, end = self._bytes(extent)
        return end - start

    def _bytes(self, extent: tuple[int, int]) -> tuple[int, int]:
        """Offset of the first byte of some lines, and that behind the last one."""
        return self._offsets[extent[0]], min(self._offsets[extent[1]], len(self._file.data))

    def remove(self, memory: Memory) -> Edit:
        """The edit that archives a memory that `can_remove`; blank lines and headings around it stay."""
        extent = self._extent(memory)
        assert extent
        start, end = self._bytes(extent)
        return Edit(self._document.path, start, self._file.data[start:end], b"", is_archived=True)

    def _edit(self, first: int, stop: int, new_lines: Sequence[str]) -> Edit:
        old_lines = self._lines[first:stop]
        same = 0  # lines at the beginning that stay; one of the old ones is always part of the edit
        while same < min(len(old_lines), len(new_lines)) - 1 and old_lines[same] == new_lines[same]:
            same += 1
        end = 0
        while end < min(len(old_lines), len(new_lines)) - same - 1 and old_lines[-1 - end] == new_lines[-1 - end]:
            end += 1
        removed = "\n".join(old_lines[same : len(old_lines) - end]).encode(self._file.encoding)
        added = "\n".join(new_lines[same : len(new_lines) - end]).encode(self._file.encoding)
        return Edit(self._document.path, self._offsets[first + same], removed, added)


class _View:
    """The lines of a file in which its memories are found."""

    def __init__(self, document: Document) -> None:
        """Of the file as one way of reading gives it."""
        self._document = document
        self._is_one_memory = is_one_memory(document)
        head = document.head.split("\n")[:-1]
        self.head = len(head)
        self._with_comments = [*head, *document.text.split("\n")]
        self._lines = [*head, *without_block_comments(document.text).split("\n")]

    @cached_property
    def texts(self) -> Mapping[int, str]:
        """Text of each memory, by the line at which it begins, from 1."""
        return {memory.line: memory.text for memory in parse_memories(self._document)[0]}

    def extent(self, memory: Memory) -> tuple[int, int] | None:
        """First line of a memory, and the line behind its last one, from 0; None where no list item begins there."""
        first = memory.line - 1
        if self._is_one_memory:
            return 0, len(self._lines)
        return (first, bullet_end(self._lines, first)) if begins_bullet(self._lines[first]) else None

    def has_comment(self, first: int, stop: int) -> bool:
        """Whether a comment of several lines stands among these lines."""
        return self._lines[first:stop] != self._with_comments[first:stop]


EXCERPT = 60
"""Characters of a memory that a reason quotes."""


class Archived(NamedTuple):
    """Memories that are taken out of the way."""

    edits: tuple[Edit, ...]
    moves: tuple[Move, ...]


class OwnerEdits:
    """The files of one owner, parsed line by line at their first edit."""

    def __init__(self, owner: OwnerMemories, workspace: Folder) -> None:
        """Read nothing."""
        self.owner = owner
        self._workspace = workspace
        self._files = {document.path: MemoryFile(document) for document in owner.documents}
        self._ambiguous = _ambiguous_ids(owner.memories)

    def file(self, memory: Memory) -> MemoryFile:
        """The file of a memory."""
        return self._files[memory.path]

    def can_change(self, memory: Memory) -> bool:
        """Whether fields of the memory can be set.

        Not so in a link, whose target is another's file, and if it shares its id: once one of two has left, the other
        one would be taken for it.
        """
        if memory.id.partition("~")[0] in self._ambiguous:
            return False
        return self.file(memory).can_change(memory) and self._workspace.stamp(memory.path) is not None

    def can_archive(self, memory: Memory) -> bool:
        """Whether the memory may and can leave its place: no pinned one may."""
        if memory.pin or not self.can_change(memory):
            return False
        if self.file(memory).is_one_memory:
            return not self._workspace.exists(archived_path(memory.path))
        return self.file(memory).can_remove(memory)

    def archive(self, memories: Iterable[Memory]) -> Archived:
        """The edits and moves that archive memories which `can_archive`."""
        edits: list[Edit] = []
        moves: list[Move] = []
        for memory in memories:
            if self.file(memory).is_one_memory:
                moves.append(Move(memory.path, archived_path(memory.path)))
            else:
                edits.append(self.file(memory).remove(memory))
        return Archived(tuple(edits), tuple(moves))

    def set_fields(self, memory: Memory, fields: Mapping[str, str], bullet: str = "") -> Edit:
        """As `MemoryFile.set_fields`."""
        return self.file(memory).set_fields(memory, fields, bullet)


def _ambiguous_ids(memories: Sequence[Memory]) -> set[str]:
    """Ids that several memories share, if they were given by hand or others name them."""
    counts = Counter(memory.id.partition("~")[0] for memory in memories)
    named = {name for memory in memories for name in (*memory.supersedes, memory.superseded_by)}
    given = {memory.id for memory in memories if counts[memory.id] > 1 and not _is_made_of_text(memory)}
    return {id_ for id_, count in counts.items() if count > 1 and (id_ in given or id_ in named)}


def _is_made_of_text(memory: Memory) -> bool:
    """Whether a memory names no id, so that its id is made of its path and text."""
    return memory.id == memory_id(memory.path, memory.text)


def change_action(verb: str, memories: Iterable[Memory], reason: str, *, needs_approval: bool) -> Action:
    """An action that concerns memories at their places, with nothing to do yet."""
    targets = tuple(memory_place(memory) for memory in memories)
    return Action(verb, targets, reason, needs_approval)


def memory_place(memory: Memory) -> str:
    """File and line of a memory, as an editor takes them."""
    return f"{memory.path}:{memory.line}"


def quoted(memory: Memory) -> str:
    """The beginning of a memory's text, in quotes; of a private one nothing, for archives and logs keep a reason."""
    if memory.private:
        return "a private memory"
    text = one_line(memory.text)
    if len(text) > EXCERPT:
        text = text[: EXCERPT - 3].rsplit(" ", 1)[0] + "..."
    return f'"{text}"'


def memory_tokens(memories: Iterable[Memory]) -> int:
    """Tokens, by the estimate, of memories as builds show them, each as a list item with its type."""
    return sum(ESTIMATE.count(f"- [{memory.type}] {memory.text}\n") for memory in memories)
