"""Filters: what of the finds a request wants. What is required stays, whatever a filter says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from contextasm.model import Filters, Fragment, Layer, Profile, Reason, RetrievalResult

TYPES: Mapping[str, str] = {"events": "event_types", "entities": "entity_types"}
"""The filter of types that holds for a source's finds."""

FLAGS: Mapping[str, str] = {
    "since": "--since",
    "event_types": "--event-type",
    "entity_types": "--entity-type",
    "exclude": "--exclude",
}
"""Each filter as it is typed."""


def restrict(profile: Profile, filters: Filters) -> Profile:
    """The profile with layers of events that ask only for those wanted: others are not to fill the pool."""
    if not filters.event_types:
        return profile
    return profile._replace(layers=tuple(_narrowed(layer, filters) for layer in profile.layers))


def _narrowed(layer: Layer, filters: Filters) -> Layer:
    wanted = tuple(each for each in layer.query.event_types or filters.event_types if each in filters.event_types)
    return (
        layer._replace(query=layer.query._replace(event_types=wanted))
        if "events" in layer.query.sources and wanted
        else layer
    )


def apply_filters(
    profile: Profile, found: Mapping[str, RetrievalResult], filters: Filters
) -> Mapping[str, RetrievalResult]:
    """What was found for each layer, by id; those fragments out that a filter leaves out."""
    if filters == Filters():
        return found
    wanted = {}
    for layer in profile.layers:
        own = found[layer.id]
        wanted[layer.id] = own._replace(fragments=tuple(_filtered(each, layer, filters) for each in own.fragments))
    return wanted


def _filtered(fragment: Fragment, layer: Layer, filters: Filters) -> Fragment:
    """A fragment, out if a filter leaves it out."""
    if fragment.verdict.excluded or layer.limits.required:
        return fragment
    by = next(_against(fragment, layer, filters), "")
    return (
        fragment._replace(verdict=fragment.verdict._replace(excluded=Reason.of("filtered", by=FLAGS[by])))
        if by
        else fragment
    )


def _against(fragment: Fragment, layer: Layer, filters: Filters) -> Iterator[str]:
    """The filters that a fragment does not pass."""
    if fragment.labels.day and fragment.labels.day[:10] < filters.since:
        yield "since"
    for source, name in TYPES.items():
        wanted = getattr(filters, name)
        if source in layer.query.sources and wanted and fragment.labels.kind not in wanted:
            yield name
    if any(each == fragment.id or fnmatchcase(fragment.location.path, each) for each in filters.exclude):
        yield "exclude"
