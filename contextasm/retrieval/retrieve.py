"""Retrieval: the table of sources, their run for each layer, and the options of a request that match nothing.

A build imports only the sources that it runs; what other rooms must know of a source is one line of the table in
`model/sources.py`. Ranks nothing, and reads no clock: the build says how sources are run. A layer that did not answer
in time may hold the match of an option: then only options that the profile has no layer for are reported, with the code
`no-effect`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module

from contextasm.model import (
    CLEAN,
    TIMEOUT,
    Build,
    ChangedWorkspace,
    Cleaning,
    ContextasmError,
    Document,
    Fragment,
    Layer,
    Problem,
    Profile,
    Ranking,
    Request,
    RetrievalResult,
    SourceQuery,
    SourceTask,
    SourceTraits,
    timed_out_layers,
)
from contextasm.retrieval.reading.files import pool_patterns
from contextasm.retrieval.sources.documents import additional, daily_logs, documents, threads
from contextasm.retrieval.sources.memories import recent_memories, search_memories, weighed_memories
from contextasm.text.cleaning.clean import HIDDEN_TEXT, decode_document, hidden_problems
from contextasm.text.names.matching import nearest
from contextasm.text.names.places import is_named

Source = Callable[[SourceQuery], RetrievalResult]


def _imported(module: str, function: str, query: SourceQuery) -> RetrievalResult:
    source: Source = getattr(import_module(f"contextasm.retrieval.sources.{module}"), function)
    return source(query)


SOURCES: Mapping[str, Source] = {
    "document": documents,
    "daily": daily_logs,
    "instructions": partial(_imported, "instructions", "instructions"),
    "log-search": partial(_imported, "log_search", "log_search"),
    "recent": recent_memories,
    "search": search_memories,
    "weighed": weighed_memories,
    "events": partial(_imported, "events", "events"),
    "knowledge": partial(_imported, "knowledge", "knowledge"),
    "entities": partial(_imported, "graph", "entities"),
    "relations": partial(_imported, "graph", "relations"),
    "patterns": partial(_imported, "patterns", "patterns"),
    "manifests": partial(_imported, "manifests", "manifests"),
    "threads": threads,
    "files": partial(_imported, "files", "files"),
    "tree": partial(_imported, "files", "tree"),
    "tools": partial(_imported, "tools", "tools"),
    "root-goal": partial(_imported, "tasks", "root_goal"),
    "ancestor-goals": partial(_imported, "tasks", "ancestor_goals"),
    "sibling-results": partial(_imported, "tasks", "sibling_results"),
    "current-goal": partial(_imported, "tasks", "current_goals"),
    "additional": additional,
}
"""Every source, by the name that profiles use."""


SOURCE_SHARE = 0.8
"""Share of a deadline after which sources are late; the rest is for assembly (digest 4.1)."""


FALLBACK = "fallback"
"""Code of the reason of fragments that are shown because an earlier source of their layer found nothing."""


def retrieve(build: Build) -> dict[str, RetrievalResult]:
    """Fragments that each layer's sources find, by layer id.

    Layers that need nothing but the request are searched together; layers that start from others' results, after them.
    Required layers are waited for. Raises `ContextasmError` if a file of a required layer can't be read.
    """
    results: dict[str, RetrievalResult] = {}
    ids = {layer.id for layer in build.profile.layers}
    pending = [*build.profile.layers]
    while pending:
        ready = [layer for layer in pending if results.keys() >= {*layer.query.start_from} & ids]
        queries = [_query(build, layer, results) for layer in ready]
        results |= {query.layer.id: _late_result(query) for query in queries if query.layer.id in build.timed_out}
        results |= {query.layer.id: _source_task(query)() for query in queries if query.layer.limits.required}
        optional = [query for query in queries if query.layer.id not in results]
        in_time = build.run_sources([_source_task(query) for query in optional])
        for query, result in zip(optional, in_time, strict=True):
            results[query.layer.id] = _late_result(query) if result is None else result
        pending = [layer for layer in pending if layer.id not in results]
    for layer in build.profile.layers:
        if layer.hidden == "fail":
            _refuse_hidden(layer, results[layer.id])
    return {layer.id: results[layer.id] for layer in build.profile.layers}


def _refuse_hidden(layer: Layer, result: RetrievalResult) -> None:
    in_documents = (problem for document in result.documents for problem in hidden_problems(document))
    found = next((problem for problem in (*result.problems, *in_documents) if problem.code == HIDDEN_TEXT), None)
    if found:
        where = f"{found.path}:{found.line}"
        raise ContextasmError(where, found.message, f"delete them, because {layer.id} has `hidden: fail`")


def with_layers_for_topic(profile: Profile, topic: str) -> Profile:
    """The profile as a build without a topic uses it, if there is none.

    It is without the layers within others, which then have their room to themselves, and shows no more of a layer than
    its `fallback_top`. What a private layer among them names stays private.
    """
    if topic.strip():
        return profile
    private = (path for layer in profile.layers if layer.limits.within and layer.private for path in layer.query.paths)
    layers = (
        _fallback_layer(layer) if layer.ranking.fallback_top < layer.ranking.top else layer
        for layer in profile.layers
        if not layer.limits.within
    )
    return profile._replace(layers=tuple(layers), private_paths=(*profile.private_paths, *private))


def with_message_steps(layer: Layer) -> Layer:
    """The layer as a request to a model's API takes it: a tool is whole or left out, and no message only named."""
    allowed = {step for source in layer.query.traits for step in source.message_steps}
    if not allowed:
        return layer
    steps = tuple(step for step in layer.overflow.steps if step in allowed) or ("drop",)
    detail = layer.overflow.detail if "detail" in allowed else "atomic"
    return layer._replace(overflow=layer.overflow._replace(steps=steps, detail=detail))


