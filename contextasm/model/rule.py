"""Rules as written, the result of evaluating and applying them, and the trace of each rule."""

from collections.abc import Mapping
from typing import NamedTuple

from contextasm.model.errors import Problem
from contextasm.model.fragment import Reason, RetrievalResult
from contextasm.model.profile import Profile


class RuleTrace(NamedTuple):
    """Outcome of one rule: whether it fired, why not, and its effects that were overridden."""

    rule: str
    path: str
    line: int
    fired: bool
    reason: Reason
    """`fired`, or the reason why it did not fire."""
    lost: tuple[Reason, ...]
    """Reasons why effects of the rule came to nothing: another rule or a required layer."""


class AfterRules(NamedTuple):
    """Profile and fragments after the rules were applied."""

    profile: Profile
    results: Mapping[str, RetrievalResult]
    traces: tuple[RuleTrace, ...]
    problems: tuple[Problem, ...]


Facts = Mapping[str, str | tuple[str, ...]]
"""Fields of a request and their values. A field that is left out, or is empty, is missing."""


class Condition(NamedTuple):
    """A test of one field of the request."""

    field: str
    op: str
    """A key of `OPERATORS`."""
    value: str | tuple[str, ...]
    """Operand; empty for operators that need none."""
    line: int


class Target(NamedTuple):
    """Fragments that an action of a rule applies to."""

    kind: str
    """`path`, `heading-path`, `tag`, `type`, `entity`, `id`; in an `Effect` also `layer`."""
    value: str
    heading: str = ""
    """Section of a `heading-path`; empty for other kinds."""

    def __str__(self) -> str:
        """The target in a message, such as `path docs/a.md`, `path docs/a.md#Setup`, `layer L3`."""
        return f"path {self.value}#{self.heading}" if self.heading else f"{self.kind} {self.value}"


class Rule(NamedTuple):
    """A rule as written: conditions, and actions that take effect when all conditions hold."""

    name: str
    path: str
    line: int
    priority: float = 0
    """Higher comes first."""
    enabled: bool = True
    when: tuple[Condition, ...] = ()
    """Conditions; a rule without any always fires."""
    include: tuple[Target, ...] = ()
    exclude: tuple[Target, ...] = ()
    boost: tuple[tuple[Target, float], ...] = ()
    cap: tuple[tuple[str, int], ...] = ()
    """Layers and their greatest number of tokens."""
    set_priority: tuple[tuple[str, int], ...] = ()
    """Layers and their ranks; the lowest gives way first."""


class Effect(NamedTuple):
    """Effect of one action on one target, resolved from all rules that name both."""

    action: str
    """`always_include`, `exclude`, `boost`, `cap` or `set_priority`."""
    target: Target
    value: float
    """The weight, the tokens or the rank; 1 for an inclusion or exclusion."""
    rules: tuple[str, ...]
    """Names of the rules that set the effect: several where boosts multiply, none where all lost."""
    lost: tuple[tuple[str, Reason], ...] = ()
    """Rules that lost, with the reason `shadowed` or `protected`."""


class RuleEvaluation(NamedTuple):
    """Result of evaluating all rules against a request: which fired, and their effects."""

    verdicts: tuple[tuple[Rule, Reason], ...]
    """Rules in order of precedence, each with `fired`, `disabled`, or the code of the condition that failed first."""
    effects: tuple[Effect, ...]
    """Effects, inclusions and exclusions in order of precedence."""
    missing: tuple[str, ...]
    """Fields that an enabled rule tests and the request does not have."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Rules that fired, in order of precedence."""
        return tuple(rule for rule, reason in self.verdicts if reason.code == "fired")

    def of(self, action: str) -> tuple[Effect, ...]:
        """Effects of one action."""
        return tuple(effect for effect in self.effects if effect.action == action)
