"""Allocation: the layers with their candidates, and the room in the budget that each may take.

No fragment is chosen here. Amounts are in the counter's units, which
add up.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Self

from contextasm.model import Fragment, Layer, Problem, Profile, Reason, SectionFormat, Summarizer, TokenCounter
from contextasm.selection.detail import LEVELS, at_detail
from contextasm.selection.layout import Excerpt, excerpt_at_level, section_body, whole_excerpt


class LaidOutSection(NamedTuple):
    """A section as it would be emitted."""

    excerpts: tuple[Excerpt, ...]
    text: str
    """The text under its heading; empty where nothing is shown."""
    units: int
    """Units of the whole section, its heading and the blank line behind it included; 0 for an empty text."""


Selected = Mapping[str, LaidOutSection]
"""The sections of a layer that show something, by heading, in the order of the headings."""


def units_of(selected: Selected) -> int:
    """Units that the sections of a layer take together."""
    return sum(section.units for section in selected.values())


class LayerInput(NamedTuple):
    """A layer with its candidates."""

    layer: Layer
    candidates: Sequence[Fragment]
    """Every fragment that was retrieved for the layer, the excluded ones too."""
    sections: Mapping[str, Sequence[Fragment]]
    """The fragments that are not excluded, by heading, in keep order: pinned ones first."""
    stable: bool
    """Whether neither the date nor the topic can change what is shown of it."""
    counter: TokenCounter
    section_format: SectionFormat
    summarizer: Summarizer | None

    def with_candidates(self, candidates: Sequence[Fragment]) -> Self:
        """The layer with these candidates, sorted into its sections."""
        sections: dict[str, list[Fragment]] = {heading: [] for heading in self.layer.heading}
        for fragment in candidates:
            if fragment.verdict.excluded is None:
                sections[fragment.display.heading].append(fragment)
        for group in sections.values():
            group.sort(key=lambda fragment: not is_pinned(fragment))
        filled = {heading: group for heading, group in sections.items() if group}
        return self._replace(candidates=candidates, sections=filled)

    def lay_out(self, heading: str, excerpts: Sequence[Excerpt]) -> LaidOutSection:
        """The section under a heading that shows these excerpts, and the markers of what it omits."""
        shown = {excerpt.fragment.id for excerpt in excerpts}
        omitted = [fragment for fragment in self.sections[heading] if fragment.id not in shown]
        joint = "\n" if self.layer.display.item_template else "\n\n"
        text = section_body(excerpts, omitted, joint, self.section_format.marker)
        units = self.counter.units(self.section_format.section(self.layer.id, heading, text)) if text else 0
        return LaidOutSection(tuple(excerpts), text, units)

    def lay_out_all(self, excerpts: Sequence[Excerpt]) -> Selected:
        """The sections that show these excerpts, each under the heading of its fragment."""
        by_heading: dict[str, list[Excerpt]] = {heading: [] for heading in self.sections}
        for excerpt in excerpts:
            by_heading[excerpt.fragment.display.heading].append(excerpt)
        return {heading: self.lay_out(heading, group) for heading, group in by_heading.items() if group}

    def first_excerpt(self, fragment: Fragment) -> Excerpt:
        """A fragment at the layer's level of detail: whole, unless the level is a lower one."""
        level = self.layer.overflow.detail
        is_whole = self.layer.limits.required or fragment.verdict.pinned_by or fragment.display.fence
        if is_whole or level not in LEVELS:
            return whole_excerpt(fragment)
        return excerpt_at_level(fragment, at_detail(fragment.text, level))

    def everything(self) -> Selected:
        """All fragments that are not excluded, at the layer's level of detail."""
        return self.lay_out_all(
            [self.first_excerpt(fragment) for group in self.sections.values() for fragment in group]
        )

    def pinned(self) -> Selected:
        """The fragments that rules include, whole; none for a required layer, which is whole anyway."""
        if self.layer.limits.required:
            return {}
        return self.lay_out_all(
            [whole_excerpt(fragment) for group in self.sections.values() for fragment in group if is_pinned(fragment)]
        )


class Allowance(NamedTuple):
    """The least of a layer's limits."""

    units: int
    by: str
    """`max_tokens`, `share`, `ceiling`, `reserve`, `budget`, or `within` for a part of the room of another layer;
    `required` for no limit."""


class Demand(NamedTuple):
    """The sections that a layer would show if there were room for all, and the room that is held for it."""

    layer_input: LayerInput
    everything: Selected
    pinned: Selected
    reserve: int = 0
    """Units held for it against the layers before it, or against those that `reserve_against` names."""

    @property
    def layer(self) -> Layer:
        """The layer that demands."""
        return self.layer_input.layer

    @property
    def units(self) -> int:
        """Units of everything."""
        return units_of(self.everything)


