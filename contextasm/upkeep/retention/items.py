"""The items of policies of retention: files, and memories in files of memories, with size, age, uses and quality.

Each item belongs to the first policy that fits it. Archives, hidden files and links are no items.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from contextasm.config.keys.upkeep import KILOBYTE, CompressPolicy, EvictPolicy, PinPolicy, RetentionPolicy
from contextasm.model import AS_WRITTEN, Document, Memory, Summarizer
from contextasm.records.uses import ItemUses, RecordedUses
from contextasm.selection.detail import detail_levels
from contextasm.text.cleaning.decode import decode_document
from contextasm.text.cleaning.private_parts import withhold
from contextasm.text.memories.fields import importance_of
from contextasm.text.memories.parser import ACTIVE_STATUSES
from contextasm.text.names.dates import day_of_name, parse_date
from contextasm.text.names.glob import glob_matches, matching_paths, wildcard_matches
from contextasm.text.names.places import LOG_FOLDERS
from contextasm.text.names.templates import ARCHIVE
from contextasm.upkeep.archives.logs import is_due_for_archive
from contextasm.upkeep.base.action import Action
from contextasm.upkeep.base.upkeep_input import OwnerMemories, UpkeepInput
from contextasm.upkeep.memories.edits import OwnerEdits
from contextasm.upkeep.memories.states import Supersession
from contextasm.workspace.editing.files import EditableFile


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


SHORTENED_MARK = "<!-- Shortened by ctxasm tidy; the archive beside this file has the full text. -->"
"""Last line of a file that was shortened; a file that has it is not shortened again. Builds leave comments out."""


def shortened_data(document: Document, compress: CompressPolicy, summarizer: Summarizer | None) -> bytes | None:
    """The bytes of a file in a shorter form; None where no form keeps to the ratio of the policy.

    With `summarize`, the summarizer's words go first, if there are any. Else the form is the fullest level of detail
    that is short enough. Front matter stays. No file is shortened twice, and none with a managed block or with private
    parts, since a shorter form could lose the mark that makes them private.
    """
    written = decode_document(document.path, document.data, AS_WRITTEN)
    if not isinstance(written, Document) or not _may_be_shortened(written):
        return None
    file = EditableFile(document.path, document.data)
    most = compress.ratio * len(document.data)
    for text in _forms(document, written, summarizer if compress.summarize else None):
        data = file.mark + file.encoded(f"{written.head}{text.rstrip()}\n\n{SHORTENED_MARK}\n")
        if text.strip() and len(data) <= most:
            return data
    return None


def is_shortenable_path(path: str) -> bool:
    """Whether a file of this path may be shortened: Markdown but logs, in which a topic finds what it found before."""
    return path.endswith((".md", ".markdown")) and dated_log_day(path) is None


def dated_log_day(path: str) -> date | None:
    """The day of a dated log, in whose archive a topic still finds it; None for any other file."""
    folder = path.rpartition("/")[0]
    return day_of_name(path) if any(glob_matches(place, folder) for place in LOG_FOLDERS) else None


def _may_be_shortened(document: Document) -> bool:
    if not is_shortenable_path(document.path) or document.gaps or SHORTENED_MARK in document.text:
        return False
    return not any(gap.reason == "private" for gap in withhold(document, None).gaps)


def _forms(document: Document, written: Document, summarizer: Summarizer | None) -> Iterator[str]:
    """Shorter texts, the preferred one first. The summarizer is given the text without secrets."""
    if summarizer and document.text.strip():
        summary = summarizer(document.text)
        if isinstance(summary, str):
            yield summary
    yield from (form.text for form in detail_levels(written.text)[1:])


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
