"""Days and times in texts and in names of files, also in forms of dates such as `YYYY_MM_DD` or `YYYY/MM/DD`.

The letters of a form are from Moment.js, which Obsidian uses: Y, M and D for numbers. Words of a form, such as the
name of a weekday, are passed over, but year, month and day must be digits. No clock is read here. Words such as
`yesterday` belong to `retrieval/search/query_words`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")
_DATED_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})(?!\d)(.*)\.md(?:\.gz)?")

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - all times here are UTC without saying so
_MILLISECONDS = 1e11
"""A larger number is a time in milliseconds: in seconds it would be in the year 5138."""


def is_date_form(text: str) -> bool:
    """Whether a whole text has the form YYYY-MM-DD, even if the calendar has no such day."""
    return _DATE.fullmatch(text) is not None


def leading_date_form(text: str) -> str:
    """The first ten characters of a text that begins with a date of the form YYYY-MM-DD; empty for any other text.

    The calendar need not have such a day.
    """
    match = _DATE.match(text)
    return match[0] if match else ""


_UNDATED = ("", None, "")


def dated_name(path: str, forms: Sequence[str] = ()) -> tuple[str, date | None, str]:
    """Date, as written, its day, and the rest of the name of a file such as `daily/2025-03-10 standup.md`.

    The day is None if no calendar has it. The file may be compressed: `2025-03-10.md.gz`. With `forms`, of the path of
    a log in the first form that it has; forms that can't be used fit nothing. All is empty if the name has no date.
    """
    if forms:
        return next((dated for form in forms if (dated := _dated_path(path, read_form(form)))), _UNDATED)
    match = _DATED_NAME.fullmatch(path, path.rfind("/") + 1)
    return (match[1], _calendar_date(match[1]), match[2]) if match else _UNDATED


def day_of_name(path: str) -> date | None:
    """The day that the name of a file begins with; None for a name without a day of the calendar."""
    return dated_name(path)[1]


def parse_date(text: str) -> date | None:
    """The day of a whole text of the form YYYY-MM-DD; None for any other text, and for a day that no calendar has."""
    return _calendar_date(text) if is_date_form(text) else None


def age_words(day: str, today: date) -> str:
    """The days, weeks or months from a day, YYYY-MM-DD, to today, such as `3 weeks`; empty for an empty day."""
    if not day:
        return ""
    days = max(0, (today - date.fromisoformat(day)).days)
    number, unit = (days, "day") if days < 14 else (days // 7, "week") if days < 60 else (days // 30, "month")
    return f"{number} {unit}{'s' * (number != 1)}"


def parse_leading_date(text: str) -> date | None:
    """The day of a date, YYYY-MM-DD, at the start of a text; None if no day of the calendar is there."""
    return _calendar_date(leading_date_form(text))


def leading_iso_day(text: str) -> str:
    """The day, as YYYY-MM-DD, in the first ten characters of a text; empty if they are not an ISO 8601 date.

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


_FORM_PARTS = r"\[([^\[\]]*)\]|(YYYY|YY|MMMM|MMM|MM|M|DDDD|DDD|DD|Do|D|d{2,4})|([A-Za-z]+)|([^A-Za-z\[\]]|[\[\]])"
_NUMBERS = {
    "YYYY": ("year", r"\d{4}", "[0-9][0-9][0-9][0-9]"),
    "YY": ("year", r"\d{2}", "[0-9][0-9]"),
    "MM": ("month", r"\d{2}", "[0-9][0-9]"),
    "M": ("month", r"\d{1,2}", "[0-9]*"),
    "DD": ("day", r"\d{2}", "[0-9][0-9]"),
    "D": ("day", r"\d{1,2}", "[0-9]*"),
    "Do": ("day", r"\d{1,2}(?=[^\W\d]{2})[^\W\d]{2}", "[0-9]*"),
}
"""Part of the date, expression and wildcards of each token."""

_WORDS = {"MMMM": "the month", "MMM": "the month", "dddd": "the weekday", "ddd": "the weekday", "dd": "the weekday"}
_WORD = r"[^\W\d]+\.?"


DateForm = tuple[re.Pattern[str], Sequence[str], str, int]
"""A pattern of names, the token of each of its groups, wildcards for paths, and the number of folders in the form."""


@lru_cache(maxsize=64)
def read_form(form: str) -> DateForm | str:
    """The form as written in settings; for one that can't be used, the reason, as the rest of a sentence."""
    parts, tokens, wildcards = [""], [], [""]
    for literal, token, other, mark in re.findall(_FORM_PARTS, form):
        if other or token in {"DDDD", "DDD"}:
            return f"has {other or token}, which is not a number of a date: use Y, M and D, and [] around words"
        if token in _NUMBERS:
            tokens.append(token)
            parts.append(f"({_NUMBERS[token][1]})")
            wildcards.append(_NUMBERS[token][2])
        elif token:
            parts.append(_WORD)
            wildcards.append("*")
        else:
            parts.append(re.escape(literal or mark))
            wildcards.append(re.sub(r"[*?\[\]]", "?", literal or mark))
    given = {_NUMBERS[token][0] for token in tokens}
    if missing := [part for part in ("year", "month", "day") if part not in given]:
        in_words = next((f"writes {words} in words" for token, words in _WORDS.items() if token in form), "")
        return f"{in_words or 'has no ' + ' and no '.join(missing)}, but a log needs year, month and day in digits"
    if any(part in {"", ".", ".."} for part in form.split("/")):
        return "has a folder without a name"
    expression = "".join(parts) + r"(?!\d)([^/]*)\.md(?:\.gz)?"
    return re.compile(expression), tokens, re.sub(r"\*{2,}", "*", "".join(wildcards)), form.count("/")


def _dated_path(path: str, form: DateForm | str) -> tuple[str, date | None, str] | None:
    if isinstance(form, str):
        return None
    pattern, tokens, _, folders = form
    name = "/".join(path.split("/")[-1 - folders :])
    match = pattern.fullmatch(name)
    if not match:
        return None
    *numbers, rest = match.groups()
    written = name[: match.start(len(numbers) + 1)]
    found: dict[str, set[int]] = {"year": set(), "month": set(), "day": set()}
    for name_of_part, digits in zip(tokens, numbers, strict=True):
        part, expression, _ = _NUMBERS[name_of_part]
        is_short_year = part == "year" and expression == r"\d{2}"
        found[part].add(int(re.sub(r"\D", "", digits)) + (2000 if is_short_year else 0))
    return written, _only_day(found), rest


def _only_day(found: dict[str, set[int]]) -> date | None:
    """The day of the numbers; None if folder and name disagree, or no calendar has it."""
    if any(len(numbers) != 1 for numbers in found.values()):
        return None
    try:
        return date(*(next(iter(found[part])) for part in ("year", "month", "day")))
    except ValueError:
        return None


def form_patterns(folder: str, form: str) -> tuple[str, ...]:
    """The patterns of a layer's paths for logs in a folder, empty for the workspace's, with dates of a usable form."""
    read = read_form(form)
    wildcards = "*" if isinstance(read, str) else read[2]
    return (f"{folder}/{wildcards}*.md".replace("**.md", "*.md").lstrip("/"),)
