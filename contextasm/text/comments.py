"""HTML comments of a Markdown text: where they stand, and the text without them.

A comment that is never closed is text, and so is one inside code.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from contextasm.text.literals import indent_of, literal_at
from contextasm.text.markdown import list_mark

_START = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|<!--")
_END = "-->"
DIRECTIVES = ("<!-- ctxasm:",)
"""Beginnings of comments that ctxasm itself reads or writes."""


class Comment(NamedTuple):
    """An HTML comment, by lines and characters counted from 0."""

    line: int
    start: int
    last: int
    """Its last line."""
    end: int
    """Behind its last character."""


def comments(text: str) -> Iterator[Comment]:
    """The comments of a text, in its order."""
    if "<!--" not in text:
        return
    lines = text.split("\n")
    code = _code_lines(lines)
    at, start = 0, 0
    open_ends = _OpenEnds()
    while at < len(lines):
        found = None if at in code else next((m for m in _START.finditer(lines[at], start) if not m[1]), None)
        end = _comment_end(lines, code, at, found.start(), open_ends) if found else None
        if found and end:
            yield Comment(at, found.start(), *end)
            at, start = end
        elif found:
            start = found.end()
        else:
            at, start = at + 1, 0


class _OpenEnds:
    """Where comments have been seen to have no end, so that no line is searched for each of many."""

    paragraph = -1
    """Line at which the paragraph ends that has none from here on."""
    text = False
    """Whether the rest of the text has none."""


def _comment_end(
    lines: Sequence[str], code: set[int], at: int, start: int, open_ends: _OpenEnds
) -> tuple[int, int] | None:
    """Line and character behind the comment that begins there; None where it is never closed."""
    is_block = start < 4 and not lines[at][:start].strip(" ")
    if open_ends.text or (not is_block and at < open_ends.paragraph):
        return None
    begin = start + 4
    for last in range(at, len(lines)):
        if not is_block and last > at and (not lines[last].strip() or last in code):
            open_ends.paragraph = last
            return None  # a paragraph ends there
        end = lines[last].find(_END, begin)
        if end >= 0:
            return last, end + len(_END)
        begin = 0
    open_ends.text = True
    return None


def _code_lines(lines: Sequence[str]) -> set[int]:
    """The lines of fenced and of indented code."""
    code: set[int] = set()
    at, is_list, is_after_blank = 0, False, True
    has_open_comment = False
    while at < len(lines):
        is_searched = not (has_open_comment and lines[at].lstrip(" ").startswith("<!--"))
        part = literal_at(lines, at) if is_searched else None
        has_open_comment = has_open_comment or bool(part and part.kind == "comment" and not part.is_closed)
        if part and part.kind in {"fence", "comment"}:
            if part.kind == "fence":
                code |= {*range(part.first, part.stop)}
            is_comment = part.kind == "comment" and part.is_closed
            at = part.stop if is_comment or part.kind == "fence" else at + 1
            is_after_blank = False
            continue
        line = lines[at]
        is_indented = indent_of(line) > 3 and bool(line.strip())
        if is_indented and not is_list and (is_after_blank or at - 1 in code):
            code.add(at)
        if line.strip():
            is_list = is_list if is_indented else bool(list_mark(line)) or (is_list and line[0] == " ")
        is_after_blank = not line.strip()
        at += 1
    return code


def without_comments(text: str) -> tuple[str, frozenset[int]]:
    """The text without its comments, all lines in their places, and the lines of which nothing is left."""
    lines = text.split("\n")
    touched: set[int] = set()
    for comment in reversed([*comments(text)]):
        touched |= {*range(comment.line, comment.last + 1)}
        head, tail = lines[comment.line][: comment.start], lines[comment.last][comment.end :]
        for line in range(comment.line, comment.last + 1):
            lines[line] = ""
        lines[comment.last] = tail
        lines[comment.line] = head + (tail if comment.line == comment.last else "")
    return "\n".join(lines), frozenset(line for line in touched if not lines[line].strip())


def without_block_comments(text: str) -> str:
    """The text in which all lines are blank on which a comment of several lines stands that begins a line."""
    lines = text.split("\n")
    for comment in comments(text):
        # Deeper it is part of a list item, which ends where a line without an indent begins another one.
        if comment.start < 2 and comment.last > comment.line and not lines[comment.line][: comment.start].strip():
            lines[comment.line : comment.last + 1] = [""] * (comment.last + 1 - comment.line)
    return "\n".join(lines)
