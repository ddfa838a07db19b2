"""Notes: what a build asked a workspace for, and what it was told. A workspace can be made of them again.

A list that came back empty and a file that was not there belong to them: either may be there the next time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contextasm.model import ContextasmError, Document, Problem, Workspace
from contextasm.workspace.folder import Folder

Read = Document | Problem | None
"""What reading a path came to."""


class RecordingWorkspace:
    """A workspace that notes each answer, and gives the same one again (`model.Workspace`)."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.lists: dict[str, Sequence[str]] = {}
        self.reads: dict[str, Read] = {}

    def list(self, pattern: str) -> Sequence[str]:
        """As the workspace lists it the first time."""
        if pattern not in self.lists:
            self.lists[pattern] = self._workspace.list(pattern)
        return self.lists[pattern]

    def read(self, path: str) -> Document | Problem | None:
        """As the workspace reads it the first time."""
        if path not in self.reads:
            self.reads[path] = self._workspace.read(path)
        return self.reads[path]


class SnapshotWorkspace:
    """A workspace made of notes (`model.Workspace`). Raises `ContextasmError` for what was never asked before."""

    def __init__(self, lists: Mapping[str, Sequence[str]], reads: Mapping[str, Read]) -> None:
        self._lists = lists
        self._reads = reads

    def list(self, pattern: str) -> Sequence[str]:
        """As noted."""
        if pattern not in self._lists:
            raise _never_asked(pattern)
        return self._lists[pattern]

    def read(self, path: str) -> Document | Problem | None:
        """As noted."""
        if path not in self._reads:
            raise _never_asked(path)
        return self._reads[path]


def _never_asked(path: str) -> ContextasmError:
    what = "the recorded build did not ask for it, and this version of ctxasm does"
    return ContextasmError(path, what, "replay with the version that wrote the record", code=1)


class ChangedInput(NamedTuple):
    """An input that is not what it was."""

    path: str
    kind: str
    """`changed`, `added` or `gone`."""


def changed_inputs(
    lists: Mapping[str, Sequence[str]], digests: Mapping[str, str], workspace: Workspace
) -> tuple[tuple[ChangedInput, ...], RecordingWorkspace]:
    """What a workspace holds other than noted, in path order, and its answers to the same questions.

    `digests` are those of the answers to `read`, as `answer_digest` gives them.
    """
    noted = RecordingWorkspace(workspace)
    found: dict[str, str] = {}
    for pattern, old in lists.items():
        new = noted.list(pattern)
        found |= dict.fromkeys(set(new) - set(old), "added") | dict.fromkeys(set(old) - set(new), "gone")
    for path, before in digests.items():
        after = answer_digest(noted.read(path))
        if before != after:
            found[path] = "changed" if before and after else "added" if after else "gone"
    return tuple(ChangedInput(path, found[path]) for path in sorted(found)), noted


def answer_digest(read: Read) -> str:
    """What tells one answer from another: a file's SHA-256; what is wrong with it; empty where there is none."""
    if isinstance(read, Problem):
        return f"{read.code}: {read.message}"
    return read.digest if read else ""


class InspectedWorkspace:
    """A workspace that opens each file and lists each folder once (`model.Workspace`)."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.unlisted: dict[str, ContextasmError] = {}
        """The folders that can't be listed."""
        self._read: dict[str, Document | Problem | None] = {}
        self._listed: dict[str, Sequence[str]] = {}

    def list(self, pattern: str) -> Sequence[str]:
        """As the workspace has it; nothing where a folder on the way can't be listed."""
        if pattern not in self._listed:
            try:
                self._listed[pattern] = self.folder.list(pattern)
            except ContextasmError as error:
                self.unlisted[error.where] = error
                self._listed[pattern] = ()
        return self._listed[pattern]

    def read(self, path: str) -> Document | Problem | None:
        """As the workspace has it."""
        if path not in self._read:
            self._read[path] = self.folder.read(path)
        return self._read[path]