def with_fallback_tops(profile: Profile, results: Mapping[str, RetrievalResult]) -> Profile:
    """The profile with `fallback_top` as the `top` of the layers whose fragments are a fallback."""
    layers = (_fallback_layer(layer) if _fell_back(results[layer.id]) else layer for layer in profile.layers)
    return profile._replace(layers=tuple(layers))


def _fell_back(result: RetrievalResult) -> bool:
    return any(fragment.verdict.note == FALLBACK for fragment in result.fragments)


def _fallback_layer(layer: Layer) -> Layer:
    top = layer.ranking.fallback_top or layer.ranking.top
    return layer._replace(ranking=layer.ranking._replace(top=top))


def _late_result(query: SourceQuery) -> RetrievalResult:
    """A problem, unless all paths of the layer name an agent or a team, and the request has none."""
    if query.layer.query.paths and not pool_patterns(query):
        return RetrievalResult()
    message = f"{' and '.join(query.layer.query.sources)} did not answer in time, so the layer shows nothing"
    return RetrievalResult(problems=(Problem(TIMEOUT, query.layer.id, 0, message),))


def _is_found(fragment: Fragment) -> bool:
    # A memory that pins itself is shown for any topic: without a score it answers nothing.
    return fragment.verdict.excluded is None and bool(fragment.score or not fragment.verdict.pinned_by)


def _query(build: Build, layer: Layer, results: Mapping[str, RetrievalResult]) -> SourceQuery:
    return SourceQuery(
        with_cleaning(build, layer.hidden),
        layer,
        {start: results[start] for start in layer.query.start_from if start in results},
    )


def _source_task(query: SourceQuery) -> SourceTask:
    return query.build.watch_source(query.layer.id, partial(_query_sources, query))


def _query_sources(query: SourceQuery) -> RetrievalResult:
    """Result of the layer's first source that finds a fragment to show, else of its last source.

    Fragments of a later source than one that excluded all of its own are marked as a fallback, for which
    `fallback_top` holds.
    """
    result, is_fallback = RetrievalResult(), False
    problems: tuple[Problem, ...] = ()
    for name in query.layer.query.sources:
        is_fallback = is_fallback or bool(result.fragments)
        result = SOURCES[name](query._replace(layer=_fallback_layer(query.layer)) if is_fallback else query)
        problems += result.problems
        if any(map(_is_found, result.fragments)):
            break
    # A source that found nothing may have found nothing because of its problems: they are reported, too.
    result = result._replace(problems=tuple(dict.fromkeys(problems)))
    if "credibility" in dict(query.layer.ranking.weights) and any(fragment.score for fragment in result.fragments):
        from contextasm.retrieval.reading.feedback import with_credibility  # here: most layers do not weigh it

        result = with_credibility(query, result)
    return result._replace(fragments=tuple(map(_as_fallback, result.fragments))) if is_fallback else result


