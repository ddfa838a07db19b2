"""Dates that a query names, in English, ISO and Japanese forms, and the closeness of a memory's day to them.

Reads no clock: `yesterday` and `last week` stay words. A date may lack its year, its day, or all but its year.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from contextasm.retrieval.search.word_lists import MONTH_PATTERN, MONTHS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# A memory is often written some days before or after the event in it.
_NEAR_DAYS: Final = 3
_NEAR: Final = 0.5

_DAY_NUMBER: Final = r"(?P<d{0}>\d{{1,2}})(?:st|nd|rd|th)?"
_MONTH_NAME: Final = rf"(?P<m{{0}}>{MONTH_PATTERN})\b\.?"
_YEAR: Final = r"(?P<y{0}>(?:19|20)\d\d)\b"
# In this order: the longer form is tried first. The number tells the forms apart.
_FORMS: Final = (
    r"\b(?P<y{0}>\d{{4}})[-/](?P<m{0}>\d{{1,2}})(?:[-/](?P<d{0}>\d{{1,2}}))?\b",
    r"(?:(?P<y{0}>\d{{4}})\s*年\s*)?(?P<m{0}>\d{{1,2}})\s*月(?:\s*(?P<d{0}>\d{{1,2}})\s*日)?",
    rf"\b{_DAY_NUMBER}(?:\s+of)?\s+{_MONTH_NAME}(?:,?\s*{_YEAR})?",
    rf"\b{_MONTH_NAME}\s+(?:the\s+)?{_DAY_NUMBER}\b(?:,?\s*{_YEAR})?",
    rf"\b{_MONTH_NAME}(?:,?\s*{_YEAR})?",
    rf"\b{_YEAR}",
    r"(?P<y{0}>(?:19|20)\d\d)\s*年",
)
_DATE: Final = re.compile("|".join(form.format(number) for number, form in enumerate(_FORMS)), re.IGNORECASE)
# Month names that are other words, too, where no number stands beside them.
_DOUBTFUL: Final = frozenset(("may", "march", "mar"))


class NamedDate(NamedTuple):
    """A date of a query, complete or not; 0 for a part that the query leaves out."""

    text: str
    """Its words in the query."""
    year: int
    month: int
    day: int

    def fits(self, number: int) -> bool:
        """Whether a day, as the number YYYYMMDD, is the same in every part that is named."""
        parts = ((self.year, number // 10000), (self.month, number // 100 % 100), (self.day, number % 100))
        return all(named in (0, part) for named, part in parts)


def day_number(day: str) -> int:
    """Number of a day: 20250310 for `2025-03-10`; 0 for no day."""
    digits = day[:10].replace("-", "")
    return int(digits) if len(digits) == 8 and digits.isdecimal() else 0


def named_dates(query: str) -> list[NamedDate]:
    """Dates that a query names, in its order."""
    dates = (_named_date(match, query) for match in _DATE.finditer(query))
    return [named for named in dates if named is not None]


def _named_date(match: re.Match[str], query: str) -> NamedDate | None:
    parts = {name[0]: value for name, value in match.groupdict().items() if value}
    if set(parts) == {"m"} and not _is_month(parts["m"], match.start(), query):
        return None
    month = parts.get("m", "0")
    number = int(month) if month.isdecimal() else MONTHS[month[:3].lower()]
    year, day = int(parts.get("y", 0)), int(parts.get("d", 0))
    return NamedDate(match[0], year, number, day) if number <= 12 and day <= 31 else None


def _is_month(name: str, start: int, query: str) -> bool:
    # Without a number beside it, `in May` names the month; `may I` does not, and nor does `Mar` at the start.
    if name.lower() not in _DOUBTFUL:
        return True
    return name[0].isupper() and not query.isupper() and query[:start].strip() != ""


def closeness(days: Iterable[int], dates: Sequence[NamedDate]) -> dict[int, float]:
    """Closeness of each day: 1 where a date fits it, less where it is near a complete date; other days have none."""
    near = {number for named in dates for number in _nearby_days(named)}
    close: dict[int, float] = {}
    for number in days:
        if number and any(named.fits(number) for named in dates):
            close[number] = 1.0
        elif number in near:
            close[number] = _NEAR
    return close


def _nearby_days(named: NamedDate) -> Iterator[int]:
    from datetime import date, timedelta  # here: a query that names no date needs no calendar

    try:
        middle = date(named.year, named.month, named.day)
        for shift in range(-_NEAR_DAYS, _NEAR_DAYS + 1):
            yield int((middle + timedelta(days=shift)).strftime("%Y%m%d"))
    except (ValueError, OverflowError):
        return
