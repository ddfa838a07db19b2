"""Sources: each finds the fragments of a layer. A new one is a module here and a line in the table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from contextasm.model import (
    Build,
    Layer,
    Problem,
    RetrievalResult,
    SourceQuery,
)
from contextasm.retrieval.registry import SOURCES

SOURCE_SHARE = 0.8
"""The share of a deadline after which sources are late: the rest is for assembly (digest 4.1)."""


def retrieve(build: Build) -> dict[str, RetrievalResult]:
    """The fragments that each layer's sources find, by layer id.

    Layers that need nothing but the request are searched together; those that start from others' results, after them.
    Required layers are waited for. Raises `ContextasmError` where a file of a required layer can't be read.
    """
    results: dict[str, RetrievalResult] = {}
    ids = {layer.id for layer in build.profile.layers}
    waiting = [*build.profile.layers]
    while waiting:
        ready = [layer for layer in waiting if results.keys() >= {*layer.query.start_from} & ids]
        queries = [_query(build, layer, results) for layer in ready]
        required = [query for query in queries if query.layer.limits.required]
        optional = [query for query in queries if not query.layer.limits.required]
        results |= {query.layer.id: _first_that_finds(query) for query in required}
        in_time = build.run_sources([partial(_first_that_finds, query) for query in optional])
        for query, result in zip(optional, in_time, strict=True):
            results[query.layer.id] = _late(query.layer) if result is None else result
        waiting = [layer for layer in waiting if layer.id not in results]
    return {layer.id: results[layer.id] for layer in build.profile.layers}


def _query(build: Build, layer: Layer, results: Mapping[str, RetrievalResult]) -> SourceQuery:
    return SourceQuery(build, layer, {start: results[start] for start in layer.query.start_from if start in results})


def _late(layer: Layer) -> RetrievalResult:
    """What a source that was too slow brings."""
    message = f"{' and '.join(layer.query.sources)} did not answer in time, so nothing of it is shown"
    return RetrievalResult(problems=(Problem("source-timeout", layer.id, 0, message),))


def _first_that_finds(query: SourceQuery) -> RetrievalResult:
    """What the first of a layer's sources brings that has anything in question, else what the last one brings."""
    found, in_vain = RetrievalResult(), False
    problems: tuple[Problem, ...] = ()
    for name in query.layer.query.sources:
        in_vain = in_vain or bool(found.fragments)
        found = SOURCES[name](query)
        problems += found.problems
        if any(fragment.verdict.excluded is None for fragment in found.fragments):
            break
    # What went wrong in a source that found nothing may be why it found nothing.
    found = found._replace(problems=tuple(dict.fromkeys(problems)))
    if not in_vain:
        return found
    return found._replace(
        fragments=tuple(
            fragment._replace(verdict=fragment.verdict._replace(note="fallback")) for fragment in found.fragments
        )
    )
