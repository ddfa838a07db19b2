"""Checks of room: what is cut, what gets nothing, and what will soon, in the build of each agent with each team.

Figures stand in the remedies. In a message they would make a new finding of an old one with every word that is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from contextasm.checks.finding import Finding
from contextasm.checks.inspection import Inspection, error_finding, warning_finding
from contextasm.config.settings import FILE
from contextasm.model import Context, Decision, Layer, LayerUsage

SOFT = 0.9
"""The share of a limit from which on it counts as nearly reached."""

NAMED = 3
"""How many builds a finding names before it only counts them."""


class _Case(NamedTuple):
    """What is wrong with a layer in one build."""

    context: Context
    layer: Layer
    path: str
    line: int
    wanted: int
    """Tokens."""
    limit: int


def check_over_budget(scene: Inspection) -> Iterator[Finding]:
    """Required layers that are larger than the whole budget."""
    cases = []
    for context in scene.contexts:
        if any(problem.code == "over-budget" for problem in context.problems):
            shown = [each for each in context.decisions if each.reason.code == "required"]
            path = max(shown, key=lambda each: each.tokens_after).path
            cases.append(_Case(context, Layer(""), path, 0, context.tokens, context.request.budget))
    for case, which in _merged(cases):
        hint = f"take {_tokens(case.wanted - case.limit)} out of it, or give `budget` {_above(case.wanted)} ({which})"
        yield error_finding(
            case.path, 0, "what is always shown is larger than the whole budget, so nothing else is", hint
        )


def check_near_budget(scene: Inspection) -> Iterator[Finding]:
    """Documents that all but fill the budget, and layers that all but fill their own limit."""
    yield from _near_total(scene)
    cases = []
    for context, layer, allowance, decisions in _layers(scene):
        limit = _own_limit(layer, context.request.budget)
        if limit and SOFT * limit <= allowance.wanted <= limit and allowance.used == allowance.wanted:
            path = max(decisions, key=lambda each: each.tokens_after).path
            cases.append(_Case(context, layer, path, 0, allowance.wanted, limit))
    for case, which in _merged(cases):
        hint = f"it takes {case.wanted:,} of {_tokens(case.limit)} ({which}): {_relief(case)} before it is cut"
        yield warning_finding(case.path, 0, f"layer {_title(case.layer)} is nearly full", hint)


def _near_total(scene: Inspection) -> Iterator[Finding]:
    """The finding of all documents that all but fill the budget, and lose nothing to it yet."""
    cases = [
        _Case(context, Layer(""), _budget_place(scene)[0], 0, context.tokens, context.request.budget)
        for context in scene.contexts
        if SOFT * context.request.budget <= context.tokens <= context.request.budget
        and not any(_is_cut(each) and dict(each.reason.facts).get("limit") == "budget" for each in context.decisions)
    ]
    for case, which in _merged(cases):
        hint = (
            f"it takes {case.wanted:,} of {_tokens(case.limit)} ({which}): raise `budget`, or shorten what is longest"
        )
        path, line = _budget_place(scene)
        yield warning_finding(path, line, "the document nearly fills the budget", hint)


def _budget_place(scene: Inspection) -> tuple[str, int]:
    """Where the budget is set, if that is in the workspace."""
    setting = scene.job.settings.get("budget") if scene.job else None
    path, _, line = (setting.origin if setting else "").partition(":")
    return (FILE, int(line)) if path == FILE and line.isdecimal() else ("", 0)


def check_truncated(scene: Inspection) -> Iterator[Finding]:
    """Layers of which a part is shown: the first place that is not."""
    cases = []
    for context, layer, allowance, decisions in _layers(scene):
        lost = next((each for each in decisions if _is_cut(each)), None)
        if lost and any(each.layer == layer.id for each in context.sections):
            line = lost.kept[-1][1] + 1 if lost.kept else lost.lines[0]
            limit = allowance.limit or 0
            cases.append(_Case(context, layer, lost.path, min(line, lost.lines[1]), allowance.wanted, limit))
    for case, which in _merged(cases):
        hint = f"it wants {case.wanted:,} of {_tokens(case.limit)} ({which}): {_relief(case)}"
        yield warning_finding(case.path, case.line, f"layer {_title(case.layer)} is cut here", hint)


def _is_cut(decision: Decision) -> bool:
    """Whether a fragment lost anything for want of room."""
    return decision.reason.code in {"over-allowance", "no-room", "starved"}


def check_starved(scene: Inspection) -> Iterator[Finding]:
    """Layers that found something and may show none of it."""
    cases = []
    for context, layer, allowance, decisions in _layers(scene):
        if any(each.path == layer.id and each.code in {"starved", "no-room"} for each in context.problems):
            lost = next(each for each in decisions if _is_cut(each))
            cases.append(_Case(context, layer, lost.path, 0, allowance.wanted, allowance.limit or 0))
    for case, which in _merged(cases):
        own = _own_limit(case.layer, case.context.request.budget) == case.limit
        why = "its own limit holds no line of it" if own else "the layers before it leave no room"
        hint = f"it wants {case.wanted:,} of {_tokens(case.limit)} ({which}): {_relief(case)}"
        if not own:
            hint += f", or hold room for it with `reserve` in `layers` of {FILE}"
        yield warning_finding(case.path, 0, f"layer {_title(case.layer)} gets nothing: {why}", hint)


def _layers(scene: Inspection) -> Iterator[tuple[Context, Layer, LayerUsage, list[Decision]]]:
    """Each layer of each build that wanted anything, with its decisions; required ones have no limit to reach."""
    by_id = {layer.id: layer for layer in scene.job.build.profile.layers} if scene.job else {}
    for context in scene.contexts:
        decisions: dict[str, list[Decision]] = {}
        for each in context.decisions:
            decisions.setdefault(each.layer, []).append(each)
        for allowance in context.allowances:
            layer = by_id[allowance.layer]
            if allowance.wanted and not layer.limits.required:
                yield context, layer, allowance, decisions[layer.id]


def _own_limit(layer: Layer, budget: int) -> int | None:
    """The least of the limits that are the layer's own, in tokens; None where it has none."""
    share = None if layer.limits.share is None else int(budget * layer.limits.share / 100)
    return min((limit for limit in (layer.limits.max_tokens, share) if limit is not None), default=None)