class LayerResult(NamedTuple):
    """A layer with the sections that were selected for it."""

    layer_input: LayerInput
    allowance: Allowance
    wanted: int
    """Units of everything that was not excluded."""
    selected: Selected
    problems: tuple[Problem, ...] = ()

    @property
    def used(self) -> int:
        """Units of the selected sections."""
        return units_of(self.selected)

    @property
    def is_starved(self) -> bool:
        """Whether it got nothing because of other layers, not because of a limit of its own."""
        return not self.selected and self.allowance.by in {"budget", "reserve", "ceiling"}


def is_pinned(fragment: Fragment) -> bool:
    """Whether a rule, or the memory itself, includes a fragment."""
    return bool(fragment.verdict.pinned_by)


def loses_no_line(layer: Layer) -> bool:
    """Whether a larger budget must not lose a line of a layer (docs/architecture.md, law 7).

    It holds running text, of documents or logs, that is whole or truncated and never dropped.
    """
    is_running = all(source.is_running_text for source in layer.query.traits)
    return is_running and not layer.limits.required and {*layer.overflow.steps} <= {"truncate"}


def is_stable(layer: Layer, profile: Profile) -> bool:
    """Whether a layer shows documents, and no other source decides how much room it has."""
    later = profile.layers[profile.layers.index(layer) + 1 :]
    is_reserved_against = any(
        other.limits.reserve and not _shows_only_documents(other) and binds(other, layer) for other in later
    )
    if not _shows_only_documents(layer) or layer.changed_by_rules:
        return False
    return layer.limits.required or (loses_no_line(layer) and not (is_reserved_against or profile.fill))


def _shows_only_documents(layer: Layer) -> bool:
    return all(source.is_document for source in layer.query.traits)


def binds(reserving: Layer, earlier: Layer) -> bool:
    """Whether the reserve of a layer is held against an earlier one."""
    against = reserving.limits.reserve_against
    return not against or earlier.id in against


def demand_of(layer_input: LayerInput) -> Demand:
    """The demand of a layer, with no room held for it yet."""
    return Demand(layer_input, layer_input.everything(), layer_input.pinned())


def in_turn(demands: Sequence[Demand], total: int, units_per_token: int) -> list[Demand]:
    """The demands in the order in which they take their room, each with the room that is held for it.

    A layer within another comes right behind that one.
    """
    ids = {demand.layer.id for demand in demands}
    ordered = sorted(demands, key=lambda demand: (not demand.layer.limits.required, -demand.layer.limits.priority))
    followers = {demand.layer.limits.within: demand for demand in ordered if demand.layer.limits.within in ids}
    owners = [demand for demand in ordered if demand.layer.limits.within not in ids]
    paired = [each for owner in owners for each in (owner, followers.get(owner.layer.id)) if each]
    return [demand._replace(reserve=_reserve(demand, total, units_per_token)) for demand in paired]


