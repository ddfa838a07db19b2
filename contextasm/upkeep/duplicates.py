"""Near-duplicates among the memories of one owner: groups of memories that say the same, each merged into one.

By the measure of `remember`: at least 92 per cent alike, with the same numbers and negations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from contextasm.model import Memory
from contextasm.text.similarity import SAME_PERCENT, fold_text
from contextasm.upkeep.action import Action
from contextasm.upkeep.memory_edits import OwnerEdits, change_action, memory_place, memory_tokens, quoted
from contextasm.upkeep.memory_merging import Audience, can_merge, changed_fields, memory_audience, merge_memories
from contextasm.upkeep.memory_states import is_stale_task
from contextasm.upkeep.similar_texts import similar_pairs


class SimilarMemories:
    """Which memories of an owner are alike; only those of one audience are compared."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        """Compare the memories, whose order decides which of two comes first."""
        self._shares: dict[str, dict[str, float]] = {}
        self._twins: dict[str, str] = {}
        audiences: dict[Audience, list[Memory]] = {}
        for memory in memories:
            audiences.setdefault(memory_audience(memory), []).append(memory)
        for of_audience in audiences.values():
            for pair in similar_pairs([fold_text(memory.text) for memory in of_audience]):
                earlier, later = of_audience[pair.earlier].id, of_audience[pair.later].id
                self._shares.setdefault(earlier, {})[later] = pair.share
                self._shares.setdefault(later, {})[earlier] = pair.share
                if pair.share == 1:
                    self._twins[later] = earlier

    def shares(self, memory: Memory) -> Mapping[str, float]:
        """Similarity, from `LIKE` to 1, of the memories that are like this one, by id; those like its twin, too."""
        shares = self._shares.get(memory.id, {})
        twin = self._twins.get(memory.id)
        if not twin:
            return shares
        return {id_: share for id_, share in {**self._shares[twin], **shares}.items() if id_ != memory.id}


class DuplicateGroup(NamedTuple):
    """A memory with those that say the same."""

    kept: Memory
    """The one that stays: a pinned one, else the oldest."""
    merged: Memory
    """The one that stays with the fields of all."""
    others: tuple[Memory, ...] = ()

    @property
    def memories(self) -> tuple[Memory, ...]:
        """All of them, the one that stays first."""
        return (self.kept, *self.others)


def group_duplicates(
    edits: OwnerEdits, memories: Sequence[Memory], similar: SimilarMemories, today: date
) -> list[DuplicateGroup]:
    """The memories in groups, each memory in one; the first of a group is the first in order, and most are alone.

    Only a memory that can be archived joins another one, and none whose fields contradict those of the group.
    """
    groups: dict[str, DuplicateGroup] = {}
    for memory in memories:
        same = {id_: share for id_, share in similar.shares(memory).items() if share * 100 >= SAME_PERCENT}
        for id_ in sorted(same, key=lambda id_: -same[id_]) if same and edits.can_archive(memory) else ():
            group = groups.get(id_)
            if group and edits.can_change(group.kept) and can_merge(group.merged, memory):
                merged = merge_memories(group.merged, memory)
                if is_stale_task(merged, today):
                    continue  # the task may be new: it has no day
                groups[id_] = group._replace(merged=merged, others=(*group.others, memory))
                break
        else:
            groups[memory.id] = DuplicateGroup(memory, memory)
    return [*groups.values()]


def reinforce(edits: OwnerEdits, group: DuplicateGroup, written: Mapping[str, Memory]) -> Action:
    """The action that sets what the kept memory gains, and archives the others; `written` has all as they stand."""
    others = [written[memory.id] for memory in group.others]
    kept = written[group.kept.id]
    archived = edits.archive(others)
    fields = changed_fields(kept, group.merged)
    places = ", ".join(memory_place(memory) for memory in others)
    reason = f"{quoted(kept)} says the same as {places}"
    action = change_action("reinforce", [kept, *others], reason, needs_approval=False)
    kept_edits = (edits.set_fields(kept, fields),) if fields else ()
    return action._replace(
        edits=(*kept_edits, *archived.edits), moves=archived.moves, tokens_saved=memory_tokens(others)
    )
