"""Memories that say the same, merged into one: which two can be, and the fields that the one has then."""

from __future__ import annotations

from typing import NamedTuple

from contextasm.model import Memory
from contextasm.text.memory_writer import field_text, is_value
from contextasm.workspace.editing.remember import DEFAULT_TYPE

_ONE_VALUE = ("key", "tier", "dedup")
"""Fields of which a memory has one value or none."""


class Audience(NamedTuple):
    """Whom a memory is told, and until when: two memories that differ in it can't become one."""

    is_private: bool
    expires: str


def memory_audience(memory: Memory) -> Audience:
    """The audience of a memory."""
    return Audience(memory.private or "private" in memory.tags, memory.expires)


def can_merge(one: Memory, other: Memory) -> bool:
    """Whether one memory can keep all that the fields of both say, which a file can hold."""
    if memory_audience(one) != memory_audience(other):
        return False
    if one.type != other.type and DEFAULT_TYPE not in {one.type, other.type}:
        return False
    pairs = [(getattr(one, name), getattr(other, name)) for name in _ONE_VALUE]
    if any(mine and theirs and mine != theirs for mine, theirs in pairs):
        return False
    return all(is_value(value) for value in changed_fields(one, merge_memories(one, other)).values())


def merge_memories(kept: Memory, other: Memory) -> Memory:
    """The memory `kept` with the tags, key and type of both, the higher importance, and the last day of use."""
    last = max(other.accessed, other.created)
    return kept._replace(
        type=other.type if kept.type == DEFAULT_TYPE else kept.type,
        importance=max(kept.importance, other.importance),
        confidence=max(kept.confidence, other.confidence),
        accessed=last if last > max(kept.accessed, kept.created) else kept.accessed,
        key=kept.key or other.key,
        tier=kept.tier or other.tier,
        dedup=kept.dedup or other.dedup,
        tags=_union(kept.tags, other.tags),
        files=_union(kept.files, other.files),
        supersedes=_union(kept.supersedes, other.supersedes),
    )


def _union(words: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return (*words, *(word for word in more if word not in words))


def changed_fields(old: Memory, new: Memory) -> dict[str, str]:
    """The fields in which two states of a memory differ, as they are written."""
    if old == new:
        return {}
    return {name: field_text(value) for name, value in new._asdict().items() if value != getattr(old, name)}
