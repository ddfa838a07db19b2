"""Near-duplicates among the memories of one owner: groups of memories that say the same, each merged into one.

By the measure of `remember`: at least 92 per cent alike, with the same numbers and negations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import chain, pairwise
from typing import NamedTuple

from contextasm.model import Memory
from contextasm.text.similarity import SAME_PERCENT, find_similar, fold_text, similarity
from contextasm.upkeep.base.action import Action
from contextasm.upkeep.memories.edits import OwnerEdits, change_action, memory_place, memory_tokens, quoted
from contextasm.upkeep.memories.states import (
    Audience,
    can_merge,
    changed_fields,
    is_stale_task,
    memory_audience,
    merge_memories,
)

LIKE = 0.8
"""Least similarity of two texts that belong together (digest 1.6)."""

MAX_COMPARED = 500
"""Number of texts that are all compared with each other; of more, those alone that share a rare part."""

MAX_LENGTH = 10_000
"""Characters of the longest text that is compared by its letters; a longer one must be equal."""

_RAREST = 8
"""Parts of a text by which others are found: those in the fewest texts, but in more than one."""

_MAX_POSTINGS = 64
"""Texts, the earliest, that are found by one part."""

_MAX_CANDIDATES = 32
"""Texts that one is compared with: those that share the most of its rarest parts."""

_LONG_WORD = 5
_FEW_WORDS = 8
"""Texts of fewer words share too few pairs of words; they are parted into letters."""


class SimilarPair(NamedTuple):
    """Two texts that are alike."""

    earlier: int
    later: int
    """Their places among the texts."""
    share: float
    """Similarity, `LIKE` to 1."""


def similar_pairs(texts: Sequence[str]) -> Iterator[SimilarPair]:
    """The pairs of folded texts that are alike, by the measure of `remember`; each pair once.

    The numbers and negations of the two are the same. Of equal texts, the first one stands for the others in pairs with
    different texts. Takes a time that grows with the number of texts, not with its square.
    """
    first_of: dict[str, int] = {}
    distinct: list[int] = []
    for at, text in enumerate(texts):
        if text in first_of:
            yield SimilarPair(first_of[text], at, 1.0)
        elif text:
            first_of[text] = at
            if len(text) <= MAX_LENGTH:
                distinct.append(at)
    search = _AllEarlier() if len(distinct) <= MAX_COMPARED else _RareParts([texts[at] for at in distinct])
    for number, at in enumerate(distinct):
        numbers = search.candidates(number)
        for hit in find_similar(texts[at], [texts[distinct[other]] for other in numbers], _LETTERS_PERCENT):
            earlier = distinct[numbers[hit.at]]
            share = similarity(texts[earlier], texts[at])
            if share >= LIKE:
                yield SimilarPair(earlier, at, share)


_LETTERS_PERCENT = int(LIKE * 100) - 1
"""Per cent: a rounded share may fall short of the boundary."""


class _AllEarlier:
    """Candidates among few texts."""

    def candidates(self, number: int) -> Sequence[int]:
        """The numbers of all texts before this one."""
        return range(number)


class _RareParts:
    """Candidates among many texts, by their parts."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Find the rarest parts of each text, but for those that no other has."""
        all_parts = [_parts(text) for text in texts]
        counts = Counter(chain.from_iterable(all_parts))
        shared = {part for part, count in counts.items() if count > 1}
        self._rarest = [sorted([(counts[part], part) for part in parts & shared])[: 2 * _RAREST] for parts in all_parts]
        self._postings: dict[str, list[int]] = {}

    def candidates(self, number: int) -> Sequence[int]:
        """The numbers of earlier texts that share rare parts with this one; called once for each, in their order."""
        rarest, postings = self._rarest[number], self._postings
        lists = [postings[part] for _, part in rarest[:_RAREST] if part in postings]
        # One text is found by more of its parts than it asks for: of two alike, one has a rare part more.
        for _, part in rarest:
            posting = postings.setdefault(part, [])
            if len(posting) < _MAX_POSTINGS:
                posting.append(number)
        hits = Counter(chain.from_iterable(lists))
        hits.pop(number, None)
        if len(hits) <= _MAX_CANDIDATES:
            return sorted(hits)
        return sorted(sorted(hits, key=hits.__getitem__, reverse=True)[:_MAX_CANDIDATES])


def _parts(text: str) -> set[str]:
    words = text.split()
    if len(words) < _FEW_WORDS or not text.isascii():
        return {text[at : at + 4] for at in range(max(1, len(text) - 3))}
    pairs = {f"{one} {other}" for one, other in pairwise(words)}
    return pairs.union(word for word in words if len(word) >= _LONG_WORD)


