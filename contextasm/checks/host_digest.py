"""Digest: the lines of a text that a host shows although they are in the part that it cuts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from contextasm.config.host_loader import Digest
from contextasm.text.literals import fence_opening

Run = tuple[int, int]
"""A part of a text: `text[start:stop]`."""

_LISTED = re.compile(r"(?:#{1,6}|\s*[-*+]|\s*\d+[.)])\s+\S")


class _Line(NamedTuple):
    """A line that may be chosen, with the line of prose right above it."""

    runs: tuple[Run, ...]
    text: str
    is_first: bool
    """Whether it is chosen before others."""


def digest_runs(text: str, digest: Digest, room: int, measure: Callable[[str], int]) -> Sequence[Run]:
    """The lines of a whole text that a digest of `room` units holds, in their order; of a long line, its beginning.

    A line is chosen where it is a heading, an item of a list, or holds one of the digest's words, and the line of prose
    right above goes with it. Lines with the words that go first take the room first; a line that no longer fits is
    passed over.
    """
    lines = [*_candidates(text, digest)]
    chosen: list[_Line] = []
    for line in (*(line for line in lines if line.is_first), *(line for line in lines if not line.is_first)):
        units = measure(line.text) + bool(chosen)
        if units <= room:
            chosen.append(line)
            room -= units
    return sorted(run for line in chosen for run in line.runs)


def _candidates(text: str, digest: Digest) -> Iterator[_Line]:
    first, words = _pattern(digest.first), _pattern((*digest.first, *digest.words))
    position = 0
    above: tuple[tuple[Run, ...], str] = ((), "")
    for line in text.split("\n"):
        shown = " ".join(line.split())[: digest.line]
        start = position + len(line) - len(line.lstrip())
        runs = ((start, min(start + digest.line, position + len(line.rstrip()))),)
        position += len(line) + 1
        if not shown or fence_opening(line):
            above = ((), "")
        elif _LISTED.match(line) or words.search(shown):
            unit = "\n".join(filter(None, (above[1], shown)))
            yield _Line((*above[0], *runs), unit, bool(first.search(unit)))
            above = ((), "")
        else:
            above = (runs, shown)


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b" if words else r"(?!)", re.IGNORECASE)
