"""Application of rules: the layers and their fragments with the effects of the rules that fired.

An included fragment is pinned in its layer; a file that no layer reads comes under a heading of its own. `select` sees
to pins that are too much for the budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from contextasm.model import (
    AfterRules,
    Document,
    Effect,
    Fragment,
    FragmentDisplay,
    Layer,
    Overflow,
    Problem,
    Profile,
    Query,
    Reason,
    RetrievalResult,
    RuleEvaluation,
    RuleTrace,
    Target,
    Verdict,
    Workspace,
)
from contextasm.rules.evaluate import boost_factor, effects_on
from contextasm.text.managed_block import passage
from contextasm.text.markdown import heading, trimmed

PINS = Layer(
    "pins",
    ("Pinned",),
    changed_by_rules=True,
    query=Query(sources=("rules",), paths=()),
    overflow=Overflow(steps=("drop",)),
)
"""Layer of the files that rules include and no layer reads."""

PINNABLE_CODES = {"no-match", "not-in-top"}
"""Codes of exclusions that a rule's inclusion overrides. Superseded fragments, drafts and expired ones stay out."""

_OverriddenRule = tuple[str, Reason]
"""Name of a rule, and the reason why an effect of it is overridden."""


def apply_rules(
    evaluation: RuleEvaluation, profile: Profile, results: Mapping[str, RetrievalResult], workspace: Workspace
) -> AfterRules:
    """The layers and their fragments (`results`, by layer id) after the effects of all rules, and a trace of each rule.

    Files that rules include and no layer reads come from `workspace`.
    """
    overridden = _overridden_rules(evaluation.effects)
    undecided = tuple(_undecided_problems(evaluation))
    if not evaluation.effects:
        return AfterRules(profile, results, _traces(evaluation, overridden), undecided)
    layers = tuple(_apply_to_layer(layer, evaluation, overridden) for layer in profile.layers)
    after: dict[str, RetrievalResult] = {}
    for layer in layers:
        result = results[layer.id]
        parts = [part for fragment in result.fragments for part in _split(fragment, layer, evaluation)]
        fragments = tuple(_apply_to_fragment(part, layer, evaluation, overridden) for part in parts)
        after[layer.id] = result._replace(fragments=fragments)
    pins, problems = _pins(evaluation, layers, after, workspace)
    if pins.fragments:
        layers, after = (*layers, PINS), {**after, PINS.id: pins}
    profile = profile._replace(layers=layers)
    return AfterRules(profile, after, _traces(evaluation, overridden), (*undecided, *problems))


def _overridden_rules(effects: Iterable[Effect]) -> list[_OverriddenRule]:
    return [entry for effect in effects for entry in effect.lost]


def _undecided_problems(evaluation: RuleEvaluation) -> Iterator[Problem]:
    for rule, reason in evaluation.verdicts:
        if reason.code in {"not-a-number", "regex-timeout", "regex-too-long"}:
            field = dict(reason.facts).get("field", "")
            message = f"rule {rule.name} did not fire: {reason.code} in its condition on {field}"
            yield Problem("rule-undecided", rule.path, rule.line, message)


def rule_traces(evaluation: RuleEvaluation) -> tuple[RuleTrace, ...]:
    """The trace of each rule, in order of precedence, without effects that are overridden for single fragments."""
    return _traces(evaluation, _overridden_rules(evaluation.effects))


def _traces(evaluation: RuleEvaluation, overridden: Sequence[_OverriddenRule]) -> tuple[RuleTrace, ...]:
    return tuple(
        RuleTrace(
            rule.name,
            rule.path,
            rule.line,
            reason.code == "fired",
            reason,
            tuple(dict.fromkeys(cause for name, cause in overridden if name == rule.name)),
        )
        for rule, reason in evaluation.verdicts
    )


def _apply_to_layer(layer: Layer, evaluation: RuleEvaluation, overridden: list[_OverriddenRule]) -> Layer:
    """The layer with its cap and its priority. For a required one, its caps are added to `overridden`."""
    caps = [effect for effect in evaluation.of("cap") if effect.target.value == layer.id]
    priorities = [effect for effect in evaluation.of("set_priority") if effect.target.value == layer.id]
    limits = layer.limits
    if limits.required:
        for cap in caps:
            reason = Reason.of("protected", action="cap", target=str(cap.target))
            overridden += [(name, reason) for name in cap.rules]
        return layer
    for cap in caps:
        tokens = int(cap.value)
        limits = limits._replace(max_tokens=tokens if limits.max_tokens is None else min(limits.max_tokens, tokens))
    for priority in priorities:
        limits = limits._replace(priority=int(priority.value))
    return layer._replace(limits=limits, changed_by_rules=True)


