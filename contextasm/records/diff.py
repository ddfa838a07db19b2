"""Compare: two contexts, and what became of each fragment between them. Nothing is worded here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contextasm.model import Context, Decision

KINDS = ("entered", "left", "shortened", "lengthened", "moved", "changed")
"""What may become of a fragment: shown only after; only before; shown with less of it or more of it, because of the
room; shown in another layer; shown with another text."""


class Side(NamedTuple):
    """One of two contexts."""

    label: str
    """How it was asked for."""
    context: Context
    digests: Mapping[str, str]
    """The SHA-256 of every file that was opened, by path."""


class Shift(NamedTuple):
    """What became of one fragment, or of a section's text where no fragment tells."""

    kind: str
    fragment: str
    before: Decision | None
    """None where there was no such fragment."""
    after: Decision | None
    """Likewise."""
    layers: tuple[str, str]
    """Where it was, and where it is; the same for all but what moved."""
    tokens: tuple[int, int]
    """Shown before, and after."""


class Difference(NamedTuple):
    """Two contexts side by side."""

    before: Side
    after: Side
    shifts: tuple[Shift, ...]
    """In the order in which the fragments stand in their layers, what left after what is there."""
    kept: int
    """The length in bytes of the identical beginning of both texts: what a provider's prompt cache keeps."""


def compare_contexts(before: Side, after: Side) -> Difference:
    """What entered, left, moved, or is shown otherwise."""
    pairs = _pairs(_keyed(before.context.decisions), _keyed(after.context.decisions))
    told = [shift for old, new in pairs if (shift := _shift(old, new, before, after))]
    told += _sections(before, after, {layer for shift in told for layer in shift.layers})
    order = list(dict.fromkeys(each.layer for side in (after, before) for each in side.context.allowances))
    told.sort(key=lambda shift: order.index(shift.layers[1]))
    return Difference(before, after, tuple(told), _common(before.context.text.encode(), after.context.text.encode()))


Key = tuple[str, str, int]
"""Layer, fragment and a number that tells equal ones apart."""


Pair = tuple[Decision | None, Decision | None]
"""What was decided on a fragment before and after; None where there was no such fragment."""


def _pairs(before: Mapping[Key, Decision], after: Mapping[Key, Decision]) -> Sequence[Pair]:
    """The decisions on each fragment, also where another layer shows it now."""
    pairs: dict[Key, Pair] = {key: (before.get(key), after.get(key)) for key in (*after, *before)}
    left = {key[1]: key for key, (old, new) in pairs.items() if _shown(old) and not _shown(new)}
    for key, (old, new) in list(pairs.items()):
        if _shown(new) and not _shown(old) and key[1] in left:
            was = left.pop(key[1])
            pairs[key], pairs[was] = (pairs[was][0], new), (None, pairs[was][1])
    return [*pairs.values()]


def _keyed(decisions: Sequence[Decision]) -> dict[Key, Decision]:
    found: dict[Key, Decision] = {}
    for each in decisions:
        number = 0
        while (key := (each.layer, each.fragment, number)) in found:
            number += 1
        found[key] = each
    return found


def _shown(decision: Decision | None) -> bool:
    return bool(decision and decision.tokens_after)


def _shift(old: Decision | None, new: Decision | None, before: Side, after: Side) -> Shift | None:
    """What became of a fragment; None where nothing did."""
    here = new or old
    if here is None:
        return None
    tokens = (old.tokens_after if old else 0, new.tokens_after if new else 0)
    kind = _kind(old, new, before, after)
    layers = (old.layer if old else here.layer, here.layer)
    return Shift(kind, here.fragment, old, new, layers, tokens) if kind else None


def _kind(old: Decision | None, new: Decision | None, before: Side, after: Side) -> str:
    """One of `KINDS`; empty where nothing became of it."""
    if not old or not new or not old.tokens_after or not new.tokens_after:
        return "entered" if _shown(new) else "left" if _shown(old) else ""
    if old.layer != new.layer:
        return "moved"
    if new.tokens_after < old.tokens_after and new.outcome in {"truncated", "shortened"}:
        return "shortened"
    if new.tokens_after > old.tokens_after and old.outcome in {"truncated", "shortened"}:
        return "lengthened"
    whole = old.fragment == old.path and before.digests.get(old.path) != after.digests.get(new.path)
    edited = whole and _texts(before, old.layer) != _texts(after, new.layer)
    return "changed" if edited or new.tokens_after != old.tokens_after else ""


def _texts(side: Side, layer: str) -> Sequence[str]:
    """What a side shows of a layer."""
    return [each.text for each in side.context.sections if each.layer == layer]


def _sections(before: Side, after: Side, told: set[str]) -> list[Shift]:
    """Sections with another text, in layers of which no fragment tells."""
    old = {(each.layer, each.heading): each for each in before.context.sections}
    return [
        Shift("changed", each.heading, None, None, (each.layer, each.layer), (was.tokens, each.tokens))
        for each in after.context.sections
        if each.layer not in told and (was := old.get((each.layer, each.heading))) and was.text != each.text
    ]


def _common(one: bytes, other: bytes) -> int:
    """The length of the identical beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
