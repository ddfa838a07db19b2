"""Table of sources: name in a profile -> function that finds fragments, and fields of its templates.

A source is one module in `sources` and one line here. The fields stand here and not in the source's module, because
the settings check them for every layer, and a build imports only the sources that it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import NamedTuple

from contextasm.model import RetrievalResult, SourceQuery
from contextasm.retrieval.sources.daily_logs import daily_logs
from contextasm.retrieval.sources.documents import documents
from contextasm.retrieval.sources.memories import recent_memories, search_memories, weighed_memories

Source = Callable[[SourceQuery], RetrievalResult]


class _SourceEntry(NamedTuple):
    source: Source
    item_fields: Sequence[str] = ()
    group_fields: Sequence[str] = ()
    reads_files: bool = True


def _lazy(module: str, function: str) -> Source:
    """A source that imports its module when it is called."""

    def source(query: SourceQuery) -> RetrievalResult:
        imported: Source = getattr(import_module(f"contextasm.retrieval.sources.{module}"), function)
        return imported(query)

    return source


_MEMORY = ("type", "text", "title", "rest", "confidence")
_KEY = ("key", "name")
_PAGE = ("title", "path")

_ENTRIES: Mapping[str, _SourceEntry] = {
    "document": _SourceEntry(documents),
    "daily": _SourceEntry(daily_logs, group_fields=("date",)),
    "recent": _SourceEntry(recent_memories, _MEMORY, _KEY),
    "search": _SourceEntry(search_memories, _MEMORY, _KEY),
    "weighed": _SourceEntry(weighed_memories, _MEMORY, _KEY),
    "events": _SourceEntry(_lazy("events", "events"), ("type", "text"), ("session",)),
    "knowledge": _SourceEntry(_lazy("knowledge", "knowledge"), group_fields=_PAGE),
    "entities": _SourceEntry(_lazy("entities", "entities"), ("type", "name", "fields")),
    "relations": _SourceEntry(_lazy("relations", "relations"), ("source", "type", "target")),
    "patterns": _SourceEntry(_lazy("patterns", "patterns"), ("name", "text", "tried")),
    "threads": _SourceEntry(_lazy("threads", "threads"), group_fields=_PAGE),
    "files": _SourceEntry(_lazy("files", "files"), group_fields=_PAGE),
    "tools": _SourceEntry(_lazy("tools", "tools"), ("name", "text", "arguments")),
    "root-goal": _SourceEntry(_lazy("tasks", "root_goal")),
    "ancestor-goals": _SourceEntry(_lazy("tasks", "ancestor_goals")),
    "sibling-results": _SourceEntry(_lazy("tasks", "sibling_results")),
    "current-goal": _SourceEntry(_lazy("tasks", "current_goals")),
    "additional": _SourceEntry(_lazy("additional", "additional"), reads_files=False),
}

SOURCES: Mapping[str, Source] = {name: entry.source for name, entry in _ENTRIES.items()}
"""Every source, by the name that profiles use."""

ITEM_FIELDS: Mapping[str, Sequence[str]] = {name: entry.item_fields for name, entry in _ENTRIES.items()}
"""Names that may stand in braces in a layer's `item`, by source; empty for sources that show text unchanged."""

GROUP_FIELDS: Mapping[str, Sequence[str]] = {name: entry.group_fields for name, entry in _ENTRIES.items()}
"""Names that may stand in braces in a layer's `group`, by source; empty for sources without groups."""

SOURCES_WITHOUT_PATH = frozenset(name for name, entry in _ENTRIES.items() if not entry.reads_files)
"""Sources that read no file."""
