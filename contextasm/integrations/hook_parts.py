"""Parts of a text that each fit a limit, in a host's unit: joined, they are the whole text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from contextasm.checks.host_cuts import prefix_length
from contextasm.selection.truncate import LONG_WORD
from contextasm.text.graphemes import grapheme_ends
from contextasm.text.markdown import blocks

CUT_MARKER = "\n[cut here: the rest does not fit]\n"
"""Ends a text of which required layers alone exceed the limit."""


def split_text(text: str, limit: int, measure: Callable[[str], int]) -> Sequence[str]:
    """The parts of a text, none of which measures more than `limit`; joined, they are the text.

    A part ends before a heading or another block, else before a line, else behind a word, else behind a letter: at the
    first of these borders that leaves less than half of the part empty. A letter of several characters is cut only
    where it is larger than `limit`, which is at least 4: one character may take as much. An empty text has no parts.
    """
    parts = _Parts(limit, measure)
    parts.add(_blocks(text), (_lines,))
    return parts.texts


def cut_text(text: str, limit: int, measure: Callable[[str], int]) -> str:
    """The beginning of a text, with a marker behind it, that measures `limit` at most; the text itself if that does.

    It ends behind a word, else behind a letter.
    """
    if measure(text) <= limit:
        return text
    room = limit - measure(CUT_MARKER)
    if room <= 0:
        return ""
    end = prefix_length(text, room, measure)
    return text[: _word_end(text, end) or _letter_end(text, end) or end].rstrip() + CUT_MARKER


class _Parts:
    """Parts that are filled one after the other."""

    def __init__(self, limit: int, measure: Callable[[str], int]) -> None:
        self.texts: list[str] = []
        self._limit = limit
        self._measure = measure
        self._room = 0
        """Units that are left in the last part."""

    def add(self, pieces: Iterable[str], finer: Sequence[Callable[[str], Iterable[str]]]) -> None:
        """Add pieces; one that does not fit is itself cut into pieces by the first of `finer`, or inside for none."""
        for piece in pieces:
            size = self._measure(piece)
            if size > self._room and self._room < self._limit // 2:
                self._room = 0
            if size <= (self._room or self._limit):
                self._append(piece)
            elif finer:
                self.add(finer[0](piece), finer[1:])
            else:
                self._add_line(piece)

    def _add_line(self, line: str) -> None:
        while line:
            room = self._room or self._limit
            most = prefix_length(line, room, self._measure)
            end = _word_end(line, most)
            if room - self._measure(line[:end]) >= self._limit // 2:
                end = _letter_end(line, most)
            if not end and room == self._limit:  # One letter is larger than a part.
                end = most
            if end:
                self._append(line[:end])
                line = line[end:]
            else:  # No letter fits the rest of the part.
                self._room = 0

    def _append(self, piece: str) -> None:
        if not piece:
            return
        if self._room:
            self.texts[-1] += piece
        else:
            self.texts.append(piece)
            self._room = self._limit
        self._room -= self._measure(piece)


def _blocks(text: str) -> Iterator[str]:
    ended = _lines(text)
    for block in blocks(text.split("\n")):
        yield "".join(ended[block.first : block.stop])


def _lines(text: str) -> Sequence[str]:
    """The lines of a text, each with its end."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + [lines[-1]]


def _word_end(text: str, most: int) -> int:
    """The last place up to `most` that is behind a word, or in a run without blanks behind a letter; 0 for none."""
    end = _letter_end(text, most)
    if end == len(text) or text[end].isspace():
        return end
    start = end
    while start and end - start <= LONG_WORD and not text[start - 1].isspace():
        start -= 1
    stop = next((n for n in range(end, min(start + LONG_WORD + 1, len(text))) if text[n].isspace()), len(text))
    return end if stop - start > LONG_WORD else _letter_end(text, start)


def _letter_end(text: str, most: int) -> int:
    """The last place up to `most` that is behind a whole letter; 0 for none."""
    if most == len(text):
        return most
    line = text.rfind("\n", 0, most) + 1  # A letter never crosses it.
    return line + max((end for end in grapheme_ends(text[line : most + 1]) if end <= most - line), default=0)
