"""Lines of a log: list items, single lines, paragraphs, and other blocks, each with its place in the file.

Parsing only. A heading is marked: it is not a line of its own, but the lines below it are about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from contextasm.model import Document, Location, NamedTuple, Problem
from contextasm.text.caching import cached_by_content
from contextasm.text.markdown.blocks import TextBlock, blocks, has_title, heading, list_mark, passage

MAX_LINES = 20_000
"""Lines of a log, counted with the blank ones, up to which it is parsed: a day of a log has far fewer."""

_WORD = re.compile(r"\w")


class LogLine(NamedTuple):
    """A piece of a log that says something by itself, usually one line."""

    location: Location
    text: str
    """Text without list mark and indent. Its line number n is the file's line `location.file_line(n)`."""
    is_heading: bool = False
    title: str = ""
    """Words of the heading that it is under; empty for a title of the whole log."""

    @property
    def path(self) -> str:
        """Path of its file."""
        return self.location.path

    @property
    def line(self) -> int:
        """Line of the file at which it begins."""
        return self.location.line


@cached_by_content
def parse_log(document: Document) -> tuple[LogLine, ...]:
    """The lines of a log in file order, its headings among them.

    A list item, a table and a fence are one each. A paragraph is divided where a line ends a sentence, and where one
    begins with a time or with a name and a colon. What holds no letter and no figure is left out, and so is what
    is below the first `MAX_LINES` lines.
    """
    lines = document.text.split("\n", MAX_LINES)[:MAX_LINES]
    in_order = [*blocks(lines)]
    title, has_one = "", has_title([block.levels for block in in_order])
    parsed: list[LogLine] = []
    for first, stop, is_heading in _spans(lines, in_order):
        line = _log_line(document, lines[first:stop], first, is_heading)
        if is_heading and (found := heading(line.text)):
            title = "" if has_one and found[0] == 1 else found[1]
        parsed.append(line._replace(title=title))
    return tuple(line for line in parsed if _WORD.search(line.text))


def long_log_problem(document: Document) -> tuple[Problem, ...]:
    """The problem of a log with text below its first `MAX_LINES` lines; none for any other."""
    *_, rest = document.text.split("\n", MAX_LINES)
    if document.text.count("\n") < MAX_LINES or not rest.strip():
        return ()
    message = f"has more than {MAX_LINES:,} lines: those below are not looked at for a topic"
    return (Problem("too-large", document.path, document.line + MAX_LINES, message),)


def _spans(lines: Sequence[str], in_order: Sequence[TextBlock]) -> Iterator[tuple[int, int, bool]]:
    # Half open, with whether it is a heading.
    for block in in_order:
        yield from ((line, line + 1, True) for line in range(block.first, block.body) if lines[line].strip())
        stop = block.end(lines)
        starts = [block.body, *block.statement_starts(lines)]
        yield from ((first, end, False) for first, end in zip(starts, [*starts[1:], stop], strict=True) if first < end)


def _log_line(document: Document, lines: Sequence[str], first: int, is_heading: bool) -> LogLine:
    location, text = passage(document, document.line + first, "\n".join(lines))
    mark = list_mark(text.partition("\n")[0])
    if mark:
        first_line, line_end, rest = text[mark:].partition("\n")
        text = first_line.strip() + line_end + _dedented(rest)
    if text.startswith("\n"):  # an item with nothing after its mark
        location = location._replace(line=location.file_line(1))
    return LogLine(location, _dedented(text).strip(" \t\n"), is_heading)


def _dedented(text: str) -> str:
    if "\n" not in text:
        return text.lstrip(" \t")
    from textwrap import dedent  # here: most entries have one line

    return dedent(text)
