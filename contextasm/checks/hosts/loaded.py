"""Loaded files: which parts of the files that a host loads its limits leave.

The limits are the limits of each file, of the files of one rule together, and of all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from contextasm.checks.hosts import cuts
from contextasm.config.hosts.loader import Cut, Host, LoadRule
from contextasm.model import NamedTuple

FoundFile = tuple[str, str]
"""Path of a file that a host finds, and its text as the host decodes it."""


class LoadedFile(NamedTuple):
    """A file that a host loads by itself, whole or in part."""

    path: str
    """Path in the folder that the reading is of, or as typed for a file outside of it."""
    text: str
    """The text of the file's bytes, as the host decodes them."""
    kept: Sequence[cuts.Run]
    """The parts of the text that reach the model."""
    rule: LoadRule
    limit: str
    """The limit that cuts the file, in words; empty for a file that is loaded whole."""
    imported_by: str = ""
    """Path and line of the import that brings the file; empty for one that the rule names."""
    taken: Sequence[cuts.Run] = ()
    """The parts that the host takes out before it measures the rest, such as comments."""
    on_demand: bool = False
    """Whether it is loaded only once the host works on a file that was named."""

    @property
    def outcome(self) -> Literal["whole", "cut", "dropped"]:
        """How much of it is loaded."""
        return "dropped" if not self.kept else "cut" if self.lost_parts else "whole"

    @property
    def lost_sections(self) -> Sequence[cuts.LostSection]:
        """The sections of all parts that never reach the model, in order."""
        return [section for part in self.lost_parts for section in part]

    @property
    def taken_lines(self) -> Sequence[int]:
        """The lines that the host takes out, at least in part, counted from 1."""
        starts = ((self.text.count("\n", 0, start), self.text[start:stop].rstrip("\n")) for start, stop in self.taken)
        return [line + 1 for first, words in starts for line in range(first, first + words.count("\n") + 1)]

    @property
    def lost_parts(self) -> Sequence[Sequence[cuts.LostSection]]:
        """The parts that never reach the model, each as its sections; those between the lines of a digest are one."""
        lost = cuts.lost_runs(self.text, sorted([*self.kept, *self.taken]))
        parts = [lost] if lost and self.rule.each.digest else [[run] for run in lost]
        return [cuts.lost_sections(self.text, part) for part in parts]


def cut_files(rule: LoadRule, files: Sequence[FoundFile], session: str) -> Sequence[LoadedFile]:
    """The files of a rule, each with what its own limits and the limits of all together leave."""
    loaded: list[LoadedFile] = []
    places: list[int] = []
    whole = ""
    for path, text in files:
        lead, taken = _lead(rule, path, session), cuts.taken_runs(text, rule.taken_out)
        kept = cuts.kept_around(text, taken, rule.each, lead)
        limit = _limit_words(rule.each) if cuts.lost_runs(text, sorted([*kept, *taken])) else ""
        loaded.append(LoadedFile(path, text, kept, rule, limit, "", taken))
        places.append(len(whole + lead))
        whole += lead + "".join(text[start:stop] for start, stop in kept) + ("\n\n" if rule.spaced else "")
    kept_together = cuts.kept_runs(whole, rule.together)
    if not cuts.lost_runs(whole, kept_together):
        return loaded
    return [_kept_of(file, place, kept_together) for file, place in zip(loaded, places, strict=True)]


def _kept_of(file: LoadedFile, place: int, kept_together: Sequence[cuts.Run]) -> LoadedFile:
    """A file with what is kept of the whole in which its kept parts begin at `place`."""
    kept: list[cuts.Run] = []
    for start, stop in file.kept:
        part = cuts.common_runs(kept_together, [(place, place + stop - start)])
        kept += [(a - place + start, b - place + start) for a, b in part]
        place += stop - start
    is_cut = kept != [*file.kept]
    limit = f"{_limit_words(file.rule.together)} for all of them" if is_cut else file.limit
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
    kept, cut = _kept_units(file), file.rule.each
    if not (kept and file.limit):
        return kept
    if cut.digest:  # It repeats lines of both ends. Each of its lines ends, and the host's own lines are around it.
        lines = cuts.digest_runs(file.text, cut.digest, cut.chars * cut.digest.share // 100, cuts.MEASURES["chars"])
        runs = [file.kept[0], *lines, file.kept[-1]]
        kept = _units_of(file.text, runs) + len(runs) + cut.digest.marker
    return min(kept + cut.marker, cut.chars or kept)


def _cut_to(file: LoadedFile, left: int, total: int) -> LoadedFile:
    """The file with no more kept than the units that are left of the total."""
    if _kept_units(file) <= left:
        return file
    kept = cuts.kept_runs(file.text, file.rule.each._replace(chars=left)) if left else []
    return file._replace(kept=kept, limit=f"{total:,} characters in all")


def _kept_units(file: LoadedFile) -> int:
    return _units_of(file.text, file.kept)


def _units_of(text: str, runs: Sequence[cuts.Run]) -> int:
    return sum(cuts.MEASURES["chars"](text[start:stop]) for start, stop in runs)


def _limit_words(cut: Cut) -> str:
    limits = ((cut.chars or cut.codepoints, "characters"), (cut.lines, "lines"), (cut.bytes, "bytes"))
    words = " or ".join(f"{limit:,} {unit}" for limit, unit in limits if limit)
    if not cut.window:
        return words
    return f"{words}, or more in a window of over {cut.codepoints * 25 // cut.window:,} tokens"
