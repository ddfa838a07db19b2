"""Findings of `ctxasm check --host`: what a host's own limits keep from the model. Nothing is built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextasm.checks.finding import Finding
from contextasm.checks.hosts.cuts import LostSection
from contextasm.checks.hosts.files import NO_FILE, HostReading, LoadedFile
from contextasm.checks.hosts.imports import find_host_imports
from contextasm.selection.tokens import ESTIMATE

CUT, EMPTY, TAKEN_OUT = "host-cut", "host-empty", "host-taken-out"
UNREAD, UNREADABLE = "host-unread", "host-unreadable"
"""Ids of the findings. An id never changes its meaning."""

_SHOWN_HEADINGS = 5
"""Headings that a finding names; of more, it gives the number."""


def check_host(reading: HostReading) -> list[Finding]:
    """One finding for each part of a file that is lost, and for each file that is not loaded or can't be read.

    A lost part and a file that can't be read are errors; a file that the host has given up is a warning, and so are a
    host that loads nothing and an import without a file; one that gives way to another, or is for others, is a note,
    and one that is loaded later is nothing. What they quote is clean text.
    """
    findings = (*_empty_findings(reading), *_cut_findings(reading), *_unread_findings(reading))
    return [finding.cleaned for finding in findings]


def _empty_findings(reading: HostReading) -> Iterator[Finding]:
    if not reading.files and not any(file.is_on_demand for file in reading.unread):
        host, name = reading.host, min(reading.host.loads[0].files, key=len)
        free = [file.path for file in reading.unread if not file.is_scoped]
        free = ["AGENTS.md"] if "AGENTS.md" in free else free  # it is for every program
        lines = [f"the line @{path}" for path in free if (1, path, True) in find_host_imports(f"@{path}", host.imports)]
        parts = " and ".join(lines or [f"the text of {path}" for path in free])
        hint = f"write {name}, with {parts}" if parts else f"write {name}"
        yield Finding(EMPTY, "warning", "", 0, f"{host.summary} loads no file of this folder", hint)


def _cut_findings(reading: HostReading) -> Iterator[Finding]:
    for file in reading.files:
        if file.taken:
            lines = sum(file.text.count("\n", start, stop - 1) + 1 for start, stop in file.taken)
            words = " and ".join(file.rule.taken_out).replace("_", " ")
            message = f"{reading.host.summary} takes {words} out of this file: {lines:,} line{'s' * (lines != 1)}"
            yield Finding(TAKEN_OUT, "note", file.path, file.text.count("\n", 0, file.taken[0][0]) + 1, message, "")
        for sections in file.lost_parts:
            yield Finding(CUT, "error", file.path, sections[0].first, _cut_message(reading, file, sections), _CUT_HINT)


_CUT_HINT = "shorten the file, or move this part to where the model looks it up"


def _cut_message(reading: HostReading, file: LoadedFile, sections: Sequence[LostSection]) -> str:
    digest = file.rule.each.digest
    counted = [(section.first, section.last) for section in sections]
    counted = counted if digest else [(sections[0].first, sections[-1].last)]
    lines = sum(last - first + 1 for first, last in counted)
    tokens = lost_tokens(sections)
    headings = [*dict.fromkeys(section.heading for section in sections if section.heading)]
    names = ", ".join(f"`{name}`" for name in headings[:_SHOWN_HEADINGS])
    more = f" and {len(headings) - _SHOWN_HEADINGS} more" if len(headings) > _SHOWN_HEADINGS else ""
    under = f" under {names}{more}" if headings else ""
    part = f"{lines:,} line{'s' * (lines != 1)}{under}"
    rest = ", but for single lines in a digest" if digest else ""
    lost = f"{part}, some {tokens:,} tokens, are never seen{rest}"
    return f"{reading.host.summary} cuts this file at {file.limit}: {lost}"


def lost_tokens(sections: Sequence[LostSection]) -> int:
    """Tokens of lost sections, by the estimate."""
    return ESTIMATE.count("".join(section.text for section in sections))


def _unread_findings(reading: HostReading) -> Iterator[Finding]:
    name = reading.host.summary
    for file in reading.unread:
        if file.is_on_demand:
            continue
        message = f"{name} does not load this file: {file.why}"
        if file.is_retired:
            yield Finding(UNREAD, "warning", file.path, 0, message, "move its text to a file that is loaded")
        else:
            yield Finding(UNREAD, "note", file.path, 0, message, "")
    for problem in reading.problems:
        place, hint = (problem.path, problem.line), problem.hint or "see what is in its place"
        yield Finding(UNREADABLE, "warning" if problem.code == NO_FILE else "error", *place, problem.message, hint)
