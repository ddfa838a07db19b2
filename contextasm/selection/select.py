"""Select: sections of the fragments that fit the room of each layer, one decision for each fragment, and problems.

Amounts are in the counter's units, which add up; tokens are computed from them at the end. Nothing is worded here: the
section format says what surrounds a section, so that headings, blank lines and markers are paid for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextasm.model import (
    PIN_FIELD,
    TITLE,
    Decision,
    Fact,
    Fragment,
    LayerUsage,
    Marker,
    Problem,
    Profile,
    Reason,
    Section,
    SectionForm,
    Summarizer,
    TokenCounter,
    Verdict,
)
from contextasm.selection.limits import binds, is_stable, within_chars
from contextasm.selection.rooms import LayerResult, allocate, keep_top_k
from contextasm.selection.sections import LEVELS, Demand, Excerpt, excerpts_of, shown_text, source_span, whole_text


def emitted_sections(result: LayerResult) -> list[Section]:
    """The sections of a layer that are emitted."""
    demand = result.demand
    return [
        Section(
            layer=demand.layer.id,
            heading=demand.own_heading(heading, section.text),
            text=section.text,
            tokens=demand.counter.tokens(section.units),
            truncated=section.truncated,
            stable=demand.stable,
        )
        for heading, section in result.selected.items()
    ]


def layer_decisions(result: LayerResult, budget: int) -> list[Decision]:
    """One decision for each fragment of a layer, in a document of at most `budget` tokens."""
    room = _room(result, budget)
    excerpts = {
        (heading, excerpt.fragment.id): excerpt
        for heading, section in result.selected.items()
        for excerpt in section.excerpts
    }
    return [
        _decision(result, fragment, excerpts.get((fragment.display.heading, fragment.id)), room)
        for fragment in result.demand.candidates
    ]


def _room(result: LayerResult, budget: int) -> int:
    """The tokens that a layer may use.

    A section is counted with the blank line after it, which the last one of a document does not have: its room may be
    a token above the budget if the document is not.
    """
    return min(budget, result.demand.counter.tokens(result.allowance.units))


def _decision(result: LayerResult, fragment: Fragment, excerpt: Excerpt | None, room: int) -> Decision:
    counter = result.demand.counter
    is_whole = excerpt is not None and excerpt.whole
    lines = source_span(fragment) if fragment.location.line else (0, 0)
    kept = excerpt.spans if excerpt else ()
    reason = fragment.verdict.excluded or _reason(result, excerpt, room, is_whole=is_whole)
    if excerpt and fragment.verdict.excluded:
        reason = reason._replace(code="named-below-top")
    before = None if fragment.verdict.excluded and not excerpt else counter.units(whole_text(fragment))
    after = 0 if excerpt is None else before if is_whole and before else counter.units(shown_text(excerpt))
    message = fragment.message if excerpt else None
    if excerpt and message:
        message = message._replace(text=shown_text(excerpt, result.demand.marker), heading=fragment.display.heading)
    return Decision(
        fragment=fragment.id,
        layer=result.demand.layer.id,
        path=fragment.location.path,
        lines=lines,
        reason=reason,
        tokens_before=None if before is None else counter.tokens(before),
        tokens_after=counter.tokens(after),
        kept=kept,
        score=fragment.score,
        boosted_by=fragment.verdict.boosted_by,
        message=message,
    )


def _reason(result: LayerResult, excerpt: Excerpt | None, room: int, *, is_whole: bool) -> Reason:
    """The reason why a fragment that is not excluded is shown as it is."""
    demand = result.demand
    if demand.layer.limits.required:
        return Reason("required")
    if excerpt and is_whole:
        return _reason_of_whole(excerpt.fragment.verdict)
    if excerpt and excerpt.form == demand.layer.overflow.detail:
        return Reason.of("level", level=excerpt.form)
    facts: dict[str, Fact] = {"allowance": room, "limit": result.allowance.by}
    if excerpt and excerpt.form in LEVELS:
        return Reason.of("detail", level=excerpt.form, **facts)
    if excerpt and excerpt.form:
        return Reason.of("named" if excerpt.form == TITLE else "summarized", **facts)
    return Reason.of("over-allowance" if excerpt else "starved" if result.is_starved else "no-room", **facts)


def _reason_of_whole(verdict: Verdict) -> Reason:
    if verdict.pinned_by == PIN_FIELD:
        return Reason("pin")
    return Reason.of("pinned", rule=verdict.pinned_by) if verdict.pinned_by else Reason(verdict.note)


def layer_usage(result: LayerResult, budget: int) -> LayerUsage:
    """The layer's limit and use, in tokens, of a `budget`, and the number of its entries."""
    layer, counter = result.demand.layer, result.demand.counter
    wanted, used = (counter.tokens(units) for units in (max(result.demand.units, result.used), result.used))
    reasons = [fragment.verdict.excluded for fragment in result.demand.candidates]
    considered = sum(int(dict(reason.facts).get("count", 1)) if reason else 1 for reason in reasons)
    kept = sum(excerpt.form != TITLE for excerpt in excerpts_of(result.selected))
    limit, most = (None, used) if layer.limits.required else (_room(result, budget), budget)
    return LayerUsage(layer.id, limit, wanted, min(most, used), considered, kept)


