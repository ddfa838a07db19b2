"""Checks of the budget: layers that are truncated, layers that get nothing, and limits that are nearly reached.

They look at the build of each agent with each team. Figures are only in the hints: in a message they would make a
new finding of an old one with every word that is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from contextasm.checks.finding import Finding, error_finding, note_finding, warning_finding
from contextasm.checks.inspection import Inspection
from contextasm.config.input.settings import FILE
from contextasm.model import Context, Decision, Layer, LayerUsage, NamedTuple, Rule, Target, grouped
from contextasm.text.names.matching import list_names

NEAR_LIMIT = 0.9
"""Share of a limit from which on the limit is nearly reached."""

MAX_NAMED_BUILDS = 3
"""Number of builds that a finding names; it counts the others."""


class _Case(NamedTuple):
    """A layer that reaches, or nearly reaches, its limit in one build."""

    context: Context
    layer: Layer
    """With the cap of a rule as its limit."""
    wanted: int
    """Tokens."""
    limit: int
    """Tokens."""
    path: str = ""
    line: int = 0
    capped_by: Rule | None = None
    """The rule that sets the layer's own limit."""

    @property
    def own_limit(self) -> int | None:
        """The lower of the layer's `max_tokens` and `share`, in tokens; None without either."""
        limits = self.layer.limits
        share = None if limits.share is None else int(self.context.request.budget * limits.share / 100)
        return min((limit for limit in (limits.max_tokens, share) if limit is not None), default=None)


def check_over_budget(inspection: Inspection) -> Iterator[Finding]:
    """Report required layers that are larger than the whole budget."""
    cases = []
    for context in inspection.contexts:
        if any(problem.code == "over-budget" for problem in context.problems):
            required = [decision for decision in context.decisions if decision.reason.code == "required"]
            path = _longest(required).path
            cases.append(_Case(context, Layer(""), context.tokens, context.request.budget, path))
    for case, builds in _worst_cases(cases):
        excess = _token_count(case.wanted - case.limit)
        hint = f"shorten this file by {excess}, or set `budget` to {_sufficient_limit(case.wanted)} ({builds})"
        message = "the required layers are larger than the budget, so nothing else is shown"
        yield error_finding(case.path, 0, message, hint)


def check_near_budget(inspection: Inspection) -> Iterator[Finding]:
    """Report documents that nearly fill the budget, and layers that nearly fill their own limit."""
    yield from _nearly_full_documents(inspection)
    cases = []
    for case, usage, decisions in _layers_of_builds(inspection):
        limit = case.own_limit
        is_near = limit and NEAR_LIMIT * limit <= usage.wanted <= limit and usage.used == usage.wanted
        if limit and is_near and not case.layer.limits.grow:
            cases.append(case._replace(path=_longest(decisions).path, limit=limit))
    for case, builds in _worst_cases(cases):
        hint = f"it takes {case.wanted:,} of {_token_count(case.limit)} ({builds}): {_room_hint(case)} before it is cut"
        yield warning_finding(case.path, 0, f"layer {_layer_title(case.layer)} is nearly full", hint)


def _longest(decisions: Iterable[Decision]) -> Decision:
    return max(decisions, key=lambda decision: decision.tokens_after)


def _nearly_full_documents(inspection: Inspection) -> Iterator[Finding]:
    path, line = inspection.budget_location
    cases = [
        _Case(context, Layer(""), context.tokens, context.request.budget, path)
        for context in inspection.contexts
        if NEAR_LIMIT * context.request.budget <= context.tokens <= context.request.budget
        and not any(_is_cut_by(decision, "budget") for decision in context.decisions)
    ]
    for case, builds in _worst_cases(cases):
        usage = f"it takes {case.wanted:,} of {_token_count(case.limit)} ({builds})"
        hint = f"{usage}: raise `budget`, or shorten the longest texts"
        yield warning_finding(path, line, "the document nearly fills the budget", hint)


def check_truncated(inspection: Inspection) -> Iterator[Finding]:
    """Report layers that are shown in part, at the first place that is left out."""
    cases = []
    for case, _, decisions in _layers_of_builds(inspection):
        first_cut = next((decision for decision in decisions if _is_cut(decision)), None)
        if first_cut and any(section.layer == case.layer.id for section in case.context.sections):
            line = first_cut.kept[-1][1] + 1 if first_cut.kept else first_cut.lines[0]
            line = min(line, first_cut.lines[1])
            cases.append(case._replace(path=first_cut.path, line=line))
    for case, builds in _worst_cases(cases):
        # Logs give way to newer ones day by day: at their own limit that is what the limit is for.
        has_logs = any(source.is_log and source.is_running_text for source in case.layer.query.traits)
        make_finding = note_finding if has_logs and case.limit == case.own_limit else warning_finding
        hint = f"it needs {_token_count(case.wanted)} and may take {case.limit:,} ({builds}): {_room_hint(case)}"
        yield make_finding(case.path, case.line, f"layer {_layer_title(case.layer)} is cut here", hint)


