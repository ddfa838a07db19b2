"""Table of sources: name in a profile -> function that finds fragments. A build imports only the sources that it runs.

What other rooms must know of a source is one line of the table in `model/sources.py`.
"""

from collections.abc import Callable, Mapping
from importlib import import_module

from contextasm.model import RetrievalResult, SourceQuery
from contextasm.retrieval.sources.documents import additional, daily_logs, documents, first_document, threads
from contextasm.retrieval.sources.memories import recent_memories, search_memories, weighed_memories

Source = Callable[[SourceQuery], RetrievalResult]


def _import_on_call(module: str, function: str) -> Source:
    def source(query: SourceQuery) -> RetrievalResult:
        imported: Source = getattr(import_module(f"contextasm.retrieval.sources.{module}"), function)
        return imported(query)

    return source


SOURCES: Mapping[str, Source] = {
    "document": documents,
    "first-document": first_document,
    "daily": daily_logs,
    "instructions": _import_on_call("instructions", "instructions"),
    "log-search": _import_on_call("log_search", "log_search"),
    "recent": recent_memories,
    "search": search_memories,
    "weighed": weighed_memories,
    "events": _import_on_call("events", "events"),
    "knowledge": _import_on_call("knowledge", "knowledge"),
    "entities": _import_on_call("graph", "entities"),
    "relations": _import_on_call("graph", "relations"),
    "patterns": _import_on_call("patterns", "patterns"),
    "threads": threads,
    "files": _import_on_call("files", "files"),
    "tools": _import_on_call("tools", "tools"),
    "root-goal": _import_on_call("tasks", "root_goal"),
    "ancestor-goals": _import_on_call("tasks", "ancestor_goals"),
    "sibling-results": _import_on_call("tasks", "sibling_results"),
    "current-goal": _import_on_call("tasks", "current_goals"),
    "additional": additional,
}
"""Every source, by the name that profiles use."""
