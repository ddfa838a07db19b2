"""Listing: a rule in words and as plain values, as it was written."""

from __future__ import annotations

from contextasm.rules.evaluate import Rule, Target


def rule_data(rule: Rule) -> dict[str, object]:
    """A rule as plain values."""
    return {
        "rule": rule.name,
        "path": rule.path,
        "line": rule.line,
        "priority": rule.priority,
        "enabled": rule.enabled,
        "when": [{"field": each.field, "op": each.op, "value": each.value} for each in rule.when],
        "then": {action: wishes for action, wishes in _wishes(rule).items() if wishes},
    }


def rule_row(rule: Rule) -> tuple[str, ...]:
    """Name, priority, place, conditions and actions of a rule."""
    when = " and ".join(f"{each.field} {each.op} {_listed(each.value)}".rstrip() for each in rule.when) or "always"
    wishes = (f"{action} {', '.join(map(str, own))}" for action, own in _wishes(rule).items() if own)
    name = rule.name if rule.enabled else f"{rule.name} (off)"
    return name, f"{rule.priority:g}", f"{rule.path}:{rule.line}", when, "; ".join(wishes)


def _wishes(rule: Rule) -> dict[str, list[str]]:
    """What a rule asks for, action by action."""
    return {
        "always_include": [_named(target) for target in rule.include],
        "exclude": [_named(target) for target in rule.exclude],
        "boost": [f"{_named(target)} x {factor:g}" for target, factor in rule.boost],
        "cap": [f"{layer} = {tokens}" for layer, tokens in rule.cap],
        "set_priority": [f"{layer} = {rank}" for layer, rank in rule.set_priority],
    }


def _named(target: Target) -> str:
    """A target as it could be written in a rule."""
    return str(target).removeprefix("path ")


def _listed(value: str | tuple[str, ...]) -> str:
    """A condition's value, or values."""
    return value if isinstance(value, str) else ", ".join(value)
