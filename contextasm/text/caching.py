"""Results of pure functions of a document that a process keeps for its next build, if that reads the same content."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

from contextasm.model import Document

MOST_CACHED = 1 << 16
"""Characters of the longest text whose results are kept."""

Result = TypeVar("Result")


def cached_by_content(parse: Callable[[Document], Result]) -> Callable[[Document], Result]:
    """The same function, which keeps its results of the last 256 documents of up to `MOST_CACHED` characters.

    A document whose file is larger than four bytes for each of these is not kept, however short its text is.
    A document counts as the same if its path, its bytes and everything else that it holds are equal, whatever the
    disk says of the file. `parse` must give values that nobody can change, since several builds share them.
    """

    @lru_cache(maxsize=256)
    def cached(document: Document, front: tuple[tuple[str, str | tuple[str, ...]], ...]) -> Result:
        return parse(document._replace(front=dict(front)))

    @wraps(parse)
    def by_content(document: Document) -> Result:
        if len(document.text) > MOST_CACHED or len(document.data) > 4 * MOST_CACHED:
            return parse(document)
        # A mapping has no hash, and its items have one; their order counts, as it does for problems.
        return cached(document._replace(front=()), (*document.front.items(),))  # type: ignore[arg-type]

    return by_content
