"""Domains of the fields that rules test: the values that each can have in any build of a workspace.

`config/rules/facts.py` computes the value that a field has in one build.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import MAXYEAR, date, timedelta

from contextasm.config.rules.facts import WEEKDAYS
from contextasm.model import Condition
from contextasm.retrieval.reading.query_signals import INTENTS, intent
from contextasm.rules.satisfiable import FieldDomain

USUAL_YEARS = range(2000, 2101)
"""Years that a condition on the date may mean without naming them."""

_INTENTS = (*(name for name, _ in INTENTS), intent(""))


def field_domains(
    conditions: Iterable[Condition], agents: Collection[str], teams: Collection[str]
) -> Mapping[str, FieldDomain]:
    """The domain of each field that the conditions of a rule test, in a workspace with these agents and teams."""
    by_field: dict[str, list[Condition]] = {}
    for condition in conditions:
        by_field.setdefault(condition.field, []).append(condition)
    return {field: _domain(field, tests, agents, teams) for field, tests in by_field.items()}


def _domain(field: str, tests: Sequence[Condition], agents: Collection[str], teams: Collection[str]) -> FieldDomain:
    # A profile may read no agent, and a build may name no team.
    closed = {
        "agent": FieldDomain(agents),
        "team": FieldDomain(teams),
        "task.intent": FieldDomain(_INTENTS, may_be_missing=False),
        "weekday": FieldDomain(WEEKDAYS, may_be_missing=False),
    }
    if field in closed:
        return closed[field]
    if field == "date":
        return FieldDomain(_days(tests), may_be_missing=False)
    if field == "changed":
        return FieldDomain(None, is_list=True, is_value=_is_changed_path)
    return FieldDomain(None, is_value=_is_branch if field == "git.branch" else bool)


def _is_changed_path(text: str) -> bool:
    # As git names it: relative, and without detours.
    return not {"", ".", ".."} & {*text.split("/")}


def _is_branch(text: str) -> bool:
    return bool(text) and not re.search(r"\s", text)


def _days(tests: Sequence[Condition]) -> list[str]:
    """The days of the years that conditions name, of those beside them and of the usual ones, as YYYY-MM-DD."""
    texts = [text for test in tests for text in (test.value if isinstance(test.value, tuple) else (test.value,))]
    named = {int(digits.ljust(4, "0")) for text in texts for digits in re.findall(r"[0-9]+", text) if len(digits) < 5}
    years = {near for year in named for near in (year - 1, year, year + 1) if 0 < near <= MAXYEAR}
    return [day.isoformat() for year in (*sorted(years), *USUAL_YEARS) for day in _days_of_year(year)]


def _days_of_year(year: int) -> Iterable[date]:
    first, last = date(year, 1, 1), date(year, 12, 31)
    return (first + timedelta(number) for number in range((last - first).days + 1))
