"""Selection across layers: scores decide which fragments of several layers enter, within the limits of each layer.

Other steps than `drop` come later, in the room that is left. Amounts are in the counter's units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from contextasm.model import TITLE, Layer, grouped
from contextasm.selection.limits import binds, fixed_limits
from contextasm.selection.overflow import SelectedByLayer
from contextasm.selection.sections import Demand, Excerpt, excerpts_of, shown_text, units_of

Candidate = tuple[Demand, Excerpt]
"""A fragment that may enter, with its layer."""


def layers_across(layers: Sequence[Layer]) -> frozenset[str]:
    """Ids of the layers whose fragments are selected together by their scores.

    They rank by score, drop what does not fit, and have a place in no other order: none is required, under a ceiling,
    of a room that two layers share, or of a rank that a rule gives it.
    """
    hosts = {layer.limits.within for layer in layers}
    return frozenset(layer.id for layer in layers if _is_by_score(layer) and layer.id not in hosts)


def _is_by_score(layer: Layer) -> bool:
    limits, steps = layer.limits, layer.overflow.steps
    has_own_place = limits.required or limits.within or limits.priority or limits.ceiling is not None
    return not has_own_place and layer.ranking.order != "given" and steps[:1] == ("drop",) and TITLE not in steps


def fits_whole(demands: Sequence[Demand], room: int, total: int) -> bool:
    """Whether these layers together have all that they demand in the `room`, and none passes a limit of its own."""
    limits = ((demand, limit) for demand in demands for limit in fixed_limits(demand, total, growing=True))
    return sum(demand.units for demand in demands) <= room and all(each.units <= limit.units for each, limit in limits)


def select_across(demands: Sequence[Demand], room: int, total: int) -> SelectedByLayer:
    """The sections of these layers, by id, that fit the `room` in a document of `total` units.

    Whole fragments enter by score, and one that does not fit is skipped; equal scores go by the order of the layers.
    First each layer keeps to its own limits, and what others hold in reserve is not taken. What is left then goes to
    the fragments that were skipped, by score again, up to the limits that a layer with `grow` may not pass.
    """
    if fits_whole(demands, room, total):
        return {demand.layer.id: demand.everything for demand in demands}
    selected: SelectedByLayer = {demand.layer.id: demand.pinned for demand in demands}
    candidates = [
        (demand, demand.first_excerpt(fragment))
        for demand in demands
        for fragment in demand.candidates
        if not (fragment.verdict.excluded or fragment.verdict.pinned_by)
    ]
    candidates.sort(key=lambda candidate: -candidate[1].fragment.total_score)
    for growing in (False, True):
        selected = _with_all_that_fit(selected, candidates, room, partial(_fits, demands, room, total, growing))
    return selected


def _fits(
    demands: Sequence[Demand], room: int, total: int, growing: bool, larger: SelectedByLayer, added: Sequence[Candidate]
) -> bool:
    """Whether sections to which some fragments were added keep to all limits."""
    taken = 0
    for demand in demands:
        is_held = not growing and any(binds(demand.layer, other.layer) for other, _ in added)
        taken += max(units_of(larger[demand.layer.id]), demand.reserve if is_held else 0)
    return taken <= room and not any(
        units_of(larger[demand.layer.id]) > limit.units
        for demand, _ in added
        for limit in fixed_limits(demand, total, growing=growing)
    )


def _with_all_that_fit(
    selected: SelectedByLayer,
    candidates: Sequence[Candidate],
    room: int,
    fits: Callable[[SelectedByLayer, Sequence[Candidate]], bool],
) -> SelectedByLayer:
    """The sections with each candidate that fits, in this order.

    As each trial lays out whole sections, candidates are tried together: twice as many as before if they fit, and half
    as many if not.
    """
    shown = {(layer, excerpt.fragment.id) for layer, own in selected.items() for excerpt in excerpts_of(own)}
    waiting = [each for each in candidates if (each[0].layer.id, each[1].fragment.id) not in shown]
    free = room - sum(map(units_of, selected.values()))
    at, size = 0, 1
    while at < len(waiting):
        batch = waiting[at : at + size]
        least = sum(demand.counter.units(shown_text(excerpt)) for demand, excerpt in batch)
        larger = _with_added(selected, batch) if least <= free else None
        if larger and fits(larger, batch):
            selected, free = larger, room - sum(map(units_of, larger.values()))
            at, size = at + size, 2 * size
        else:
            at, size = (at + 1, 1) if size == 1 else (at, size // 2)
    return selected


def _with_added(selected: SelectedByLayer, added: Sequence[Candidate]) -> SelectedByLayer:
    larger = {**selected}
    demand_of = {demand.layer.id: demand for demand, _ in added}
    for layer, excerpts in grouped((demand.layer.id, excerpt) for demand, excerpt in added).items():
        larger[layer] = demand_of[layer].lay_out_all([*excerpts_of(selected[layer]), *excerpts])
    return larger
