"""Hybrid similarity: similarity by words and by embeddings in equal shares.

Takes numbers only: where the embeddings come from is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contextasm.model import CONTRAST
from contextasm.retrieval.search.inverted_index import IndexEntry

_SHARES = ((-2, 0.1), (-1, 0.2), (1, 0.2), (2, 0.1))
"""Shares of an entry's nearness that the entries around it get, by distance (measured)."""


class HybridHit(NamedTuple):
    """An entry that answers a query."""

    similarity: float
    """From 0 to 1; 1 for the best hit."""
    parts: tuple[tuple[str, float], ...] = ()
    """Similarity by words and by embeddings, each from 0 to 1; empty where there were words alone."""


def fuse(
    word_hits: Mapping[int, float],
    word_similarities: Mapping[int, float],
    nearness: Sequence[float],
    min_match: float,
    entries: Sequence[IndexEntry],
) -> dict[int, HybridHit]:
    """Hits by words and by embeddings together, by row.

    `word_hits` are hits by words alone, and stay hits; `word_similarities` those without a minimum; `nearness` is the
    nearness of each row by embeddings, above 0 where it makes a hit by itself. Any other row that shares a word with
    the query or is near is a hit where the sum of its halves is at least `min_match` of the best sum.
    """
    by_words = _scaled([word_similarities.get(row, 0.0) ** (1 / CONTRAST) for row in range(len(nearness))], 0.0)
    by_meaning = _with_neighbour_shares(_scaled(nearness, min(nearness)), entries)
    by_meaning = _scaled(by_meaning, min(by_meaning))
    sums = [(words + meaning) / 2 for words, meaning in zip(by_words, by_meaning, strict=True)]
    candidates = [row for row, near in enumerate(nearness) if row in word_similarities or near > 0]
    best = max((sums[row] for row in candidates), default=0.0)
    return {
        row: HybridHit((sums[row] / best) ** CONTRAST, (("words", by_words[row]), ("meaning", by_meaning[row])))
        for row in candidates
        if best > 0 and (row in word_hits or sums[row] >= min_match * best)
    }


def _scaled(values: Sequence[float], low: float) -> list[float]:
    # From 0, for `low`, to 1, for the largest. The low of words is always 0: a row without a word of the query has 0.
    high = max(values)
    return [(value - low) / (high - low) if high > low else float(high > 0) for value in values]


def _with_neighbour_shares(values: Sequence[float], entries: Sequence[IndexEntry]) -> list[float]:
    sums = [*values]
    for row, entry in enumerate(entries):
        for distance, share in _SHARES:
            neighbour = row + distance
            if 0 <= neighbour < len(entries) and entries[neighbour].section == entry.section:
                sums[row] += values[neighbour] * share * entry.kernel
    return sums
