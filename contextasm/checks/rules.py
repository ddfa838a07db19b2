"""Check of rules: targets that nothing in the workspace can be, for any agent, whether the rule fires today or not."""

from __future__ import annotations

from collections.abc import Iterator

from contextasm.checks.finding import Finding
from contextasm.checks.inspection import Inspection, note_finding, warning_finding
from contextasm.model import ContextasmError, Document, Effect, Fragment, Rule
from contextasm.retrieval.retrieve import retrieve
from contextasm.rules.apply import item_facts
from contextasm.rules.evaluate import evaluate, is_target
from contextasm.rules.pins import section
from contextasm.text.glob import glob_matches


def check_rule_targets(inspection: Inspection) -> Iterator[Finding]:
    """Report targets of rules that match no file, memory, event, entity or layer."""
    prepared = inspection.prepared
    if not prepared or not prepared.build.rules:
        return
    rules = [rule for rule, _ in prepared.build.rules.verdicts if rule.enabled]
    # A missing inclusion of a rule that fires is a problem of the build.
    fired = {trace.rule for context in inspection.contexts for trace in context.rule_traces if trace.fired}
    fragments: list[Fragment] | None = None
    for rule in rules:
        for effect in _effects(rule):
            if effect.action == "always_include" and rule.name in fired:
                continue
            if effect.target.kind == "layer":
                if effect.target.value not in {layer.id for layer in prepared.build.profile.layers}:
                    message = f"rule {rule.name}: {effect.action} {effect.target}: this profile has no such layer"
                    yield note_finding(rule.path, rule.line, message, "leave it if the rule serves another profile")
                continue
            if effect.target.kind not in {"path", "heading-path"} and fragments is None:
                fragments = _all_fragments(inspection)
            if not _has_target(effect, inspection, fragments or []):
                message = f"rule {rule.name}: {effect.action} {effect.target}: nothing in the workspace is that"
                yield warning_finding(rule.path, rule.line, message, "put the name right, or take it out of the rule")


def _effects(rule: Rule) -> tuple[Effect, ...]:
    """The effects of a rule as if it fired."""
    return evaluate([rule._replace(when=())], {}).effects


def _all_fragments(inspection: Inspection) -> list[Fragment]:
    """The fragments that the layers find for every agent and team, without a topic."""
    assert inspection.prepared
    build = inspection.prepared.in_full._replace(workspace=inspection.workspace)
    fragments: list[Fragment] = []
    for context in inspection.contexts:
        try:
            results = retrieve(build._replace(request=context.request))
        except ContextasmError:
            continue  # a required file that can't be read: it is among the problems
        fragments += [fragment for result in results.values() for fragment in result.fragments]
    return fragments


def _has_target(effect: Effect, inspection: Inspection, fragments: list[Fragment]) -> bool:
    target = effect.target
    if target.kind == "heading-path":
        document = inspection.workspace.read(target.value)
        return isinstance(document, Document) and section(document.text.split("\n"), target.heading) is not None
    if target.kind == "path":
        is_listed = bool(inspection.workspace.list(target.value))
        return is_listed or any(glob_matches(target.value, path) for path in inspection.documents)
    return any(is_target(target, item_facts(fragment)) for fragment in fragments)
