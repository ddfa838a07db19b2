"""Order of fragments by score, and the number of them that may enter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from contextasm.model import Fragment, Layer, Problem, Profile, Ranking, Reason, weighted_total


def rank(fragments: Sequence[Fragment], layer: Layer) -> tuple[Fragment, ...]:
    """A layer's fragments, best first and each with its place; those below the layer's least score are excluded.

    A place that the source gave comes before the rank.

    No tie is left to chance: score, then the newer, then path, then the later in its file
    (docs/architecture.md, Pipeline).
    """
    if layer.ranking.order in ORDERS:
        scored = [_with_total_score(fragment, layer) for fragment in fragments]
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
    total = _total_score(fragment)
    if total >= min_score:
        return fragment
    return fragment.exclude(Reason.of("below-floor", score=round(total, 2), least=min_score))


def keep_top_k(fragments: Sequence[Fragment], layer: Layer) -> tuple[Fragment, ...]:
    """A layer's ranked fragments; candidates after the first `ranking.top` are excluded, unless they are pinned."""
    top = layer.ranking.top
    if not top:
        return tuple(fragments)
    ranked: list[Fragment] = []
    counted: dict[str, int] = {}
    for fragment in fragments:
        is_candidate = fragment.verdict.excluded is None
        # Parts of one fragment count as one.
        count = counted.setdefault(fragment.part_of or fragment.id, len(counted) + 1) if is_candidate else 0
        if is_candidate and count > top and not fragment.verdict.pinned_by:
            ranked.append(fragment.exclude(Reason.of("not-in-top", top=top, rank=count)))
        else:
            ranked.append(fragment)
    return tuple(ranked)


def low_quality_problems(profile: Profile, pools: Mapping[str, Sequence[Fragment]]) -> tuple[Problem, ...]:
    """The problem of each layer whose fragments are all excluded, at least one by the least score."""
    return tuple(
        Problem("low-quality", layer.id, 0, f"found nothing with a score of {layer.ranking.min_score:g} or more")
        for layer in profile.layers
        if any(
            fragment.verdict.excluded and fragment.verdict.excluded.code == "below-floor"
            for fragment in pools[layer.id]
        )
        and all(fragment.verdict.excluded for fragment in pools[layer.id])
    )


def unused_weight_problems(
    profile: Profile, candidates: Mapping[str, Sequence[Fragment]], *, has_topic: bool
) -> tuple[Problem, ...]:
    """A problem for each layer with weights that belong to no part of any of its scores.

    Without a topic nothing has a similarity, and weights that a layer does not set itself are not looked at.
    """
    problems = []
    for layer in profile.layers:
        parts = {name for fragment in candidates[layer.id] for name, _ in fragment.score}
        optional = set() if has_topic else {"similarity"}
        weights = [name for name, weight in layer.ranking.weights if weight and name not in parts | optional]
        if parts and weights and layer.ranking.weights != Ranking().weights:
            message = f"no score has the part {' or '.join(weights)}, so its weight changes nothing"
            problems.append(Problem("unused-weight", layer.id, 0, message))
    return tuple(problems)


def _best_order(fragments: Sequence[Fragment]) -> list[Fragment]:
    # Score, then the newer, then path, then the later in its file.
    by_place = sorted(fragments, key=lambda fragment: (fragment.location.path, -fragment.location.line))
    return sorted(by_place, key=lambda fragment: (_total_score(fragment), fragment.labels.day), reverse=True)


def _steady_order(fragments: Sequence[Fragment]) -> list[Fragment]:
    # Neither a date nor a place in a file changes this order.
    return sorted(fragments, key=lambda fragment: (-_total_score(fragment), fragment.text, fragment.id))


def _total_score(fragment: Fragment) -> float:
    return fragment.score[-1][1] if fragment.score else 0.0


ORDERS: Mapping[str, Callable[[Sequence[Fragment]], list[Fragment]]] = {"best": _best_order, "steady": _steady_order}
"""The orders that a layer may have, besides the source's own."""


def _with_total_score(fragment: Fragment, layer: Layer) -> Fragment:
    # The weighted sum of the parts (digest 1.2), times the boost of rules.
    if not fragment.score:
        return fragment
    boost = (("boost", fragment.verdict.boost),) if fragment.verdict.boost != 1 else ()
    total = fragment.verdict.boost * weighted_total(fragment.score, layer.ranking.weights)
    return fragment._replace(score=(*fragment.score, *boost, ("total", total)))
