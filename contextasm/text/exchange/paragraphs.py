"""A Markdown text in parts, each of which may be a memory: bullets and paragraphs, with the heading above them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from contextasm.text.markdown.blocks import begins_bullet, bullet_end, heading, is_rule
from contextasm.text.markdown.literals import closed_html_end, fence_opening, line_behind_fence

_BOLD_LINE = re.compile(r"(\*\*|__)(.+?):?\1:?")
"""A whole line in bold type stands for a heading."""


class TextPart(NamedTuple):
    """A bullet without its mark, or a paragraph; or a line that is in none of these."""

    line: int
    """Line of the text, counted from 1."""
    text: str
    heading: str
    """Text of the heading above it; empty for none."""
    left_out: str = ""
    """What it is if it is no memory, such as a rule or a heading with nothing below it; else empty."""


def text_parts(text: str, kind_of: Callable[[str], str] = lambda _: "") -> Iterator[TextPart]:
    """The parts of a text in their order: each line that is not blank is in a part, or in the heading of one.

    `kind_of` gives, for the text of a part that is no memory, what it is, and for any other an empty text.
    A fence of code, or a comment, belongs to the paragraph before it. A line in bold type with nothing below it is a
    paragraph.
    """
    lines = text.split("\n")
    at, title = 0, ""
    unused: TextPart | None = None  # the last heading, while nothing stands below it
    while at < len(lines):
        line = lines[at]
        stop = at + 1
        if (found := _title(line)) is not None:
            if unused:
                yield unused
            title, unused = found, _unused_title(at + 1, line)
        elif is_rule(line):
            yield TextPart(at + 1, line.strip(), title, "rule")
        elif line.strip():
            stop, content = _content(lines, at)
            kind = kind_of(content)
            unused = unused if kind else None
            yield TextPart(at + 1, content, title, kind)
        at = stop
    if unused:
        yield unused


def _title(line: str) -> str | None:
    """The words of a line that is a heading, or stands for one; None for any other line."""
    if found := heading(line):
        return found[1].strip()
    bold = _BOLD_LINE.fullmatch(line.strip())
    return bold[2].strip() if bold else None


def _unused_title(number: int, line: str) -> TextPart:
    return TextPart(number, line.strip(), "", "heading with nothing below it" if heading(line) else "")


def _content(lines: Sequence[str], at: int) -> tuple[int, str]:
    """The line behind the bullet or paragraph at a line, and its text."""
    if not begins_bullet(lines[at]):
        stop = _paragraph_end(lines, at)
        return stop, "\n".join(lines[at:stop]).strip()
    stop = _before_rule(lines, at, bullet_end(lines, at))
    rest = [own[min(2, len(own) - len(own.lstrip())) :] for own in lines[at + 1 : stop]]
    return stop, "\n".join([lines[at][1:].strip(), *rest]).rstrip()


def _before_rule(lines: Sequence[str], at: int, stop: int) -> int:
    """The first rule at the margin behind line `at`, fences of code left alone; `stop` for none before it."""
    at += 1
    while at < stop:
        if fence := fence_opening(lines[at]):
            at = line_behind_fence(lines, at, fence[1])
        elif is_rule(lines[at]) and lines[at][0] not in " \t":
            return at
        else:
            at += 1
    return stop


def _paragraph_end(lines: Sequence[str], at: int) -> int:
    unclosed: set[str] = set()
    while at < len(lines) and not _ends_paragraph(lines[at]):
        if fence := fence_opening(lines[at]):
            at = line_behind_fence(lines, at, fence[1])
        else:
            at = closed_html_end(lines, at, unclosed) or at + 1
    return at


def _ends_paragraph(line: str) -> bool:
    return not line.strip() or begins_bullet(line) or is_rule(line) or heading(line) is not None
