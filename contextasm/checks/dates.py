"""Checks of dates: those that no calendar has, those to come, and logs whose name, title and neighbours disagree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from contextasm.checks.finding import Finding
from contextasm.checks.inspection import Inspection, error_finding, warning_finding
from contextasm.model import Document
from contextasm.text.markdown import heading

_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})(?!\d).*\.md")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")


class _Log(NamedTuple):
    """A log whose name is a date."""

    path: str
    day: date


def _logs(scene: Inspection) -> Iterator[_Log]:
    """The logs with the day that their names say."""
    for path in scene.logs:
        named = _NAME.fullmatch(path.rpartition("/")[2])
        if named and (day := _day(named[1])):
            yield _Log(path, day)


def _day(written: str) -> date | None:
    """A date of the calendar; None for any other."""
    try:
        return date.fromisoformat(written)
    except ValueError:
        return None


def check_log_names(scene: Inspection) -> Iterator[Finding]:
    """Files among the logs whose name is no date: no build ever reads them."""
    for path in scene.logs:
        name = path.rpartition("/")[2]
        if not _NAME.fullmatch(name):
            hint = "name it YYYY-MM-DD.md, or move it to where it is read"
            yield warning_finding(path, 0, f"{name} is no date, so it is never read as a log", hint)


def check_bad_dates(scene: Inspection) -> Iterator[Finding]:
    """Dates that no calendar has, in the names of logs, in memories and in the headings above them."""
    for path in scene.logs:
        named = _NAME.fullmatch(path.rpartition("/")[2])
        if named and not _day(named[1]):
            yield error_finding(
                path, 0, f"there is no {named[1]}, so the log is never read", "rename it to the day it is of"
            )
    for path, (_, problems) in scene.memories.items():
        for problem in problems:
            if problem.message.endswith("a date, YYYY-MM-DD"):
                yield error_finding(path, problem.line, problem.message, "write the day as YYYY-MM-DD, or leave it out")
        document = scene.documents[path]
        for number, line in enumerate(document.text.split("\n"), document.line):
            title = heading(line)
            stated = _ISO.match(title[1]) if title else None
            if stated and not _day(stated[0]):
                message = f"there is no {stated[0]}, so the memories below count as undated"
                yield error_finding(path, number, message, "correct the heading")


def check_future_dates(scene: Inspection) -> Iterator[Finding]:
    """Logs and memories of days to come, logs that another check holds to be misdated left aside."""
    misdated = {finding.path for finding in check_date_mismatch(scene)}
    for log in _logs(scene):
        if log.day > scene.day and log.path not in misdated:
            yield warning_finding(
                log.path, 0, f"is of a day after {_today(scene)}, so it is not shown", _todo(scene, "rename it")
            )
    for path, (found, _) in scene.memories.items():
        for memory in found:
            for name, written in (("created", memory.created), ("accessed", memory.accessed)):
                if written and date.fromisoformat(written) > scene.day:
                    message = f"{name} is {written}, after {_today(scene)}"
                    yield warning_finding(path, memory.line, message, _todo(scene, "correct it"))


def _today(scene: Inspection) -> str:
    """The day of the build; by its date only where that is pinned, so that the message stays the same."""
    pinned = scene.job and "clock" not in scene.job.settings["date"].origin
    return f"the day of the build, {scene.day}" if pinned else "today"


def _todo(scene: Inspection, correct: str) -> str:
    """How to put a day to come right."""
    pinned = scene.job and "clock" not in scene.job.settings["date"].origin
    if scene.job and pinned:
        return f"{correct} if it is a slip; else move the date on ({scene.job.settings['date'].origin})"
    return f"{correct} if it is a slip; else it counts from that day on"


# --- Name, title and neighbours --------------------------------------------------------------------------------------

_MONTHS = (
    *("jan(?:uary)?", "feb(?:ruary)?", "mar(?:ch)?", "apr(?:il)?", "may", "june?"),
    *("july?", "aug(?:ust)?", "sep(?:t(?:ember)?)?", "oct(?:ober)?", "nov(?:ember)?", "dec(?:ember)?"),
)
_MONTH = "|".join(_MONTHS)
_BEFORE = r"(?:\W|(?:mon|tues|wednes|thurs|fri|satur|sun)day|daily|logs?|notes?|journal|diary|entry|for|of|on|the)*"
_FORMS = (
    re.compile(rf"{_BEFORE}(?P<year>\d{{4}})-(?P<month>\d{{2}})(?:-(?P<day>\d{{2}}))?(?!\d)", re.IGNORECASE),
    re.compile(rf"{_BEFORE}(?P<day>\d{{1,2}})\.? (?P<word>{_MONTH})\.?,? (?P<year>\d{{4}})(?!\d)", re.IGNORECASE),
    re.compile(
        rf"{_BEFORE}(?P<word>{_MONTH})\.?(?: (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?)? (?P<year>\d{{4}})(?!\d)",
        re.IGNORECASE,
    ),
)
"""A title that begins with a date, or with a date behind such words as `Daily log, Friday`.

