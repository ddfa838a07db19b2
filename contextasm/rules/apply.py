"""Application of rules: the layers and their fragments with the effects of the rules that fired.

An included fragment is pinned in its layer; a file that no layer reads comes under a heading of its own.
`select` sees to pins that are too much for the budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from contextasm.model import (
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
    Rule,
    RuleEvaluation,
    RuleTrace,
    Target,
    Workspace,
)
from contextasm.rules import evaluate
from contextasm.text.markdown.blocks import heading, headings, passage, trimmed
from contextasm.text.names.places import known_ids, known_paths, list_archived

Results = Mapping[str, RetrievalResult]
"""What was found, by the ids of the layers."""

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


def split_at_headings(fragment: Fragment, layer: Layer, evaluation: RuleEvaluation) -> Iterator[Fragment]:
    """The fragment in parts, where rules include a section of its document; one of a required layer stays whole.

    Each part has the headings of the included sections that it is in.
    """
    titles = [
        effect.target.heading
        for effect in evaluation.of("always_include")
        if effect.target.kind == "heading-path" and effect.target.value in known_paths(fragment.location.path)
    ]
    lines = fragment.text.split("\n")
    sections = sorted({*filter(None, (section(lines, title) for title in titles))})
    if layer.limits.required or fragment.verdict.excluded or not sections:
        yield fragment
        return
    edges = sorted({0, len(lines), *(edge for first_and_end in sections for edge in first_and_end)})
    for number, (first, end) in enumerate(pairwise(edges)):
        blank_lines, text = trimmed("\n".join(lines[first:end]))
        if text:
            around = [start for start, stop in sections if start <= first < stop]
            headings_around = tuple(title[1] for title in map(heading, (lines[start] for start in around)) if title)
            name = headings_around[-1] if first in around else number or ""
            yield fragment._replace(
                id=f"{fragment.id}#{name}" if name else fragment.id,
                text=text,
                location=fragment.location._replace(line=fragment.location.file_line(first + blank_lines)),
                display=fragment.display._replace(place=(*fragment.display.place, number)),
                labels=fragment.labels._replace(tags=(), kind="", headings=headings_around),
            )


def section(lines: Sequence[str], title: str) -> tuple[int, int] | None:
    """Index of the first line, and of the line after the last, of the section under a heading; None without one.

    The heading's case does not matter.
    """
    start = None
    for number, own_level, words in headings(lines):
        if start is None and words.casefold() == title.casefold():
            start, level = number, own_level
        elif start is not None and own_level <= level:
            return start, number
    return None if start is None else (start, len(lines))


def is_pinnable(fragment: Fragment) -> bool:
    """Whether a rule can include the fragment: it was opened, and what excludes it, if anything, is only its rank."""
    # A file that was not opened has no line.
    excluded = fragment.verdict.excluded
    return bool(fragment.location.line) and (excluded is None or excluded.code in PINNABLE_CODES)


def pin_rank(evaluation: RuleEvaluation, rule: str) -> int:
    """Place of a rule that fired in the order of precedence, from 0."""
    return [fired.name for fired in evaluation.rules].index(rule)


def pins_outside_layers(
    evaluation: RuleEvaluation, layers: Sequence[Layer], results: Results, workspace: Workspace
) -> tuple[RetrievalResult, tuple[Problem, ...]]:
    """The files that rules include and no layer shows, as fragments, and a problem for each target that is missing."""
    whole = [each for layer in layers if layer.limits.required for each in results[layer.id].fragments]
    whole_files = {path for fragment in whole for path in known_paths(fragment.location.path)}
    fragments = [fragment for result in results.values() for fragment in result.fragments]
    shown = [*whole, *(fragment for fragment in fragments if fragment.verdict.pinned_by)]
    missing = [
        effect
        for effect in evaluation.of("always_include")
        if effect.rules
        and not (effect.target.heading and effect.target.value in whole_files)
        and not _any_is_target(effect.target, shown)
    ]
    paths = dict.fromkeys(each.target.value for each in missing if each.target.kind in {"path", "heading-path"})
    reads = {path: included_file(workspace, path) for path in paths}
    documents = [read for read in reads.values() if isinstance(read, Document)]
    own = evaluation._replace(effects=tuple(missing))
    pins = tuple(pin for place, document in enumerate(documents) for pin in _pins_of(document, own, place))
    pinned_paths = {pin.location.path for pin in pins}
    problems = []
    for effect in missing:
        if not _any_is_target(effect.target, pins):
            read = reads.get(effect.target.value)
            message = read.message if isinstance(read, Problem) else _missing_words(effect.target, fragments)
            problems.append(
                Problem("pin-missing", str(effect.target), 0, f"rule {effect.rules[0]} does nothing: {message}")
            )
    used = (document for document in documents if document.path in pinned_paths)
    return RetrievalResult(pins, tuple(used)), tuple(problems)


def included_file(workspace: Workspace, path: str) -> Document | Problem | None:
    """The file of a path, or the archived one that had it."""
    read = workspace.read(path)
    archived = list_archived(workspace, path) if read is None else []
    return workspace.read(archived[0]) if archived else read


def _any_is_target(target: Target, fragments: Iterable[Fragment]) -> bool:
    return any(evaluate.is_target(target, item_facts(fragment)) for fragment in fragments)


LEFT_OUT: Mapping[str, str] = {
    "status": "its status is {status}",
    "superseded": "{by} supersedes it",
    "future": "it is dated after the day of the build",
    "filtered": "{by} leaves it out",
    "rule": "rule {rule} excludes it",
    "private": "it is private, and this context is shared",
}
"""Words for a target that was found and can't be included, by the code of its exclusion."""


