"""Rules: which of them fire for a request, what they ask for, and who wins where two disagree.

Values in, values out: the facts come in complete, the files are found and read elsewhere. A rule that did not
fire and a wish that lost each keep their reason, as data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from contextasm.model import Effect, Facts, Reason, Rule, RuleEvaluation, Target
from contextasm.rules.operators import OPERATORS, casefold_words
from contextasm.text.glob import glob_matches

MOST_WEIGHT = 1e6
"""Where boosts stop multiplying, so that no score becomes infinite."""


def evaluate(rules: Iterable[Rule], facts: Facts) -> RuleEvaluation:
    """Which rules fire, and what they come to. The rules of one file are given in the order of the file."""
    order = sorted(rules, key=lambda rule: (-rule.priority, rule.path))
    verdicts = tuple((rule, _verdict(rule, facts)) for rule in order)
    fields = {condition.field for rule in order if rule.enabled for condition in rule.when}
    fired = RuleEvaluation(verdicts, (), tuple(sorted(field for field in fields if not _values(facts, field))))
    return fired._replace(effects=_resolved(_merged(fired.rules)))


def _verdict(rule: Rule, facts: Facts) -> Reason:
    """`fired`, or why not. The value itself stays out: it may be a secret of the environment."""
    if not rule.enabled:
        return Reason.of("disabled")
    for number, each in enumerate(rule.when, 1):
        have, want = _values(facts, each.field), each.value if isinstance(each.value, tuple) else (each.value,)
        if code := OPERATORS[each.op](have, want):
            code = code if have else "missing-field"
            value = ", ".join(want)
            return Reason.of(code, condition=number, line=each.line, field=each.field, op=each.op, value=value)
    return Reason.of("fired")


def _values(facts: Facts, field: str) -> tuple[str, ...]:
    """The values of a field; none where it is missing."""
    value = facts.get(field, ())
    return tuple(each for each in ((value,) if isinstance(value, str) else value) if each)


# --- conflicts --------------------------------------------------------------------------------------------------


def _wishes(rule: Rule) -> Iterator[Effect]:
    """What one rule asks for. Inclusions come first: a rule that excludes a folder may spare a file of it."""
    by = (rule.name,)
    yield from (Effect("always_include", target, 1, by) for target in rule.include)
    yield from (Effect("exclude", target, 1, by) for target in rule.exclude)
    yield from (Effect("boost", target, factor, by) for target, factor in rule.boost)
    yield from (Effect("cap", Target("layer", layer), tokens, by) for layer, tokens in rule.cap)
    yield from (Effect("set_priority", Target("layer", layer), rank, by) for layer, rank in rule.set_priority)


def _merged(rules: Iterable[Rule]) -> Iterable[Effect]:
    """One setting for each action and target."""
    settled: dict[tuple[str, Target], Effect] = {}
    for wish in (wish for rule in rules for wish in _wishes(rule)):
        key = wish.action, wish.target
        earlier = settled.get(key)
        settled[key] = _both(earlier, wish) if earlier else wish
    return settled.values()


def _both(earlier: Effect, later: Effect) -> Effect:
    """Boosts multiply, the smaller cap wins, and of everything else the first (digest, 002-7)."""
    if earlier.action == "boost":
        return earlier._replace(value=boost_factor((earlier, later)), rules=earlier.rules + later.rules)
    if earlier.action == "cap" and later.value < earlier.value:
        return _shadow(later, earlier)
    return _shadow(earlier, later)


def _shadow(winner: Effect, loser: Effect) -> Effect:
    """The winner, with the loser's rules and whom they had beaten noted on it."""
    target = str(loser.target)
    reason = Reason.of("shadowed", action=loser.action, target=target, value=loser.value, by=winner.rules[0])
    return winner._replace(lost=winner.lost + loser.lost + tuple((name, reason) for name in loser.rules))


def _resolved(settings: Iterable[Effect]) -> tuple[Effect, ...]:
    """Settings without those that another leaves nothing of. What depends on the item waits for `effects_on`."""
    kept: list[Effect] = []
    # Boosts come last, since any exclusion beats them (digest, 002-8).
    for setting in sorted(settings, key=lambda each: each.action == "boost"):
        beaten_by = next((n for n, earlier in enumerate(kept) if _beats(earlier, setting)), None)
        if beaten_by is None:
            kept.append(setting)
        else:
            kept[beaten_by] = _shadow(kept[beaten_by], setting)
    return tuple(kept)


def _beats(earlier: Effect, later: Effect) -> bool:
    """Whether an earlier setting leaves nothing for a later one to do."""
    if earlier.action == "exclude" and later.action in {"always_include", "boost"}:
        return _covers(earlier.target, later.target)
    return earlier.action == "always_include" and later.action == "exclude" and earlier.target == later.target


def _covers(wide: Target, narrow: Target) -> bool:
    """Whether whatever the narrow target means is meant by the wide one. Of two patterns it may miss some."""
    if wide.kind == "path" and narrow.kind in {"path", "heading-path"} and "**" not in narrow.value:
        return glob_matches(wide.value, narrow.value)
    return wide == narrow


# --- items ------------------------------------------------------------------------------------------------------


def effects_on(fired: RuleEvaluation, item: Facts, *, protected: bool = False) -> tuple[Effect, ...]:
    """What the rules come to for one item: at most one inclusion or exclusion, and the boosts that count.

    The item's `path`, `heading`, `tag`, `type`, `id` and `entity` are looked at. A protected one (of L1, say) can't be
    excluded; what tried is returned without a rule.
    """
    here = [each for each in fired.effects if each.target.kind != "layer" and is_target(each.target, item)]
    claims = [each for each in here if each.action != "boost"]
    boosts = [each for each in here if each.action == "boost"]
    refused = [_refused(each) for each in claims if protected and each.action == "exclude"]
    claims = [each for each in claims if not (protected and each.action == "exclude")]
    winner = claims[0] if claims else None
    if winner is None:
        return (*refused, *boosts)
    for loser in [*claims[1:], *(boosts if winner.action == "exclude" else ())]:
        winner = _shadow(winner, loser)
    return (*refused, winner, *(() if winner.action == "exclude" else boosts))


def _refused(exclusion: Effect) -> Effect:
    reason = Reason.of("protected", action=exclusion.action, target=str(exclusion.target))
    return exclusion._replace(rules=(), lost=exclusion.lost + tuple((name, reason) for name in exclusion.rules))


def boost_factor(settings: Iterable[Effect]) -> float:
    """By what a score is multiplied; 1 where nothing boosts."""
    return min(prod(each.value for each in settings if each.action == "boost"), MOST_WEIGHT)


def is_target(target: Target, item: Facts) -> bool:
    """Whether an item is what a target means. Tags, types, entities and ids are compared exactly."""
    if target.kind == "path":
        return any(glob_matches(target.value, path) for path in _values(item, "path"))
    if target.kind == "heading-path":
        headings = map(casefold_words, _values(item, "heading"))
        return target.value in _values(item, "path") and casefold_words(target.heading) in headings
    return target.value in _values(item, target.kind)
