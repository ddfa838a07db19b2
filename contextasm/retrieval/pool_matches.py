"""Pool matches: which memories of a large pool are listed one by one, and the numbers of the others.

Memories that rules may mean are all listed. Of the others, those are that can be shown whatever the rules do: rules can
take places from them by a boost or an inclusion, and can free no more places than the `top` that the others are up to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property
from heapq import nlargest

from contextasm.model import ChosenEntry, Layer, MemoryPool, Reason, Score, SourceQuery, weighted_total
from contextasm.retrieval.memory_pool import best_rows, future_reason


class PoolMatches:
    """The matches of a pool on a day, and the entries that rules may mean."""

    def __init__(
        self, pool: MemoryPool, scores: Mapping[int, Score] | None, chosen: Sequence[ChosenEntry], today: date
    ) -> None:
        """`scores` has the score parts of each row that matches; None where all rows match and none has a score."""
        self.pool = pool
        self.scores = scores
        self.chosen = chosen
        self.today = today
        self._apart = {each.row for each in chosen if each.row is not None}

    @cached_property
    def later(self) -> Collection[int]:
        """Rows of the active memories of days after today: they come first among the newest."""
        return self.pool.later(self.today)

    def score(self, row: int | None) -> Score:
        """Score parts of a row; none for one that has no score, or an entry without a row."""
        return () if row is None or self.scores is None else self.scores.get(row, ())

    def exclusion(self, each: ChosenEntry) -> Reason | None:
        """The reason that excludes an entry that rules may mean; None for one that may be shown."""
        reason = each.exclusion or future_reason(each.entry.created, self.today)
        if reason or self.scores is None or each.row in self.scores or each.entry.pin:
            return reason
        return Reason("no-match")

    def listed(self, layer: Layer) -> list[int]:
        """Rows that are listed besides the chosen entries, the best first; those that pin themselves come last."""
        pins = [row for row in self.pool.marked() if row not in self.later]
        rows = self._newest(layer.ranking.top) if self.scores is None else self._best(self.scores, layer, {*pins})
        return [*rows, *(row for row in pins if row not in {*rows, *self._apart})]

    def uncounted(self, query: SourceQuery, listed: Sequence[int]) -> Iterator[Reason]:
        """The reasons why the entries that are not listed are not shown, each once with its `count`."""
        inactive = Counter(_reason_key(each.exclusion) for each in self.chosen if each.exclusion)
        for reason in self.pool.excluded:
            (_, number), *facts = reason.facts
            if left := int(number) - inactive[_reason_key(reason)]:
                yield Reason(reason.code, (("count", left), *facts))
        if future := len({*self.later} - self._apart):
            yield Reason.of("future", count=future)
        past = self.pool.rows - len(self._apart) - future
        hits = past if self.scores is None else len({*self.scores, *listed} - self._apart)
        if past > hits:
            yield Reason.of("no-match", count=past - hits)
        if hits > len(listed):
            yield Reason.of("not-in-top", count=hits - len(listed), top=query.layer.ranking.top)

    def _newest(self, top: int) -> list[int]:
        newest = self.pool.newest(top + len(self.later) + len(self._apart) if top else 0)
        return [row for row in newest if row not in self.later and row not in self._apart][: top or None]

    def _best(self, scores: Mapping[int, Score], layer: Layer, pins: set[int]) -> list[int]:
        """The rows that ranking may show, best first.

        What rules do with the chosen entries decides how similar a candidate has to be (`least_similarity`). The
        `top` most similar rows decide it as all rows would, and hold all that may be shown where it goes up.
        """
        if not self._apart:
            return best_rows(self.pool, scores, layer)
        others = {row: score for row, score in scores.items() if row not in self._apart}
        weights, floor = layer.ranking.weights, 0.0 if layer.limits.required else layer.ranking.min_score
        able = {
            row: score
            for row, score in others.items()
            if row not in pins and not (floor and weighted_total(score, weights) < floor)
        }
        most_similar = nlargest(layer.ranking.top, able, key=lambda row: dict(able[row])["similarity"])
        # Rows below the least score are listed, too, where nothing else is: a build says so.
        return [
            *dict.fromkeys((*best_rows(self.pool, others, layer), *best_rows(self.pool, able, layer), *most_similar))
        ]


def _reason_key(reason: Reason) -> tuple[str, object]:
    return reason.code, dict(reason.facts).get("status")
