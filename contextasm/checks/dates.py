"""Checks of dates: impossible dates, dates in the future, and logs whose name disagrees with title or neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date

from contextasm.checks.finding import Finding, error_finding, warning_finding
from contextasm.checks.inspection import Inspection
from contextasm.model import Document, grouped
from contextasm.retrieval.search.query_words import MONTH_PATTERN, MONTHS
from contextasm.text.markdown.blocks import heading, parts
from contextasm.text.memories.parser import DAYS, VALIDITY
from contextasm.text.names.dates import dated_name, leading_date_form, parse_date


def _dated_logs(inspection: Inspection) -> Sequence[tuple[str, date]]:
    """The path of each log whose name is a date, with its day."""
    return [(path, day) for path, forms in inspection.logs.items() if (day := dated_name(path, forms)[1])]


def check_log_names(inspection: Inspection) -> Iterator[Finding]:
    """Report files among the logs whose name is not a date: no build reads them."""
    for path, forms in inspection.logs.items():
        name = path.rpartition("/")[2]
        if not dated_name(path, forms)[0]:
            hint = f"rename it to {' or '.join(forms) or 'YYYY-MM-DD'}.md, or move it to another folder"
            yield warning_finding(path, 0, f"{name} is not a date, so it is never read as a log", hint)


def check_bad_dates(inspection: Inspection) -> Iterator[Finding]:
    """Report dates that no calendar has: in names of logs, in memories and in the headings above them."""
    for path, forms in inspection.logs.items():
        written, day, _ = dated_name(path, forms)
        if written and not day:
            message = f"{written} is not a day of the calendar, so the log is never read"
            yield error_finding(path, 0, message, "rename the file to its date")
    for path, (_, problems) in inspection.memories.items():
        for problem in problems:
            if problem.code == "bad-memory-date":
                yield error_finding(path, problem.line, problem.message, "write the day as YYYY-MM-DD, or leave it out")
        document = inspection.documents[path]
        for part in parts(document.text.split("\n")):  # as the memories are read
            title_date = leading_date_form(part.title)
            if title_date and not parse_date(title_date):
                message = f"{title_date} is not a day of the calendar, so the memories below it have no date"
                yield error_finding(path, document.line + part.first, message, "correct the heading")


def check_future_dates(inspection: Inspection) -> Iterator[Finding]:
    """Report logs and memories of a later day than the build's, without the logs that `date-mismatch` reports."""
    misdated = {finding.path for finding in check_date_mismatch(inspection)}
    for path, log_day in _dated_logs(inspection):
        if log_day > inspection.day and path not in misdated:
            message = f"the log is dated after {_build_day_words(inspection)}, so it is not shown"
            yield warning_finding(path, 0, message, _future_hint(inspection, "rename it"))
    for path, (memories, _) in inspection.memories.items():
        for memory in memories:
            days = ((name, getattr(memory, name)) for name in DAYS if name not in VALIDITY)
            for name, day in days:
                if day and date.fromisoformat(day) > inspection.day:
                    message = f"`{name}` is {day}, which is after {_build_day_words(inspection)}"
                    yield warning_finding(path, memory.line, message, _future_hint(inspection, "correct it"))


def _date_setting(inspection: Inspection) -> str:
    """Origin of the setting that fixes the day of the build; empty if the clock gives it."""
    origin = inspection.prepared.settings["date"].origin if inspection.prepared else ""
    return "" if "clock" in origin else origin


def _build_day_words(inspection: Inspection) -> str:
    # The date is in a message only if it is fixed: then the message stays the same from day to day.
    return f"the day of the build, {inspection.day}" if _date_setting(inspection) else "today"


def _future_hint(inspection: Inspection, correction: str) -> str:
    if origin := _date_setting(inspection):
        return f"if this is a mistake, {correction}; otherwise set a later date ({origin})"
    return f"if this is a mistake, {correction}; otherwise it is shown from that day on"


# --- Name, title and neighbours --------------------------------------------------------------------------------------

