"""Rank: the order in which fragments are worth keeping, and how many of them count at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from contextasm.model import Fragment, Layer, Problem, Profile, Reason, weighted_total


def rank(fragments: Sequence[Fragment], layer: Layer) -> tuple[Fragment, ...]:
    """A layer's fragments, best first and each with its place; those whose score is too low are out.

    A place that the source gave comes first.

    No tie is left to chance: score, then the newer, then path, then the later in its file (docs/DESIGN.md section 4).
    """
    if layer.ranking.order in ORDERS:
        fragments = [_scored(fragment, layer) for fragment in fragments]
        ordered = ORDERS[layer.ranking.order](fragments)
        fragments = [
            fragment._replace(display=fragment.display._replace(place=(*fragment.display.place, n)))
            for n, fragment in enumerate(ordered)
        ]
    return tuple(_measured(fragment, layer) for fragment in fragments)


def _measured(fragment: Fragment, layer: Layer) -> Fragment:
    """A fragment, out if its score is below the least that counts; one that nobody scored is not."""
    if (
        not (layer.ranking.min_score and fragment.score)
        or fragment.verdict.excluded
        or fragment.verdict.pinned_by
        or layer.limits.required
    ):
        return fragment
    total = _total(fragment)
    if total >= layer.ranking.min_score:
        return fragment
    return fragment._replace(
        verdict=fragment.verdict._replace(
            excluded=Reason.of("below-floor", score=round(total, 2), least=layer.ranking.min_score)
        )
    )


def keep_top_k(fragments: Sequence[Fragment], layer: Layer) -> tuple[Fragment, ...]:
    """A layer's ranked fragments; of those in question, all behind `layer.top` are out."""
    if not layer.ranking.top:
        return tuple(fragments)
    ranked: list[Fragment] = []
    count = 0
    for fragment in fragments:
        count += fragment.verdict.excluded is None
        late = fragment.verdict.excluded is None and count > layer.ranking.top and not fragment.verdict.pinned_by
        ranked.append(
            fragment._replace(
                verdict=fragment.verdict._replace(excluded=Reason.of("not-in-top", top=layer.ranking.top, rank=count))
            )
            if late
            else fragment
        )
    return tuple(ranked)


def low_quality_problems(profile: Profile, pools: Mapping[str, Sequence[Fragment]]) -> tuple[Problem, ...]:
    """The problem of each layer that found something and nothing that its least score lets in."""
    return tuple(
        Problem("low-quality", layer.id, 0, f"found nothing with a score of {layer.ranking.min_score:g} or more")
        for layer in profile.layers
        if any(each.verdict.excluded and each.verdict.excluded.code == "below-floor" for each in pools[layer.id])
        and all(each.verdict.excluded for each in pools[layer.id])
    )


def _best(fragments: Sequence[Fragment]) -> list[Fragment]:
    """By score, then the newer, then path, then the later in its file."""
    ordered = sorted(fragments, key=lambda each: (each.location.path, -each.location.line))
    return sorted(ordered, key=lambda each: (_total(each), each.labels.day), reverse=True)


def _steady(fragments: Sequence[Fragment]) -> list[Fragment]:
    """By score, then text, then id: neither a date nor a place in a file changes anything."""
    return sorted(fragments, key=lambda each: (-_total(each), each.text, each.id))


def _total(fragment: Fragment) -> float:
    return fragment.score[-1][1] if fragment.score else 0.0


ORDERS: Mapping[str, Callable[[Sequence[Fragment]], list[Fragment]]] = {"best": _best, "steady": _steady}
"""The orders that a layer may ask for, other than the source's own."""


def _scored(fragment: Fragment, layer: Layer) -> Fragment:
    """A fragment with the total of its score: each part times its weight (digest 1.2), times what rules boost it by."""
    if not fragment.score:
        return fragment
    boost = (("boost", fragment.verdict.boost),) if fragment.verdict.boost != 1 else ()
    whole = fragment.verdict.boost * weighted_total(fragment.score, layer.ranking.weights)
    return fragment._replace(score=(*fragment.score, *boost, ("total", whole)))
