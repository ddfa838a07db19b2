"""Levels of detail: a Markdown text in fewer of its own words. Nothing is reworded, and no line is made up.

`atomic` is the full text, `micro` its headings and the first sentence of each paragraph and list item, `macro` its
title and first paragraph. No level is longer than the one before it, and none is empty (digest 003-3).
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from contextasm.text.markdown.blocks import TextBlock, blocks, is_structural, is_underline, list_mark

LEVELS = ("atomic", "micro", "macro")
"""From the fullest to the shortest."""

_STOP = (
    r"`[^`\n]*`"  # what stands in code ends no sentence
    r"|(?P<wide>[。！？]+[」』）”’]*)"
    r"|(?P<end>[.!?…]+[*_)\"'”’\]]*(?=\s|$))"
)
_ABBREVIATED = r"(?:^|[\s(])(?:\w|e\.g|i\.e|z\.\s?B|d\.\s?h|cf|vs|etc|approx|Dr|Mr|Mrs|Ms|St|No|Nr|bzw|ca)\.$"
_CLOSERS = "*_)\"'”’]"


class DetailForm(NamedTuple):
    """A text at some level of detail."""

    level: str
    text: str
    lines: tuple[int, ...]
    """The lines of the full text, counted from 0, of which something is shown."""


@lru_cache(maxsize=4096)
def at_detail(text: str, level: str) -> DetailForm:
    """A text at one of `LEVELS`."""
    lines = text.split("\n")
    full = DetailForm("atomic", text, tuple(n for n, line in enumerate(lines) if line.strip()))
    if level == "atomic":
        return full
    micro = _shorter(full, "micro", [line for block in blocks(lines) for line in _brief(block, lines)])
    if level == "micro":
        return micro
    return _shorter(micro, "macro", _opening(lines, len(micro.text)))


def detail_levels(text: str) -> tuple[DetailForm, ...]:
    """The distinct forms of a text, from the fullest to the shortest."""
    forms = [at_detail(text, level) for level in LEVELS]
    return (forms[0], *(form for fuller, form in pairwise(forms) if form.text != fuller.text))


def _shorter(fuller: DetailForm, level: str, shown: Sequence[tuple[int, str]]) -> DetailForm:
    """The form that these lines make, if it is one and no longer than the fuller one; else that one."""
    own = _apart(shown)
    while own and not own[-1][1].strip():
        own.pop()
    text = "\n".join(line for _, line in own)
    if not text.strip() or len(text) > len(fuller.text):
        return fuller._replace(level=level)
    return DetailForm(level, text, tuple(number for number, line in own if line.strip()))


def _apart(shown: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """The lines with a blank one above each that would make a heading of a line that stood elsewhere."""
    own: list[tuple[int, str]] = []
    for number, line in shown:
        if own and own[-1][1].strip() and own[-1][0] != number - 1 and is_underline(line):
            own.append((number - 1, ""))
        own.append((number, line))
    return own


def _brief(block: TextBlock, lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """A block's headings and its first sentence; of code and tables nothing but the headings above them."""
    yield from _headings(block, lines)
    if block.kind == "text":
        yield from _sentence(block, lines)
    stop = block.stop - 1
    if block.kind in {"text", "heading"} and stop > block.first and not lines[stop].strip():
        yield stop, ""


def _headings(block: TextBlock, lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The headings at the start of a block, with the blank lines among them."""
    if block.levels:
        yield from ((number, lines[number].rstrip()) for number in range(block.first, block.body))


def _sentence(block: TextBlock, lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The lines of a paragraph or list item up to the end of its first sentence."""
    for number in range(block.body, block.stop):
        line = lines[number].rstrip()
        if not line:
            return
        mark = list_mark(line) if number == block.body else 0
        end = _sentence_end(line, mark)
        yield number, line[:end] if end and not is_structural(line[:end]) else line
        if end:
            return


def _sentence_end(line: str, start: int) -> int:
    """Where the first sentence of a line ends; 0 where it goes on in the next line."""
    for found in re.compile(_STOP).finditer(line, start):
        if found["wide"]:
            return found.end()
        if not found["end"]:
            continue
        rest = line[found.end() :].lstrip()
        begun = line[start : found.end()].rstrip(_CLOSERS)
        if not (rest[:1].islower() or (rest and re.search(_ABBREVIATED, begun))):
            return found.end()
    return 0


def _opening(lines: Sequence[str], longest: int) -> list[tuple[int, str]]:
    """The title and the first paragraph; of the paragraph only the first sentence where all is longer than allowed."""
    found = [*blocks(lines)]
    title = [*_headings(found[0], lines)] if found[0].levels else []
    first = next((block for block in found if block.kind == "text"), None)
    if first is None:
        return title
    stop = next((n for n in range(first.body, first.stop) if not lines[n].strip()), first.stop)
    paragraph = [(number, lines[number].rstrip()) for number in range(first.body, stop)]
    if sum(len(line) + 1 for _, line in (*title, *paragraph)) - 1 > longest:
        paragraph = [*_sentence(first, lines)]
    return [*title, *paragraph]
