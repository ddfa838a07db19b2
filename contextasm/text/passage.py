"""Passages: parts of a document, with their place in the file."""

from __future__ import annotations

from contextasm.model import Document, Location


def passage(document: Document, line: int, text: str) -> tuple[Location, str]:
    """Location and text of a part of a document that begins at `line` of the file, without the lines of its gaps.

    `text` is that part of the document's own text.
    """
    stop = line + text.count("\n")
    gaps = [gap for gap in document.gaps if gap.last >= line and gap.first <= stop]
    if not gaps:
        return Location(document.path, line), text
    lines = dict(enumerate(text.split("\n"), line))
    for gap in gaps:
        for number in range(max(gap.first, line), min(gap.last, stop) + 1):
            del lines[number]
    first, last = min(lines, default=line), max(lines, default=line)
    inside = tuple((gap.first, gap.last) for gap in gaps if first < gap.first and gap.last < last)
    return Location(document.path, first, gaps=inside), "\n".join(lines.values())
