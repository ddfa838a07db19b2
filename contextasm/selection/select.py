"""Select: the fragments that enter the context, whole or shortened, under a hard limit.

Amounts are in the counter's units, which add up; tokens are computed from them at the end. Nothing is worded here: the
section format says what surrounds a section, so that headings, blank lines and markers are paid for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from contextasm.model import (
    PIN_FIELD,
    Decision,
    Fact,
    Fragment,
    Layer,
    LayerUsage,
    Problem,
    Profile,
    Reason,
    Section,
    SectionFormat,
    Selection,
    Summarizer,
    TokenCounter,
    Verdict,
)
from contextasm.selection.allocation import (
    Allowance,
    Demand,
    KeepTop,
    LaidOutSection,
    LayerInput,
    LayerResult,
    allowance_of,
    charge,
    demand_of,
    fixed_limits,
    growth_allowance,
    held_units,
    in_turn,
    is_pinned,
    is_stable,
    loses_no_line,
    other_part,
    own_part,
    units_of,
    without_shown,
)
from contextasm.selection.detail import LEVELS
from contextasm.selection.layout import Excerpt, shown_text, source_span, whole_excerpt
from contextasm.selection.overflow import expand, overflow


def emitted_sections(result: LayerResult) -> list[Section]:
    """The sections of a layer that are emitted."""
    layer_input = result.layer_input
    return [
        Section(
            layer=layer_input.layer.id,
            heading=heading,
            text=section.text,
            tokens=layer_input.counter.tokens(section.units),
            truncated=_is_truncated(section, len(layer_input.sections[heading])),
            stable=layer_input.stable,
        )
        for heading, section in result.selected.items()
    ]


def _is_truncated(section: LaidOutSection, candidates: int) -> bool:
    """Whether a fragment of the section is cut or shortened, or one of its candidates is missing."""
    return len(section.excerpts) < candidates or not all(excerpt.whole for excerpt in section.excerpts)


def layer_decisions(result: LayerResult) -> list[Decision]:
    """One decision for each fragment of a layer."""
    excerpts = {
        (heading, excerpt.fragment.id): excerpt
        for heading, section in result.selected.items()
        for excerpt in section.excerpts
    }
    return [
        _decision(result, fragment, excerpts.get((fragment.display.heading, fragment.id)))
        for fragment in result.layer_input.candidates
    ]


def _decision(result: LayerResult, fragment: Fragment, excerpt: Excerpt | None) -> Decision:
    count = result.layer_input.counter.count
    before = None if fragment.verdict.excluded else count(shown_text(whole_excerpt(fragment)))
    after = 0 if excerpt is None else before if excerpt.whole and before else count(shown_text(excerpt))
    return Decision(
        fragment=fragment.id,
        layer=result.layer_input.layer.id,
        path=fragment.location.path,
        lines=source_span(fragment) if fragment.location.line else (0, 0),
        reason=fragment.verdict.excluded or _reason(result, excerpt),
        tokens_before=before,
        tokens_after=after,
        kept=excerpt.spans if excerpt else (),
        score=fragment.score,
        boosted_by=fragment.verdict.boosted_by,
    )


def _reason(result: LayerResult, excerpt: Excerpt | None) -> Reason:
    """The reason why a fragment that is not excluded is shown as it is."""
    layer_input = result.layer_input
    if layer_input.layer.limits.required:
        return Reason("required")
    if excerpt and excerpt.whole:
        return _reason_of_whole(excerpt.fragment.verdict)
    if excerpt and excerpt.form == layer_input.layer.overflow.detail:
        return Reason.of("level", level=excerpt.form)
    facts: dict[str, Fact] = {
        "allowance": layer_input.counter.tokens(result.allowance.units),
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

    A section is counted with the blank line behind it, which the last one does not have: that one may be a token above
    the budget where the document is not.
    """
    layer, counter = result.layer_input.layer, result.layer_input.counter
    wanted, used = counter.tokens(result.wanted), counter.tokens(result.used)
    if layer.limits.required:
        return LayerUsage(layer.id, None, wanted, used)
    return LayerUsage(layer.id, min(budget, counter.tokens(result.allowance.units)), wanted, min(budget, used))