def _relief(case: _Case) -> str:
    """What makes room in a layer."""
    more = _above(case.wanted)
    if case.layer.limits.max_tokens is not None and case.limit == case.layer.limits.max_tokens:
        larger = f"set its `max_tokens` to {more} or more in `layers` of {FILE}"
    elif case.layer.limits.share is not None and case.limit == _own_limit(case.layer, case.context.request.budget):
        larger = f"set its `share` higher in `layers` of {FILE}"
    else:
        larger = "raise `budget`"
    excess = case.wanted - case.limit
    return f"take {_tokens(excess)} out, or {larger}" if excess > 0 else larger


def _merged(cases: Iterable[_Case]) -> Iterator[tuple[_Case, str]]:
    """The worst case of each layer and file, with the builds that it shows in: one finding, however many builds."""
    same: dict[tuple[str, str], list[_Case]] = {}
    for case in cases:
        same.setdefault((case.layer.id, case.path), []).append(case)
    for group in same.values():
        # By name among equals: the order of the agents on the disk must not show.
        worst = max(group, key=lambda case: case.wanted - case.limit)
        yield worst, _builds([case.context for case in group])


def _builds(contexts: Iterable[Context]) -> str:
    """The names of some builds, or how many they are."""
    named = ["/".join(filter(None, (each.request.agent, each.request.team))) for each in contexts]
    named = [name for name in named if name] or ["every build"]
    more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
    return "for " + ", ".join(named[:NAMED]) + more


def _title(layer: Layer) -> str:
    """A layer's id, with its heading where it has one alone."""
    return f"{layer.id} ({layer.heading[0]})" if len(layer.heading) == 1 else layer.id


def _tokens(count: int) -> str:
    """A number of tokens."""
    return f"{count:,} token{'s' * (count != 1)}"


def _above(tokens: int) -> str:
    """A round limit with room to grow."""
    return f"{-(-tokens * 11 // 1000) * 100}"
