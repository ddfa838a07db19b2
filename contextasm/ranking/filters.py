"""Filters of a request: fragments that they exclude. Fragments of required layers are never excluded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from contextasm.model import Document, Filters, Fragment, Layer, Profile, Reason, RetrievalResult
from contextasm.text.cleaning.secrets.scanner import count_masks
from contextasm.text.names.archived_paths import is_named

FILTER_OPTIONS: Mapping[str, str] = {
    "since": "--since",
    "event_types": "--event-type",
    "entity_types": "--entity-type",
    "exclude": "--exclude",
}
"""The command line option of each filter."""


def apply_filters(
    profile: Profile, results: Mapping[str, RetrievalResult], filters: Filters
) -> Mapping[str, RetrievalResult]:
    """The results of each layer, by id, with the fragments excluded that do not pass the filters."""
    if filters == Filters():
        return results
    filtered = {}
    for layer in profile.layers:
        result = results[layer.id]
        fragments = tuple(_apply_to_fragment(fragment, layer, filters) for fragment in result.fragments)
        filtered[layer.id] = result._replace(fragments=fragments)
    return filtered


def drop_secrets(fragments: Sequence[Fragment], layer: Layer, documents: Mapping[str, Document]) -> Sequence[Fragment]:
    """The fragments of a layer, those with a masked secret excluded, but for a required layer.

    `documents` are the files that were opened, by path. A text that shows a mask in a file without secrets has none.
    """
    if layer.limits.required:
        return fragments
    return [
        fragment.exclude(Reason("secret"))
        if not fragment.verdict.excluded and _holds_secret(fragment, documents.get(fragment.location.path))
        else fragment
        for fragment in fragments
    ]


def _holds_secret(fragment: Fragment, document: Document | None) -> bool:
    return bool(count_masks(fragment.text)) and (document is None or bool(document.secrets))


def _apply_to_fragment(fragment: Fragment, layer: Layer, filters: Filters) -> Fragment:
    if fragment.verdict.excluded or layer.limits.required:
        return fragment
    name = next(_failed_filters(fragment, layer, filters), None)
    return fragment.exclude(Reason.of("filtered", by=FILTER_OPTIONS[name])) if name else fragment


def _failed_filters(fragment: Fragment, layer: Layer, filters: Filters) -> Iterator[str]:
    if fragment.labels.day and fragment.labels.day[:10] < filters.since:
        yield "since"
    for name in filter(None, dict.fromkeys(source.type_filter for source in layer.query.traits)):
        types = getattr(filters, name)
        if types and fragment.labels.kind not in types:
            yield name
    if any(is_named(pattern, fragment.id, fragment.location.path) for pattern in filters.exclude):
        yield "exclude"
