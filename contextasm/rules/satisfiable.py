"""Satisfiable: whether a field can ever have a value for which conditions of a rule hold.

Only what is certain counts. A pattern on free text may always match, and two fields never contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date
from math import inf, nextafter

from contextasm.model import Condition, NamedTuple
from contextasm.rules.evaluate import NEGATIONS, OPERATORS, number_or_day

COMPARISONS = {"gt", "gte", "lt", "lte"}

EXACT = {"eq", "in"}
"""Operators that hold only for the values of the condition."""

_NO_VALUE_OF_ITS_OWN = {"exists", "not_exists"}

_TEXTS = {"contains": "x{}x", "starts_with": "{}x", "ends_with": "x{}"}
"""The plainest text that passes each operator; `any_word` and `regex` say nothing of the form of a text."""

_DECIDED = {*_NO_VALUE_OF_ITS_OWN, *COMPARISONS, *EXACT, "neq", "not_in"}
"""Operators that a few values of a field decide, where any text is possible."""


class FieldDomain(NamedTuple):
    """The values that a field can have, in any build of a workspace."""

    values: Collection[str] | None
    """All of them; None if any text is possible."""
    may_be_missing: bool = True
    is_list: bool = False
    """Whether it may have several values at once."""
    is_value: Callable[[str], bool] = bool
    """Whether a text has the form of a value, if any text is possible."""


def values_out_of_reach(condition: Condition, domain: FieldDomain) -> tuple[str, ...]:
    """The values of a condition that its field never has, or never compares with."""
    if condition.op in _NO_VALUE_OF_ITS_OWN:
        return ()
    asked = condition._replace(op=NEGATIONS.get(condition.op, condition.op))
    return tuple(value for value in _values(condition) if not can_hold([asked._replace(value=value)], domain))


def can_hold(conditions: Sequence[Condition], domain: FieldDomain) -> bool:
    """Whether conditions on one field can hold together; True in case of doubt."""
    if domain.may_be_missing and all(_passes(condition, ()) for condition in conditions):
        return True
    if domain.values is not None:
        return _any_passes(conditions, domain.values)
    if any(condition.op == "not_exists" for condition in conditions) or _has_opposites(conditions):
        return False
    if domain.is_list:
        # One value may pass one condition, and another the next.
        return all(_some_text_passes([condition], domain) for condition in conditions)
    return _some_text_passes(conditions, domain)


def _some_text_passes(conditions: Sequence[Condition], domain: FieldDomain) -> bool:
    exact = [value for condition in conditions if condition.op in EXACT for value in _values(condition)]
    if exact:
        return _any_passes(conditions, filter(domain.is_value, exact))
    if limits := [_values(condition)[0] for condition in conditions if condition.op in COMPARISONS]:
        return _any_passes([condition for condition in conditions if condition.op in _DECIDED], _sizes_near(limits))
    return all(
        any(domain.is_value(_TEXTS[condition.op].format(value)) for value in _values(condition))
        for condition in conditions
        if condition.op in _TEXTS
    )


def _values(condition: Condition) -> tuple[str, ...]:
    return condition.value if isinstance(condition.value, tuple) else (condition.value,)


def _passes(condition: Condition, actual: tuple[str, ...]) -> bool:
    # A pattern that takes too long is in doubt.
    return OPERATORS[condition.op](actual, _values(condition)) not in {"no-match", "not-a-number"}


def _any_passes(conditions: Sequence[Condition], values: Iterable[str]) -> bool:
    return any(all(_passes(condition, (value,)) for condition in conditions) for value in values)


def _has_opposites(conditions: Sequence[Condition]) -> bool:
    """Whether one condition excludes all that another asks for."""
    return any(
        NEGATIONS.get(negative.op) in (EXACT if positive.op in EXACT else {positive.op})
        and {*_values(positive)} <= {*_values(negative)}
        for negative in conditions
        for positive in conditions
        if negative.op in NEGATIONS
    )


def _sizes_near(limits: Sequence[str]) -> Iterator[str]:
    """Numbers and days at, between and around the limits, as texts: if none passes comparisons with them, none does."""
    numbers: set[float] = set()
    days: set[int] = set()
    for kind, size in filter(None, map(number_or_day, limits)):
        if kind == "day":
            days.add(int(size))
        else:
            numbers.add(size)
    near = {number for day in days for number in (day - 1, day, day + 1)}
    yield from (date.fromordinal(day).isoformat() for day in near if 0 < day <= date.max.toordinal())
    yield from (repr(size) for number in numbers for size in (nextafter(number, -inf), number, nextafter(number, inf)))
