"""Select: what enters the context, what is shortened and what stays out, under a hard limit.

Sizes are in the counter's units, which add up; tokens are figured out from them at the end. Nothing is worded or
emitted here: the frame says what surrounds a section, so that headings, blank lines and markers are paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from contextasm.model import Allowance, Decision, Fragment, Layer, Problem, Profile, Reason, Section, Selection
from contextasm.text.cut import cut
from contextasm.text.layout import Frame, Kept, body, shown, whole
from contextasm.tokens import Counter

Choice = Mapping[str, Sequence[Kept]]
"""What is kept of a layer, by heading."""


class _Slot(NamedTuple):
    """A layer with what was found for it."""

    layer: Layer
    pool: Sequence[Fragment]
    sections: Mapping[str, Sequence[Fragment]]
    """The fragments in question, by heading, in keep order: pinned ones first."""
    stable: bool
    """Whether neither the date nor the topic can change what is shown of it."""
    counter: Counter
    frame: Frame

    def text(self, heading: str, kept: Sequence[Kept]) -> str:
        """The text under a heading if this much is kept."""
        there = {each.fragment.id for each in kept}
        missing = [fragment for fragment in self.sections[heading] if fragment.id not in there]
        return body(kept, missing, "\n" if self.layer.line else "\n\n", self.frame.marker)

    def cost(self, heading: str, kept: Sequence[Kept]) -> int:
        """The size of that section as emitted."""
        text = self.text(heading, kept)
        return self.counter.size(self.frame.section(self.layer.id, heading, text)) if text else 0

    def total(self, choice: Choice) -> int:
        """The size of the whole layer."""
        return sum(self.cost(heading, kept) for heading, kept in choice.items())

    @property
    def pinned(self) -> Choice:
        """What rules include, whole."""
        pins = {heading: [*map(whole, (each for each in own if each.pin))] for heading, own in self.sections.items()}
        return {} if self.layer.required else {heading: own for heading, own in pins.items() if own}

    @property
    def everything(self) -> Choice:
        """All that is in question, whole."""
        return {heading: [*map(whole, fragments)] for heading, fragments in self.sections.items()}


class _Room(NamedTuple):
    """How much a layer may take, and which limit says so."""

    size: int
    by: str
    """`max_tokens`, `share`, `ceiling`, `reserve` or `budget`; `required` for no limit."""


class Budget(NamedTuple):
    """What the document may take."""

    tokens: int
    """As asked for."""
    spare: int = 0
    """Tokens of it that must stay free: exact counts of the parts may add up to less than the whole's."""


class _Turn(NamedTuple):
    """A layer whose turn it is to take its room, with sizes."""

    slot: _Slot
    wanted: int
    """Of everything in question."""
    pinned: int
    """Of what rules include."""
    reserve: int
    """What is held for it against the layers before it."""


class _Filled(NamedTuple):
    """A layer with what was settled for it."""

    slot: _Slot
    room: _Room
    wanted: int
    choice: Choice
    used: int


def select(
    profile: Profile, pools: Mapping[str, Sequence[Fragment]], budget: Budget, counter: Counter, frame: Frame
) -> Selection:
    """What is shown of the ranked fragments in `pools` (by layer id), and one decision for each of them.

    Required layers are whole whatever the budget says; all others share what they leave.
    """
    slots = [_slot(layer, pools[layer.id], counter, frame, _is_stable(layer, profile)) for layer in profile.layers]
    grain = counter.grain
    total = (budget.tokens - budget.spare) * grain + _last_line_end(counter)
    booked = sum(slot.total(slot.everything) for slot in slots if slot.layer.required)
    over = booked > budget.tokens * grain + _last_line_end(counter)
    slots, unpinned = _with_pins_that_fit(slots, total - booked)
    done: dict[str, _Filled] = {}
    turns = _turns(slots, total, grain)
    for number, turn in enumerate(turns):
        later = sum(each.reserve for each in turns[number + 1 :])
        filled = _fill(turn, _room(turn, total, grain, booked, later))
        booked += 0 if turn.slot.layer.required else _booking(filled)
        done[turn.slot.layer.id] = filled
    filled_slots = [done[layer.id] for layer in profile.layers]
    problems = [_over_budget(booked, budget.tokens, counter)] if over else []
    return Selection(
        sections=tuple(section for each in filled_slots for section in _sections(each)),
        decisions=tuple(decision for each in filled_slots for decision in _decisions(each)),
        allowances=tuple(_allowance(each) for each in filled_slots),
        problems=(*problems, *unpinned, *(problem for each in filled_slots for problem in _nothing(each))),
    )


def _turns(slots: Sequence[_Slot], total: int, grain: int) -> list[_Turn]:
    """The slots in the order in which they take their room, each with what it wants and what is held for it."""
    turns = []
    for slot in sorted(slots, key=lambda slot: (not slot.layer.required, -slot.layer.priority)):
        wanted, pinned = slot.total(slot.everything), slot.total(slot.pinned)
        reserve = 0 if slot.layer.required else max(pinned, _reserve(slot.layer, total, grain, wanted))
        turns.append(_Turn(slot, wanted, pinned, reserve))
    return turns