def _as_fallback(fragment: Fragment) -> Fragment:
    return fragment._replace(verdict=fragment.verdict._replace(note=FALLBACK))


# --- Options that match nothing --------------------------------------------------------------------------------------


Results = Mapping[str, RetrievalResult]
"""Results of retrieval, by layer id."""

_NEAR = 0.7
"""Least likeness, 0 to 1, of a name that a message suggests."""


def unmatched_problems(build: Build, results: Results) -> tuple[Problem, ...]:
    """The problems of options of the request, and of weights of layers, that match nothing."""
    profile, request, filters = build.profile, build.request, build.request.filters
    problems = [*_options_without_layer(profile, request), *_dead_weights(profile)]
    if not any(timed_out_layers(result.problems) for result in results.values()):
        problems += _unmatched_exclusions(profile, request, results)
        events, entities = _filtered_by(profile, "event_types"), _filtered_by(profile, "entity_types")
        problems += _unmatched_types(events, results, "--event-type", filters.event_types)
        problems += _unmatched_types(entities, results, "--entity-type", filters.entity_types)
        problems += _unmatched_task(events, results, filters.task)
        problems += _unmatched_preferences(profile, request, results)
        problems += _unmatched_profile(profile, results)
    return tuple(problems)


def _unmatched_profile(profile: Profile, results: Results) -> Iterator[Problem]:
    """Of a build without any text; a layer that has a problem of its own says itself why it is empty."""
    if not any(result.fragments or result.problems for result in results.values()):
        message = "finds no file for any layer, so the context is empty"
        yield _problem(f"profile {profile.name}", message)


def _problem(subject: str, message: str, hint: str = "") -> Problem:
    return Problem("no-effect", subject, 0, message, hint)


def _layers_of(profile: Profile, has_trait: Callable[[SourceTraits], object]) -> list[Layer]:
    return [layer for layer in profile.layers if any(map(has_trait, layer.query.traits))]


def _filtered_by(profile: Profile, filter_name: str) -> list[Layer]:
    return _layers_of(profile, lambda source: source.type_filter == filter_name)


def _fragments(layers: Iterable[Layer], results: Results) -> Iterator[Fragment]:
    return (fragment for layer in layers for fragment in results[layer.id].fragments)


def _suggestion(name: str, names: Iterable[str]) -> str:
    near = nearest(name, names, _NEAR)
    return f"did you mean {near}?" if near else ""


def _options_without_layer(profile: Profile, request: Request) -> Iterator[Problem]:
    events, entities = _filtered_by(profile, "event_types"), _filtered_by(profile, "entity_types")
    additional = _layers_of(profile, lambda source: not (source.reads_files or source.lists_project))
    limited = [layer for layer in profile.layers if layer.ranking.min_score and not layer.limits.required]
    scored = any(layer.query.has_scores for layer in limited)
    no_text = "has no layer that shows the text; add a layer with `source: additional`"
    for option, given, is_used, what in (
        (f"--session {request.session}", request.session, events, "reads no sessions"),
        ("--history", request.history, events, "reads no sessions"),
        ("--event-type", request.filters.event_types, events, "reads no events"),
        (f"--task {request.filters.task}", request.filters.task, events, "reads no events"),
        ("--entity-type", request.filters.entity_types, entities, "reads no entities"),
        ("--additional", request.additional.strip(), additional, no_text),
        ("--prefer", request.prefer, profile.conflicts is not None, "settles no conflicts"),
        ("--open", request.open, _uses_open_files(profile), "does not use open files"),
        ("min_score", limited, scored, "has it only for layers without scores"),
    ):
        if given and not is_used:
            yield _problem(option, f"profile {profile.name} {what}")


def _uses_open_files(profile: Profile) -> bool:
    shown = ("{open}" in layer.query.paths or "open" in dict(layer.ranking.weights) for layer in profile.layers)
    return any(shown) or bool(_layers_of(profile, lambda source: source.uses_open))


