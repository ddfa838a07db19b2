"""Deduplication: fragments of several layers that say the same are shown once, in the highest of these layers.

By content, by a declared hint, or by similarity, as the profile sets. Two texts that differ in a number or in a
negation are never the same; by similarity, nor are two that differ in another word that turns their meaning. A fragment
that is pinned or of a required layer is never merged into another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from contextasm.model import Fragment, Profile, Reason
from contextasm.text.similarity import SAME_PERCENT, Fingerprint, fingerprint

METHODS = ("content", "dedup", "near")
"""Methods of comparison: by text, by declared hint, or by similarity of the texts."""


class _ShownFragments:
    """The fragments that stay, with an index for each method."""

    def __init__(self, methods: Sequence[str]) -> None:
        """`methods` are the profile's, of `METHODS`."""
        self._methods = methods
        self._by_text: dict[str, Fragment] = {}
        self._by_hint: dict[tuple[str, tuple[str, ...]], Fragment] = {}
        self._by_figures: dict[tuple[tuple[str, ...], ...], dict[str, Fragment]] = {}

    def find_duplicate(self, fragment: Fragment) -> tuple[str, Fragment] | None:
        """The first method that finds a shown fragment of the same content, and that fragment; None without one."""
        text = fingerprint(fragment)
        if not text.folded:
            return None
        for method in self._methods:
            duplicate = _LOOKUPS[method](self, fragment, text)
            # One memory in two layers is no duplicate: a headline in one, all of it in the other.
            if duplicate and _place(duplicate) != _place(fragment):
                return method, duplicate
        return None

    def add(self, fragment: Fragment, *, hinted: bool = True) -> None:
        """Add a fragment that stays; unless `hinted`, its hint makes no other fragment a duplicate."""
        text = fingerprint(fragment)
        self._by_text.setdefault(text.folded, fragment)
        if fragment.labels.dedup and hinted:
            self._by_hint.setdefault((fragment.labels.dedup, text.figures), fragment)
        self._by_figures.setdefault(text[1:], {}).setdefault(text.folded, fragment)

    def with_same_text(self, _fragment: Fragment, text: Fingerprint) -> Fragment | None:
        """The fragment with the same text, if any."""
        return self._by_text.get(text.folded)

    def with_same_hint(self, fragment: Fragment, text: Fingerprint) -> Fragment | None:
        """The fragment with the same hint and the same figures, if any."""
        return self._by_hint.get((fragment.labels.dedup, text.figures))

    def most_similar(self, _fragment: Fragment, text: Fingerprint) -> Fragment | None:
        """The most similar fragment with the same figures and polarity, the earliest among equals; None for none."""
        candidates = self._by_figures.get(text[1:])
        if not candidates:
            return None
        from rapidfuzz import fuzz, process  # here: most profiles compare nothing

        match = process.extractOne(text.folded, [*candidates], scorer=fuzz.ratio, score_cutoff=SAME_PERCENT)
        return candidates[match[0]] if match else None


def _place(fragment: Fragment) -> tuple[str, int]:
    return fragment.location.path, fragment.location.line


_LOOKUPS: Mapping[str, Callable[[_ShownFragments, Fragment, Fingerprint], Fragment | None]] = {
    "content": _ShownFragments.with_same_text,
    "dedup": _ShownFragments.with_same_hint,
    "near": _ShownFragments.most_similar,
}


def deduplicate(profile: Profile, pools: Mapping[str, Sequence[Fragment]]) -> dict[str, tuple[Fragment, ...]]:
    """The ranked fragments in `pools` (by layer id), with each duplicate of an earlier one excluded.

    Fragments that are pinned or of required layers come first, then the profile's layers in order, each best first.
    """
    deduplicated = {layer: tuple(fragments) for layer, fragments in pools.items()}
    if not profile.merge:
        return deduplicated
    shown = _ShownFragments(profile.merge)
    for layer in profile.layers:
        for fragment in deduplicated[layer.id]:
            if fragment.verdict.excluded is None and (layer.limits.required or fragment.verdict.pinned_by):
                # A required layer may show headlines: those say less than a fragment of the same hint elsewhere.
                shown.add(fragment, hinted=not layer.limits.required)
    for layer in profile.layers:
        if not layer.limits.required:
            deduplicated[layer.id] = tuple(_exclude_duplicates(deduplicated[layer.id], layer.ranking.top, shown))
    return deduplicated


def _exclude_duplicates(fragments: Sequence[Fragment], top: int, shown: _ShownFragments) -> Iterator[Fragment]:
    # Fragments after the first `top` (0 for all) can't be shown, so they are not compared.
    count = 0
    for fragment in fragments:
        if fragment.verdict.excluded or fragment.verdict.pinned_by or (top and count >= top):
            yield fragment
        elif duplicate := shown.find_duplicate(fragment):
            method, other = duplicate
            yield fragment.exclude(Reason.of("merged", into=other.id, path=other.location.path, by=method))
        else:
            shown.add(fragment)
            count += 1
            yield fragment
