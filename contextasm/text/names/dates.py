"""Days and times as texts spell them: parsing, and the form of a dated file name.

No clock is read here. Words such as `yesterday` belong to `retrieval/search/query_words`.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")
_DATED_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})(?!\d)(.*)\.md(?:\.gz)?")

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - all times here are UTC without saying so
_MILLISECONDS = 1e11
"""A larger number is a time in milliseconds: in seconds it would lie in the year 5138."""


def is_date_form(text: str) -> bool:
    """Whether a whole text has the form YYYY-MM-DD, even if the calendar has no such day."""
    return _DATE.fullmatch(text) is not None


def leading_date_form(text: str) -> str:
    """The first ten characters of a text that begins with a date of the form YYYY-MM-DD; empty for any other text.

    The calendar need not have such a day.
    """
    match = _DATE.match(text)
    return match[0] if match else ""


def split_dated_name(name: str) -> tuple[str, str] | None:
    """Date, as written, and the rest of a name such as `2025-03-10 standup.md`; None for any other name.

    The file may be compressed: `2025-03-10.md.gz`.
    """
    match = _DATED_NAME.fullmatch(name)
    return (match[1], match[2]) if match else None


def dated_name(path: str) -> tuple[str, date | None, str] | None:
    """As `split_dated_name` of the name of a file, with its day in between: None for one that no calendar has."""
    match = _DATED_NAME.fullmatch(path, path.rfind("/") + 1)
    return (match[1], _calendar_date(match[1]), match[2]) if match else None


def day_of_name(path: str) -> date | None:
    """The day that the name of a file begins with; None for a name without a day of the calendar."""
    parts = dated_name(path)
    return parts[1] if parts else None


def parse_date(text: str) -> date | None:
    """The day of a whole text of the form YYYY-MM-DD; None for any other text, and for a day that no calendar has."""
    return _calendar_date(text) if is_date_form(text) else None


def parse_leading_date(text: str) -> date | None:
    """The day of a date, YYYY-MM-DD, at the start of a text; None where no day of the calendar stands there."""
    return _calendar_date(leading_date_form(text))


def leading_iso_day(text: str) -> str:
    """The day, as YYYY-MM-DD, in the first ten characters of a text; empty where they are no ISO 8601 date.

    Wider than `parse_leading_date`: `20250310` and the week date `2025-W11-1` count, and a digit may follow.
    """
    day = _calendar_date(text[:10])
    return day.isoformat() if day else ""


def _calendar_date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def moment(written: object) -> datetime | None:
    """A time in ISO form or in (milli)seconds since 1970, as UTC without a zone; None for anything else."""
    try:
        if isinstance(written, int | float) and not isinstance(written, bool):
            seconds = written / 1000 if abs(written) > _MILLISECONDS else written
            return _EPOCH + timedelta(seconds=seconds)
        if not isinstance(written, str):
            return None
        time = datetime.fromisoformat(written.strip())
        return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
    except (ValueError, OverflowError):
        return None
