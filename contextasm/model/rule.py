"""Rules as written, the result of evaluating them, and what became of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from contextasm.model.errors import Problem
from contextasm.model.fragment import Reason, RetrievalResult
from contextasm.model.profile import Profile


class RuleTrace(NamedTuple):
    """What became of one rule."""

    rule: str
    path: str
    line: int
    fired: bool
    reason: Reason
    """`fired`, or why not."""
    lost: tuple[Reason, ...]
    """What of it another rule, or a required layer, left nothing of."""


class AfterRules(NamedTuple):
    """What is left to rank and select from."""

    profile: Profile
    results: Mapping[str, RetrievalResult]
    traces: tuple[RuleTrace, ...]
    problems: tuple[Problem, ...]


Facts = Mapping[str, str | tuple[str, ...]]
"""Fields and their values. One that is left out, or is empty, is missing."""


class Condition(NamedTuple):
    """Something about the request that must hold."""

    field: str
    op: str
    """A key of `OPERATORS`."""
    value: str | tuple[str, ...]
    """Empty for operators that need none."""
    line: int


class Target(NamedTuple):
    """What a rule is about."""

    kind: str
    """`path`, `heading-path`, `tag`, `type`, `entity`, `id`; in a `Effect` also `layer`."""
    value: str
    heading: str = ""
    """Of a `heading-path`: the section that is meant."""

    def __str__(self) -> str:
        """As it could be written in a message: `path docs/a.md`, `path docs/a.md#Setup`, `layer L3`."""
        return f"path {self.value}#{self.heading}" if self.heading else f"{self.kind} {self.value}"


class Rule(NamedTuple):
    """When all its conditions hold, what it asks for."""

    name: str
    path: str
    line: int
    priority: float = 0
    """Higher comes first."""
    enabled: bool = True
    when: tuple[Condition, ...] = ()
    """None means always."""
    include: tuple[Target, ...] = ()
    exclude: tuple[Target, ...] = ()
    boost: tuple[tuple[Target, float], ...] = ()
    cap: tuple[tuple[str, int], ...] = ()
    """Layer and tokens."""
    set_priority: tuple[tuple[str, int], ...] = ()
    """Layer and rank; the lowest gives way first."""


class Effect(NamedTuple):
    """What one action does to one target, once its rules have been heard."""

    action: str
    """`always_include`, `exclude`, `boost`, `cap` or `set_priority`."""
    target: Target
    value: float
    """The weight, the tokens or the rank; 1 for an inclusion or exclusion."""
    rules: tuple[str, ...]
    """Who set it: several where boosts multiply, none where all that wanted it lost."""
    lost: tuple[tuple[str, Reason], ...] = ()
    """Rules that wanted otherwise, or the same too late: `shadowed` or `protected`."""


class RuleEvaluation(NamedTuple):
    """What the rules come to for one request."""

    verdicts: tuple[tuple[Rule, Reason], ...]
    """Every rule, in order of precedence: `fired`, `disabled`, or the code of the condition that failed first."""
    effects: tuple[Effect, ...]
    """Inclusions and exclusions stand in order of precedence."""
    missing: tuple[str, ...]
    """Fields that an enabled rule asks about and the request does not have."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Those that fired, in order of precedence."""
        return tuple(rule for rule, reason in self.verdicts if reason.code == "fired")

    def of(self, action: str) -> tuple[Effect, ...]:
        """The settings of one action."""
        return tuple(setting for setting in self.effects if setting.action == action)