_MONTH = rf"(?P<word>{MONTH_PATTERN})"
_BEFORE = r"(?:\W|(?:mon|tues|wednes|thurs|fri|satur|sun)day|daily|logs?|notes?|journal|diary|entry|for|of|on|the)*"
_DATE_FORMS = (
    rf"{_BEFORE}(?P<year>\d{{4}})-(?P<month>\d{{2}})(?:-(?P<day>\d{{2}}))?(?!\d)",
    rf"{_BEFORE}(?P<day>\d{{1,2}})\.? {_MONTH}\.?,? (?P<year>\d{{4}})(?!\d)",
    rf"{_BEFORE}{_MONTH}\.?(?: (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?)? (?P<year>\d{{4}})(?!\d)",
)
"""Titles that begin with a date, or with a date after words such as `Daily log, Friday`.

A date further on says which day an entry is about, not when it was written.
"""


def check_date_mismatch(inspection: Inspection) -> Iterator[Finding]:
    """Report logs with another date in the title, and lonely logs that fit a gap in another year or month."""
    logs = _dated_logs(inspection)
    days = grouped((path.rpartition("/")[0], day) for path, day in logs)
    for path, day in logs:
        document = inspection.documents.get(path)
        title_date = _differing_title_date(document, day) if document else None
        others = {*days[path.rpartition("/")[0]]}
        gap = _day_elsewhere(day, others, _MONTHS_AND_YEARS, taken=False)
        if title_date:
            line, words = title_date
            hint = f"rename the file to {gap}.md, near its neighbours" if gap else "correct the name or the date"
            yield warning_finding(path, line, f"the log is named {day}, but its text is dated {words}", hint)
        elif gap:
            message = f"no other log is near {day}, but the log of {gap} is missing"
            yield warning_finding(path, 0, message, f"if that is its day, rename it to {gap}.md")
        elif twin := _day_elsewhere(day, others, _YEARS, taken=True):
            message = f"no other log is near {day}, but there is a log of {twin}"
            yield warning_finding(path, 0, message, f"if that is its day, move its text to {twin}.md")


def _differing_title_date(document: Document, day: date) -> tuple[int, str] | None:
    """Line and words of the date in a log's front matter or first heading; None if it is `day`, or not a date."""
    front_date = document.front.get("date", "")
    if isinstance(front_date, str) and front_date and (words := _differing_date(front_date, day)):
        return 1, words
    for number, line in enumerate(document.text.split("\n"), document.line):
        if title := heading(line):
            words = _differing_date(title[1], day)
            return (number, words) if words else None
        if line.strip():
            return None
    return None


def _differing_date(title: str, day: date) -> str:
    """The date that a title begins with, as YYYY-MM-DD or YYYY-MM; empty if it is `day`, or not a date."""
    for form in _DATE_FORMS:
        if match := re.match(form, title, re.IGNORECASE):
            parts = match.groupdict()
            month = int(parts["month"]) if "month" in parts else MONTHS[parts["word"].casefold()[:3]]
            title_date = (int(parts["year"]), month, int(parts["day"] or day.day))
            words = f"{title_date[0]:04}-{title_date[1]:02}" + (f"-{title_date[2]:02}" if parts["day"] else "")
            return "" if title_date == (day.year, day.month, day.day) else words
    return ""


LONELY_DAYS = 20
"""Number of days around a log without another log that make it lonely."""

NEAR_DAYS = 3
"""Greatest distance in days of neighbours."""


_YEARS = ((1, 0), (-1, 0))
_MONTHS_AND_YEARS = (*_YEARS, (0, 1), (0, -1))
"""Shifts in years and months."""


def _day_elsewhere(day: date, days: set[date], shifts: Sequence[tuple[int, int]], *, taken: bool) -> date | None:
    """The same day of another year or month that has neighbours, if `day` has none; `taken` if it is one of `days`."""
    if any(other != day and abs((other - day).days) <= LONELY_DAYS for other in days):
        return None
    for years, months in shifts:
        shifted = _shifted_date(day, years, months)
        if shifted and (shifted in days) == taken:
            neighbours = sum(abs((other - shifted).days) <= NEAR_DAYS for other in days - {shifted})
            if neighbours > 1:
                return shifted
    return None


def _shifted_date(day: date, years: int, months: int) -> date | None:
    # A short month has no such date.
    month = day.month - 1 + months
    try:
        return day.replace(year=day.year + years + month // 12, month=month % 12 + 1)
    except ValueError:
        return None
