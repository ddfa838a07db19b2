"""Overflow: the steps that are tried, in order, with a layer that does not fit its allowance.

A step that comes before anything was dropped works on all fragments at once, the least valuable giving way first; a
step after `drop` works on the dropped ones, the most valuable first. A step that shortens keeps the fullest form that
fits, and `truncate` after it shows more of these fragments if there is room left. Pinned fragments are never
shortened, and code keeps every detail.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from contextasm.model import TITLE, Fragment, NamedTuple, Problem
from contextasm.selection.sections import (
    TITLES,
    Demand,
    Excerpt,
    LaidOutSection,
    Selected,
    detail_levels,
    excerpt_at_level,
    excerpts_of,
    shown_text,
    title_excerpt,
    units_of,
    whole_excerpt,
)
from contextasm.selection.truncate import truncate
from contextasm.text.markdown.blocks import list_lead
from contextasm.text.markdown.outline import nest

LEAST_PART = 25
"""Tokens of a cut fragment that is shown with whole ones; fewer say too little."""

Expansion = Callable[[Demand, LaidOutSection, Excerpt, int], LaidOutSection | None]
"""Takes a section, one of its excerpts and the section's room in units; gives the section with more of the excerpt."""

SelectedByLayer = Mapping[str, Selected]
"""The sections of several layers, by layer id."""


def truncated_section(
    demand: Demand,
    heading: str,
    fragments: Sequence[Fragment],
    room: int,
    others: Sequence[Excerpt] = (),
) -> LaidOutSection:
    """The most of some fragments of a section that fits, with `others` in it; each tried state is laid out once."""
    tried: dict[tuple[Excerpt, ...], LaidOutSection] = {}

    def cost(excerpts: Sequence[Excerpt]) -> int:
        key = tuple(excerpts)
        if key not in tried:
            tried[key] = demand.lay_out(heading, (*others, *key))
        return tried[key].units

    excerpts = truncate(fragments, room, demand.counter, cost, is_alone=not others)
    return tried.get(excerpts) or demand.lay_out(heading, (*others, *excerpts))


def with_one_cut(demand: Demand, selected: Selected, room: int) -> Selected:
    """The sections with the beginning of the best fragment that is left out, if that is worth its place."""
    shown = {excerpt.fragment.id for excerpt in excerpts_of(selected)}
    sections = {**selected}
    for heading, group in demand.sections.items():
        section = sections.get(heading, LaidOutSection((), "", 0))
        section_room = room - units_of(selected) + section.units
        omitted = [fragment for fragment in group if fragment.id not in shown][:1]
        larger = truncated_section(demand, heading, omitted, section_room, section.excerpts)
        least = LEAST_PART * demand.counter.units_per_token
        if larger.units <= section_room and larger.units - section.units >= least:
            sections[heading] = larger
            break
    return {heading: sections[heading] for heading in demand.sections if heading in sections}


def _expanded(demand: Demand, selected: Selected, room: int, expansion: Expansion) -> Selected:
    """The sections with more of each fragment that a step shortened, if it fits, best first."""
    for excerpt in _shortened(demand, selected):
        selected = _with_more(demand, selected, excerpt, room - units_of(selected), expansion)
    return selected


def _with_more(demand: Demand, selected: Selected, excerpt: Excerpt, spare: int, expansion: Expansion) -> Selected:
    """The sections with more of one excerpt, if `spare` units hold it."""
    heading = excerpt.fragment.display.heading
    section = selected[heading]
    return {**selected, heading: expansion(demand, section, excerpt, section.units + spare) or section}


def _shortened(demand: Demand, selected: Selected) -> Iterator[Excerpt]:
    """The excerpts that an overflow step has shortened, the most valuable first."""
    excerpts = {excerpt.fragment.id: excerpt for excerpt in excerpts_of(selected)}
    for fragment in demand.candidates:
        excerpt = excerpts.get(fragment.id)
        if excerpt and excerpt.form not in {"", TITLE, demand.layer.overflow.detail}:
            yield excerpt


def _at_fuller_level(demand: Demand, section: LaidOutSection, excerpt: Excerpt, room: int) -> LaidOutSection | None:
    fragment = excerpt.fragment
    levels = (excerpt_at_level(fragment, form) for form in detail_levels(fragment.text))
    for fuller in (whole_excerpt(fragment),) if excerpt.form == "summary" else levels:
        if fuller.text == excerpt.text:
            break
        others = [fuller if other is excerpt else other for other in section.excerpts]
        larger = demand.lay_out(fragment.display.heading, others)
        if larger.units <= room:
            return larger
    return None


