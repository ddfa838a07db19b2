"""Overflow: the steps that are tried, in order, with a layer that does not fit its allowance.

A step that comes before anything was dropped works on all fragments at once, the least valuable giving way first; a
step behind `drop` works on the dropped ones, the most valuable first. A step that shortens keeps the fullest form that
fits, and `truncate` behind it shows more of these fragments where there is room left. Pinned fragments are never
shortened, and code keeps every detail.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from contextasm.model import Fragment, Problem
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
from contextasm.selection.layout import Excerpt, excerpt_at_level, shown_text, summary_excerpt, whole_excerpt
from contextasm.selection.truncate import truncate
from contextasm.text.markdown.blocks import list_lead
from contextasm.text.markdown.outline import nest

LEAST_PART = 25
"""Tokens of a cut fragment that is shown beside whole ones; fewer say too little."""

Expansion = Callable[[LayerInput, LaidOutSection, Excerpt, int], LaidOutSection | None]
"""Takes a section, one of its excerpts and the section's room in units; gives the section with more of the excerpt."""

SelectedByLayer = Mapping[str, Selected]
"""The sections of several layers, by layer id."""

Spare = Callable[[SelectedByLayer, str], int | None]
"""Takes the sections so far and a layer's id; gives the units that it may add, None once no layer may add any."""


def truncated_section(
    layer_input: LayerInput,
    heading: str,
    fragments: Sequence[Fragment],
    room: int,
    beside: Sequence[Excerpt] = (),
) -> LaidOutSection:
    """The most of some fragments of a section that fits, `beside` other excerpts; each tried state is laid out once."""
    tried: dict[tuple[Excerpt, ...], LaidOutSection] = {}

    def cost(excerpts: Sequence[Excerpt]) -> int:
        key = tuple(excerpts)
        if key not in tried:
            tried[key] = layer_input.lay_out(heading, (*beside, *key))
        return tried[key].units

    excerpts = truncate(fragments, room, layer_input.counter, cost)
    return tried.get(excerpts) or layer_input.lay_out(heading, (*beside, *excerpts))


def with_more_detail(layer_input: LayerInput, selected: Selected, room: int) -> Selected:
    """The sections with each fragment that a step shortened at the fullest level that fits, best first."""
    return _expanded(layer_input, selected, room, _at_fuller_level)


def with_longer_parts(layer_input: LayerInput, selected: Selected, room: int) -> Selected:
    """The sections with more of each fragment that a step shortened, best first: a fuller level, else a longer part."""
    return _expanded(layer_input, with_more_detail(layer_input, selected, room), room, _as_longer_part)


def with_one_cut(layer_input: LayerInput, selected: Selected, room: int) -> Selected:
    """The sections with the beginning of the best fragment that is left out, if that is worth its place."""
    shown = {excerpt.fragment.id for section in selected.values() for excerpt in section.excerpts}
    sections = {**selected}
    for heading, group in layer_input.sections.items():
        section = sections.get(heading, LaidOutSection((), "", 0))
        section_room = room - units_of(selected) + section.units
        omitted = [fragment for fragment in group if fragment.id not in shown][:1]
        larger = truncated_section(layer_input, heading, omitted, section_room, section.excerpts)
        least = LEAST_PART * layer_input.counter.units_per_token
        if larger.units <= section_room and larger.units - section.units >= least:
            sections[heading] = larger
            break
    return {heading: sections[heading] for heading in layer_input.sections if heading in sections}


def _expanded(layer_input: LayerInput, selected: Selected, room: int, expansion: Expansion) -> Selected:
    layer = layer_input.layer.id
    shortened = [(layer_input, excerpt) for excerpt in _shortened(layer_input, selected)]
    spare = partial(_spare_of_layer, room)
    return _expand_in_turn({layer: selected}, shortened, spare, expansion)[layer]


def _spare_of_layer(room: int, selected: SelectedByLayer, layer: str) -> int:
    return room - units_of(selected[layer])