def _split(fragment: Fragment, layer: Layer, evaluation: RuleEvaluation) -> Iterator[Fragment]:
    """The fragment in parts, where rules include a section of its document; one of a required layer stays whole."""
    titles = [
        effect.target.heading
        for effect in evaluation.of("always_include")
        if effect.target.kind == "heading-path" and effect.target.value == fragment.location.path
    ]
    lines = fragment.text.split("\n")
    sections = sorted(filter(None, (section(lines, title) for title in titles)))
    if layer.limits.required or fragment.verdict.excluded or not sections:
        yield fragment
        return
    edges = sorted({0, len(lines), *(edge for first_and_end in sections for edge in first_and_end)})
    for number, (first, end) in enumerate(pairwise(edges)):
        blank_lines, text = trimmed("\n".join(lines[first:end]))
        if text:
            title = heading(lines[first]) if (first, end) in sections else None
            line = fragment.location.file_line(first + blank_lines)
            yield fragment._replace(
                id=f"{fragment.id}#{title[1]}" if title else f"{fragment.id}#{number}" if number else fragment.id,
                text=text,
                location=fragment.location._replace(line=line),
                display=fragment.display._replace(place=(*fragment.display.place, number)),
                labels=fragment.labels._replace(tags=(title[1],) if title else (), kind="section" if title else ""),
            )


def section(lines: Sequence[str], title: str) -> tuple[int, int] | None:
    """Index of the first line, and of the line after the last, of the section under a heading; None without one.

    The heading's case does not matter.
    """
    start = None
    for number, line in enumerate(lines):
        level_and_title = heading(line)
        if level_and_title is None:
            continue
        if start is None and level_and_title[1].casefold() == title.casefold():
            start, level = number, level_and_title[0]
        elif start is not None and level_and_title[0] <= level:
            return start, number
    return None if start is None else (start, len(lines))


def _apply_to_fragment(
    fragment: Fragment, layer: Layer, evaluation: RuleEvaluation, overridden: list[_OverriddenRule]
) -> Fragment:
    """The fragment excluded, pinned or boosted. Rules that are overridden for it are added to `overridden`."""
    effects = effects_on(evaluation, _item_facts(fragment), protected=layer.limits.required)
    overridden += _overridden_rules(effects)
    claim = next((effect for effect in effects if effect.action != "boost" and effect.rules), None)
    if claim and claim.action == "exclude":
        return fragment if fragment.verdict.excluded else fragment.exclude(Reason.of("rule", rule=claim.rules[0]))
    verdict = fragment.verdict._replace(boost=boost_factor(effects))
    if claim and not layer.limits.required and _is_pinnable(fragment):
        verdict = verdict._replace(pinned_by=claim.rules[0], excluded=None)
    return fragment._replace(verdict=verdict)


def _item_facts(fragment: Fragment) -> dict[str, str | tuple[str, ...]]:
    facts: dict[str, str | tuple[str, ...]] = {"path": fragment.location.path, "id": fragment.id}
    if fragment.labels.kind == "section":
        return facts | {"heading": fragment.labels.tags}
    return facts | {"type": fragment.labels.kind, "tag": fragment.labels.tags}


def _is_pinnable(fragment: Fragment) -> bool:
    # A file that was not opened has no line.
    excluded = fragment.verdict.excluded
    return bool(fragment.location.line) and (excluded is None or excluded.code in PINNABLE_CODES)


def _pins(
    evaluation: RuleEvaluation, layers: Sequence[Layer], results: Mapping[str, RetrievalResult], workspace: Workspace
) -> tuple[RetrievalResult, tuple[Problem, ...]]:
    """The files that rules include and no layer shows, as fragments, and a problem for each target that is missing."""
    required = {layer.id for layer in layers if layer.limits.required}
    shown = [
        fragment
        for layer_id, result in results.items()
        for fragment in result.fragments
        if fragment.verdict.pinned_by or layer_id in required
    ]
    fragments: list[Fragment] = []
    documents: list[Document] = []
    problems: list[Problem] = []
    for effect in evaluation.of("always_include"):
        if not effect.rules or any(_is_included(effect.target, fragment) for fragment in shown):
            continue
        is_file = effect.target.kind in {"path", "heading-path"}
        document = workspace.read(effect.target.value) if is_file else None
        pin = _pin(document, effect, len(fragments)) if isinstance(document, Document) else None
        if isinstance(document, Document) and pin:
            documents.append(document)
            fragments.append(pin)
        else:
            what = document.message if isinstance(document, Problem) else "there is no such thing that may be shown"
            problems.append(Problem("pin-missing", str(effect.target), 0, f"rule {effect.rules[0]}: {what}"))
    return RetrievalResult(tuple(fragments), tuple(documents)), tuple(problems)


def _is_included(target: Target, fragment: Fragment) -> bool:
    if target.kind in {"path", "heading-path"}:
        titles = map(str.casefold, fragment.labels.tags)
        holds_section = fragment.labels.kind != "section" or target.heading.casefold() in titles
        return fragment.location.path == target.value and holds_section
    return target.value == fragment.id if target.kind == "id" else target.value in fragment.labels.tags


def _pin(document: Document, effect: Effect, place: int) -> Fragment | None:
    """The file, or the section that the effect includes, as a pinned fragment; None without text of that heading."""
    title = effect.target.heading
    lines = document.text.split("\n")
    span = section(lines, title) if title else (0, len(lines))
    if span is None:
        return None
    first, end = span
    blank_lines, text = trimmed("\n".join(lines[first:end]))
    if not text:
        return None
    location, text = passage(document, document.line + first + blank_lines, text)
    return Fragment(
        f"{document.path}#{title}" if title else document.path,
        location,
        text,
        FragmentDisplay(PINS.heading[0], place=(place,)),
        verdict=Verdict(pinned_by=effect.rules[0]),
    )
