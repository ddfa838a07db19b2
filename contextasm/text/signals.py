"""Signals: what a question is about and what speaks for a hit, by fixed rules over its words.

No clock is asked and nothing is guessed by meaning: an intent is told by whole words in a fixed order.
"""

from __future__ import annotations

import re

INTENTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("fix", re.compile(r"\b(?:fix(?:es|ed|ing)?|errors?|bugs?)\b")),
    ("explain", re.compile(r"\b(?:explain(?:s|ed|ing)?|how\s+does|what\s+is)\b")),
    ("question", re.compile(r"\?")),
    ("action", re.compile(r"\S")),
)
"""Each intent with what tells it; the first that fits is taken (digest 2.1, 001-12)."""

_STOP = """
a about after all also an and any are as at be been before but by can could did do does for from had has have how i if
in into is it its let me my no not of on or our please shall should so than that the their them then there these they
this to too us was we were what when where which who why will with would you your
"""
STOP = frozenset(_STOP.split())
"""Words that say nothing about a topic."""

_WORD = re.compile(r"[^\W_]+(?:['’_.-][^\W_]+)*")


def intent(text: str) -> str:
    """`fix`, `explain`, `question` or `action`; `other` for an empty text."""
    folded = text.casefold()
    return next((name for name, pattern in INTENTS if pattern.search(folded)), "other")


def keywords(text: str) -> tuple[str, ...]:
    """The words that carry a text's topic, case folded, each once, in the order of the text."""
    return tuple(dict.fromkeys(word for word in _WORD.findall(text.casefold()) if word not in STOP))


def half_life(hours: float, half: float = 24.0) -> float:
    """What is left of 1 after so many hours if half of it is gone after `half`; 1 for a time to come."""
    return float(0.5 ** (max(0.0, hours) / half))


def boosted(score: float, matches: int, hours: float | None) -> float:
    """A hit's score with a tenth more for each matching keyword and a fifth more if younger than a day; at most 1.

    `hours` is its age, None where that is not known.
    """
    fresh = 1.2 if hours is not None and hours < 24 else 1.0
    return min(1.0, score * (1 + 0.1 * matches) * fresh)


def names_it(text: str, name: str) -> bool:
    """Whether a text, case folded, holds a name as whole words."""
    folded = name.casefold()
    return folded in text and re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", text) is not None
