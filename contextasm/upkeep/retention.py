"""Planner of retention: what is little used is shortened and what is too much is evicted, by policies (digest 4).

An item is a file, or a memory in a file of memories; it belongs to the first policy that fits it. Archives, hidden
files and links are not items. An item is hot as a file, warm as a shortened one, cold in the archive of the file and
frozen there compressed. Nothing is deleted, and what is pinned never moves. Without policies nothing is done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime

from contextasm.config.approval import instructing_files
from contextasm.config.input.options import Options
from contextasm.config.input.settings import LOCK_FILE
from contextasm.config.keys.upkeep import KILOBYTE, CompressPolicy, EvictPolicy, PinPolicy, RetentionPolicy
from contextasm.model import AS_WRITTEN, Document, Memory, NamedTuple, Summarizer
from contextasm.records.uses import ItemUses, RecordedUses, count_uses
from contextasm.selection.sections import detail_levels
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.cleaning.private_parts import withhold
from contextasm.text.memories.parser import ACTIVE_STATUSES, memory_of_numbers
from contextasm.text.names.dates import day_of_name, parse_date
from contextasm.text.names.glob import glob_matches, matching_paths, wildcard_matches
from contextasm.text.names.places import LOG_FOLDERS, archived_path
from contextasm.text.names.templates import ARCHIVE
from contextasm.upkeep.actions import Action, Move
from contextasm.upkeep.input import OwnerMemories, UpkeepInput, without_variables
from contextasm.upkeep.logs import is_due_for_archive
from contextasm.upkeep.memories.states import Supersession
from contextasm.workspace.editing.files import EditableFile
from contextasm.workspace.editing.memory_file import Edit

RETENTION_VERBS = ("shorten", "evict")
"""Verbs of the actions of policies."""


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
    """Whether it is pinned by any policy: it instructs an agent, or is a memory that may not leave."""
    followers: tuple[str, ...] = ()
    """Ids of the memories that leave with it: the older ones that would be shown again without it."""
    memory: Memory | None = None
    """None for a file that holds no memories."""


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
    young = [item for item in items if pin.days is None or item.age <= pin.days]
    candidates = sorted((item for item in young if item.id not in fixed), key=lambda item: item.id)
    paths = {item.path for item in candidates}
    for pattern in pin.files:
        fitting = set(matching_paths(paths, pattern))
        for item in candidates:
            if item.path in fitting and item.id not in pinned and item.size <= room:
                room -= item.size
                pinned.add(item.id)
    return frozenset(fixed | pinned)


def is_little_used(item: RetainedItem, compress: CompressPolicy) -> bool:
    """Whether an item is old and has few uses: both must hold (digest 003-13).

    Few uses are known only if enough recorded builds could have shown the item.
    """
    is_old = item.age > compress.after_days
    return is_old and item.uses.times < compress.uses_below <= item.uses.builds


def eviction_scores(items: Sequence[RetainedItem], evict: EvictPolicy) -> Mapping[str, float]:
    """The score of each item by id, 0 to 1: the higher, the sooner it is evicted (digest 003-15).

    It is `lru x idle / longest idle + quality_weight x (1 - quality)`: idle days are divided by the most that any of
    the items has, and the quotient is 0 if all were used today. The source system names the weights and no formula.
    """
    longest = max((item.idle for item in items), default=0) or 1
    return {item.id: evict.lru * item.idle / longest + evict.quality * (1 - item.quality) for item in items}


def choose_evictions(
    items: Sequence[RetainedItem], pinned: Collection[str], sizes: Mapping[str, int], evict: EvictPolicy
) -> list[tuple[RetainedItem, float]]:
    """The items to evict, each with its score, 0 to 1, until all that stay keep to the limit.

    The highest score goes first, equal ones by id.
    `sizes` has the bytes of items that are to be shortened, by id. Candidates are not pinned, and their uses are known;
    a policy that weighs no uses (`lru: 0`) needs no uses. If they do not suffice, all of them are evicted. What
    leaves with one that is chosen is not chosen itself.
    """
    kept = {item.id: sizes.get(item.id, item.size) for item in items}
    excess = sum(kept.values()) - evict.max_kb * KILOBYTE
    candidates = [item for item in items if item.id not in pinned and (item.uses.builds or not evict.lru)]
    scores = eviction_scores(candidates, evict)
    chosen: dict[str, tuple[RetainedItem, float]] = {}
    for item in sorted(candidates, key=lambda item: (-scores[item.id], item.id)):
        if excess <= 0:
            break
        if item.id not in kept:
            continue
        excess -= sum(kept.pop(name, 0) for name in (item.id, *item.followers))
        for name in item.followers:
            chosen.pop(name, None)
        chosen[item.id] = item, scores[item.id]
    return [*chosen.values()]


SHORTENED_MARK = "<!-- Shortened by ctxasm tidy; the archive beside this file has the full text. -->"
"""Last line of a file that was shortened; a file that has it is not shortened again. Builds leave comments out."""


def shortened_data(document: Document, compress: CompressPolicy, summarizer: Summarizer | None) -> bytes | None:
    """The bytes of a file in a shorter form; None if no form keeps to the ratio of the policy.

    With `summarize`, the summarizer's words go first, if there are any. Else the form is the fullest level of detail
    that is short enough. Front matter stays. No file is shortened twice, and none with a managed block or with private
    parts, since a shorter form could lose the mark that makes them private.
    """
    written = decode_document(document.path, document.data, AS_WRITTEN)
    if not isinstance(written, Document) or not _may_be_shortened(written):
        return None
    file = EditableFile(document.data)
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


class _Items:
    """The items of policies; the memories are taken apart once."""

    def __init__(self, upkeep: UpkeepInput, uses: RecordedUses, earlier: Sequence[Action]) -> None:
        """Texts that the `earlier` actions of the plan archive are not items."""
        self._upkeep = upkeep
        self._uses = uses
        instructing = instructing_files(upkeep.workspace, Options(), without_variables(upkeep.workspace))[0]
        self._fixed = {*instructing, LOCK_FILE}
        self._moved = {move.path for action in earlier for move in action.moves}
        self._archived = {edit for action in earlier for edit in action.edits if edit.is_archived}
        self._edited = {edit.path for edit in self._archived}
        self._memories = [item for owner in upkeep.owners for item in self._memories_of(owner)]
        self._found: set[str] = set()

    def of_policy(self, policy: RetentionPolicy) -> list[RetainedItem]:
        """The items that fit a policy and none before it, in the order of their ids."""
        fitting = [*self._fitting_memories(policy), *(() if policy.types else self._files(policy))]
        items = sorted((item for item in fitting if item.id not in self._found), key=lambda item: item.id)
        self._found |= {item.id for item in items}
        return items

    def _fitting_memories(self, policy: RetentionPolicy) -> Iterator[RetainedItem]:
        paths = {item.path for item in self._memories}
        if policy.files:
            paths = {path for pattern in policy.files for path in matching_paths(paths, pattern)}
        for item in self._memories:
            assert item.memory
            has_type = any(wildcard_matches(name, item.memory.type) for name in policy.types or ("*",))
            if item.path in paths and has_type:
                yield item

    def _files(self, policy: RetentionPolicy) -> Iterator[RetainedItem]:
        listed = {path for pattern in policy.files for path in self._upkeep.list_files(pattern)}
        for path in sorted(listed - {item.path for item in self._memories}):
            stamp = self._upkeep.workspace.stamp(path)  # None for a link, and for anything but a regular file
            if not stamp or not may_be_item(path) or path in self._moved or self._is_archived_by_age(path):
                continue
            is_weighed = policy.evict and policy.evict.quality and path.endswith(".md")
            read = self._upkeep.workspace.read(path) if is_weighed else None
            quality = memory_of_numbers(read.front).importance if isinstance(read, Document) else 0.5
            yield self._item(path, path, stamp.size, self._day_of_file(path), quality)

    def _is_archived_by_age(self, path: str) -> bool:
        """Whether a file is a log that is old enough for the archive, so that the planner of logs moves it."""
        day = dated_log_day(path)
        return day is not None and is_due_for_archive(self._upkeep.today, day, self._upkeep.settings.logs)

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

    def _memories_of(self, owner: OwnerMemories) -> Iterator[RetainedItem]:
        supersession = Supersession(owner.memories)
        leaving = {memory.id for memory in owner.memories if self._leaves(memory, owner)}
        for memory in owner.memories:
            if memory.id in leaving or self._upkeep.workspace.stamp(memory.path) is None:
                continue
            followers = supersession.followers(memory, leaving) if memory.status in ACTIVE_STATUSES else []
            day = parse_date(memory.created) or self._day_of_file(memory.path)
            quality = (memory.importance + memory.confidence) / 2
            size = owner.file(memory).size(memory)
            item = self._item(_item_id(owner, memory), memory.path, size, day, quality, memory.id)
            yield item._replace(
                is_fixed=item.is_fixed or not _may_leave(owner, memory, followers),
                followers=tuple(_item_id(owner, each) for each in followers),
                memory=memory,
            )

    def _leaves(self, memory: Memory, owner: OwnerMemories) -> bool:
        """Whether an earlier action archives a memory."""
        if memory.path not in self._edited or not owner.can_archive(memory):
            return memory.path in self._moved
        return owner.file(memory).remove(memory.line) in self._archived


def _item_id(owner: OwnerMemories, memory: Memory) -> str:
    return memory.path if owner.file(memory).is_one_memory else f"{memory.path}#{memory.id}"


def _may_leave(owner: OwnerMemories, memory: Memory, followers: Iterable[Memory]) -> bool:
    """Whether a memory may and can leave its place, and with it the memories that would be shown again."""
    is_file = owner.file(memory).is_one_memory  # whose place in the archive has a name that is free
    can_leave = not memory.pin and owner.can_change(memory) if is_file else owner.can_archive(memory)
    return can_leave and all(map(owner.can_archive, followers))


def may_be_item(path: str) -> bool:
    """Whether a file of this path may be an item: hidden files and files of archives may not."""
    names = path.split("/")
    return ARCHIVE not in names[:-1] and not any(name.startswith(".") for name in names)


# --- The plan --------------------------------------------------------------------------------------------------------


def plan_retention(upkeep: UpkeepInput, earlier: Sequence[Action] = ()) -> Iterator[Action]:
    """The actions of all policies, in their order: first what is shortened, then what is evicted, by score.

    What leaves its place by the actions `earlier` in the plan is not an item any more, and makes room for other items.
    A record that can't be read has an action that changes nothing and says so. Raises `ContextasmError` for settings
    and profiles that can't be used.
    """
    if not upkeep.settings.retention:
        return
    uses = count_uses(upkeep.workspace.root)
    for problem in uses.problems:
        reason = f"its uses are not counted: {problem.message}"
        yield Action("skip", (problem.path,), reason, needs_approval=False)
    items = _Items(upkeep, uses, earlier)
    targets: set[str] = set()
    for policy in upkeep.settings.retention:
        yield from _plan_policy(upkeep, items, policy, targets)


def _plan_policy(upkeep: UpkeepInput, items_of: _Items, policy: RetentionPolicy, targets: set[str]) -> Iterator[Action]:
    """The files to shorten and not to evict, by id; then the items to evict, the highest score first.

    The targets of the moves are added to `targets`.
    """
    items = items_of.of_policy(policy)
    pinned = pinned_ids(items, policy.pin)
    shortened = _shortened(upkeep, [item for item in items if item.id not in pinned], policy.compress)
    sizes = {name: len(short) for name, (_, short) in shortened.items()}
    evict = policy.evict
    choices = choose_evictions(items, pinned, sizes, evict) if evict else []
    evicted = {name for item, _ in choices for name in (item.id, *item.followers)}
    for item in items:
        if item.id in shortened and item.id not in evicted:
            yield _shorten(policy, item, *shortened[item.id])
    kilobytes = sum(item.size for item in items) / KILOBYTE
    for item, score in choices:
        assert evict
        idle = f"{item.idle} days without a use, " if evict.lru else ""
        reason = (
            f"{policy.name} has {kilobytes:,.1f} KB, and {evict.max_kb:,g} KB are allowed; "
            f"score {score:.2f}: {idle}quality {item.quality:.2f}"
        )
        yield _evict(upkeep, item, reason, targets, is_compressed=evict.to == "frozen")
    staying = [item for item in items if item.id not in evicted]
    unknown = [item for item in staying if item.id not in pinned and not item.uses.builds]
    size = sum(sizes.get(item.id, item.size) for item in staying) / KILOBYTE
    if evict and evict.lru and unknown and size > evict.max_kb:
        words = f"the uses of {len(unknown):,} of its items are" if unknown[1:] else "the uses of an item are"
        told = (
            f"{policy.name} keeps {size:,.1f} KB, and {evict.max_kb:,g} KB are allowed; "
            f"{words} unknown: record builds with `ctxasm build --record`"
        )
        yield Action("skip", (policy.name,), told, needs_approval=False)


def _shortened(
    upkeep: UpkeepInput, items: Sequence[RetainedItem], compress: CompressPolicy | None
) -> dict[str, tuple[bytes, bytes]]:
    """The bytes of the files that are little used, full and shorter, by id, if they have a shorter form."""
    if compress is None:
        return {}
    shortened: dict[str, tuple[bytes, bytes]] = {}
    # Memories have fields that a shorter text would lose.
    of_memories = {path for owner in upkeep.owners for path in owner.paths}
    for item in items:
        if item.path not in of_memories and is_little_used(item, compress):
            read = upkeep.workspace.read(item.path)
            if isinstance(read, Document) and (short := shortened_data(read, compress, upkeep.summarizer)):
                shortened[item.id] = read.data, short
    return shortened


def _shorten(policy: RetentionPolicy, item: RetainedItem, full: bytes, short: bytes) -> Action:
    uses = f"{item.uses.times} uses in {item.uses.builds} recorded builds"
    reason = f"{item.age} days old, {uses}; {policy.name} keeps {100 * len(short) / len(full):.0f} % of it"
    edit = Edit(item.path, 0, full, short, is_archived=True)
    saved = _tokens(item.path, full) - _tokens(item.path, short)
    return Action("shorten", (item.path,), reason, needs_approval=True, edits=(edit,), tokens_saved=saved)


def _evict(upkeep: UpkeepInput, item: RetainedItem, reason: str, targets: set[str], *, is_compressed: bool) -> Action:
    action = Action("evict", (item.id, *item.followers), reason, needs_approval=True)
    if item.id == item.path:
        target = _archive_target(upkeep, item.path, targets, is_compressed=is_compressed)
        action = action._replace(moves=(Move(item.path, target),))
    if item.memory:
        owner = next(owner for owner in upkeep.owners if item.path in owner.paths)
        by_id = {_item_id(owner, memory): memory for memory in owner.memories}
        leaving = (name for name in action.targets if name != item.path)
        action = owner.archive(action, [by_id[name] for name in leaving])
    saved = sum(_tokens(edit.path, edit.removed) for edit in action.edits)
    for move in action.moves:
        read = upkeep.workspace.read(move.path)
        saved += ESTIMATE.count(read.whole) if isinstance(read, Document) else 0
    return action._replace(tokens_saved=saved)


def _archive_target(upkeep: UpkeepInput, path: str, targets: set[str], *, is_compressed: bool) -> str:
    """A free path in the archive of a file, compressed or not; logs are archived by year."""
    archive, _, name = archived_path(path, dated_log_day(path)).rpartition("/")
    stem, dot, ending = name.partition(".") if not name.startswith(".") else (name, "", "")
    number = 1
    target = f"{archive}/{name}"
    while target in targets or any(map(upkeep.workspace.exists, (target, f"{target}.gz"))):
        number += 1
        target = f"{archive}/{stem}-{number}{dot}{ending}"
    targets.add(target)
    return f"{target}.gz" if is_compressed and not target.endswith(".gz") else target


def _tokens(path: str, data: bytes) -> int:
    """Tokens of the text in these bytes, by the estimate; 0 if they are not text."""
    read = decode_document(path, data)
    return ESTIMATE.count(read.whole) if isinstance(read, Document) else 0