A date further on tells what an entry is about, not when it was written.
"""


def check_date_mismatch(scene: Inspection) -> Iterator[Finding]:
    """Logs that say another date in their title, or that stand alone where another year or month has a gap for them."""
    logs = [*_logs(scene)]
    days: dict[str, set[date]] = {}
    for log in logs:
        days.setdefault(log.path.rpartition("/")[0], set()).add(log.day)
    for log in logs:
        document = scene.documents.get(log.path)
        title = _titled(document, log.day) if document else None
        gap = _gap(log.day, days[log.path.rpartition("/")[0]])
        if title:
            place, written = title
            hint = f"rename the file to {gap}.md, where its neighbours are" if gap else "correct the name or the title"
            yield warning_finding(log.path, place, f"is named {log.day} and titled {written}", hint)
        elif gap:
            message = f"is named {log.day}, far from the other logs, which have a gap at {gap}"
            yield warning_finding(log.path, 0, message, f"rename it to {gap}.md if that is the day it is of")


def _titled(document: Document, day: date) -> tuple[int, str] | None:
    """Line and words of the date in a log's front matter or first heading, where it is another one."""
    stated = document.front.get("date", "")
    if isinstance(stated, str) and stated and (written := _other(stated, day)):
        return 1, written
    for number, line in enumerate(document.text.split("\n"), document.line):
        if title := heading(line):
            written = _other(title[1], day)
            return (number, written) if written else None
        if line.strip():
            return None
    return None


def _other(words: str, day: date) -> str:
    """The date that words begin with, where it is not this one; empty where it is, or where there is none."""
    for form in _FORMS:
        if found := form.match(words):
            parts = found.groupdict()
            name = (parts.get("word") or "").casefold()[:3]
            month = int(parts.get("month") or 1 + [each[:3] for each in _MONTHS].index(name))
            said = (int(parts["year"]), month, int(parts["day"] or day.day))
            written = f"{said[0]:04}-{said[1]:02}" + (f"-{said[2]:02}" if parts["day"] else "")
            return "" if said == (day.year, day.month, day.day) else written
    return ""


def _gap(day: date, days: set[date]) -> date | None:
    """The same day of the next or the last year or month, where a lonely log fits in between others."""
    if any(each != day and abs((each - day).days) <= 20 for each in days):
        return None
    for years, months in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        moved = _moved(day, years, months)
        if moved and moved not in days and sum(abs((each - moved).days) <= 3 for each in days) > 1:
            return moved
    return None


def _moved(day: date, years: int, months: int) -> date | None:
    """The day so much later; None where that month is too short."""
    month = day.month - 1 + months
    try:
        return day.replace(year=day.year + years + month // 12, month=month % 12 + 1)
    except ValueError:
        return None
