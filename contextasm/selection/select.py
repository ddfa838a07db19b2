"""Select: what enters the context, what is shortened and what stays out, under a hard limit.

Sizes are in the counter's units, which add up; tokens are figured out from them at the end. Nothing is worded or
emitted here: the frame says what surrounds a section, so that headings, blank lines and markers are paid for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contextasm.model import Fragment, Profile, SectionFormat, Selection, Summarizer, TokenCounter
from contextasm.selection.allocation import (
    Demand,
    LayerInput,
    LayerResult,
    allowance_of,
    charge,
    demands,
    is_stable,
    layer_input,
    own_limits,
    with_pins_that_fit,
)
from contextasm.selection.decisions import (
    emitted_sections,
    layer_decisions,
    layer_problems,
    layer_usage,
    over_budget_problem,
)
from contextasm.selection.overflow import expand, overflow


class Budget(NamedTuple):
    """What the document may take."""

    tokens: int
    """As asked for."""
    spare: int = 0
    """Tokens of it that must stay free: exact counts of the parts may add up to less than the whole's."""


def select(
    profile: Profile,
    pools: Mapping[str, Sequence[Fragment]],
    budget: Budget,
    counter: TokenCounter,
    frame: SectionFormat,
    summarizer: Summarizer | None = None,
) -> Selection:
    """What is shown of the ranked fragments in `pools` (by layer id), and one decision for each of them.

    Required layers are whole whatever the budget says; all others share what they leave.
    """
    slots = [
        layer_input(
            each, pools[each.id], LayerInput(each, (), {}, is_stable(each, profile), counter, frame, summarizer)
        )
        for each in profile.layers
    ]
    units_per_token = counter.units_per_token
    total = (budget.tokens - budget.spare) * units_per_token + _last_line_end(counter)
    booked = sum(slot.total(slot.everything) for slot in slots if slot.layer.limits.required)
    over = booked > budget.tokens * units_per_token + _last_line_end(counter)
    slots, unpinned = with_pins_that_fit(slots, total - booked)
    order = demands(slots, total, units_per_token)
    done: dict[str, LayerResult] = {}
    for number, turn in enumerate(order):
        later = sum(each.reserve for each in order[number + 1 :])
        filled = overflow(turn, allowance_of(turn, total, units_per_token, booked, later))
        booked += 0 if turn.layer_input.layer.limits.required else charge(filled)
        done[turn.layer_input.layer.id] = filled
    settled = [done[layer.id] for layer in profile.layers]
    if profile.fill:
        settled = expand(settled, _limits(order, done, total, units_per_token), int(total * profile.fill / 100), total)
    problems = [over_budget_problem(booked, budget.tokens, counter)] if over else []
    return Selection(
        sections=tuple(section for each in settled for section in emitted_sections(each)),
        decisions=tuple(decision for each in settled for decision in layer_decisions(each)),
        allowances=tuple(layer_usage(each) for each in settled),
        problems=(*problems, *unpinned, *(problem for each in settled for problem in layer_problems(each))),
    )


def _limits(
    order: Sequence[Demand], done: Mapping[str, LayerResult], total: int, units_per_token: int
) -> dict[str, int]:
    """The size that each layer's own limits let it take, by id: those that others' use can't change, and its ceiling.

    A ceiling counts every layer before it, so under one nothing may grow any more.
    """
    capped = any(turn.layer_input.layer.limits.ceiling is not None for turn in order)
    return {
        layer: min(
            [
                filled.allowance.units if capped else total,
                *(each.units for each in own_limits(filled.layer_input.layer, total, units_per_token)),
            ]
        )
        for layer, filled in done.items()
    }


def _last_line_end(counter: TokenCounter) -> int:
    """What the document is smaller than its sections: the blank line behind the last one goes."""
    return counter.units("\n\n") - counter.units("\n")
