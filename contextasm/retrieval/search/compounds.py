"""Compounds: terms of an index that a word is part of, or that are part of it, for a word that no entry holds.

Spelling alone decides: no grammar and no dictionary is known here.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Letters of the shortest word that is looked for in others, and of the shortest that may stand in the middle of one.
_LEAST_LENGTH: Final = 4
_LEAST_LENGTH_WITHIN: Final = 5
# Letters that a compound has more than its part, at least.
_LONGER: Final = 3
_COMPOUND_WEIGHT: Final = 0.6
# Words of four letters have no relatives by their first five: of an unknown one, words that begin with it are taken.
_STEM_LENGTH: Final = 4
_STEM_WEIGHT: Final = 0.5
# Each term costs a look-up: of many, the shortest are taken.
_LIMIT: Final = 50


def compound_terms(word: str, vocabulary: Sequence[str], is_held: Callable[[str], bool]) -> Iterator[tuple[str, float]]:
    """Terms of a vocabulary that hold an unknown word or end it, with weights; at most `_LIMIT`, the shortest first.

    `is_held` says whether a row holds a term; others are left out.

    A word of four letters is found at the end of a compound, and at the beginning of any term.
    """
    if len(word) < _LEAST_LENGTH:
        return
    weights: dict[str, float] = {}
    for known_term in vocabulary:
        if word in known_term:
            weight = _weight_of_longer(word, known_term)
        else:
            is_ending = len(known_term) >= _LEAST_LENGTH and word.endswith(known_term)
            weight = _COMPOUND_WEIGHT if is_ending else 0.0
        if weight:
            weights[known_term] = weight
    shortest_first = sorted(weights.items(), key=lambda item: (len(item[0]), item[0]))
    yield from islice((item for item in shortest_first if is_held(item[0])), _LIMIT)


def _weight_of_longer(word: str, known_term: str) -> float:
    if len(known_term) >= len(word) + _LONGER:
        is_within = len(word) >= _LEAST_LENGTH_WITHIN and word in known_term[1:]
        if is_within or known_term.endswith(word):
            return _COMPOUND_WEIGHT
    return _STEM_WEIGHT if len(word) == _STEM_LENGTH and known_term.startswith(word) else 0.0
