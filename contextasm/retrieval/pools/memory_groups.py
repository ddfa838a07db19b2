"""Memory groups: the memories that belong to a layer by tier or by a quota of keys, and the group of each.

A memory that belongs to another layer is no fragment of this one. Scores nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from contextasm.model import Layer, Memory, Problem
from contextasm.text.markdown.blocks import heading
from contextasm.text.names.glob import wildcard_matches
from contextasm.text.similarity import text_fingerprint

_WORD = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_KEY = re.compile(rf"{_WORD.pattern}(?:/{_WORD.pattern})*")

NO_KEY = "root/other"
"""Key of a memory that has none."""


class GroupedMemory(NamedTuple):
    """A memory with its place in a layer."""

    memory: Memory
    place: tuple[int, ...]
    """Empty where rank alone decides."""


def group_memories(
    memories: Sequence[Memory], layer: Layer, exclusions: Mapping[str, object], merge: Sequence[str] = ()
) -> tuple[list[GroupedMemory], list[Problem]]:
    """The layer's memories with their places, and the problems of all memories.

    `exclusions` holds the ids of excluded memories, which take no part in a quota. Of memories that are the same by
    the methods `merge` of the profile, a quota takes the surest alone.
    """
    problems = [problem for memory in memories for problem in _memory_problems(memory, layer)]
    tier = layer.memories.tier
    members = [memory for memory in memories if not tier or memory_tier(memory, layer) == tier]
    if layer.memories.key_quota:
        active = [memory for memory in members if memory.id not in exclusions]
        return [*_within_quota(_surest_of_twins(active, layer, merge), layer)], problems
    if not layer.display.group_template:
        return [GroupedMemory(memory, ()) for memory in members], problems
    order = _group_places({memory_key(memory) for memory in members}, layer)
    return [GroupedMemory(memory, (order[memory_key(memory)],)) for memory in members], problems


def memory_key(memory: Memory) -> str:
    """Key of a memory; `NO_KEY` for a memory that has none."""
    return memory.key or NO_KEY


def group_name(key: str) -> str:
    """Name of a key in words: `root/code-style` is `Code style`."""
    return key.rpartition("/")[2].replace("-", " ").capitalize()


def memory_tier(memory: Memory, layer: Layer) -> str:
    """Tier of a memory, as it says itself or as the layer gives its key one; empty for none."""
    if memory.tier:
        return memory.tier
    return next(
        (tier for pattern, tier in layer.memories.tier_of_key if wildcard_matches(pattern, memory_key(memory))), ""
    )


def _memory_problems(memory: Memory, layer: Layer) -> Iterator[Problem]:
    tiers = dict.fromkeys(tier for _, tier in layer.memories.tier_of_key)
    if memory.tier and tiers and memory.tier not in tiers:
        message = f"tier {memory.tier} is none of {', '.join(tiers)}, so no layer shows it"
        yield Problem("unknown-tier", memory.path, memory.line, message)
    first_line = memory.text.partition("\n")[0]
    level_and_title = heading(first_line)
    title = level_and_title[1] if level_and_title else first_line
    sizes = {"title": len(title), "text": len(memory.text), "files": len(memory.files), "tags": len(memory.tags)}
    for name, limit in layer.memories.field_limits:
        if sizes[name] > limit:
            unit = "characters" if name in {"title", "text"} else name
            message = f"{name} has {sizes[name]} {unit}, over the limit of {limit}"
            yield Problem("over-limit", memory.path, memory.line, message)
    if layer.memories.field_limits:
        yield from _form_problems(memory)


def _form_problems(memory: Memory) -> Iterator[Problem]:
    # Where fields are limited, keys and tags come from a schema: lower case and hyphens (digest 5.2).
    if memory.key and not _KEY.fullmatch(memory.key):
        message = f"key {memory.key} is not lower-case words with hyphens between slashes, such as root/code-style"
        yield Problem("bad-key", memory.path, memory.line, message)
    for tag in memory.tags:
        if not _WORD.fullmatch(tag):
            message = f"tag {tag} is not a lower-case word with hyphens, such as code-style"
            yield Problem("bad-tag", memory.path, memory.line, message)


def _surest_of_twins(memories: Sequence[Memory], layer: Layer, merge: Sequence[str]) -> list[Memory]:
    """The memories that a quota may take, without those that say the same as a surer one of them."""
    patterns = [pattern for pattern, _ in layer.memories.key_quota]
    candidates = [
        memory for memory in memories if any(wildcard_matches(pattern, memory_key(memory)) for pattern in patterns)
    ]
    seen: set[tuple[object, ...]] = set()
    distinct: list[Memory] = []
    for memory in sorted(candidates, key=lambda memory: (-memory.confidence, -memory.importance, memory.text)):
        text = text_fingerprint(memory.text)
        names: set[tuple[object, ...]] = {("content", text.folded)} if "content" in merge else set()
        if "dedup" in merge and memory.dedup:
            names.add(("dedup", memory.dedup, text.figures))
        if not names & seen:
            distinct.append(memory)
        seen |= names
    return distinct


def _within_quota(memories: Sequence[Memory], layer: Layer) -> Iterator[GroupedMemory]:
    # The most important first; each memory is taken once, by the first pattern with room for it.
    best_first = sorted(memories, key=lambda memory: (-memory.importance, -memory.confidence, memory.text, memory.id))
    taken: set[str] = set()
    for place, (pattern, count) in enumerate(layer.memories.key_quota):
        matching = [
            memory for memory in best_first if memory.id not in taken and wildcard_matches(pattern, memory_key(memory))
        ]
        for number, memory in enumerate(matching[:count]):
            taken.add(memory.id)
            yield GroupedMemory(memory, (place, number))


def _group_places(keys: set[str], layer: Layer) -> dict[str, int]:
    # In the layer's order; keys that the layer does not name are behind it, by name.

    def sort_key(key: str) -> tuple[int, str]:
        patterns = (
            number for number, pattern in enumerate(layer.display.group_order) if wildcard_matches(pattern, key)
        )
        return next(patterns, len(layer.display.group_order)), key

    return {key: number for number, key in enumerate(sorted(keys, key=sort_key))}
