"""Loaded files: what the limits of a host leave of each file, on its own, with others of its rule, and of all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from contextasm.checks.hosts.cuts import LostSection, Run, common_runs, kept_runs, lost_runs, lost_sections, trimmed_run
from contextasm.config.hosts.loader import Cut, Host, LoadRule
from contextasm.selection.tokens import LENGTHS


class FoundFile(NamedTuple):
    """A file that a host finds, with its text as the host decodes it."""

    path: str
    text: str


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

    @property
    def lost_parts(self) -> Sequence[Sequence[LostSection]]:
        """The parts that never reach the model, each as its sections; those between the lines of a digest are one."""
        lost = lost_runs(self.text, self.kept)
        parts = [lost] if lost and self.rule.each.digest else [[run] for run in lost]
        return [lost_sections(self.text, part) for part in parts]


def cut_files(rule: LoadRule, files: Sequence[FoundFile], session: str) -> Sequence[LoadedFile]:
    """The files of a rule, each with what its own limits and those of all together leave."""
    leads = [_lead(rule, file, session) for file in files]
    loaded = [
        LoadedFile(file.path, file.text, kept, rule, _limit_words(rule.each) if _is_less(file.text, kept) else "")
        for file, lead in zip(files, leads, strict=True)
        for kept in [kept_runs(file.text, rule.each, lead)]
    ]
    whole = ""
    places: list[Sequence[tuple[Run, int]]] = []
    for file, lead in zip(loaded, leads, strict=True):
        whole += lead
        measured = common_runs(file.kept, [trimmed_run(file.text, rule.each)])
        shown = []
        for start, stop in measured:
            shown.append(((start, stop), len(whole)))
            whole += file.text[start:stop]
        places.append(shown)
        whole += "\n\n" if rule.spaced else ""
    kept_together = kept_runs(whole, rule.together)
    if not _is_less(whole, kept_together):
        return loaded
    return [_kept_of(file, shown, kept_together) for file, shown in zip(loaded, places, strict=True)]


def _kept_of(file: LoadedFile, shown: Sequence[tuple[Run, int]], kept_together: Sequence[Run]) -> LoadedFile:
    """A file with what is kept of the whole in which its parts lie at these places."""
    kept: list[Run] = []
    for (start, stop), place in shown:
        part = common_runs(kept_together, [(place, place + stop - start)])
        kept += [(a - place + start, b - place + start) for a, b in part]
    is_cut = kept != [run for run, _ in shown]
    limit = f"{_limit_words(file.rule.together)} for all of them" if is_cut else file.limit
    return file._replace(kept=kept, limit=limit)


def _lead(rule: LoadRule, file: FoundFile, session: str) -> str:
    """The words that the host puts before a file."""
    path = os.path.relpath(file.path, session or ".")
    return f"{rule.title.replace('PATH', path)}\n\n" if rule.title else ""


def within_total(host: Host, files: Sequence[LoadedFile]) -> Sequence[LoadedFile]:
    """The files, cut again to what is left of the host's total where there is one."""
    if not host.total:
        return files
    left = host.total
    result = []
    for file in files:
        result.append(_cut_to(file, left if left >= host.least else 0, host.total))
        left -= _used_units(result[-1])
    return result


def _used_units(file: LoadedFile) -> int:
    """Units of the total that a file takes, with the host's marker, and with a digest in full."""
    kept, cut = _kept_units(file), file.rule.each
    if not (kept and file.limit):
        return kept
    if cut.digest and cut.chars:
        return max(kept, cut.chars * (cut.head + cut.digest.share + cut.tail) // 100)
    return kept + cut.marker


def _cut_to(file: LoadedFile, left: int, total: int) -> LoadedFile:
    """The file with no more kept than the units that are left of the total."""
    if _kept_units(file) <= left:
        return file
    kept = kept_runs(file.text, file.rule.each._replace(chars=left)) if left else []
    return file._replace(kept=kept, limit=f"{total:,} characters in all")


def _kept_units(file: LoadedFile) -> int:
    return sum(LENGTHS["chars"].units(file.text[start:stop]) for start, stop in file.kept)


def _is_less(text: str, kept: Sequence[Run]) -> bool:
    return bool(lost_runs(text, kept))


def _limit_words(cut: Cut) -> str:
    limits = ((cut.chars or cut.codepoints, "characters"), (cut.lines, "lines"), (cut.bytes, "bytes"))
    return " or ".join(f"{limit:,} {unit}" for limit, unit in limits if limit)
