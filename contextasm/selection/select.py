"""Select: the fragments that enter the context, whole or shortened, under a hard limit.

Amounts are in the counter's units, which add up; tokens are computed from them at the end. Nothing is worded here: the
section format says what surrounds a section, so that headings, blank lines and markers are paid for.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from contextasm.model import Fragment, Layer, Profile, SectionFormat, Selection, Summarizer, TokenCounter
from contextasm.selection.allocation import (
    Allowance,
    Demand,
    LayerInput,
    LayerResult,
    allowance_of,
    charge,
    demand_of,
    fixed_limits,
    growth_allowance,
    held_units,
    in_turn,
    is_stable,
    loses_no_line,
)
from contextasm.selection.decisions import (
    emitted_sections,
    layer_decisions,
    layer_problems,
    layer_usage,
    over_budget_problem,
)
from contextasm.selection.expand import expand
from contextasm.selection.overflow import overflow
from contextasm.selection.pins_that_fit import with_pins_that_fit
from contextasm.selection.shared_room import KeepTop, other_part, own_part, without_shown


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
