"""Blocks of a Markdown text: the places where it may be cut, and the order in which they are worth keeping.

This is no Markdown parser. It tells apart just what must not be torn: headings from what they head, list items,
tables, fenced code, paragraphs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_LEAD = re.compile(r"[-*+] (?:\[[^\[\]\n]*\] )?")
_FENCE = re.compile(r"([ \t]*(?:[-*+][ \t]+)?)(`{3,}|~{3,})(.*)$")


class TextBlock(NamedTuple):
    """A run of lines, with the headings above it and the blank lines below it."""

    first: int
    stop: int
    """Half open: the block is `lines[first:stop]`."""
    kind: str
    """`text`, `table`, `fence`, or `heading` where nothing follows the headings."""
    levels: tuple[int, ...] = ()
    """The levels of the headings that it begins with."""
    body: int = 0
    """The first line below those headings."""
    fence: str = ""
    """The line that closes the fence."""


def heading(line: str) -> tuple[int, str] | None:
    """Level and words of an ATX heading; None for any other line."""
    if "#" not in line[:4] or not (found := _HEADING.match(line)):
        return None
    words = line[found.end() :].strip()
    bare = words.rstrip("#")
    return len(found[1]), bare.rstrip() if not bare or bare[-1] in " \t" else words


def trimmed(text: str) -> tuple[int, str]:
    """How many blank lines a text begins with, and the text without the blank ends."""
    lines = text.split("\n")
    blank = next((n for n, line in enumerate(lines) if line.strip()), 0)
    return blank, "\n".join(lines[blank:]).rstrip()


def list_mark(line: str) -> int:
    """How many characters the mark of a list item takes at the start of a line; 0 where there is none."""
    found = _ITEM.match(line)
    return found.end() if found else 0


def list_lead(text: str) -> str:
    """The list mark and the type that the text of a memory begins with, such as `- [fact] `; else nothing."""
    found = _LEAD.match(text)
    return found[0] if found else ""


def blocks(lines: Sequence[str]) -> Iterator[TextBlock]:
    """The blocks of a text given as lines. Together they hold every line once."""
    at = 0
    while at < len(lines):
        first, levels = at, []
        while at < len(lines) and (not lines[at].strip() or (found := heading(lines[at]))):
            if lines[at].strip() and found:
                levels.append(found[0])
            at += 1
        body = at
        kind, at, fence = _body(lines, at) if at < len(lines) else ("heading", at, "")
        while at < len(lines) and not lines[at].strip():
            at += 1
        yield TextBlock(first, at, kind, tuple(levels), body, fence)


def _body(lines: Sequence[str], at: int) -> tuple[str, int, str]:
    """Kind, end and closing fence of the block that begins at line `at`."""
    if found := fence_opening(lines[at]):
        indent, ticks = found
        stop = at + 1
        while stop < len(lines) and not closes_fence(lines[stop], ticks):
            stop += 1
        return "fence", min(stop + 1, len(lines)), " " * len(indent) + ticks
    if "|" in lines[at] and at + 1 < len(lines) and _rules_a_table(lines[at + 1]):
        stop = at + 2
        while stop < len(lines) and "|" in lines[stop]:
            stop += 1
        return "table", stop, ""
    stop = at + 1
    while stop < len(lines) and lines[stop].strip() and not _begins(lines[stop]):
        stop += 1
    return "text", stop, ""


def _rules_a_table(line: str) -> bool:
    """Whether a line is the row of dashes under a table's head."""
    return "-" in line and not line.strip(" \t|:-")


def _begins(line: str) -> bool:
    """Whether a line can't belong to the paragraph above it."""
    return bool(_ITEM.match(line) or heading(line) or fence_opening(line))


def fence_opening(line: str) -> tuple[str, str] | None:
    """Indent and ticks of a line that opens a fence."""
    if "```" not in line and "~~~" not in line:
        return None
    found = _FENCE.match(line)
    if not found or (found[2][0] == "`" and "`" in found[3]):
        return None
    return found[1], found[2]


def closes_fence(line: str, ticks: str) -> bool:
    """Whether a line closes a fence opened with these ticks."""
    bare = line.strip()
    return len(bare) >= len(ticks) and bare == ticks[0] * len(bare)


def keep_order(lines: Sequence[str], keep: str) -> Iterator[TextBlock]:
    """The blocks of a text, those worth most first.

    `start`: as they stand. `end`: the last section first, and each section from its heading on, so that what is
    kept of it can be read; text above the first section is a run of entries, the last one first. A section begins
    at a heading of the highest level in use, a single title at the very top left aside.
    """
    whole = blocks(lines)
    if keep == "start":
        yield from whole
        return
    held = list(whole)
    levels = [block.levels for block in held]
    if _has_title(levels):
        levels[0] = levels[0][1:]
    highest = min((level for each in levels for level in each), default=0)
    starts = [n for n, each in enumerate(levels) if highest in each]
    stop = len(held)
    for start in reversed(starts):
        yield from held[start:stop]
        stop = start
    yield from reversed(held[:stop])


def _has_title(levels: Sequence[tuple[int, ...]]) -> bool:
    """Whether the first heading stands at the very top and is the only one of its level, and none is above it."""
    every = [level for each in levels for level in each]
    return bool(levels and levels[0]) and levels[0][0] == min(every) and every.count(min(every)) == 1
