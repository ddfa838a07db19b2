"""Pool matches: which memories of a large pool are listed one by one, and the numbers of the others.

Rules do the same with all memories of a group (`meant_entries`), so the best are known before rules are applied. What
rules include and what pins itself is listed besides: it can only take places from others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from contextasm.model import ChosenEntry, MemoryPool, Reason, Score, SourceQuery, weighted_total
from contextasm.retrieval.meant_entries import MeantEntries
from contextasm.retrieval.memory_pool import best_rows, future_reason
from contextasm.retrieval.read_entries import first_rows


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
