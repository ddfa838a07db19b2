"""States of entries: the final id and the exclusion of each, which depend on other entries of the pool.

Of a change, only the ids and exclusions that it can reach are decided again: they are looked up by the root of an id
(the id without the numbers behind `~`), and by the id that an entry supersedes. Ids of different roots never meet.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from contextasm.model import Reason
from contextasm.retrieval.memory_index.kinds import EntryState
from contextasm.retrieval.memory_index.schema import blob_of_any, load_blob, select_among
from contextasm.retrieval.pools.memory_pool import exclusion_reason
from contextasm.text.memories.fields import id_root, unique_ids
from contextasm.text.memories.parser import ACTIVE_STATUSES


class DecidedState(NamedTuple):
    """An entry's facts, and what the pool decides on it."""

    facts: EntryState
    final_id: str
    exclusion: Reason | None


class Decisions(NamedTuple):
    """Decisions on the entries of changed files."""

    states: Mapping[str, Sequence[DecidedState]]
    """By path, in the order of the file."""
    affected: frozenset[str]
    """Paths of unchanged files with an entry whose final id or exclusion is no longer as stored."""


class _Member(NamedTuple):
    """An entry of the pool, in order."""

    order: int
    """Place of its file in the pool."""
    place: int
    path: str
    facts: EntryState
    final_id: str = ""
    """As stored; empty for an entry of a changed file."""
    exclusion: object = ""
    """As stored, as a blob; empty for an active entry."""


def stored_exclusion(blob: object) -> Reason:
    """The reason of an excluded entry as it is stored. Raises `DamagedIndex`."""
    code, facts = load_blob(blob)
    return Reason(code, tuple((name, fact) for name, fact in facts))


class _Pool:
    """The pool after a change: unchanged entries from the index, and those of changed files as they are now."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        order: Mapping[str, int],
        changed: Mapping[str, Sequence[EntryState]],
        removed: Iterable[str],
    ) -> None:
        paths = dict(connection.execute("SELECT id, path FROM files"))
        gone = {*removed, *changed}
        self._connection = connection
        self._order = order
        self._unchanged = {number: path for number, path in paths.items() if path not in gone}
        self.members = [
            _Member(order[path], place, path, facts)
            for path, states in changed.items()
            for place, facts in enumerate(states)
        ]
        self.roots = {id_root(member.facts.id) for member in self.members}
        self.superseded = {old for member in self.members for old in member.facts.supersedes}
        for number in paths.keys() - self._unchanged.keys():
            query = "SELECT root, supersedes FROM current_entries WHERE file = ?"
            for root, supersedes in connection.execute(query, (number,)):
                self.roots.add(root)
                self.superseded.update(load_blob(supersedes) if supersedes else ())

    def stored(self, roots: Iterable[str]) -> Iterator[_Member]:
        """Unchanged entries with one of these roots."""
        query = "SELECT file, place, id, line, status, supersedes, final, out FROM current_entries WHERE root IN ({})"
        for file, place, id_, line, status, supersedes, final_id, exclusion in self._selected(query, roots):
            if path := self._unchanged.get(file):
                facts = EntryState(id_, line, status, tuple(load_blob(supersedes) if supersedes else ()))
                yield _Member(self._order[path], place, path, facts, final_id, exclusion)

    def stored_successors(self, olds: Iterable[str]) -> Iterator[tuple[str, tuple[int, int], str]]:
        """Superseded ids among `olds`, with place and final id of each unchanged entry that supersedes them."""
        query = (
            "SELECT old, file, place, final FROM current_successions JOIN current_entries USING (file, place)"
            " WHERE old IN ({})"
        )
        for old, file, place, final_id in self._selected(query, olds):
            if path := self._unchanged.get(file):
                yield old, (self._order[path], place), final_id

    def _selected(self, query: str, names: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        return select_among(self._connection, query, [*names] if self._unchanged else [])


def decide(
    connection: sqlite3.Connection,
    order: Mapping[str, int],
    changed: Mapping[str, Sequence[EntryState]],
    removed: Iterable[str],
) -> Decisions:
    """Final ids and exclusions of the entries of `changed` files in the pool without the `removed` ones.

    `order` gives the place of each path in the pool.
    """
    pool = _Pool(connection, order, changed, removed)
    finals = _final_ids(pool)
    affected = {member.path for member, final_id in finals if member.final_id not in {"", final_id}}
    own = [(member, final_id) for member, final_id in finals if not member.final_id]
    successors = _successors(pool, own)
    for member in pool.stored({id_root(old) for old in pool.superseded}):
        if member.final_id in pool.superseded:
            successor = successors.get(member.final_id, member.final_id)
            reason = exclusion_reason(member.final_id, member.facts.status, successor)
            if blob_of_any(reason) != member.exclusion:
                affected.add(member.path)
    states: dict[str, list[DecidedState]] = {path: [] for path in changed}
    for member, final_id in own:
        reason = exclusion_reason(final_id, member.facts.status, successors.get(final_id, final_id))
        states[member.path].append(DecidedState(member.facts, final_id, reason))
    return Decisions(states, frozenset(affected))


def _final_ids(pool: _Pool) -> list[tuple[_Member, str]]:
    """The final id of each entry with a root that the change can reach, in the order of the pool."""
    members = sorted((*pool.members, *pool.stored(pool.roots)))
    return [*zip(members, unique_ids([member.facts.id for member in members]), strict=True)]


def _successors(pool: _Pool, own: Sequence[tuple[_Member, str]]) -> dict[str, str]:
    """Final id of the last entry that supersedes an id, of those ids that the change can reach."""
    reached = pool.superseded.union(final_id for _, final_id in own)
    found = [*pool.stored_successors(reached)]
    found += (
        (old, (member.order, member.place), final_id)
        for member, final_id in own
        if member.facts.supersedes and member.facts.status in ACTIVE_STATUSES
        for old in member.facts.supersedes
    )
    found.sort(key=lambda each: each[1])
    return {old: final_id for old, _, final_id in found}