MAX_EQUAL = 64
"""Memories of one text, the earliest, that another one is tried with; more than one stay if their fields contradict."""


class SimilarMemories:
    """Which memories of an owner are alike; only those of one audience are compared.

    Memories of equal text are one class, named by the id of its first one. A class is compared as one, so that any
    number of equal memories takes a time that grows with it.
    """

    def __init__(self, memories: Sequence[Memory]) -> None:
        """Compare the memories, whose order decides which of two comes first."""
        self._class_of: dict[str, str] = {}
        self._members: dict[str, list[str]] = {}
        self._shares: dict[str, dict[str, float]] = {}
        audiences: dict[Audience, list[Memory]] = {}
        for memory in memories:
            audiences.setdefault(memory_audience(memory), []).append(memory)
            self._class_of[memory.id] = memory.id
        for of_audience in audiences.values():
            for pair in similar_pairs([fold_text(memory.text) for memory in of_audience]):
                earlier, later = of_audience[pair.earlier].id, of_audience[pair.later].id
                if pair.share == 1:
                    self._class_of[later] = earlier
                else:
                    self._shares.setdefault(earlier, {})[later] = pair.share
                    self._shares.setdefault(later, {})[earlier] = pair.share
        for id_, first in self._class_of.items():
            self._members.setdefault(first, []).append(id_)

    def class_of(self, memory: Memory) -> str:
        """The class of a memory; of one that was not compared, a class of its own."""
        return self._class_of.get(memory.id, memory.id)

    def members(self, name: str) -> Sequence[str]:
        """Ids of the memories of a class, in order; empty for one that was not compared."""
        return self._members.get(name, ())

    def alike(self, name: str) -> Mapping[str, float]:
        """Similarity, from `LIKE` to 1, of the classes that are like this one, itself first, the most similar first."""
        shares = self._shares.get(name)
        return {name: 1.0, **dict(sorted(shares.items(), key=lambda item: -item[1]))} if shares else {name: 1.0}


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
    firsts: dict[str, list[str]] = {}
    for memory in memories:
        own = similar.class_of(memory)
        candidates = [*_groups_to_join(similar, own, firsts)]
        for id_ in candidates if candidates and edits.can_archive(memory) else ():
            group = groups[id_]
            if edits.can_change(group.kept) and can_merge(group.merged, memory):
                merged = merge_memories(group.merged, memory)
                if is_stale_task(merged, today):
                    continue  # the task may be new: it has no day
                groups[id_] = group._replace(merged=merged, others=(*group.others, memory))
                break
        else:
            groups[memory.id] = DuplicateGroup(memory, memory)
            firsts.setdefault(own, []).append(memory.id)
    return [*groups.values()]


def _groups_to_join(similar: SimilarMemories, name: str, firsts: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The first memories of groups that say the same as a class; the most similar first, the earliest of each class."""
    for other, share in similar.alike(name).items():
        if share * 100 >= SAME_PERCENT:
            yield from firsts.get(other, ())[:MAX_EQUAL]


def other_texts(similar: SimilarMemories, memories: Sequence[Memory]) -> Iterator[str]:
    """Ids of memories that are like one of these and none of them, one of each text."""
    ids = {memory.id for memory in memories}
    classes = dict.fromkeys(other for memory in memories for other in similar.alike(similar.class_of(memory)))
    for name in classes:
        other = next((id_ for id_ in similar.members(name) if id_ not in ids), None)
        if other is not None:
            yield other


def reinforce(edits: OwnerEdits, group: DuplicateGroup, written: Mapping[str, Memory]) -> Action:
    """The action that sets what the kept memory gains, and archives the others; `written` has all as they stand."""
    others = [written[memory.id] for memory in group.others]
    kept = written[group.kept.id]
    archived = edits.archive(others)
    fields = changed_fields(kept, group.merged)
    reason = f"{quoted(kept)} says the same as {_places(others)}"
    action = change_action("reinforce", [kept, *others], reason, needs_approval=False)
    kept_edits = (edits.set_fields(kept, fields),) if fields else ()
    return action._replace(
        edits=(*kept_edits, *archived.edits), moves=archived.moves, tokens_saved=memory_tokens(others)
    )


def _places(memories: Sequence[Memory]) -> str:
    """The places of memories, for a reason; of many the first, for the archive repeats a reason at every text."""
    named = memories if len(memories) <= _MOST_NAMED else memories[: _MOST_NAMED - 1]
    places = ", ".join(map(memory_place, named))
    rest = len(memories) - len(named)
    return f"{places} and {rest:,} more" if rest else places


_MOST_NAMED = 4
