"""Merge: what several layers found of the same is shown once, in the highest of them.

By content, by a declared hint, or by likeness, as the profile asks. Two texts that differ in a number or in a negation
are never the same. Nothing of a required layer and nothing pinned is ever merged into something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from contextasm.model import Fragment, Layer, Profile, Reason
from contextasm.text.similarity import SAME_PERCENT, Fingerprint, fingerprint

METHODS = ("content", "dedup", "near")
"""How two fragments may be found to be the same: their text, their hint, or how alike they are."""


class _Shown:
    """The fragments that stay, to be looked up by each way of being the same."""

    def __init__(self, ways: Sequence[str]) -> None:
        """`ways` are those of `METHODS` that the profile asks for."""
        self._ways = ways
        self._by_text: dict[str, Fragment] = {}
        self._by_hint: dict[tuple[str, tuple[str, ...]], Fragment] = {}
        self._by_figures: dict[tuple[str, ...], dict[str, Fragment]] = {}

    def same(self, fragment: Fragment) -> tuple[str, Fragment] | None:
        """How, and as which one that stays, a fragment is already there."""
        text = fingerprint(fragment)
        if not text.folded:
            return None
        for way in self._ways:
            found = _LOOKUPS[way](self, fragment, text)
            # One memory in two layers is what the profile asks for: a headline in one, all of it in the other.
            if found and (found.location.path, found.location.line) != (fragment.location.path, fragment.location.line):
                return way, found
        return None

    def add(self, fragment: Fragment, *, hinted: bool = True) -> None:
        """Have a fragment stay; `hinted` whether others may go for the sake of its hint."""
        text = fingerprint(fragment)
        self._by_text.setdefault(text.folded, fragment)
        if fragment.labels.dedup and hinted:
            self._by_hint.setdefault((fragment.labels.dedup, text.figures), fragment)
        self._by_figures.setdefault(text.figures, {}).setdefault(text.folded, fragment)

    def equal(self, _fragment: Fragment, text: Fingerprint) -> Fragment | None:
        """The one with the same text."""
        return self._by_text.get(text.folded)

    def hinted(self, fragment: Fragment, text: Fingerprint) -> Fragment | None:
        """The one with the same hint, and the same figures."""
        return self._by_hint.get((fragment.labels.dedup, text.figures))

    def near(self, _fragment: Fragment, text: Fingerprint) -> Fragment | None:
        """The one most like a text, of those with the same figures; the earliest among equals."""
        others = self._by_figures.get(text.figures)
        if not others:
            return None
        from rapidfuzz import fuzz, process  # here: most profiles compare nothing

        found = process.extractOne(text.folded, [*others], scorer=fuzz.ratio, score_cutoff=SAME_PERCENT)
        return others[found[0]] if found else None


_LOOKUPS: Mapping[str, Callable[[_Shown, Fragment, Fingerprint], Fragment | None]] = {
    "content": _Shown.equal,
    "dedup": _Shown.hinted,
    "near": _Shown.near,
}


def deduplicate(profile: Profile, pools: Mapping[str, Sequence[Fragment]]) -> dict[str, tuple[Fragment, ...]]:
    """The ranked fragments in `pools` (by layer id), those out that are the same as one before them.

    What comes before is: required layers and pins, then the profile's layers in order, each best first.
    """
    merged = {layer: tuple(own) for layer, own in pools.items()}
    if not profile.merge:
        return merged
    shown = _Shown(profile.merge)
    for layer in profile.layers:
        for fragment in merged[layer.id]:
            if fragment.verdict.excluded is None and (layer.limits.required or fragment.verdict.pinned_by):
                # A required layer may show headlines: those say less than what has the same hint elsewhere.
                shown.add(fragment, hinted=not layer.limits.required)
    for layer in profile.layers:
        if not layer.limits.required:
            merged[layer.id] = tuple(_merged(layer, merged[layer.id], shown))
    return merged


def _merged(layer: Layer, fragments: Sequence[Fragment], shown: _Shown) -> Iterator[Fragment]:
    """The fragments of a layer. Behind its `top` nothing is shown anyway, so nothing more is compared."""
    count = 0
    for fragment in fragments:
        if (
            fragment.verdict.excluded
            or fragment.verdict.pinned_by
            or (layer.ranking.top and count >= layer.ranking.top)
        ):
            yield fragment
        elif found := shown.same(fragment):
            way, other = found
            yield fragment._replace(
                verdict=fragment.verdict._replace(
                    excluded=Reason.of("merged", into=other.id, path=other.location.path, by=way)
                )
            )
        else:
            shown.add(fragment)
            count += 1
            yield fragment
