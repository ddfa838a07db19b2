"""The index of a workspace: large pools of entries that outlive a build (`model.IndexedPools`).

Derived data: answers are the same as from the files, and a search reads the files if the index can't be used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from contextasm.model import EntryPool, Problem, StampedWorkspace, T
from contextasm.retrieval.pool import MANY, EntryKind


class MemoryIndexes:
    """The indexed pools of a workspace."""

    def __init__(
        self,
        workspace: StampedWorkspace,
        now: Callable[[], float],
        database: str | None,
        unfit: Mapping[str, Problem],
    ) -> None:
        """Pools stored in the file `database`; None stores nothing. `now` gives seconds since 1970.

        `unfit` has the problem of each file whose name can't be shown, by the name that a build shows.
        """
        self._workspace = workspace
        self._unfit = unfit
        self._now = now
        self._database = database

    def query(
        self,
        kind: EntryKind[Any],
        patterns: Sequence[str],
        paths: Sequence[str],
        use: Callable[[EntryPool[Any]], T],
        *,
        new: bool = False,
    ) -> T | None:
        """Result of `use` on the indexed pool of these patterns, brought up to date with the files in `paths`.

        `new` makes the index of a pool that has none. None if there is no index, if it can't be used, or if the pool is
        no longer large; `use` may have been called.
        """
        if self._database is None or not (new or os.path.isfile(self._database)):
            return None
        # Here: SQLite is for large pools only.
        from pathlib import Path

        from contextasm.retrieval.memory_index.database import IndexConnection, use_database
        from contextasm.retrieval.memory_index.files import CurrentFiles
        from contextasm.retrieval.memory_index.stored_pool import StoredPool

        def answer(connection: IndexConnection) -> T | None:
            files = CurrentFiles(self._workspace, self._now(), kind, paths, self._unfit)
            pool = StoredPool(connection, kind, "\0".join((kind.name, *patterns)), files)
            return pool.answer(use, MANY, new=new)

        return use_database(Path(self._database), self._now(), answer, new=new)
