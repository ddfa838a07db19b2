"""Parts of a text that each fit a limit, in a host's unit: joined, they are the whole text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from contextasm.checks.host_cuts import prefix_length
from contextasm.text.markdown import blocks

CUT_MARKER = "\n[cut here: the rest does not fit]\n"
"""Ends a text of which required layers alone exceed the limit."""


def split_text(text: str, limit: int, measure: Callable[[str], int]) -> Sequence[str]:
    """The parts of a text, none of which measures more than `limit`; joined, they are the text.

    A part ends before a heading or another block where one fits, else before a line, else inside a line. `limit` is at
    least 4: one letter may take as much. An empty text has no parts.
    """
    parts: list[str] = []
    for chunk in _chunks(text, limit, measure):
        if not chunk:
            continue
        if parts and measure(parts[-1] + chunk) <= limit:
            parts[-1] += chunk
        else:
            parts.append(chunk)
    return parts


def cut_text(text: str, limit: int, measure: Callable[[str], int]) -> str:
    """The beginning of a text, with a marker behind it, that measures `limit` at most; the text itself if that does."""
    if measure(text) <= limit:
        return text
    room = limit - measure(CUT_MARKER)
    return text[: prefix_length(text, room, measure)].rstrip() + CUT_MARKER if room > 0 else ""


def _chunks(text: str, limit: int, measure: Callable[[str], int]) -> Iterator[str]:
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]] + [lines[-1]]
    for block in blocks(lines):
        chunk = "".join(ended[block.first : block.stop])
        if measure(chunk) <= limit:
            yield chunk
            continue
        for line in ended[block.first : block.stop]:
            yield from _line_chunks(line, limit, measure)


def _line_chunks(line: str, limit: int, measure: Callable[[str], int]) -> Iterator[str]:
    while measure(line) > limit:
        end = prefix_length(line, limit, measure)
        yield line[:end]
        line = line[end:]
    yield line
