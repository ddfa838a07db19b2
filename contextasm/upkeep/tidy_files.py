"""The files that a plan may change, listed: those whose names can be shown, at the place where they lie.

Memories of a shared store are left out: their rows are changed one by one, and their mirror is never edited.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from contextasm.model import Problem
from contextasm.text.cleaning import shown_name
from contextasm.workspace.folder import Folder
from contextasm.workspace.recording import name_problem


class TidyFiles:
    """Lists of files of a workspace, and the problems of those left out of them."""

    def __init__(self, workspace: Folder) -> None:
        """Read nothing yet."""
        self._workspace = workspace
        self._problems: dict[str, Problem] = {}
        self._linked: dict[str, bool] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problems of the files left out so far, because of their names or of a shared store, by path."""
        return tuple(self._problems[name] for name in sorted(self._problems))

    def list(self, pattern: str) -> Sequence[str]:
        """Paths as the workspace lists them, but for names that builds refuse and files behind linked folders.

        A file behind a link to another folder of the workspace is listed at its own place, where a pattern fits it.
        """
        paths = [path for path in self._workspace.list(pattern) if not self._is_left_out(path)]
        together = "/".join(paths)
        if shown_name(together) == together:
            return paths
        names = {path: shown_name(path) for path in paths}
        self._problems.update({name: name_problem(name) for path, name in names.items() if name != path})
        return [path for path, name in names.items() if name == path]

    def _is_left_out(self, path: str) -> bool:
        overlay = self._workspace.overlay
        home = overlay.home(path) if overlay else None
        if home is None:
            return self._is_behind_link(path)
        what = f"the memories of {home} lie in the shared store, and are not tidied"
        hint = "`ctxasm memory deprecate|complete ID` and `ctxasm remember --supersedes ID` change them"
        self._problems[f"{home}/memories"] = Problem("store-untidied", f"{home}/memories", 0, what, hint)
        return True

    def _is_behind_link(self, path: str) -> bool:
        folder = os.path.dirname(path)
        if folder not in self._linked:
            real = os.path.realpath(f"{self._workspace.root}/{folder}")
            self._linked[folder] = bool(folder) and real != f"{self._workspace.root}/{folder}"
        return self._linked[folder]
