"""Tests of one value against another: the operators that a rule's conditions may use, and path patterns.

Whatever a rule file says, each ends in bounded time. They know neither rules nor requests.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from math import isfinite
from unicodedata import category, normalize

from contextasm.text.dates import parse_date

Words = tuple[str, ...]

Operator = Callable[[Words, Words], str]
"""Values of a field (none where it is missing) and of a condition to the code of a failure; empty where it holds."""

PATTERN_SECONDS = 0.5
"""The longest that one condition may search: a pattern can be written to run for ever."""

LONGEST_SEARCHED = 100_000
"""Characters. A longer text is not searched for a pattern, which is the same on every machine; a time limit is not."""


def _as_written(text: str) -> str:
    return text


def casefold_words(text: str) -> str:
    """The form in which case, and how an accent is encoded, make no difference."""
    return normalize("NFC", text.casefold())


def _some(test: Callable[[str, str], bool], form: Callable[[str], str] = _as_written) -> Operator:
    """Holds where the test does for any value of the field and any of the condition."""

    def holds(have: Words, want: Words) -> str:
        forms = [form(wanted) for wanted in want]
        return "" if any(test(value, wanted) for value in map(form, have) for wanted in forms) else "no-match"

    return holds


def _not(holds: Operator) -> Operator:
    """The opposite, so true of a missing field wherever the operator itself is false of it."""
    return lambda have, want: "" if holds(have, want) else "no-match"


def _measured(compare: Callable[[tuple[str, float], tuple[str, float]], bool]) -> Operator:
    """Compares numbers with numbers and days with days; anything else is no match, and says so."""

    def holds(have: Words, want: Words) -> str:
        limit, *found = (_measure(text) for text in (*want, *have))
        like = [each for each in found if each and limit and each[0] == limit[0]]
        if limit and any(compare(each, limit) for each in like):
            return ""
        return "no-match" if len(like) == len(found) else "not-a-number"

    return holds


def _measure(text: str) -> tuple[str, float] | None:
    """Kind and size of a number or of a day written YYYY-MM-DD."""
    try:
        if day := parse_date(text):
            return "day", day.toordinal()
        size = float(text)
    except ValueError:
        return None
    return ("number", size) if isfinite(size) else None


def _search(have: Words, want: Words) -> str:
    """Whether a pattern is found, in bounded time: all values together have the time of one condition."""
    import regex

    pattern = regex.compile(want[0])
    if any(len(text) > LONGEST_SEARCHED for text in have):
        return "regex-too-long"
    try:
        found = any(pattern.search(text, timeout=PATTERN_SECONDS / len(have)) for text in have)
    except (TimeoutError, MemoryError):
        return "regex-timeout"
    return "" if found else "no-match"


def _flowing(text: str) -> str:
    """Folded, with single blanks, so that a line break inside a phrase makes no difference."""
    return " ".join(casefold_words(text).split())


_UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese: written without blanks between words."""


def _has_word(text: str, word: str) -> bool:
    """Whether the word stands in the text with no letter, digit or underscore run on to it."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (_joined(text[at - 1 : at], word[0]) or _joined(word[-1], text[end : end + 1])):
            return True
        at = text.find(word, at + 1)
    return False


def _joined(left: str, right: str) -> bool:
    """Whether two neighbours belong to one word. Marks count as letters: Indic vowels are marks."""
    return all(
        each == "_" or (each and category(each)[0] in "LMN" and not re.match(_UNSPACED, each)) for each in (left, right)
    )


def _exists(have: Words, _: Words) -> str:
    return "" if have else "no-match"


_equal = _some(operator.eq)
_contains = _some(operator.contains, casefold_words)

OPERATORS: Mapping[str, Operator] = {
    "exists": _exists,
    "not_exists": _not(_exists),
    "eq": _equal,
    "neq": _not(_equal),
    "in": _equal,
    "not_in": _not(_equal),
    "contains": _contains,
    "not_contains": _not(_contains),
    "starts_with": _some(str.startswith, casefold_words),
    "ends_with": _some(str.endswith, casefold_words),
    "gt": _measured(operator.gt),
    "gte": _measured(operator.ge),
    "lt": _measured(operator.lt),
    "lte": _measured(operator.le),
    "regex": _search,
    # What `task_contains` stands for; it can't be written as an operator.
    "any_word": _some(_has_word, _flowing),
}
"""Text is compared exactly by eq and in, without regard to case by contains, starts_with and ends_with."""

ALIASES: Mapping[str, str] = {
    "startsWith": "starts_with",
    "endsWith": "ends_with",
    "equals": "eq",
    "not_equals": "neq",
    "matches": "regex",
}
