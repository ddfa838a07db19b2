"""Shared room: the parts that a layer and the one within it have of one allowance, and what they show twice.

The first layer gets its part whatever the second one uses, so that a larger budget takes no line from it.
"""

from collections.abc import Callable, Sequence

from contextasm.model import Fragment, Layer, Reason
from contextasm.selection.allocation import Allowance, Demand, LayerResult, demand_of, units_of

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
