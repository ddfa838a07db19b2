"""Overflow: the steps that are tried, in order, with a layer that does not fit its allowance.

A step that comes before anything was dropped works on all fragments at once, the least valuable giving way first; a
step behind `drop` works on the dropped ones, the most valuable first. A step that shortens keeps the fullest form that
fits, and `truncate` behind it shows more of these fragments where there is room left. Pinned fragments are never
shortened, and code keeps every detail.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from contextasm.model import Problem
from contextasm.selection.allocation import (
    Allowance,
    Demand,
    LaidOutSection,
    LayerInput,
    LayerResult,
    Selected,
    units_of,
)
from contextasm.selection.detail import detail_levels
from contextasm.selection.expand import truncated_section, with_longer_parts, with_more_detail, with_one_cut
from contextasm.selection.layout import Excerpt, excerpt_at_level, shown_text, summary_excerpt, whole_excerpt
from contextasm.text.markdown import list_lead
from contextasm.text.outline import nest


class Attempt(NamedTuple):
    """State of a layer between two steps."""

    excerpts: tuple[Excerpt, ...]
    """Every fragment that is not excluded in the form to be tried next, the most valuable first."""
    everything: Selected
    """The sections with all fragments in the forms that they had before any step."""
    selected: Selected | None = None
    """The sections so far; None as long as nothing had to be left out."""
    fits: bool = False
    """Whether nothing is left out: the fragments fit together in their shorter forms."""
    problems: tuple[Problem, ...] = ()


Step = Callable[[LayerInput, int, Attempt], Attempt]
"""Takes a layer, its room in units and the attempt so far."""


def overflow(demand: Demand, allowance: Allowance) -> LayerResult:
    """A layer within its allowance: everything, else the result of its overflow steps, and pinned fragments always."""
    layer_input = demand.layer_input
    if demand.units <= allowance.units or demand.layer.limits.required:
        return LayerResult(layer_input, allowance, demand.units, demand.everything)
    fragments = [fragment for fragment in layer_input.candidates if fragment.verdict.excluded is None]
    fragments.sort(key=lambda fragment: not fragment.verdict.pinned_by)
    attempt = Attempt(tuple(map(layer_input.first_excerpt, fragments)), demand.everything)
    adaptive = (_adapt,) if demand.layer.overflow.detail == "adaptive" else ()
    for step in (*adaptive, *(STEPS[name] for name in demand.layer.overflow.steps)):
        attempt = step(layer_input, allowance.units, attempt)
        if attempt.fits:
            break
    return LayerResult(layer_input, allowance, demand.units, attempt.selected or demand.pinned, attempt.problems)


def shorter_excerpts(excerpt: Excerpt) -> Iterator[Excerpt]:
    """A fragment at each level of detail below the one that it is shown at, from the fullest on."""
    if excerpt.form == "summary" or excerpt.fragment.verdict.pinned_by or excerpt.fragment.display.fence:
        return
    levels = [excerpt_at_level(excerpt.fragment, form) for form in detail_levels(excerpt.fragment.text)]
    current = next((number for number, level in enumerate(levels) if level.text == excerpt.text), 0)
    yield from levels[current + 1 :]


def _adapt(layer_input: LayerInput, room: int, attempt: Attempt) -> Attempt:
    """Each fragment in the fullest form that fits, best first."""
    selected = _greedy(layer_input, room, attempt.excerpts, lambda excerpt: (excerpt, *shorter_excerpts(excerpt)))
    shown = sum(len(section.excerpts) for section in selected.values())
    return attempt._replace(selected=selected, fits=shown == len(attempt.excerpts))


def _drop(layer_input: LayerInput, room: int, attempt: Attempt) -> Attempt:
    """Each fragment that fits as it is, best first; one that does not fit is skipped."""
    return attempt._replace(selected=_greedy(layer_input, room, attempt.excerpts, _unchanged, attempt.selected))


def _detail(layer_input: LayerInput, room: int, attempt: Attempt) -> Attempt:
    """Less detail: one level down for each fragment in turn, then the next level, until all fit."""
    if attempt.selected is not None:
        selected = _greedy(layer_input, room, attempt.excerpts, shorter_excerpts, attempt.selected)
        return attempt._replace(selected=selected)
    return _shorten(layer_input, room, attempt, lambda excerpt: next(shorter_excerpts(excerpt), None))


def _summarize(layer_input: LayerInput, room: int, attempt: Attempt) -> Attempt:
    """The summarizer's words in place of a fragment's, where they are fewer."""
    if layer_input.summarizer is None:
        return attempt
    problems: list[Problem] = []

    def summaries(excerpt: Excerpt) -> Iterator[Excerpt]:
        text = _summary(layer_input, excerpt, problems)
        if text:
            yield summary_excerpt(excerpt.fragment, text)

    if attempt.selected is not None:
        selected = _greedy(layer_input, room, attempt.excerpts, summaries, attempt.selected)
        attempt = attempt._replace(selected=selected)
    else:
        attempt = _shorten(layer_input, room, attempt, lambda excerpt: next(summaries(excerpt), None), rounds=1)
    return attempt._replace(problems=tuple(dict.fromkeys((*attempt.problems, *problems))))


def _summary(layer_input: LayerInput, excerpt: Excerpt, problems: list[Problem]) -> str:
    """A fragment in the summarizer's words; empty where it has none, or none that are fewer."""
    if excerpt.form == "summary" or excerpt.fragment.verdict.pinned_by or layer_input.summarizer is None:
        return ""
    text = excerpt.fragment.text
    mark = list_lead(text)  # no part of the text to summarize
    summary = layer_input.summarizer(text[len(mark) :])
    if isinstance(summary, Problem):
        problems.append(summary)
        return ""
    summary = mark + summary.replace("\n", "\n  ") if mark else summary
    if nesting := excerpt.fragment.display.nesting:
        summary = nest(summary, *nesting).text
    units = layer_input.counter.units
    return summary if units(summary) < units(shown_text(excerpt)) else ""