def _expand_in_turn(
    selected: SelectedByLayer, shortened: Iterable[tuple[LayerInput, Excerpt]], spare: Spare, expansion: Expansion
) -> SelectedByLayer:
    """The sections with more of each shortened excerpt, in this order, as long as there is room to spare."""
    expanded = {**selected}
    for layer_input, excerpt in shortened:
        layer, heading = layer_input.layer.id, excerpt.fragment.display.heading
        units = spare(expanded, layer)
        if units is None:
            break
        section = expanded[layer][heading]
        larger = expansion(layer_input, section, excerpt, section.units + units)
        if larger:
            expanded[layer] = {**expanded[layer], heading: larger}
    return expanded


def _shortened(layer_input: LayerInput, selected: Selected) -> Iterator[Excerpt]:
    """The excerpts that an overflow step has shortened, the most valuable first."""
    excerpts = {excerpt.fragment.id: excerpt for section in selected.values() for excerpt in section.excerpts}
    for fragment in layer_input.candidates:
        excerpt = excerpts.get(fragment.id)
        if excerpt and excerpt.form and excerpt.form != layer_input.layer.overflow.detail:
            yield excerpt


def _at_fuller_level(
    layer_input: LayerInput, section: LaidOutSection, excerpt: Excerpt, room: int
) -> LaidOutSection | None:
    fragment = excerpt.fragment
    levels = (excerpt_at_level(fragment, form) for form in detail_levels(fragment.text))
    for fuller in (whole_excerpt(fragment),) if excerpt.form == "summary" else levels:
        if fuller.text == excerpt.text:
            break
        others = [fuller if other is excerpt else other for other in section.excerpts]
        larger = layer_input.lay_out(fragment.display.heading, others)
        if larger.units <= room:
            return larger
    return None


def _as_longer_part(
    layer_input: LayerInput, section: LaidOutSection, excerpt: Excerpt, room: int
) -> LaidOutSection | None:
    if excerpt.form == "summary":
        return None
    units, fragment = layer_input.counter.units, excerpt.fragment
    others = [other for other in section.excerpts if other is not excerpt]
    larger = truncated_section(layer_input, fragment.display.heading, [fragment], room, others)
    parts = [other for other in larger.excerpts if other.fragment is fragment]
    is_longer = parts and units(shown_text(parts[0]).strip("\n")) > units(excerpt.text)
    return larger if is_longer and larger.units <= room else None


def expand(results: Sequence[LayerResult], limits: Mapping[str, int], goal: int, total: int) -> list[LayerResult]:
    """The layers with more of the fragments that they show shortened, best first, until the goal is reached.

    In units: `limits` by layer id; `goal` and `total`, the most that all may take, for all layers together. A fragment
    is shown at a fuller level; where the goal is not reached so, and its layer truncates, up to a cut that reaches it.
    """
    selected: SelectedByLayer = {result.layer_input.layer.id: result.selected for result in results}
    inputs = {result.layer_input.layer.id: result.layer_input for result in results}
    cuttable = {layer for layer, layer_input in inputs.items() if "truncate" in layer_input.layer.overflow.steps}
    for expansion, most, layers in ((_at_fuller_level, total, {*inputs}), (_as_longer_part, goal, cuttable)):
        shortened = [(inputs[layer], excerpt) for layer, excerpt in _shortened_by_score(selected) if layer in layers]
        selected = _expand_in_turn(selected, shortened, partial(_spare_below_goal, limits, goal, most), expansion)
    return [_with_selected(result, selected[result.layer_input.layer.id]) for result in results]


def _spare_below_goal(
    limits: Mapping[str, int], goal: int, most: int, selected: SelectedByLayer, layer: str
) -> int | None:
    used = sum(map(units_of, selected.values()))
    return None if used >= goal else min(most - used, limits[layer] - units_of(selected[layer]))


def _with_selected(result: LayerResult, selected: Selected) -> LayerResult:
    allowance = result.allowance._replace(units=max(result.allowance.units, units_of(selected)))
    return result._replace(selected=selected, allowance=allowance)


def _shortened_by_score(selected: SelectedByLayer) -> list[tuple[str, Excerpt]]:
    """The shortened excerpts of all layers with the layer's id, those of the highest score first."""
    shortened = [
        (layer, excerpt)
        for layer, sections in selected.items()
        for section in sections.values()
        for excerpt in section.excerpts
        if excerpt.form
    ]
    return sorted(shortened, key=lambda item: -_total_score(item[1].fragment))


def _total_score(fragment: Fragment) -> float:
    return fragment.score[-1][1] if fragment.score else 0.0


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
