"""Answers of a workspace, used again: a workspace made of recorded answers, and the inputs that changed since.

Recording itself is in `workspace/recording.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from contextasm.model import ContextasmError, Problem, Workspace
from contextasm.workspace.recording import Read, RecordingWorkspace

if TYPE_CHECKING:
    from contextasm.workspace.folder import Folder
    from contextasm.workspace.git import GitWorkspace


class SnapshotWorkspace:
    """Workspace made of recorded answers (`model.Workspace`).

    Raises `ContextasmError` for a list or a file that was not recorded.
    """

    def __init__(self, lists: Mapping[str, Sequence[str]], reads: Mapping[str, Read]) -> None:
        self._lists = lists
        self._reads = reads

    def list(self, pattern: str) -> Sequence[str]:
        """Paths as recorded."""
        if pattern not in self._lists:
            raise _not_recorded(pattern)
        return self._lists[pattern]

    def read(self, path: str) -> Read:
        """Result as recorded."""
        if path not in self._reads:
            raise _not_recorded(path)
        return self._reads[path]


def _not_recorded(path: str) -> ContextasmError:
    what = "the recorded build did not ask for it, and this version of ctxasm does"
    return ContextasmError(path, what, "replay with the version that wrote the record", code=1)


class InspectedWorkspace(RecordingWorkspace):
    """Recorded folder, or git's index, that knows what it records."""

    def __init__(self, folder: Folder | GitWorkspace) -> None:
        super().__init__(folder)
        self.folder = folder


class ChangedInput(NamedTuple):
    """Path of an input, and how it differs from the recorded one."""

    path: str
    kind: str
    """`changed`, `added` or `gone`."""


def changed_inputs(
    lists: Mapping[str, Sequence[str]], digests: Mapping[str, str], workspace: Workspace
) -> tuple[tuple[ChangedInput, ...], RecordingWorkspace]:
    """Inputs of a workspace that differ from the recorded ones, in path order, and a record of its answers now.

    `digests` are those of recorded results by path, as `answer_digest` gives them.
    """
    recording = RecordingWorkspace(workspace)
    kinds: dict[str, str] = {}
    for pattern, old in lists.items():
        new = recording.list(pattern)
        kinds |= dict.fromkeys(set(new) - set(old), "added") | dict.fromkeys(set(old) - set(new), "gone")
    for path, before in digests.items():
        after = answer_digest(recording.read(path))
        if before != after:
            kinds[path] = "changed" if before and after else "added" if after else "gone"
    return tuple(ChangedInput(path, kinds[path]) for path in sorted(kinds)), recording


def answer_digest(read: Read) -> str:
    """Text that differs where results of reading differ: a file's SHA-256, or its problem; empty for no file."""
    if isinstance(read, Problem):
        return f"{read.code}: {read.message}"
    return read.digest if read else ""
