"""Expand: more of the fragments that are shown in part, where there is room left.

A form of higher detail comes first: whole, then the levels, then the beginning of the text up to a cut. A summary gives
way to the whole text alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from contextasm.model import Fragment
from contextasm.selection.allocation import LaidOutSection, LayerInput, LayerResult, Selected, units_of
from contextasm.selection.detail import detail_levels
from contextasm.selection.layout import Excerpt, excerpt_at_level, shown_text, whole_excerpt
from contextasm.selection.truncate import truncate

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
