"""Slots and rooms: the layers with what was found for them, and how much each may take.

Nothing is chosen here. Sizes are in the counter's units, which add up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contextasm.model import Fragment, Layer, Problem, Profile, SectionFormat, Summarizer, TokenCounter
from contextasm.selection.detail import LEVELS, at_detail
from contextasm.selection.layout import Excerpt, excerpt_at_level, section_body, whole_excerpt

Selected = Mapping[str, Sequence[Excerpt]]
"""What is kept of a layer, by heading."""


class LayerInput(NamedTuple):
    """A layer with what was found for it."""

    layer: Layer
    candidates: Sequence[Fragment]
    sections: Mapping[str, Sequence[Fragment]]
    """The fragments in question, by heading, in keep order: pinned ones first."""
    stable: bool
    """Whether neither the date nor the topic can change what is shown of it."""
    counter: TokenCounter
    section_format: SectionFormat
    summarizer: Summarizer | None

    def text(self, heading: str, kept: Sequence[Excerpt]) -> str:
        """The text under a heading if this much is kept."""
        there = {each.fragment.id for each in kept}
        missing = [fragment for fragment in self.sections[heading] if fragment.id not in there]
        return section_body(
            kept, missing, "\n" if self.layer.display.item_template else "\n\n", self.section_format.marker
        )

    def cost(self, heading: str, kept: Sequence[Excerpt]) -> int:
        """The size of that section as emitted."""
        text = self.text(heading, kept)
        return self.counter.units(self.section_format.section(self.layer.id, heading, text)) if text else 0

    def total(self, choice: Selected) -> int:
        """The size of the whole layer."""
        return sum(self.cost(heading, kept) for heading, kept in choice.items())

    def choice(self, kept: Sequence[Excerpt]) -> Selected:
        """What is kept, by heading, in the order of the headings."""
        own: dict[str, list[Excerpt]] = {heading: [] for heading in self.sections}
        for each in kept:
            own[each.fragment.display.heading].append(each)
        return {heading: each for heading, each in own.items() if each}

    def first_form(self, fragment: Fragment) -> Excerpt:
        """A fragment as its layer means to show it: whole, or at the layer's level of detail."""
        level = self.layer.overflow.detail
        if self.layer.limits.required or fragment.verdict.pinned_by or fragment.display.fence or level not in LEVELS:
            return whole_excerpt(fragment)
        return excerpt_at_level(fragment, at_detail(fragment.text, level))

    @property
    def pinned(self) -> Selected:
        """What rules include, whole."""
        pins = {
            heading: [*map(whole_excerpt, (each for each in own if each.verdict.pinned_by))]
            for heading, own in self.sections.items()
        }
        return {} if self.layer.limits.required else {heading: own for heading, own in pins.items() if own}

    @property
    def everything(self) -> Selected:
        """All that is in question, as the layer means to show it."""
        return {heading: [*map(self.first_form, fragments)] for heading, fragments in self.sections.items()}


class Allowance(NamedTuple):
    """How much a layer may take, and which limit says so."""

    units: int
    by: str
    """`max_tokens`, `share`, `ceiling`, `reserve` or `budget`; `required` for no limit."""


class Demand(NamedTuple):
    """A layer whose turn it is to take its room, with sizes."""

    layer_input: LayerInput
    wanted: int
    """Of everything in question."""
    pinned: int
    """Of what rules include."""
    reserve: int
    """What is held for it against the layers before it."""


class LayerResult(NamedTuple):
    """A layer with what was settled for it."""

    layer_input: LayerInput
    allowance: Allowance
    wanted: int
    selected: Selected
    used: int
    problems: tuple[Problem, ...] = ()

    @property
    def is_starved(self) -> bool:
        """Whether it got nothing because of others, not because of a limit of its own."""
        return not self.selected and self.allowance.by in {"budget", "reserve", "ceiling"}


def layer_input(layer: Layer, pool: Sequence[Fragment], like: LayerInput) -> LayerInput:
    """A layer with its fragments, sorted into sections; the rest is as in a slot that is `like` it."""
    sections: dict[str, list[Fragment]] = {heading: [] for heading in layer.heading}
    for fragment in pool:
        if fragment.verdict.excluded is None:
            sections[fragment.display.heading].append(fragment)
    for own in sections.values():
        own.sort(key=lambda fragment: not fragment.verdict.pinned_by)
    return like._replace(
        layer=layer, candidates=pool, sections={heading: own for heading, own in sections.items() if own}
    )


