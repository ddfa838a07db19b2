"""Evaluation of rules: which ones fire for a request, their effects, and the winner where two effects disagree.

Values in, values out: all facts are given, and rule files are read elsewhere. A rule that does not fire and an effect
that is overridden keep their reason, as data. Each test of a condition ends in bounded time for any rule file.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite, prod

from contextasm.model import Effect, Facts, Limits, NamedTuple, Reason, Rule, RuleEvaluation, Target
from contextasm.text.names.dates import parse_date
from contextasm.text.names.glob import glob_matches

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


def casefold_words(text: str) -> str:
    """The text without differences of case and of the encoding of accents."""
    if text.isascii():
        return text.lower()
    from unicodedata import normalize

    return normalize("NFC", text.casefold())


def _any_pair_passes(test: Callable[[str, str], bool], normalized: Callable[[str], str] = str) -> Operator:
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
    from unicodedata import category

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


# --- Rules that fire -------------------------------------------------------------------------------------------------


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

    Rules of `ctxasm.yaml` come before the rules of `rules/`, for its name does.
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


class EffectKind(NamedTuple):
    """A kind of effect."""

    acts_on: str
    """`layer`; `claim`: whether a fragment is shown, which one effect decides; or another word for what it changes of a
    fragment, such as its `score`: all effects count, and an exclusion overrides them."""
    targets: Words = ()
    """Kinds of its targets, as a rule file spells them; none for layers."""
    value: str = ""
    """Kind of the value of each target: one of `VALUES` (`config/rules/rule_files.py`), or empty for none."""
    words: str = "{target}"
    """Form of a target in a list of rules."""
    merged: str = "first"
    """Value if several rules name a target: that of the `first`, the `least`, or the `product` of all."""
    limit: Callable[[Limits, int], Limits] = lambda limits, _value: limits
    """Gives the limits of a layer with a value; of an effect on fragments, the limits as they are."""


def _capped(limits: Limits, tokens: int) -> Limits:
    return limits.capped(tokens if limits.max_tokens is None else min(limits.max_tokens, tokens))


EFFECTS: Mapping[str, EffectKind] = {
    # Inclusions come first: a rule that excludes a folder may spare a file of it.
    "always_include": EffectKind("claim", ("path", "id", "tag")),
    "exclude": EffectKind("claim", ("path", "tag", "type")),
    # `kg_entity` is another spelling of `entity`.
    "boost": EffectKind(
        "score", ("path", "tag", "type", "entity", "kg_entity"), "weight", "{target} x {value:g}", merged="product"
    ),
    "cap": EffectKind("layer", value="tokens", words="{target} = {value}", merged="least", limit=_capped),
    "set_priority": EffectKind(
        "layer", value="rank", words="{target} = {value}", limit=lambda limits, rank: limits._replace(priority=rank)
    ),
}
"""The effects that rules may have, by the word for each in a rule file."""


def acts_on(effect: Effect, what: str) -> bool:
    """Whether an effect acts on this, such as a `layer` (`EffectKind.acts_on`)."""
    return EFFECTS[effect.action].acts_on == what


def _merge_by_target(rules: Iterable[Rule]) -> Iterable[Effect]:
    merged: dict[tuple[str, Target], Effect] = {}
    for effect in (effect for rule in rules for effect in rule.effects):
        key = effect.action, effect.target
        merged[key] = _merge(merged[key], effect) if key in merged else effect
    return merged.values()


def _merge(earlier: Effect, later: Effect) -> Effect:
    # Boosts multiply, the smaller cap wins, and of other actions the first (digest, 002-7).
    merged = EFFECTS[earlier.action].merged
    if merged == "product":
        return earlier._replace(value=boost_factor((earlier, later)), rules=earlier.rules + later.rules)
    if merged == "least" and later.value < earlier.value:
        return _override(later, earlier)
    return _override(earlier, later)


def _override(winner: Effect, loser: Effect) -> Effect:
    target = str(loser.target)
    reason = Reason.of("shadowed", action=loser.action, target=target, value=loser.value, by=winner.rules[0])
    return winner._replace(lost=winner.lost + loser.lost + tuple((name, reason) for name in loser.rules))


def _without_overridden(effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """The effects without the ones that another overrides entirely. `effects_on` settles the rest for each item."""
    remaining: list[Effect] = []
    # Scores and the like come last, since any exclusion overrides them (digest, 002-8).
    for effect in sorted(effects, key=lambda effect: not acts_on(effect, "claim")):
        winner = next((index for index, earlier in enumerate(remaining) if _overrides(earlier, effect)), None)
        if winner is None:
            remaining.append(effect)
        else:
            remaining[winner] = _override(remaining[winner], effect)
    return tuple(remaining)


def _overrides(earlier: Effect, later: Effect) -> bool:
    if earlier.action == "exclude" and later.action != "exclude":
        return _covers(earlier.target, later.target)
    return earlier.action == "always_include" and later.action == "exclude" and earlier.target == later.target


def _covers(wide: Target, narrow: Target) -> bool:
    # Of two patterns it may miss some.
    if wide.kind == "path" and narrow.kind in {"path", "heading-path"} and "**" not in narrow.value:
        return glob_matches(wide.value, narrow.value)
    return wide == narrow


# --- Effects on items ------------------------------------------------------------------------------------------------


def effects_on(evaluation: RuleEvaluation, item: Facts, *, protected: bool = False) -> tuple[Effect, ...]:
    """The effects on one item: at most one inclusion or exclusion, and the boosts and the like that count.

    The item has the facts `path`, `heading`, `tag`, `type`, `id` and `entity`. A protected item (of L1, say) can't be
    excluded: exclusions of it are returned without a rule.
    """
    effects = [
        _refuse(effect) if protected and effect.action == "exclude" else effect
        for effect in evaluation.effects
        if not acts_on(effect, "layer") and is_target(effect.target, item)
    ]
    claims = [effect for effect in effects if acts_on(effect, "claim") and effect.rules]
    if not claims:
        return tuple(effects)
    winner, *losers = claims
    others = [effect for effect in effects if effect not in claims]
    if winner.action == "exclude":
        losers, others = [*losers, *others], []
    for loser in losers:
        winner = _override(winner, loser)
    return (winner, *others)


def winning_claim(effects: Iterable[Effect]) -> Effect | None:
    """The inclusion or exclusion that holds among the effects on one item; None if neither does."""
    return next((effect for effect in effects if acts_on(effect, "claim") and effect.rules), None)


def _refuse(exclusion: Effect) -> Effect:
    reason = Reason.of("protected", action=exclusion.action, target=str(exclusion.target))
    return exclusion._replace(rules=(), lost=exclusion.lost + tuple((name, reason) for name in exclusion.rules))


def boost_factor(effects: Iterable[Effect]) -> float:
    """The product of all boosts, `MOST_WEIGHT` at most; 1 without any."""
    return min(prod(effect.value for effect in effects if acts_on(effect, "score")), MOST_WEIGHT)


def is_target(target: Target, item: Facts) -> bool:
    """Whether a target means an item. Tags, types, entities and ids are compared exactly."""
    if target.kind == "path":
        return any(glob_matches(target.value, path) for path in _field_values(item, "path"))
    if target.kind == "heading-path":
        headings = map(casefold_words, _field_values(item, "heading"))
        return target.value in _field_values(item, "path") and casefold_words(target.heading) in headings
    return target.value in _field_values(item, target.kind)
