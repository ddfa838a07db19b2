"""Pools of a layer's files: a large one is indexed, so that later builds need not open the files again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from contextasm.model import EntryPool, SourceQuery, T
from contextasm.retrieval.memory_pool import MANY, pool_patterns

PoolT = TypeVar("PoolT", bound=EntryPool[Any])

ReadPoolUpTo = Callable[[Sequence[str], int | None], PoolT | None]
"""Reads the pool of some files; None as soon as there are more entries than the number, which is None for no limit."""


def query_pool(
    query: SourceQuery,
    kind: str,
    paths: Sequence[str],
    read: ReadPoolUpTo[PoolT],
    use: Callable[[EntryPool[Any]], T],
    use_small: Callable[[PoolT], T],
) -> T:
    """Result of `use` on the pool of these files of the layer, or of `use_small` on a pool of up to `MANY` entries.

    A larger pool is stored in the index, as entries of `kind`: then the index alone reads its files.
    """
    patterns = pool_patterns(query.layer, query.build.request)
    index = query.build.memory_index
    answer = index.query(kind, patterns, paths, use) if index else None
    if answer is not None:
        return answer
    pool = read(paths, MANY if index else None)
    if pool and pool.size <= MANY:
        return use_small(pool)
    if index:
        index.store(kind, patterns, paths)
        answer = index.query(kind, patterns, paths, use)
    if answer is None:
        pool = pool or read(paths, None)
        assert pool
        return use(pool)
    return answer