def _dead_weights(profile: Profile) -> Iterator[Problem]:
    for layer in profile.layers:
        if dict(layer.ranking.weights).get("intent") and not layer.query.intents:
            yield _problem(layer.id, "gives a weight to intent, but names no types of events; add `intents:`")
        if layer.ranking.weights == Ranking().weights:
            continue
        if layer.ranking.order == "given" and not layer.ranking.min_score:
            yield _problem(layer.id, "has weights that have no effect; set `order: best`")
            continue
        parts = {part for source in layer.query.traits for part in source.score_parts}
        sources = " and ".join(layer.query.sources)
        for name, weight in layer.ranking.weights:
            if weight and name not in parts:
                scores = f"only {', '.join(sorted(parts))}" if parts else "no scores"
                yield _problem(layer.id, f"gives a weight to {name}, but the source {sources} has {scores}")


def _unmatched_exclusions(profile: Profile, request: Request, results: Results) -> Iterator[Problem]:
    required = [layer for layer in profile.layers if layer.limits.required]
    optional = [layer for layer in profile.layers if not layer.limits.required]
    for pattern in dict.fromkeys(request.filters.exclude):
        if _excludes_any(pattern, _fragments(optional, results)):
            continue
        if _excludes_any(pattern, _fragments(required, results)):
            yield _problem(f"--exclude {pattern}", "matches only required layers, which are always shown")
            continue
        names = {name for each in _fragments(profile.layers, results) for name in (each.id, each.location.path)}
        message = "matches no file and no id"
        yield _problem(f"--exclude {pattern}", message, _suggestion(pattern, sorted(names)))


def _excludes_any(pattern: str, fragments: Iterable[Fragment]) -> bool:
    return any(is_named(pattern, fragment.id, fragment.location.path) for fragment in fragments)


def _unmatched_types(layers: Sequence[Layer], results: Results, option: str, types: Sequence[str]) -> Iterator[Problem]:
    if not layers or not types:
        return
    kinds = {fragment.labels.kind for fragment in _fragments(layers, results)}
    for name in dict.fromkeys(types):
        if name not in kinds:
            yield _problem(f"{option} {name}", "nothing has this type", _suggestion(name, sorted(kinds)))


def _unmatched_task(layers: Sequence[Layer], results: Results, task: str) -> Iterator[Problem]:
    reasons = (fragment.verdict.excluded for fragment in _fragments(layers, results))
    if task and layers and all(reason and reason.code in {"filtered", "future"} for reason in reasons):
        yield _problem(f"--task {task}", "no event belongs to this task")


def _unmatched_preferences(profile: Profile, request: Request, results: Results) -> Iterator[Problem]:
    if profile.conflicts is None or not request.prefer:
        return
    fragments = [*_fragments(profile.layers, results)]
    keys = {name: each.labels.key for each in fragments for name in (each.labels.claim, each.id) if name}
    for name in dict.fromkeys(request.prefer):
        if name not in keys:
            yield _problem(f"--prefer {name}", "no fragment has this id", _suggestion(name, sorted(keys)))
        elif not keys[name]:
            yield _problem(f"--prefer {name}", "has no `key`, so it can't conflict")


# --- Texts as the request asks for them -------------------------------------------------------------------------------


def _cleaned(read: Document, cleaning: Cleaning) -> Document | Problem:
    """The document, made of the same bytes and cleaned in another way; without the private lines that it lacks."""
    document = decode_document(read.path, read.data, cleaning)
    if not read.withheld or isinstance(document, Problem):
        return document
    from contextasm.text.cleaning.private_parts import withhold_as  # here: most contexts are personal

    return withhold_as(document, read)


def with_cleaning(build: Build, hidden: str = "strip") -> Build:
    """The build that reads texts with the characters that its request, and a layer's `hidden`, leave in them."""
    cleaning = Cleaning("keep" if hidden == "keep" else "strip", "keep" if build.request.privacy == "off" else "mask")
    if hidden != "strip" or cleaning != CLEAN:
        build = build._replace(memory_index=None)  # it holds clean texts, and opens no file
    if cleaning == CLEAN:
        return build
    return build._replace(workspace=ChangedWorkspace(build.workspace, partial(_cleaned, cleaning=cleaning)))
