"""Signals: what a text says about itself, by its words alone, and how age and matches weigh (digest 2.1 and 2.2).

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
"""Intents with what speaks for them, in the order in which they are tried: whole words, so `prefix` is no `fix`."""

_NO_KEYWORDS = frozenset(
    "a about after all also am an and any are as at be because been before being between both but by can could did do"
    " does doing done down during each few for from had has have having he her here hers him his how i if in into is it"
    " its just me more most my no nor not of off on once only or other our ours out over own please same she should so"
    " some such than that the their theirs them then there these they this those through to too under until up very"
    " was we were what when where which while who whom why will with would you your yours".split()
)

_WORD = re.compile(r"\w+(?:['’\-]\w+)*")

MATCH = 0.1
"""What each matching keyword adds to a score, as a part of it."""

FRESH = 1.2
"""What a score is multiplied by in the first day."""

FRESH_HOURS = 24.0


def intent(text: str) -> str:
    """What somebody wants who says this: `fix`, `explain`, `question` or `action`; `other` for no word at all."""
    folded = text.casefold()
    return next((name for name, pattern in INTENTS if re.search(pattern, folded)), "other")


def keywords(text: str) -> tuple[str, ...]:
    """The words that carry a text's topic, each once and without case, in the order they come."""
    found = (word.casefold().replace("’", "'") for word in _WORD.findall(text))
    return tuple(dict.fromkeys(word for word in found if word not in _NO_KEYWORDS))


def half_life(hours: float, half: float = 24.0) -> float:
    """What is left of 1 after so many hours if half of it goes every `half` hours; 1 for a time to come."""
    return float(0.5 ** (max(0.0, hours) / half))


def boosted(score: float, matches: int, hours: float) -> float:
    """A score raised by the keywords that match and by youth, `hours` being its age; never below 0 or above 1."""
    young = FRESH if hours < FRESH_HOURS else 1.0
    return min(1.0, max(0.0, score * (1 + MATCH * matches) * young))
