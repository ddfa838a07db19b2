"""Rank: the order in which fragments are worth keeping, and how many of them count at all."""

from __future__ import annotations

from collections.abc import Sequence

from contextasm.model import Fragment, Layer, Reason
from contextasm.text.scores import total


def rank(fragments: Sequence[Fragment], layer: Layer) -> tuple[Fragment, ...]:
    """A layer's fragments, best first and each with its place; of those in question, all behind `layer.top` are out.

    No tie is left to chance: score, then the newer, then path, then the later in its file (DESIGN.md section 4).
    """
    if layer.order == "best":
        fragments = [_scored(fragment, layer) for fragment in fragments]
        ordered = sorted(fragments, key=lambda each: (each.path, -each.line))
        ordered.sort(key=lambda each: (each.score[-1][1] if each.score else 0.0, each.day), reverse=True)
        fragments = [fragment._replace(place=(n,)) for n, fragment in enumerate(ordered)]
    if not layer.top:
        return tuple(fragments)
    ranked: list[Fragment] = []
    count = 0
    for fragment in fragments:
        count += fragment.out is None
        late = fragment.out is None and count > layer.top and not fragment.pin
        ranked.append(fragment._replace(out=Reason.of("not-in-top", top=layer.top, rank=count)) if late else fragment)
    return tuple(ranked)


def _scored(fragment: Fragment, layer: Layer) -> Fragment:
    """A fragment with the total of its score: each part times its weight (digest 1.2), times what rules boost it by."""
    if not fragment.score:
        return fragment
    boost = (("boost", fragment.boost),) if fragment.boost != 1 else ()
    whole = fragment.boost * total(fragment.score, layer.weights)
    return fragment._replace(score=(*fragment.score, *boost, ("total", whole)))
