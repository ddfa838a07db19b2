"""`ctxasm rules`: list the rules of the workspace, or show which of them fire for a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from contextasm.cli.command_line import Command
from contextasm.cli.options import JsonOption, action_argument, all_but
from contextasm.cli.output import show_taken, write_json, write_table
from contextasm.config.input.options import Options
from contextasm.config.input.values import require_known
from contextasm.config.resolve import open_rules, prepare_build, process_environment
from contextasm.model import Condition, Effect, Rule, grouped
from contextasm.rendering.documents import RuleTracesDocument, rule_trace_data
from contextasm.rendering.json_codec import Positive
from contextasm.rendering.tables import rule_trace_table
from contextasm.rules.apply import rule_traces
from contextasm.rules.evaluate import EFFECTS, in_precedence

ACTIONS: Sequence[str] = ("list", "eval")
"""What can be done with rules."""


class RuleData(TypedDict):
    """One rule."""

    rule: str
    """The rule's name."""
    path: str
    """Its file."""
    line: Positive
    """The line of the file at which it begins."""
    priority: float
    """Its priority; a higher one goes first."""
    enabled: bool
    """Whether it is switched on."""
    when: list[Condition]
    """The conditions, all of which must hold."""
    then: dict[str, list[str]]
    """Its effects: what it names for each action, with values, by the word for the action in a rule file."""


class RulesDocument(TypedDict):
    """The rules of a workspace, as `ctxasm rules --json` lists them."""

    schema: Literal["ctxasm.rules/1"]
    rules: list[RuleData]
    """Every rule, in order of precedence."""


def rules(
    options: Options,
    *,
    action: Annotated[
        str, action_argument(ACTIONS, "List the rules, or evaluate them for a request.", f"[{'|'.join(ACTIONS)}]")
    ] = "list",
    json: JsonOption = False,
) -> None:
    """List the rules, or show which rules fire for a request, without a build."""
    process = process_environment()
    if require_known(action, ACTIONS, "rules", "action") == "list":
        rule_set = in_precedence(open_rules(options, process))
        if json:
            data = [rule._asdict() | {"rule": rule.name, "then": _effects(rule)} for rule in rule_set]
            write_json(RulesDocument, {"rules": data})
        else:
            write_table(("rule", "priority", "where", "when", "then"), [*map(_rule_row, rule_set)], (1,))
        return
    job = prepare_build(options, process)
    show_taken(job.taken)
    traces = rule_traces(job.build.rules) if job.build.rules else ()
    if json:
        write_json(RuleTracesDocument, {"rules": [*map(rule_trace_data, traces)]})
    else:
        write_table(*rule_trace_table(traces))


run = Command(rules, all_but("format"))


def _rule_row(rule: Rule) -> Sequence[str]:
    """Name, priority, place, conditions and actions of a rule."""
    when = " and ".join(f"{test.field} {test.op} {_value_text(test.value)}".rstrip() for test in rule.when) or "always"
    then = "; ".join(f"{action} {', '.join(effects)}" for action, effects in _effects(rule).items())
    name = rule.name if rule.enabled else f"{rule.name} (off)"
    return name, f"{rule.priority:g}", f"{rule.path}:{rule.line}", when, then


def _effects(rule: Rule) -> Mapping[str, Sequence[str]]:
    """The effects of a rule by action, as a rule file has them."""
    return grouped((effect.action, _effect_words(effect)) for effect in rule.effects)


def _effect_words(effect: Effect) -> str:
    target = effect.target.value if effect.target.kind == "layer" else str(effect.target).removeprefix("path ")
    return EFFECTS[effect.action].words.format(target=target, value=effect.value)


def _value_text(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else ", ".join(value)
