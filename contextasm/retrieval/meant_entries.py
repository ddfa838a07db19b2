"""Meant entries: the memories of a large pool that rules mean, listed one by one or in groups that fare alike.

Rules do the same with all memories that the same targets mean. So of many, those that can be shown are listed, one for
the rest, and a count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from contextasm.model import ChosenEntry, EntryChoice, EntryChoices, EntryOutcome, Memory, MemoryPool
from contextasm.retrieval.entry_choice import means_memory

FEW = 256
"""Memories, of all groups together, up to which the members of the smallest groups are listed one by one."""

MOST_INCLUDED = 5000
"""Memories of a layer that rules may include, up to which they are listed beside the best; with more, all are."""

UNMEANT = EntryOutcome(None, 1.0)
"""Outcome of entries that no target means."""


class MeantEntries(NamedTuple):
    """The memories of a pool that rules mean."""

    single: Sequence[ChosenEntry] = ()
    """Those that are listed one by one, in the order of the pool; of a group without an active one, one is."""
    groups: Mapping[int, int] = {}
    """The group of each other active one, by its row. Bit n of a group's number says that the n-th choice means it."""
    outcomes: Mapping[int, EntryOutcome] = {}
    """Outcome of each of these groups."""

    def outcome(self, row: int) -> EntryOutcome:
        """Outcome of rules for an active memory that is not listed by itself."""
        group = self.groups.get(row)
        return UNMEANT if group is None else self.outcomes[group]


def find_meant(
    pool: MemoryPool, choices: EntryChoices, paths: Sequence[str], *, is_required: bool
) -> MeantEntries | None:
    """The memories that rules mean in a pool of the files `paths`; None where they may include too many.

    `is_required` says whether rules can exclude nothing of the layer.
    """
    found = _Found(pool, choices)
    if found.included_size > MOST_INCLUDED:
        return None
    rows = sorted({*found.included, *(row for row, group in found.groups.items() if group in found.small)})
    entries = [ChosenEntry(entry, row, None) for row, entry in zip(rows, pool.entries(rows), strict=True)]
    entries += found.single_inactive()
    order = {path: place for place, path in enumerate(paths)}
    entries.sort(key=lambda each: (order.get(each.entry.path, 0), each.entry.line))
    groups = {row: group for row, group in found.groups.items() if group not in found.small}
    outcomes = {group: choices.outcome(_places(group), is_required) for group in {*groups.values()}}
    return MeantEntries(entries, groups, outcomes)


class _Found:
    """The entries of a pool that choices mean."""

    def __init__(self, pool: MemoryPool, choices: EntryChoices) -> None:
        self.included = pool.meant_rows(choices.included)
        self.groups: dict[int, int] = {}
        """Group of each active entry that no rule includes, by its row."""
        for place, choice in enumerate(choices.others):
            bit = 1 << place
            for row in pool.meant_rows(choice) - self.included:
                self.groups[row] = self.groups.get(row, 0) | bit
        self._choices = choices
        self._inactive = pool.meant_inactive(_union((choices.included, *choices.others)))

    @property
    def included_size(self) -> int:
        """Number of the entries that rules may include, inactive ones among them."""
        return len(self.included) + sum(group is None for group in self._inactive_groups)

    @cached_property
    def small(self) -> set[int]:
        """The smallest groups, of up to `FEW` members together."""
        sizes = Counter(self.groups.values())
        sizes.update(group for group in self._inactive_groups if group is not None)
        by_size = sorted((size, group) for group, size in sizes.items())
        totals = accumulate(size for size, _ in by_size)
        return {group for (_, group), total in zip(by_size, totals, strict=True) if total <= FEW}

    def single_inactive(self) -> Iterator[ChosenEntry]:
        """The inactive entries that are listed one by one: the first of a large group stands for the others."""
        represented = {*self.groups.values()}
        for each, group in zip(self._inactive, self._inactive_groups, strict=True):
            if group is None or group in self.small or group not in represented:
                yield each
            if group is not None:
                represented.add(group)

    @cached_property
    def _inactive_groups(self) -> Sequence[int | None]:
        """Group of each inactive entry; None for one that rules may include."""
        return [
            None if means_memory(self._choices.included, each.entry) else _group(self._choices.others, each.entry)
            for each in self._inactive
        ]


def _group(choices: Sequence[EntryChoice], memory: Memory) -> int:
    """The group of a memory, by the choices that mean it."""
    return sum(1 << place for place, choice in enumerate(choices) if means_memory(choice, memory))


def _places(group: int) -> set[int]:
    """The places of the choices that mean a group."""
    return {place for place in range(group.bit_length()) if group >> place & 1}


def _union(choices: Sequence[EntryChoice]) -> EntryChoice:
    """The choice of the entries that any of the choices means."""
    return EntryChoice(
        frozenset().union(*(choice.ids for choice in choices)),
        frozenset().union(*(choice.labels for choice in choices)),
        lambda path: any(choice.has_path(path) for choice in choices),
    )
