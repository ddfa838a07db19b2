"""Blocks of a Markdown text, with the places where it may be cut and the order in which blocks are worth keeping.

No Markdown parser: only parts that must not be torn are told apart, that is headings from their text, list items,
tables, fenced code, paragraphs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from contextasm.model import Document, Location, NamedTuple
from contextasm.text.markdown.literals import (
    closed_html_end,
    closes_fence,
    fence_opening,
    has_fence_lead,
    indent_of,
    line_behind_fence,
    literal_at,
    literals,
    open_literal,
)

_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_LEAD = r"[-*+] (?:\[[^\[\]\n]*\] )?"
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_ENDS_SENTENCE = r"(?:[.!?…。！？][\"'”’»)\]*_]*|[ \t]{2}|\\)$"
_TIME_OR_NAME = r"[ \t]*[*_\[(]*(?:\d{1,2}:\d{2}|([^\W\d_])[^:\n]{0,30}:[*_]*(?=[ \t]))"
_STRUCTURAL_PARTS = (
    r" {0,3}(?:=+|-+)[ \t]*",
    r"[^`]*`+[^`]*",
    r"[^>]*",
    r" *<[^<]*>[ \t]*",
    r" *<[^<>]*>[ \t]*",
    r".*?--(?=>)",
    r".*?\?(?=>)",
    r".*?\]\](?=>)",
    r"(?i).*?</(?:pre|script|style|textarea)(?=>)",
)
"""The longest beginnings of a line that may be an underline, or that open a fence or raw HTML."""
_LONGEST_LEAD = 20
"""Number of characters in which each heading, and each name of an element, begins and ends."""


class TextBlock(NamedTuple):
    """A run of lines, with the headings above it and the blank lines below it."""

    first: int
    stop: int
    """Half open: the block is `lines[first:stop]`."""
    kind: str
    """`text`, `table`, `fence`, `raw` for HTML, or `heading` if nothing follows the headings."""
    levels: tuple[int, ...] = ()
    """The levels of the headings that it begins with."""
    body: int = 0
    """The first line below those headings."""
    fence: str = ""
    """The line that closes the fence or the HTML where it is cut."""

    def end(self, lines: Sequence[str]) -> int:
        """The line after the last one of its body that is not blank; `lines` are those of the text."""
        return next((line for line in range(self.stop, self.body, -1) if lines[line - 1].strip()), self.body)

    def statement_starts(self, lines: Sequence[str]) -> Iterator[int]:
        """The lines of a paragraph, but for its first, that begin a sentence or a statement."""
        if self.kind != "text" or list_mark(lines[self.body]):
            return
        for line in range(self.body + 1, self.end(lines)):
            mark = re.match(_TIME_OR_NAME, lines[line])
            if re.search(_ENDS_SENTENCE, lines[line - 1]) or (mark and not (mark[1] or "").islower()):
                yield line


def heading(line: str) -> tuple[int, str] | None:
    """Level and words of an ATX heading; None for any other line."""
    if "#" not in line[:4] or not (match := _HEADING.match(line)):
        return None
    words = line[match.end() :].strip()
    bare = words.rstrip("#")
    return len(match[1]), bare.rstrip() if not bare or bare[-1] in " \t" else words


def headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Line, counted from 0, level and words of each heading of a text; in fenced code and raw HTML there is none."""
    if not any("#" in line[:4] for line in lines):
        return
    literal = {number for part in literals(lines) for number in range(part.first, part.stop)}
    for number, line in enumerate(lines):
        if (title := heading(line)) and number not in literal:
            yield number, *title


def trimmed(text: str) -> tuple[int, str]:
    """Number of blank lines that a text begins with, and the text without blank ends."""
    start = len(text) - len(text.lstrip())
    if start == len(text):
        return 0, ""
    return text.count("\n", 0, start), text[text.rfind("\n", 0, start) + 1 :].rstrip()


def list_mark(line: str) -> int:
    """Length in characters of the list mark that a line begins with; 0 if it begins with none."""
    match = _ITEM.match(line)
    return match.end() if match else 0


def list_lead(text: str) -> str:
    """List mark and type that the text of a memory begins with, such as `- [fact] `; empty for none."""
    match = re.match(_LEAD, text)
    return match[0] if match else ""