def layer_problems(result: LayerResult) -> list[Problem]:
    """The problems of a layer: a summarizer that failed, and candidates of which nothing could be shown."""
    return [*result.problems, *_nothing_shown(result)]


def _nothing_shown(result: LayerResult) -> list[Problem]:
    layer, counter = result.layer_input.layer, result.layer_input.counter
    if result.selected or not result.wanted or layer.limits.max_tokens == 0:
        return []
    wanted, room = counter.tokens(result.wanted), counter.tokens(result.allowance.units)
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


def with_pins_that_fit(demands: Sequence[Demand], room: int) -> tuple[list[Demand], list[Problem]]:
    """The demands with as many of their pins as fit the room together.

    Pins of the last rule in the order of precedence give way first; of one rule, the last in the document.
    """
    fitting, problems = [*demands], list[Problem]()
    while (pins := [*_pins(fitting)]) and sum(units_of(demand.pinned) for demand in fitting) > room:
        number, last = max(pins, key=lambda pin: pin[1].verdict.pin_rank)
        given = fitting[number].layer_input
        unpinned = last._replace(verdict=last.verdict._replace(pinned_by=""))
        candidates = tuple(unpinned if fragment is last else fragment for fragment in given.candidates)
        fitting[number] = demand_of(given.with_candidates(candidates))
        pinned_by = last.verdict.pinned_by
        pinner = f"its field {PIN_FIELD}" if pinned_by == PIN_FIELD else f"rule {pinned_by}"
        message = f"{pinner} includes it, and the budget has no room for all of it"
        problems.append(Problem("pin-dropped", last.location.path, last.location.line, message))
    return fitting, problems


def _pins(demands: Sequence[Demand]) -> Iterator[tuple[int, Fragment]]:
    # From the end of the document: the first of several pins of one rule is the last in the document.
    for number, demand in reversed([*enumerate(demands)]):
        for fragment in reversed(demand.layer_input.candidates) if demand.pinned else ():
            if is_pinned(fragment) and fragment.verdict.excluded is None:
                yield number, fragment


class Budget(NamedTuple):
    """Size of the document."""

    tokens: int
    """As requested."""
    spare: int = 0
    """Tokens of it that must stay free: exact counts of the parts may add up to less than the whole's."""


def select(
    profile: Profile,
    candidates: Mapping[str, Sequence[Fragment]],
    budget: Budget,
    counter: TokenCounter,
    section_format: SectionFormat,
    keep_top: KeepTop,
    summarizer: Summarizer | None = None,
) -> Selection:
    """The sections that are shown of the ranked candidates (by layer id), and one decision for each candidate.

    `keep_top` is asked for every layer: of one within another, once it is known what that one shows.

    Required layers are whole whatever the budget says; all others share the room that they leave.
    """
    demands = []
    ids = {layer.id for layer in profile.layers}
    for layer in profile.layers:
        given = candidates[layer.id]
        kept = given if layer.limits.within in ids else keep_top(given, layer)
        empty = LayerInput(layer, (), {}, is_stable(layer, profile), counter, section_format, summarizer)
        demands.append(demand_of(empty.with_candidates(kept)))
    last_line_end = _last_line_end(counter)
    total = (budget.tokens - budget.spare) * counter.units_per_token + last_line_end
    required = sum(demand.units for demand in demands if demand.layer.limits.required)
    is_over_budget = required > budget.tokens * counter.units_per_token + last_line_end
    demands, pin_problems = with_pins_that_fit(demands, total - required)
    ordered_demands = in_turn(demands, total, counter.units_per_token)
    results = _let_grow(ordered_demands, _fill(ordered_demands, total, required, keep_top), total)
    ordered = [results[layer.id] for layer in profile.layers]
    if profile.fill:
        ordered = expand(ordered, _expansion_limits(results, total), int(total * profile.fill / 100), total)
    problems = [over_budget_problem(required - last_line_end, budget.tokens, counter)] if is_over_budget else []
    return Selection(
        sections=tuple(section for result in ordered for section in emitted_sections(result)),
        decisions=tuple(decision for result in ordered for decision in layer_decisions(result)),
        allowances=tuple(layer_usage(result, budget.tokens) for result in ordered),
        problems=(*problems, *pin_problems, *(problem for result in ordered for problem in layer_problems(result))),
    )


