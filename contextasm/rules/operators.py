"""Operators of rules' conditions: tests of a field's values against a condition's values.

Each ends in bounded time, whatever a rule file says. They know neither rules nor requests.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from math import isfinite
from unicodedata import category, normalize

from contextasm.text.names.dates import parse_date

Words = tuple[str, ...]

Operator = Callable[[Words, Words], str]
"""Takes the values of a field (none for a missing field) and of a condition; gives the code of the failure, empty for
none."""

PATTERN_SECONDS = 0.5
"""Time limit of one condition's search: a pattern can be written to run for ever.

The engine `regex` looks at the clock while it searches. `re` does not, and neither a thread nor, outside of the main
thread, a signal could end it; a child process for each search would take longer than the search.
"""

ALL_PATTERNS_SECONDS = 2.0
"""Time limit of all searches of one evaluation together: a rule file can hold any number of them."""

LONGEST_SEARCHED = 1 << 16
"""Characters. A longer text is not searched for a pattern: unlike a time limit, this is the same on every machine."""


def _as_written(text: str) -> str:
    return text


def casefold_words(text: str) -> str:
    """The text without differences of case and of the encoding of accents."""
    return normalize("NFC", text.casefold())


def _any_pair_passes(test: Callable[[str, str], bool], normalized: Callable[[str], str] = _as_written) -> Operator:
    def check(actual: Words, expected: Words) -> str:
        expected = tuple(map(normalized, expected))
        holds = any(test(value, other) for value in map(normalized, actual) for other in expected)
        return "" if holds else "no-match"

    return check


def _negated(operation: Operator) -> Operator:
    # It holds for a missing field where the operator does not.
    return lambda actual, expected: "" if operation(actual, expected) else "no-match"


def _comparison(compare: Callable[[tuple[str, float], tuple[str, float]], bool]) -> Operator:
    # Numbers compare with numbers, days with days.
    def check(actual: Words, expected: Words) -> str:
        limit, *sizes = (number_or_day(text) for text in (*expected, *actual))
        comparable = [size for size in sizes if size and limit and size[0] == limit[0]]
        if limit and any(compare(size, limit) for size in comparable):
            return ""
        return "no-match" if len(comparable) == len(sizes) else "not-a-number"

    return check


def number_or_day(text: str) -> tuple[str, float] | None:
    """A number or a day, with its kind, as comparisons take it; None for any other text."""
    try:
        if day := parse_date(text):
            return "day", day.toordinal()
        size = float(text)
    except ValueError:
        return None
    return ("number", size) if isfinite(size) else None


def matches_pattern(actual: Words, expected: Words, seconds: float = PATTERN_SECONDS) -> str:
    """The operator `regex`: whether a pattern is found in a value, within a number of seconds."""
    import regex

    pattern = regex.compile(expected[0])
    if any(len(text) > LONGEST_SEARCHED for text in actual):
        return "regex-too-long"
    try:
        # All values together have the time of one condition.
        is_match = any(pattern.search(text, timeout=seconds / len(actual)) for text in actual)
    except (TimeoutError, MemoryError):
        return "regex-timeout"
    return "" if is_match else "no-match"


def _casefold_line(text: str) -> str:
    # A line break inside a phrase makes no difference.
    return " ".join(casefold_words(text).split())


_UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese: written without blanks between words."""


def _has_word(text: str, word: str) -> bool:
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not (_is_one_word(text[start - 1 : start], word[0]) or _is_one_word(word[-1], text[end : end + 1])):
            return True
        start = text.find(word, start + 1)
    return False


def _is_one_word(left: str, right: str) -> bool:
    # Marks count as letters: Indic vowels are marks.
    return all(character == "_" or (character and _is_letter(character)) for character in (left, right))


def _is_letter(character: str) -> bool:
    return category(character)[0] in "LMN" and (character.isascii() or not re.match(_UNSPACED, character))


def _exists(actual: Words, _: Words) -> str:
    return "" if actual else "no-match"


_equal = _any_pair_passes(operator.eq)
_contains = _any_pair_passes(operator.contains, casefold_words)

OPERATORS: Mapping[str, Operator] = {
    "exists": _exists,
    "not_exists": _negated(_exists),
    "eq": _equal,
    "neq": _negated(_equal),
    "in": _equal,
    "not_in": _negated(_equal),
    "contains": _contains,
    "not_contains": _negated(_contains),
    "starts_with": _any_pair_passes(str.startswith, casefold_words),
    "ends_with": _any_pair_passes(str.endswith, casefold_words),
    "gt": _comparison(operator.gt),
    "gte": _comparison(operator.ge),
    "lt": _comparison(operator.lt),
    "lte": _comparison(operator.le),
    "regex": matches_pattern,
    # The operator of `task_contains`; a rule file can't name it.
    "any_word": _any_pair_passes(_has_word, _casefold_line),
}
"""Operators by name. `eq` and `in` compare texts exactly; `contains`, `starts_with` and `ends_with` ignore case."""

ALIASES: Mapping[str, str] = {
    "startsWith": "starts_with",
    "endsWith": "ends_with",
    "equals": "eq",
    "not_equals": "neq",
    "matches": "regex",
}

NEGATIONS: Mapping[str, str] = {
    "not_exists": "exists",
    "neq": "eq",
    "not_in": "in",
    "not_contains": "contains",
}
"""Operators that hold wherever another one does not."""
