"""A workspace that asks another one for each list and each file once, and remembers the answers.

Nothing is compared or written here; `workspace/snapshot.py` does the first, `records` the second.
"""

from __future__ import annotations

from collections.abc import Sequence

from contextasm.model import Document, Problem, Workspace

Read = Document | Problem | None
"""Result of reading a path: its document, the problem with it, or None where there is no such file."""


class RecordingWorkspace:
    """Workspace whose lists and files stay as another workspace gave them the first time (`model.Workspace`)."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.lists: dict[str, Sequence[str]] = {}
        """Paths by the pattern that was listed; an empty list belongs to the record, too."""
        self.reads: dict[str, Read] = {}
        """Results by the path that was read; None belongs to the record, too."""

    def list(self, pattern: str) -> Sequence[str]:
        """Paths as the workspace listed them the first time."""
        if pattern not in self.lists:
            self.lists[pattern] = self._workspace.list(pattern)
        return self.lists[pattern]

    def read(self, path: str) -> Read:
        """Result as the workspace gave it the first time."""
        if path not in self.reads:
            self.reads[path] = self._workspace.read(path)
        return self.reads[path]
