"""Limits: the room that each layer may take by its own limits, by reserves, and by what no layer demands.

Amounts are in the counter's units.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from contextasm.model import PIN_FIELD, Fragment, Layer, NamedTuple, Problem, Profile
from contextasm.selection.sections import TITLES_PART, Demand, units_of
from contextasm.selection.tokens import LENGTHS
from contextasm.selection.truncate import first_pieces, piece_sizes


class Allowance(NamedTuple):
    """The least of a layer's limits."""

    units: int
    by: str
    """`max_tokens`, `share`, `max_chars`, `ceiling`, `reserve`, `budget`, or `within` for a part of the room of another
    layer; `required` for no limit."""


def loses_no_line(layer: Layer) -> bool:
    """Whether a larger budget must not lose a line of a layer (docs/architecture.md, law 7).

    It holds running text, of documents or logs, that is whole or truncated and never dropped.
    """
    is_running = all(source.is_running_text for source in layer.query.traits)
    return is_running and not layer.limits.required and {*layer.overflow.steps} <= {"truncate"}


def is_stable(layer: Layer, profile: Profile) -> bool:
    """Whether a layer shows documents, and no other source decides how much room it has."""
    later = profile.layers[0 if profile.select == "across" else profile.layers.index(layer) + 1 :]
    shares_room = any(
        other.limits.within == layer.id
        or (other.limits.reserve and not _shows_only_documents(other) and binds(other, layer))
        for other in later
    )
    if not _shows_only_documents(layer) or layer.changed_by_rules:
        return False
    return layer.limits.required or (loses_no_line(layer) and not (shares_room or profile.fill))


def _shows_only_documents(layer: Layer) -> bool:
    return all(source.is_document for source in layer.query.traits)


def binds(reserving: Layer, earlier: Layer) -> bool:
    """Whether the reserve of a layer is held against an earlier one."""
    against = reserving.limits.reserve_against
    return not against or earlier.id in against


def in_turn(demands: Sequence[Demand], total: int) -> list[Demand]:
    """The demands in the order in which they take their room, each with the room that is held for it.

    A layer within another comes right after that one. Layers that are selected together (`across`) come after others of
    their rank.
    """
    ids = {demand.layer.id for demand in demands}
    ordered = sorted(
        demands, key=lambda each: (not each.layer.limits.required, -each.layer.limits.priority, each.across)
    )
    followers = {demand.layer.limits.within: demand for demand in ordered if demand.layer.limits.within in ids}
    owners = [demand for demand in ordered if demand.layer.limits.within not in ids]
    paired = [each for owner in owners for each in (owner, followers.get(owner.layer.id)) if each]
    return [demand._replace(reserve=_reserve(demand, total)) for demand in paired]


