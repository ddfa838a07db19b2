"""A workspace that asks another one for each list and each file once, and remembers the answers.

Nothing is compared or written here; `workspace/snapshot.py` does the first, `records` the second.
"""

from __future__ import annotations

from collections.abc import Sequence

from contextasm.model import Document, Problem, Workspace
from contextasm.text.cleaning import shown_name

Read = Document | Problem | None
"""Result of reading a path: its document, the problem with it, or None where there is no such file."""


def name_problem(name: str) -> Problem:
    """The problem of a file whose name can't be shown as it is; `name` is it with escapes and masks."""
    return Problem("bad-name", name, 0, "has a name with hidden characters, line ends or a secret", "rename it")


class RecordingWorkspace:
    """Workspace whose lists and files stay as another workspace gave them the first time (`model.Workspace`)."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.lists: dict[str, Sequence[str]] = {}
        """Paths by the pattern that was listed; an empty list belongs to the record, too."""
        self.reads: dict[str, Read] = {}
        """Results by the path that was read; None belongs to the record, too."""
        self._unfit: dict[str, Problem] = {}
        """Problems of files whose names can't be shown, by their names with escapes and masks."""
        self._listed: set[str] = set()
        """Paths of all lists: their names have been looked at."""

    def list(self, pattern: str) -> Sequence[str]:
        """Paths as the workspace listed them the first time."""
        if pattern not in self.lists:
            self.lists[pattern] = self._shown(self._workspace.list(pattern))
            self._listed.update(self.lists[pattern])
        return self.lists[pattern]

    def read(self, path: str) -> Read:
        """Result as the workspace gave it the first time."""
        if path not in self.reads:
            (name,) = [path] if path in self._listed else self._shown([path])
            self.reads[name] = self._unfit.get(name) or self._workspace.read(name)
            return self.reads[name]
        return self.reads[path]

    def _shown(self, paths: Sequence[str]) -> Sequence[str]:
        """The paths as they may be shown: a name that hides something is escaped, and its file is a problem."""
        together = "/".join(paths)
        if shown_name(together) == together:
            return paths
        shown = {path: shown_name(path) for path in paths}
        for path, name in shown.items():
            if name != path:
                self._unfit[name] = name_problem(name)
        return [*shown.values()]