def blocks(lines: Sequence[str], *, in_items: bool = False) -> Iterator[TextBlock]:
    """The blocks of a text given as lines. Together they hold every line once.

    With `in_items`, a fence, a table or HTML in a list item ends at the latest where the item ends (CommonMark).
    """
    at = 0
    columns: list[int] = []  # at which the text of the list items around a block begins
    while at < len(lines):
        first, levels = at, []
        while at < len(lines) and (not lines[at].strip() or (title := heading(lines[at]))):
            if lines[at].strip() and title:
                levels.append(title[0])
            at += 1
        body = at
        kind, at, fence = _block_body(lines, at) if at < len(lines) else ("heading", at, "")
        if in_items and body < len(lines):
            indent, mark = indent_of(lines[body]), list_mark(lines[body])
            columns = [column for column in columns if column <= indent and not levels]
            columns += [len(lines[body][:mark].expandtabs(4))] if mark else []
            if columns and kind != "text":
                outside = (n for n in range(body + 1, at) if lines[n].strip() and indent_of(lines[n]) < columns[-1])
                at = next((n for n in outside if not mark or list_mark(lines[n])), at)
        while at < len(lines) and not lines[at].strip():
            at += 1
        yield TextBlock(first, at, kind, tuple(levels), body, fence)


class Part(NamedTuple):
    """A part of a text by what it begins with."""

    first: int
    stop: int
    """Half open: the part is `lines[first:stop]`."""
    kind: str
    """`heading`; `bullet`, with all that belongs to it; `fence`; `html` for a comment, `<pre>` and the like that is
    closed; or `line` for any other line, such as a blank one."""
    level: int = 0
    """Level of a heading."""
    title: str = ""
    """Words of a heading."""


def parts(lines: Sequence[str], *, is_cautious: bool = False) -> list[Part]:
    """The parts of a text given as lines: each line is in one of them.

    A fence that is never closed ends with the text. With `is_cautious` it is lines like any others, and so is HTML, so
    that nothing that may be read as text is passed over.
    """
    found: list[Part] = []
    at = 0
    unclosed: set[str] = set()
    while at < len(lines):
        found.append(part_at(lines, at, unclosed, is_cautious=is_cautious))
        at = found[-1].stop
    return found


def part_at(lines: Sequence[str], at: int, unclosed: set[str], *, is_cautious: bool = False) -> Part:
    """The part that begins at a line; see `parts`. `unclosed` collects ticks and openings that nothing below closes."""
    line = lines[at]
    if (fence := fence_opening(line)) and fence[1] not in unclosed:
        stop = line_behind_fence(lines, at, fence[1])
        if not is_cautious or closes_fence(lines[stop - 1], fence[1]):
            return Part(at, stop, "fence")
        unclosed.add(fence[1])
    if begins_bullet(line):
        return Part(at, bullet_end(lines, at, is_cautious=is_cautious), "bullet")
    if title := heading(line):
        return Part(at, at + 1, "heading", *title)
    if not is_cautious and "<" in line[:4] and (stop := closed_html_end(lines, at, unclosed)):
        return Part(at, stop, "html")
    return Part(at, at + 1, "line")


def begins_bullet(line: str) -> bool:
    """Whether a line begins a list item that is not indented."""
    return line[:1] in {"-", "*", "+"} and line[1:2] in {" ", "\t"} and bool(line[1:].strip(" \t-*"))


def bullet_end(lines: Sequence[str], at: int, *, is_cautious: bool = False) -> int:
    """The line after the list item at line `at`.

    An item holds indented lines, and lines that follow its text without a blank line between. A fence in it that is
    never closed ends at the next item (CommonMark), or it would swallow the memories below; see `parts` for
    `is_cautious`.
    """
    stop = at + 1
    blank = False
    while stop < len(lines):
        line = lines[stop]
        indented = line[:1] in {" ", "\t"} and bool(line.strip())
        if indented and (fence := fence_opening(line)):
            beyond = next((n for n in range(stop, len(lines)) if begins_bullet(lines[n])), len(lines))
            end = min(line_behind_fence(lines, stop, fence[1]), beyond)
            if not is_cautious or closes_fence(lines[end - 1], fence[1]):
                stop, blank = end, False
                continue
        if not indented and line.strip() and (blank or begins_bullet(line) or heading(line) or fence_opening(line)):
            break
        blank = not line.strip()
        stop += 1
    while not lines[stop - 1].strip():
        stop -= 1
    return stop


