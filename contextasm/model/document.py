"""Documents as read, the values in data files, and the workspace that gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, Protocol

from contextasm.model.errors import Problem

Span = tuple[int, int]
"""The first and the last line of a stretch of a file, both counted from 1 and both included."""


class Document(NamedTuple):
    """One file as read."""

    path: str
    """Posix path relative to the workspace."""
    text: str
    """The body: decoded, LF line ends, front matter taken off."""
    line: int
    """The line of the file, counted from 1, at which `text` begins."""
    front: Mapping[str, str | tuple[str, ...]]
    """The front matter's values as written; a list is a tuple."""
    data: bytes
    """The file's bytes as they lie on the disk."""

    @property
    def digest(self) -> str:
        """SHA-256 of the file's bytes, in hexadecimal."""
        return sha256(self.data).hexdigest()


class Data(NamedTuple):
    """A file of values, YAML or JSON, as read."""

    document: Document
    value: object
    """Mappings, lists, words, numbers, true, false and None; a YAML mapping knows its line as `line`."""


Parse = Callable[[str, str], object]
"""Takes a YAML text and its path; gives its values. Raises `ContextasmError` with the line for what is none."""


class Workspace(Protocol):
    """The folder that is read, as the steps see it. Nothing outside it can be reached."""

    def list(self, pattern: str) -> Sequence[str]:
        """The paths that match, in code point order. `*` stands for any name, `**` for any folders."""

    def read(self, path: str) -> Document | Problem | None:
        """The document; a problem where it can't be read; None where there is no such file."""


class FileStamp(NamedTuple):
    """What tells that a file has changed without opening it; times in nanoseconds since 1970."""

    modified: int
    changed: int
    size: int
    inode: int


class StampedWorkspace(Workspace, Protocol):
    """A workspace whose files can be told to be unchanged without opening them."""

    @property
    def root(self) -> str:
        """The folder, without links in its path."""

    def stamp(self, path: str) -> FileStamp | None:
        """What a file looks like from outside; None for what is no regular file of the workspace, and for links."""


class Memory(NamedTuple):
    """One remembered statement, as it stands in its file (docs/DESIGN.md section 2)."""

    id: str
    path: str
    line: int
    """The line of the file at which `text` begins, counted from 1."""
    text: str
    """Without list mark, type and attributes. Its line number n is the file's line `line + n`."""
    type: str
    importance: float
    """0 to 1."""
    created: str
    """YYYY-MM-DD; empty for none, which counts as older than any date."""
    accessed: str
    status: str
    confidence: float
    """0 to 1."""
    key: str
    tier: str
    dedup: str
    tags: tuple[str, ...]
    files: tuple[str, ...]
    private: bool
    pin: bool
    supersedes: tuple[str, ...]
    expires: str = ""
    """The last day on which it holds, YYYY-MM-DD; empty for none. A build does not look at it; `check` does."""
