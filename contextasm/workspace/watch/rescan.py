"""The workspace looked at again: what a build asked of the disk, and whether the answers are still the same.

A file whose status has not changed is not read again. Nothing here waits for changes or knows what is built.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from contextasm.model import Document, Problem
from contextasm.workspace.folder import Folder

Answer = Document | Problem | None

_SETTLED = 100_000_000
"""Nanoseconds after a change within which a second one may leave the same time stamp, however coarse the clock is."""


class Reading(NamedTuple):
    """A file as it was read."""

    stamp: tuple[int, ...]
    """The file's status before it was read; empty where it had none that can be relied upon."""
    answer: Answer


class WorkspaceAnswers(NamedTuple):
    """What a build asked of the workspace, and of files elsewhere, with the answers."""

    lists: Mapping[str, Sequence[str]]
    reads: Mapping[str, Reading]
    others: Mapping[str, bytes | None]
    """Files that were not read through the workspace, such as a profile: what they held; None for nothing."""


NOTHING = WorkspaceAnswers({}, {}, {})


class Rescan(Folder):
    """A workspace that remembers what it was asked, and reads only what changed since `before`."""

    def __init__(self, root: Path, before: WorkspaceAnswers = NOTHING, own: frozenset[str] = frozenset()) -> None:
        """`own` are the real paths of files that are written, not read: they are never seen to change."""
        super().__init__(root)
        self._before = before.reads
        self._own = own
        self._lists: dict[str, Sequence[str]] = {}
        self._reads: dict[str, Reading] = {}

    def list(self, pattern: str) -> Sequence[str]:
        """The paths that match; asked of the disk once."""
        if pattern not in self._lists:
            self._lists[pattern] = super().list(pattern)
        return self._lists[pattern]

    def read(self, path: str) -> Answer:
        """The document as it is now; asked of the disk once, so that a build sees one state of each file."""
        if path not in self._reads:
            self._reads[path] = self._read(path)
        return self._reads[path].answer

    def _read(self, path: str) -> Reading:
        """What a file holds; that of last time where its status says that nothing changed."""
        stamp = _stamp(self._full(path))
        known = self._before.get(path)
        if known and stamp and known.stamp == stamp and self.holds(os.path.dirname(path)):
            return known
        answer = super().read(path)
        # Equal content is the same value: whoever compares sees no change where a file was merely touched.
        return Reading(stamp, known.answer if known and same_answer(known.answer, answer) else answer)

    def asked(self, others: Iterable[Path]) -> WorkspaceAnswers:
        """Everything asked so far; `others` are files elsewhere that count, too."""
        return WorkspaceAnswers(self._lists, self._reads, {str(path): _bytes(str(path)) for path in others})

    def changes(self, before: WorkspaceAnswers) -> Iterator[str]:
        """The paths at which the disk no longer answers as it did before."""
        for pattern, old in before.lists.items():
            yield from (path for path in sorted({*old} ^ {*self.list(pattern)}) if not self._is_own(path))
        for path, reading in before.reads.items():
            if not same_answer(reading.answer, self.read(path)) and not self._is_own(path):
                yield path
        for path, content in before.others.items():
            if _bytes(path) != content:
                yield path

    def _is_own(self, path: str) -> bool:
        return bool(self._own) and os.path.realpath(self._full(path)) in self._own


def same_answer(one: Answer, other: Answer) -> bool:
    """Whether two readings of a file came to the same."""
    if isinstance(one, Document) and isinstance(other, Document):
        return one.data == other.data
    return one == other


def merge_answers(one: WorkspaceAnswers, other: WorkspaceAnswers) -> WorkspaceAnswers:
    """What either asked; where both did, the answer to `other`."""
    return WorkspaceAnswers({**one.lists, **other.lists}, {**one.reads, **other.reads}, {**one.others, **other.others})


def _stamp(path: str) -> tuple[int, ...]:
    """The status of a file that changes with its content; empty where that is not certain."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    recent = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < _SETTLED
    if recent:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _bytes(path: str) -> bytes | None:
    """What a file holds; None where it can't be read."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return None
