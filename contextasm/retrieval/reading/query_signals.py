"""Query signals: intent and keywords of a text, and the effect of age and keywords on a score (digest 2.1 and 2.2).

Rules and arithmetic only: no clock, no stemming, no ranking.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

INTENTS: Sequence[tuple[str, str]] = (
    ("fix", r"\b(?:fix|error|bug)\b"),
    ("explain", r"\b(?:explain|how\s+does|what\s+is)\b"),
    ("question", r"[?？]"),
    ("action", r"\w"),
)
"""Intents and their patterns, in the order in which they are tried: whole words, so `prefix` is no `fix`."""

_WORD = re.compile(r"\w+(?:['’\-]\w+)*")

MATCH = 0.1
"""Share of a score that each matching keyword adds to it."""

FRESH = 1.2
"""Factor of a score in the first `FRESH_HOURS`."""

FRESH_HOURS = 24.0


def intent(text: str) -> str:
    """Intent of a text: `fix`, `explain`, `question` or `action`; `other` for a text without a word."""
    folded = text.casefold()
    return next((name for name, pattern in INTENTS if re.search(pattern, folded)), "other")


def keywords(text: str) -> tuple[str, ...]:
    """Words of a text that carry its topic, each once and case-folded, in the order of the text."""
    from contextasm.retrieval.search.inverted_index import STOP  # here: a build without a topic needs no keywords

    words = (word.casefold().replace("’", "'") for word in _WORD.findall(text))
    return tuple(dict.fromkeys(word for word in words if word not in STOP))


def half_life(hours: float, half: float = 24.0) -> float:
    """Exponential decay from 1 with a half-life of `half` hours; 1 for a negative age."""
    return float(0.5 ** (max(0.0, hours) / half))


def boosted(score: float, matches: int, hours: float) -> float:
    """Score raised for each matching keyword, and for an age under `FRESH_HOURS`.

    `hours` is the age. From 0 to 1.
    """
    freshness = FRESH if hours < FRESH_HOURS else 1.0
    return min(1.0, max(0.0, score * (1 + MATCH * matches) * freshness))
