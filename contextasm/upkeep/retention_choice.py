"""The choice of a policy of retention among its items: pins, what is to be shortened, what is to be evicted.

Pure functions on sizes, ages and uses; no file is looked at. An item whose uses are unknown is never chosen for a
lack of uses.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from contextasm.config.retention import KILOBYTE, CompressPolicy, EvictPolicy, PinPolicy
from contextasm.records.uses import ItemUses
from contextasm.text.glob import matching_paths


class RetainedItem(NamedTuple):
    """A file, or a memory in one, that a policy is about."""

    id: str
    """Path of a file; of a memory `PATH#ID`."""
    path: str
    size: int
    """Bytes."""
    age: int
    """Days since its day; never negative."""
    idle: int
    """Days since its last known use, else since its day; never negative."""
    uses: ItemUses
    quality: float
    """0 to 1."""
    is_fixed: bool = False
    """Whether it is pinned whatever the policy says: it instructs an agent, or is a memory that may not leave."""
    followers: tuple[str, ...] = ()
    """Ids of the memories that leave with it."""


class EvictionChoice(NamedTuple):
    """An item to evict, and why this one."""

    item: RetainedItem
    score: float
    """0 to 1."""


def pinned_ids(items: Sequence[RetainedItem], pin: PinPolicy | None) -> frozenset[str]:
    """Ids of the items that are never shortened or evicted.

    Fixed items always are. Items that fit a pattern are, up to the age of the policy, in the order of the patterns and
    then of the ids, as long as all that are pinned by patterns fit its room; one that does not fit is skipped.
    """
    fixed = {item.id for item in items if item.is_fixed}
    if pin is None:
        return frozenset(fixed)
    room = float("inf") if pin.max_kb is None else pin.max_kb * KILOBYTE
    pinned: set[str] = set()
    candidates = sorted(item for item in items if item.id not in fixed and _holds(pin, item))
    paths = {item.path for item in candidates}
    for pattern in pin.files:
        fitting = set(matching_paths(paths, pattern))
        for item in candidates:
            if item.path in fitting and item.id not in pinned and item.size <= room:
                room -= item.size
                pinned.add(item.id)
    return frozenset(fixed | pinned)


def _holds(pin: PinPolicy, item: RetainedItem) -> bool:
    return pin.days is None or item.age <= pin.days


def is_little_used(item: RetainedItem, compress: CompressPolicy) -> bool:
    """Whether an item is old and has few uses: both must hold (digest 003-13).

    Few are known only where as many builds could have shown it as uses would be enough.
    """
    is_old = item.age > compress.after_days
    return is_old and item.uses.times < compress.uses_below <= item.uses.builds


def eviction_scores(items: Sequence[RetainedItem], evict: EvictPolicy) -> Mapping[str, float]:
    """The score of each item by id, 0 to 1: the higher, the sooner it is evicted (digest 003-15).

    It is `lru x idle / longest idle + quality_weight x (1 - quality)`: idle days are divided by the most that any of
    the items has, and the quotient is 0 where all were used today. The source system names the weights and no formula.
    """
    longest = max((item.idle for item in items), default=0) or 1
    return {item.id: evict.lru * item.idle / longest + evict.quality * (1 - item.quality) for item in items}


def choose_evictions(
    items: Sequence[RetainedItem], pinned: Collection[str], sizes: Mapping[str, int], evict: EvictPolicy
) -> Sequence[EvictionChoice]:
    """The items to evict: the highest score first, equal ones by id, until all that stay keep to the limit.

    `sizes` has the bytes of items that are to be shortened, by id. Candidates are not pinned, and their uses are known;
    a policy that weighs no uses (`lru: 0`) needs to know none. Where they do not suffice, all of them are evicted. What
    leaves with one that was chosen is not chosen itself.
    """
    kept = {item.id: sizes.get(item.id, item.size) for item in items}
    excess = sum(kept.values()) - evict.max_kb * KILOBYTE
    candidates = [item for item in items if item.id not in pinned and (item.uses.builds or not evict.lru)]
    scores = eviction_scores(candidates, evict)
    chosen: list[EvictionChoice] = []
    for item in sorted(candidates, key=lambda item: (-scores[item.id], item.id)):
        if excess <= 0:
            break
        if item.id not in kept:
            continue
        excess -= sum(kept.pop(name, 0) for name in (item.id, *item.followers))
        chosen.append(EvictionChoice(item, scores[item.id]))
    return chosen
