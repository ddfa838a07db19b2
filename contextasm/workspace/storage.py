"""What a place that holds memories is asked for: the interfaces of files and of stores, and the values of both.

An owner's memories are files of the workspace unless an `Overlay` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from datetime import date
from typing import TYPE_CHECKING, Literal, Protocol

from contextasm.model import Decision, Document, FolderFacts, Memory, NamedTuple, Problem
from contextasm.rendering.json_codec import Count
from contextasm.text.memories.parser import ACTIVE_STATUSES

if TYPE_CHECKING:
    from contextasm.text.exchange.entry import SourceEntry

PrivateLines = Callable[[Document], Collection[int]]
"""Gives the lines of a file, counted from 1, that are private."""

DEFAULT_TYPE = "note"
"""Type of a memory that names none."""


class NewMemory(NamedTuple):
    """An entry to remember, already checked."""

    text: str
    """Fit for a bullet, as `text.memories.writer.storable_text` gives it."""
    type: str = DEFAULT_TYPE
    importance: float | None = None
    """0 to 1; None leaves it to the file."""
    tags: tuple[str, ...] = ()
    key: str = ""
    supersedes: tuple[str, ...] = ()
    valid_from: str = ""
    """The first day on which it holds, YYYY-MM-DD; empty for none."""
    expires: str = ""
    """The last day on which it holds, likewise."""
    repositories: tuple[str, ...] = ()
    """Patterns of the repositories in which it holds; empty for any."""
    accessed: str = ""
    """The day of the last repetition, YYYY-MM-DD; empty for none."""
    writer: str = ""
    """Who writes it, if that is not a person, such as `mcp`."""
    cites: tuple[str, ...] = ()
    """Lines of files that it rests on, with digests."""
    status: Literal["", "draft"] = ""
    """`draft` for one that waits for approval; empty for an active one."""

    def may_reinforce(self, memory: Memory) -> bool:
        """Whether a memory that says the same may be reinforced: an active one, and by a draft only a draft."""
        return memory.status == self.status if self.status else memory.status in ACTIVE_STATUSES


class MemoryPlace(NamedTuple):
    """The file for new memories, and the folder of all memories of the owner."""

    folder: str = ""
    """Folder of the owner's memories; an entry is compared with the memories of all its files. Empty for one file."""
    path: str = ""
    """File that new memories are written to."""
    stored: FolderFacts | None = None
    """What earlier runs found in the files of the folder; None if nothing may be stored."""
    private_lines: PrivateLines | None = None
    """Memories that begin in these lines are not seen: a program for others asks. None sees all."""
    archived_ids: frozenset[str] = frozenset()
    """Ids of memories that left the folder for its archive: an import does not bring them back."""


class RememberOutcome(NamedTuple):
    """Result of remembering one entry."""

    what: str
    """`stored` or `reinforced`."""
    memory: Memory
    """The memory as it is now in its file."""
    alike: float
    """Similarity of the entry to the memory that it reinforced, 0 to 1; 1 if it was stored."""
    unmerged: tuple[str, ...] = ()
    """Fields of the entry, as `name=value`, that the reinforced memory has another value for."""
    problems: tuple[Problem, ...] = ()
    """Of the text that was given: hidden characters that were removed, secrets that stay. For programs to tell."""


Outcome = Literal["added", "changed", "differs", "left", "archived"]


class ImportOutcome(NamedTuple):
    """The result of importing one entry."""

    outcome: Outcome
    """Archived if its memory has left for the archive, and stays there; left if nothing differs; else changed if its
    memory took its fields over."""
    id: str
    """The id of its memory."""
    path: str
    """The file of its memory; the folder of the archive for one that is archived."""
    line: Count
    """The line of its memory, counted from 1; 0 if it has no page yet, or is archived."""
    differing: tuple[str, ...] = ()
    """Fields, `text` among them, in which the entry differs from its memory as it was."""
    alike: str = ""
    """The id of another memory, or of an entry before it, that an added one says the same as; empty for none."""
    sources: Sequence[str] = ()
    """Places of the entry, `FILE:LINE` or `FILE: KEY`; several if it is there again."""
    digest: str = ""
    """SHA-256 of its text as it was to be stored, clean and with its secrets masked, in hexadecimal."""


class MemoryStorage(Protocol):
    """A place to write memories to. Each method does all that it is asked for, or raises `ContextasmError`."""

    def remember(
        self, place: MemoryPlace, entries: Sequence[NewMemory], day: date, *, force: bool
    ) -> list[RememberOutcome]:
        """Add the entries, or reinforce memories that say the same; with `force`, add all."""

    def import_entries(
        self, place: MemoryPlace, entries: Sequence[SourceEntry], *, update: bool, dry_run: bool
    ) -> list[ImportOutcome]:
        """Add entries of another program by their ids; with `update`, memories that are there take their fields over.

        With `dry_run` nothing is written.
        """

    def change(self, memories: Sequence[Memory], change: Callable[[Memory], Memory]) -> list[tuple[Memory, Memory]]:
        """Change fields of memories as `change` says, which may raise; gives each as it was and as it is.

        The caller holds the lock of the workspace.
        """

    def touch(self, shown: Sequence[Decision], day: date, *, dry_run: bool) -> Problem | None:
        """Set `accessed` of the memories of these decisions to a day, unless it is later; the problem with that.

        With `dry_run` nothing is written, and `ContextasmError` is raised if that is known to fail.
        """


class Overlay(MemoryStorage, Protocol):
    """Folders of owners whose memories are kept elsewhere, such as in a shared store, and are read as files."""

    def place(self, path: str) -> str | None:
        """The path at which a path of these folders is, both relative to the workspace; None for any other path."""

    def owner(self, path: str) -> str | None:
        """The owner whose memories a path belongs to, if they are elsewhere; None for any other path."""

    def refresh(self) -> Sequence[Problem]:
        """Bring the files up to date; the problems with that."""

    def follow(self, nudge: Callable[[], None], warn: Callable[[str], None]) -> AbstractContextManager[None]:
        """Keep the files up to date for as long as the result is open.

        `nudge` is called after changes, and `warn` with messages; both from any thread.
        """
