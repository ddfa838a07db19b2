"""What was settled for the layers, told: sections as emitted, a decision for each fragment, allowances, problems."""

from __future__ import annotations

from contextasm.model import Decision, Fact, Fragment, LayerUsage, Problem, Reason, Section, TokenCounter
from contextasm.selection.allocation import LayerResult
from contextasm.selection.detail import LEVELS
from contextasm.selection.layout import Excerpt, shown_text, source_span


def emitted_sections(done: LayerResult) -> list[Section]:
    """What is emitted of a layer."""
    slot = done.layer_input
    found = []
    for heading, kept in done.selected.items():
        text = slot.text(heading, kept)
        tokens = slot.counter.tokens(slot.cost(heading, kept))
        cut_short = len(kept) < len(slot.sections[heading]) or not all(each.whole or each.form for each in kept)
        found.append(Section(slot.layer.id, heading, text, tokens, cut_short, slot.stable))
    return found


def layer_decisions(done: LayerResult) -> list[Decision]:
    """One decision for each fragment of a layer."""
    kept = {(heading, each.fragment.id): each for heading, own in done.selected.items() for each in own}
    return [
        _decision(done, fragment, kept.get((fragment.display.heading, fragment.id)))
        for fragment in done.layer_input.candidates
    ]


def _decision(done: LayerResult, fragment: Fragment, kept: Excerpt | None) -> Decision:
    """What happened to one fragment."""
    count = done.layer_input.counter.count
    before = None if fragment.verdict.excluded else count(fragment.text)
    after = 0 if kept is None else before if kept.whole and before else count(shown_text(kept))
    return Decision(
        fragment=fragment.id,
        layer=done.layer_input.layer.id,
        path=fragment.location.path,
        lines=source_span(fragment) if fragment.location.line else (0, 0),
        reason=fragment.verdict.excluded or _reason(done, kept),
        tokens_before=before,
        tokens_after=after,
        kept=kept.spans if kept else (),
        score=fragment.score,
    )


def _reason(done: LayerResult, kept: Excerpt | None) -> Reason:
    """Why a fragment in question is shown as it is."""
    if done.layer_input.layer.limits.required:
        return Reason("required")
    if kept and kept.whole:
        return (
            Reason.of("pinned", rule=kept.fragment.verdict.pinned_by)
            if kept.fragment.verdict.pinned_by
            else Reason(kept.fragment.verdict.note)
        )
    if kept and kept.form == done.layer_input.layer.overflow.detail:
        return Reason.of("level", level=kept.form)
    facts: dict[str, Fact] = {
        "allowance": done.layer_input.counter.tokens(done.allowance.units),
        "limit": done.allowance.by,
    }
    if kept and kept.form in LEVELS:
        return Reason.of("detail", level=kept.form, **facts)
    if kept and kept.form:
        return Reason.of("summarized", **facts)
    return Reason.of("over-allowance" if kept else "starved" if done.is_starved else "no-room", **facts)


def layer_usage(done: LayerResult) -> LayerUsage:
    """The layer's limit and use in tokens."""
    counter = done.layer_input.counter
    limit = None if done.allowance.by == "required" else counter.tokens(done.allowance.units)
    return LayerUsage(done.layer_input.layer.id, limit, counter.tokens(done.wanted), counter.tokens(done.used))


def layer_problems(done: LayerResult) -> list[Problem]:
    """What went wrong in a layer: a summarizer that failed, and a layer that found something and shows none of it."""
    return [*done.problems, *_nothing(done)]


def _nothing(done: LayerResult) -> list[Problem]:
    """The problem of a layer that found something and may show none of it."""
    if done.selected or not done.wanted or done.layer_input.layer.limits.max_tokens == 0:
        return []
    layer, size = done.layer_input.layer.id, done.layer_input.counter.tokens(done.allowance.units)
    wanted = done.layer_input.counter.tokens(done.wanted)
    if done.is_starved:
        message = f"got nothing of {wanted} tokens: the layers before it left {size}"
        return [Problem("starved", layer, 0, message)]
    return [Problem("no-room", layer, 0, f"got nothing of {wanted} tokens: its limit of {size} holds no line of it")]


def over_budget_problem(required: int, budget: int, counter: TokenCounter) -> Problem:
    """The problem of required layers that pass the budget by themselves."""
    message = f"required layers take {counter.tokens(required)} tokens of {budget}; nothing else was let in"
    return Problem("over-budget", "budget", 0, message)
