"""Select: the fragments that enter the context, whole or shortened, under a hard limit.

Amounts are in the counter's units, which add up; tokens are computed from them at the end. Nothing is worded here: the
section format says what surrounds a section, so that headings, blank lines and markers are paid for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextasm.model import (
    PIN_FIELD,
    Decision,
    Fact,
    FormatSection,
    Fragment,
    LayerUsage,
    Marker,
    Problem,
    Profile,
    Reason,
    Section,
    Summarizer,
    TokenCounter,
    Verdict,
)
from contextasm.selection.allocation import LayerResult, allocate, is_stable, keep_top_k
from contextasm.selection.sections import LEVELS, Demand, Excerpt, shown_text, source_span, whole_excerpt


def emitted_sections(result: LayerResult) -> list[Section]:
    """The sections of a layer that are emitted."""
    demand = result.demand
    return [
        Section(
            layer=demand.layer.id,
            heading=heading,
            text=section.text,
            tokens=demand.counter.tokens(section.units),
            truncated=section.truncated,
            stable=demand.stable,
        )
        for heading, section in result.selected.items()
    ]


def layer_decisions(result: LayerResult) -> list[Decision]:
    """One decision for each fragment of a layer."""
    excerpts = {
        (heading, excerpt.fragment.id): excerpt
        for heading, section in result.selected.items()
        for excerpt in section.excerpts
    }
    return [
        _decision(result, fragment, excerpts.get((fragment.display.heading, fragment.id)))
        for fragment in result.demand.candidates
    ]


def _decision(result: LayerResult, fragment: Fragment, excerpt: Excerpt | None) -> Decision:
    counter = result.demand.counter
    is_whole = excerpt is not None and excerpt.whole
    lines = source_span(fragment) if fragment.location.line else (0, 0)
    kept = excerpt.spans if excerpt else ()
    before = None if fragment.verdict.excluded else counter.units(shown_text(whole_excerpt(fragment)))
    after = 0 if excerpt is None else before if is_whole and before else counter.units(shown_text(excerpt))
    return Decision(
        fragment=fragment.id,
        layer=result.demand.layer.id,
        path=fragment.location.path,
        lines=lines,
        reason=fragment.verdict.excluded or _reason(result, excerpt, is_whole=is_whole),
        tokens_before=None if before is None else counter.tokens(before),
        tokens_after=counter.tokens(after),
        kept=kept,
        score=fragment.score,
        boosted_by=fragment.verdict.boosted_by,
    )


def _reason(result: LayerResult, excerpt: Excerpt | None, *, is_whole: bool) -> Reason:
    """The reason why a fragment that is not excluded is shown as it is."""
    demand = result.demand
    if demand.layer.limits.required:
        return Reason("required")
    if excerpt and is_whole:
        return _reason_of_whole(excerpt.fragment.verdict)
    if excerpt and excerpt.form == demand.layer.overflow.detail:
        return Reason.of("level", level=excerpt.form)
    facts: dict[str, Fact] = {
        "allowance": demand.counter.tokens(result.allowance.units),
        "limit": result.allowance.by,
    }
    if excerpt and excerpt.form in LEVELS:
        return Reason.of("detail", level=excerpt.form, **facts)
    if excerpt and excerpt.form:
        return Reason.of("summarized", **facts)
    return Reason.of("over-allowance" if excerpt else "starved" if result.is_starved else "no-room", **facts)


def _reason_of_whole(verdict: Verdict) -> Reason:
    if verdict.pinned_by == PIN_FIELD:
        return Reason("pin")
    return Reason.of("pinned", rule=verdict.pinned_by) if verdict.pinned_by else Reason(verdict.note)


def layer_usage(result: LayerResult, budget: int) -> LayerUsage:
    """The layer's limit and use, in tokens, of a `budget`.

    A section is counted with the blank line after it, which the last one does not have: that one may be a token above
    the budget if the document is not.
    """
    layer, counter = result.demand.layer, result.demand.counter
    wanted, used = counter.tokens(result.demand.units), counter.tokens(result.used)
    if layer.limits.required:
        return LayerUsage(layer.id, None, wanted, used)
    return LayerUsage(layer.id, min(budget, counter.tokens(result.allowance.units)), wanted, min(budget, used))


def layer_problems(result: LayerResult) -> list[Problem]:
    """The problems of a layer: a summarizer that failed, and candidates of which nothing could be shown."""
    return [*result.problems, *_nothing_shown(result)]


def _nothing_shown(result: LayerResult) -> list[Problem]:
    layer, counter = result.demand.layer, result.demand.counter
    if result.selected or not result.demand.units or layer.limits.max_tokens == 0:
        return []
    wanted, room = counter.tokens(result.demand.units), counter.tokens(result.allowance.units)
    if result.is_starved:
        return [Problem("starved", layer.id, 0, f"got nothing of {wanted} tokens: the layers before it left {room}")]
    if result.allowance.by == "within":
        part = f"{room}, its part of the room of {layer.limits.within},"
        message = f"got nothing of {wanted} tokens: {part} holds no line of it"
        return [Problem("no-room", layer.id, 0, message)]
    return [Problem("no-room", layer.id, 0, f"got nothing of {wanted} tokens: its limit of {room} holds no line of it")]


def over_budget_problem(required: int, budget: int, counter: TokenCounter) -> Problem:
    """The problem of required layers that exceed the budget by themselves."""
    message = f"required layers take {counter.tokens(required)} tokens of {budget}; nothing else was let in"
    return Problem("over-budget", "budget", 0, message)


def select(
    profile: Profile,
    candidates: Mapping[str, Sequence[Fragment]],
    budget: int,
    spare: int,
    counter: TokenCounter,
    format_section: FormatSection,
    marker: Marker,
    summarizer: Summarizer | None = None,
) -> tuple[tuple[Section, ...], tuple[Decision, ...], tuple[LayerUsage, ...], tuple[Problem, ...]]:
    """The sections that are shown of the ranked candidates (by layer id), and one decision for each candidate.

    With the limit, demand and use of each layer, and the problems of selection.

    Required layers are whole whatever the budget says; all others share the room that they leave. `spare` are the
    tokens of the budget that must stay free: exact counts of the parts may add up to less than the whole's.
    """
    demands = []
    ids = {layer.id for layer in profile.layers}
    for layer in profile.layers:
        empty = Demand(layer, counter, format_section, marker, summarizer, is_stable(layer, profile))
        # Of a layer within another, the first are known once it is known what that one shows.
        is_within = layer.limits.within in ids
        demands.append(empty.with_candidates(keep_top_k(candidates[layer.id], 0 if is_within else layer.ranking.top)))
    last_line_end = _last_line_end(counter)
    total = (budget - spare) * counter.units_per_token + last_line_end
    required = sum(demand.units for demand in demands if demand.layer.limits.required)
    is_over_budget = required > budget * counter.units_per_token + last_line_end
    ordered, pin_problems = allocate(profile, demands, total, required)
    problems = [over_budget_problem(required - last_line_end, budget, counter)] if is_over_budget else []
    return (
        tuple(section for result in ordered for section in emitted_sections(result)),
        tuple(decision for result in ordered for decision in layer_decisions(result)),
        tuple(layer_usage(result, budget) for result in ordered),
        (*problems, *pin_problems, *(problem for result in ordered for problem in layer_problems(result))),
    )


def _last_line_end(counter: TokenCounter) -> int:
    """Units by which the document is smaller than its sections: the blank line after the last one goes."""
    return counter.units("\n\n") - counter.units("\n")
