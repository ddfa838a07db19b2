"""The table of sources: name in a profile -> function that finds fragments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from contextasm.model import RetrievalResult, SourceQuery
from contextasm.retrieval.sources.daily_logs import daily_logs
from contextasm.retrieval.sources.documents import documents
from contextasm.retrieval.sources.memories import recent_memories, search_memories, weighed_memories

Source = Callable[[SourceQuery], RetrievalResult]


def _at(module: str, name: str) -> Source:
    """A source of another module, imported when it is asked: a build pays for the sources of its profile alone."""

    def source(query: SourceQuery) -> RetrievalResult:
        own: Source = getattr(import_module(f"contextasm.retrieval.sources.{module}"), name)
        return own(query)

    return source


SOURCES: Mapping[str, Source] = {
    "document": documents,
    "daily": daily_logs,
    "recent": recent_memories,
    "search": search_memories,
    "weighed": weighed_memories,
    "events": _at("events", "events"),
    "knowledge": _at("knowledge", "knowledge"),
    "entities": _at("entities", "entities"),
    "relations": _at("relations", "relations"),
    "patterns": _at("patterns", "patterns"),
    "threads": _at("threads", "threads"),
    "files": _at("files", "files"),
    "tools": _at("tools", "tools"),
    "root-goal": _at("tasks", "root_goal"),
    "ancestor-goals": _at("tasks", "ancestor_goals"),
    "sibling-results": _at("tasks", "sibling_results"),
    "current-goal": _at("tasks", "current_goals"),
    "additional": _at("additional", "additional"),
}
"""Every source by the name that profiles use."""


MEMORY_FIELDS = ("type", "text", "title", "rest", "confidence")


ITEM_FIELDS: Mapping[str, Sequence[str]] = {
    "recent": MEMORY_FIELDS,
    "search": MEMORY_FIELDS,
    "weighed": MEMORY_FIELDS,
    "events": ("type", "text"),
    "entities": ("type", "name", "fields"),
    "relations": ("source", "type", "target"),
    "patterns": ("name", "text", "tried"),
    "tools": ("name", "text", "arguments"),
}
"""What stands in braces in a layer's `line`, by source; nothing for the others, which show text as it is."""


GROUP_FIELDS: Mapping[str, Sequence[str]] = {
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


SOURCES_WITHOUT_PATH = frozenset({"additional"})
"""Sources that read no file."""
