"""Scores: the parts that a memory's score is made of, and their sum (digest 1.2).

Says nothing of who is scored, or of how similar a text is.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from math import exp

DECAY = 0.05
"""Of recency, per day: half of it is gone after 13.86 days (digest 1.2)."""

Score = tuple[tuple[str, float], ...]
"""The parts of a score by name, each from 0 to 1."""


def memory_score(similarity: float, importance: float, last: str, today: date) -> Score:
    """The parts of a memory's score; `last` is the day it was last asked for, YYYY-MM-DD or empty."""
    return (("similarity", similarity), ("importance", importance), ("recency", recency(last, today)))


def recency(last: str, today: date) -> float:
    """1 for today and for days to come, less for each day since; 0 where no day is known."""
    return exp(-DECAY * max(0, (today - date.fromisoformat(last)).days)) if last else 0.0


def weighted_total(score: Score, weights: Iterable[tuple[str, float]]) -> float:
    """A score: each part times its weight; a part that is missing counts 0."""
    known = dict(score)
    return sum(weight * known.get(name, 0.0) for name, weight in weights)
