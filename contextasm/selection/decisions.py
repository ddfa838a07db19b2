"""Results of selection: sections as emitted, a decision for each fragment, use of the budget, problems."""

from __future__ import annotations

from contextasm.model import (
    PIN_FIELD,
    Decision,
    Fact,
    Fragment,
    LayerUsage,
    Problem,
    Reason,
    Section,
    TokenCounter,
    Verdict,
)
from contextasm.selection.allocation import LaidOutSection, LayerResult
from contextasm.selection.detail import LEVELS
from contextasm.selection.layout import Excerpt, shown_text, source_span, whole_excerpt


def emitted_sections(result: LayerResult) -> list[Section]:
    """The sections of a layer that are emitted."""
    layer_input = result.layer_input
    return [
        Section(
            layer=layer_input.layer.id,
            heading=heading,
            text=section.text,
            tokens=layer_input.counter.tokens(section.units),
            truncated=_is_truncated(section, len(layer_input.sections[heading])),
            stable=layer_input.stable,
        )
        for heading, section in result.selected.items()
    ]


def _is_truncated(section: LaidOutSection, candidates: int) -> bool:
    """Whether a fragment of the section is cut or shortened, or one of its candidates is missing."""
    return len(section.excerpts) < candidates or not all(excerpt.whole for excerpt in section.excerpts)


def layer_decisions(result: LayerResult) -> list[Decision]:
    """One decision for each fragment of a layer."""
    excerpts = {
        (heading, excerpt.fragment.id): excerpt
        for heading, section in result.selected.items()
        for excerpt in section.excerpts
    }
    return [
        _decision(result, fragment, excerpts.get((fragment.display.heading, fragment.id)))
        for fragment in result.layer_input.candidates
    ]


def _decision(result: LayerResult, fragment: Fragment, excerpt: Excerpt | None) -> Decision:
    count = result.layer_input.counter.count
    before = None if fragment.verdict.excluded else count(shown_text(whole_excerpt(fragment)))
    after = 0 if excerpt is None else before if excerpt.whole and before else count(shown_text(excerpt))
    return Decision(
        fragment=fragment.id,
        layer=result.layer_input.layer.id,
        path=fragment.location.path,
        lines=source_span(fragment) if fragment.location.line else (0, 0),
        reason=fragment.verdict.excluded or _reason(result, excerpt),
        tokens_before=before,
        tokens_after=after,
        kept=excerpt.spans if excerpt else (),
        score=fragment.score,
        boosted_by=fragment.verdict.boosted_by,
    )


def _reason(result: LayerResult, excerpt: Excerpt | None) -> Reason:
    """The reason why a fragment that is not excluded is shown as it is."""
    layer_input = result.layer_input
    if layer_input.layer.limits.required:
        return Reason("required")
    if excerpt and excerpt.whole:
        return _reason_of_whole(excerpt.fragment.verdict)
    if excerpt and excerpt.form == layer_input.layer.overflow.detail:
        return Reason.of("level", level=excerpt.form)
    facts: dict[str, Fact] = {
        "allowance": layer_input.counter.tokens(result.allowance.units),
        "limit": result.allowance.by,
    }
    if excerpt and excerpt.form in LEVELS:
        return Reason.of("detail", level=excerpt.form, **facts)
    if excerpt and excerpt.form:
        return Reason.of("summarized", **facts)
    return Reason.of("over-allowance" if excerpt else "starved" if result.is_starved else "no-room", **facts)


def _reason_of_whole(verdict: Verdict) -> Reason:
    if verdict.pinned_by == PIN_FIELD:
        return Reason("pin")
    return Reason.of("pinned", rule=verdict.pinned_by) if verdict.pinned_by else Reason(verdict.note)


def layer_usage(result: LayerResult, budget: int) -> LayerUsage:
    """The layer's limit and use, in tokens, of a `budget`.

    A section is counted with the blank line behind it, which the last one does not have: that one may be a token above
    the budget where the document is not.
    """
    layer, counter = result.layer_input.layer, result.layer_input.counter
    wanted, used = counter.tokens(result.wanted), counter.tokens(result.used)
    if layer.limits.required:
        return LayerUsage(layer.id, None, wanted, used)
    return LayerUsage(layer.id, min(budget, counter.tokens(result.allowance.units)), wanted, min(budget, used))


def layer_problems(result: LayerResult) -> list[Problem]:
    """The problems of a layer: a summarizer that failed, and candidates of which nothing could be shown."""
    return [*result.problems, *_nothing_shown(result)]


def _nothing_shown(result: LayerResult) -> list[Problem]:
    layer, counter = result.layer_input.layer, result.layer_input.counter
    if result.selected or not result.wanted or layer.limits.max_tokens == 0:
        return []
    wanted, room = counter.tokens(result.wanted), counter.tokens(result.allowance.units)
    if result.is_starved:
        return [Problem("starved", layer.id, 0, f"got nothing of {wanted} tokens: the layers before it left {room}")]
    if result.allowance.by == "within":
        part = f"{room}, its part of the room of {layer.limits.within},"
        message = f"got nothing of {wanted} tokens: {part} holds no line of it"
        return [Problem("no-room", layer.id, 0, message)]
    return [Problem("no-room", layer.id, 0, f"got nothing of {wanted} tokens: its limit of {room} holds no line of it")]


def over_budget_problem(required: int, budget: int, counter: TokenCounter) -> Problem:
    """The problem of required layers that exceed the budget by themselves."""
    message = f"required layers take {counter.tokens(required)} tokens of {budget}; nothing else was let in"
    return Problem("over-budget", "budget", 0, message)