def _as_longer_part(demand: Demand, section: LaidOutSection, excerpt: Excerpt, room: int) -> LaidOutSection | None:
    if excerpt.form == "summary":
        return None
    units, fragment = demand.counter.units, excerpt.fragment
    others = [other for other in section.excerpts if other is not excerpt]
    larger = truncated_section(demand, fragment.display.heading, [fragment], room, others)
    parts = [other for other in larger.excerpts if other.fragment is fragment]
    is_longer = parts and units(shown_text(parts[0]).strip("\n")) > units(excerpt.text)
    return larger if is_longer and larger.units <= room else None


def expand(
    demands: Mapping[str, Demand], selected: SelectedByLayer, limits: Mapping[str, int], goal: int, total: int
) -> SelectedByLayer:
    """The sections of all layers with more of the fragments shown shortened, best first, until the goal is reached.

    In units: `limits` by layer id; `goal` and `total`, the most that all may take, for all layers together. A fragment
    is shown at a fuller level; if the goal is not reached so, and its layer truncates, up to a cut that reaches it.
    """
    expanded = {**selected}
    cuttable = {name for name, demand in demands.items() if "truncate" in demand.layer.overflow.steps}
    for expansion, most, layers in ((_at_fuller_level, total, {*demands}), (_as_longer_part, goal, cuttable)):
        for layer, excerpt in _shortened_by_score(expanded):
            used = sum(map(units_of, expanded.values()))
            if layer in layers and used < goal:
                spare = min(most - used, limits[layer] - units_of(expanded[layer]))
                expanded[layer] = _with_more(demands[layer], expanded[layer], excerpt, spare, expansion)
    return expanded


def _shortened_by_score(selected: SelectedByLayer) -> list[tuple[str, Excerpt]]:
    """The shortened excerpts of all layers with the layer's id, the highest score first."""
    shortened = [
        (layer, excerpt)
        for layer, sections in selected.items()
        for excerpt in excerpts_of(sections)
        if excerpt.form not in {"", TITLE}
    ]
    return sorted(shortened, key=lambda item: -item[1].fragment.total_score)


class Attempt(NamedTuple):
    """State of a layer between two steps."""

    excerpts: tuple[Excerpt, ...]
    """Every fragment that is not excluded in the form to be tried next, the most valuable first."""
    selected: Selected | None = None
    """The sections so far; None as long as nothing had to be left out."""
    fits: bool = False
    """Whether nothing is left out: the fragments fit together in their shorter forms."""
    problems: tuple[Problem, ...] = ()


Step = Callable[[Demand, int, Attempt], Attempt]
"""Takes a layer, its room in units and the attempt so far."""


def overflow(demand: Demand, room: int) -> tuple[Selected, tuple[Problem, ...]]:
    """All that a layer has, if it fits its room; else the result of its overflow steps, with each pinned fragment.

    With the problems of a summarizer. What is not shown whole is named, best first, in a part of the room that the
    steps leave free. So the best that fit the rest whole, one after the other, and the next whose titles fit that part
    are always shown or named; and with more room these are more.
    """
    if demand.layer.limits.required:
        return demand.everything, ()
    rest = max(demand.pinned_units, room - demand.titles_room(room))
    if demand.units <= room:
        named = _with_titles(demand, demand.everything, room)
        if demand.units <= rest or not demand.unshown(named):
            return named, ()
    selected, problems = _without_titles(demand, rest)
    return _with_titles(demand, selected, room), problems


def _title_list(titles: Sequence[Excerpt]) -> str:
    """The lines that some titles add to a section; empty without titles."""
    return "\n".join(["", TITLES, *(title.text for title in titles)]) if titles else ""


def _with_titles(demand: Demand, selected: Selected, room: int) -> Selected:
    """The sections, and the titles of as many other fragments, best first, as fit their part of the room."""
    titles = [*map(title_excerpt, demand.unshown(selected)[: demand.most_named])]
    if not titles:
        return selected
    units, heading = demand.counter.units, demand.layer.heading[0]
    section, used = selected.get(heading, LaidOutSection((), "", 0)), units_of(selected)
    most = min(room, used + demand.titles_room(room))
    fitting = bisect_right(range(1, len(titles) + 1), most - used, key=lambda count: units(_title_list(titles[:count])))
    for count in range(fitting, 0, -1):
        larger = demand.lay_out(heading, (*section.excerpts, *titles[:count]))
        if used - section.units + larger.units <= most:
            sections = {**selected, heading: larger}
            return {name: sections[name] for name in demand.sections if name in sections}
    return selected


