"""Lines of a log: list items, single lines, paragraphs, rows, and other blocks, each with its place in the file.

Parsing only. A heading is marked: it is not a line of its own, but the lines below it are about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from contextasm.model import Document, Location, NamedTuple, Problem
from contextasm.text.caching import cached_by_content
from contextasm.text.markdown.blocks import TextBlock, blocks, has_title, heading, list_mark, passage
from contextasm.text.markdown.literals import closes_fence, fence_opening, indent_of

MAX_LINES = 20_000
"""Lines of a log, counted with the blank ones, up to which it is parsed: a day of a log has far fewer."""

MOST_ITEM_LINES = 8
"""Lines of a list item, with the items below it, up to which it is one line of a log."""

_WORD = re.compile(r"\w")


class LogLine(NamedTuple):
    """A piece of a log that says something by itself, usually one line."""

    location: Location
    text: str
    """Text without list mark and indent. Its line number n is the file's line `location.file_line(n)`."""
    is_heading: bool = False
    title: str = ""
    """Words of the heading that it is under; empty for a title of the whole log."""
    above: str = ""
    """For a row the head of its table, or the line that opens its fence; empty for anything else."""
    below: str = ""
    """For a row of a fence the line that closes it; empty for anything else."""

    @property
    def path(self) -> str:
        """Path of its file."""
        return self.location.path

    @property
    def line(self) -> int:
        """Line of the file at which it begins."""
        return self.location.line

    @property
    def framed(self) -> str:
        """The text, for a row within the lines that make a table or a fence of it."""
        return f"{self.above}\n{self.text}\n{self.below}".rstrip("\n") if self.above else self.text


@cached_by_content
def parse_log(document: Document) -> tuple[LogLine, ...]:
    """The lines of a log in file order, its headings among them.

    A list item is one, of up to `MOST_ITEM_LINES` lines with the items below it, and so is each row of a table or a
    fence, whose first line has the mark of a heading. What is one in any case: a table or a fence without rows, and one
    that begins in a list item.
    A paragraph is divided where a line ends a sentence, and where one begins with a time or with a name and a colon.
    What holds no letter and no figure is left out, and so is what is below the first `MAX_LINES` lines.
    """
    lines = document.text.split("\n", MAX_LINES)[:MAX_LINES]
    in_order = [*_whole_items(lines, [*blocks(lines, in_items=True)])]
    title, has_one = "", has_title([block.levels for block in in_order])
    parsed: list[LogLine] = []
    for line in chain.from_iterable(_block_lines(document, lines, block) for block in in_order):
        if line.is_heading and (found := heading(line.text)):
            title = "" if has_one and found[0] == 1 else found[1]
        parsed.append(line._replace(title=title))
    return tuple(line for line in parsed if _WORD.search(line.text))


def long_log_problem(document: Document) -> tuple[Problem, ...]:
    """The problem of a log with text below its first `MAX_LINES` lines; none for any other."""
    *_, rest = document.text.split("\n", MAX_LINES)
    if document.text.count("\n") < MAX_LINES or not rest.strip():
        return ()
    message = f"has more than {MAX_LINES:,} lines: a search for a topic ignores the later lines"
    return (Problem("too-large", document.path, document.line + MAX_LINES, message),)


def _whole_items(lines: Sequence[str], in_order: Sequence[TextBlock]) -> Iterator[TextBlock]:
    """The blocks, in which a short list item is one with the items below it."""
    items = [block.kind == "text" and bool(list_mark(lines[block.body])) for block in in_order]
    after = 0
    for at, block in enumerate(in_order):
        if at < after:
            continue
        after = at + 1
        if items[at] and not indent_of(lines[block.body]):
            while after < len(items) and items[after] and indent_of(lines[in_order[after].first]):
                after += 1
            if in_order[after - 1].end(lines) - block.body > MOST_ITEM_LINES:
                after = at + 1
        yield block._replace(stop=in_order[after - 1].stop)


def _block_lines(document: Document, lines: Sequence[str], block: TextBlock) -> Iterator[LogLine]:
    for number in range(block.first, block.body):
        if lines[number].strip():
            yield _log_line(document, lines[number : number + 1], number, is_heading=True)
    stop = block.end(lines)
    if rows := _rows(document, lines[block.body : stop], block):
        yield from rows
        return
    starts = [block.body, *block.statement_starts(lines)]
    for first, end in zip(starts, [*starts[1:], stop], strict=True):
        if first < end:
            yield _log_line(document, lines[first:end], first)


def _rows(document: Document, lines: Sequence[str], block: TextBlock) -> Sequence[LogLine]:
    """The head and the rows of a table or a fence, which is these lines; none for what is to be one line."""
    if block.kind not in {"table", "fence"} or list_mark(lines[0]):
        return ()
    opening = fence_opening(lines[0])
    texts = _dedented("\n".join(lines)).split("\n")
    if opening and (len(texts) == 1 or not closes_fence(lines[-1], opening[1])):
        texts.append(opening[1])  # closed by the end of the file
    head, stop = (1, len(texts) - 1) if opening else (2, len(texts))
    places = [Location(document.path, document.line + block.body + number) for number in range(stop)]
    above, below = "\n".join(texts[:head]), "".join(texts[stop:])
    rows = [LogLine(places[row], texts[row], above=above, below=below) for row in range(head, stop)]
    return [LogLine(places[0], texts[0], is_heading=True), *rows] if rows else ()


def _log_line(document: Document, lines: Sequence[str], first: int, *, is_heading: bool = False) -> LogLine:
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
