"""Words of a query: words of an index that are spelled like one or are a part of it, and the dates that it names.

Only spelling decides: no grammar, no dictionary and no clock is known here. `yesterday` stays a word.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from contextasm.model import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

# To import rapidfuzz takes as long as to compare some thousand words without it, which many builds have not.
_FEW: Final = 2000


def similar_words(word: str, candidates: Sequence[str], cutoff: float) -> Iterator[tuple[str, float]]:
    """Candidates with a ratio of at least `cutoff`, each with its ratio, in no order.

    The ratio of two words is the share of their letters that both have in the same order, from 0 to 100.
    """
    if len(candidates) > _FEW:
        from rapidfuzz import fuzz, process

        for candidate, ratio, _ in process.extract(
            word, candidates, scorer=fuzz.ratio, score_cutoff=cutoff, limit=None
        ):
            yield candidate, ratio
        return
    places: dict[str, int] = {}
    for place, letter in enumerate(word):
        places[letter] = places.get(letter, 0) | 1 << place
    for candidate in candidates:
        length = len(word) + len(candidate)
        if 200 * min(len(word), len(candidate)) >= cutoff * length:
            ratio = (1 - (length - 2 * _common_letters(len(word), places, candidate)) / length) * 100
            if ratio >= cutoff:
                yield candidate, ratio


def _common_letters(length: int, places: dict[str, int], other: str) -> int:
    # Length of the longest common subsequence (Hyyrö 2004): each bit that is lost is a letter found.
    everything = (1 << length) - 1
    row = everything
    for letter in other:
        found = row & places.get(letter, 0)
        row = row + found | row - found
    return length - (row & everything).bit_count()


# --- Compounds -------------------------------------------------------------------------------------------------------


# Letters of the shortest word that is looked for in others, and of the shortest that may be in the middle of one.
_LEAST_LENGTH: Final = 4
_LEAST_LENGTH_WITHIN: Final = 5
# Letters that a compound has more than its part, at least.
_LONGER: Final = 3
_COMPOUND_WEIGHT: Final = 0.6
# Words of four letters have no relatives by their first five: of an unknown one, words that begin with it are used.
_STEM_LENGTH: Final = 4
_STEM_WEIGHT: Final = 0.5
# Each term costs a look-up: of many, the shortest are used.
_LIMIT: Final = 50


def compound_terms(word: str, vocabulary: Sequence[str], is_held: Callable[[str], bool]) -> Iterator[tuple[str, float]]:
    """Terms of a vocabulary that hold an unknown word or end it, with weights; at most `_LIMIT`, the shortest first.

    `is_held` says whether a row holds a term; others are left out.

    A word of four letters is found at the end of a compound, and at the beginning of any term.
    """
    if len(word) < _LEAST_LENGTH:
        return
    weights: dict[str, float] = {}
    for known_term in vocabulary:
        if word in known_term:
            weight = _weight_of_longer(word, known_term)
        else:
            is_ending = len(known_term) >= _LEAST_LENGTH and word.endswith(known_term)
            weight = _COMPOUND_WEIGHT if is_ending else 0.0
        if weight:
            weights[known_term] = weight
    shortest_first = sorted(weights.items(), key=lambda item: (len(item[0]), item[0]))
    yield from islice((item for item in shortest_first if is_held(item[0])), _LIMIT)


def _weight_of_longer(word: str, known_term: str) -> float:
    if len(known_term) >= len(word) + _LONGER:
        is_within = len(word) >= _LEAST_LENGTH_WITHIN and word in known_term[1:]
        if is_within or known_term.endswith(word):
            return _COMPOUND_WEIGHT
    return _STEM_WEIGHT if len(word) == _STEM_LENGTH and known_term.startswith(word) else 0.0


# --- Dates -----------------------------------------------------------------------------------------------------------


_MONTH_NAMES: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
MONTHS: Final = {name[:3]: number for number, name in enumerate(_MONTH_NAMES, 1)}
# Whole or by its first letters: `jan`, `january`; September also as `sept`.
MONTH_PATTERN: Final = "(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTH_NAMES) + "|sept)"

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
_DATE: Final = "(?i)" + "|".join(form.format(number) for number, form in enumerate(_FORMS))
# Month names that are other words, too, if no number is next to them.
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


def named_dates(query: str) -> list[NamedDate]:
    """Dates that a query names, in its order."""
    # To compile the pattern takes longer than a small search: most queries have neither a digit nor a month.
    if not any(map(str.isdecimal, query)) and not any(month in query.casefold() for month in MONTHS):
        return []
    dates = (_named_date(match, query) for match in re.finditer(_DATE, query))
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
    # Without a number next to it, `in May` names the month; `may I` does not, and nor does `Mar` at the start.
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