def _without_titles(demand: Demand, room: int) -> tuple[Selected, tuple[Problem, ...]]:
    if demand.units <= room:
        return demand.everything, ()
    fragments = [fragment for fragment in demand.candidates if fragment.verdict.excluded is None]
    fragments.sort(key=lambda fragment: not fragment.verdict.pinned_by)
    attempt = Attempt(tuple(map(demand.first_excerpt, fragments)))
    adaptive = (_adapt,) if demand.layer.overflow.detail == "adaptive" else ()
    for step in (*adaptive, *(STEPS[name] for name in demand.layer.overflow.steps if name != TITLE)):
        attempt = step(demand, room, attempt)
        if attempt.fits:
            break
    return attempt.selected or demand.pinned, attempt.problems


def shorter_excerpts(excerpt: Excerpt) -> Iterator[Excerpt]:
    """A fragment at each level of detail below the one that it is shown at, from the fullest on."""
    if excerpt.form == "summary" or excerpt.fragment.verdict.pinned_by or excerpt.fragment.display.fence:
        return
    levels = [excerpt_at_level(excerpt.fragment, form) for form in detail_levels(excerpt.fragment.text)]
    current = next((number for number, level in enumerate(levels) if level.text == excerpt.text), 0)
    yield from levels[current + 1 :]


def _adapt(demand: Demand, room: int, attempt: Attempt) -> Attempt:
    """Each fragment in the fullest form that fits, best first."""
    selected = _greedy(demand, room, attempt.excerpts, lambda excerpt: (excerpt, *shorter_excerpts(excerpt)))
    return attempt._replace(selected=selected, fits=len([*excerpts_of(selected)]) == len(attempt.excerpts))


def _drop(demand: Demand, room: int, attempt: Attempt) -> Attempt:
    """Each fragment that fits as it is, best first; one that does not fit is skipped."""
    return attempt._replace(selected=_greedy(demand, room, attempt.excerpts, None, attempt.selected))


def _detail(demand: Demand, room: int, attempt: Attempt) -> Attempt:
    """Less detail: one level down for each fragment in turn, then the next level, until all fit."""
    return _shorten(demand, room, attempt, shorter_excerpts)


def _summarize(demand: Demand, room: int, attempt: Attempt) -> Attempt:
    """The summarizer's words in place of a fragment's, where they are fewer."""
    if demand.summarizer is None:
        return attempt
    problems: list[Problem] = []

    def summaries(excerpt: Excerpt) -> Iterator[Excerpt]:
        text = _summary(demand, excerpt, problems)
        if text:
            yield whole_excerpt(excerpt.fragment)._replace(form="summary", text=text)

    attempt = _shorten(demand, room, attempt, summaries)
    return attempt._replace(problems=tuple(dict.fromkeys((*attempt.problems, *problems))))


def _summary(demand: Demand, excerpt: Excerpt, problems: list[Problem]) -> str:
    """A fragment in the summarizer's words; empty if it has none, or none that are fewer."""
    fragment = excerpt.fragment
    is_kept = excerpt.form == "summary" or fragment.verdict.pinned_by or fragment.display.is_written
    if is_kept or demand.summarizer is None:
        return ""
    text = fragment.text
    mark = list_lead(text)  # no part of the text to summarize
    summary = demand.summarizer(text[len(mark) :])
    if isinstance(summary, Problem):
        problems.append(summary)
        return ""
    summary = mark + summary.replace("\n", "\n  ") if mark else summary
    if nesting := excerpt.fragment.display.nesting:
        summary, _ = nest(summary, *nesting)
    units = demand.counter.units
    return summary if units(summary) < units(shown_text(excerpt)) else ""


def _truncate(demand: Demand, room: int, attempt: Attempt) -> Attempt:
    """Section by section as long as they fit whole, and the beginning of the next; of dropped fragments the best.

    If earlier steps shorten fragments, as much of these as there is room for, and the best of the fragments that they
    could not shorten.
    """
    selected = attempt.selected
    if selected is None and any(excerpt.form for excerpt in attempt.excerpts):
        selected = _greedy(demand, room, attempt.excerpts, None)
    if selected:
        # More of each fragment that a step shortened, best first: a fuller level, else a longer part.
        for expansion in (_at_fuller_level, _as_longer_part):
            selected = _expanded(demand, selected, room, expansion)
        if not {"detail", "summarize"}.isdisjoint(demand.layer.overflow.steps):
            selected = with_one_cut(demand, selected, room)
        return attempt._replace(selected=selected)
    if selected is None:
        return attempt._replace(selected=_whole_sections(demand, room))
    return attempt._replace(selected=_best_fragment(demand, room))


