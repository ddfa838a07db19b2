"""Select: the room in the budget that each layer may take, and the fragments that it shows there, whole or shortened.

Amounts are in the counter's units, which add up; tokens are computed from them at the end. Nothing is worded here: the
section format says what surrounds a section, so that headings, blank lines and markers are paid for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from contextasm.model import (
    PIN_FIELD,
    TITLE,
    Decision,
    Fact,
    Fragment,
    Layer,
    LayerUsage,
    Marker,
    NamedTuple,
    Problem,
    Profile,
    Reason,
    Section,
    SectionForm,
    Summarizer,
    TokenCounter,
    Verdict,
    least_similarity,
)
from contextasm.selection.limits import (
    Allowance,
    allowance_of,
    binds,
    fixed_limits,
    held_units,
    in_turn,
    is_stable,
    loses_no_line,
    with_pins_that_fit,
    with_unclaimed_room,
    within_chars,
)
from contextasm.selection.overflow import expand, overflow
from contextasm.selection.sections import (
    LEVELS,
    Demand,
    Excerpt,
    Selected,
    shown_text,
    source_span,
    whole_text,
)


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
        return sum(section.units for section in self.selected.values())

    @property
    def is_whole(self) -> bool:
        """Whether it shows all that it would show with any budget."""
        return self.demand.units <= self.allowance.units and not self.demand.unshown(self.selected)

    @property
    def is_starved(self) -> bool:
        """Whether it got nothing because of other layers, not because of a limit of its own."""
        return not self.selected and self.allowance.by in {"budget", "reserve", "ceiling"}


def without_shown(candidates: Sequence[Fragment], results: Iterable[LayerResult]) -> list[Fragment]:
    """The candidates, without the fragments of which the results of other layers show all lines: these are excluded."""
    layer_of: dict[tuple[str, int], str] = {}
    for result in results:
        for excerpt in (excerpt for section in result.selected.values() for excerpt in section.excerpts):
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


def charge(result: LayerResult, later: Sequence[Layer]) -> int:
    """Units that a finished layer is charged with before the later layers get theirs.

    If a larger budget would let it use more, and a later layer must lose no line, that is its whole allowance. Else the
    later layer would get the unused room now, and lose it at a larger budget (docs/architecture.md, law 7).
    """
    is_bound = result.allowance.by in {"max_tokens", "max_chars"} and not result.demand.layer.limits.within
    if result.is_whole or is_bound or not any(map(loses_no_line, later)):
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
    limits = [Allowance(used[number] + unused, "budget"), *fixed_limits(demands[number], total, growing=True)]
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
    rooms: dict[str, Allowance] = {}
    followers = {demand.layer.limits.within: demand for demand in demands}
    for number, given in enumerate(demands):
        layer, rest, host = given.layer, demands[number + 1 :], given.layer.limits.within
        later_layers = [other.layer for other in rest]
        if host in rooms:
            first = results[host]
            left = without_shown(given.candidates, [first])
            demand = given.with_candidates(keep_top_k(left, layer.ranking.top))
            result = _filled(demand, other_part(demand, rooms[host], first, fixed_limits(demand, total)))
            charged += _charge_of_pair(first, result, rooms[host], later_layers)
        elif layer.id in followers:
            later = held_units(given, rest, total - charged)
            allowance = allowance_of(given, total, charged, later)
            others = held_units(given, [each for each in rest if each.layer.limits.within != layer.id], total - charged)
            rooms[layer.id] = _room_of_pair(given, followers[layer.id], allowance, total - charged - others)
            result = own_result(given, followers[layer.id], rooms[layer.id], allowance)
        else:
            later = held_units(given, rest, total - charged)
            result = _filled(given, allowance_of(given, total, charged, later))
            charged += 0 if layer.limits.required else charge(result, later_layers)
        results[layer.id] = result
    return results


def _room_of_pair(first: Demand, second: Demand, own: Allowance, left: int) -> Allowance:
    """The room of a layer and the one within it: the allowance of the first and what is held for the second.

    No more than the units that are `left` to the two, but for pins.
    """
    room = min(left, max(own.units + second.reserve, first.grown))
    return own._replace(units=max(first.pinned_units + second.pinned_units, room))


def _charge_of_pair(first: LayerResult, second: LayerResult, room: Allowance, later: Sequence[Layer]) -> int:
    """Units that two layers which share a room are charged with, as `charge` for one.

    If the first is cut, that is all of the room: what the two use of it may be more or less if the budget is larger.
    """
    if first.is_whole or not any(map(loses_no_line, later)):
        return first.used + charge(second, later)
    return max(room.units, first.used + second.used)


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


def emitted_sections(result: LayerResult) -> list[Section]:
    """The sections of a layer that are emitted."""
    demand = result.demand
    return [
        Section(
            layer=demand.layer.id,
            heading=demand.own_heading(heading, section.text),
            text=section.text,
            tokens=demand.counter.tokens(section.units),
            truncated=section.truncated,
            stable=demand.stable,
        )
        for heading, section in result.selected.items()
    ]


def layer_decisions(result: LayerResult, budget: int) -> list[Decision]:
    """One decision for each fragment of a layer, in a document of at most `budget` tokens."""
    room = _room(result, budget)
    excerpts = {
        (heading, excerpt.fragment.id): excerpt
        for heading, section in result.selected.items()
        for excerpt in section.excerpts
    }
    return [
        _decision(result, fragment, excerpts.get((fragment.display.heading, fragment.id)), room)
        for fragment in result.demand.candidates
    ]


def _room(result: LayerResult, budget: int) -> int:
    """The tokens that a layer may use.

    A section is counted with the blank line after it, which the last one of a document does not have: its room may be
    a token above the budget if the document is not.
    """
    return min(budget, result.demand.counter.tokens(result.allowance.units))


def _decision(result: LayerResult, fragment: Fragment, excerpt: Excerpt | None, room: int) -> Decision:
    counter = result.demand.counter
    is_whole = excerpt is not None and excerpt.whole
    lines = source_span(fragment) if fragment.location.line else (0, 0)
    kept = excerpt.spans if excerpt else ()
    reason = fragment.verdict.excluded or _reason(result, excerpt, room, is_whole=is_whole)
    if excerpt and fragment.verdict.excluded:
        reason = reason._replace(code="named-below-top")
    before = None if fragment.verdict.excluded and not excerpt else counter.units(whole_text(fragment))
    after = 0 if excerpt is None else before if is_whole and before else counter.units(shown_text(excerpt))
    return Decision(
        fragment=fragment.id,
        layer=result.demand.layer.id,
        path=fragment.location.path,
        lines=lines,
        reason=reason,
        tokens_before=None if before is None else counter.tokens(before),
        tokens_after=counter.tokens(after),
        kept=kept,
        score=fragment.score,
        boosted_by=fragment.verdict.boosted_by,
    )


def _reason(result: LayerResult, excerpt: Excerpt | None, room: int, *, is_whole: bool) -> Reason:
    """The reason why a fragment that is not excluded is shown as it is."""
    demand = result.demand
    if demand.layer.limits.required:
        return Reason("required")
    if excerpt and is_whole:
        return _reason_of_whole(excerpt.fragment.verdict)
    if excerpt and excerpt.form == demand.layer.overflow.detail:
        return Reason.of("level", level=excerpt.form)
    facts: dict[str, Fact] = {"allowance": room, "limit": result.allowance.by}
    if excerpt and excerpt.form in LEVELS:
        return Reason.of("detail", level=excerpt.form, **facts)
    if excerpt and excerpt.form:
        return Reason.of("named" if excerpt.form == TITLE else "summarized", **facts)
    return Reason.of("over-allowance" if excerpt else "starved" if result.is_starved else "no-room", **facts)


def _reason_of_whole(verdict: Verdict) -> Reason:
    if verdict.pinned_by == PIN_FIELD:
        return Reason("pin")
    return Reason.of("pinned", rule=verdict.pinned_by) if verdict.pinned_by else Reason(verdict.note)


def layer_usage(result: LayerResult, budget: int) -> LayerUsage:
    """The layer's limit and use, in tokens, of a `budget`."""
    layer, counter = result.demand.layer, result.demand.counter
    wanted, used = (counter.tokens(units) for units in (max(result.demand.units, result.used), result.used))
    if layer.limits.required:
        return LayerUsage(layer.id, None, wanted, used)
    return LayerUsage(layer.id, _room(result, budget), wanted, min(budget, used))