def held_units(earlier: Demand, later: Sequence[Demand], room: int) -> int:
    """Units of the `room` left to a layer that are held for the layers behind it.

    Reserves against some layers alone take half of the room at most, but for pins.
    """
    firm = sum(units_of(demand.pinned) if demand.layer.limits.reserve_against else demand.reserve for demand in later)
    named = sum(
        demand.reserve - units_of(demand.pinned)
        for demand in later
        if demand.layer.limits.reserve_against and binds(demand.layer, earlier.layer)
    )
    return firm + min(named, max(0, room - firm) // 2)


def _reserve(demand: Demand, total: int, units_per_token: int) -> int:
    """Units held for a layer: no more than it demands, or than its own limits let it take, but for its pins."""
    limits = demand.layer.limits
    if limits.required:
        return 0
    own_limits = [limit.units for limit in fixed_limits(demand.layer, total, units_per_token)]
    return max(units_of(demand.pinned), min(limits.reserve * units_per_token, demand.units, *own_limits))


def fixed_limits(layer: Layer, total: int, units_per_token: int, *, growing: bool = False) -> list[Allowance]:
    """The limits of a layer that do not depend on the use of others.

    `growing` leaves out a share above which the layer may take unused room.
    """
    limits = []
    if layer.limits.max_tokens is not None:
        limits.append(Allowance(layer.limits.max_tokens * units_per_token, "max_tokens"))
    if layer.limits.share is not None and not (growing and layer.limits.grow):
        limits.append(Allowance(int(total * layer.limits.share / 100), "share"))
    return limits


def allowance_of(demand: Demand, total: int, units_per_token: int, charged: int, later: int) -> Allowance:
    """The least of a layer's limits (docs/architecture.md, Budget).

    `charged` are the units that the layers before it are charged with, `later` those held for the layers behind it.
    Room held for the layer itself is its own even above its ceiling: else a larger budget could leave it less. Pins
    pass any limit of the layer.
    """
    layer = demand.layer
    if layer.limits.required:
        return Allowance(demand.units, "required")
    limits = [
        Allowance(total - charged - later, "reserve" if later else "budget"),
        *fixed_limits(layer, total, units_per_token),
    ]
    if layer.limits.ceiling is not None:
        ceiling = int(total * layer.limits.ceiling / 100) - charged
        limits.append(Allowance(max(ceiling, demand.reserve), "ceiling"))
    least = min(limits, key=lambda limit: limit.units)
    return Allowance(max(0, units_of(demand.pinned), least.units), least.by)


def charge(result: LayerResult, later: Sequence[Layer]) -> int:
    """Units that a finished layer is charged with before the later layers get theirs.

    More than it used, where a larger budget would let it use more and a later layer must lose no line: else that room
    would feed the later layer at this budget and not at a larger one (docs/architecture.md, law 7).
    """
    is_whole = result.wanted <= result.allowance.units
    is_bound = result.allowance.by == "max_tokens" and not result.layer_input.layer.limits.within
    if is_whole or is_bound or not any(map(loses_no_line, later)):
        return result.used
    return result.allowance.units


def growth_allowance(
    demands: Sequence[Demand], number: int, results: Mapping[str, LayerResult], total: int
) -> Allowance:
    """The least limit of the layer `demands[number]` once all have been filled, with the room that they leave unused.

    No layer's ceiling is passed: each counts the layers before it, too.
    """
    layer, counter = demands[number].layer, demands[number].layer_input.counter
    used = [results[demand.layer.id].used for demand in demands]
    unused = total - sum(used)
    limits = [
        Allowance(used[number] + unused, "budget"),
        *fixed_limits(layer, total, counter.units_per_token, growing=True),
    ]
    for place, demand in enumerate(demands[number:], number):
        ceiling = demand.layer.limits.ceiling
        if ceiling is not None and (place == number or used[place]):
            free = int(total * ceiling / 100) - sum(used[: place + 1])
            limits.append(Allowance(used[number] + max(0, free), "ceiling"))
    return min(limits, key=lambda limit: limit.units)


KeepTop = Callable[[Sequence[Fragment], Layer], Sequence[Fragment]]
"""Excludes the fragments of a layer beyond its `top`."""

OWN_PART = 3
"""Part of its room that a layer keeps beside one within it: a third."""


def own_part(demand: Demand, whole: Allowance) -> Allowance:
    """The part of its allowance that a layer keeps."""
    return whole._replace(units=max(units_of(demand.pinned), whole.units // OWN_PART))


def other_part(demand: Demand, whole: Allowance, limits: Sequence[Allowance]) -> Allowance:
    """The part of another layer's allowance `whole` that a layer within it has; `limits` are its own."""
    rest = whole._replace(units=whole.units - whole.units // OWN_PART, by="within" if whole.units else whole.by)
    least = min([rest, *limits], key=lambda limit: limit.units)
    return least._replace(units=max(units_of(demand.pinned), least.units))


def without_shown(demand: Demand, shown: LayerResult, keep_top: KeepTop) -> Demand:
    """The demand without the fragments whose lines another layer shows all of, and of the others the layer's `top`."""
    lines: set[tuple[str, int]] = set()
    for section in shown.selected.values():
        for excerpt in section.excerpts:
            location = excerpt.fragment.location
            if not (excerpt.form or location.rows):
                numbers = (number for part in excerpt.ranges for number in range(part.first, part.stop))
                lines |= {(location.path, location.file_line(number)) for number in numbers}
    reason = Reason.of("shown-above", layer=shown.layer_input.layer.id)
    candidates = []
    for fragment in demand.layer_input.candidates:
        own = range(fragment.text.count("\n") + 1)
        location = fragment.location
        is_shown = all((location.path, location.file_line(number)) in lines for number in own)
        is_twice = is_shown and not (fragment.verdict.excluded or fragment.verdict.pinned_by)
        candidates.append(fragment.exclude(reason) if is_twice else fragment)
    kept = demand_of(demand.layer_input.with_candidates(keep_top(candidates, demand.layer)))
    return kept._replace(reserve=demand.reserve)