def _with_pins_that_fit(slots: list[_Slot], room: int) -> tuple[list[_Slot], list[Problem]]:
    """The slots with as many of their pins as fit the room together, the last one giving way first."""
    problems: list[Problem] = []
    while sum(slot.total(slot.pinned) for slot in slots) > room:
        number = max(number for number, slot in enumerate(slots) if slot.pinned)
        slot = slots[number]
        last = next(each for each in reversed(slot.pool) if each.pin and each.out is None)
        pool = tuple(each._replace(pin="") if each is last else each for each in slot.pool)
        slots = [*slots[:number], _slot(slot.layer, pool, slot.counter, slot.frame, slot.stable), *slots[number + 1 :]]
        message = f"rule {last.pin} includes it, and the budget has no room for all of it"
        problems.append(Problem("pin-dropped", last.path, last.line, message))
    return slots, problems


def _last_line_end(counter: Counter) -> int:
    """What the document is smaller than its sections: the blank line behind the last one goes."""
    return counter.size("\n\n") - counter.size("\n")


def _is_stable(layer: Layer, profile: Profile) -> bool:
    """Whether a layer shows documents, and no other source holds room back from it: how much, its finds decide."""
    holding = {each.id for each in profile.layers if each.reserve and each.source != ("document",)}
    behind = {each.id for each in profile.layers[profile.layers.index(layer) + 1 :]}
    if layer.source != ("document",) or layer.varies:
        return False
    return layer.required or not holding & behind


def _slot(layer: Layer, pool: Sequence[Fragment], counter: Counter, frame: Frame, stable: bool) -> _Slot:
    """A layer with its fragments, sorted into sections."""
    sections: dict[str, list[Fragment]] = {heading: [] for heading in layer.heading}
    for fragment in pool:
        if fragment.out is None:
            sections[fragment.heading].append(fragment)
    for own in sections.values():
        own.sort(key=lambda fragment: not fragment.pin)
    return _Slot(layer, pool, {heading: own for heading, own in sections.items() if own}, stable, counter, frame)


def _reserve(layer: Layer, total: int, grain: int, wanted: int) -> int:
    """The size that is held for a layer: no more than it wants, or than its own limits let it take."""
    return min(layer.reserve * grain, wanted, *(limit.size for limit in _own_limits(layer, total, grain)))


def _own_limits(layer: Layer, total: int, grain: int) -> list[_Room]:
    """The limits of a layer that do not depend on what others take."""
    limits = []
    if layer.max_tokens is not None:
        limits.append(_Room(layer.max_tokens * grain, "max_tokens"))
    if layer.share is not None:
        limits.append(_Room(int(total * layer.share / 100), "share"))
    return limits


def _room(turn: _Turn, total: int, grain: int, booked: int, later: int) -> _Room:
    """The least of a layer's limits (DESIGN.md section 4), all of them sizes; `later` is held for those behind it.

    What is held for the layer itself is its own even above its ceiling: else a larger budget could leave it less. Pins
    pass any limit of the layer.
    """
    layer = turn.slot.layer
    if layer.required:
        return _Room(turn.wanted, "required")
    limits = [_Room(total - booked - later, "reserve" if later else "budget"), *_own_limits(layer, total, grain)]
    if layer.ceiling is not None:
        limits.append(_Room(max(int(total * layer.ceiling / 100) - booked, turn.reserve), "ceiling"))
    least = min(limits, key=lambda limit: limit.size)
    return _Room(max(0, turn.pinned, least.size), least.by)


def _booking(done: _Filled) -> int:
    """What a layer counts for with those behind it.

    Not just what it used, where a larger budget would let it use more: else that room would feed a later layer at
    this budget and not at a larger one, and a larger budget would lose a line (STYLE.md, law 7).
    """
    if done.wanted <= done.room.size or done.room.by == "max_tokens":
        return done.used
    return done.room.size


def _fill(turn: _Turn, room: _Room) -> _Filled:
    """A layer within its room: everything, else what the first step of its ladder that keeps anything keeps."""
    slot = turn.slot
    if turn.wanted <= room.size or slot.layer.required:
        return _Filled(slot, room, turn.wanted, slot.everything, turn.wanted)
    choice: Choice = {}
    for number, step in enumerate(slot.layer.fit):
        only_best = "drop" in slot.layer.fit[:number]
        choice = STEPS[step](slot, room.size, only_best)
        if choice:
            break
    choice = choice or slot.pinned
    return _Filled(slot, room, turn.wanted, choice, slot.total(choice))


