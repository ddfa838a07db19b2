"""Retrieval: run the sources of each layer and collect their fragments.

Sources themselves are in `sources`, their table in `registry`. Ranks nothing, and reads no clock: the build says how
sources are run.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from contextasm.model import (
    TIMEOUT,
    Build,
    ContextasmError,
    Fragment,
    Layer,
    Problem,
    Profile,
    RetrievalResult,
    SourceQuery,
    SourceTask,
)
from contextasm.retrieval.reading.files import with_cleaning
from contextasm.retrieval.registry import SOURCES
from contextasm.text.cleaning.clean import HIDDEN_TEXT, hidden_problems
from contextasm.text.names.templates import placeholders

SOURCE_SHARE = 0.8
"""Share of a deadline after which sources are late; the rest is for assembly (digest 4.1)."""


FALLBACK = "fallback"
"""Code of the reason of fragments that are shown because an earlier source of their layer found nothing."""


def retrieve(build: Build) -> dict[str, RetrievalResult]:
    """Fragments that each layer's sources find, by layer id.

    Layers that need nothing but the request are searched together; those that start from others' results, after them.
    Required layers are waited for. Raises `ContextasmError` where a file of a required layer can't be read.
    """
    results: dict[str, RetrievalResult] = {}
    ids = {layer.id for layer in build.profile.layers}
    pending = [*build.profile.layers]
    while pending:
        ready = [layer for layer in pending if results.keys() >= {*layer.query.start_from} & ids]
        queries = [_query(build, layer, results) for layer in ready if layer.id not in build.timed_out]
        results |= {layer.id: _timeout_result(layer) for layer in ready if layer.id in build.timed_out}
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
        raise ContextasmError(where, found.message, f"delete it: {layer.id} has `hidden: fail`")


def with_layers_for_topic(profile: Profile, topic: str) -> Profile:
    """The profile without the layers within others, where there is no topic: these then have their room alone."""
    if topic.strip():
        return profile
    return profile._replace(layers=tuple(layer for layer in profile.layers if not layer.limits.within))


def with_fallback_tops(profile: Profile, results: Mapping[str, RetrievalResult]) -> Profile:
    """The profile with `fallback_top` as the `top` of the layers whose fragments are a fallback."""
    fell_back = {
        name
        for name, result in results.items()
        if any(fragment.verdict.note == FALLBACK for fragment in result.fragments)
    }
    layers = (_fallback_layer(layer) if layer.id in fell_back else layer for layer in profile.layers)
    return profile._replace(layers=tuple(layers))


def _fallback_layer(layer: Layer) -> Layer:
    top = layer.ranking.fallback_top or layer.ranking.top
    return layer._replace(ranking=layer.ranking._replace(top=top))


def _late_result(query: SourceQuery) -> RetrievalResult:
    """A problem, unless all paths of the layer name an agent or a team, and the request has none."""
    request, layer = query.build.request, query.layer
    given = {"agent": request.agent, "team": request.team}
    skipped = [any(not given.get(name, name) for name in placeholders(path)) for path in layer.query.paths]
    return RetrievalResult() if skipped and all(skipped) else _timeout_result(layer)


def _is_found(fragment: Fragment) -> bool:
    # A memory that pins itself is there whatever the topic: without a score it answers nothing.
    return fragment.verdict.excluded is None and bool(fragment.score or not fragment.verdict.pinned_by)


def _query(build: Build, layer: Layer, results: Mapping[str, RetrievalResult]) -> SourceQuery:
    return SourceQuery(
        with_cleaning(build, layer.hidden),
        layer,
        {start: results[start] for start in layer.query.start_from if start in results},
    )


def _source_task(query: SourceQuery) -> SourceTask:
    return query.build.watch_source(query.layer.id, partial(_query_sources, query))


def _timeout_result(layer: Layer) -> RetrievalResult:
    message = f"{' and '.join(layer.query.sources)} did not answer in time, so nothing of it is shown"
    return RetrievalResult(problems=(Problem(TIMEOUT, layer.id, 0, message),))


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
    if not is_fallback:
        return result
    return result._replace(
        fragments=tuple(
            fragment._replace(verdict=fragment.verdict._replace(note=FALLBACK)) for fragment in result.fragments
        )
    )