def held_units(earlier: Demand, later: Sequence[Demand], room: int) -> int:
    """Units of the `room` left to a layer that are held for the layers after it.

    Reserves against only some layers take half of the room at most, but for pins.
    """
    firm = sum(demand.pinned_units if demand.layer.limits.reserve_against else demand.reserve for demand in later)
    named = sum(
        demand.reserve - demand.pinned_units
        for demand in later
        if demand.layer.limits.reserve_against and binds(demand.layer, earlier.layer)
    )
    return firm + min(named, max(0, room - firm) // 2)


def _reserve(demand: Demand, total: int) -> int:
    """Units held for a layer: no more than it demands, or than its own limits let it take, but for its pins."""
    limits = demand.layer.limits
    if limits.required:
        return 0
    held = limits.reserve * demand.counter.units_per_token
    if limits.reserve_share is not None:
        held = min(max(held, int(total * limits.reserve_share / 100)), total // 2)
    own_limits = [limit.units for limit in fixed_limits(demand, total)]
    return max(demand.pinned_units, min([held, demand.units, *own_limits]))


def fixed_limits(demand: Demand, total: int, *, growing: bool = False) -> list[Allowance]:
    """The limits of a layer that do not depend on the use of others.

    `growing` leaves out the limit above which the layer may take unused room: its share, or without one its
    `max_tokens`; none for a layer within another, which grows above the room of both.
    """
    limits = demand.layer.limits
    own = []
    if limits.max_tokens is not None:
        own.append(Allowance(limits.max_tokens * demand.counter.units_per_token, "max_tokens"))
    if limits.share is not None:
        tokens = int(total * limits.share / 100) // demand.counter.units_per_token
        own.append(Allowance(tokens * demand.counter.units_per_token, "share"))
    if own and limits.grow and not limits.within:
        passed = own.pop()
        is_passed = demand.grown > passed.units
        own += [] if growing else [Allowance(demand.grown, "budget") if is_passed else passed]
    return [*own, Allowance(demand.most, "max_chars")] if demand.most is not None else own


def within_chars(demands: Sequence[Demand], total: int) -> list[Demand]:
    """The demands with the units of what `max_chars` leaves of each; `total` is the profile's own, 0 for none.

    The layers take their part of the total one after the other, and then what is left of it.
    """
    limits = {each.layer.id: each.layer.limits for each in demands if each.layer.limits.max_chars is not None}
    ends = {each.layer.id: _piece_ends(each) for each in demands if each.layer.id in limits}
    left = total or sum(own[-1] for own in ends.values())
    counts = dict[str, int]()
    for name, own in ends.items():
        chars = min(limits[name].max_chars or 0, left)
        left -= min(chars, own[-1])
        counts[name] = len(own) - 1 if limits[name].required else _pieces_over(own, chars)
    spare = total - sum(own[counts[name]] for name, own in ends.items())
    for name, own in ends.items():
        shown = own[counts[name]]
        counts[name] = max(counts[name], bisect_right(own, shown + spare) - 1)
        spare -= own[counts[name]] - shown
    cut = {name: count for name, count in counts.items() if count < len(ends[name]) - 1}
    most = {each.layer.id: _units_of_first(each, cut[each.layer.id]) for each in demands if each.layer.id in cut}
    return [each._replace(most=most.get(each.layer.id)) for each in demands]


def _piece_ends(demand: Demand) -> list[int]:
    """UTF-16 code units up to the end of each piece of a layer, in keep order, with 0 before the first.

    All is one piece if it is within the limit of the layer.
    """
    fragments = [fragment for group in demand.sections.values() for fragment in group]
    whole = sum(LENGTHS["chars"].units(fragment.text) for fragment in fragments)
    is_over = whole > (demand.layer.limits.max_chars or 0)
    return [0, *accumulate(piece_sizes(fragments, LENGTHS["chars"]) if is_over else [whole])]


def _pieces_over(ends: Sequence[int], chars: int) -> int:
    """The number of pieces that hold so many characters with one more piece.

    So three quarters of the characters are of the beginning and one is of the end, where a text keeps both: neither is
    ever short by more than a piece.
    """
    longest = max(stop - start for start, stop in pairwise(ends))
    return min(len(ends) - 1, bisect_left(ends, chars + longest)) if chars else 0


def _units_of_first(demand: Demand, count: int) -> int:
    """Units of the first pieces of a layer."""
    fragments = [fragment for group in demand.sections.values() for fragment in group]
    return units_of(demand.lay_out_all(first_pieces(fragments, count)))


def with_unclaimed_room(demands: Sequence[Demand], total: int, required: int) -> list[Demand]:
    """The demands with the room that running text with `grow` may take above its limit since no layer claims it.

    So does running text with the layer within it, if that one has `grow`: the two share this room, too.

    A layer claims what it demands within its own limits, whether it uses that or not. This keeps law 7
    (docs/architecture.md): claims depend on demands and the budget only. Shares are 100 per cent together at most, so
    all claims grow no faster than the budget, and what they leave never shrinks. If they leave anything, every layer
    gets its claim and what it grows by; else none gets more than its claim, and nothing grows. A layer under a ceiling
    may get less than its claim, so nothing grows if one has anything to show.
    """
    if any(demand.units and demand.layer.limits.ceiling is not None for demand in demands):
        return [*demands]
    claims = {demand.layer.id: _claim(demand, demands, total) for demand in demands}
    left = total - required - sum(claim for claim, _ in claims.values())
    result = [*demands]
    for number, demand in enumerate(demands):
        claim, most = claims[demand.layer.id]
        if loses_no_line(demand.layer) and most > claim:
            extra = max(0, min(most - claim, left))
            left -= extra
            # What others claim may depend on the topic.
            result[number] = demand._replace(grown=int(claim + extra + _ROUNDING), stable=False)
    return result


_ROUNDING = 1e-6
"""Far below a unit, and far above what is lost where parts of units are added."""


def _claim(demand: Demand, demands: Sequence[Demand], total: int) -> tuple[float, float]:
    """Units of what a layer demands within its own limits, and of what it may grow to.

    A layer that shares the room of another claims nothing by itself: the other does it for both.
    """
    layer = demand.layer
    follower = next((other for other in demands if other.layer.limits.within == layer.id), None)
    pair = [demand, *filter(None, [follower])]
    if layer.limits.required or layer.limits.within in {other.layer.id for other in demands}:
        return 0, 0
    wanted, pinned = sum(each.units for each in pair), sum(each.pinned_units for each in pair)
    share = 100 if layer.limits.share is None else layer.limits.share
    own = (limit.units for limit in fixed_limits(demand, total) if limit.by != "share")
    most = min([total * share / 100, *own])
    titles = most / TITLES_PART if any(each.below_top for each in pair) else 0
    claim = max(pinned, min(wanted + titles, most + (follower.reserve if follower else 0)))
    if follower and follower.layer.limits.grow and not layer.limits.grow:
        limits = (limit.units for limit in fixed_limits(follower, total))
        return claim, min(demand.units, most) + min([follower.units, *limits])
    growing = (limit.units for limit in fixed_limits(demand, total, growing=True))
    return claim, min([wanted, *growing]) if layer.limits.grow else claim


def allowance_of(demand: Demand, total: int, charged: int, later: int) -> Allowance:
    """The least of a layer's limits (docs/architecture.md, Budget).

    `charged` are the units that the layers before it are charged with, `later` those held for the layers after it.
    Room held for the layer itself is its own even above its ceiling: else a larger budget could leave it less. Pins
    pass any limit of the layer.
    """
    layer = demand.layer
    if layer.limits.required:
        return Allowance(demand.units, "required")
    limits = [
        Allowance(total - charged - later, "reserve" if later else "budget"),
        *fixed_limits(demand, total),
    ]
    if layer.limits.ceiling is not None:
        ceiling = int(total * layer.limits.ceiling / 100) - charged
        limits.append(Allowance(max(ceiling, demand.reserve), "ceiling"))
    least = min(limits, key=lambda limit: limit.units)
    return Allowance(max(0, demand.pinned_units, least.units), least.by)


def with_pins_that_fit(demands: Sequence[Demand], room: int) -> tuple[list[Demand], list[Problem]]:
    """The demands with as many of their pins as fit the room together.

    Pins of the last rule in the order of precedence give way first; of one rule, the last in the document.
    """
    fitting, problems = [*demands], list[Problem]()
    while (pins := [*_pins(fitting)]) and sum(demand.pinned_units for demand in fitting) > room:
        number, last = max(pins, key=lambda pin: pin[1].verdict.pin_rank)
        given = fitting[number]
        unpinned = last._replace(verdict=last.verdict._replace(pinned_by=""))
        candidates = tuple(unpinned if fragment is last else fragment for fragment in given.candidates)
        fitting[number] = given.with_candidates(candidates)
        pinned_by = last.verdict.pinned_by
        pinner = f"its field {PIN_FIELD}" if pinned_by == PIN_FIELD else f"rule {pinned_by}"
        message = f"{pinner} includes this, but the budget has no room for all of it"
        problems.append(Problem("pin-dropped", last.location.path, last.location.line, message))
    return fitting, problems


def _pins(demands: Sequence[Demand]) -> Iterator[tuple[int, Fragment]]:
    # From the end of the document: the first of several pins of one rule is the last in the document.
    for number, demand in reversed([*enumerate(demands)]):
        for fragment in reversed(demand.candidates) if demand.pinned else ():
            if fragment.verdict.pinned_by and fragment.verdict.excluded is None:
                yield number, fragment
