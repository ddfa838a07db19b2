"""Outline: the headings of a fragment below the heading of its section, so that no content opens a section.

`# Title` gets more marks; a heading with a line under it (`Title`, `=====`) gets marks, and that line goes. A line that
is a heading for some readers only, or in another excerpt, loses what could make it one. Fenced code stays as it is.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from contextasm.text.caching import MOST_CACHED
from contextasm.text.markdown.blocks import heading, headings, is_rule, is_underline
from contextasm.text.markdown.literals import Literal, fence_opening, indent_of, literal_at

DEEPEST = 6
"""Level of the deepest heading."""

_MARKS = re.compile(r"( {0,3})(#{1,6})")
_SURE_ITEM = re.compile(r" {0,3}(?:[-*+]|1[.)])[ \t]+\S")
_CONTAINER = re.compile(r"[ \t]*(?:[-*+>]|\d{1,9}[.)])")
_OPENERS = {*"-+*_=#<`~0123456789", ""}
"""First characters of the lines that can be more than words of a paragraph; a blank line has none."""

_SUSPECT = re.compile(r"\n[ \t]*(?:[=-]+[ \t]*$|<)", re.MULTILINE)
"""A line that may be an underline or HTML, after a line end: to look for that is ten times as fast as for `^`."""


def nest(text: str, level: int, only_above: bool = False) -> tuple[str, tuple[int, ...]]:
    """The text with all headings moved down by one step, so that its highest is just below `level`.

    With the lines of the text before, counted from 0, that are gone: each made a heading of the lines above it. With
    `only_above`, only headings at that level or above it move, to just below it.
    """
    if not ("#" in text or "```" in text or "~~~" in text or _SUSPECT.search(f"\n{text}")):
        return text, ()
    return (_cached_nested if len(text) <= MOST_CACHED else _nested)(text, level, only_above)


def _nested(text: str, level: int, only_above: bool) -> tuple[str, tuple[int, ...]]:
    lines = text.split("\n")
    outline = _Outline(lines)
    offset = 0 if only_above else outline.offset(level)
    for line, own_level, is_visible in outline.headings:
        new_level = max(own_level + offset if is_visible else own_level, level + 1)
        lines[line] = _with_level(lines[line], min(new_level, DEEPEST))
    for line, words in outline.changes.items():
        lines[line] = words
    if removed := tuple(outline.underlines):
        lines = [line for n, line in enumerate(lines) if n not in outline.underlines]
    return "\n".join(lines), removed


_cached_nested = lru_cache(maxsize=1024)(_nested)


def _with_level(line: str, level: int) -> str:
    marks = _MARKS.match(line) if heading(line) else None
    if marks is None:  # a paragraph that a line under it made a heading
        return f"{'#' * level} {line.strip(' ')}"
    return f"{marks[1]}{'#' * level}{line[marks.end() :]}"


class _Outline:
    """The headings of a text, and the changes that its other lines need."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.headings: list[tuple[int, int, bool]] = []
        """Line, level, and whether it is a heading for a Markdown parser, too: none in raw HTML is."""
        self.underlines: dict[int, None] = {}
        """Lines that go, in order."""
        self.changes: dict[int, str] = {}
        """New words of lines that are not headings."""
        self._lines = lines
        stop, run = 0, 0  # `run` is the first line that is not part of what is above it
        for at, line in enumerate(lines):
            if at < stop or (mark := line.lstrip(" \t")[:1]) not in _OPENERS:
                continue
            part = literal_at(lines, at) if mark else None
            if part and part.kind != "doubtful":
                self._literal(part)
                stop = part.stop
                run = run if part.indent > 3 else stop  # below a paragraph, lines that far in are part of it
                continue
            if part:
                self.changes[at] = _escaped(line)
            if not mark or (is_rule(line) and not is_underline(line)):
                run = at + 1
            elif title := heading(line):
                self.headings.append((at, title[0], True))
                run = at + 1
            elif is_underline(line) and self._underline(run, at):
                run = at + 1

    def offset(self, level: int) -> int:
        """The number of levels by which all headings move; 0 if they are below the level."""
        highest = min((own_level for _, own_level, is_visible in self.headings if is_visible), default=DEEPEST)
        return max(0, level + 1 - highest)

    def _literal(self, part: Literal) -> None:
        lines = self._lines
        if part.is_loose:
            self.changes[part.first] = lines[part.first].lstrip(" \t")
        if part.kind == "fence":
            last = part.stop - 1
            if part.is_closed and part.indent and not part.is_loose and indent_of(lines[last]) != part.indent:
                self.changes[last] = part.closing
            return
        for line in range(part.first, part.stop):
            if title := heading(lines[line]):
                self.headings.append((line, title[0], part.kind == "comment" and not part.is_closed))
            elif part.kind == "tag" and line > part.first and is_underline(lines[line]):
                self._neutralize(line)

    def _underline(self, run: int, at: int) -> bool:
        """Note a line that may make a heading of the lines above it; whether these end there."""
        lines, above = self._lines, self._lines[run:at]
        rule = is_rule(lines[at])
        if not above or _SURE_ITEM.match(above[-1]):
            return rule
        if all(map(_is_plain, above)) and not any("|" in line for line in above):
            self.headings.append((run, 1 if "=" in lines[at] else 2, True))
            if len(above) == 1:
                self.underlines[at] = None
            else:  # the further lines stay a paragraph, and what follows is not part of it
                self.changes[at] = ""
            return True
        self._neutralize(at)
        return rule

    def _neutralize(self, at: int) -> None:
        # A rule of other marks is the same rule.
        line = self._lines[at]
        mark = line.strip(" \t")
        indent = line[: len(line) - len(line.lstrip(" "))]
        self.changes[at] = indent + ("***" if is_rule(line) else "\\" + mark)


def _is_plain(line: str) -> bool:
    """Whether a line can be part of no list, quote, code or HTML."""
    return not _CONTAINER.match(line) and indent_of(line) < 4 and not line.lstrip(" ").startswith("<")


def _escaped(line: str) -> str:
    """A line that no longer opens a fence or raw HTML."""
    opening = fence_opening(line)
    at = len(opening[0]) if opening else line.index("<")
    return f"{line[:at]}\\{line[at:]}"


@lru_cache(maxsize=256)
def titles_of(text: str) -> tuple[tuple[int, str], ...]:
    """The headings of a text that have words, with their lines counted from 0."""
    return tuple((number, words) for number, _, words in headings(text.split("\n")) if words)
