"""Apply: what the rules that fired make of the layers and of what was found for them.

An included fragment is pinned where it was found; a file that no layer reads comes under a heading of its own. That
pins may be too much for the budget is for `select` to see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from contextasm.model import (
    AfterRules,
    Document,
    Effect,
    Fragment,
    FragmentDisplay,
    Layer,
    Location,
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
from contextasm.text.markdown import heading, trimmed

PINS = Layer(
    "pins",
    ("Pinned",),
    changed_by_rules=True,
    query=Query(sources=("rules",), paths=()),
    overflow=Overflow(steps=("drop",)),
)
"""Where the files stand that rules include and no layer reads."""

RECONSIDERED = {"no-match", "not-in-top"}
"""Reasons that a rule's inclusion outweighs. What is superseded, a draft or expired stays out."""


def apply_rules(
    fired: RuleEvaluation, profile: Profile, found: Mapping[str, RetrievalResult], workspace: Workspace
) -> AfterRules:
    """The layers and their fragments with every rule that fired heard, and what became of each rule."""
    lost = [each for setting in fired.effects for each in setting.lost]
    unsure = tuple(_unsure(fired))
    if not fired.effects:
        return AfterRules(profile, found, _rulings(fired, lost), unsure)
    layers = tuple(_layer(layer, fired, lost) for layer in profile.layers)
    ruled: dict[str, RetrievalResult] = {}
    for layer in layers:
        split = [part for each in found[layer.id].fragments for part in _split(each, layer, fired)]
        fragments = tuple(_fragment(each, layer, fired, lost) for each in split)
        ruled[layer.id] = found[layer.id]._replace(fragments=fragments)
    pins, problems = _elsewhere(fired, layers, ruled, workspace)
    if pins.fragments:
        layers, ruled = (*layers, PINS), {**ruled, PINS.id: pins}
    return AfterRules(profile._replace(layers=layers), ruled, _rulings(fired, lost), (*unsure, *problems))


def _unsure(fired: RuleEvaluation) -> Iterator[Problem]:
    """The rules that could not be decided: they did not fire, and should not pass in silence."""
    for rule, reason in fired.verdicts:
        if reason.code in {"not-a-number", "regex-timeout", "regex-too-long"}:
            field = dict(reason.facts).get("field", "")
            message = f"rule {rule.name} did not fire: {reason.code} in its condition on {field}"
            yield Problem("rule-undecided", rule.path, rule.line, message)


def rule_traces(fired: RuleEvaluation) -> tuple[RuleTrace, ...]:
    """What became of each rule, as far as can be said without looking at what was found."""
    return _rulings(fired, [each for setting in fired.effects for each in setting.lost])


def _rulings(fired: RuleEvaluation, lost: list[tuple[str, Reason]]) -> tuple[RuleTrace, ...]:
    """What became of each rule, in order of precedence."""
    return tuple(
        RuleTrace(
            rule.name,
            rule.path,
            rule.line,
            reason.code == "fired",
            reason,
            tuple(dict.fromkeys(why for name, why in lost if name == rule.name)),
        )
        for rule, reason in fired.verdicts
    )


def _layer(layer: Layer, fired: RuleEvaluation, lost: list[tuple[str, Reason]]) -> Layer:
    """A layer with its cap and its priority."""
    if layer.limits.required:
        for setting in fired.of("cap"):
            if setting.target.value == layer.id:
                reason = Reason.of("protected", action="cap", target=str(setting.target))
                lost += [(name, reason) for name in setting.rules]
        return layer
    for setting in (*fired.of("cap"), *fired.of("set_priority")):
        if setting.target.value != layer.id:
            continue
        if setting.action == "cap":
            own = layer.limits.max_tokens
            layer = layer._replace(
                limits=layer.limits._replace(
                    max_tokens=int(setting.value) if own is None else min(own, int(setting.value))
                )
            )
        else:
            layer = layer._replace(limits=layer.limits._replace(priority=int(setting.value)))
    return layer._replace(changed_by_rules=True)


def _split(fragment: Fragment, layer: Layer, fired: RuleEvaluation) -> Iterator[Fragment]:
    """A document in parts, where rules include a section of it; a required one stays as it is."""
    wanted = [
        setting.target.heading
        for setting in fired.of("always_include")
        if setting.target.kind == "heading-path" and setting.target.value == fragment.location.path
    ]
    lines = fragment.text.split("\n")
    spans = sorted(filter(None, (section(lines, title) for title in wanted)))
    if layer.limits.required or fragment.verdict.excluded or not spans:
        yield fragment
        return
    edges = sorted({0, len(lines), *(edge for span in spans for edge in span)})
    for number, (first, stop) in enumerate(pairwise(edges)):
        text = "\n".join(lines[first:stop])
        blank, text = trimmed(text)
        if text:
            title = heading(lines[first]) if (first, stop) in spans else None
            yield fragment._replace(
                id=f"{fragment.id}#{title[1]}" if title else f"{fragment.id}#{number}" if number else fragment.id,
                text=text,
                location=fragment.location._replace(line=fragment.location.line + first + blank),
                display=fragment.display._replace(place=(*fragment.display.place, number)),
                labels=fragment.labels._replace(tags=(title[1],) if title else (), kind="section" if title else ""),
            )


