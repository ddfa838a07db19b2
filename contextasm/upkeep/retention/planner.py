"""Planner of retention: what is little used is shortened and what is too much is evicted, by policies (digest 4).

An item is hot as a file, warm as a shortened one, cold in the archive beside the file and frozen there compressed.
Nothing is deleted, and what is pinned never moves. Without policies there is no action.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from contextasm.config.approval import instructing_files
from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.input.settings import LOCK_FILE
from contextasm.config.keys.upkeep import KILOBYTE, EvictPolicy
from contextasm.model import Document
from contextasm.records.uses import count_uses
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.cleaning.decode import decode_document
from contextasm.text.names.archived_paths import archived_path
from contextasm.upkeep.base.action import Action, Edit, Move
from contextasm.upkeep.base.upkeep_input import UpkeepInput
from contextasm.upkeep.memories.edits import Archived
from contextasm.upkeep.retention.items import (
    EvictionChoice,
    PolicyItems,
    RetainedItem,
    choose_evictions,
    collect_items,
    dated_log_day,
    is_little_used,
    pinned_ids,
    shortened_data,
)

RETENTION_VERBS = ("shorten", "evict")
"""Verbs of the actions of policies."""


class _Shortened(NamedTuple):
    """The two forms of a file."""

    full: bytes
    short: bytes


def plan_retention(upkeep: UpkeepInput, earlier: Sequence[Action] = ()) -> Iterator[Action]:
    """The actions of all policies, in their order: first what is shortened, then what is evicted, by score.

    What leaves its place by the actions `earlier` in the plan is no item any more, and makes room for the others.
    A record that can't be read has an action that changes nothing and says so. Raises `ContextasmError` for settings
    and profiles that can't be used.
    """
    if not upkeep.settings.retention:
        return
    uses = count_uses(upkeep.workspace.root)
    for problem in uses.problems:
        reason = f"its uses are not counted: {problem.message}"
        yield Action("skip", (problem.path,), reason, needs_approval=False)
    taken: set[str] = set()
    for items in collect_items(upkeep, uses, _fixed_paths(upkeep), earlier):
        yield from _PolicyPlan(upkeep, items, taken).actions()


def _fixed_paths(upkeep: UpkeepInput) -> frozenset[str]:
    """Files that no policy moves: those that instruct an agent, and the approval lock."""
    process = ProcessEnvironment({}, Path(upkeep.workspace.root), lambda: 0.0)  # no day is asked for
    return frozenset({*instructing_files(upkeep.workspace, Options(), process)[0], LOCK_FILE})


class _PolicyPlan:
    """The actions of one policy."""

    def __init__(self, upkeep: UpkeepInput, items: PolicyItems, taken: set[str]) -> None:
        """`taken` has the targets of moves of all policies."""
        self._upkeep = upkeep
        self._policy = items.policy
        self._items = items.items
        self._memories = items.memories
        self._taken = taken
        self._pinned = pinned_ids(items.items, items.policy.pin)
        self._kilobytes = sum(item.size for item in items.items) / KILOBYTE

    def actions(self) -> Iterator[Action]:
        """The files to shorten and not to evict, by id; then the items to evict, the highest score first."""
        shortened = self._shortened()
        sizes = {name: len(forms.short) for name, forms in shortened.items()}
        evict = self._policy.evict
        choices = choose_evictions(self._items, self._pinned, sizes, evict) if evict else ()
        choices = _without_followers(choices)
        evicted = {name for choice in choices for name in (choice.item.id, *choice.item.followers)}
        for item in self._items:
            if item.id in shortened and item.id not in evicted:
                yield self._shorten(item, shortened[item.id])
        for choice in choices:
            assert evict
            yield self._evict(choice, evict)

    def _shortened(self) -> dict[str, _Shortened]:
        """The forms of the files that are little used and have a shorter one, by id."""
        compress = self._policy.compress
        shortened: dict[str, _Shortened] = {}
        for item in self._items if compress else ():
            assert compress
            if item.id in self._pinned or not is_little_used(item, compress) or not self._is_shortenable(item):
                continue
            read = self._upkeep.workspace.read(item.path)
            if isinstance(read, Document) and (short := shortened_data(read, compress, self._upkeep.summarizer)):
                shortened[item.id] = _Shortened(read.data, short)
        return shortened

    def _is_shortenable(self, item: RetainedItem) -> bool:
        # Memories have fields that a shorter text would lose.
        return item.id == item.path and item.path not in self._memory_paths

    @cached_property
    def _memory_paths(self) -> set[str]:
        owners = self._upkeep.memory_files.owners
        return {document.path for owner in owners for document in owner.documents}

    def _shorten(self, item: RetainedItem, forms: _Shortened) -> Action:
        share = 100 * len(forms.short) / len(forms.full)
        uses = f"{item.uses.times} uses in {item.uses.builds} recorded builds"
        reason = f"{item.age} days old, {uses}; {self._policy.name} keeps {share:.0f} % of it"
        edit = Edit(item.path, 0, forms.full, forms.short, is_archived=True)
        saved = _tokens(item.path, forms.full) - _tokens(item.path, forms.short)
        return Action("shorten", (item.path,), reason, needs_approval=True, edits=(edit,), tokens_saved=saved)

    def _evict(self, choice: EvictionChoice, evict: EvictPolicy) -> Action:
        item = choice.item
        idle = f"{item.idle} days without a use, " if evict.lru else ""
        reason = (
            f"{self._policy.name} has {self._kilobytes:,.1f} KB of {evict.max_kb:,g} allowed; "
            f"score {choice.score:.2f}: {idle}quality {item.quality:.2f}"
        )
        leaving = Archived((), ())
        if retained := self._memories.get(item.id):
            whole = [retained.memory] if item.id != item.path else []
            leaving = retained.edits.archive([*whole, *retained.followers])
        saved = sum(_tokens(edit.path, edit.removed) for edit in leaving.edits)
        moves = leaving.moves
        if item.id == item.path:
            moves = (Move(item.path, self._archive_target(item.path, is_compressed=evict.to == "frozen")), *moves)
        for move in moves:
            read = self._upkeep.workspace.read(move.path)
            saved += ESTIMATE.count(read.whole) if isinstance(read, Document) else 0
        targets = (item.id, *item.followers)
        action = Action("evict", targets, reason, needs_approval=True, edits=leaving.edits)
        return action._replace(moves=moves, tokens_saved=saved)

    def _archive_target(self, path: str, *, is_compressed: bool) -> str:
        """A path in the archive beside a file that nothing has, compressed or not; logs are archived by year."""
        archive, _, name = archived_path(path, dated_log_day(path)).rpartition("/")
        stem, dot, ending = name.partition(".") if not name.startswith(".") else (name, "", "")
        number = 1
        target = f"{archive}/{name}"
        while target in self._taken or any(map(self._upkeep.workspace.exists, (target, f"{target}.gz"))):
            number += 1
            target = f"{archive}/{stem}-{number}{dot}{ending}"
        self._taken.add(target)
        return f"{target}.gz" if is_compressed and not target.endswith(".gz") else target


def _without_followers(choices: Sequence[EvictionChoice]) -> Sequence[EvictionChoice]:
    """The choices but for those that leave with another one; of two that lead each other, the first stays."""
    led: set[str] = set()
    heads: set[str] = set()
    for choice in sorted(choices, key=lambda each: -len(each.item.followers)):
        if choice.item.id not in led:
            heads.add(choice.item.id)
            led.update(choice.item.followers)
    return [choice for choice in choices if choice.item.id in heads]


def _tokens(path: str, data: bytes) -> int:
    """Tokens of the text in these bytes, by the estimate; 0 where they are no text."""
    read = decode_document(path, data)
    return ESTIMATE.count(read.whole) if isinstance(read, Document) else 0
