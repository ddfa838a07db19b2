"""Planner of memories: what is over, said twice, scattered, incomplete, contradictory or wrong in an owner's.

A memory is part of one action at most but for conflicts. A secret comes first, and a wrong id, link or tag last: what
a plan leaves of these is in the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from contextasm.model import Memory, grouped
from contextasm.retrieval.sources.memories import schema_form
from contextasm.text.memories.parser import ACTIVE_STATUSES
from contextasm.text.memories.writer import is_value
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
from contextasm.upkeep.memories.states import (
    Supersession,
    broken_links,
    changed_fields,
    known_fields,
    one_sided_links,
    plan_closed,
    plan_retired,
)

_SCHEMA_KEY = "root/"
"""Beginning of keys that name a place in a schema, where many memories belong, and no subject (digest 5.2)."""


def plan_memories(upkeep: UpkeepInput) -> Iterator[Action]:
    """The actions for the memories of each owner, by folder; and messages about the files that they name."""
    for owner in upkeep.owners:
        actions = [*_plan_redactions(upkeep, owner), *_plan_contents(upkeep, owner)]
        taken = {place for action in actions if not action.for_you for place in action.targets}
        yield from (*actions, *_plan_repairs(upkeep, owner, taken))
    memories = [memory for owner in upkeep.owners for memory in owner.memories]
    for memory, message, hint in file_faults(memories, upkeep.workspace, upkeep.environment):
        yield change_action("settle", [memory], f"{quoted(memory)}: {message}; {hint}", needs_approval=True)


def _plan_redactions(upkeep: UpkeepInput, owner: OwnerMemories) -> Iterator[Action]:
    """Masks in place of the secrets of each memory, which is part of no other action before that."""
    for memory in owner.memories:
        secrets = owner.file(memory).secrets(memory.line)
        if secrets and upkeep.workspace.stamp(memory.path):
            more = f" and {len(secrets) - 1:,} more" if secrets[1:] else ""
            reason = (
                f"{quoted(memory)} holds {secrets[0].words}{more}; tidy masks it, as builds do; "
                "git's history and .tidy/ still hold it, so revoke it"
            )
            action = change_action("redact", [memory], reason, needs_approval=True)
            yield action._replace(edits=(owner.file(memory).redact(memory.line),))


def _plan_repairs(upkeep: UpkeepInput, owner: OwnerMemories, taken: set[str]) -> Iterator[Action]:
    """An action for each wrong id, link and tag, of memories whose places are not `taken` by another action."""
    has_schema = any(layer.memories.field_limits for profile in upkeep.profiles for layer in profile.layers)
    for action in chain(
        (_renamed(owner, memory) for memory in owner.memories if owner.has_taken_id(memory)),
        (_unlinked(owner, *link) for link in broken_links(owner.memories, owner.folder, upkeep.workspace).items()),
        (_linked(owner, *link) for link in one_sided_links(owner.memories).items()),
        (_retagged(owner, memory) for memory in owner.memories if has_schema),
    ):
        if action and taken.isdisjoint(action.targets):
            taken.update(action.targets)
            yield action


def _repair(owner: OwnerMemories, verb: str, memory: Memory, fields: Mapping[str, str], why: str) -> Action | None:
    """The action that sets fields of a memory; None if the memory can't be repaired, or if a file can't hold them."""
    if not owner.can_repair(memory) or not all(is_value(value) for value in fields.values() if value):
        return None
    action = change_action(verb, [memory], f"{quoted(memory)} {why}", needs_approval=verb != "rename")
    return owner.set_fields(action, memory, fields)


def _renamed(owner: OwnerMemories, memory: Memory) -> Action | None:
    why = f"has the id of an earlier memory, so it gets the id that builds use, {memory.id}"
    return _repair(owner, "rename", memory, {"id": memory.id}, why)


def _unlinked(owner: OwnerMemories, place: tuple[Memory, str], names: Sequence[str]) -> Action | None:
    memory, field = place
    rest = [old for old in memory.supersedes if old not in names] if field == "supersedes" else []
    why = f"has {field}={','.join(names)}, which does not exist, so the id is removed"
    return _repair(owner, "link", memory, {field: ",".join(rest)}, why)


def _linked(owner: OwnerMemories, new: Memory, old: Sequence[Memory]) -> Action | None:
    ids = [memory.id for memory in old if "," not in memory.id and owner.can_change(memory)]
    why = f"gets supersedes={','.join(ids)}: these memories name it in superseded_by, and are no longer shown"
    return _repair(owner, "link", new, {"supersedes": ",".join((*new.supersedes, *ids))}, why) if ids else None


def _retagged(owner: OwnerMemories, memory: Memory) -> Action | None:
    tags = dict.fromkeys(schema_form("tag", tag) for tag in memory.tags)
    new = memory._replace(key=schema_form("key", memory.key), tags=tuple(tags))
    fields = changed_fields(memory, new)
    if not fields or "" in (*tags, *fields.values()):
        return None
    values = " and ".join(f"{name}={value}" for name, value in fields.items())
    return _repair(owner, "retag", memory, fields, f"gets {values}, because a profile limits the form of fields")


def _plan_contents(upkeep: UpkeepInput, owner: OwnerMemories) -> Iterator[Action]:
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
            reason = f"these memories say different things about {key}: keep one, and deprecate the others ({named})"
            yield change_action("settle", ordered, reason, needs_approval=True)