def section(lines: list[str], title: str) -> tuple[int, int] | None:
    """First line and end of the section under a heading of these words, whatever their case; None without one."""
    start = None
    for number, line in enumerate(lines):
        found = heading(line)
        if start is None and found and found[1].casefold() == title.casefold():
            start, level = number, found[0]
        elif start is not None and found and found[0] <= level:
            return start, number
    return None if start is None else (start, len(lines))


def _fragment(fragment: Fragment, layer: Layer, fired: RuleEvaluation, lost: list[tuple[str, Reason]]) -> Fragment:
    """A fragment as the rules leave it: in, out, or with another weight."""
    item: dict[str, str | tuple[str, ...]] = {"path": fragment.location.path, "id": fragment.id}
    if fragment.labels.kind == "section":
        item["heading"] = fragment.labels.tags
    else:
        item |= {"type": fragment.labels.kind, "tag": fragment.labels.tags}
    settings = effects_on(fired, item, protected=layer.limits.required)
    lost += [each for setting in settings for each in setting.lost]
    claim = next((each for each in settings if each.action != "boost" and each.rules), None)
    if claim and claim.action == "exclude":
        return (
            fragment
            if fragment.verdict.excluded
            else fragment._replace(verdict=fragment.verdict._replace(excluded=Reason.of("rule", rule=claim.rules[0])))
        )
    fragment = fragment._replace(verdict=fragment.verdict._replace(boost=boost_factor(settings)))
    if not claim or layer.limits.required or not _may_be_pinned(fragment):
        return fragment
    return fragment._replace(verdict=fragment.verdict._replace(pinned_by=claim.rules[0], excluded=None))


def _may_be_pinned(fragment: Fragment) -> bool:
    """Whether its text is at hand, and nothing but its rank speaks against it."""
    return bool(fragment.location.line) and (
        fragment.verdict.excluded is None or fragment.verdict.excluded.code in RECONSIDERED
    )


def _elsewhere(
    fired: RuleEvaluation, layers: tuple[Layer, ...], ruled: Mapping[str, RetrievalResult], workspace: Workspace
) -> tuple[RetrievalResult, tuple[Problem, ...]]:
    """What rules include and no layer found: files to be read, and problems for what there is not."""
    required = {layer.id for layer in layers if layer.limits.required}
    there = [each for key, own in ruled.items() for each in own.fragments if each.verdict.pinned_by or key in required]
    fragments: list[Fragment] = []
    documents: list[Document] = []
    problems: list[Problem] = []
    for setting in fired.of("always_include"):
        if not setting.rules or any(_means(setting.target, each) for each in there):
            continue
        read = workspace.read(setting.target.value) if setting.target.kind in {"path", "heading-path"} else None
        pin = _pin(read, setting, len(fragments)) if isinstance(read, Document) else None
        if isinstance(read, Document) and pin:
            documents.append(read)
            fragments.append(pin)
        else:
            what = read.message if isinstance(read, Problem) else "there is no such thing that may be shown"
            problems.append(Problem("pin-missing", str(setting.target), 0, f"rule {setting.rules[0]}: {what}"))
    return RetrievalResult(tuple(fragments), tuple(documents)), tuple(problems)


def _means(target: Target, fragment: Fragment) -> bool:
    """Whether a target that is included is this fragment, or a section of a document that is whole anyway."""
    if target.kind in {"path", "heading-path"}:
        section_of_it = fragment.labels.kind != "section" or target.heading.casefold() in map(
            str.casefold, fragment.labels.tags
        )
        return fragment.location.path == target.value and section_of_it
    return target.value == fragment.id if target.kind == "id" else target.value in fragment.labels.tags


def _pin(document: Document, setting: Effect, place: int) -> Fragment | None:
    """A file, or the section that is meant, as a pinned fragment; None where it has no such section."""
    lines = document.text.split("\n")
    span = section(lines, setting.target.heading) if setting.target.heading else (0, len(lines))
    if span is None:
        return None
    blank, text = trimmed("\n".join(lines[span[0] : span[1]]))
    name = f"{document.path}#{setting.target.heading}" if setting.target.heading else document.path
    line = document.line + span[0] + blank
    return (
        Fragment(
            name,
            Location(document.path, line),
            text,
            FragmentDisplay(PINS.heading[0], place=(place,)),
            verdict=Verdict(pinned_by=setting.rules[0]),
        )
        if text
        else None
    )
