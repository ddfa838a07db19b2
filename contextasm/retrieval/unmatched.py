"""Options and weights that match nothing in a build: each is a problem with the code `no-effect`.

Nothing is retrieved or filtered here. A layer that did not answer in time may hold the match: then only options that
the profile has no layer for are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from contextasm.model import (
    Build,
    Fragment,
    Layer,
    Problem,
    Profile,
    Ranking,
    Request,
    RetrievalResult,
    SourceTraits,
    timed_out_layers,
)
from contextasm.text.names.archived_paths import is_named
from contextasm.text.names.matching import nearest

Results = Mapping[str, RetrievalResult]
"""Results of retrieval, by layer id."""

_NEAR = 0.7
"""Least likeness, 0 to 1, of a name that a message suggests."""


def unmatched_problems(build: Build, results: Results) -> tuple[Problem, ...]:
    """The problems of options of the request, and of weights of layers, that match nothing."""
    profile, request, filters = build.profile, build.request, build.request.filters
    problems = [*_options_without_layer(profile, request), *_dead_weights(profile), *_dead_keys(profile)]
    if not any(timed_out_layers(result.problems) for result in results.values()):
        problems += _unmatched_exclusions(profile, request, results)
        problems += _unmatched_types(_layers_of(profile, _has_events), results, "--event-type", filters.event_types)
        problems += _unmatched_types(_layers_of(profile, _has_entities), results, "--entity-type", filters.entity_types)
        problems += _unmatched_preferences(profile, request, results)
        problems += _unmatched_open_files(profile, request, results)
        problems += _unmatched_profile(profile, results)
    return tuple(problems)


def _unmatched_profile(profile: Profile, results: Results) -> Iterator[Problem]:
    """Of a build without any text; a layer that has a problem of its own says itself why it is empty."""
    if not any(result.fragments or result.problems for result in results.values()):
        message = "finds no file for any of its layers, so the context is empty"
        yield _problem(f"profile {profile.name}", message)


def _problem(subject: str, message: str, hint: str = "") -> Problem:
    return Problem("no-effect", subject, 0, message, hint)


def _layers_of(profile: Profile, has_trait: Callable[[SourceTraits], object]) -> list[Layer]:
    return [layer for layer in profile.layers if any(map(has_trait, layer.query.traits))]


def _has_events(source: SourceTraits) -> bool:
    return source.type_filter == "event_types"


def _has_entities(source: SourceTraits) -> bool:
    return source.type_filter == "entity_types"


def _fragments(layers: Iterable[Layer], results: Results) -> Iterator[Fragment]:
    return (fragment for layer in layers for fragment in results[layer.id].fragments)


def _suggestion(name: str, names: Iterable[str]) -> str:
    near = nearest(name, names, _NEAR)
    return f"did you mean {near}?" if near else ""


def _options_without_layer(profile: Profile, request: Request) -> Iterator[Problem]:
    filters = request.filters
    if request.session and not _layers_of(profile, _has_events):
        yield _problem(f"--session {request.session}", f"profile {profile.name} reads no sessions")
    if filters.event_types and not _layers_of(profile, _has_events):
        yield _problem("--event-type", f"profile {profile.name} reads no events")
    if filters.entity_types and not _layers_of(profile, _has_entities):
        yield _problem("--entity-type", f"profile {profile.name} reads no entities")
    if request.additional.strip() and not _layers_of(profile, lambda source: not source.reads_files):
        hint = "add a layer with `source: additional`"
        yield _problem("--additional", f"profile {profile.name} has no layer that shows the text; {hint}")
    if request.prefer and profile.conflicts is None:
        yield _problem("--prefer", f"profile {profile.name} settles no conflicts")
    if request.open and not any(_uses_open_files(layer) for layer in profile.layers):
        yield _problem("--open", f"profile {profile.name} does not look at open files")


def _uses_open_files(layer: Layer) -> bool:
    is_named = "{open}" in layer.query.paths or "open" in dict(layer.ranking.weights)
    return is_named or any(source.uses_open for source in layer.query.traits)


def _dead_weights(profile: Profile) -> Iterator[Problem]:
    for layer in profile.layers:
        if layer.ranking.weights == Ranking().weights:
            continue
        if layer.ranking.order == "given":
            yield _problem(layer.id, "has weights that decide nothing; set `order: best`")
            continue
        parts = {part for source in layer.query.traits for part in source.score_parts}
        sources = " and ".join(layer.query.sources)
        for name, weight in layer.ranking.weights:
            if weight and name not in parts:
                message = f"gives a weight to {name}, and source {sources} has {_list_parts(parts)}"
                yield _problem(layer.id, message)


_OF_OTHER_SOURCES: Mapping[str, Callable[[Layer], object]] = {
    "max_age_days": lambda layer: layer.query.max_age_days,
    "fallback_days": lambda layer: layer.query.fallback_days,
    "start_from": lambda layer: layer.query.start_from,
    "depth": lambda layer: layer.query.depth,
    "types": lambda layer: layer.query.event_types,
    "tier": lambda layer: layer.memories.tier,
    "tiers": lambda layer: layer.memories.tier_of_key,
    "quota": lambda layer: layer.memories.key_quota,
    "limits": lambda layer: layer.memories.field_limits,
}
"""Keys that a search of logs does not use, each with what a layer has of it."""


def _dead_keys(profile: Profile) -> Iterator[Problem]:
    unset = Layer("", ())
    for layer in profile.layers:
        if not all(source.is_log and source.answers_topic for source in layer.query.traits):
            continue
        for key, value in _OF_OTHER_SOURCES.items():
            if value(layer) != value(unset):
                source = " and ".join(layer.query.sources)
                yield _problem(layer.id, f"has `{key}`, which source {source} does not use; take it away")


def _list_parts(parts: Iterable[str]) -> str:
    return f"only {', '.join(sorted(parts))}" if parts else "no scores"


def _unmatched_exclusions(profile: Profile, request: Request, results: Results) -> Iterator[Problem]:
    patterns = request.filters.exclude
    if not patterns:
        return
    required = [layer for layer in profile.layers if layer.limits.required]
    optional = [layer for layer in profile.layers if not layer.limits.required]
    for pattern in dict.fromkeys(patterns):
        if _excludes_any(pattern, _fragments(optional, results)):
            continue
        if _excludes_any(pattern, _fragments(required, results)):
            yield _problem(f"--exclude {pattern}", "names only what is always shown: its layer is required")
            continue
        names = {name for each in _fragments(profile.layers, results) for name in (each.id, each.location.path)}
        message = "leaves nothing out: no file and no id is like it"
        yield _problem(f"--exclude {pattern}", message, _suggestion(pattern, sorted(names)))


def _excludes_any(pattern: str, fragments: Iterable[Fragment]) -> bool:
    return any(is_named(pattern, fragment.id, fragment.location.path) for fragment in fragments)


def _unmatched_types(layers: Sequence[Layer], results: Results, option: str, types: Sequence[str]) -> Iterator[Problem]:
    if not layers or not types:
        return
    kinds = {fragment.labels.kind for fragment in _fragments(layers, results)}
    for name in dict.fromkeys(types):
        if name not in kinds:
            yield _problem(f"{option} {name}", "nothing is of this type", _suggestion(name, sorted(kinds)))


def _unmatched_preferences(profile: Profile, request: Request, results: Results) -> Iterator[Problem]:
    if profile.conflicts is None or not request.prefer:
        return
    fragments = [*_fragments(profile.layers, results)]
    keys = {name: each.labels.key for each in fragments for name in (each.labels.claim, each.id) if name}
    for name in dict.fromkeys(request.prefer):
        if name not in keys:
            yield _problem(f"--prefer {name}", "there is no such id", _suggestion(name, sorted(keys)))
        elif not keys[name]:
            yield _problem(f"--prefer {name}", "has no `key`, so it is in no conflict")


def _is_for_open_file(found: str, path: str) -> bool:
    """Whether a file of instructions may be there for an open file: it lies above it, or names files by patterns."""
    folder = found.rpartition("/")[0]
    return bool(folder) and (path.startswith(f"{folder}/") or folder.startswith("."))


def _unmatched_open_files(profile: Profile, request: Request, results: Results) -> Iterator[Problem]:
    if not request.open or not any(_uses_open_files(layer) for layer in profile.layers):
        return
    fragments = [*_fragments(profile.layers, results)]
    if any(dict(fragment.score).get("open") for fragment in fragments):
        return
    paths = {fragment.location.path for fragment in fragments}
    paths |= {problem.path for result in results.values() for problem in result.problems}
    opening = _layers_of(profile, lambda source: source.uses_open)
    shown = [each.location.path for each in _fragments(opening, results) if not each.verdict.excluded]
    for path in dict.fromkeys(request.open):
        if path not in paths and not any(_is_for_open_file(found, path) for found in shown):
            yield _problem(f"--open {path}", "nothing that is found names this file")
