"""A Markdown text in parts, each of which may be a memory: bullets and paragraphs, with the heading above them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from contextasm.text.literals import fence_opening
from contextasm.text.markdown import heading
from contextasm.text.memory_parser import begins_bullet, bullet_end, line_behind_fence

_BOLD_LINE = re.compile(r"(\*\*|__)(.+?):?\1:?")
"""A whole line in bold type stands for a heading."""


class TextPart(NamedTuple):
    """A bullet without its mark, or a paragraph."""

    line: int
    """Line of the text, counted from 1."""
    text: str
    heading: str
    """Text of the heading above it; empty for none."""


def text_parts(text: str) -> Iterator[TextPart]:
    """The parts of a text in their order; a fence of code belongs to the paragraph before it."""
    lines = text.split("\n")
    at, title = 0, ""
    while at < len(lines):
        line = lines[at]
        stop = at + 1
        if found := heading(line):
            title = found[1].strip()
        elif bold := _BOLD_LINE.fullmatch(line.strip()):
            title = bold[2].strip()
        elif begins_bullet(line):
            stop = bullet_end(lines, at)
            rest = [own[min(2, len(own) - len(own.lstrip())) :] for own in lines[at + 1 : stop]]
            yield TextPart(at + 1, "\n".join([line[1:].strip(), *rest]), title)
        elif line.strip():
            stop = _paragraph_end(lines, at)
            yield TextPart(at + 1, "\n".join(lines[at:stop]).strip(), title)
        at = stop


def _paragraph_end(lines: list[str], at: int) -> int:
    while at < len(lines) and lines[at].strip() and not begins_bullet(lines[at]) and not heading(lines[at]):
        fence = fence_opening(lines[at])
        at = line_behind_fence(lines, at, fence[1]) if fence else at + 1
    return at