def _is_cut(decision: Decision) -> bool:
    return decision.reason.code in {"over-allowance", "no-room", "starved"}


def _is_cut_by(decision: Decision, limit: str) -> bool:
    return _is_cut(decision) and dict(decision.reason.facts).get("limit") == limit


def check_starved(inspection: Inspection) -> Iterator[Finding]:
    """Report layers that have fragments and no room for any of them."""
    cases = []
    for case, _, decisions in _layers_of_builds(inspection):
        subjects = {problem.path for problem in case.context.problems if problem.code in {"starved", "no-room"}}
        if case.layer.id in subjects:
            first_cut = next(decision for decision in decisions if _is_cut(decision))
            cases.append(case._replace(path=first_cut.path))
    for case, builds in _worst_cases(cases):
        is_own_limit = case.limit == case.own_limit
        cause = "its limit is too small for one line" if is_own_limit else "the layers before it leave no room"
        hint = f"it needs {_token_count(case.wanted)} and may take {case.limit:,} ({builds}): {_room_hint(case)}"
        if not is_own_limit:
            hint += f", or set its `reserve` in `layers` of {FILE}"
        yield warning_finding(case.path, 0, f"layer {_layer_title(case.layer)} gets nothing: {cause}", hint)


def _layers_of_builds(inspection: Inspection) -> Iterator[tuple[_Case, LayerUsage, Sequence[Decision]]]:
    """Each layer in each build, as a case of no file, with its use of the budget and its decisions."""
    # Required layers are left out, and files that no layer reads but a rule includes: they have no limit to reach.
    by_id = {layer.id: layer for layer in inspection.prepared.build.profile.layers} if inspection.prepared else {}
    for context in inspection.contexts:
        decisions = grouped((decision.layer, decision) for decision in context.decisions)
        for usage in context.allowances:
            layer = by_id.get(usage.layer)
            if layer and usage.wanted and not layer.limits.required:
                tokens, rule = _smallest_cap(inspection, context, layer)
                capped = layer._replace(limits=layer.limits._replace(max_tokens=tokens))
                case = _Case(context, capped, usage.wanted, usage.limit or 0, capped_by=rule)
                yield case, usage, decisions[layer.id]


def _smallest_cap(inspection: Inspection, context: Context, layer: Layer) -> tuple[int | None, Rule | None]:
    """The smallest cap of a layer by a rule that fired, with the rule, if it is below the layer's `max_tokens`."""
    fired = {trace.rule for trace in context.rule_traces if trace.fired}
    rules = [rule for rule in inspection.enabled_rules if rule.name in fired]
    target = Target("layer", layer.id)
    effects = [(effect, rule) for rule in rules for effect in rule.effects]
    caps = [(int(effect.value), rule) for effect, rule in effects if (effect.action, effect.target) == ("cap", target)]
    own = layer.limits.max_tokens
    smallest = min(caps, key=lambda cap: cap[0], default=None)
    return smallest if smallest and (own is None or smallest[0] < own) else (own, None)


def _room_hint(case: _Case) -> str:
    limits = case.layer.limits
    if case.capped_by and case.limit == limits.max_tokens:
        rule = case.capped_by
        cap = f"set the cap of rule {rule.name} to {_sufficient_limit(case.wanted)} or more"
        increase = f"{cap} ({rule.path}:{rule.line})"
    elif limits.max_tokens is not None and case.limit == limits.max_tokens:
        increase = f"set its `max_tokens` to {_sufficient_limit(case.wanted)} or more in `layers` of {FILE}"
    elif limits.share is not None and case.limit == case.own_limit:
        increase = f"set its `share` higher in `layers` of {FILE}"
    elif any(each.layer == case.layer.id and _is_cut_by(each, "max_chars") for each in case.context.decisions):
        increase = f"set its `max_chars` higher in `layers` of {FILE}"
    else:
        increase = "raise `budget`"
    excess = case.wanted - case.limit
    return f"remove {_token_count(excess)}, or {increase}" if excess > 0 else increase


def _worst_cases(cases: Iterable[_Case]) -> Iterator[tuple[_Case, str]]:
    """The worst case of each layer and file, and the names of the builds that have one: one finding for all builds."""
    groups = grouped(((case.layer.id, case.path), case) for case in cases)
    for group in groups.values():
        # By name among equals: the order of the agents on the disk must not show.
        worst = max(group, key=lambda case: case.wanted - case.limit)
        requests = [case.context.request for case in group]
        owners = ["/".join(filter(None, (request.agent, request.team))) for request in requests]
        yield worst, f"for {list_names([*filter(None, owners)], MAX_NAMED_BUILDS) or 'every build'}"


def _layer_title(layer: Layer) -> str:
    return f"{layer.id} ({layer.heading[0]})" if len(layer.heading) == 1 else layer.id


def _token_count(count: int) -> str:
    return f"{count:,} token{'s' * (count != 1)}"


def _sufficient_limit(tokens: int) -> str:
    # Room for a tenth more, rounded up to hundreds.
    return f"{-(-tokens * 11 // 1000) * 100}"
