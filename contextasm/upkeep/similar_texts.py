"""Pairs of similar texts among many, without comparing each with each.

Two texts are compared if they share one of their rarest parts: pairs of words, and long words. Of few texts, all are
compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from contextasm.text.similarity import find_similar, similarity

LIKE = 0.8
"""Least similarity of two texts that belong together (digest 1.6)."""

MAX_COMPARED = 500
"""Number of texts that are all compared with each other; of more, those alone that share a rare part."""

MAX_LENGTH = 10_000
"""Characters of the longest text that is compared by its letters; a longer one must be equal."""

_RAREST = 8
"""Parts of a text by which others are found: those in the fewest texts, but in more than one."""

_MAX_POSTINGS = 64
"""Texts, the earliest, that are found by one part."""

_MAX_CANDIDATES = 32
"""Texts that one is compared with: those that share the most of its rarest parts."""

_LONG_WORD = 5
_FEW_WORDS = 8
"""Texts of fewer words share too few pairs of words; they are parted into letters."""


class SimilarPair(NamedTuple):
    """Two texts that are alike."""

    earlier: int
    later: int
    """Their places among the texts."""
    share: float
    """Similarity, `LIKE` to 1."""


def similar_pairs(texts: Sequence[str]) -> Iterator[SimilarPair]:
    """The pairs of folded texts that are alike, by the measure of `remember`; each pair once.

    The numbers and negations of the two are the same. Of equal texts, the first one stands for the others in pairs with
    different texts. Takes a time that grows with the number of texts, not with its square.
    """
    first_of: dict[str, int] = {}
    distinct: list[int] = []
    for at, text in enumerate(texts):
        if text in first_of:
            yield SimilarPair(first_of[text], at, 1.0)
        elif text:
            first_of[text] = at
            if len(text) <= MAX_LENGTH:
                distinct.append(at)
    search = _AllEarlier() if len(distinct) <= MAX_COMPARED else _RareParts([texts[at] for at in distinct])
    for number, at in enumerate(distinct):
        numbers = search.candidates(number)
        for hit in find_similar(texts[at], [texts[distinct[other]] for other in numbers], _LETTERS_PERCENT):
            earlier = distinct[numbers[hit.at]]
            share = similarity(texts[earlier], texts[at])
            if share >= LIKE:
                yield SimilarPair(earlier, at, share)


_LETTERS_PERCENT = int(LIKE * 100) - 1
"""Per cent: a rounded share may fall short of the boundary."""


class _AllEarlier:
    """Candidates among few texts."""

    def candidates(self, number: int) -> Sequence[int]:
        """The numbers of all texts before this one."""
        return range(number)


class _RareParts:
    """Candidates among many texts, by their parts."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Find the rarest parts of each text, but for those that no other has."""
        all_parts = [_parts(text) for text in texts]
        counts = Counter(chain.from_iterable(all_parts))
        shared = {part for part, count in counts.items() if count > 1}
        self._rarest = [sorted([(counts[part], part) for part in parts & shared])[: 2 * _RAREST] for parts in all_parts]
        self._postings: dict[str, list[int]] = {}

    def candidates(self, number: int) -> Sequence[int]:
        """The numbers of earlier texts that share rare parts with this one; called once for each, in their order."""
        rarest, postings = self._rarest[number], self._postings
        lists = [postings[part] for _, part in rarest[:_RAREST] if part in postings]
        # One text is found by more of its parts than it asks for: of two alike, one has a rare part more.
        for _, part in rarest:
            posting = postings.setdefault(part, [])
            if len(posting) < _MAX_POSTINGS:
                posting.append(number)
        hits = Counter(chain.from_iterable(lists))
        hits.pop(number, None)
        if len(hits) <= _MAX_CANDIDATES:
            return sorted(hits)
        return sorted(sorted(hits, key=hits.__getitem__, reverse=True)[:_MAX_CANDIDATES])


def _parts(text: str) -> set[str]:
    words = text.split()
    if len(words) < _FEW_WORDS or not text.isascii():
        return {text[at : at + 4] for at in range(max(1, len(text) - 3))}
    pairs = {f"{one} {other}" for one, other in pairwise(words)}
    return pairs.union(word for word in words if len(word) >= _LONG_WORD)
