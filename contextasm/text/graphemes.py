"""Letters as a reader sees them: one or more characters of a text each (grapheme clusters of Unicode)."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable

_LONE_BOUNDS = (
    *(0x20, 0x300),  # Latin
    *(0x370, 0x483, 0x48A, 0x530),  # Greek, Cyrillic
    *(0x2010, 0x2028, 0x2030, 0x205F, 0x20A0, 0x20C1, 0x2190, 0x2C00),  # punctuation, money, arrows to symbols
    *(0x3000, 0x302A, 0x3031, 0x3099, 0x309B, 0x3100, 0x3400, 0xA000),  # kana, Han
)
"""Starts and ends of ranges of characters that are a letter each, whatever stands beside them in these ranges."""


def grapheme_ends(text: str) -> Iterable[int]:
    """The end of each letter of a text, in order."""
    if all(bisect(_LONE_BOUNDS, ord(character)) % 2 for character in set(text)):
        return range(1, len(text) + 1)
    import regex  # here: few texts hold letters of several characters

    return (found.end() for found in regex.finditer(r"\X", text))
