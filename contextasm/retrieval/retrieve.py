"""Sources: each finds the fragments of a layer. A new one is a module here and a line in the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from contextasm.model import (
    IndexedPools,
    Layer,
    Parse,
    Problem,
    Profile,
    Request,
    RetrievalResult,
    SemanticSimilarity,
    SourceQuery,
    Workspace,
)
from contextasm.retrieval.registry import SOURCES

SourceTask = Callable[[], RetrievalResult]
"""One layer's finding."""

RunSources = Callable[[Sequence[SourceTask]], Sequence[RetrievalResult | None]]
"""Runs tasks and gives their results in order, None for one that was not done in time."""


SOURCE_SHARE = 0.8
"""The share of a deadline after which sources are late: the rest is for assembly (digest 4.1)."""


def in_order(tasks: Sequence[SourceTask]) -> Sequence[RetrievalResult | None]:
    """The results of tasks, however long they take."""
    return [task() for task in tasks]


def retrieve(
    workspace: Workspace,
    profile: Profile,
    request: Request,
    meaning: SemanticSimilarity | None = None,
    parse: Parse | None = None,
    *,
    run_all: RunSources = in_order,
    known: Mapping[str, RetrievalResult] = MappingProxyType({}),
    pools: IndexedPools | None = None,
) -> dict[str, RetrievalResult]:
    """What is found for each layer, by the layer's id. `known` are finds that need not be looked for again.

    Layers that need nothing but the request go together; those that start from others' finds, after them. What is
    required is waited for. Raises `ContextasmError` where a file of a required layer can't be read.
    """
    found = {**known}
    there = {layer.id for layer in profile.layers}
    waiting = [layer for layer in profile.layers if layer.id not in found]
    while waiting:
        ready = [layer for layer in waiting if found.keys() >= {*layer.query.start_from} & there]
        asks = [
            SourceQuery(
                workspace,
                layer,
                request,
                meaning,
                {each: found[each] for each in layer.query.start_from if each in found},
                parse,
                pools,
            )
            for layer in ready
        ]
        found |= {ask.layer.id: _first_that_finds(ask) for ask in asks if ask.layer.limits.required}
        others = [ask for ask in asks if not ask.layer.limits.required]
        results = run_all([partial(_first_that_finds, ask) for ask in others])
        for ask, result in zip(others, results, strict=True):
            found[ask.layer.id] = _late(ask.layer) if result is None else result
        waiting = [layer for layer in waiting if layer.id not in found]
    return {layer.id: found[layer.id] for layer in profile.layers}


def _late(layer: Layer) -> RetrievalResult:
    """What a source that was too slow brings."""
    message = f"{' and '.join(layer.query.sources)} did not answer in time, so nothing of it is shown"
    return RetrievalResult(problems=(Problem("source-timeout", layer.id, 0, message),))


def _first_that_finds(ask: SourceQuery) -> RetrievalResult:
    """What the first of a layer's sources brings that has anything in question, else what the last one brings."""
    found, in_vain = RetrievalResult(), False
    problems: tuple[Problem, ...] = ()
    for name in ask.layer.query.sources:
        in_vain = in_vain or bool(found.fragments)
        found = SOURCES[name](ask)
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
