"""Cuts: which parts of a text a host keeps, and the sections of what is lost.

Pure arithmetic on texts. Positions are indices of Python strings; limits are in the host's units.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence

from contextasm.config.hosts.loader import Cut, Digest
from contextasm.model import NamedTuple
from contextasm.selection.tokens import LENGTHS
from contextasm.text.markdown.blocks import headings
from contextasm.text.markdown.front_matter import front_matter
from contextasm.text.markdown.literals import fence_opening, literals

Run = tuple[int, int]
"""A part of a text: `text[start:stop]`."""

_LISTED = re.compile(r"(?:#{1,6}|\s*[-*+]|\s*\d+[.)])\s+\S")


def digest_runs(text: str, digest: Digest, room: int, measure: Callable[[str], int]) -> Sequence[Run]:
    """The lines of a whole text that a digest of `room` units holds, in their order; of a long line, its beginning.

    A line is chosen if it is a heading, an item of a list, or holds one of the digest's words, and the line of prose
    right above goes with it. Lines with the words that go first take the room first; a line that no longer fits is
    passed over.
    """
    chosen: list[Run] = []
    for _, words, runs in sorted(_candidates(text, digest), key=lambda candidate: not candidate[0]):
        units = measure(words) + bool(chosen)
        if units <= room:
            chosen += runs
            room -= units
    return sorted(chosen)


def _candidates(text: str, digest: Digest) -> Iterator[tuple[bool, str, Sequence[Run]]]:
    """For each line that may be chosen: whether it goes first; its words and its runs, with the prose line above it."""
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
            yield bool(first.search(unit)), unit, (*above[0], *runs)
            above = ((), "")
        else:
            above = (runs, shown)


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    # Signs and Chinese words have no border.
    forms = [rf"\b{re.escape(word)}\b" if word.isascii() else re.escape(word) for word in words]
    return re.compile("|".join(forms) or r"(?!)", re.IGNORECASE)


class LostSection(NamedTuple):
    """The lost lines below one heading."""

    first: int
    """First line that is lost, at least in part; counted from 1."""
    last: int
    """Last line that is lost, at least in part."""
    heading: str
    """Words of the heading that the lines are under; empty above the first one."""
    text: str
    """The lost text."""


MEASURES: Mapping[str, Callable[[str], int]] = {
    "chars": LENGTHS["chars"].units,
    "codepoints": len,
    "bytes": LENGTHS["bytes"].units,
}
"""Units in which hosts count, by the fields of `Cut`."""


def kept_runs(text: str, cut: Cut, lead: str = "") -> Sequence[Run]:
    """The parts of a text that a cut leaves, in order; none of them is empty, or has blanks that the host takes away.

    `lead` is what the host puts before the text and measures with it. Where several limits are exceeded, each cuts what
    the ones before it left.
    """
    first = len(text) - len(text.lstrip()) if cut.trimmed == "both" else 0
    last = max(len(text.rstrip()) if cut.trimmed else len(text), first)
    whole = lead + text[first:last]
    runs: Sequence[Run] = [(0, len(whole))] if whole else []
    if cut.lines:
        end = sum(len(line) + 1 for line in whole.split("\n", cut.lines)[: cut.lines])
        runs = common_runs(runs, [(0, min(end, len(whole)))])
    for unit, measure in MEASURES.items():
        if limit := getattr(cut, unit):
            runs = _kept_ends(whole, runs, limit, cut, measure)
    shift = first - len(lead)
    return common_runs([(first, last)], [(start + shift, stop + shift) for start, stop in runs])


def kept_around(text: str, taken: Sequence[Run], cut: Cut, lead: str = "") -> Sequence[Run]:
    """The parts that `kept_runs` keeps of a text without the ones that the host takes out first, in the whole text."""
    rest = _runs_between(text, taken)
    return _in_whole(rest, kept_runs("".join(text[start:stop] for start, stop in rest), cut, lead))


def taken_runs(text: str, kinds: Sequence[str]) -> Sequence[Run]:
    """The parts of a text that are of these kinds of `LoadRule.taken_out`, in order."""
    lines = text.split("\n")
    ends = [0, *itertools.accumulate(len(line) + 1 for line in lines)]
    front = front_matter(lines).lines if "front_matter" in kinds else 0
    runs = [(0, min(ends[front], len(text)))] if front else []
    for part in literals(lines) if "comments" in kinds else ():
        if part.kind == "comment" and part.is_closed and part.first >= front:
            end = ends[part.stop - 1] + lines[part.stop - 1].rindex("-->") + len("-->")
            runs.append((ends[part.first], end))
    return runs


def _in_whole(runs: Sequence[Run], spans: Sequence[Run]) -> Sequence[Run]:
    """The spans of what `runs` hold together, as parts of the text that the runs are of."""
    kept: list[Run] = []
    position = 0
    for start, stop in runs:
        offset = start - position
        kept += common_runs([(start, stop)], [(a + offset, b + offset) for a, b in spans])
        position += stop - start
    return kept


def prefix_length(text: str, units: int, measure: Callable[[str], int]) -> int:
    """Length of the longest beginning of a text that measures `units` at most."""
    lengths = range(1, min(len(text), max(units, 0)) + 1)
    return bisect_right(lengths, units, key=lambda length: measure(text[:length]))


def lost_runs(text: str, kept: Sequence[Run]) -> Sequence[Run]:
    """The parts between and after the kept ones that are not blank."""
    return [(start, stop) for start, stop in _runs_between(text, kept) if text[start:stop].strip()]


def _runs_between(text: str, runs: Sequence[Run]) -> Sequence[Run]:
    """The parts of a text before, between and after some others; none of them is empty."""
    edges = [0, *(position for run in runs for position in run), len(text)]
    return [(start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=True) if start < stop]


def common_runs(first: Sequence[Run], second: Sequence[Run]) -> Sequence[Run]:
    """The parts that are in both."""
    pairs = ((max(a, c), min(b, d)) for a, b in first for c, d in second)
    return [(start, stop) for start, stop in pairs if start < stop]


def lost_sections(text: str, lost: Sequence[Run]) -> Sequence[LostSection]:
    """The lost lines, section by section; a section is the lines below a heading, with it."""
    sections: list[LostSection] = []
    for first, start, end, words in _sections(text):
        for lost_start, lost_stop in lost:
            # The end of a line whose words are kept is not lost.
            is_line_end = text[lost_start] == "\n" and lost_start > 0 and text[lost_start - 1] != "\n"
            begin, stop = max(start, lost_start + is_line_end), min(end, lost_stop)
            part = text[begin:stop]
            if part.strip():
                line = first + text.count("\n", start, begin)
                last = line + part.rstrip("\n").count("\n")
                sections.append(LostSection(line, last, words, part))
    return sections


def _sections(text: str) -> Sequence[tuple[int, int, int, str]]:
    """First line, start and end of each section, and the words of its heading."""
    mark = len(text) - len(text.removeprefix("\ufeff"))
    lines = text[mark:].split("\n")
    titles = {number: words for number, _, words in headings(lines)}
    starts = [(1, 0, "")]
    position = mark
    for number, line in enumerate(lines):
        if number in titles:
            starts.append((number + 1, position, titles[number]))
        position += len(line) + 1
    ends = [*(start for _, start, _ in starts[1:]), len(text)]
    return [(number, start, end, words) for (number, start, words), end in zip(starts, ends, strict=True)]


def _kept_ends(text: str, runs: Sequence[Run], limit: int, cut: Cut, measure: Callable[[str], int]) -> Sequence[Run]:
    """The beginning and the end of what `runs` hold, and a digest between them, if that is more than the limit."""
    rest = "".join(text[start:stop] for start, stop in runs)
    if measure(rest) <= limit:
        return runs
    shared = max(limit - cut.marker, 0)
    head = prefix_length(rest, shared * cut.head // 100, measure)
    tail = prefix_length(rest[::-1], shared * cut.tail // 100, measure)
    spans = [(0, head), (len(rest) - tail, len(rest))]
    if cut.digest:
        lines = digest_runs(rest, cut.digest, limit * cut.digest.share // 100, measure)
        spans[1:1] = common_runs(lines, [(head, len(rest) - tail)])
    return _in_whole(runs, spans)