def _fill(demands: Sequence[Demand], total: int, charged: int, keep_top: KeepTop) -> dict[str, LayerResult]:
    """The results of layers that take their room in this order, by layer id; `charged` is taken by required ones."""
    results: dict[str, LayerResult] = {}
    rooms: dict[str, Allowance] = {}
    sharing = _sharing_layers(demand.layer for demand in demands)
    for number, given in enumerate(demands):
        layer, behind, host = given.layer, demands[number + 1 :], given.layer.limits.within
        units_per_token = given.layer_input.counter.units_per_token
        if host in rooms:
            demand = without_shown(given, results[host], keep_top)
            allowance = other_part(demand, rooms[host], fixed_limits(layer, total, units_per_token))
        else:
            demand, later = given, held_units(given, behind, total - charged)
            allowance = allowance_of(demand, total, units_per_token, charged, later)
            if layer.id in sharing:
                rooms[layer.id], allowance = allowance, own_part(demand, allowance)
        result = overflow(demand, allowance)
        charged += 0 if layer.limits.required else charge(result, [other.layer for other in behind])
        results[layer.id] = result
    return results


def _let_grow(demands: Sequence[Demand], results: Mapping[str, LayerResult], total: int) -> dict[str, LayerResult]:
    """The results after the layers that want more have taken the room that is left, in the same order.

    A layer that must lose no line takes none of it, and neither does one before such a layer: the room left is not
    always more where the budget is larger. Two layers that share a room have what it holds.
    """
    grown = {**results}
    sharing = _sharing_layers(demand.layer for demand in demands)
    for number, demand in enumerate(demands):
        result = grown[demand.layer.id]
        is_bound = any(loses_no_line(other.layer) for other in demands[number:])
        if (
            is_bound
            or demand.layer.limits.required
            or demand.layer.id in sharing
            or demand.units <= result.allowance.units
        ):
            continue
        allowance = growth_allowance(demands, number, grown, total)
        if allowance.units > result.allowance.units:
            larger = overflow(demand, allowance)
            grown[demand.layer.id] = larger if larger.used >= result.used else result
    return grown


def _expansion_limits(results: Mapping[str, LayerResult], total: int) -> dict[str, int]:
    """Units that each layer may grow to, by id: the limits that others' use can't change.

    A ceiling counts every layer before it, so under one nothing may grow any more.
    """
    sharing = _sharing_layers([result.layer_input.layer for result in results.values()])
    capped = any(result.layer_input.layer.limits.ceiling is not None for result in results.values())
    limits = {}
    for name, result in results.items():
        layer, counter = result.layer_input.layer, result.layer_input.counter
        fixed = [limit.units for limit in fixed_limits(layer, total, counter.units_per_token, growing=True)]
        limits[name] = min([result.allowance.units if capped or name in sharing else total, *fixed])
    return limits


def _sharing_layers(layers: Iterable[Layer]) -> set[str]:
    """Ids of the layers that share a room with another one that is there."""
    ids = {layer.id: layer.limits.within for layer in layers}
    pairs = ((layer, host) for layer, host in ids.items() if host in ids)
    return {layer for pair in pairs for layer in pair}


def _last_line_end(counter: TokenCounter) -> int:
    """Units by which the document is smaller than its sections: the blank line behind the last one goes."""
    return counter.units("\n\n") - counter.units("\n")
