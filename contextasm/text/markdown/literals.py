"""Literal parts of a Markdown text: fenced code and raw HTML, in which no heading, list or paragraph stands.

They are distinguished as in CommonMark, except for indented code, whose lines can be nothing else. A fence is the same
wherever an excerpt begins: its lines are indented as its opening is, or it opens at the margin (`outline` sees to
that).
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from contextasm.model import NamedTuple

_FENCE = re.compile(r"((?:[ \t]*(?:[-*+]|\d{1,9}[.)])(?=[ \t]))*[ \t]*)(`{3,}|~{3,})(.*)$")

# Patterns of HTML are texts here: `re` compiles each on first need, and keeps it.

_CLOSED_TAG = r"(?i)<(pre|script|style|textarea)(?=[\s>]|$)"
_CLOSING_TAG = r"(?i)</(?:pre|script|style|textarea)>"
_BLOCK_TAG = (
    r"(?i)</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl"
    r"|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main"
    r"|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|source|summary|table|tbody|td|tfoot|th"
    r"|thead|title|tr|track|ul)(?=[\s/>]|$)"
)
_LONE_TAG = r"</?[A-Za-z][\w-]*(?:[\s/][^<]*)?>[ \t]*$"
_DECLARATION = {"<?": "?>", "<![CDATA[": "]]>", "<!": ">"}
_BLANKS = " \t"

MAX_LOOKAHEAD = 300
"""Lines that are read ahead to see how readers take an indented fence or a lone tag; beyond them it is doubtful."""


class Literal(NamedTuple):
    """A part of a text that is not Markdown."""

    first: int
    stop: int
    """Half open: the part is `lines[first:stop]`."""
    kind: str
    """`fence`; `comment` or `raw` for HTML up to its end; `tag` for HTML up to a blank line.

    `doubtful` for one line that opens a fence or a part of HTML for some readers only.
    """
    indent: int = 0
    """Columns before its opening."""
    closing: str = ""
    """The line that closes it; empty if a blank line does."""
    is_closed: bool = True
    is_loose: bool = False
    """Whether a line of it is indented less than its opening is."""


def fence_opening(line: str) -> tuple[str, str] | None:
    """Indent, list marks included, and ticks of a line that opens a fence; None for any other line."""
    if "```" not in line and "~~~" not in line:
        return None
    match = _FENCE.match(line)
    if not match or (match[2][0] == "`" and "`" in match[3]):
        return None
    return match[1], match[2]


def has_fence_lead(line: str) -> bool:
    """Whether a line begins as one that opens a fence does, with any text after the ticks."""
    return ("```" in line or "~~~" in line) and bool(_FENCE.match(line))


def closes_fence(line: str, ticks: str) -> bool:
    """Whether a line closes a fence opened with these ticks, with any indent."""
    bare = line.strip(_BLANKS)
    return len(bare) >= len(ticks) and bare == ticks[0] * len(bare)


def line_behind_fence(lines: Sequence[str], at: int, ticks: str) -> int:
    """The line after the fence that line `at` opens with `ticks`; the end for one that is never closed."""
    return next((n + 1 for n in range(at + 1, len(lines)) if closes_fence(lines[n], ticks)), len(lines))


def indent_of(line: str) -> int:
    """Columns of blanks that a line begins with."""
    return len(line[: len(line) - len(line.lstrip(_BLANKS))].expandtabs(4))


def literal_at(lines: Sequence[str], at: int) -> Literal | None:
    """The literal part that begins at line `at`; None if none does."""
    line = lines[at]
    if opening := fence_opening(line):
        return _fence(lines, at, *opening)
    bare = line.lstrip(" ")
    if not bare.startswith("<") or len(line) - len(bare) > 3:
        return None
    return _html(lines, at, bare)


def closed_html_end(lines: Sequence[str], at: int, unclosed: set[str]) -> int:
    """The line after the comment or `<pre>` and the like that begins at line `at`; 0 for none, or one never closed.

    The opening of one that is never closed is added to `unclosed`, and no later one like it is looked for.
    """
    bare = lines[at].lstrip(" ")
    kind = "<!--" if bare.startswith("<!--") else "<"
    if not bare.startswith("<") or len(lines[at]) - len(bare) > 3 or kind in unclosed:
        return 0
    part = _raw_html(lines, at, bare)
    if part and part.is_closed:
        return part.stop
    if part:
        unclosed.add(kind)
    return 0


def literals(lines: Sequence[str]) -> Iterator[Literal]:
    """The literal parts of a text, in its order."""
    at = 0
    while at < len(lines):
        part = literal_at(lines, at)
        if part:
            yield part
        at = part.stop if part else at + 1


def _fence(lines: Sequence[str], at: int, lead: str, ticks: str) -> Literal:
    width, is_item = len(lead.expandtabs(4)), bool(lead.strip())
    is_loose = False
    is_certain = not is_item and width < 4
    for stop in range(at + 1, len(lines)):
        if not is_certain and stop - at > MAX_LOOKAHEAD:
            return Literal(at, at + 1, "doubtful", width)
        indent = indent_of(lines[stop])
        if width and not is_loose and indent < width and lines[stop].strip(_BLANKS):
            if not is_certain:
                return Literal(at, at + 1, "doubtful", width)
            is_loose = True
        least, most = (0, 3) if is_loose else (width, width + 3)
        if least <= indent <= most and closes_fence(lines[stop], ticks):
            return Literal(at, stop + 1, "fence", width, " " * width + ticks, is_loose=is_loose)
    closing = ticks if is_loose else " " * width + ticks
    return Literal(at, len(lines), "fence", width, closing, is_closed=False, is_loose=is_loose)


def _html(lines: Sequence[str], at: int, bare: str) -> Literal | None:
    if part := _raw_html(lines, at, bare):
        return part
    if end := next((end for start, end in _DECLARATION.items() if bare.startswith(start)), ""):
        return None if end in bare else Literal(at, at + 1, "doubtful", len(lines[at]) - len(bare))
    if not (is_block := re.match(_BLOCK_TAG, bare)) and not re.match(_LONE_TAG, bare):
        return None
    end_of_search = len(lines) if is_block else min(len(lines), at + MAX_LOOKAHEAD)
    stop = next((n for n in range(at, end_of_search) if not lines[n].strip(_BLANKS)), end_of_search)
    if not is_block and (stop == at + MAX_LOOKAHEAD or any(map(_opens_another, lines[at + 1 : stop]))):
        return Literal(at, at + 1, "doubtful", indent_of(lines[at]))
    return _part(lines, Literal(at, stop, "tag", is_closed=stop < len(lines)))


def _raw_html(lines: Sequence[str], at: int, bare: str) -> Literal | None:
    """The comment, or the element of unformatted text such as `<pre>`, that begins at a line; None for neither."""
    tag = re.match(_CLOSED_TAG, bare)
    if not tag and not bare.startswith("<!--"):
        return None
    kind, closing = ("raw", f"</{tag[1]}>") if tag else ("comment", "-->")
    end = re.compile(_CLOSING_TAG if tag else closing)
    last = next((n for n in range(at, len(lines)) if end.search(lines[n])), None)
    stop = len(lines) if last is None else last + 1
    return _part(lines, Literal(at, stop, kind, closing=closing, is_closed=last is not None))


def _opens_another(line: str) -> bool:
    bare = line.lstrip(_BLANKS)
    return bool(fence_opening(line) or re.match(_CLOSED_TAG, bare) or bare.startswith(("<!", "<?")))


def _part(lines: Sequence[str], part: Literal) -> Literal:
    width = indent_of(lines[part.first])
    own = (line for line in lines[part.first : part.stop] if line.strip(_BLANKS))
    is_loose = any(indent_of(line) < width for line in own)
    # Without its indent, the closing would end the list item that the part is in.
    closing = part.closing if is_loose else " " * width * bool(part.closing) + part.closing
    return part._replace(indent=width, closing=closing, is_loose=is_loose)


@lru_cache(maxsize=4096)
def open_literal(text: str) -> Literal | None:
    """The literal part that a text leaves open at its end; None if it leaves none."""
    if not any(mark in text for mark in ("```", "~~~", "<")):
        return None
    *_, last = (None, *literals(text.split("\n")))
    return last if last and not last.is_closed else None