def _nothing_shown(result: LayerResult, budget: int) -> list[Problem]:
    """The problem of a layer of whose candidates nothing could be shown."""
    layer, counter = result.demand.layer, result.demand.counter
    if result.selected or not result.demand.units or layer.limits.max_tokens == 0:
        return []
    wanted, room = counter.tokens(result.demand.units), _room(result, budget)
    code, why = "no-room", f"its limit of {room} is too small for one line"
    if result.is_starved:
        code, why = "starved", f"the layers before it left {room}"
    elif result.allowance.by == "score":
        why = f"higher scores in other layers left {room}"
    elif result.allowance.by == "within":
        why = f"its part of {layer.limits.within}, {room}, is too small for one line"
    return [Problem(code, layer.id, 0, f"shows nothing: it needs {wanted} tokens, and {why}")]


def _cut_for_others(result: LayerResult, later: Sequence[LayerResult]) -> list[Problem]:
    """The problem of a layer that instructs the agent, and is shown in part since room is held for later layers."""
    demand, counter = result.demand, result.demand.counter
    held = [each for each in later if each.demand.reserve and binds(each.demand.layer, demand.layer)]
    is_cut = result.selected and result.used < demand.units and result.allowance.by == "reserve"
    if not (held and is_cut and demand.layer.instructs):
        return []
    names = ", ".join(" and ".join(each.demand.layer.heading) for each in held)
    path = next(each.location.path for section in demand.sections.values() for each in section)
    tokens = counter.tokens(sum(each.demand.reserve for each in held))
    shown, wanted = counter.tokens(result.used), counter.tokens(demand.units)
    message = f"cut to {shown} of {wanted} tokens: {tokens} tokens are reserved for {names}; a larger budget shows more"
    return [Problem("cut", path, 0, message)]


def select(
    profile: Profile,
    candidates: Mapping[str, Sequence[Fragment]],
    budget: int,
    spare: int,
    counter: TokenCounter,
    form: SectionForm,
    marker: Marker,
    summarizer: Summarizer | None = None,
) -> tuple[tuple[Section, ...], tuple[Decision, ...], tuple[LayerUsage, ...], tuple[Problem, ...]]:
    """The sections that are shown of the ranked candidates (by layer id), and one decision for each candidate.

    With the limit, demand and use of each layer, and the problems of selection. Required layers are whole even above
    the budget. `spare` tokens of it stay free: exact counts of the parts may add up to less than the whole's.
    """
    demands = []
    ids = {layer.id for layer in profile.layers}
    for layer in profile.layers:
        empty = Demand(layer, counter, form, marker, summarizer, is_stable(layer, profile), layer.most_named(budget))
        # Of a layer within another, the first are known once it is known what that one shows.
        top = 0 if layer.limits.within in ids else layer.ranking.top
        demands.append(empty.with_candidates(keep_top_k(candidates[layer.id], top)))
    demands = within_chars(demands, profile.max_chars)
    # The document ends without the blank line after the last section.
    last_line_end = counter.units("\n\n") - counter.units("\n")
    head = counter.units(profile.head)
    total = (budget - spare) * counter.units_per_token + last_line_end - head
    required = sum(demand.units for demand in demands if demand.layer.limits.required)
    results, problems = allocate(profile, demands, total, required)
    if required and required + head > budget * counter.units_per_token + last_line_end:
        taken = counter.tokens(required + head - last_line_end)
        message = f"required layers take {taken} tokens, more than the budget of {budget}, so nothing else is shown"
        problems = [Problem("over-budget", "budget", 0, message), *problems]
    for number, result in enumerate(results):
        problems += [*result.problems, *_nothing_shown(result, budget), *_cut_for_others(result, results[number + 1 :])]
    return (
        tuple(section for result in results for section in emitted_sections(result)),
        tuple(decision for result in results for decision in layer_decisions(result, budget)),
        tuple(layer_usage(result, budget) for result in results),
        tuple(problems),
    )
