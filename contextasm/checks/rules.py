"""Checks of rules: targets that nothing in the workspace is, and conditions that no build can meet, for any agent.

Whether a rule fires today makes no difference.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import MAXYEAR, date

from contextasm.checks.finding import Finding, note_finding, warning_finding
from contextasm.checks.inspection import Inspection
from contextasm.checks.names import path_hint
from contextasm.config.rules.facts import WEEKDAYS
from contextasm.model import Condition, Document, Effect, Rule, grouped
from contextasm.retrieval.reading.query_signals import INTENTS, intent
from contextasm.rules.apply import included_file, item_facts, section
from contextasm.rules.evaluate import evaluate, is_target
from contextasm.rules.satisfiable import COMPARISONS, FieldDomain, can_hold, values_out_of_reach
from contextasm.text.markdown.blocks import heading
from contextasm.text.names.glob import glob_matches
from contextasm.text.names.matching import list_names, nearest
from contextasm.text.names.places import PROFILE_FILES, RULE_FILES, WORKSPACE_PATTERNS, list_archived


def check_rule_targets(inspection: Inspection) -> Iterator[Finding]:
    """Report targets of rules that match no file, memory, event, entity or layer."""
    prepared = inspection.prepared
    rules = inspection.enabled_rules
    if not prepared or not rules:
        return
    # A missing inclusion of a rule that fires is a problem of the build.
    fired = {trace.rule for context in inspection.contexts for trace in context.rule_traces if trace.fired}
    for rule in rules:
        for effect in evaluate([rule._replace(when=())], {}).effects:  # as if it fired
            if effect.action == "always_include" and rule.name in fired:
                continue
            if effect.target.kind == "layer":
                if effect.target.value not in {layer.id for layer in prepared.build.profile.layers}:
                    message = f"rule {rule.name}: {effect.action} {effect.target}: this profile has no such layer"
                    yield note_finding(rule.path, rule.line, message, "leave it if the rule serves another profile")
                continue
            if not _has_target(effect, inspection):
                yield from _missing_target(rule, effect, inspection)


def _missing_target(rule: Rule, effect: Effect, inspection: Inspection) -> Iterator[Finding]:
    """The finding on a target that no layer finds; an exclusion may have nothing to exclude, if it is not a slip."""
    what = f"rule {rule.name}: {effect.action} {effect.target}"
    if path := _unread_file(effect, inspection):
        hint = "leave it if the rule serves another profile"
        yield note_finding(rule.path, rule.line, f"{what}: no layer of this profile reads {path}, where it is", hint)
        return
    hint = _target_hint(effect, inspection)
    if effect.action != "exclude" or hint.startswith("did you mean"):
        yield warning_finding(rule.path, rule.line, f"{what}: nothing in the workspace matches it", hint)


def _unread_file(effect: Effect, inspection: Inspection) -> str:
    """A file of the workspace that no layer reads and that has the target of an effect; empty for none."""
    value = effect.target.value
    if effect.target.kind in {"path", "heading-path"} or not value.strip():
        return ""
    word = re.compile(rf"(?<![\w-]){re.escape(value)}(?![\w-])")
    patterns = (pattern for pattern in WORKSPACE_PATTERNS if pattern not in _NOT_SHOWN)
    others = {path for pattern in patterns for path in inspection.workspace.list(pattern)}
    for path in sorted(others - {document.path for context in inspection.contexts for document in context.documents}):
        read = inspection.workspace.read(path)
        if isinstance(read, Document) and word.search(read.whole):
            return path
    return ""


_NOT_SHOWN = ("ctxasm.yaml", PROFILE_FILES, RULE_FILES)
"""Files of settings, which no layer shows."""


def _has_target(effect: Effect, inspection: Inspection) -> bool:
    target = effect.target
    if target.kind == "heading-path":
        document = included_file(inspection.workspace, target.value)
        return isinstance(document, Document) and section(document.text.split("\n"), target.heading) is not None
    if target.kind == "path":
        # `docs/**` is all below a folder for a rule, and lists no file.
        listed = f"{target.value}/*" if target.value.endswith("**") else target.value
        is_listed = inspection.workspace.list(listed) or list_archived(inspection.workspace, target.value)
        return bool(is_listed) or any(glob_matches(target.value, path) for path in inspection.documents)
    return any(is_target(target, item_facts(fragment)) for fragment in inspection.fragments)


def _target_hint(effect: Effect, inspection: Inspection) -> str:
    target = effect.target
    if target.kind == "path":
        return path_hint(target.value, inspection)
    if target.kind == "heading-path":
        document = inspection.documents.get(target.value)
        if document is None:
            return path_hint(target.value, inspection)
        titles = [title[1] for title in map(heading, document.text.split("\n")) if title]
        near = nearest(target.heading, titles)
    else:
        facts = (item_facts(fragment).get(target.kind, ()) for fragment in inspection.fragments)
        groups = ((fact,) if isinstance(fact, str) else fact for fact in facts)
        near = nearest(target.value, sorted({name for group in groups for name in group if name}))
    return f"did you mean {near}?" if near else "correct the name, or take it out of the rule"


# --- Conditions ------------------------------------------------------------------------------------------------------


def check_rule_conditions(inspection: Inspection) -> Iterator[Finding]:
    """Report conditions with values that their field never has, and conditions that no build can meet together."""
    for rule in inspection.enabled_rules:
        domains = field_domains(rule.when, inspection.agents, inspection.teams)
        faults = [(each, value) for each in rule.when for value in values_out_of_reach(each, domains[each.field])]
        for condition, value in faults:
            verb = "compares so" if condition.op in COMPARISONS else "matches"
            what = f"no value of {condition.field} {verb}"
            message = f"rule {rule.name}: {_condition_words(condition)}: {what}"
            if isinstance(condition.value, tuple) and len(condition.value) > 1:
                message += f" {value}"
            hint = _value_hint(condition, value, domains[condition.field])
            yield warning_finding(rule.path, condition.line, message, hint)
        for field, domain in domains.items():
            conditions = [condition for condition in rule.when if condition.field == field]
            is_reported = any(condition.field == field for condition, _ in faults)
            if not is_reported and not can_hold(conditions, domain):
                words = " and ".join(map(_condition_words, conditions))
                together = " together" * (len(conditions) > 1)
                hint = "change a condition, or take the rule out; `in` asks for any of several values"
                message = f"rule {rule.name}: {words} can never hold{together}"
                yield warning_finding(rule.path, conditions[0].line, message, hint)


def _condition_words(condition: Condition) -> str:
    """The condition in a message, such as `agent eq luna`."""
    if isinstance(condition.value, str):
        return f"{condition.field} {condition.op} {condition.value}".rstrip()
    values = f"[{', '.join(condition.value)}]"
    return f"task_contains {values}" if condition.op == "any_word" else f"{condition.field} {condition.op} {values}"


def _value_hint(condition: Condition, value: str, domain: FieldDomain) -> str:
    """Advice on a value that a field never has: the nearest one that it has, or its form."""
    if condition.field in _FORMS:
        return _FORMS[condition.field]
    if domain.values is None:
        return "write a number, or a day as YYYY-MM-DD"
    if near := nearest(value, domain.values):
        return f"did you mean {near}?"
    return f"choose one of: {list_names(domain.values)}" if domain.values else f"there is no {condition.field} yet"


_FORMS = {
    "date": "write a day of the calendar as YYYY-MM-DD",
    "changed": "write a path as git does: relative to the workspace, without `./`",
    "git.branch": "write the name of a branch; it has no blanks",
}
"""Advice on values of fields whose values are too many to name."""


# --- The values that a field can have in any build ------------------------------------------------------------------

USUAL_YEARS = range(2000, 2101)
"""Years that a condition on the date may mean without naming them."""

_INTENTS = (*(name for name, _ in INTENTS), intent(""))


def field_domains(
    conditions: Iterable[Condition], agents: Collection[str], teams: Collection[str]
) -> Mapping[str, FieldDomain]:
    """The domain of each field that the conditions of a rule test, in a workspace with these agents and teams."""
    by_field = grouped((condition.field, condition) for condition in conditions)
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
    if field == "changed":  # As git names it: relative, and without detours.
        return FieldDomain(None, is_list=True, is_value=lambda text: not {"", ".", ".."} & {*text.split("/")})
    if field == "git.branch":
        return FieldDomain(None, is_value=lambda text: bool(re.fullmatch(r"\S+", text)))
    return FieldDomain(None, is_value=bool)


def _days(tests: Sequence[Condition]) -> list[str]:
    """The days of the years that conditions name, of the years next to them and of the usual ones, as YYYY-MM-DD."""
    texts = [text for test in tests for text in (test.value if isinstance(test.value, tuple) else (test.value,))]
    named = {int(digits.ljust(4, "0")) for text in texts for digits in re.findall(r"[0-9]+", text) if len(digits) < 5}
    years = {near for year in named for near in (year - 1, year, year + 1) if 0 < near <= MAXYEAR}
    spans = ((date(year, 1, 1), date(year, 12, 31)) for year in (*sorted(years), *USUAL_YEARS))
    numbers = (number for first, last in spans for number in range(first.toordinal(), last.toordinal() + 1))
    return [date.fromordinal(number).isoformat() for number in numbers]
