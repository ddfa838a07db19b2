"""The ladder: what is tried, step by step, with a layer that does not fit its room.

A step that comes before anything was dropped works on all fragments at once, the least valuable giving way first; a
step behind `drop` works on what was dropped, the most valuable first. What is pinned is never shortened, and code
keeps every detail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from contextasm.model import Fragment, Problem
from contextasm.selection.allocation import Allowance, Demand, LayerInput, LayerResult, Selected
from contextasm.selection.detail import detail_levels
from contextasm.selection.layout import Excerpt, excerpt_at_level, shown_text, summary_excerpt, whole_excerpt
from contextasm.selection.truncate import truncate
from contextasm.text.markdown import list_lead


class Attempt(NamedTuple):
    """How far down the ladder a layer is."""

    forms: tuple[Excerpt, ...]
    """Every fragment in question in the form to be tried next, the most valuable first."""
    choice: Selected | None = None
    """What is in; None as long as nothing had to go."""
    problems: tuple[Problem, ...] = ()


Step = Callable[[LayerInput, int, Attempt], Attempt]
"""Takes a layer, its room and how far it got."""


def overflow(turn: Demand, room: Allowance) -> LayerResult:
    """A layer within its room: everything, else what its ladder comes to, and what is pinned in any case."""
    slot = turn.layer_input
    if turn.wanted <= room.units or slot.layer.limits.required:
        return LayerResult(slot, room, turn.wanted, slot.everything, turn.wanted)
    ranked = sorted(
        (each for each in slot.candidates if each.verdict.excluded is None), key=lambda each: not each.verdict.pinned_by
    )
    tried = Attempt(tuple(map(slot.first_form, ranked)))
    adaptive = (_adapt,) if slot.layer.overflow.detail == "adaptive" else ()
    for step in (*adaptive, *(STEPS[name] for name in slot.layer.overflow.steps)):
        tried = step(slot, room.units, tried)
        if tried.choice and sum(map(len, tried.choice.values())) == len(ranked):
            break
    choice = tried.choice or slot.pinned
    return LayerResult(slot, room, turn.wanted, choice, slot.total(choice), tried.problems)


def shorter_forms(kept: Excerpt) -> Iterator[Excerpt]:
    """A fragment at each level of detail below the one that it is shown at, from the fullest on."""
    if kept.form == "summary" or kept.fragment.verdict.pinned_by or kept.fragment.display.fence:
        return
    forms = [excerpt_at_level(kept.fragment, form) for form in detail_levels(kept.fragment.text)]
    at = next((number for number, form in enumerate(forms) if form.text == kept.text), 0)
    yield from forms[at + 1 :]


def _adapt(slot: LayerInput, room: int, tried: Attempt) -> Attempt:
    """Each fragment in the fullest form that fits, best first."""
    return tried._replace(choice=_greedy(slot, room, tried.forms, lambda form: (form, *shorter_forms(form))))


def _drop(slot: LayerInput, room: int, tried: Attempt) -> Attempt:
    """What fits as it is, best first; one that does not fit is skipped."""
    return tried._replace(choice=_greedy(slot, room, tried.forms, lambda form: (form,)))


def _detail(slot: LayerInput, room: int, tried: Attempt) -> Attempt:
    """Less detail: one level down for each fragment in turn, then the next level, until all fit."""
    if tried.choice is not None:
        return tried._replace(choice=_greedy(slot, room, tried.forms, shorter_forms, tried.choice))
    return _lowered(slot, room, tried, lambda form: next(shorter_forms(form), None))


def _summarize(slot: LayerInput, room: int, tried: Attempt) -> Attempt:
    """The summarizer's words in place of a fragment's, where they are fewer."""
    if slot.summarizer is None:
        return tried
    problems: list[Problem] = []

    def summaries(form: Excerpt) -> Iterator[Excerpt]:
        text = _summary(slot, form, problems)
        if text:
            yield summary_excerpt(form.fragment, text)

    if tried.choice is not None:
        done = tried._replace(choice=_greedy(slot, room, tried.forms, summaries, tried.choice))
    else:
        done = _lowered(slot, room, tried, lambda form: next(summaries(form), None), rounds=1)
    return done._replace(problems=tuple(dict.fromkeys((*tried.problems, *problems))))


def _summary(slot: LayerInput, form: Excerpt, problems: list[Problem]) -> str:
    """A fragment in the summarizer's words; empty where it has none, or none that are fewer."""
    if form.form == "summary" or form.fragment.verdict.pinned_by or slot.summarizer is None:
        return ""
    text = form.fragment.text
    mark = list_lead(text)  # no part of what is summarized
    said = slot.summarizer(text[len(mark) :])
    if isinstance(said, Problem):
        problems.append(said)
        return ""
    said = mark + said.replace("\n", "\n  ") if mark else said
    return said if slot.counter.units(said) < slot.counter.units(shown_text(form)) else ""


