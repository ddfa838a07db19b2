"""Passages: parts of a document, with their place in the file."""

from __future__ import annotations

from itertools import pairwise

from contextasm.model import Document, Location


def passage(document: Document, line: int, text: str) -> tuple[Location, str]:
    """Location and text of a part of a document that begins at `line` of the file, without the lines of its gaps.

    `text` is that part of the document's own text.
    """
    stop = line + text.count("\n")
    gaps = [gap for gap in document.gaps if gap.last >= line and gap.first <= stop]
    if not gaps:
        return Location(document.path, line), text
    lines = text.split("\n")
    gone = frozenset(number - line for gap in gaps for number in range(max(gap.first, line), min(gap.last, stop) + 1))
    shown = "\n".join(words for number, words in enumerate(lines) if number not in gone)
    return without_lines(Location(document.path, line), len(lines), gone), shown


def without_lines(location: Location, count: int, gone: frozenset[int]) -> Location:
    """The location of a text of `count` lines without some of them, counted from 0."""
    in_file = [location.file_line(number) for number in range(count) if number not in gone]
    if not in_file:
        return location._replace(gaps=())
    gaps = tuple((one + 1, other - 1) for one, other in pairwise(in_file) if other > one + 1)
    return location._replace(line=in_file[0], gaps=gaps)
