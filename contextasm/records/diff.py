"""Difference of two contexts, fragment by fragment.

Sentences and tables of it are in `records/diff_report.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contextasm.model import Context, Decision, timed_out_layers

KINDS = ("entered", "left", "shortened", "lengthened", "moved", "changed")
"""Kinds of a shift: shown only after; shown only before; shown with less or with more of the fragment, because of the
room; shown in another layer; shown with another text."""


class Side(NamedTuple):
    """One of two contexts that are compared."""

    label: str
    """The context in the words of the command line, such as `HEAD~3` or `now`."""
    context: Context
    digests: Mapping[str, str]
    """The SHA-256 of every file that was opened, by path."""


class Shift(NamedTuple):
    """Change of one fragment, or of a section's text where no fragment accounts for the change."""

    kind: str
    """One of `KINDS`."""
    fragment: str
    before: Decision | None
    """None where there was no such fragment."""
    after: Decision | None
    """None where there is no such fragment any more."""
    layers: tuple[str, str]
    """Layers before and after; they differ where the fragment moved."""
    tokens: tuple[int, int]
    """Tokens of the shown text before and after."""
    timed_out: bool = False
    """Whether the side without the fragment had no answer in time from the layer's sources."""


class Difference(NamedTuple):
    """Two contexts side by side."""

    before: Side
    after: Side
    shifts: tuple[Shift, ...]
    """In the order of the fragments in their layers; those that left come last."""
    identical_bytes: int
    """The length in bytes of the identical beginning of both texts, which a provider's prompt cache can use again."""


def compare_contexts(before: Side, after: Side) -> Difference:
    """The fragments that entered, left, moved or are shown otherwise, and the length of the identical beginning."""
    pairs = _paired(_by_key(before.context.decisions), _by_key(after.context.decisions))
    shifts = [shift for old, new in pairs if (shift := _shift(old, new, before, after))]
    shifts += _section_shifts(before, after, {layer for shift in shifts for layer in shift.layers})
    order = list(dict.fromkeys(usage.layer for side in (after, before) for usage in side.context.allowances))
    shifts.sort(key=lambda shift: order.index(shift.layers[1]))
    identical = _identical_length(before.context.text.encode(), after.context.text.encode())
    return Difference(before, after, tuple(shifts), identical)


Key = tuple[str, str, int]
"""Layer, fragment, and a number that tells equal fragments apart."""

Pair = tuple[Decision | None, Decision | None]
"""Decisions on a fragment before and after; None where there was no such fragment."""


def _paired(before: Mapping[Key, Decision], after: Mapping[Key, Decision]) -> Sequence[Pair]:
    """Both decisions on each fragment, also where another layer shows it after."""
    pairs: dict[Key, Pair] = {key: (before.get(key), after.get(key)) for key in (*after, *before)}
    left = {key[1]: key for key, (old, new) in pairs.items() if _is_shown(old) and not _is_shown(new)}
    for key, (old, new) in list(pairs.items()):
        if _is_shown(new) and not _is_shown(old) and key[1] in left:
            old_key = left.pop(key[1])
            pairs[key], pairs[old_key] = (pairs[old_key][0], new), (None, pairs[old_key][1])
    return [*pairs.values()]


def _by_key(decisions: Sequence[Decision]) -> dict[Key, Decision]:
    by_key: dict[Key, Decision] = {}
    for decision in decisions:
        number = 0
        while (key := (decision.layer, decision.fragment, number)) in by_key:
            number += 1
        by_key[key] = decision
    return by_key


def _is_shown(decision: Decision | None) -> bool:
    return bool(decision and decision.tokens_after)


def _shift(old: Decision | None, new: Decision | None, before: Side, after: Side) -> Shift | None:
    latest = new or old
    if latest is None:
        return None
    tokens = (old.tokens_after if old else 0, new.tokens_after if new else 0)
    kind = _kind(old, new, before, after)
    layers = (old.layer if old else latest.layer, latest.layer)
    sides_without = [side for side, decision in ((before, old), (after, new)) if not decision]
    timed_out = any(latest.layer in timed_out_layers(side.context.problems) for side in sides_without)
    return Shift(kind, latest.fragment, old, new, layers, tokens, timed_out) if kind else None


def _kind(old: Decision | None, new: Decision | None, before: Side, after: Side) -> str:
    """One of `KINDS`; empty where the fragment is shown as before."""
    if not old or not new or not old.tokens_after or not new.tokens_after:
        return "entered" if _is_shown(new) else "left" if _is_shown(old) else ""
    if old.layer != new.layer:
        return "moved"
    if new.tokens_after < old.tokens_after and new.outcome in {"truncated", "shortened"}:
        return "shortened"
    if new.tokens_after > old.tokens_after and old.outcome in {"truncated", "shortened"}:
        return "lengthened"
    is_other_file = old.fragment == old.path and before.digests.get(old.path) != after.digests.get(new.path)
    is_edited = is_other_file and _section_texts(before, old.layer) != _section_texts(after, new.layer)
    return "changed" if is_edited or new.tokens_after != old.tokens_after else ""


def _section_texts(side: Side, layer: str) -> Sequence[str]:
    return [section.text for section in side.context.sections if section.layer == layer]


def _section_shifts(before: Side, after: Side, shifted_layers: set[str]) -> list[Shift]:
    """Sections with another text, in layers of which no fragment accounts for the change."""
    old_sections = {(section.layer, section.heading): section for section in before.context.sections}
    return [
        Shift("changed", new.heading, None, None, (new.layer, new.layer), (old.tokens, new.tokens))
        for new in after.context.sections
        if new.layer not in shifted_layers
        and (old := old_sections.get((new.layer, new.heading)))
        and old.text != new.text
    ]


def _identical_length(one: bytes, other: bytes) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