def _missing_words(target: Target, fragments: Iterable[Fragment]) -> str:
    for fragment in fragments if target.kind in {"id", "tag"} else ():
        excluded = fragment.verdict.excluded
        if excluded and _any_is_target(target, [fragment]):
            return LEFT_OUT.get(excluded.code, "it is left out").format(**dict(excluded.facts))
    return "nothing that may be shown matches"


def _pins_of(document: Document, evaluation: RuleEvaluation, place: int) -> list[Fragment]:
    """The parts of a file that the rules include, as pinned fragments.

    Sections of the file that rules include by themselves are fragments of their own: they may outlast the rest.
    """
    blank_lines, text = trimmed(document.text)
    location, text = passage(document, document.line + blank_lines, text)
    whole = Fragment(document.path, location, text, FragmentDisplay(PINS.heading[0], place=(place,)))
    parts = split_at_headings(whole, PINS, evaluation) if text else ()
    applied = [_apply_to_fragment(part, PINS, evaluation, []) for part in parts]
    return [part for part in applied if part.verdict.pinned_by]


# --- Effects on layers and fragments ---------------------------------------------------------------------------------


_LostEffect = tuple[str, Reason]
"""Name of a rule, and the reason why an effect of it came to nothing."""


def apply_rules(
    evaluation: RuleEvaluation, profile: Profile, results: Results, workspace: Workspace
) -> tuple[Profile, Results, tuple[RuleTrace, ...], tuple[Problem, ...]]:
    """The layers and their fragments (`results`, by layer id) after the effects of all rules, and a trace of each rule.

    Files that rules include and no layer reads come from `workspace`.
    """
    lost = _overridden_effects(evaluation.effects)
    own_problems = tuple(_undecided_problems(evaluation))
    if not evaluation.effects:
        return profile, results, rule_traces(evaluation, lost), own_problems
    layers = tuple(_apply_to_layer(layer, evaluation, lost) for layer in profile.layers)
    after: dict[str, RetrievalResult] = {}
    for layer in layers:
        result = results[layer.id]
        parts = [part for fragment in result.fragments for part in split_at_headings(fragment, layer, evaluation)]
        fragments = tuple(_apply_to_fragment(part, layer, evaluation, lost) for part in parts)
        after[layer.id] = result._replace(fragments=fragments)
    own_problems += tuple(_protected_problems(evaluation, layers, after))
    lost += _effects_without_target(evaluation, layers, after)
    pins, problems = pins_outside_layers(evaluation, layers, after, workspace)
    layers = _mark_changed(profile.layers, layers, {id_ for id_ in after if after[id_] != results[id_]}, after)
    if pins.fragments:
        layers = (*(_changed(layer) for layer in layers), PINS)
        after[PINS.id] = pins
    return profile._replace(layers=layers), after, rule_traces(evaluation, lost), (*own_problems, *problems)