def _drop(slot: _Slot, room: int, _only_best: bool) -> Choice:
    """Whole fragments, best first; one that does not fit is skipped."""
    choice: dict[str, list[Kept]] = {}
    costs: dict[str, int] = {}
    for fragment in sorted(slot.pool, key=lambda fragment: not fragment.pin):
        left = room - sum(costs.values()) + costs.get(fragment.heading, 0)
        own = costs.get(fragment.heading, 0)
        if fragment.out or own + slot.counter.size(fragment.text) > left:
            continue
        more = [*choice.get(fragment.heading, ()), whole(fragment)]
        cost = slot.cost(fragment.heading, more)
        if cost <= left:
            choice[fragment.heading], costs[fragment.heading] = more, cost
    return {heading: choice[heading] for heading in slot.sections if heading in choice}


def _truncate(slot: _Slot, room: int, only_best: bool) -> Choice:
    """Section by section as long as they fit whole, and as much of the next one as fits."""
    choice: dict[str, Sequence[Kept]] = {}
    for heading, fragments in slot.sections.items():
        own = fragments[:1] if only_best else fragments
        kept: Sequence[Kept] = [*map(whole, own)]
        cost = slot.cost(heading, kept)
        if cost > room:
            kept = cut(own, room, slot.counter.size, partial(slot.cost, heading))
        if kept:
            choice[heading] = kept
        if cost > room or only_best:
            break
        room -= cost
    return choice


STEPS: Mapping[str, Callable[[_Slot, int, bool], Choice]] = {"drop": _drop, "truncate": _truncate}
"""The ladder's steps by name: a layer, its room, and whether only its best fragment is left to try."""


def _sections(done: _Filled) -> list[Section]:
    """What is emitted of a layer."""
    slot = done.slot
    sections = []
    for heading, kept in done.choice.items():
        text = slot.text(heading, kept)
        tokens = slot.counter.tokens(slot.cost(heading, kept))
        cut_short = len(kept) < len(slot.sections[heading]) or not all(each.whole for each in kept)
        sections.append(Section(slot.layer.id, heading, text, tokens, cut_short, slot.stable))
    return sections


def _decisions(done: _Filled) -> list[Decision]:
    """One decision for each fragment of a layer."""
    kept = {(heading, each.fragment.id): each for heading, own in done.choice.items() for each in own}
    return [_decision(done, fragment, kept.get((fragment.heading, fragment.id))) for fragment in done.slot.pool]


def _decision(done: _Filled, fragment: Fragment, kept: Kept | None) -> Decision:
    """What happened to one fragment."""
    count = done.slot.counter.count
    before = None if fragment.out else count(fragment.text)
    after = 0 if kept is None else before if kept.whole and before else count(shown(kept))
    return Decision(
        fragment=fragment.id,
        layer=done.slot.layer.id,
        path=fragment.path,
        lines=(fragment.line, fragment.line + fragment.text.count("\n")) if fragment.line else (0, 0),
        reason=fragment.out or _reason(done, kept),
        before=before,
        after=after,
        kept=kept.spans if kept else (),
        score=fragment.score,
    )


def _reason(done: _Filled, kept: Kept | None) -> Reason:
    """Why a fragment in question is shown as it is."""
    if done.slot.layer.required:
        return Reason("required")
    if kept and kept.whole and kept.fragment.pin:
        return Reason.of("pinned", rule=kept.fragment.pin)
    if kept and kept.whole:
        return Reason(kept.fragment.why)
    code = "over-allowance" if kept else "starved" if _is_starved(done) else "no-room"
    return Reason.of(code, allowance=done.slot.counter.tokens(done.room.size), limit=done.room.by)


def _is_starved(done: _Filled) -> bool:
    """Whether a layer got nothing because of others, not because of a limit of its own."""
    return not done.choice and done.room.by in {"budget", "reserve", "ceiling"}


def _allowance(done: _Filled) -> Allowance:
    """The layer's limit and use in tokens."""
    counter = done.slot.counter
    limit = None if done.room.by == "required" else counter.tokens(done.room.size)
    return Allowance(done.slot.layer.id, limit, counter.tokens(done.wanted), counter.tokens(done.used))


def _nothing(done: _Filled) -> list[Problem]:
    """The problem of a layer that found something and may show none of it."""
    if done.choice or not done.wanted or done.slot.layer.max_tokens == 0:
        return []
    layer, size = done.slot.layer.id, done.slot.counter.tokens(done.room.size)
    wanted = done.slot.counter.tokens(done.wanted)
    if _is_starved(done):
        message = f"got nothing of {wanted} tokens: the layers before it left {size}"
        return [Problem("starved", layer, 0, message)]
    return [Problem("no-room", layer, 0, f"got nothing of {wanted} tokens: its limit of {size} holds no line of it")]


def _over_budget(required: int, budget: int, counter: Counter) -> Problem:
    """The problem of required layers that pass the budget by themselves."""
    message = f"required layers take {counter.tokens(required)} tokens of {budget}; nothing else was let in"
    return Problem("over-budget", "budget", 0, message)
