"""Findings of `ctxasm check --host`: what a host's own limits keep from the model. Nothing is built."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date

from contextasm.checks.finding import Finding, Severity
from contextasm.checks.hosts.cuts import LoadedFile, LostSection
from contextasm.checks.hosts.directives import directive_findings
from contextasm.checks.hosts.files import NO_FILE, HostReading, find_host_imports
from contextasm.checks.hosts.skills import (
    OF_OTHERS,
    OVERRIDDEN,
    Skill,
    least_lost,
    list_room,
    list_units,
    listed_skills,
)
from contextasm.config.hosts.loader import SkillRule
from contextasm.model import grouped
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.markdown.managed_block import without_block
from contextasm.text.names.matching import list_names

CUT, EMPTY, TAKEN_OUT, OLD = "host-cut", "host-empty", "host-taken-out", "host-old"
UNREAD, UNREADABLE, SKILL = "host-unread", "host-unreadable", "host-skill"
"""Ids of the findings. An id never changes its meaning."""

_MAX_AGE = 120
"""Days after which what is known of a host counts as old."""

_SHOWN_HEADINGS = 5
"""Headings that a finding names; of more, it gives the number."""


def check_host(reading: HostReading, today: date) -> list[Finding]:
    """One finding for each part of a file that is lost, and for each file that is not loaded or can't be read.

    A lost part and a file that can't be read are errors; a part that a larger window holds is a warning, and so are a
    file that the host has given up, a host that loads nothing and an import without a file; one that gives way to
    another, or is for others, is a note, and one that is loaded later is nothing. What they quote is clean text.
    """
    files = (*_empty_findings(reading), *_cut_findings(reading), *_unread_findings(reading))
    skills = _skill_findings(reading, reading.host.skills) if reading.host.skills else ()
    findings = (*files, *skills, *directive_findings(reading), *_age_findings(reading, today))
    return [finding.cleaned for finding in findings]


def _age_findings(reading: HostReading, today: date) -> Iterator[Finding]:
    verified = dict(reading.host.verified)
    if verified and (today - date.fromisoformat(verified["date"])).days > _MAX_AGE:
        message = f"the facts about {reading.host.summary} are over {_MAX_AGE} days old, of {verified['date']}"
        yield Finding(OLD, "note", "", 0, message, "a newer ctxasm may have newer facts")


def check_hosts(readings: Sequence[HostReading], today: date) -> list[Finding]:
    """The findings of hosts, each once: what several of them do not load is one note, which names them."""
    found = [(reading.host.summary, finding) for reading in readings for finding in check_host(reading, today)]
    passed = grouped(((finding.path, _passed(name, finding)), name) for name, finding in found)
    merged: dict[Finding, None] = {}
    for host, finding in found:
        words = _passed(host, finding)
        names = passed[finding.path, words] if words else ()
        message = f"{', '.join(names[:-1])} and {names[-1]} do not {words}" if len(names) > 1 else finding.message
        merged[finding._replace(message=message)] = None
    return [*merged]


def _passed(host: str, finding: Finding) -> str:
    """A verb and its object for what the host does not do with a file of others; empty if the file may be its own."""
    if finding.severity != "note" or finding.id not in {UNREAD, SKILL}:
        return ""
    if not finding.path:
        return finding.message.partition(f"{host} does not ")[2]
    return "list this skill" if finding.id == SKILL else "load this file"


def _empty_findings(reading: HostReading) -> Iterator[Finding]:
    if not reading.files and not any(file.on_demand for file in reading.unread):
        host, name = reading.host, min(reading.host.loads[0].files, key=len)
        free = [file.path for file in reading.unread if not file.is_scoped]
        free = ["AGENTS.md"] if "AGENTS.md" in free else free  # it is for every program
        lines = [f"the line @{path}" for path in free if (1, path, True) in find_host_imports(f"@{path}", host.imports)]
        parts = " and ".join(lines) or (f"the text of {', '.join(free)}" if free else "")
        hint = f"write {name} with {parts}" if parts else f"write {name}"
        if folders := [*dict.fromkeys(os.path.dirname(file.path) for file in reading.below if file.later)]:
            hint += f", or start in a folder that has files for it: {list_names(folders, 3)}"
        yield Finding(EMPTY, "warning", "", 0, f"{host.summary} loads no file in this folder", hint)


def _cut_findings(reading: HostReading) -> Iterator[Finding]:
    for file in reading.files:
        _, (first, last) = without_block(file.text)  # its markers are ours
        if taken := [line for line in file.taken_lines if not first <= line <= last]:
            lines = len(taken)
            words = " and ".join(file.rule.taken_out).replace("_", " ")
            message = f"{reading.host.summary} removes {words} from this file: {lines:,} line{'s' * (lines != 1)}"
            yield Finding(TAKEN_OUT, "note", file.path, taken[0], message, "")
    later = [file.later for file in reading.below if file.later]
    for when, file in [*(("", file) for file in reading.files), *later]:
        for sections in file.lost_parts:
            grows = file.rule.each.window or file.rule.together.window
            hint = f"give the window with --window, {_CUT_HINT}" if grows else _CUT_HINT
            if unknown := next((each for each in reading.host.not_looked_at if each.startswith("limits")), ""):
                hint += f" (not checked: {unknown})"
            message = f"{when}, {_cut_message(reading, file, sections)}".removeprefix(", ")
            yield Finding(CUT, "warning" if grows or when else "error", file.path, sections[0].first, message, hint)


_CUT_HINT = "shorten the file, or move this part to a file that the model opens when needed"


def _cut_message(reading: HostReading, file: LoadedFile, sections: Sequence[LostSection]) -> str:
    digest = file.rule.each.digest
    counted = [(section.first, section.last) for section in sections]
    counted = counted if digest else [(sections[0].first, sections[-1].last)]
    lines = sum(last - first + 1 for first, last in counted)
    tokens = lost_tokens(sections)
    headings = [*dict.fromkeys(section.heading for section in sections if section.heading)]
    under = f" under {list_names([f'`{name}`' for name in headings], _SHOWN_HEADINGS)}" if headings else ""
    part = f"{lines:,} line{'s' * (lines != 1)} (about {tokens:,} token{'s' * (tokens != 1)}){under}"
    rest = ", except single lines that the host keeps in a digest" if digest else ""
    return f"{reading.host.summary} cuts this file at {file.limit}: the model never sees {part}{rest}"


def lost_tokens(sections: Sequence[LostSection]) -> int:
    """Tokens of lost sections, by the estimate."""
    return ESTIMATE.count("".join(section.text for section in sections))


def _unread_findings(reading: HostReading) -> Iterator[Finding]:
    name = reading.host.summary
    for file in (*reading.unread, *reading.below):
        if file.on_demand:
            continue
        loss: Severity = "warning" if file.retired else "note"
        hint = "move its text to a file that is loaded" if file.retired else ""
        yield Finding(UNREAD, loss, file.path, 0, f"{name} does not load this file: {file.why}", hint)
    later = ((file.later[0], file.path) for file in reading.below if file.later)
    for when, paths in grouped(later).items():
        then = f"{'each' if paths[1:] else 'it'} is loaded {when}"
        message = f"{name} does not load {list_names(paths)} when a session starts here; {then}"
        yield Finding(UNREAD, "note", "", 0, message, "")
    for problem in reading.problems:
        place, hint = (problem.path, problem.line), problem.hint or "check this path"
        yield Finding(UNREADABLE, "warning" if problem.code == NO_FILE else "error", *place, problem.message, hint)


# --- Skills ----------------------------------------------------------------------------------------------------------


def list_words(reading: HostReading, rule: SkillRule) -> str:
    """How many skills a host lists, and what their list takes and may take."""
    listed, room = listed_skills(rule, reading.skills), list_room(rule, reading.window)
    count = f"{len(listed):,} skill{'s' * (len(listed) != 1)}"
    if not room:
        return f"{count}; the list has {'an unknown limit' if rule.over == 'unknown' else 'no limit'}"
    window = f" in a window of {reading.window or rule.window:,} tokens" if rule.share else ""
    unit = "characters" if rule.unit == "chars" else rule.unit
    units = f"{list_units(rule, listed):,} of {room:,} {unit}"
    own = f", {rule.around:,} of them for the host's own skills and text" if rule.around else ""
    return f"{count}; the list takes {units}{window}{own}"


def _skill_findings(reading: HostReading, rule: SkillRule) -> Iterator[Finding]:
    name, listed = reading.host.summary, listed_skills(rule, reading.skills)
    faults = [fault._replace(id="skill") for fault in reading.skill_faults]
    for skill in reading.skills:
        if skill.outcome == "absent" and not skill.is_crowded_out:
            loss: Severity = "note" if skill.why.startswith((OVERRIDDEN, OF_OTHERS)) else "error"
            about = [each for each in faults if each.path == skill.path and "description" in each.message]
            cause = next(iter(about), None) if loss == "error" else None  # one finding says both
            faults = [each for each in faults if each is not cause]
            hint = cause.hint if cause else ""
            yield Finding(SKILL, loss, skill.path, 1, f"{name} does not list this skill: {skill.why}", hint)
    yield from faults
    if cut := [skill for skill in listed if skill.kept < len(skill.description)]:
        message = f"{name} cuts descriptions at {rule.each:,} characters: {_longest(cut)}"
        yield Finding(SKILL, "warning", "", 0, message, "say at the beginning when to use the skill")
    crowded = [skill for skill in reading.skills if skill.is_crowded_out]
    if counts := Counter(skill.outcome for skill in crowded):
        after = f" after {max(skill.kept for skill in crowded):,} characters"
        lost = ", ".join(f"{count} {outcome}{after * (outcome == 'cut')}" for outcome, count in counts.items())
        if rule.over == "used":
            least = least_lost(rule, listed, list_room(rule, reading.window))
            lost = f"{least} or more are listed by name only, the least used first"
        severity: Severity = "error" if counts["absent"] else "warning"
        message = f"{name} finds {list_words(reading, rule)}: {lost}"
        hint = f"shorten the longest descriptions: {_longest(listed)}"
        if rule.around >= list_room(rule, reading.window):
            severity, hint = "note", "none of your descriptions fits: give the skills names that say when to use them"
        yield Finding(SKILL, severity, "", 0, message, hint)


def _longest(skills: Sequence[Skill]) -> str:
    by_length = sorted(skills, key=lambda skill: (-len(skill.description), skill.path))
    return list_names([f"{skill.name} ({len(skill.description):,})" for skill in by_length], _SHOWN_HEADINGS)
