"""Pool matches: which memories of a large pool are listed one by one, and the numbers of the others.

Rules do the same with all memories of a group (`meant_entries`), so the best are known before rules are applied. What
rules include and what pins itself is listed besides: it can only take places from others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, islice
from typing import NamedTuple

from contextasm.model import (
    ChosenEntry,
    EntryChoice,
    EntryChoices,
    EntryOutcome,
    Memory,
    MemoryPool,
    Reason,
    Score,
    SourceQuery,
    weighted_total,
)
from contextasm.retrieval.pools.memory_pool import best_rows, first_rows, future_reason, means_memory

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


class PoolMatches:
    """The matches of a pool for a query, and the entries that rules mean."""

    def __init__(
        self, pool: MemoryPool, query: SourceQuery, scores: Mapping[int, Score] | None, meant: MeantEntries
    ) -> None:
        """`scores` has the score parts of each row that matches; None where all rows match and none has a score."""
        self._pool = pool
        self._layer = query.layer
        self._today = query.build.request.date
        self._scores = scores
        self._meant = meant
        self._single = {each.row for each in meant.single if each.row is not None}

    def score(self, row: int | None) -> Score:
        """Score parts of a row; none for one that has no score, or an entry without a row."""
        return () if row is None or self._scores is None else self._scores.get(row, ())

    def exclusion(self, each: ChosenEntry) -> Reason | None:
        """The reason that excludes an entry which is listed for rules; None for one that may be shown."""
        reason = each.exclusion or future_reason(each.entry.created, self._today)
        if reason or self._scores is None or each.row in self._scores or each.entry.pin:
            return reason
        return Reason("no-match")

    @cached_property
    def best(self) -> Sequence[int]:
        """Rows that may be shown whatever else is listed, the best first; those that pin themselves come last."""
        pins = [row for row in self._pool.marked() if row not in self._later and row not in self._single]
        rows = self._newest() if self._scores is None else self._most_relevant(self._scores, has_pins=bool(pins))
        return [*dict.fromkeys((*rows, *pins))]

    @cached_property
    def for_rules(self) -> Sequence[ChosenEntry]:
        """The entries that are listed for rules: single ones, and one of each group that has none among the best."""
        rows = [*self._representatives()]
        entries = (ChosenEntry(entry, row, None) for row, entry in zip(rows, self._pool.entries(rows), strict=True))
        return [*self._meant.single, *entries]

    def counts(self) -> Iterator[Reason]:
        """The reasons why the entries that are not listed are not shown, each once with its `count`."""
        inactive = Counter(_reason_key(each.exclusion) for each in self.for_rules if each.exclusion)
        for reason in self._pool.excluded:
            (_, number), *facts = reason.facts
            if left := int(number) - inactive[_reason_key(reason)]:
                yield Reason(reason.code, (("count", left), *facts))
        listed = {*self.best, *(each.row for each in self.for_rules if each.row is not None)}
        future = {*self._later} - listed
        if future:
            yield Reason.of("future", count=len(future))
        hits = self._unlisted_hits(listed, future)
        past = self._pool.rows - len(listed) - len(future)
        if past > hits.total():
            yield Reason.of("no-match", count=past - hits.total())
        for excluded_by, number in sorted(hits.items(), key=lambda hit: str(hit[0])):
            if number and excluded_by:
                yield Reason(excluded_by.code, (("count", number), *excluded_by.facts))
        if number := hits[None]:
            yield Reason.of("not-in-top", count=number, top=self._layer.ranking.top)

    def _unlisted_hits(self, listed: set[int], future: set[int]) -> Counter[Reason | None]:
        """Number of the matches that are not listed, by the reason for which rules exclude them."""
        hits: Counter[Reason | None] = Counter()
        if self._scores is not None:
            hits.update(self._meant.outcome(row).exclusion for row in self._scores.keys() - listed)
            return hits
        groups = self._meant.groups
        sizes = Counter(groups.values())
        sizes.subtract(groups[row] for row in (*listed, *future) if row in groups)
        for group, size in sizes.items():
            hits[self._meant.outcomes[group].exclusion] += size
        hits[None] += self._pool.rows - len(listed) - len(future) - sizes.total()
        return hits

    @cached_property
    def _later(self) -> Collection[int]:
        """Rows of the active memories of days after today."""
        return self._pool.later(self._today)

    def _newest_first(self) -> Iterator[int]:
        """The row of each active memory, newest first. As many are asked for as are taken."""
        seen, batch = 0, 64
        while True:
            rows = self._pool.newest(batch)
            yield from rows[seen:]
            if len(rows) < batch:
                return
            seen, batch = len(rows), batch * 8

    def _newest(self) -> list[int]:
        rows = (
            row
            for row in self._newest_first()
            if row not in self._later and row not in self._single and not self._meant.outcome(row).exclusion
        )
        return [*islice(rows, self._layer.ranking.top or None)]

    def _most_relevant(self, scores: Mapping[int, Score], *, has_pins: bool) -> list[int]:
        """The rows that ranking may show, best first.

        Pins and what rules include may raise the similarity of a candidate (`least_similarity`), and no other entry
        may. Where it goes up, all that may be shown is among the `top` most similar rows.
        """
        others = {
            row: score
            for row, score in scores.items()
            if row not in self._single and not self._meant.outcome(row).exclusion
        }
        able = {row: score for row, score in others.items() if self._reaches_least(row, score)}
        # Rows below the least score are listed where nothing else is: a build says so.
        best = best_rows(self._pool, able or others, self._layer, self._boosts(able or others))
        if not (has_pins or self._single):
            return best
        similarity_of = {row: dict(score)["similarity"] for row, score in able.items()}
        return [*best, *first_rows(self._pool, similarity_of, self._layer.ranking.top)]

    def _reaches_least(self, row: int, score: Score) -> bool:
        least = 0.0 if self._layer.limits.required else self._layer.ranking.min_score
        return not least or self._total(row, score) >= least

    def _total(self, row: int, score: Score) -> float:
        return self._meant.outcome(row).boost * weighted_total(score, self._layer.ranking.weights)

    def _boosts(self, rows: Iterable[int]) -> Mapping[int, float]:
        return {row: self._meant.outcome(row).boost for row in rows} if self._meant.groups else {}

    def _representatives(self) -> Iterator[int]:
        """For each group without a row in `best`: its best match, else its newest up to today, else its newest row."""
        missing = {*self._meant.outcomes} - {self._meant.groups.get(row) for row in self.best}
        matching: dict[int, dict[int, float]] = {}
        for row, score in (self._scores or {}).items():
            if (group := self._meant.groups.get(row)) in missing:
                matching.setdefault(group, {})[row] = self._total(row, score)
        for totals in matching.values():
            yield from first_rows(self._pool, totals, 1)
        yield from self._newest_of(missing - matching.keys())

    def _newest_of(self, groups: set[int]) -> Iterator[int]:
        """The newest row up to today of each group; of one that has none, the newest."""
        found: dict[int, int] = {}
        left = {*groups}
        rows = iter(self._newest_first()) if left else iter(())
        while left and (row := next(rows, None)) is not None:
            group = self._meant.groups.get(row)
            if group in left:
                if row not in self._later:
                    found[group] = row
                    left.remove(group)
                else:
                    found.setdefault(group, row)
        yield from found.values()


def _reason_key(reason: Reason) -> tuple[str, object]:
    return reason.code, dict(reason.facts).get("status")
