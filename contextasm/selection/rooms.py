"""Rooms: what each layer takes of the budget, in the order in which layers take it, and what it shows there.

Amounts are in the counter's units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from contextasm.model import Fragment, NamedTuple, Problem, Profile, Reason, least_similarity
from contextasm.selection.limits import (
    Allowance,
    allowance_of,
    fixed_limits,
    held_units,
    in_turn,
    loses_no_line,
    with_pins_that_fit,
    with_unclaimed_room,
)
from contextasm.selection.overflow import expand, overflow
from contextasm.selection.sections import Demand, Selected, excerpts_of, units_of


def keep_top_k(fragments: Sequence[Fragment], top: int) -> tuple[Fragment, ...]:
    """A layer's ranked fragments; those after the first `top` are excluded, unless they are pinned; none for 0.

    Matches that are less similar than a candidate has to be (`least_similarity`) come after all others, by similarity.
    """
    if not top:
        return tuple(fragments)
    rank_of = _candidate_ranks([fragment for fragment in fragments if fragment.verdict.excluded is None], top)
    ranked: list[Fragment] = []
    for fragment in fragments:
        number = rank_of.get(fragment.id, 0) if fragment.verdict.excluded is None else 0
        if number > top and not fragment.verdict.pinned_by:
            ranked.append(fragment.exclude(Reason.of("not-in-top", top=top, rank=number)))
        else:
            ranked.append(fragment)
    return tuple(ranked)


def _candidate_ranks(fragments: Sequence[Fragment], top: int) -> Mapping[str, int]:
    # By id, from 1. A fragment without a similarity keeps its place.
    score_of = {fragment.id: dict(fragment.score) for fragment in fragments}
    least = least_similarity((score["similarity"] for score in score_of.values() if "similarity" in score), top)
    in_order = sorted(score_of, key=lambda name: -min(score_of[name].get("similarity", least), least))
    return {name: number for number, name in enumerate(in_order, 1)}


class LayerResult(NamedTuple):
    """A layer with the sections that were selected for it."""

    demand: Demand
    allowance: Allowance
    selected: Selected
    problems: tuple[Problem, ...] = ()

    @property
    def used(self) -> int:
        """Units of the selected sections."""
        return units_of(self.selected)

    @property
    def is_whole(self) -> bool:
        """Whether it shows all that it would show with any budget."""
        return self.demand.units <= self.allowance.units and not self.demand.unshown(self.selected)

    @property
    def is_starved(self) -> bool:
        """Whether it got nothing because of other layers, not because of a limit of its own."""
        return not self.selected and self.allowance.by in {"budget", "reserve", "ceiling"}


Results = Sequence[LayerResult]


def without_shown(candidates: Sequence[Fragment], results: Iterable[LayerResult]) -> list[Fragment]:
    """The candidates, without the fragments of which the results of other layers show all lines: these are excluded."""
    layer_of: dict[tuple[str, int], str] = {}
    for result in results:
        for excerpt in excerpts_of(result.selected):
            location = excerpt.fragment.location
            if not (excerpt.form or location.rows):
                numbers = (number for part in excerpt.ranges for number in range(part.first, part.stop))
                layer_of |= {(location.path, location.file_line(number)): result.demand.layer.id for number in numbers}
    kept = []
    for fragment in candidates:
        location = fragment.location
        count = location.rows or fragment.text.count("\n") + 1
        own = ((location.path, location.file_line(number)) for number in range(count))
        layers = [layer_of.get(line, "") for line in own]
        is_twice = all(layers) and not (fragment.verdict.excluded or fragment.verdict.pinned_by)
        kept.append(fragment.exclude(Reason.of("shown-above", layer=layers[0])) if is_twice else fragment)
    return kept


def charge(result: LayerResult, later: Sequence[Demand]) -> int:
    """Units that a finished layer is charged with before the later layers get theirs.

    If a larger budget would let it use more, and a later layer must lose no line, that is its whole allowance. Else the
    later layer would get the unused room now, and lose it at a larger budget (docs/architecture.md, law 7).
    """
    is_bound = result.allowance.by in {"max_tokens", "max_chars"} and not result.demand.layer.limits.within
    if result.is_whole or is_bound or not any(loses_no_line(demand.layer) for demand in later):
        return result.used
    return result.allowance.units


def growth_allowance(
    demands: Sequence[Demand], number: int, results: Mapping[str, LayerResult], total: int
) -> Allowance:
    """The least limit of the layer `demands[number]` once all have been filled, with the room that they leave unused.

    No layer's ceiling is passed: each counts the layers before it, too.
    """
    used = [results[demand.layer.id].used for demand in demands]
    unused = max(0, total - sum(used))
    by = "score" if results[demands[number].layer.id].allowance.by == "score" else "budget"
    limits = [Allowance(used[number] + unused, by), *fixed_limits(demands[number], total, growing=True)]
    for place, demand in enumerate(demands[number:], number):
        ceiling = demand.layer.limits.ceiling
        if ceiling is not None and (place == number or used[place]):
            free = int(total * ceiling / 100) - sum(used[: place + 1])
            limits.append(Allowance(used[number] + max(0, free), "ceiling"))
    return min(limits, key=lambda limit: limit.units)


def own_result(demand: Demand, follower: Demand, whole: Allowance, own: Allowance) -> LayerResult:
    """A layer within the part of its allowance that it keeps: all that its `follower` does not demand.

    It keeps at least what the follower `leaves`. `whole` is the room of both, with what is held for the follower, and
    `own` the allowance of the layer itself.

    What the layer shows then is not a demand of the follower, so the part is found in rounds. Demands do not depend on
    the budget, and the more a layer shows, the less it leaves to its follower: so this part never shrinks as the
    allowance grows (law 7).
    """
    limits = [limit.units for limit in fixed_limits(follower, 0) if limit.by != "share"]
    units = max(
        demand.pinned_units, int(own.units * follower.layer.limits.leaves), whole.units - min([follower.units, *limits])
    )
    paths = {fragment.location.path for fragment in demand.candidates}
    others = (each for group in follower.sections.values() for each in group if each.location.path not in paths)
    never_shown = sum(follower.counter.units(fragment.text) for fragment in others)
    most = min(own.units, whole.units - min([never_shown, *limits]))
    for _ in range(_ROUNDS):
        if units >= min(demand.units, most) or not loses_no_line(demand.layer):
            break
        result = _filled(demand, own._replace(units=units))
        left = follower.with_candidates(without_shown(follower.candidates, [result]))
        units = max(units, whole.units - min([left.units, *limits]))
        if units == result.allowance.units:
            return result
    return _filled(demand, own._replace(units=min(units, max(own.units, demand.pinned_units))))


_ROUNDS = 8
"""The most times that a layer takes what its follower does not demand any more."""


def other_part(demand: Demand, whole: Allowance, first: LayerResult, limits: Sequence[Allowance]) -> Allowance:
    """The part of the room of two layers, `whole`, that the `first` leaves to the layer within it.

    `limits` are the limits of that layer.
    """
    units = max(0, whole.units - min(first.allowance.units, first.demand.units))
    rest = whole._replace(units=units, by="within" if whole.units else whole.by)
    least = min([rest, *limits], key=lambda limit: limit.units)
    return least._replace(units=max(demand.pinned_units, least.units))


def allocate(
    profile: Profile, demands: Sequence[Demand], total: int, required: int
) -> tuple[list[LayerResult], list[Problem]]:
    """The result of each layer, in the order of the profile, and the problems of pins that have no room.

    In units: `total` is the size of the document, and `required` the part of it that required layers take.
    """
    if profile.select == "across":
        from contextasm.selection.across import layers_across  # here: most profiles select in each layer by itself

        across = layers_across(profile.layers)
        demands = [demand._replace(across=demand.layer.id in across) for demand in demands]
    fitting, problems = with_pins_that_fit(demands, total - required)
    ordered = with_unclaimed_room(in_turn(fitting, total), total, required)
    results = _let_grow(ordered, _fill(ordered, total, required), total)
    if profile.fill:
        results = _expanded(results, int(total * profile.fill / 100), total)
    return [results[layer.id] for layer in profile.layers], problems


def _filled(demand: Demand, allowance: Allowance) -> LayerResult:
    """A layer within its allowance."""
    return LayerResult(demand, allowance, *overflow(demand, allowance.units))


def _expanded(results: Mapping[str, LayerResult], goal: int, total: int) -> dict[str, LayerResult]:
    """The results with more of what is shortened, until all layers take `goal` of the `total` units."""
    demands = {name: result.demand for name, result in results.items()}
    selected = {name: result.selected for name, result in results.items()}
    expanded = {}
    for name, sections in expand(demands, selected, _expansion_limits(results, total), goal, total).items():
        larger = results[name]._replace(selected=sections)
        room = larger.allowance._replace(units=max(larger.allowance.units, larger.used))
        expanded[name] = larger._replace(allowance=room)
    return expanded


def _fill(demands: Sequence[Demand], total: int, charged: int) -> dict[str, LayerResult]:
    """The results of layers that take their room in this order, by layer id; `charged` is taken by required ones."""
    results: dict[str, LayerResult] = {}
    turns = _turns(demands)
    for number, turn in enumerate(turns):
        later = [demand for others in turns[number + 1 :] for demand in others]
        fill = _fill_across if turn[0].across else _fill_pair if turn[1:] else _fill_one
        filled, units = fill(turn, later, total, charged)
        results |= {result.demand.layer.id: result for result in filled}
        charged += units
    return results


def _turns(demands: Sequence[Demand]) -> list[list[Demand]]:
    """The demands that take their room together: one layer, a layer and the one within it, or the layers `across`."""
    ids = {demand.layer.id for demand in demands}

    def owner(demand: Demand) -> str:
        within = demand.layer.limits.within
        return "" if demand.across else within if within in ids else demand.layer.id

    return [[*turn] for _, turn in groupby(demands, owner)]


# Each of these gives the results of a turn, and the units that it is charged with before the `later` layers get theirs.


def _fill_one(turn: Sequence[Demand], later: Sequence[Demand], total: int, charged: int) -> tuple[Results, int]:
    (demand,) = turn
    allowance = allowance_of(demand, total, charged, held_units(demand, later, total - charged))
    result = _filled(demand, allowance)
    return [result], 0 if demand.layer.limits.required else charge(result, later)


def _fill_pair(turn: Sequence[Demand], later: Sequence[Demand], total: int, charged: int) -> tuple[Results, int]:
    """A layer and the one within it: the room of both is that of the first and what is held for the second.

    If the first is cut, the charge is all of that room: what the two use of it may be more or less if the budget is
    larger.
    """
    first, second = turn
    left = total - charged
    own = allowance_of(first, total, charged, held_units(first, [second, *later], left))
    room = min(left - held_units(first, later, left), max(own.units + second.reserve, first.grown))
    whole = own._replace(units=max(first.pinned_units + second.pinned_units, room))
    result = own_result(first, second, whole, own)
    candidates = without_shown(second.candidates, [result])
    second = second.with_candidates(keep_top_k(candidates, second.layer.ranking.top))
    other = _filled(second, other_part(second, whole, result, fixed_limits(second, total)))
    if result.is_whole or not any(loses_no_line(demand.layer) for demand in later):
        return [result, other], result.used + charge(other, later)
    return [result, other], max(whole.units, result.used + other.used)


def _fill_across(turn: Sequence[Demand], later: Sequence[Demand], total: int, charged: int) -> tuple[Results, int]:
    """Layers whose fragments are selected together; what is left is offered to them after all layers."""
    from contextasm.selection.across import fits_whole, select_across  # here, as above

    room = total - charged - max(held_units(demand, later, total - charged) for demand in turn)
    selected = select_across(turn, room, total)
    used = {layer: units_of(sections) for layer, sections in selected.items()}
    results = []
    for demand in turn:
        own = used[demand.layer.id]
        free = room - sum(used.values()) if own >= demand.units else 0
        limits = [Allowance(own + free, "score"), *fixed_limits(demand, total, growing=True)]
        least = min(limits, key=lambda limit: limit.units)
        results.append(LayerResult(demand, least._replace(units=max(own, least.units)), selected[demand.layer.id]))
    is_whole = fits_whole(turn, room, total) or not any(loses_no_line(demand.layer) for demand in later)
    return results, sum(used.values()) if is_whole else max(room, sum(used.values()))


def _let_grow(demands: Sequence[Demand], results: Mapping[str, LayerResult], total: int) -> dict[str, LayerResult]:
    """The results after the layers that want more have taken the room that is left, in the same order.

    A layer that must lose no line takes none of it: the room left is not always more if the budget is larger. Two
    layers that share a room have what it holds, but for a second one with `grow`: it comes last, and its room then goes
    to lines that no other layer shows.
    """
    grown = {**results}
    sharing = _sharing_layers(demands)
    for number, demand in enumerate(demands):
        result = grown[demand.layer.id]
        if (
            loses_no_line(demand.layer)
            or demand.layer.limits.required
            or demand.layer.id in sharing
            or demand.units <= result.allowance.units - demand.titles_room(result.allowance.units)
        ):
            continue
        allowance = growth_allowance(demands, number, grown, total)
        if allowance.units > result.allowance.units:
            larger = _filled(demand, allowance)
            grown[demand.layer.id] = larger if larger.used >= result.used else result
    for number, demand in enumerate(demands):
        if demand.layer.id in sharing and demand.layer.limits.within and demand.layer.limits.grow:
            own = grown[demand.layer.id].demand
            others = [result for name, result in grown.items() if name != demand.layer.id]
            rest = own.with_candidates(without_shown(own.candidates, others))
            grown[demand.layer.id] = _filled(rest, growth_allowance(demands, number, grown, total))
    return grown


def _expansion_limits(results: Mapping[str, LayerResult], total: int) -> dict[str, int]:
    """Units that each layer may grow to, by id: the limits that others' use can't change.

    A ceiling counts every layer before it, so under one nothing may grow any more.
    """
    sharing = _sharing_layers([result.demand for result in results.values()])
    capped = any(each.demand.units and each.demand.layer.limits.ceiling is not None for each in results.values())
    limits = {}
    for name, result in results.items():
        fixed = [limit.units for limit in fixed_limits(result.demand, total, growing=True)]
        limits[name] = min([result.allowance.units if capped or name in sharing else total, *fixed])
    return limits


def _sharing_layers(demands: Sequence[Demand]) -> set[str]:
    """Ids of the layers that share a room with another one, if the second of the two has anything to show."""
    ids = {demand.layer.id for demand in demands}
    pairs = ((each.layer.id, each.layer.limits.within) for each in demands if each.units)
    return {layer for pair in pairs if pair[1] in ids for layer in pair}