def _truncate(layer_input: LayerInput, room: int, attempt: Attempt) -> Attempt:
    """Section by section as long as they fit whole, and the beginning of the next; of dropped fragments the best.

    Where earlier steps shorten fragments, as much of these as there is room for, and the best of those that they could
    not shorten.
    """
    selected = attempt.selected
    if selected is None and any(excerpt.form for excerpt in attempt.excerpts):
        selected = _greedy(layer_input, room, attempt.excerpts, _unchanged)
    if selected:
        selected = with_longer_parts(layer_input, selected, room)
        if not {"detail", "summarize"}.isdisjoint(layer_input.layer.overflow.steps):
            selected = with_one_cut(layer_input, selected, room)
        return attempt._replace(selected=selected)
    if selected is None:
        return attempt._replace(selected=_whole_sections(layer_input, room, attempt.everything))
    return attempt._replace(selected=_best_fragment(layer_input, room))


def _whole_sections(layer_input: LayerInput, room: int, everything: Selected) -> Selected:
    """Each section in full as long as there is room, and the beginning of the next."""
    selected: dict[str, LaidOutSection] = {}
    for heading, section in everything.items():
        if section.units > room:
            cut = truncated_section(layer_input, heading, layer_input.sections[heading], room)
            return {**selected, heading: cut} if cut.excerpts else selected
        selected[heading] = section
        room -= section.units
    return selected


def _best_fragment(layer_input: LayerInput, room: int) -> Selected:
    """The first fragment, whole or cut; nothing where not even its beginning fits."""
    for heading, fragments in layer_input.sections.items():
        section = layer_input.lay_out(heading, [whole_excerpt(fragments[0])])
        if section.units > room:
            section = truncated_section(layer_input, heading, fragments[:1], room)
        return {heading: section} if section.excerpts else {}
    return {}


STEPS: Mapping[str, Step] = {"drop": _drop, "detail": _detail, "summarize": _summarize, "truncate": _truncate}
"""The overflow steps by name."""


def _unchanged(excerpt: Excerpt) -> tuple[Excerpt]:
    return (excerpt,)


def _greedy(
    layer_input: LayerInput,
    room: int,
    excerpts: Sequence[Excerpt],
    alternatives: Callable[[Excerpt], Iterable[Excerpt]],
    selected: Selected | None = None,
) -> Selected:
    """The selected sections, and of each other fragment, best first, the first of its alternatives that fits."""
    sections = {**(selected or {})}
    shown = {excerpt.fragment.id for section in sections.values() for excerpt in section.excerpts}
    for excerpt in excerpts:
        if excerpt.fragment.id in shown:
            continue
        heading = excerpt.fragment.display.heading
        section = sections.get(heading, LaidOutSection((), "", 0))
        section_room = room - units_of(sections) + section.units
        for alternative in alternatives(excerpt):
            if section.units + layer_input.counter.units(shown_text(alternative)) > section_room:
                continue
            larger = layer_input.lay_out(heading, (*section.excerpts, alternative))
            if larger.units <= section_room:
                sections[heading] = larger
                break
    return {heading: sections[heading] for heading in layer_input.sections if heading in sections}


def _shorten(
    layer_input: LayerInput,
    room: int,
    attempt: Attempt,
    shorter: Callable[[Excerpt], Excerpt | None],
    rounds: int | None = None,
) -> Attempt:
    """The fragments in shorter forms, the least valuable first and all in turn, until they fit together.

    What the last of them saves beyond need goes to the most valuable, which are shown as full as there is room for.
    Where even the shortest forms do not fit, the next step starts from these.
    """
    excerpts = [*attempt.excerpts]
    units = layer_input.counter.units
    used = units_of(layer_input.lay_out_all(excerpts))
    changed = True
    while changed and rounds != 0:
        changed = False
        rounds = None if rounds is None else rounds - 1
        for number in reversed(range(len(excerpts))):
            smaller = shorter(excerpts[number])
            saved = units(shown_text(excerpts[number])) - units(shown_text(smaller)) if smaller else 0
            if smaller is None or saved <= 0:
                continue
            used -= saved
            excerpts[number], changed = smaller, True
            # Units of parts need not add up to the whole's; the whole is counted where it may fit by now.
            if used <= room:
                selected = layer_input.lay_out_all(excerpts)
                used = units_of(selected)
                if used <= room:
                    selected = with_more_detail(layer_input, selected, room)
                    return attempt._replace(excerpts=tuple(excerpts), selected=selected, fits=True)
    return attempt._replace(excerpts=tuple(excerpts))
