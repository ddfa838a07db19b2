"""Planner of memories: what is over, said twice, scattered, incomplete or contradictory among the memories of an owner.

A memory is part of one action at most but for conflicts, so that a plan that was carried out leaves nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from contextasm.model import Memory, grouped
from contextasm.text.memories.parser import ACTIVE_STATUSES
from contextasm.text.similarity import text_fingerprint
from contextasm.upkeep.actions import Action, change_action, memory_place, quoted
from contextasm.upkeep.input import OwnerMemories, UpkeepInput
from contextasm.upkeep.memories.merging import (
    MAX_ACTIVE,
    DuplicateGroup,
    SimilarMemories,
    consolidate,
    find_clusters,
    group_duplicates,
    reinforce,
)
from contextasm.upkeep.memories.named_files import file_faults
from contextasm.upkeep.memories.states import Supersession, changed_fields, known_fields, plan_closed, plan_retired

_SCHEMA_KEY = "root/"
"""Beginning of keys that name a place in a schema, where many memories belong, and no subject (digest 5.2)."""


def plan_memories(upkeep: UpkeepInput) -> Iterator[Action]:
    """The actions for the memories of each owner, by folder; and messages about the files that they name."""
    for owner in upkeep.owners:
        yield from _plan_owner(upkeep, owner)
    memories = [memory for owner in upkeep.owners for memory in owner.memories]
    for memory, message, hint in file_faults(memories, upkeep.workspace, upkeep.environment):
        yield change_action("settle", [memory], f"{quoted(memory)} {message}; {hint}", needs_approval=True)


def _plan_owner(upkeep: UpkeepInput, owner: OwnerMemories) -> Iterator[Action]:
    supersession = Supersession(owner.memories)
    active = [
        memory for memory in owner.memories if memory.status in ACTIVE_STATUSES and not supersession.successor(memory)
    ]
    planned: set[str] = set()
    yield from plan_closed(owner, supersession, active, upkeep.today, planned)
    yield from plan_retired(owner, supersession, planned)
    yield from _plan_similar(upkeep, owner, [memory for memory in active if memory.id not in planned])


def _plan_similar(upkeep: UpkeepInput, owner: OwnerMemories, memories: Sequence[Memory]) -> Iterator[Action]:
    """Actions for the memories that stay active: duplicates, clusters, missing fields and conflicts."""
    written = {memory.id: memory for memory in memories}
    ordered = sorted(map(known_fields, memories), key=lambda each: (not each.pin, each.created, each.path, each.line))
    compared = [memory for memory in ordered if owner.file(memory).is_as_written(memory)]
    similar = SimilarMemories(compared, upkeep.semantics if len(compared) > MAX_ACTIVE else None)
    # The newest text stays, in the oldest memory that has it.
    newest = {similar.class_of(memory): (memory.created, memory.path, memory.line) for memory in ordered}
    ordered.sort(key=lambda memory: (memory.pin, newest[similar.class_of(memory)]), reverse=True)
    groups = group_duplicates(owner, ordered, similar, upkeep.today)
    by_id = {group.kept.id: group for group in groups}
    if len(groups) > MAX_ACTIVE:
        if similar.problem:
            reason = f"{similar.problem.message.partition(';')[0]}, so memories are compared by their letters only"
            yield Action("skip", (owner.folder,), reason, needs_approval=False)
        for cluster, merged in find_clusters(owner, groups, similar):
            yield consolidate(owner, cluster, merged, written, upkeep.summarizer, upkeep.today)
            for group in cluster:
                del by_id[group.kept.id]
    yield from _plan_groups(owner, [*by_id.values()], written)
    yield from _conflicts([group.kept for group in by_id.values()])


def _plan_groups(
    owner: OwnerMemories, groups: Sequence[DuplicateGroup], written: Mapping[str, Memory]
) -> Iterator[Action]:
    for group in groups:
        if group.others:
            yield reinforce(owner, group, written)
    for group in groups:
        memory = written[group.kept.id]
        if group.others or memory == group.kept:
            continue
        if (fields := changed_fields(memory, group.kept)) and owner.can_change(memory):
            values = " and ".join(f"{name}={value}" for name, value in fields.items())
            action = change_action("fill", [memory], f"{quoted(memory)} lacks {values}", needs_approval=False)
            yield owner.set_fields(action, memory, fields)


def _conflicts(memories: Sequence[Memory]) -> Iterator[Action]:
    """For each key of which memories say different things, an action that changes nothing: a person has to choose."""
    by_key = grouped(
        (memory.key, memory) for memory in memories if memory.key and not memory.key.startswith(_SCHEMA_KEY)
    )
    for key, claims in by_key.items():
        first = {text_fingerprint(memory.text): memory for memory in reversed(claims)}
        if len(first) > 1:
            ordered = sorted(first.values(), key=lambda memory: (memory.path, memory.line))
            named = ", ".join(f"{memory.id} ({memory_place(memory)})" for memory in ordered)
            reason = f"they say different things of {key}: choose, and deprecate the other one ({named})"
            yield change_action("settle", ordered, reason, needs_approval=True)