def _truncate(slot: LayerInput, room: int, tried: Attempt) -> Attempt:
    """Section by section as long as they fit whole, and as much of the next one as fits; of dropped ones the best."""
    if tried.choice:
        return tried
    if tried.choice is None and any(form.form for form in tried.forms):
        kept = _greedy(slot, room, tried.forms, lambda form: (form,))
        if kept:
            return tried._replace(choice=kept)
    return tried._replace(choice=_cut(slot, room, only_best=tried.choice is not None))


def _cut(slot: LayerInput, room: int, *, only_best: bool) -> Selected:
    """The fragments in full, the last of them cut."""
    choice: dict[str, Sequence[Excerpt]] = {}
    for heading, fragments in slot.sections.items():
        own = fragments[:1] if only_best else fragments
        kept: Sequence[Excerpt] = [*map(whole_excerpt, own)]
        cost = slot.cost(heading, kept)
        if cost > room:
            kept = truncate(own, room, slot.counter.units, partial(slot.cost, heading))
        if kept:
            choice[heading] = kept
        if cost > room or only_best:
            break
        room -= cost
    return choice


STEPS: Mapping[str, Step] = {"drop": _drop, "detail": _detail, "summarize": _summarize, "truncate": _truncate}
"""The ladder's steps by name."""


def _greedy(
    slot: LayerInput,
    room: int,
    forms: Sequence[Excerpt],
    tries: Callable[[Excerpt], Iterable[Excerpt]],
    choice: Selected | None = None,
) -> Selected:
    """What is chosen already, and of each other fragment, best first, the first of its forms to try that fits."""
    chosen = {heading: [*kept] for heading, kept in (choice or {}).items()}
    costs = {heading: slot.cost(heading, kept) for heading, kept in chosen.items()}
    there = {each.fragment.id for kept in chosen.values() for each in kept}
    for form in forms:
        if form.fragment.id in there:
            continue
        heading = form.fragment.display.heading
        own = costs.get(heading, 0)
        left = room - sum(costs.values()) + own
        for each in tries(form):
            if own + slot.counter.units(shown_text(each)) > left:
                continue
            more = [*chosen.get(heading, ()), each]
            cost = slot.cost(heading, more)
            if cost <= left:
                chosen[heading], costs[heading] = more, cost
                break
    return {heading: chosen[heading] for heading in slot.sections if heading in chosen}


def _lowered(
    slot: LayerInput, room: int, tried: Attempt, lower: Callable[[Excerpt], Excerpt | None], rounds: int | None = None
) -> Attempt:
    """The fragments in smaller forms, the least valuable first and all in turn, until they fit together.

    Where even the last forms do not fit, these are what the next step starts from.
    """
    forms = [*tried.forms]
    size = slot.counter.units
    used = slot.total(slot.choice(forms))
    changed = True
    while changed and rounds != 0:
        changed = False
        rounds = None if rounds is None else rounds - 1
        for number in reversed(range(len(forms))):
            smaller = lower(forms[number])
            if smaller is None or size(shown_text(smaller)) >= size(shown_text(forms[number])):
                continue
            used -= size(shown_text(forms[number])) - size(shown_text(smaller))
            forms[number], changed = smaller, True
            # Sizes of parts need not add up to the whole's; that is counted where it may fit by now.
            if used <= room:
                choice = slot.choice(forms)
                used = slot.total(choice)
                if used <= room:
                    return tried._replace(forms=tuple(forms), choice=choice)
    return tried._replace(forms=tuple(forms))


def expand(filled: Sequence[LayerResult], limits: Mapping[str, int], goal: int, total: int) -> list[LayerResult]:
    """The layers with detail added to what they show shortened, best first, until all together reach the goal.

    Sizes: `limits` is what each layer may take at most, by id; `total` what all may take together.
    """
    done = {each.layer_input.layer.id: each for each in filled}
    shortened = [
        (each.layer_input.layer.id, kept)
        for each in filled
        for own in each.selected.values()
        for kept in own
        if kept.form
    ]
    shortened.sort(key=lambda item: -_worth(item[1].fragment))
    for layer, kept in shortened:
        used = sum(each.used for each in done.values())
        if used >= goal:
            break
        own = done[layer]
        done[layer] = _fuller(own, kept, min(total - used, limits[layer] - own.used))
    return [done[each.layer_input.layer.id] for each in filled]


def _worth(fragment: Fragment) -> float:
    """The total of a fragment's score; 0 where it has none."""
    return fragment.score[-1][1] if fragment.score else 0.0


def _fuller(filled: LayerResult, kept: Excerpt, room: int) -> LayerResult:
    """A layer with one of its fragments in the fullest form that takes no more than `room` above what is used."""
    slot, heading = filled.layer_input, kept.fragment.display.heading
    before = slot.cost(heading, filled.selected[heading])
    for form in detail_levels(kept.fragment.text):
        if form.text == kept.text:
            break
        more = [excerpt_at_level(kept.fragment, form) if each is kept else each for each in filled.selected[heading]]
        extra = slot.cost(heading, more) - before
        if extra <= room:
            used = filled.used + extra
            room_then = filled.allowance._replace(units=max(filled.allowance.units, used))
            return filled._replace(selected={**filled.selected, heading: more}, used=used, allowance=room_then)
    return filled
