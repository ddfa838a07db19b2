"""Order of fragments by score, the number of them that may enter, and the filters of a request.

Fragments of required layers are never excluded by a filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from contextasm.model import (
    Document,
    Filters,
    Fragment,
    Layer,
    Problem,
    Profile,
    Reason,
    RetrievalResult,
    weighted_total,
)
from contextasm.text.cleaning.secrets.scanner import count_masks
from contextasm.text.names.places import is_named


def rank(fragments: Sequence[Fragment], layer: Layer) -> tuple[Fragment, ...]:
    """A layer's fragments, best first and each with its place; those below the layer's least score are excluded.

    A place that the source gave comes before the rank.

    No tie is left to chance: score, then the newer, then path, then the later in its file
    (docs/architecture.md, Pipeline).
    """
    if layer.ranking.order in ORDERS:
        scored = [_with_total_score(fragment, layer) for fragment in with_coherence(fragments, layer)]
        fragments = [
            fragment._replace(display=fragment.display._replace(place=(*fragment.display.place, position)))
            for position, fragment in enumerate(ORDERS[layer.ranking.order](scored))
        ]
    return tuple(_apply_min_score(fragment, layer) for fragment in fragments)


def _apply_min_score(fragment: Fragment, layer: Layer) -> Fragment:
    # A fragment without a score stays.
    min_score = layer.ranking.min_score
    is_exempt = fragment.verdict.excluded or fragment.verdict.pinned_by or layer.limits.required
    if not (min_score and fragment.score) or is_exempt:
        return fragment
    total = _boosted_total(fragment, layer)
    if total >= min_score:
        return fragment
    return fragment.exclude(Reason.of("below-floor", score=round(total, 2), least=min_score))


def _best_order(fragments: Sequence[Fragment]) -> list[Fragment]:
    # Score, then the newer, then path, then the later in its file.
    by_place = sorted(fragments, key=lambda fragment: (fragment.location.path, -fragment.location.line))
    return sorted(by_place, key=lambda fragment: (fragment.total_score, fragment.labels.day), reverse=True)


def _steady_order(fragments: Sequence[Fragment]) -> list[Fragment]:
    # Neither a date nor a place in a file changes this order.
    return sorted(fragments, key=lambda fragment: (-fragment.total_score, fragment.text, fragment.id))


ORDERS: Mapping[str, Callable[[Sequence[Fragment]], list[Fragment]]] = {"best": _best_order, "steady": _steady_order}
"""The orders that a layer may have, besides the source's own."""


def _boosted_total(fragment: Fragment, layer: Layer) -> float:
    # The weighted sum of the parts (digest 1.2), times the boost of rules.
    return fragment.verdict.boost * weighted_total(fragment.score, layer.ranking.weights)


def _with_total_score(fragment: Fragment, layer: Layer) -> Fragment:
    if not fragment.score:
        return fragment
    boost = (("boost", fragment.verdict.boost),) if fragment.verdict.boost != 1 else ()
    return fragment._replace(score=(*fragment.score, *boost, ("total", _boosted_total(fragment, layer))))


def with_coherence(fragments: Sequence[Fragment], layer: Layer) -> Sequence[Fragment]:
    """The fragments with their coherence as the last part of their scores, if the layer gives it a weight.

    A fragment's coherence is the mean share of common words (`text.similarity.common_share`) with the other candidates
    of the layer, as a share of the largest such mean: 1 for the most coherent one and for an only candidate, 0 for all
    where no two share a word. It is compared with the 60 candidates whose other parts weigh most. Fragments that are
    excluded or have no score are not candidates and stay as they are. Linear in the number of candidates.
    """
    if "coherence" not in dict(layer.ranking.weights):
        return fragments
    numbers = [
        number for number, fragment in enumerate(fragments) if fragment.score and fragment.verdict.excluded is None
    ]
    with_part = [*fragments]
    for number, value in zip(numbers, _coherences([fragments[number] for number in numbers], layer), strict=True):
        with_part[number] = fragments[number]._replace(score=(*fragments[number].score, ("coherence", value)))
    return with_part


def _coherences(candidates: Sequence[Fragment], layer: Layer) -> list[float]:
    from contextasm.text.similarity import MAX_COMPARED, common_share, words_of  # here: few layers weigh coherence

    words = [words_of((fragment.statement or fragment.text).split("\n")) for fragment in candidates]
    best = sorted(range(len(candidates)), key=lambda number: _rank_key(candidates[number], layer))[:MAX_COMPARED]
    means = []
    for number, own in enumerate(words):
        shares = [common_share(own, words[other]) for other in best if other != number]
        means.append(sum(shares) / len(shares) if shares else 1.0)
    largest = max(means, default=0.0)
    # Rounded, for the last digits of a sum differ between versions of Python.
    return [round(mean / largest, 3) if largest else 0.0 for mean in means]


def _rank_key(fragment: Fragment, layer: Layer) -> tuple[float, str, str]:
    # By what the fragment is, so that neither the order of files nor a place in one matters.
    return -weighted_total(fragment.score, layer.ranking.weights), fragment.text, fragment.id


def low_quality_problems(profile: Profile, pools: Mapping[str, Sequence[Fragment]]) -> Iterator[Problem]:
    """The problem of each layer whose fragments are all excluded, at least one by the least score."""
    for layer in profile.layers:
        reasons = [fragment.verdict.excluded for fragment in pools[layer.id]]
        if all(reasons) and any(reason and reason.code == "below-floor" for reason in reasons):
            message = f"found nothing with a score of {layer.ranking.min_score:g} or more"
            yield Problem("low-quality", layer.id, 0, message)


# --- Filters of a request --------------------------------------------------------------------------------------------


FILTER_OPTIONS: Mapping[str, str] = {
    "since": "--since",
    "event_types": "--event-type",
    "entity_types": "--entity-type",
    "exclude": "--exclude",
}
"""The command line option of each filter that excludes fragments."""


def apply_filters(
    profile: Profile, results: Mapping[str, RetrievalResult], filters: Filters
) -> Mapping[str, RetrievalResult]:
    """The results of each layer, by id, with the fragments excluded that do not pass the filters."""
    filtered = {}
    for layer in profile.layers:
        result = results[layer.id]
        fragments = tuple(_apply_to_fragment(fragment, layer, filters) for fragment in result.fragments)
        filtered[layer.id] = result._replace(fragments=fragments)
    return filtered


def drop_secrets(fragments: list[Fragment], layer: Layer, documents: Mapping[str, Document]) -> list[Fragment]:
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
    day, time = fragment.labels.day[:10], fragment.labels.time
    if day and (time < filters.since if time else day < filters.since[:10]):
        yield "since"
    for name in filter(None, dict.fromkeys(source.type_filter for source in layer.query.traits)):
        types = getattr(filters, name)
        if types and fragment.labels.kind not in types:
            yield name
    if any(is_named(pattern, fragment.id, fragment.location.path) for pattern in filters.exclude):
        yield "exclude"
