"""Memories whose time is over: retired ones leave their file, stale tasks are completed, and others expire.

No memory is shown again because of this: a memory that another one supersedes goes together with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date

from contextasm.model import Document, Memory, Workspace, grouped
from contextasm.text.memories.parser import ACTIVE_STATUSES, NUMBERS, VALIDITY, superseded_by
from contextasm.text.memories.writer import field_text, is_value
from contextasm.text.names.dates import day_of_name
from contextasm.upkeep.actions import Action, change_action, memory_place, memory_tokens, quoted
from contextasm.upkeep.archive import archived_memory_ids
from contextasm.upkeep.input import OwnerMemories
from contextasm.workspace.editing.remember import differing_words, merge_fields

STALE_DAYS = 7
"""A task that was created and last of use more days ago is stale (digest 1.6)."""

RETIRED_STATUSES = ("deprecated", "superseded")
"""Statuses of memories that leave their file; no build shows them."""


def known_fields(memory: Memory) -> Memory:
    """The memory with the fields that it lacks and that its place states: the day in the name of its file."""
    day = None if memory.created else day_of_name(memory.path)
    return memory._replace(created=str(day)) if day else memory


def is_stale_task(memory: Memory, today: date) -> bool:
    """Whether a memory is an active task whose days are both over; one without a day is not, since it may be new."""
    is_task = memory.type.casefold() == "task" and memory.status in ACTIVE_STATUSES
    return is_task and bool(memory.created) and age_in_days(memory, today) > STALE_DAYS


def age_in_days(memory: Memory, today: date) -> int:
    """Days since a memory was of use, or created, whichever is later; it has a day of creation."""
    return (today - date.fromisoformat(memory.last_use)).days


def is_over(memory: Memory, today: date) -> bool:
    """Whether an active memory is past its last day."""
    return bool(memory.expires) and memory.expires < str(today) and memory.status in ACTIVE_STATUSES


class Supersession:
    """Which memories of an owner supersede which."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        """Take all memories of the owner, of any status."""
        self._naming = {old: memory for memory in memories for old in memory.supersedes}
        self._by_id = {memory.id: memory for memory in memories}
        pairs = ((old, new) for old, new in superseded_by(memories).items() if old != new and old in self._by_id)
        self._successors = {old: self._by_id[new] for old, new in pairs}

    def successor(self, memory: Memory) -> Memory | None:
        """The active memory that supersedes it; None for none."""
        return self._successors.get(memory.id)

    def named_successor(self, memory: Memory) -> Memory | None:
        """A memory, active or not, that says that it supersedes this one; None for none."""
        return self._naming.get(memory.id)

    def followers(self, memory: Memory, planned: Collection[str]) -> list[Memory]:
        """The memories of active status, but itself and those `planned`, that would be shown again without it."""
        return [old for old in self.led_by([memory]).values() if old.id != memory.id and old.id not in planned]

    def led_by(self, memories: Sequence[Memory]) -> Mapping[str, Memory]:
        """The memories of active status that these hide, also by way of others, by id."""
        found: dict[str, Memory] = {}
        open_links = deque((memory, old) for memory in memories for old in memory.supersedes)
        while open_links:
            new, old_id = open_links.popleft()
            old = self._by_id.get(old_id)
            if old and old.id not in found and old.id != new.id and old.status in ACTIVE_STATUSES:
                found[old.id] = old
                open_links += ((old, older) for older in old.supersedes)
        return found


def broken_links(
    memories: Sequence[Memory], folder: str, workspace: Workspace
) -> Mapping[tuple[Memory, str], Sequence[str]]:
    """The ids and files that memories of a folder name and that are not there, by memory and name of the field.

    An id may be in the archive of the folder. What an inactive memory supersedes does not count.
    """
    ids = {memory.id for memory in memories}
    links = [((memory, "superseded_by"), memory.superseded_by) for memory in memories if memory.superseded_by]
    active = (memory for memory in memories if memory.status in ACTIVE_STATUSES)
    links += (((memory, "supersedes"), old) for memory in active for old in memory.supersedes)
    unknown = [link for link in links if link[1] not in ids]
    known = archived_memory_ids(workspace, folder) if unknown else frozenset()
    files = {name for (_, field), name in unknown if is_file_link(field, name)}
    known |= {name for name in files if isinstance(workspace.read(name), Document)}
    return grouped(link for link in unknown if link[1] not in known)


def is_file_link(field: str, name: str) -> bool:
    """Whether the name in a field of a memory is that of a file, which may supersede a memory, too."""
    return field == "superseded_by" and ("/" in name or name.endswith(".md"))


def one_sided_links(memories: Sequence[Memory]) -> Mapping[Memory, Sequence[Memory]]:
    """Memories that are shown although they name one that supersedes them and does not say so, by that memory.

    Not if that one is inactive, superseded itself, or for other readers or days.
    """
    hidden = superseded_by(memories)
    shown = [memory for memory in memories if memory.status in ACTIVE_STATUSES and memory.id not in hidden]
    last = {memory.id: memory for memory in shown if not memory.superseded_by}
    links = ((last[memory.superseded_by], memory) for memory in shown if memory.superseded_by in last)
    return grouped((new, old) for new, old in links if memory_audience(new) == memory_audience(old))


def plan_retired(owner: OwnerMemories, supersession: Supersession, planned: set[str]) -> Iterator[Action]:
    """An action for each memory that is deprecated, superseded or has a successor.

    `planned` has the ids of memories that are part of another action, and is given the ones that these actions take.
    """
    memories = owner.memories
    with_successor = [
        memory for memory in memories if memory.status in ACTIVE_STATUSES and supersession.successor(memory)
    ]
    led = supersession.led_by(with_successor).keys()
    for memory in memories:
        successor = supersession.successor(memory)
        if memory.id in planned:
            continue
        if memory.status in RETIRED_STATUSES:
            successor = supersession.named_successor(memory)
            by = f" by {memory_place(successor)}" if successor and memory.status == "superseded" else ""
            reason, leaving = f"{quoted(memory)} is {memory.status}{by}", [memory]
        elif successor and memory.status in ACTIVE_STATUSES and memory.id not in led:
            reason = f"{quoted(memory)} is superseded by {memory_place(successor)}"
            leaving = [memory, *supersession.followers(memory, planned)]
        else:
            continue
        if all(map(owner.can_archive, leaving)):
            planned |= {memory.id for memory in leaving}
            yield owner.archive(change_action("archive", leaving, reason, needs_approval=False), leaving)


def plan_closed(
    owner: OwnerMemories, supersession: Supersession, memories: Sequence[Memory], today: date, planned: set[str]
) -> Iterator[Action]:
    """An action for each of these memories that is a stale task or past its last day; a pinned one stays as it is.

    `planned` has the ids of memories that are part of another action, and is given the ones that these actions take.
    """
    for memory in memories:
        known = known_fields(memory)
        if is_over(known, today):
            verb, status, why = "expire", "expired", f"held until {known.expires}"
        elif is_stale_task(known, today):
            verb, status, why = ("complete", "completed", f"is a task unchanged for {age_in_days(known, today)} days")
        else:
            continue
        followers = supersession.followers(memory, planned)
        if memory.pin or not owner.can_change(memory) or not all(map(owner.can_archive, followers)):
            continue
        fields = {"created": known.created} if known is not memory else {}
        action = change_action(verb, [memory, *followers], f"{quoted(memory)} {why}", needs_approval=True)
        action = owner.set_fields(action, memory, {**fields, "status": status})
        planned |= {memory.id, *(follower.id for follower in followers)}
        yield owner.archive(action, followers)._replace(tokens_saved=memory_tokens([memory]))


def memory_audience(memory: Memory) -> Sequence[object]:
    """Who reads a memory, who wrote it, and when and where it holds: two that differ in these can't become one."""
    is_private = memory.private or "private" in memory.tags
    return is_private, memory.writer, *(getattr(memory, name) for name in VALIDITY)


def can_merge(one: Memory, other: Memory) -> bool:
    """Whether one memory can keep all that the fields of both say, which a file can hold."""
    if memory_audience(one) != memory_audience(other) or differing_words(one, other):
        return False
    return all(is_value(value) for value in changed_fields(one, merge_memories(one, other)).values())


def merge_memories(kept: Memory, other: Memory) -> Memory:
    """The memory `kept` with the words and lists of both, the higher numbers, and the last day of use."""
    return merge_fields(kept, other)._replace(
        accessed=other.last_use if other.last_use > kept.last_use else kept.accessed,
        **{name: max(getattr(kept, name), getattr(other, name)) for name in NUMBERS},
    )


def changed_fields(old: Memory, new: Memory) -> dict[str, str]:
    """The fields in which two states of a memory differ, as they are written."""
    return {name: field_text(value) for name, value in new._asdict().items() if value != getattr(old, name)}
