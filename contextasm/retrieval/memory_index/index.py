"""Kept pools: memories and their postings in a SQLite file of the workspace, for builds to come (`model.Pools`).

Derived data: what is damaged, of another version or in nobody's reach is made again, or done without. Answers are the
same as those of a pool that is read, and so this decides nothing about them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from contextasm.model import MemoryPool, StampedWorkspace, T
from contextasm.retrieval.memory_pool import MANY

INDEX_FOLDER = ".ctxasm/memories"
"""Where pools are kept, relative to the workspace."""


class MemoryIndexes:
    """The pools of a workspace."""

    def __init__(self, workspace: StampedWorkspace, now: Callable[[], float], *, kept: bool) -> None:
        """Pools in the workspace's own folder; none at all unless `kept`. `now` gives seconds since 1970."""
        self._workspace = workspace
        self._now = now
        self._folder = Path(workspace.root, INDEX_FOLDER) if kept else None

    def query(self, patterns: Sequence[str], paths: Sequence[str], use: Callable[[MemoryPool], T]) -> T | None:
        """What `use` makes of the pool of these patterns, brought up to date; None where none is worth keeping."""
        path = self._path(patterns)
        if path is None or not path.exists():
            return None
        from contextasm.retrieval.memory_index.database import UnusableIndex, query_database, remove

        try:
            answer, size = query_database(path, self._workspace, self._now(), paths, use)
        except UnusableIndex as unusable:
            if unusable.damaged:
                remove(path)
            return None
        if size <= MANY:
            remove(path)
            return None
        return answer

    def store(self, patterns: Sequence[str], paths: Sequence[str]) -> None:
        """Make the pool of these files, where the workspace can be written to."""
        path = self._path(patterns)
        if path is None or not self._made(path.parent):
            return
        from contextasm.retrieval.memory_index.database import UnusableIndex, query_database, remove

        try:
            query_database(path, self._workspace, self._now(), paths, lambda _pool: None)
        except UnusableIndex as unusable:
            if unusable.damaged:
                remove(path)

    def _path(self, patterns: Sequence[str]) -> Path | None:
        """The file of a pool."""
        name = sha256("\0".join(patterns).encode(errors="surrogatepass")).hexdigest()[:16]
        return self._folder / f"{name}.sqlite" if self._folder else None

    def _made(self, folder: Path) -> bool:
        """Whether there is the folder, in the workspace, and git is told to leave it alone."""
        note = Path(self._workspace.root, ".ctxasm", ".gitignore")
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not note.exists():
                note.write_text("*\n", encoding="utf-8")
        except OSError:
            return False
        return os.path.realpath(folder) == str(folder)