def _block_body(lines: Sequence[str], at: int) -> tuple[str, int, str]:
    """Kind, end and closing fence of the block that begins at line `at`."""
    part = literal_at(lines, at)
    if part and part.kind == "fence":
        return "fence", part.stop, part.closing
    if part and part.kind != "doubtful" and part.stop > at + 1:
        return "raw", part.stop, part.closing
    if "|" in lines[at] and at + 1 < len(lines) and "-" in lines[at + 1] and not lines[at + 1].strip(" \t|:-"):
        stop = at + 2
        while stop < len(lines) and "|" in lines[stop]:
            stop += 1
        return "table", stop, ""
    stop = at + 1
    while stop < len(lines) and lines[stop].strip() and not _interrupts_paragraph(lines, stop):
        stop += 1
    return "text", stop, ""


def _interrupts_paragraph(lines: Sequence[str], at: int) -> bool:
    if _ITEM.match(lines[at]) or heading(lines[at]):
        return True
    part = literal_at(lines, at)
    return part is not None and (part.kind == "fence" or (part.kind in {"comment", "raw"} and part.stop > at + 1))


def is_rule(line: str) -> bool:
    """Whether a line is a rule, such as `---` or `* * *`; below a text, `---` is an underline, too."""
    return bool(_RULE.match(line))


def is_underline(line: str) -> bool:
    """Whether a line makes a heading of a paragraph above it."""
    return line[:4].strip(" ")[:1] in {"=", "-"} and bool(_UNDERLINE.match(line))


def must_stand_apart(above: str, below: str) -> bool:
    """Whether a blank line must separate two texts: else the first line of the second would be another thing."""
    return open_literal(above) is not None or is_underline(below.partition("\n")[0])


def is_structural(line: str) -> bool:
    """Whether a line is, or opens, a part that plain text has none of: a heading, an underline, a fence, raw HTML."""
    if heading(line) or is_underline(line) or fence_opening(line):
        return True
    part = literal_at([line], 0)
    return part is not None and (part.kind == "doubtful" or not part.is_closed)


def may_be_structural(words: str) -> bool:
    """Whether words from within a line may be a list item or a structural line, if a line begins with them."""
    return bool(re.match(r"[#=<|>]|`{3}|~{3}|\d{1,9}[.)](?:[ \t]|$)|[-+*_]+(?:[ \t]|$)", words))


def structural_length(line: str) -> int:
    """Length of the longest beginning of a line that is structural; 0 if none is, as in nearly all running text."""
    if line.lstrip(" \t")[:1] not in {"#", "=", "-", "<"} and not has_fence_lead(line):
        return 0
    # To ask about each beginning would cost the square of the length; the longest one ends at one of these places.
    found = (re.match(pattern, line) for pattern in _STRUCTURAL_PARTS)
    ends = {*range(min(len(line), _LONGEST_LEAD)), len(line), *(match.end() for match in found if match)}
    return next((end for end in sorted(ends, reverse=True) if is_structural(line[:end])), 0)


def keep_order(
    levels: Sequence[tuple[int, ...]], sizes: Sequence[int], keep: str
) -> Iterator[tuple[Sequence[int], bool]]:
    """The sections of a text, given as the numbers of its parts, those worth most first, and whether each is in order.

    A part of a text that is not in order is worth most at its end. `levels` has the levels of the headings that each
    part begins with, and `sizes` its length. `start`: each part by itself, in their order; `tail`: from the last one
    back. `ends`: parts of the beginning and of the end in turns, three quarters of what is kept from the beginning.
    `end`: the last section first, and each section from its heading on, so that a part of it can be read; text above
    the first section is a run of entries, the last one first. A section begins at a heading of the highest level in
    use, a single title at the very top left aside.
    """
    numbers = range(len(levels))
    if keep in {"start", "tail", "ends"}:
        order = {"start": numbers, "tail": reversed(numbers), "ends": _from_both_ends(sizes)}[keep]
        yield from (((number,), keep != "tail") for number in order)
        return
    if has_title(levels):
        levels = [levels[0][1:], *levels[1:]]
    highest = min((level for own in levels for level in own), default=0)
    stop = len(levels)
    for start in (number for number in reversed(numbers) if highest in levels[number]):
        yield range(start, stop), True
        stop = start
    yield from (((number,), False) for number in reversed(range(stop)))


