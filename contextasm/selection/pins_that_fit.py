"""Pins that do not fit the budget together are taken back, those of the least precedence first."""

from collections.abc import Iterator, Sequence

from contextasm.model import PIN_FIELD, Fragment, Problem
from contextasm.selection.allocation import Demand, demand_of, is_pinned, units_of


def with_pins_that_fit(demands: Sequence[Demand], room: int) -> tuple[list[Demand], list[Problem]]:
    """The demands with as many of their pins as fit the room together.

    Pins of the last rule in the order of precedence give way first; of one rule, the last in the document.
    """
    fitting, problems = [*demands], list[Problem]()
    while (pins := [*_pins(fitting)]) and sum(units_of(demand.pinned) for demand in fitting) > room:
        number, last = max(pins, key=lambda pin: pin[1].verdict.pin_rank)
        given = fitting[number].layer_input
        unpinned = last._replace(verdict=last.verdict._replace(pinned_by=""))
        candidates = tuple(unpinned if fragment is last else fragment for fragment in given.candidates)
        fitting[number] = demand_of(given.with_candidates(candidates))
        pinned_by = last.verdict.pinned_by
        pinner = f"its field {PIN_FIELD}" if pinned_by == PIN_FIELD else f"rule {pinned_by}"
        message = f"{pinner} includes it, and the budget has no room for all of it"
        problems.append(Problem("pin-dropped", last.location.path, last.location.line, message))
    return fitting, problems


def _pins(demands: Sequence[Demand]) -> Iterator[tuple[int, Fragment]]:
    # From the end of the document: the first of several pins of one rule is the last in the document.
    for number, demand in reversed([*enumerate(demands)]):
        for fragment in reversed(demand.layer_input.candidates) if demand.pinned else ():
            if is_pinned(fragment) and fragment.verdict.excluded is None:
                yield number, fragment
