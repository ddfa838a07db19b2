"""Checks of rules: targets that nothing in the workspace is, and conditions with values that their field never has.

Whether a rule fires today makes no difference.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from contextasm.checks.finding import Finding, note_finding, warning_finding
from contextasm.checks.inspection import Inspection
from contextasm.checks.names import path_hint
from contextasm.config.rules.facts import WEEKDAYS
from contextasm.model import Condition, Document, Effect, Rule
from contextasm.retrieval.reading.query_signals import INTENTS, intent
from contextasm.rules.apply import included_file, item_facts, section
from contextasm.rules.evaluate import NEGATIONS, OPERATORS, evaluate, is_target
from contextasm.text.markdown.blocks import heading
from contextasm.text.names.dates import parse_date
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
                    yield note_finding(rule.path, rule.line, message, "ignore this if the rule is for another profile")
                continue
            if not _has_target(effect, inspection):
                yield from _missing_target(rule, effect, inspection)


def _missing_target(rule: Rule, effect: Effect, inspection: Inspection) -> Iterator[Finding]:
    """The finding on a target that no layer finds; an exclusion may have nothing to exclude, if it is not a slip."""
    what = f"rule {rule.name}: {effect.action} {effect.target}"
    if path := _unread_file(effect, inspection):
        hint = "ignore this if the rule is for another profile"
        yield note_finding(rule.path, rule.line, f"{what}: it is in {path}, which no layer of this profile reads", hint)
        return
    hint = _target_hint(effect, inspection)
    if effect.action != "exclude" or hint.startswith("did you mean"):
        yield warning_finding(rule.path, rule.line, f"{what}: nothing in the workspace matches", hint)


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
    return f"did you mean {near}?" if near else "correct the name, or remove it from the rule"


# --- Conditions ------------------------------------------------------------------------------------------------------

_INTENTS = (*(name for name, _ in INTENTS), intent(""))

_OF_WHOLE_VALUES = {"eq", "neq", "in", "not_in", "gt", "gte", "lt", "lte"}
"""Operators that compare a whole value, not a part of it."""


def check_rule_conditions(inspection: Inspection) -> Iterator[Finding]:
    """Report conditions with a value that their field never has: a field of few values, or the date."""
    known = {"agent": inspection.agents, "team": inspection.teams, "task.intent": _INTENTS, "weekday": WEEKDAYS}
    for rule in inspection.enabled_rules:
        for condition in rule.when:
            names = known.get(condition.field)
            values = condition.value if isinstance(condition.value, tuple) else (condition.value,)
            for value in values:
                if _can_match(condition, value, names):
                    continue
                message = f"rule {rule.name}: {_condition_words(condition)}: no value of {condition.field} matches"
                message += f" {value}" * (len(values) > 1)
                yield warning_finding(rule.path, condition.line, message, _value_hint(condition.field, value, names))


def _can_match(condition: Condition, value: str, names: Collection[str] | None) -> bool:
    """Whether a field may have what a condition says of a value; `names` are all its values, None if there are more."""
    if condition.op in {"exists", "not_exists"}:
        return True
    if condition.field == "date":
        return condition.op not in _OF_WHOLE_VALUES or parse_date(value) is not None
    test = OPERATORS[NEGATIONS.get(condition.op, condition.op)]
    # A pattern that takes too long may match.
    return names is None or any(test((name,), (value,)) not in {"no-match", "not-a-number"} for name in names)


def _condition_words(condition: Condition) -> str:
    """The condition in a message, such as `agent eq luna`."""
    if isinstance(condition.value, str):
        return f"{condition.field} {condition.op} {condition.value}".rstrip()
    values = f"[{', '.join(condition.value)}]"
    return f"task_contains {values}" if condition.op == "any_word" else f"{condition.field} {condition.op} {values}"


def _value_hint(field: str, value: str, names: Collection[str] | None) -> str:
    """Advice on a value that a field never has: the nearest one that it has, or its form."""
    if names is None:
        return "write a day of the calendar as YYYY-MM-DD"
    if near := nearest(value, names):
        return f"did you mean {near}?"
    return f"choose one of: {list_names(names)}" if names else f"there is no {field} yet"
