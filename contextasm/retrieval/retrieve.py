"""Sources: each finds the fragments of a layer. A new one is a module here and a line in the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from types import MappingProxyType

from contextasm.model import Ask, Found, Layer, Meaning, Parse, Pools, Problem, Profile, Request, Workspace
from contextasm.retrieval.sources.daily_logs import daily
from contextasm.retrieval.sources.documents import document
from contextasm.retrieval.sources.memories import recent, search, weighed

Source = Callable[[Ask], Found]


def _at(module: str, name: str) -> Source:
    """A source of another module, imported when it is asked: a build pays for the sources of its profile alone."""

    def source(ask: Ask) -> Found:
        own: Source = getattr(import_module(f"contextasm.retrieval.sources.{module}"), name)
        return own(ask)

    return source


SOURCES: Mapping[str, Source] = {
    "document": document,
    "daily": daily,
    "recent": recent,
    "search": search,
    "weighed": weighed,
    "events": _at("events", "events_of"),
    "knowledge": _at("knowledge", "knowledge"),
    "entities": _at("entities", "entities"),
    "relations": _at("relations", "relations"),
    "patterns": _at("patterns", "patterns"),
    "threads": _at("threads", "threads"),
    "files": _at("files", "files"),
    "tools": _at("tools", "tools"),
    "root-goal": _at("tasks", "root_goal"),
    "ancestor-goals": _at("tasks", "ancestors"),
    "sibling-results": _at("tasks", "siblings"),
    "current-goal": _at("tasks", "current_goal"),
    "additional": _at("additional", "additional"),
}
"""Every source by the name that profiles use."""

MEMORY_LINE = ("type", "text", "title", "rest", "confidence")

LINE_NAMES: Mapping[str, Sequence[str]] = {
    "recent": MEMORY_LINE,
    "search": MEMORY_LINE,
    "weighed": MEMORY_LINE,
    "events": ("type", "text"),
    "entities": ("type", "name", "fields"),
    "relations": ("source", "type", "target"),
    "patterns": ("name", "text", "tried"),
    "tools": ("name", "text", "arguments"),
}
"""What stands in braces in a layer's `line`, by source; nothing for the others, which show text as it is."""

GROUP_NAMES: Mapping[str, Sequence[str]] = {
    "daily": ("date",),
    "recent": ("key", "name"),
    "search": ("key", "name"),
    "weighed": ("key", "name"),
    "events": ("session",),
    "knowledge": ("title", "path"),
    "threads": ("title", "path"),
    "files": ("title", "path"),
}
"""Likewise in a layer's `group`."""

WITHOUT_PATH = frozenset({"additional"})
"""Sources that read no file."""


Task = Callable[[], Found]
"""One layer's finding."""

RunAll = Callable[[Sequence[Task]], Sequence[Found | None]]
"""Runs tasks and gives their results in order, None for one that was not done in time."""


FOR_SOURCES = 0.8
"""The share of a deadline after which sources are late: the rest is for assembly (digest 4.1)."""


def one_by_one(tasks: Sequence[Task]) -> Sequence[Found | None]:
    """The results of tasks, however long they take."""
    return [task() for task in tasks]


def retrieve(
    workspace: Workspace,
    profile: Profile,
    request: Request,
    meaning: Meaning | None = None,
    parse: Parse | None = None,
    *,
    run_all: RunAll = one_by_one,
    known: Mapping[str, Found] = MappingProxyType({}),
    pools: Pools | None = None,
) -> dict[str, Found]:
    """What is found for each layer, by the layer's id. `known` are finds that need not be looked for again.

    Layers that need nothing but the request go together; those that start from others' finds, after them. What is
    required is waited for. Raises `ContextasmError` where a file of a required layer can't be read.
    """
    found = {**known}
    there = {layer.id for layer in profile.layers}
    waiting = [layer for layer in profile.layers if layer.id not in found]
    while waiting:
        ready = [layer for layer in waiting if found.keys() >= {*layer.start} & there]
        asks = [
            Ask(
                workspace,
                layer,
                request,
                meaning,
                {each: found[each] for each in layer.start if each in found},
                parse,
                pools,
            )
            for layer in ready
        ]
        found |= {ask.layer.id: _first_that_finds(ask) for ask in asks if ask.layer.required}
        others = [ask for ask in asks if not ask.layer.required]
        results = run_all([partial(_first_that_finds, ask) for ask in others])
        for ask, result in zip(others, results, strict=True):
            found[ask.layer.id] = _late(ask.layer) if result is None else result
        waiting = [layer for layer in waiting if layer.id not in found]
    return {layer.id: found[layer.id] for layer in profile.layers}


def _late(layer: Layer) -> Found:
    """What a source that was too slow brings."""
    message = f"{' and '.join(layer.source)} did not answer in time, so nothing of it is shown"
    return Found(problems=(Problem("source-timeout", layer.id, 0, message),))


def _first_that_finds(ask: Ask) -> Found:
    """What the first of a layer's sources brings that has anything in question, else what the last one brings."""
    found, in_vain = Found(), False
    problems: tuple[Problem, ...] = ()
    for name in ask.layer.source:
        in_vain = in_vain or bool(found.fragments)
        found = SOURCES[name](ask)
        problems += found.problems
        if any(fragment.out is None for fragment in found.fragments):
            break
    # What went wrong in a source that found nothing may be why it found nothing.
    found = found._replace(problems=tuple(dict.fromkeys(problems)))
    if not in_vain:
        return found
    return found._replace(fragments=tuple(fragment._replace(why="fallback") for fragment in found.fragments))
