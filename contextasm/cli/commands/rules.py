"""`ctxasm rules`: those of the workspace, or which of them fire for a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.options import prepare_request, takes_request
from contextasm.cli.output import format_json, format_table, write_stdout
from contextasm.model import Rule, Target

if TYPE_CHECKING:
    from contextasm.config.options import Options
    from contextasm.model import RuleTrace


def rules(
    request: Options,
    action: Annotated[
        str, typer.Argument(metavar="[list|eval]", help="`list` them, or `eval`: which fire for a request.")
    ] = "list",
    *,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """List the rules, or show which fire for a request, without assembling anything."""
    from contextasm.config.values import require_known
    from contextasm.rendering.formats import rule_trace_data
    from contextasm.rendering.wording import rule_trace_table

    if require_known(action, ("list", "eval"), "rules", "action") == "list":
        return _list(request, as_json=json)
    fired = prepare_request(request).build.rules
    if fired is None:
        found: tuple[RuleTrace, ...] = ()
    else:
        from contextasm.rules.apply import rule_traces

        found = rule_traces(fired)
    write_stdout(format_json([*map(rule_trace_data, found)]) if json else format_table(*rule_trace_table(found)))
    return 0


def _list(request: Options, *, as_json: bool) -> int:
    """List the rules as they are written."""
    pass
    from contextasm.config.resolve import open_rules, process_environment

    found = open_rules(request, process_environment())
    header = ("rule", "priority", "where", "when", "then")
    write_stdout(
        format_json([*map(rule_data, found)]) if as_json else format_table(header, [*map(rule_row, found)], (1,))
    )
    return 0


run = takes_request(rules)


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
