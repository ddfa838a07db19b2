"""Spelling: words that are written much like a given one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# To import rapidfuzz takes as long as to compare some thousand words without it, which many builds have not.
_FEW: Final = 2000


def similar_words(word: str, candidates: Sequence[str], cutoff: float) -> Iterator[tuple[str, float]]:
    """Candidates with a ratio of at least `cutoff`, each with its ratio, in no order.

    The ratio of two words is the share of their letters that both have in the same order, from 0 to 100.
    """
    if len(candidates) > _FEW:
        from rapidfuzz import fuzz, process

        for candidate, ratio, _ in process.extract(
            word, candidates, scorer=fuzz.ratio, score_cutoff=cutoff, limit=None
        ):
            yield candidate, ratio
        return
    places: dict[str, int] = {}
    for place, letter in enumerate(word):
        places[letter] = places.get(letter, 0) | 1 << place
    for candidate in candidates:
        length = len(word) + len(candidate)
        if 200 * min(len(word), len(candidate)) >= cutoff * length:
            ratio = (1 - (length - 2 * _common_letters(len(word), places, candidate)) / length) * 100
            if ratio >= cutoff:
                yield candidate, ratio


def _common_letters(length: int, places: dict[str, int], other: str) -> int:
    # Length of the longest common subsequence (Hyyrö 2004): each bit that is lost is a letter found.
    everything = (1 << length) - 1
    row = everything
    for letter in other:
        found = row & places.get(letter, 0)
        row = row + found | row - found
    return length - (row & everything).bit_count()
