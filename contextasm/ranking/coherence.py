"""Coherence as a part of the scores of a layer's fragments. The measure itself is in `text/coherence.py`."""

from __future__ import annotations

from collections.abc import Sequence

from contextasm.model import Fragment, Layer, weighted_total
from contextasm.text.coherence import MAX_COMPARED, common_share, words_of

COHERENCE = "coherence"
"""Name of the part."""


def with_coherence(fragments: Sequence[Fragment], layer: Layer) -> Sequence[Fragment]:
    """The fragments with their coherence as the last part of their scores.

    A fragment's coherence is the mean share of common words (`text.coherence.common_share`) with the other candidates
    of the layer, as a share of the largest such mean: 1 for the most coherent one and for an only candidate, 0 for all
    where no two share a word. It is compared with the 60 candidates whose other parts weigh most. Fragments that are
    excluded or have no score are no candidates and stay as they are. Linear in the number of candidates.
    """
    numbers = [
        number for number, fragment in enumerate(fragments) if fragment.score and fragment.verdict.excluded is None
    ]
    with_part = [*fragments]
    for number, value in zip(numbers, _coherences([fragments[number] for number in numbers], layer), strict=True):
        with_part[number] = fragments[number]._replace(score=(*fragments[number].score, (COHERENCE, value)))
    return with_part


def _coherences(candidates: Sequence[Fragment], layer: Layer) -> list[float]:
    words = [words_of((fragment.statement or fragment.text).split("\n")) for fragment in candidates]
    best = sorted(range(len(candidates)), key=lambda number: _rank_key(candidates[number], layer))[:MAX_COMPARED]
    means = []
    for number, own in enumerate(words):
        shares = [common_share(own, words[other]) for other in best if other != number]
        means.append(sum(shares) / len(shares) if shares else 1.0)
    largest = max(means, default=0.0)
    # Rounded, for the last digits of a sum differ between versions of Python.
    return [round(mean / largest, 3) if largest else 0.0 for mean in means]


def _rank_key(fragment: Fragment, layer: Layer) -> tuple[float, str, str]:
    # By what the fragment is, so that neither the order of files nor a place in one matters.
    return -weighted_total(fragment.score, layer.ranking.weights), fragment.text, fragment.id