def _overridden_effects(effects: Iterable[Effect]) -> list[_LostEffect]:
    return [entry for effect in effects for entry in effect.lost]


def _undecided_problems(evaluation: RuleEvaluation) -> Iterator[Problem]:
    for rule, reason in evaluation.verdicts:
        if reason.code in {"not-a-number", "regex-timeout", "regex-too-long"}:
            field = dict(reason.facts).get("field", "")
            message = f"rule {rule.name} did not fire: {reason.code} in its condition on {field}"
            yield Problem("rule-undecided", rule.path, rule.line, message)


def rule_traces(evaluation: RuleEvaluation, lost: Sequence[_LostEffect] | None = None) -> tuple[RuleTrace, ...]:
    """The trace of each rule, in order of precedence, with the causes of its `lost` effects.

    None for the effects that others override entirely, and not for single fragments.
    """
    lost = _overridden_effects(evaluation.effects) if lost is None else lost
    return tuple(
        RuleTrace(rule.name, rule.path, rule.line, reason.code == "fired", reason, _causes(rule, lost))
        for rule, reason in evaluation.verdicts
    )


def _causes(rule: Rule, lost: Iterable[_LostEffect]) -> tuple[Reason, ...]:
    """The reasons why effects of a rule came to nothing, in its order, whichever fragment reported first."""
    causes = dict.fromkeys(cause for name, cause in lost if name == rule.name)
    places = {(effect.action, str(effect.target)): place for place, effect in enumerate(rule.effects)}

    def sort_key(cause: Reason) -> tuple[int, str]:
        facts = dict(cause.facts)
        return places.get((str(facts["action"]), str(facts["target"])), len(places)), str(cause)

    return tuple(sorted(causes, key=sort_key))


def _apply_to_layer(layer: Layer, evaluation: RuleEvaluation, lost: list[_LostEffect]) -> Layer:
    """The layer with the limits that rules set. Effects on a required one are added to `lost`."""
    effects = [effect for effect in evaluation.effects if _targets_layer(effect, layer)]
    if layer.limits.required:
        for effect in effects:
            lost += _lost(effect, "protected")
        return layer
    limits = layer.limits
    for effect in effects:
        limits = evaluate.EFFECTS[effect.action].limit(limits, int(effect.value))
    return layer._replace(limits=limits)


def _targets_layer(effect: Effect, layer: Layer) -> bool:
    return evaluate.acts_on(effect, "layer") and effect.target.value == layer.id


def _lost(effect: Effect, code: str) -> list[_LostEffect]:
    reason = Reason.of(code, action=effect.action, target=str(effect.target))
    return [(name, reason) for name in effect.rules]


def _apply_to_fragment(
    fragment: Fragment, layer: Layer, evaluation: RuleEvaluation, lost: list[_LostEffect]
) -> Fragment:
    """The fragment excluded, pinned or boosted. Effects that are overridden for it are added to `lost`."""
    effects = evaluate.effects_on(evaluation, item_facts(fragment), protected=layer.limits.required)
    lost += _overridden_effects(effects)
    claim = evaluate.winning_claim(effects)
    if claim and claim.action == "exclude":
        return fragment if fragment.verdict.excluded else fragment.exclude(Reason.of("rule", rule=claim.rules[0]))
    verdict = fragment.verdict
    if _is_ranked(fragment, layer) and (factor := evaluate.boost_factor(effects)) != 1:
        boosts = [effect for effect in effects if evaluate.acts_on(effect, "score")]
        names = tuple(dict.fromkeys(name for effect in boosts for name in effect.rules))
        verdict = verdict._replace(boost=factor, boosted_by=names)
        # An entity that a rule raises is looked at, as one that the topic names is.
        is_entity = any(effect.target.kind == "entity" for effect in boosts)
        if factor > 1 and verdict.excluded and verdict.excluded.code == "not-in-pool" and is_entity:
            verdict = verdict._replace(excluded=None)
    if claim and not layer.limits.required and is_pinnable(fragment):
        rank = pin_rank(evaluation, claim.rules[0])
        verdict = verdict._replace(pinned_by=claim.rules[0], pin_rank=rank, excluded=None)
    return fragment._replace(verdict=verdict)


