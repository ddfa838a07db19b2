"""Sorting: which memories belong to a layer by their tier or by a quota of their keys, and under which group.

A memory that belongs to another layer is no fragment of this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from contextasm.model import Layer, Memory, Problem

NO_KEY = "root/other"
"""The key of a memory that has none."""


class GroupedMemory(NamedTuple):
    """A memory with its place in a layer."""

    memory: Memory
    place: tuple[int, ...]
    """Empty where only rank decides."""


def group_memories(
    found: Sequence[Memory], layer: Layer, out: Mapping[str, object]
) -> tuple[list[GroupedMemory], list[Problem]]:
    """The memories of a layer, and what is wrong with them. `out` holds the ids of those that do not count at all."""
    problems = [problem for memory in found for problem in _wrong(memory, layer)]
    own = [memory for memory in found if not layer.memories.tier or memory_tier(memory, layer) == layer.memories.tier]
    if layer.memories.key_quota:
        return [*_within_quota([memory for memory in own if memory.id not in out], layer)], problems
    if not layer.display.group_template:
        return [GroupedMemory(memory, ()) for memory in own], problems
    order = _group_order({memory_key(memory) for memory in own}, layer)
    return [GroupedMemory(memory, (order[memory_key(memory)],)) for memory in own], problems


def memory_key(memory: Memory) -> str:
    """The key that a memory is sorted under."""
    return memory.key or NO_KEY


def group_name(key: str) -> str:
    """A key as a person would say it: `root/code-style` is `Code style`."""
    return key.rpartition("/")[2].replace("-", " ").capitalize()


def memory_tier(memory: Memory, layer: Layer) -> str:
    """The tier of a memory: its own, else that of its key."""
    if memory.tier:
        return memory.tier
    return next((tier for pattern, tier in layer.memories.tier_of_key if fnmatchcase(memory_key(memory), pattern)), "")


def _wrong(memory: Memory, layer: Layer) -> Iterator[Problem]:
    """A tier that no layer has, and fields over their limits."""
    known = dict.fromkeys(tier for _, tier in layer.memories.tier_of_key)
    if memory.tier and known and memory.tier not in known:
        message = f"tier {memory.tier} is none of {', '.join(known)}, so no layer shows it"
        yield Problem("unknown-tier", memory.path, memory.line, message)
    title = memory.text.partition("\n")[0]
    sizes = {"title": len(title), "text": len(memory.text), "files": len(memory.files), "tags": len(memory.tags)}
    for name, limit in layer.memories.field_limits:
        if sizes[name] > limit:
            unit = "characters" if name in {"title", "text"} else name
            message = f"{name} has {sizes[name]} {unit}, over the limit of {limit}"
            yield Problem("over-limit", memory.path, memory.line, message)


def _within_quota(own: Sequence[Memory], layer: Layer) -> Iterator[GroupedMemory]:
    """So many memories for each pattern of keys, the most important first; each memory once."""
    best = sorted(own, key=lambda each: (-each.importance, -each.confidence, each.text, each.id))
    taken: set[str] = set()
    for place, (pattern, count) in enumerate(layer.memories.key_quota):
        fitting = [each for each in best if each.id not in taken and fnmatchcase(memory_key(each), pattern)]
        for number, memory in enumerate(fitting[:count]):
            taken.add(memory.id)
            yield GroupedMemory(memory, (place, number))


def _group_order(keys: set[str], layer: Layer) -> dict[str, int]:
    """The place of each group: in the layer's order, those that it does not name behind, by name."""

    def place(key: str) -> tuple[int, str]:
        fitting = (number for number, pattern in enumerate(layer.display.group_order) if fnmatchcase(key, pattern))
        return next(fitting, len(layer.display.group_order)), key

    return {key: number for number, key in enumerate(sorted(keys, key=place))}