def _whole_sections(demand: Demand, room: int) -> Selected:
    """Each section in full as long as there is room, and the beginning of the next."""
    selected: dict[str, LaidOutSection] = {}
    for heading, section in demand.everything.items():
        if section.units > room:
            cut = truncated_section(demand, heading, demand.sections[heading], room)
            return {**selected, heading: cut} if cut.excerpts else selected
        selected[heading] = section
        room -= section.units
    return selected


def _best_fragment(demand: Demand, room: int) -> Selected:
    """The first fragment, whole or cut; nothing if not even its beginning fits."""
    for heading, fragments in demand.sections.items():
        section = demand.lay_out(heading, [whole_excerpt(fragments[0])])
        if section.units > room:
            section = truncated_section(demand, heading, fragments[:1], room)
        return {heading: section} if section.excerpts else {}
    return {}


STEPS: Mapping[str, Step] = {"drop": _drop, "detail": _detail, "summarize": _summarize, "truncate": _truncate}
"""The overflow steps by name, but for `title`, which has room of its own for what all others leave out."""


def _greedy(
    demand: Demand,
    room: int,
    excerpts: Sequence[Excerpt],
    alternatives: Callable[[Excerpt], Iterable[Excerpt]] | None,
    selected: Selected | None = None,
) -> Selected:
    """The selected sections, and of each other fragment, best first, the first of its alternatives that fits.

    Without `alternatives` a fragment is shown as it is. Then fragments of one section are tried together, twice as many
    as before if they fit and half as many if not, since each trial lays out the whole section.
    """
    sections = {**(selected or {})}
    shown = {excerpt.fragment.id for excerpt in excerpts_of(sections)}
    waiting = [excerpt for excerpt in excerpts if excerpt.fragment.id not in shown]
    at, size = 0, 1
    while at < len(waiting):
        heading, together = next(groupby(waiting[at : at + size], lambda each: each.fragment.display.heading))
        batch = [*together]
        section = sections.get(heading, LaidOutSection((), "", 0))
        section_room = room - units_of(sections) + section.units
        options = [[each] for each in alternatives(waiting[at])] if alternatives else [batch]
        tried = (each for each in options if section.units + _least_units(demand, section, each) <= section_room)
        larger = (demand.lay_out(heading, (*section.excerpts, *each)) for each in tried)
        fitting = next((each for each in larger if each.units <= section_room), None)
        if fitting:
            sections[heading] = fitting
        at += len(batch) if fitting or len(batch) == 1 else 0
        size = 1 if alternatives else 2 * size if fitting else max(1, len(batch) // 2)
    return {heading: sections[heading] for heading in demand.sections if heading in sections}


def _least_units(demand: Demand, section: LaidOutSection, excerpts: Sequence[Excerpt]) -> int:
    """Units that these excerpts add to a section at least: their texts, and the headings of their new groups."""
    groups = {each.fragment.display.group for each in excerpts}
    groups -= {each.fragment.display.group for each in section.excerpts}
    return sum(map(demand.counter.units, (*map(shown_text, excerpts), *filter(None, groups))))


def _shorten(demand: Demand, room: int, attempt: Attempt, shorter: Callable[[Excerpt], Iterator[Excerpt]]) -> Attempt:
    """The fragments in shorter forms, the least valuable first and all in turn, until they fit together.

    After `drop`, the dropped ones in the first of them that fits.
    What the last of them saves beyond need goes to the most valuable, which are shown as full as there is room for.
    Where even the shortest forms do not fit, the next step starts from these.
    """
    if attempt.selected is not None:
        return attempt._replace(selected=_greedy(demand, room, attempt.excerpts, shorter, attempt.selected))
    excerpts = [*attempt.excerpts]
    units = demand.counter.units
    used = units_of(demand.lay_out_all(excerpts))
    changed = True
    while changed:
        changed = False
        for number in reversed(range(len(excerpts))):
            smaller = next(shorter(excerpts[number]), None)
            saved = units(shown_text(excerpts[number])) - units(shown_text(smaller)) if smaller else 0
            if smaller is None or saved <= 0:
                continue
            used -= saved
            excerpts[number], changed = smaller, True
            # Units of parts need not add up to the whole's; the whole is counted where it may fit by now.
            if used <= room:
                selected = demand.lay_out_all(excerpts)
                used = units_of(selected)
                if used <= room:
                    selected = _expanded(demand, selected, room, _at_fuller_level)
                    return attempt._replace(excerpts=tuple(excerpts), selected=selected, fits=True)
    return attempt._replace(excerpts=tuple(excerpts))
