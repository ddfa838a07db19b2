"""Scores: the parts of a memory's score, their weighted sum (digest 1.2), and the least similarity of a candidate.

The similarity of a text is an input; searches compute it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from heapq import nlargest
from math import exp

DECAY = 0.05
"""Decay of recency per day: half of it is gone after 13.86 days (digest 1.2)."""

CONTRAST = 3
"""Power of a similarity: it is a share of the best match to this power.

Left as it is, the difference between a hit and half a hit would count less in the total than a week.
"""

MIN_MATCH = 0.3
"""Least share of the best match that makes a match, unless a layer sets another one."""

REACH = 0.7
"""Share of the best match from which a match is a candidate, however many are better."""

PRIOR_WEIGHT = 2
"""Number of judgements that the credibility before any of them counts for."""

Score = tuple[tuple[str, float], ...]
"""Parts of a score by name, each from 0 to 1."""


def memory_score(similarity: float, importance: float, last: str, today: date) -> Score:
    """Parts of a memory's score; `last` is the day of its last access, YYYY-MM-DD or empty."""
    return (("similarity", similarity), ("importance", importance), ("recency", recency(last, today)))


def recency(last: str, today: date) -> float:
    """Recency of a day, YYYY-MM-DD: 1 for today and later days, less for each day before today; 0 for an empty day."""
    return exp(-DECAY * max(0, (today - date.fromisoformat(last)).days)) if last else 0.0


def credibility(useful: int, wrong: int, prior: float) -> float:
    """Credibility of a statement that so many people found useful, and so many wrong: the mean of a Beta distribution.

    (useful + 2 prior) / (useful + wrong + 2): `prior`, from 0 to 1, counts as much as two judgements. Without any it is
    the result; with a prior of 0.5 this is Laplace's rule of succession, (s + 1) / (n + 2).
    """
    return (useful + PRIOR_WEIGHT * prior) / (useful + wrong + PRIOR_WEIGHT)


def weighted_total(score: Score, weights: Iterable[tuple[str, float]]) -> float:
    """Sum of each part of a score times its weight; a missing part counts 0."""
    parts = dict(score)
    return sum(weight * parts.get(name, 0.0) for name, weight in weights)


def least_similarity(similarities: Iterable[float], top: int) -> float:
    """Least similarity of a candidate for the `top` places: that of `REACH`, or of the last of the `top` most similar.

    Importance and recency decide among the candidates alone. 0 where `top` is 0 and all matches are shown.
    """
    most_similar = nlargest(top, similarities)
    return min(REACH**CONTRAST, most_similar[-1]) if len(most_similar) == top > 0 else 0.0
