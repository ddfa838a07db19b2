"""Cuts: which parts of the files that a host loads its limits keep, and the sections of what is lost.

Pure arithmetic on texts. Positions are indices of Python strings; limits are in the host's units.
"""

from __future__ import annotations

import itertools
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from contextasm.config.hosts.loader import Cut, Digest, Host, LoadRule
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


# --- Files -----------------------------------------------------------------------------------------------------------

# The limits are the limits of each file, of the files of one rule together, and of all.


FoundFile = tuple[str, str]
"""Path of a file that a host finds, and its text as the host decodes it."""


class LoadedFile(NamedTuple):
    """A file that a host loads by itself, whole or in part."""

    path: str
    """Path in the folder that the reading is of, or as typed for a file outside of it."""
    text: str
    """The text of the file's bytes, as the host decodes them."""
    kept: Sequence[Run]
    """The parts of the text that reach the model."""
    rule: LoadRule
    limit: str
    """The limit that cuts the file, in words; empty for a file that is loaded whole."""
    imported_by: str = ""
    """Path and line of the import that brings the file; empty for one that the rule names."""
    taken: Sequence[Run] = ()
    """The parts that the host takes out before it measures the rest, such as comments."""
    on_demand: bool = False
    """Whether it is loaded only once the host works on a file that was named."""

    @property
    def outcome(self) -> Literal["whole", "cut", "dropped"]:
        """How much of it is loaded."""
        return "dropped" if not self.kept else "cut" if self.lost_parts else "whole"

    @property
    def lost_sections(self) -> Sequence[LostSection]:
        """The sections of all parts that never reach the model, in order."""
        return [section for part in self.lost_parts for section in part]

    @property
    def lost_lines(self) -> frozenset[int]:
        """The lines that never reach the model, at least in part, counted from 1."""
        return frozenset(line for each in self.lost_sections for line in range(each.first, each.last + 1))

    @property
    def taken_lines(self) -> Sequence[int]:
        """The lines that the host takes out, at least in part, counted from 1."""
        starts = ((self.text.count("\n", 0, start), self.text[start:stop].rstrip("\n")) for start, stop in self.taken)
        return [line + 1 for first, words in starts for line in range(first, first + words.count("\n") + 1)]

    @property
    def lost_parts(self) -> Sequence[Sequence[LostSection]]:
        """The parts that never reach the model, each as its sections; those between the lines of a digest are one."""
        lost = lost_runs(self.text, sorted([*self.kept, *self.taken]))
        parts = [lost] if lost and self.rule.each.digest else [[run] for run in lost]
        return [lost_sections(self.text, part) for part in parts]


def cut_files(rule: LoadRule, files: Sequence[FoundFile], session: str) -> Sequence[LoadedFile]:
    """The files of a rule, each with what its own limits and the limits of all together leave."""
    loaded: list[LoadedFile] = []
    places: list[int] = []
    whole = ""
    for path, text in files:
        lead, taken = _lead(rule, path, session), taken_runs(text, rule.taken_out)
        kept = kept_around(text, taken, rule.each, lead)
        limit = _limit_words(rule.each) if lost_runs(text, sorted([*kept, *taken])) else ""
        loaded.append(LoadedFile(path, text, kept, rule, limit, "", taken))
        places.append(len(whole + lead))
        whole += lead + "".join(text[start:stop] for start, stop in kept) + ("\n\n" if rule.spaced else "")
    kept_together = kept_runs(whole, rule.together)
    if not lost_runs(whole, kept_together):
        return loaded
    return [_kept_of(file, place, kept_together) for file, place in zip(loaded, places, strict=True)]


def _kept_of(file: LoadedFile, place: int, kept_together: Sequence[Run]) -> LoadedFile:
    """A file with what is kept of the whole in which its kept parts begin at `place`."""
    kept: list[Run] = []
    for start, stop in file.kept:
        part = common_runs(kept_together, [(place, place + stop - start)])
        kept += [(a - place + start, b - place + start) for a, b in part]
        place += stop - start
    is_cut = kept != [*file.kept]
    limit = f"{_limit_words(file.rule.together)} for all files together" if is_cut else file.limit
    return file._replace(kept=kept, limit=limit)


def _lead(rule: LoadRule, path: str, session: str) -> str:
    """The words that the host puts before a file."""
    title = rule.title.replace("PATH", os.path.relpath(path, session or ".")).replace("NAME", os.path.basename(path))
    return f"{title}\n\n" if title else ""


def within_total(host: Host, files: Sequence[LoadedFile]) -> Sequence[LoadedFile]:
    """The files, cut again to what is left of the host's total if it has one."""
    if not host.total:
        return files
    left = host.total
    result = []
    for file in files:
        result.append(_cut_to(file, left if left >= host.least else 0, host.total))
        left -= _used_units(result[-1])
    return result


def _used_units(file: LoadedFile) -> int:
    """Units of the total that a file takes, with the host's marker, and with the lines around a digest."""
    kept, cut = _units_of(file.text, file.kept), file.rule.each
    if not (kept and file.limit):
        return kept
    if cut.digest:  # It repeats lines of both ends. Each of its lines ends, and the host's own lines are around it.
        lines = digest_runs(file.text, cut.digest, cut.chars * cut.digest.share // 100, MEASURES["chars"])
        runs = [file.kept[0], *lines, file.kept[-1]]
        kept = _units_of(file.text, runs) + len(runs) + cut.digest.marker
    return min(kept + cut.marker, cut.chars or kept)


def _cut_to(file: LoadedFile, left: int, total: int) -> LoadedFile:
    """The file with no more kept than the units that are left of the total."""
    if _units_of(file.text, file.kept) <= left:
        return file
    kept = kept_runs(file.text, file.rule.each._replace(chars=left)) if left else []
    return file._replace(kept=kept, limit=f"{total:,} characters in all")


def _units_of(text: str, runs: Sequence[Run]) -> int:
    return sum(MEASURES["chars"](text[start:stop]) for start, stop in runs)


def _limit_words(cut: Cut) -> str:
    limits = ((cut.chars or cut.codepoints, "characters"), (cut.lines, "lines"), (cut.bytes, "bytes"))
    words = " or ".join(f"{limit:,} {unit}" for limit, unit in limits if limit)
    if not cut.window:
        return words
    return f"{words} (more if the window is over {cut.codepoints * 25 // cut.window:,} tokens)"