def _nothing_shown(result: LayerResult, budget: int) -> list[Problem]:
    """The problem of a layer of whose candidates nothing could be shown."""
    layer, counter = result.demand.layer, result.demand.counter
    if result.selected or not result.demand.units or layer.limits.max_tokens == 0:
        return []
    wanted, room = counter.tokens(result.demand.units), _room(result, budget)
    if result.is_starved:
        return [Problem("starved", layer.id, 0, f"got nothing of {wanted} tokens: the layers before it left {room}")]
    limit = f"its limit of {room}"
    if result.allowance.by == "within":
        limit = f"{room}, its part of the room of {layer.limits.within},"
    message = f"got nothing of {wanted} tokens: {limit} is too small for a line of it"
    return [Problem("no-room", layer.id, 0, message)]


def _cut_for_others(result: LayerResult, later: Sequence[LayerResult]) -> list[Problem]:
    """The problem of a layer that instructs the agent, and is shown in part since room is held for later layers."""
    demand, counter = result.demand, result.demand.counter
    held = [each for each in later if each.demand.reserve and binds(each.demand.layer, demand.layer)]
    is_cut = result.selected and result.used < demand.units and result.allowance.by == "reserve"
    if not (held and is_cut and demand.layer.instructs):
        return []
    names = ", ".join(" and ".join(each.demand.layer.heading) for each in held)
    path = next(each.location.path for section in demand.sections.values() for each in section)
    tokens = counter.tokens(sum(each.demand.reserve for each in held))
    shown, wanted = counter.tokens(result.used), counter.tokens(demand.units)
    message = f"cut to {shown} of {wanted} tokens: {tokens} tokens are held for {names}; a larger budget shows more"
    return [Problem("cut", path, 0, message)]


