"""Evaluation of rules: which ones fire for a request, their effects, and the winner where two effects disagree.

Values in, values out: all facts are given, and rule files are read elsewhere. A rule that does not fire and an effect
that is overridden keep their reason, as data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from contextasm.model import Effect, Facts, Reason, Rule, RuleEvaluation, Target
from contextasm.rules.operators import ALL_PATTERNS_SECONDS, OPERATORS, PATTERN_SECONDS, casefold_words, matches_pattern
from contextasm.text.names.glob import glob_matches

MOST_WEIGHT = 1e6
"""Largest product of boosts, so that no score becomes infinite."""


def evaluate(rules: Iterable[Rule], facts: Facts) -> RuleEvaluation:
    """The result of evaluating all rules. Rules of one file are given in the order of the file."""
    order = in_precedence(rules)
    fields = {condition.field for rule in order if rule.enabled for condition in rule.when}
    patterns = sum(condition.op == "regex" for rule in order if rule.enabled for condition in rule.when)
    seconds = min(PATTERN_SECONDS, ALL_PATTERNS_SECONDS / max(1, patterns))
    evaluation = RuleEvaluation(
        verdicts=tuple((rule, _reason(rule, facts, seconds)) for rule in order),
        effects=(),
        missing=tuple(sorted(field for field in fields if not _field_values(facts, field))),
    )
    return evaluation._replace(effects=_without_overridden(_merge_by_target(evaluation.rules)))


def in_precedence(rules: Iterable[Rule]) -> list[Rule]:
    """The rules in order of precedence: by priority, then by file name, then as given.

    Rules of `ctxasm.yaml` come before those of `rules/`, for its name does.
    """
    return sorted(rules, key=lambda rule: (-rule.priority, rule.path))


def _reason(rule: Rule, facts: Facts, seconds: float) -> Reason:
    """`fired`, or the reason why the rule does not fire. `seconds` limits each search for a pattern.

    The values of fields stay out: they may be secrets of the environment.
    """
    if not rule.enabled:
        return Reason.of("disabled")
    for number, condition in enumerate(rule.when, 1):
        actual = _field_values(facts, condition.field)
        expected = condition.value if isinstance(condition.value, tuple) else (condition.value,)
        is_pattern = condition.op == "regex"
        code = matches_pattern(actual, expected, seconds) if is_pattern else OPERATORS[condition.op](actual, expected)
        if code:
            return Reason.of(
                code if actual else "missing-field",
                condition=number,
                line=condition.line,
                field=condition.field,
                op=condition.op,
                value=", ".join(expected),
            )
    return Reason.of("fired")


def _field_values(facts: Facts, field: str) -> tuple[str, ...]:
    value = facts.get(field, ())
    return tuple(filter(None, (value,) if isinstance(value, str) else value))


# --- Conflicts between effects ---------------------------------------------------------------------------------------


def effects_of_rule(rule: Rule) -> Iterator[Effect]:
    """The effects that a rule asks for, in its order."""
    # Inclusions come first: a rule that excludes a folder may spare a file of it.
    rules = (rule.name,)
    yield from (Effect("always_include", target, 1, rules) for target in rule.include)
    yield from (Effect("exclude", target, 1, rules) for target in rule.exclude)
    yield from (Effect("boost", target, factor, rules) for target, factor in rule.boost)
    yield from (Effect("cap", Target("layer", layer), tokens, rules) for layer, tokens in rule.cap)
    yield from (Effect("set_priority", Target("layer", layer), rank, rules) for layer, rank in rule.set_priority)


def _merge_by_target(rules: Iterable[Rule]) -> Iterable[Effect]:
    merged: dict[tuple[str, Target], Effect] = {}
    for effect in (effect for rule in rules for effect in effects_of_rule(rule)):
        key = effect.action, effect.target
        merged[key] = _merge(merged[key], effect) if key in merged else effect
    return merged.values()


def _merge(earlier: Effect, later: Effect) -> Effect:
    # Boosts multiply, the smaller cap wins, and of other actions the first (digest, 002-7).
    if earlier.action == "boost":
        return earlier._replace(value=boost_factor((earlier, later)), rules=earlier.rules + later.rules)
    if earlier.action == "cap" and later.value < earlier.value:
        return _override(later, earlier)
    return _override(earlier, later)


def _override(winner: Effect, loser: Effect) -> Effect:
    target = str(loser.target)
    reason = Reason.of("shadowed", action=loser.action, target=target, value=loser.value, by=winner.rules[0])
    return winner._replace(lost=winner.lost + loser.lost + tuple((name, reason) for name in loser.rules))


def _without_overridden(effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """The effects without those that another overrides entirely. `effects_on` settles the rest for each item."""
    remaining: list[Effect] = []
    # Boosts come last, since any exclusion overrides them (digest, 002-8).
    for effect in sorted(effects, key=lambda effect: effect.action == "boost"):
        winner = next((index for index, earlier in enumerate(remaining) if _overrides(earlier, effect)), None)
        if winner is None:
            remaining.append(effect)
        else:
            remaining[winner] = _override(remaining[winner], effect)
    return tuple(remaining)


def _overrides(earlier: Effect, later: Effect) -> bool:
    if earlier.action == "exclude" and later.action in {"always_include", "boost"}:
        return _covers(earlier.target, later.target)
    return earlier.action == "always_include" and later.action == "exclude" and earlier.target == later.target


def _covers(wide: Target, narrow: Target) -> bool:
    # Of two patterns it may miss some.
    if wide.kind == "path" and narrow.kind in {"path", "heading-path"} and "**" not in narrow.value:
        return glob_matches(wide.value, narrow.value)
    return wide == narrow


# --- Effects on items ------------------------------------------------------------------------------------------------


def effects_on(evaluation: RuleEvaluation, item: Facts, *, protected: bool = False) -> tuple[Effect, ...]:
    """The effects on one item: at most one inclusion or exclusion, and the boosts that count.

    The item has the facts `path`, `heading`, `tag`, `type`, `id` and `entity`. A protected item (of L1, say) can't be
    excluded: exclusions of it are returned without a rule.
    """
    effects = [
        effect for effect in evaluation.effects if effect.target.kind != "layer" and is_target(effect.target, item)
    ]
    claims = [effect for effect in effects if effect.action != "boost"]
    boosts = [effect for effect in effects if effect.action == "boost"]
    refused = [_refuse(effect) for effect in claims if protected and effect.action == "exclude"]
    claims = [effect for effect in claims if not (protected and effect.action == "exclude")]
    if not claims:
        return (*refused, *boosts)
    winner, *losers = claims
    if winner.action == "exclude":
        losers, boosts = [*losers, *boosts], []
    for loser in losers:
        winner = _override(winner, loser)
    return (*refused, winner, *boosts)


def winning_claim(effects: Iterable[Effect]) -> Effect | None:
    """The inclusion or exclusion that holds among the effects on one item; None where neither does."""
    return next((effect for effect in effects if effect.action != "boost" and effect.rules), None)


def _refuse(exclusion: Effect) -> Effect:
    reason = Reason.of("protected", action=exclusion.action, target=str(exclusion.target))
    return exclusion._replace(rules=(), lost=exclusion.lost + tuple((name, reason) for name in exclusion.rules))


def boost_factor(effects: Iterable[Effect]) -> float:
    """The product of all boosts, `MOST_WEIGHT` at most; 1 without any."""
    return min(prod(effect.value for effect in effects if effect.action == "boost"), MOST_WEIGHT)


def is_target(target: Target, item: Facts) -> bool:
    """Whether a target means an item. Tags, types, entities and ids are compared exactly."""
    if target.kind == "path":
        return any(glob_matches(target.value, path) for path in _field_values(item, "path"))
    if target.kind == "heading-path":
        headings = map(casefold_words, _field_values(item, "heading"))
        return target.value in _field_values(item, "path") and casefold_words(target.heading) in headings
    return target.value in _field_values(item, target.kind)
