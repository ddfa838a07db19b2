"""Paragraphs of a fragment that may stand elsewhere, too, and the fragment without some of them.

A paragraph stands by itself: list items, tables and code are parts of something, and a few words are no statement.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from contextasm.model import Fragment, Reason
from contextasm.text.markdown import TextBlock, blocks, list_lead, list_mark, trimmed
from contextasm.text.similarity import fold_text

LEAST_CHARACTERS = 16
"""Length of the shortest paragraph that is compared."""


class Paragraph(NamedTuple):
    """A paragraph of a fragment, by lines of its text, counted from 0."""

    first: int
    """Its first line, with a heading that stands for nothing without it."""
    body: int
    """The first line of its own text."""
    stop: int
    folded: str


def paragraphs(fragment: Fragment) -> list[Paragraph]:
    """The paragraphs of a fragment that can be compared; none of a fenced one."""
    if fragment.display.fence:
        return []
    lines = fragment.text.split("\n")
    in_order = [*blocks(lines)]
    if len(in_order) == 1 and not in_order[0].levels:
        return []  # the fragment itself
    return [
        Paragraph(_first_line(block, in_order[number + 1 : number + 2]), block.body, block.stop, folded)
        for number, block in enumerate(in_order)
        if block.kind == "text"
        and _stands_alone(block, lines)
        and len(folded := _folded(lines, block)) >= LEAST_CHARACTERS
    ]


def _folded(lines: list[str], block: TextBlock) -> str:
    text = "\n".join(lines[block.body : block.stop])
    return fold_text(text[len(list_lead(text)) :])


def _stands_alone(block: TextBlock, lines: list[str]) -> bool:
    # The item that begins a fragment is a memory or an event as its layer writes it.
    if block.body and list_mark(lines[block.body]):
        return False
    begins = not block.body or bool(block.levels) or not lines[block.body - 1].strip()
    return begins and (block.stop == len(lines) or not lines[block.stop - 1].strip())


def _first_line(block: TextBlock, following: list[TextBlock]) -> int:
    # A heading goes with its only paragraph.
    is_alone = not following or (following[0].levels and following[0].levels[0] <= min(block.levels, default=0))
    return block.first if block.levels and is_alone else block.body


def without_paragraphs(fragment: Fragment, reasons: Mapping[Paragraph, Reason]) -> Iterator[Fragment]:
    """The fragment in parts: the paragraphs excluded for these reasons, and the text between them.

    The parts come in the order in which they are kept. A fragment of which nothing would be left is excluded whole.
    """
    lines = fragment.text.split("\n")
    excluded = {paragraph.first: (paragraph.stop, reason) for paragraph, reason in reasons.items()}
    parts: list[Fragment] = []
    line = 0
    while line < len(lines):
        stop, reason = excluded.get(line, (min([*(first for first in excluded if first > line), len(lines)]), None))
        blank, text = trimmed("\n".join(lines[line:stop]))
        if text:
            parts.append(_part(fragment, len(parts), line + blank, text, reason))
        line = stop
    if all(part.verdict.excluded for part in parts):
        yield fragment.exclude(next(iter(reasons.values())))
    else:
        yield from reversed(parts) if fragment.display.keep == "end" else parts


def _part(fragment: Fragment, number: int, line: int, text: str, reason: Reason | None) -> Fragment:
    first_line = fragment.location.file_line(line)
    part = fragment._replace(
        id=f"{fragment.id}:{first_line}" if number else fragment.id,
        part_of=fragment.id,
        location=fragment.location._replace(line=first_line),
        text=text,
        display=fragment.display._replace(place=(*fragment.display.place, number)),
    )
    return part.exclude(reason) if reason else part
