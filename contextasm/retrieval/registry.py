"""Table of sources: name in a profile -> function that finds fragments, fields of its templates, parts of its scores.

A source is one module in `sources` and one line here. The fields stand here and not in the source's module, because
the settings check them for every layer, and a build imports only the sources that it runs.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import NamedTuple

from contextasm.model import RetrievalResult, SourceQuery
from contextasm.retrieval.sources.documents import additional, daily_logs, documents, first_document, threads
from contextasm.retrieval.sources.memories import recent_memories, search_memories, weighed_memories

Source = Callable[[SourceQuery], RetrievalResult]


class _SourceEntry(NamedTuple):
    source: Source
    item_fields: Sequence[str] = ()
    group_fields: Sequence[str] = ()
    score_parts: Sequence[str] = ()
    reads_files: bool = True
    uses_open: bool = False
    """Whether the open files of a request decide what is found, whatever the layer's paths."""
    shows_text: bool = False
    """Whether files are shown as text, so that a managed block in one leaves no trace."""


def _import_on_call(module: str, function: str) -> Source:
    def source(query: SourceQuery) -> RetrievalResult:
        imported: Source = getattr(import_module(f"contextasm.retrieval.sources.{module}"), function)
        return imported(query)

    return source


_MEMORY = ("type", "text", "title", "rest", "confidence")
_KEY = ("key", "name")
_PAGE = ("title", "path")
_WEIGHED = ("importance", "recency", "confidence", "credibility", "open")

_ENTRIES: Mapping[str, _SourceEntry] = {
    "document": _SourceEntry(documents, shows_text=True),
    "first-document": _SourceEntry(first_document, shows_text=True),
    "daily": _SourceEntry(daily_logs, group_fields=("date",), shows_text=True),
    "instructions": _SourceEntry(
        _import_on_call("instructions", "instructions"), group_fields=("path",), uses_open=True, shows_text=True
    ),
    "log-search": _SourceEntry(
        _import_on_call("log_search", "log_search"), ("text",), ("date",), score_parts=("similarity",)
    ),
    "recent": _SourceEntry(recent_memories, _MEMORY, _KEY),
    "search": _SourceEntry(search_memories, _MEMORY, _KEY, ("similarity", *_WEIGHED)),
    "weighed": _SourceEntry(weighed_memories, _MEMORY, _KEY, _WEIGHED),
    "events": _SourceEntry(
        _import_on_call("events", "events"), ("type", "text"), ("session",), ("similarity", "importance", "recency")
    ),
    "knowledge": _SourceEntry(
        _import_on_call("knowledge", "knowledge"), group_fields=_PAGE, score_parts=("similarity",), shows_text=True
    ),
    "entities": _SourceEntry(
        _import_on_call("graph", "entities"), ("type", "name", "fields"), (), ("named", "salience")
    ),
    "relations": _SourceEntry(_import_on_call("graph", "relations"), ("source", "type", "target"), (), ("weight",)),
    "patterns": _SourceEntry(_import_on_call("patterns", "patterns"), ("name", "text", "tried"), (), ("rate",)),
    "threads": _SourceEntry(threads, group_fields=_PAGE, shows_text=True),
    "files": _SourceEntry(
        _import_on_call("files", "files"), group_fields=_PAGE, score_parts=("open", "changed", "named"), shows_text=True
    ),
    "tools": _SourceEntry(_import_on_call("tools", "tools"), ("name", "text", "arguments"), (), ("similarity",)),
    "root-goal": _SourceEntry(_import_on_call("tasks", "root_goal")),
    "ancestor-goals": _SourceEntry(_import_on_call("tasks", "ancestor_goals")),
    "sibling-results": _SourceEntry(_import_on_call("tasks", "sibling_results")),
    "current-goal": _SourceEntry(_import_on_call("tasks", "current_goals")),
    "additional": _SourceEntry(additional, reads_files=False),
}

SOURCES: Mapping[str, Source] = {name: entry.source for name, entry in _ENTRIES.items()}
"""Every source, by the name that profiles use."""

ITEM_FIELDS: Mapping[str, Sequence[str]] = {name: entry.item_fields for name, entry in _ENTRIES.items()}
"""Names that may stand in braces in a layer's `item`, by source; empty for sources that show text unchanged."""

GROUP_FIELDS: Mapping[str, Sequence[str]] = {name: entry.group_fields for name, entry in _ENTRIES.items()}
"""Names that may stand in braces in a layer's `group`, by source; empty for sources without groups."""

SCORE_PARTS: Mapping[str, Sequence[str]] = {
    name: (*entry.score_parts, "coherence") if entry.score_parts else () for name, entry in _ENTRIES.items()
}
"""Parts of a score that a layer's `weights` may weigh, by source; empty for sources without scores.

Coherence is none of the source's own: ranking computes it for every fragment that has a score.
"""

SOURCES_WITHOUT_PATH = frozenset(name for name, entry in _ENTRIES.items() if not entry.reads_files)
"""Sources that read no file."""

OPEN_SOURCES = frozenset(name for name, entry in _ENTRIES.items() if entry.uses_open)
"""Sources that look at the open files of a request, whatever the layer's paths."""

TEXT_SOURCES = frozenset(name for name, entry in _ENTRIES.items() if entry.shows_text)
"""Sources that show files as text, which may hold a managed block."""