def select(
    profile: Profile,
    candidates: Mapping[str, Sequence[Fragment]],
    budget: int,
    spare: int,
    counter: TokenCounter,
    form: SectionForm,
    marker: Marker,
    summarizer: Summarizer | None = None,
) -> tuple[tuple[Section, ...], tuple[Decision, ...], tuple[LayerUsage, ...], tuple[Problem, ...]]:
    """The sections that are shown of the ranked candidates (by layer id), and one decision for each candidate.

    With the limit, demand and use of each layer, and the problems of selection. Required layers are whole even above
    the budget. `spare` tokens of it stay free: exact counts of the parts may add up to less than the whole's.
    """
    demands = []
    ids = {layer.id for layer in profile.layers}
    for layer in profile.layers:
        empty = Demand(layer, counter, form, marker, summarizer, is_stable(layer, profile), layer.most_named(budget))
        # Of a layer within another, the first are known once it is known what that one shows.
        top = 0 if layer.limits.within in ids else layer.ranking.top
        demands.append(empty.with_candidates(keep_top_k(candidates[layer.id], top)))
    demands = within_chars(demands, profile.max_chars)
    # The document ends without the blank line after the last section.
    last_line_end = counter.units("\n\n") - counter.units("\n")
    head = counter.units(profile.head)
    total = (budget - spare) * counter.units_per_token + last_line_end - head
    required = sum(demand.units for demand in demands if demand.layer.limits.required)
    results, problems = allocate(profile, demands, total, required)
    if required and required + head > budget * counter.units_per_token + last_line_end:
        taken = counter.tokens(required + head - last_line_end)
        message = f"required layers take {taken} tokens of {budget}; nothing else is shown"
        problems = [Problem("over-budget", "budget", 0, message), *problems]
    for number, result in enumerate(results):
        problems += [*result.problems, *_nothing_shown(result, budget), *_cut_for_others(result, results[number + 1 :])]
    return (
        tuple(section for result in results for section in emitted_sections(result)),
        tuple(decision for result in results for decision in layer_decisions(result, budget)),
        tuple(layer_usage(result, budget) for result in results),
        tuple(problems),
    )