def is_stable(layer: Layer, profile: Profile) -> bool:
    """Whether a layer shows documents, and no other source holds room back from it: how much, its finds decide."""
    holding = {each.id for each in profile.layers if each.limits.reserve and each.query.sources != ("document",)}
    behind = {each.id for each in profile.layers[profile.layers.index(layer) + 1 :]}
    if layer.query.sources != ("document",) or layer.changed_by_rules:
        return False
    return layer.limits.required or not (holding & behind or profile.fill)


def demands(slots: Sequence[LayerInput], total: int, units_per_token: int) -> list[Demand]:
    """The slots in the order in which they take their room, each with what it wants and what is held for it."""
    found = []
    for slot in sorted(slots, key=lambda slot: (not slot.layer.limits.required, -slot.layer.limits.priority)):
        wanted, pinned = slot.total(slot.everything), slot.total(slot.pinned)
        reserve = 0 if slot.layer.limits.required else max(pinned, _reserve(slot.layer, total, units_per_token, wanted))
        found.append(Demand(slot, wanted, pinned, reserve))
    return found


def with_pins_that_fit(slots: list[LayerInput], room: int) -> tuple[list[LayerInput], list[Problem]]:
    """The slots with as many of their pins as fit the room together, the last one giving way first."""
    problems: list[Problem] = []
    while (pinning := [n for n, slot in enumerate(slots) if slot.pinned]) and _all_pinned(slots) > room:
        number = pinning[-1]
        slot = slots[number]
        last = next(
            each for each in reversed(slot.candidates) if each.verdict.pinned_by and each.verdict.excluded is None
        )
        pool = tuple(
            each._replace(verdict=each.verdict._replace(pinned_by="")) if each is last else each
            for each in slot.candidates
        )
        slots = [*slots[:number], layer_input(slot.layer, pool, slot), *slots[number + 1 :]]
        message = f"rule {last.verdict.pinned_by} includes it, and the budget has no room for all of it"
        problems.append(Problem("pin-dropped", last.location.path, last.location.line, message))
    return slots, problems


def _all_pinned(slots: Sequence[LayerInput]) -> int:
    """The size of what rules include."""
    return sum(slot.total(slot.pinned) for slot in slots)


def _reserve(layer: Layer, total: int, units_per_token: int, wanted: int) -> int:
    """The size that is held for a layer: no more than it wants, or than its own limits let it take."""
    return min(
        layer.limits.reserve * units_per_token,
        wanted,
        *(limit.units for limit in own_limits(layer, total, units_per_token)),
    )


def own_limits(layer: Layer, total: int, units_per_token: int) -> list[Allowance]:
    """The limits of a layer that do not depend on what others take."""
    limits = []
    if layer.limits.max_tokens is not None:
        limits.append(Allowance(layer.limits.max_tokens * units_per_token, "max_tokens"))
    if layer.limits.share is not None:
        limits.append(Allowance(int(total * layer.limits.share / 100), "share"))
    return limits


def allowance_of(turn: Demand, total: int, units_per_token: int, booked: int, later: int) -> Allowance:
    """The least of a layer's limits (docs/DESIGN.md section 4), all of them sizes; `later` is held for those behind it.

    What is held for the layer itself is its own even above its ceiling: else a larger budget could leave it less. Pins
    pass any limit of the layer.
    """
    layer = turn.layer_input.layer
    if layer.limits.required:
        return Allowance(turn.wanted, "required")
    limits = [
        Allowance(total - booked - later, "reserve" if later else "budget"),
        *own_limits(layer, total, units_per_token),
    ]
    if layer.limits.ceiling is not None:
        limits.append(Allowance(max(int(total * layer.limits.ceiling / 100) - booked, turn.reserve), "ceiling"))
    least = min(limits, key=lambda limit: limit.units)
    return Allowance(max(0, turn.pinned, least.units), least.by)


def charge(done: LayerResult) -> int:
    """What a layer counts for with those behind it.

    Not just what it used, where a larger budget would let it use more: else that room would feed a later layer at
    this budget and not at a larger one, and a larger budget would lose a line (docs/DESIGN.md, law 7).
    """
    if done.wanted <= done.allowance.units or done.allowance.by == "max_tokens":
        return done.used
    return done.allowance.units
