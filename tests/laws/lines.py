"""Lines of running text: which layers hold them, and which lines of a file a decision names."""

import regex

from contextasm.model import Span

TEXT_LAYERS = {"L1", "L2", "L3", "L7"}
"""Running text; the other layers hold ranked fragments."""


def lines_of(kept: tuple[Span, ...]) -> set[int]:
    """The lines of spans, one by one."""
    return {line for first, last in kept for line in range(first, last + 1)}


def is_beginning(part: str, line: str) -> bool:
    """Whether a line begins with this part, no letter being torn."""
    ends = {found.end() for found in regex.finditer(r"\X", line)}
    return line.startswith(part) and len(part) in ends


def unmarked(line: str) -> str:
    """A line without the marks that make it a heading; a rule of stars as one of dashes."""
    return "---" if line == "***" else regex.sub(r"^ {0,3}#{1,6}(?: +|$)", "", line)


def words_of_lines(text: str) -> list[str]:
    """The lines of a text that hold words, without the marks and blanks that change when a heading moves."""
    lines = (unmarked(line).strip().lstrip("\\") for line in text.split("\n"))
    return [line for line in lines if regex.search(r"[^\s=*-]", line)]
