"""The items of policies of retention: files, and memories in files of memories, with size, age, uses and quality.

Each item belongs to the first policy that fits it. Archives, hidden files and links are no items.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from typing import NamedTuple

from contextasm.config.retention import RetentionPolicy
from contextasm.model import Document, Memory
from contextasm.records.uses import RecordedUses
from contextasm.text.dates import day_of_name, parse_date
from contextasm.text.glob import matching_paths, wildcard_matches
from contextasm.text.memory_fields import importance_of
from contextasm.text.memory_parser import ACTIVE_STATUSES
from contextasm.text.templates import ARCHIVE
from contextasm.upkeep.action import Action
from contextasm.upkeep.logs import is_due_for_archive
from contextasm.upkeep.memory_edits import OwnerEdits
from contextasm.upkeep.memory_states import Supersession
from contextasm.upkeep.retention_choice import RetainedItem
from contextasm.upkeep.retention_shorten import dated_log_day
from contextasm.upkeep.upkeep_input import OwnerMemories, UpkeepInput


class RetainedMemory(NamedTuple):
    """A memory that is an item, and how it leaves."""

    memory: Memory
    edits: OwnerEdits
    followers: tuple[Memory, ...]
    """The older memories that would be shown again without it: they leave with it."""


class PolicyItems(NamedTuple):
    """The items of one policy, in the order of their ids."""

    policy: RetentionPolicy
    items: tuple[RetainedItem, ...]
    memories: Mapping[str, RetainedMemory]
    """The memories among them, by id."""


class _Found(NamedTuple):
    """An item, its type of memory, and the memory if it is one."""

    item: RetainedItem
    type: str
    """Empty for a file that holds no memories."""
    memory: RetainedMemory | None = None


def collect_items(
    upkeep: UpkeepInput, uses: RecordedUses, fixed: frozenset[str], earlier: Iterable[Action]
) -> tuple[PolicyItems, ...]:
    """The items of every policy of the settings; those of files in `fixed` are pinned whatever a policy says.

    What the `earlier` actions of the plan archive is no item.
    """
    finder = _Finder(upkeep, uses, fixed, _Leaving(earlier))
    taken: set[str] = set()
    collected = []
    for policy in upkeep.settings.retention:
        found = {each.item.id: each for each in finder.find(policy) if each.item.id not in taken}
        taken.update(found)
        items = tuple(found[name].item for name in sorted(found))
        memories = {name: each.memory for name, each in found.items() if each.memory}
        collected.append(PolicyItems(policy, items, memories))
    return tuple(collected)


class _Leaving:
    """The files and memories that earlier actions archive."""

    def __init__(self, actions: Iterable[Action]) -> None:
        actions = tuple(actions)
        self.files = {move.path for action in actions for move in action.moves}
        self._edits = {edit for action in actions for edit in action.edits if edit.is_archived}
        self._edited_files = {edit.path for edit in self._edits}

    def has(self, memory: Memory, edits: OwnerEdits) -> bool:
        """Whether a memory leaves its place."""
        if memory.path in self.files:
            return True
        if memory.path not in self._edited_files or not edits.can_archive(memory):
            return False
        return not self._edits.isdisjoint(edits.archive([memory]).edits)


class _Finder:
    """Items by policy; the memories are taken apart once."""

    def __init__(self, upkeep: UpkeepInput, uses: RecordedUses, fixed: frozenset[str], leaving: _Leaving) -> None:
        self._upkeep = upkeep
        self._leaving = leaving
        self._uses = uses
        self._fixed = fixed
        self._memories = [found for owner in upkeep.memory_files.owners for found in self._memories_of(owner)]
        self._memory_paths = {found.item.path for found in self._memories}

    def find(self, policy: RetentionPolicy) -> Iterator[_Found]:
        """The items that fit a policy, without regard to other policies."""
        paths = self._memory_paths
        if policy.files:
            paths = {path for pattern in policy.files for path in matching_paths(paths, pattern)}
        for found in self._memories:
            has_type = not policy.types or any(wildcard_matches(name, found.type) for name in policy.types)
            if found.item.path in paths and has_type:
                yield found
        if not policy.types:
            yield from self._files(policy)

    def _files(self, policy: RetentionPolicy) -> Iterator[_Found]:
        listed = {path for pattern in policy.files for path in self._upkeep.files.list(pattern)}
        for path in sorted(listed - self._memory_paths):
            if not may_be_item(path) or path in self._leaving.files or self._is_archived_by_age(path):
                continue
            if item := self._file_item(path, bool(policy.evict and policy.evict.quality)):
                yield _Found(item, "")

    def _is_archived_by_age(self, path: str) -> bool:
        """Whether a file is a log that is old enough for the archive, so that the planner of logs moves it."""
        day = dated_log_day(path)
        ages = self._upkeep.settings.logs
        return day is not None and is_due_for_archive(self._upkeep.today, day, ages)

    def _file_item(self, path: str, needs_quality: bool) -> RetainedItem | None:
        """The item of a file; None for a link, and for anything but a regular file."""
        stamp = self._upkeep.workspace.stamp(path)
        if stamp is None:
            return None
        read = self._upkeep.workspace.read(path) if needs_quality and path.endswith(".md") else None
        quality = importance_of(read.front) if isinstance(read, Document) else 0.5
        return self._item(path, path, stamp.size, self._day_of_file(path), quality)

    def _item(self, name: str, path: str, size: int, day: date, quality: float, fragment: str = "") -> RetainedItem:
        uses = self._uses.of(path, day, fragment)
        used = max(day, uses.last) if uses.last else day
        age, idle = (max(0, (self._upkeep.today - each).days) for each in (day, used))
        return RetainedItem(name, path, size, age, idle, uses, quality, path in self._fixed)

    def _day_of_file(self, path: str) -> date:
        """The day of a file's name, else the day on which the file was last changed; today for one that is gone."""
        if day := day_of_name(path):
            return day
        stamp = self._upkeep.workspace.stamp(path)
        return datetime.fromtimestamp(stamp.modified / 1e9, UTC).date() if stamp else self._upkeep.today

    def _memories_of(self, owner: OwnerMemories) -> Iterator[_Found]:
        edits, supersession = OwnerEdits(owner, self._upkeep.workspace), Supersession(owner.memories)
        leaving = {memory.id for memory in owner.memories if self._leaving.has(memory, edits)}
        for memory in owner.memories:
            if memory.id in leaving or self._upkeep.workspace.stamp(memory.path) is None:
                continue
            is_shown = memory.status in ACTIVE_STATUSES
            followers = tuple(supersession.followers(memory, leaving)) if is_shown else ()
            day = parse_date(memory.created) or self._day_of_file(memory.path)
            quality = (memory.importance + memory.confidence) / 2
            name = _item_id(edits, memory)
            item = self._item(name, memory.path, edits.file(memory).size(memory), day, quality, memory.id)
            stays = item.is_fixed or not _may_leave(edits, memory, followers)
            item = item._replace(is_fixed=stays, followers=tuple(_item_id(edits, each) for each in followers))
            yield _Found(item, memory.type, RetainedMemory(memory, edits, followers))


def _item_id(edits: OwnerEdits, memory: Memory) -> str:
    return memory.path if edits.file(memory).is_one_memory else f"{memory.path}#{memory.id}"


def _may_leave(edits: OwnerEdits, memory: Memory, followers: Iterable[Memory]) -> bool:
    """Whether a memory may and can leave its place, and with it those that would be shown again."""
    is_file = edits.file(memory).is_one_memory  # whose place in the archive has a name that is free
    can_leave = not memory.pin and edits.can_change(memory) if is_file else edits.can_archive(memory)
    return can_leave and all(map(edits.can_archive, followers))


def may_be_item(path: str) -> bool:
    """Whether a file of this path may be an item: hidden files and those of archives are none."""
    names = path.split("/")
    return ARCHIVE not in names[:-1] and not any(name.startswith(".") for name in names)
