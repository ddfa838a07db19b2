"""One file of memories as it was read, and the edits of its bytes that change, replace, add or take out memories.

Every byte that is not meant to change stays. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate

from contextasm.model import AS_WRITTEN, Document, Memory, NamedTuple, Secret, grouped
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.markdown.blocks import bullet_end, without_block_comments
from contextasm.text.memories.parser import is_one_memory, parse_memories
from contextasm.text.memories.writer import append_bullets, bullet_with_fields, front_matter_with_fields
from contextasm.workspace.editing.files import EditableFile


class Edit(NamedTuple):
    """Bytes in a file of the workspace, and the bytes that replace them."""

    path: str
    start: int
    """Offset in the file as it was read; that of the end, with nothing removed, appends."""
    removed: bytes
    """The bytes at that place; an application that finds other bytes there changes nothing in the file."""
    added: bytes
    is_archived: bool = False
    """Whether what is removed goes to the archive of the file, with its place."""

    @property
    def stop(self) -> int:
        """Offset of the first byte after the removed ones."""
        return self.start + len(self.removed)


def edited(data: bytes, edits: Sequence[Edit]) -> bytes:
    """The bytes of a file with edits, which do not overlap; at one place, what is only added comes first."""
    parts: list[bytes] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.stop)):
        parts += (data[at : edit.start], edit.added)
        at = edit.stop
    return b"".join([*parts, data[at:]])


def with_bullets(data: bytes, bullets: Sequence[str]) -> bytes:
    """The bytes of a file with list items, LF lines, at its end; their lines end as the first line of the file."""
    file = EditableFile(data)
    return data + file.encoded(append_bullets(file.text, bullets))


class MemoryFile(EditableFile):
    """A file of memories as it was read. A memory is named by its line, counted from 1."""

    def __init__(self, document: Document) -> None:
        """Parse nothing yet; `document` is the file as builds read it."""
        super().__init__(document.data)
        self.document = document

    @cached_property
    def is_one_memory(self) -> bool:
        """Whether the file is one memory as a whole."""
        return is_one_memory(self.document)

    @cached_property
    def memories(self) -> tuple[Memory, ...]:
        """The memories as builds read them, under the ids that the file gives them, some of which may be equal."""
        return parse_memories(self.document)[0]

    @cached_property
    def by_line(self) -> Mapping[int, Memory]:
        """The memories by the lines at which they begin."""
        return {memory.line: memory for memory in self.memories}

    @cached_property
    def written(self) -> MemoryFile:
        """The file as it is written: with the hidden characters and the secrets that reading takes out."""
        if not (self.document.hidden or self.document.secrets):
            return self
        written = decode_document(self.document.path, self.data, AS_WRITTEN)
        assert isinstance(written, Document)
        return MemoryFile(written)

    def is_as_written(self, memory: Memory) -> bool:
        """Whether builds read the memory's text as it is written, without taking anything out."""
        if self.written is self:
            return True
        found = [file.by_line.get(memory.line) for file in (self, self.written)]
        return all(each and each.text == memory.text for each in found)

    def can_change(self, line: int) -> bool:
        """Whether builds read the memory in the lines that it is written in, so that an edit changes what they read.

        Not so around the managed block, or around lines of a secret.
        """
        first, stop = self.written.extent(line)
        if self.written is not self:
            is_found = line in self.by_line and line in self.written.by_line
            if not is_found or self.extent(line) != (first, stop):
                return False
        return not any(gap.first <= stop and gap.last > first for gap in self.document.gaps)

    def can_remove(self, line: int) -> bool:
        """Whether the memory is a bullet that can be taken out, with no comment of the file's own inside it."""
        if self.is_one_memory or not self.can_change(line):
            return False
        first, stop = self.written.extent(line)
        return self._with_comments[first:stop] == self._without_comments[first:stop]

    def set_fields(self, line: int, fields: Mapping[str, str], bullet: str = "") -> Edit:
        """The edit that sets fields of a memory, with a new list item, LF lines, after it; of the lines that change.

        With a `bullet`, the memory is a list item itself.
        """
        first, stop = self.written.extent(line)
        if self.written.is_one_memory:
            stop = self.written.document.head.count("\n")
            return self._edit(first, stop, front_matter_with_fields(self._lines[first:stop], fields))
        lines = bullet_with_fields(self._lines[first:stop], fields)
        if bullet:
            is_last = stop == len(self._lines)  # the last line has no end, nor has the line that takes its place
            lines = [*lines[:-1], lines[-1] + self._line_end(stop)] if is_last else lines
            lines += self._bullet_lines(bullet, stop)
        return self._edit(first, stop, lines)

    def replace(self, line: int, bullet: str) -> Edit:
        """The edit that writes another list item, LF lines, in place of one."""
        first, stop = self.written.extent(line)
        return self._edit(first, stop, self._bullet_lines(bullet, stop))

    def secrets(self, line: int) -> Sequence[Secret]:
        """The secrets in the lines of a memory, without placeholders."""
        if not self._secrets:
            return ()
        files = [file for file in (self, self.written) if line in file.by_line]
        lines = range(1 if self.is_one_memory else line, 1 + max(file.extent(line)[1] for file in files))
        return [secret for at in lines for secret in self._secrets.get(at, ())]

    @cached_property
    def _secrets(self) -> Mapping[int, Sequence[Secret]]:
        """The secrets by line, without placeholders and those in the managed block, whose lines are blank here."""
        secrets = (secret for secret in self.document.secrets if self._with_comments[secret.line - 1])
        return grouped((secret.line, secret) for secret in secrets if not secret.placeholder)

    def redact(self, line: int) -> Edit:
        """The edit that writes the lines of a memory's secrets as builds read them, with masks: the text is lost."""
        masked = {number for secret in self.secrets(line) for number in range(secret.line, secret.last + 1)}
        first, stop = min(masked) - 1, max(masked)
        lines = [
            self._with_comments[at] + "\r" * self._lines[at].endswith("\r") if at + 1 in masked else self._lines[at]
            for at in range(first, stop)
        ]
        return self._edit(first, stop, lines)

    def remove(self, line: int) -> Edit:
        """The edit that archives a memory that `can_remove`; blank lines and headings around it stay."""
        start, end = self._bytes(line)
        return Edit(self.document.path, start, self.data[start:end], b"", is_archived=True)

    def size(self, memory: Memory) -> int:
        """Bytes of the memory: of its lines, of its file if it is one, or of its text if no edit fits it."""
        if self.is_one_memory:
            return len(self.data)
        if not self.can_change(memory.line):
            return len(memory.text.encode(errors="surrogatepass"))
        start, end = self._bytes(memory.line)
        return end - start

    def extent(self, line: int) -> tuple[int, int]:
        """First line of the memory that begins at a line, and the line after its last one, from 0."""
        lines = self._without_comments
        return (0, len(lines)) if self.is_one_memory else (line - 1, bullet_end(lines, line - 1))

    @cached_property
    def _with_comments(self) -> Sequence[str]:
        return (self.document.head + self.document.text).split("\n")

    @cached_property
    def _without_comments(self) -> Sequence[str]:
        """The lines in which memories are found: blank in place of comments of several lines."""
        return (self.document.head + without_block_comments(self.document.text)).split("\n")

    @cached_property
    def _lines(self) -> Sequence[str]:
        """The lines as written, without byte order mark and line feed."""
        return self.text.split("\n")

    @cached_property
    def _offsets(self) -> Sequence[int]:
        """The byte at which each line begins, and that after a line feed at the end of the last one."""
        encoding, feed = self.encoding, len("\n".encode(self.encoding))
        sizes = (len(line.encode(encoding)) + feed for line in self._lines)
        return [*accumulate(sizes, initial=len(self.mark))]

    def _bytes(self, line: int) -> tuple[int, int]:
        """Offset of the first byte of a memory, and that after its last one."""
        first, stop = self.written.extent(line)
        return self._offsets[first], min(self._offsets[stop], len(self.data))

    def _line_end(self, stop: int) -> str:
        """A carriage return if the lines before line `stop` end in CRLF, else empty."""
        return "\r" if self._lines[0 if stop == len(self._lines) else stop - 1].endswith("\r") else ""

    def _bullet_lines(self, bullet: str, stop: int) -> list[str]:
        """The lines of a list item that is to end before line `stop`."""
        end = self._line_end(stop)
        *above, last = bullet.split("\n")
        return [*(line + end for line in above), last if stop == len(self._lines) else last + end]

    def _edit(self, first: int, stop: int, new_lines: Sequence[str]) -> Edit:
        old_lines = self._lines[first:stop]
        same = 0  # lines at the beginning that stay; one of the old ones is always part of the edit
        while same < min(len(old_lines), len(new_lines)) - 1 and old_lines[same] == new_lines[same]:
            same += 1
        end = 0
        while end < min(len(old_lines), len(new_lines)) - same - 1 and old_lines[-1 - end] == new_lines[-1 - end]:
            end += 1
        removed = "\n".join(old_lines[same : len(old_lines) - end]).encode(self.encoding)
        added = "\n".join(new_lines[same : len(new_lines) - end]).encode(self.encoding)
        return Edit(self.document.path, self._offsets[first + same], removed, added)