def _is_ranked(fragment: Fragment, layer: Layer) -> bool:
    return bool(fragment.score) and layer.ranking.order != "given"


def item_facts(fragment: Fragment) -> dict[str, str | tuple[str, ...]]:
    """The facts of a fragment that targets of rules are compared with; an archived one has its earlier ones, too.

    A fragment that counts entries that are not shown has no facts.
    """
    if fragment.verdict.excluded and fragment.verdict.excluded.is_count:
        return {}
    path = fragment.location.path
    facts: dict[str, str | tuple[str, ...]] = {"path": known_paths(path), "id": known_ids(fragment.id, path)}
    labels = fragment.labels
    if labels.headings:
        return facts | {"heading": labels.headings}
    return facts | {"type": labels.kind, "tag": labels.tags, "entity": labels.entities}


# --- Effects that change nothing -------------------------------------------------------------------------------------


def _effects_without_target(
    evaluation: RuleEvaluation, layers: Sequence[Layer], results: Results
) -> Iterator[_LostEffect]:
    """Effects that meet no layer or no fragment of this build; a missing inclusion is a problem (`pins`)."""
    for effect in evaluation.effects:
        if evaluate.acts_on(effect, "layer"):
            if not any(_targets_layer(effect, layer) for layer in layers):
                yield from _lost(effect, "no-target")
        elif effect.action != "always_include":
            targets = [(layer, each) for layer in layers for each in _target_fragments(effect, results[layer.id])]
            ranked = (layer for layer, each in targets if _is_ranked(each, layer) and not each.verdict.excluded)
            if not targets:
                yield from _lost(effect, "no-match-found")
            elif evaluate.acts_on(effect, "score") and not any(ranked):
                yield from _lost(effect, "no-score")


def _target_fragments(effect: Effect, result: RetrievalResult) -> list[Fragment]:
    return [each for each in result.fragments if evaluate.is_target(effect.target, item_facts(each))]


def _protected_problems(evaluation: RuleEvaluation, layers: Sequence[Layer], results: Results) -> Iterator[Problem]:
    """A problem for each effect that only required layers have a target for: they are always whole."""
    rules = {rule.name: rule for rule in evaluation.rules}
    for effect in evaluation.effects:
        if effect.action != "exclude" and not evaluate.acts_on(effect, "layer"):
            continue
        targeted = [
            layer for layer in layers if _targets_layer(effect, layer) or _target_fragments(effect, results[layer.id])
        ]
        if targeted and all(layer.limits.required for layer in targeted):
            for rule in (rules[name] for name in effect.rules):
                message = f"rule {rule.name}: {effect.action} {effect.target} has no effect: the layer is required"
                yield Problem("rule-protected", rule.path, rule.line, message)


# --- Layers that rules can change ------------------------------------------------------------------------------------


def _mark_changed(
    before: Sequence[Layer], after: Sequence[Layer], refilled: set[str], results: Results
) -> tuple[Layer, ...]:
    """The layers, with a mark on each whose text the rules may have changed.

    A changed layer leaves more or less room to the layers after it, so these are marked, too. A rank, a pin and room
    that is held for a layer also change the layers before it. `refilled` are the ids of the layers whose fragments
    changed.
    """
    changed = [
        number for number, (old, new) in enumerate(zip(before, after, strict=True)) if old != new or new.id in refilled
    ]
    if not changed:
        return tuple(after)
    takes_from_earlier = any(
        before[number].limits.priority != after[number].limits.priority
        or (after[number].limits.reserve and not after[number].limits.reserve_against)
        or any(fragment.verdict.pinned_by for fragment in results[after[number].id].fragments)
        for number in changed
    )
    named = {name for number in changed for name in after[number].limits.reserve_against}
    reserved = [number for number, layer in enumerate(after) if layer.id in named]
    first = 0 if takes_from_earlier else min([*reserved, *changed])
    return tuple(_changed(layer) if number >= first else layer for number, layer in enumerate(after))


def _changed(layer: Layer) -> Layer:
    return layer if layer.limits.required else layer._replace(changed_by_rules=True)
