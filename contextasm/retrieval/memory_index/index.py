"""Memory indexes of a workspace: one SQLite file for each large pool, for later builds (`model.IndexedPools`).

Derived data: an index that is damaged or of another version is made again, and one that can't be read or written is
done without. Answers are those of a pool that is read from its files: nothing here decides on them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from contextasm.model import MemoryPool, StampedWorkspace, T
from contextasm.retrieval.memory_pool import MANY

INDEX_FOLDER = ".ctxasm/memories"
"""Folder of the index files, relative to the workspace."""


class MemoryIndexes:
    """The memory indexes of a workspace."""

    def __init__(self, workspace: StampedWorkspace, now: Callable[[], float], *, enabled: bool) -> None:
        """Indexes in the workspace's `INDEX_FOLDER`; none at all unless `enabled`. `now` gives seconds since 1970."""
        self._workspace = workspace
        self._now = now
        self._folder = Path(workspace.root, INDEX_FOLDER) if enabled else None

    def query(self, patterns: Sequence[str], paths: Sequence[str], use: Callable[[MemoryPool], T]) -> T | None:
        """Result of `use` on the indexed pool of these patterns, brought up to date with the files in `paths`.

        None where there is no index, or it can't be used, or the pool is no longer large; `use` may have been called.
        """
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
        """Make the index of these files, where the workspace can be written to."""
        path = self._path(patterns)
        if path is None or not self._make_ignored_folder(path.parent):
            return
        from contextasm.retrieval.memory_index.database import UnusableIndex, query_database, remove

        try:
            query_database(path, self._workspace, self._now(), paths, lambda _pool: None)
        except UnusableIndex as unusable:
            if unusable.damaged:
                remove(path)

    def _path(self, patterns: Sequence[str]) -> Path | None:
        name = sha256("\0".join(patterns).encode(errors="surrogatepass")).hexdigest()[:16]
        return self._folder / f"{name}.sqlite" if self._folder else None

    def _make_ignored_folder(self, folder: Path) -> bool:
        # False where it can't be made, or where a link leads out of the workspace.
        gitignore = Path(self._workspace.root, ".ctxasm", ".gitignore")
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not gitignore.exists():
                gitignore.write_text("*\n", encoding="utf-8")
        except OSError:
            return False
        return os.path.realpath(folder) == str(folder)
