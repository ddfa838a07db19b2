"""Words and meaning as one similarity: half and half, so that neither is ever there instead of the other.

Takes figures only: who says what a text means, and how, is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contextasm.retrieval.search.bm25 import CONTRAST
from contextasm.retrieval.search.inverted_index import IndexEntry

_SHARES = ((-2, 0.1), (-1, 0.2), (1, 0.2), (2, 0.1))
"""What an entry's meaning is worth to the entries around it, by distance (measured)."""


class HybridHit(NamedTuple):
    """How well an entry answers a query."""

    similarity: float
    """From 0 to 1, which the best one has."""
    parts: tuple[tuple[str, float], ...] = ()
    """What it was made of where there were two opinions, each from 0 to 1."""


def fuse(
    words: Mapping[int, float],
    every: Mapping[int, float],
    near: Sequence[float],
    floor: float,
    pool: Sequence[IndexEntry],
) -> dict[int, HybridHit]:
    """Rows with how well they answer by words and by meaning together.

    `words` are the similarities of what words alone find, `every` those without a floor; `near` says of each row how
    near it is in meaning, above 0 where that alone makes an answer. What words find stays found; of what shares a word
    or is near, that is found too whose halves add up to `floor` of the best sum.
    """
    spoken = _spread([every.get(row, 0.0) ** (1 / CONTRAST) for row in range(len(near))], 0.0)
    meant = _shared(_spread(near, min(near)), pool)
    meant = _spread(meant, min(meant))
    sums = [(one + other) / 2 for one, other in zip(spoken, meant, strict=True)]
    candidates = [row for row, value in enumerate(near) if row in every or value > 0]
    best = max((sums[row] for row in candidates), default=0.0)
    return {
        row: HybridHit((sums[row] / best) ** CONTRAST, (("words", spoken[row]), ("meaning", meant[row])))
        for row in candidates
        if best > 0 and (row in words or sums[row] >= floor * best)
    }


def _spread(values: Sequence[float], low: float) -> list[float]:
    """The values from 0, for `low`, to 1, for the largest. Words have a low of their own: no word is 0, in any pool."""
    high = max(values)
    return [(value - low) / (high - low) if high > low else float(high > 0) for value in values]


def _shared(values: Sequence[float], pool: Sequence[IndexEntry]) -> list[float]:
    """The values with what those of their neighbours in the same section are worth to them."""
    found = [*values]
    for row, entry in enumerate(pool):
        for distance, share in _SHARES:
            near = row + distance
            if 0 <= near < len(pool) and pool[near].section == entry.section:
                found[row] += values[near] * share * entry.kernel
    return found
