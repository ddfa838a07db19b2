"""Letters as a reader sees them: one or more characters of a text each (grapheme clusters of Unicode)."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable

from contextasm.text.markdown.blocks import list_mark
from contextasm.text.names.templates import one_line

MAX_TITLE = 60
"""Most characters of a title."""

_LONE_BOUNDS = (
    *(0x20, 0x300),  # Latin
    *(0x370, 0x483, 0x48A, 0x530),  # Greek, Cyrillic
    *(0x2010, 0x2028, 0x2030, 0x205F, 0x20A0, 0x20C1, 0x2190, 0x2C00),  # punctuation, money, arrows to symbols
    *(0x3000, 0x302A, 0x3031, 0x3099, 0x309B, 0x3100, 0x3400, 0xA000),  # kana, Han
)
"""Starts and ends of ranges of characters that are a letter each, with any neighbour of these ranges."""


def grapheme_ends(text: str) -> Iterable[int]:
    """The end of each letter of a text, in order."""
    if all(bisect(_LONE_BOUNDS, ord(character)) % 2 for character in set(text)):
        return range(1, len(text) + 1)
    import regex  # here: few texts hold letters of several characters

    return (found.end() for found in regex.finditer(r"\X", text))


def clipped(text: str, most: int) -> str:
    """The text, or as many of its words, else letters, as fit `most` characters with an ellipsis after them."""
    if len(text) <= most:
        return text
    ends = [end for end in grapheme_ends(text[: most + 1]) if end < most]
    start = text[: ends[-1] if ends else most - 1]
    blank = start.rfind(" ")
    return f"{start[: blank if blank > most // 2 else len(start)].rstrip(' .')}…"


def beginning(text: str, most: int) -> str:
    """The first characters of a text in one line, with blanks in place of breaks; empty for a blank text."""
    # Of a long text, only what could be shown is looked at: a blank counts as well as a letter.
    return clipped(" ".join(one_line(text[: most * 20]).split()), most)


def title_words(text: str) -> str:
    """The first words of a text, in one line without the marks of a list, a heading or code."""
    line = text.lstrip().partition("\n")[0]
    return beginning(line[list_mark(line) :].replace("`", "").lstrip("# "), MAX_TITLE)