_HEAD_TO_TAIL = 3
"""Length of the beginning for each part of the end, where both are kept."""


def _from_both_ends(sizes: Sequence[int]) -> Iterator[int]:
    first, stop = 0, len(sizes)
    head = tail = 0
    while first < stop:
        if head <= _HEAD_TO_TAIL * tail:
            head += sizes[first]
            first += 1
            yield first - 1
        else:
            stop -= 1
            tail += sizes[stop]
            yield stop


def has_title(levels: Sequence[tuple[int, ...]]) -> bool:
    """Whether the first heading of a text, at the very top, is the only one of its level, and none is of a higher one.

    `levels` are of the blocks of the text.
    """
    all_levels = [level for block_levels in levels for level in block_levels]
    return bool(levels and levels[0]) and levels[0][0] == min(all_levels) and all_levels.count(min(all_levels)) == 1


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


_START = r"(?m)\\[^\w\s]|(`+)(?!`).*?(?<!`)\1(?!`)|(^ {0,3})?<!--"
"""An escaped sign, code within a line, or the start of a comment, which is a block at the beginning of a line."""
_COMMENT_END = r"-->|(?<!<!)--!>"
"""As in HTML, where `<!-->` is a whole comment, and `--!>` ends one."""
_BLANK_LINE = r"\n\s*?(?:\n|\Z)"


def comments(text: str) -> Iterator[tuple[int, int]]:
    """Start and end, in characters, of each HTML comment of a text, in its order."""
    if "<!--" not in text:
        return
    searched = blank_code(text)
    at = closing = paragraph_end = 0
    while found := re.compile(_START).search(searched, at):
        at = found.end()
        if not found[0].endswith("<!--"):
            continue
        # Both ends are looked for again only after the last ones: no text is searched for each of many comments.
        if closing < at:
            end = re.compile(_COMMENT_END).search(text, at - len("--"))
            if end is None:
                return
            closing = end.end()
        if paragraph_end < at:
            blank = re.compile(_BLANK_LINE).search(searched, at)
            paragraph_end = blank.start() if blank else len(text)
        if found[2] is not None or closing <= paragraph_end:
            yield at - len("<!--"), closing
            at = closing


def blank_code(text: str) -> str:
    """The text with blanks in place of fenced and of indented code, and of backslashes in HTML: they escape nothing."""
    lines = text.split("\n")
    code = code_lines(lines)
    html = [part for part in literals(lines) if part.kind in {"tag", "raw"}] if "\\<" in text else ()
    for number in (number for part in html for number in range(part.first, part.stop)):
        lines[number] = lines[number].replace("\\", " ")
    return "\n".join(" " * len(line) if number in code else line for number, line in enumerate(lines))


def code_lines(lines: Sequence[str]) -> set[int]:
    """The numbers, from 0, of the lines of fenced and of indented code."""
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


def without_comments(text: str, found: Iterable[tuple[int, int]] | None = None) -> tuple[str, frozenset[int]]:
    """The text without its comments, all lines in their places, and the lines of which nothing is left.

    With `found`, without these parts, which are in the order of the text and do not overlap.
    """
    pieces: list[str] = []
    touched: set[int] = set()
    line = at = 0
    for start, end in comments(text) if found is None else found:
        line += text.count("\n", at, start)
        line_ends = text.count("\n", start, end)
        touched |= {*range(line, line + line_ends + 1)}
        pieces += text[at:start], "\n" * line_ends
        line, at = line + line_ends, end
    shown = "".join([*pieces, text[at:]])
    lines = shown.split("\n")
    return shown, frozenset(line for line in touched if not lines[line].strip())


def without_block_comments(text: str) -> str:
    """The text with blank lines in place of each comment of several lines that begins a line."""
    pieces: list[str] = []
    at = 0
    for start, end in comments(text):
        # Deeper it is part of a list item, which ends where a line without an indent begins another one.
        first = text.rfind("\n", max(0, start - 2), start) + 1
        line_ends = text.count("\n", start, end)
        if line_ends and start - first < 2 and not text[first:start].strip():
            pieces += text[at:first], "\n" * line_ends
            line_end = text.find("\n", end)
            at = line_end if line_end >= 0 else len(text)
    return "".join([*pieces, text[at:]])
