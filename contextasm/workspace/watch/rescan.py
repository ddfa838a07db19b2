"""The workspace as a watch sees it: answers to a build, and the paths at which the disk answers otherwise now.

A file whose status has not changed is not read again. Nothing here waits for changes or builds anything.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from contextasm.model import Document
from contextasm.text.markdown.blocks import passage
from contextasm.workspace.folder import Folder, Overlay
from contextasm.workspace.reading import file_bytes
from contextasm.workspace.recording import Read, RecordingWorkspace

_SETTLED = 100_000_000
"""Nanoseconds after a change within which a second one may leave the same time stamp, however coarse the clock is."""


class Reading(NamedTuple):
    """Result of reading a path, and the file's status before."""

    status: tuple[int, ...]
    """Empty where an equal status later would not prove that the content is the same."""
    answer: Read


class WorkspaceAnswers(NamedTuple):
    """Answers of the workspace, and contents of files elsewhere, that a build depends on."""

    lists: Mapping[str, Sequence[str]]
    reads: Mapping[str, Reading]
    others: Mapping[str, bytes | None]
    """Contents of files that were not read through the workspace, such as a profile; None for an unreadable one."""


NOTHING = WorkspaceAnswers({}, {}, {})


class Rescan(Folder):
    """Folder that records its answers, and reads only files that changed since `before`."""

    def __init__(
        self,
        root: Path,
        before: WorkspaceAnswers = NOTHING,
        outputs: frozenset[str] = frozenset(),
        overlay: Overlay | None = None,
    ) -> None:
        """`outputs` are the real paths of files that the watch writes: a change of them is not one of the workspace."""
        super().__init__(root, overlay)
        self._outputs = outputs
        self._changed_files = _ChangedFiles(root, before.reads, overlay)
        self._recording = RecordingWorkspace(self._changed_files)

    def attach(self, overlay: Overlay) -> None:
        """Lay an overlay over the folder; nothing of its folders has been asked for yet."""
        super().attach(overlay)
        self._changed_files.attach(overlay)

    def list(self, pattern: str) -> Sequence[str]:
        """Paths of the matching files; the disk is asked once."""
        return self._recording.list(pattern)

    def read(self, path: str) -> Read:
        """The document as it is now; the disk is asked once, so that a build sees one state of each file."""
        return self._recording.read(path)

    def answers(self, others: Iterable[Path]) -> WorkspaceAnswers:
        """All answers so far, and the contents of `others`, files elsewhere that count, too."""
        contents = {str(path): _content(str(path)) for path in others}
        return WorkspaceAnswers(self._recording.lists, self._changed_files.readings, contents)

    def changes(self, before: WorkspaceAnswers) -> Iterator[str]:
        """Paths at which the disk answers otherwise than `before`; a path may come more than once."""
        for pattern, paths in before.lists.items():
            yield from (path for path in sorted({*paths} ^ {*self.list(pattern)}) if not self._is_output(path))
        for path, reading in before.reads.items():
            now = self.read(path)
            if same_answer(reading.answer, now):
                continue
            if not self._is_output(path) or _differs_outside_block(reading.answer, now):
                yield path
        for path, content in before.others.items():
            if _content(path) != content:
                yield path

    def _is_output(self, path: str) -> bool:
        return bool(self._outputs) and os.path.realpath(self._full(path)) in self._outputs


class _ChangedFiles(Folder):
    """Folder that takes the earlier answer for each file that has not changed."""

    def __init__(self, root: Path, before: Mapping[str, Reading], overlay: Overlay | None) -> None:
        super().__init__(root, overlay)
        self._before = before
        self.readings: dict[str, Reading] = {}

    def read(self, path: str) -> Read:
        """The document as it is now; the earlier one where its status or its bytes are the same."""
        self.readings[path] = self._reading(path)
        return self.readings[path].answer

    def _reading(self, path: str) -> Reading:
        status = _proving_status(self._full(path))
        before = self._before.get(path)
        if before and status and before.status == status and self.holds(os.path.dirname(path)):
            return before
        answer = super().read(path)
        # Equal content is the same value: whoever compares sees no change where a file was merely touched.
        return Reading(status, before.answer if before and same_answer(before.answer, answer) else answer)


def _differs_outside_block(one: Read, other: Read) -> bool:
    """Whether somebody else changed a file that holds a managed block, or held one."""
    if not isinstance(one, Document) or not isinstance(other, Document):
        return False
    if not any(gap.reason == "block" for gap in (*one.gaps, *other.gaps)):
        return False
    texts = (passage(document, document.line, document.text)[1].rstrip() for document in (one, other))
    return next(texts) != next(texts) or one.front != other.front


def same_answer(one: Read, other: Read) -> bool:
    """Whether two results of reading a file are equal."""
    if isinstance(one, Document) and isinstance(other, Document):
        return one.data == other.data
    return one == other


def merge_answers(one: WorkspaceAnswers, other: WorkspaceAnswers) -> WorkspaceAnswers:
    """Answers of both; where both have one, that of `other`."""
    return WorkspaceAnswers({**one.lists, **other.lists}, {**one.reads, **other.reads}, {**one.others, **other.others})


def _proving_status(path: str) -> tuple[int, ...]:
    """Status of a file that changes whenever its content does; empty for a file that is missing or changed just now."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    recent = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < _SETTLED
    if recent:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _content(path: str) -> bytes | None:
    """Bytes of a file; None where it can't be read."""
    data = file_bytes(path)
    return data if isinstance(data, bytes) else None
