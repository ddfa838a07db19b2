"""Indexes of a workspace: one SQLite file for each large pool, for later builds (`model.IndexedPools`).

Derived data: an index that is damaged, foreign or of another version is made again, and one that can't be made is done
without. Answers are those of a pool that is read from its files: nothing here decides on them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from contextasm.model import ContextasmError, EntryPool, StampedWorkspace, T
from contextasm.retrieval.memory_index.steps import IndexingSteps
from contextasm.retrieval.pools.memory_pool import MANY

INDEX_FOLDER = ".ctxasm/memories"
"""Folder of the index files, relative to the workspace."""


class MemoryIndexes:
    """The memory indexes of a workspace."""

    def __init__(self, workspace: StampedWorkspace, now: Callable[[], float], make_folder: Callable[[], Path]) -> None:
        """Indexes in the workspace's `INDEX_FOLDER`. `now` gives seconds since 1970.

        `make_folder` makes that folder, and raises `ContextasmError` where it can't.
        """
        self._workspace = workspace
        self._now = now
        self._make_folder = make_folder
        self.steps = IndexingSteps()
        """Steps of the index that is being made."""

    def query(
        self, kind: str, patterns: Sequence[str], paths: Sequence[str], use: Callable[[EntryPool[Any]], T]
    ) -> T | None:
        """Result of `use` on the indexed pool of these patterns, brought up to date with the files in `paths`.

        `kind` is a name of `kinds.KINDS`.

        None where there is no index, or it can't be used, or the pool is no longer large; `use` may have been called.
        """
        path = self._path(kind, patterns)
        if not os.path.lexists(path):
            return None
        from contextasm.retrieval.memory_index.database import (
            IndexInputs,
            UnusableIndex,
            changes_path,
            is_regular_file,
            query_database,
        )
        from contextasm.retrieval.memory_index.kinds import KINDS

        if not is_regular_file(path):
            return None
        try:
            inputs = IndexInputs(self._workspace, self._now(), KINDS[kind], paths, self.steps)
            answer, size = query_database(path, inputs, use)
        except UnusableIndex:
            return None
        if size <= MANY:
            for file in (path, changes_path(path)):
                with suppress(OSError):
                    file.unlink()
            return None
        return answer

    def store(self, kind: str, patterns: Sequence[str], paths: Sequence[str]) -> None:
        """Make the index of these files, where the workspace can be written to."""
        from contextasm.retrieval.memory_index.database import IndexInputs, UnusableIndex, make_database
        from contextasm.retrieval.memory_index.kinds import KINDS

        path = self._path(kind, patterns)
        with suppress(ContextasmError, UnusableIndex):
            self._make_folder()
            if not path.is_dir():
                inputs = IndexInputs(self._workspace, self._now(), KINDS[kind], paths, self.steps)
                make_database(path, inputs, lambda _pool: None)

    def _path(self, kind: str, patterns: Sequence[str]) -> Path:
        name = sha256("\0".join((kind, *patterns)).encode(errors="surrogatepass")).hexdigest()[:16]
        return Path(self._workspace.root, INDEX_FOLDER, f"{name}.sqlite")
