"""Sources `search`, `recent` and `weighed`: memories that match the topic, all of them, or all with scores.

How memories are scored, and how a large pool is searched, is in `retrieval/pool`. A memory that belongs to another
layer, by tier or by a quota of keys, is not a fragment of this one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from typing import TypeGuard

from contextasm.model import (
    PIN_FIELD,
    WRITTEN,
    EntryPool,
    Fragment,
    Labels,
    Layer,
    Location,
    Memory,
    MemoryScope,
    Problem,
    Reason,
    Request,
    RetrievalResult,
    Score,
    SourceQuery,
    T,
    Target,
    Verdict,
    memory_score,
)
from contextasm.retrieval.pool import (
    MANY,
    MEMORIES,
    ReadPool,
    best_and_counts,
    best_half,
    outside_reason,
    read_pool,
    topic_matches,
    topic_scores,
    use_pool,
    with_validity,
)
from contextasm.retrieval.reading.files import counts_rest, layer_display, query_paths
from contextasm.text.markdown.blocks import heading
from contextasm.text.names.dates import age_words
from contextasm.text.names.glob import glob_matches, wildcard_matches
from contextasm.text.names.matching import mentions
from contextasm.text.names.places import known_paths
from contextasm.text.names.templates import fill_item

_WORD = "[a-z0-9]+(?:-[a-z0-9]+)*"
_SCHEMA_FORMS = {
    "key": (f"{_WORD}(?:/{_WORD})*", "lower-case words with hyphens between slashes, such as root/code-style"),
    "tag": (_WORD, "a lower-case word with hyphens, such as code-style"),
}
"""Pattern and form of the values that come from a schema where fields are limited (digest 5.2)."""

Place = tuple[int, ...]
"""Place of a memory in its layer; empty if only the rank decides."""

NO_KEY = "root/other"
"""Key of a memory that has none."""


def group_memories(
    memories: Sequence[Memory], layer: Layer, exclusions: Mapping[str, object], merge: Sequence[str] = ()
) -> tuple[list[tuple[Memory, Place]], list[Problem]]:
    """The layer's memories with their places, and the problems of all memories.

    `exclusions` holds the ids of excluded memories, which take no part in a quota. Of memories that are the same by
    the methods `merge` of the profile, a quota takes only the surest.
    """
    problems = [problem for memory in memories for problem in _memory_problems(memory, layer)]
    tier = layer.memories.tier
    members = [memory for memory in memories if not tier or memory_tier(memory, layer) == tier]
    if layer.memories.key_quota:
        active = [memory for memory in members if memory.id not in exclusions]
        return [*_within_quota(_surest_of_twins(active, layer, merge), layer)], problems
    if not layer.display.group_template:
        return [(memory, ()) for memory in members], problems
    order = _group_places({memory_key(memory) for memory in members}, layer)
    return [(memory, (order[memory_key(memory)],)) for memory in members], problems


def memory_key(memory: Memory) -> str:
    """Key of a memory; `NO_KEY` for a memory that has none."""
    return memory.key or NO_KEY


def group_name(key: str) -> str:
    """Name of a key in words: `root/code-style` is `Code style`."""
    return key.rpartition("/")[2].replace("-", " ").capitalize()


def memory_tier(memory: Memory, layer: Layer) -> str:
    """Tier of a memory, as it says itself or as the layer gives its key one; empty for none."""
    tiers = (tier for pattern, tier in layer.memories.tier_of_key if wildcard_matches(pattern, memory_key(memory)))
    return memory.tier or next(tiers, "")


def _memory_problems(memory: Memory, layer: Layer) -> Iterator[Problem]:
    tiers = dict.fromkeys(tier for _, tier in layer.memories.tier_of_key)
    if memory.tier and tiers and memory.tier not in tiers:
        message = f"the tier `{memory.tier}` is not one of {', '.join(tiers)}, so no layer shows it"
        yield Problem("unknown-tier", memory.path, memory.line, message)
    if not layer.memories.field_limits:
        return
    first_line = memory.text.partition("\n")[0]
    level_and_title = heading(first_line)
    title = level_and_title[1] if level_and_title else first_line
    sizes = {"title": len(title), "text": len(memory.text), "files": len(memory.files), "tags": len(memory.tags)}
    for name, limit in layer.memories.field_limits:
        if sizes[name] > limit:
            unit = "characters" if name in {"title", "text"} else name
            message = f"`{name}` has {sizes[name]} {unit}, more than the limit of {limit}"
            yield Problem("over-limit", memory.path, memory.line, message)
    for name, value in (("key", memory.key), *(("tag", tag) for tag in memory.tags)):
        if value and value != schema_form(name, value):
            message = f"the {name} `{value}` is not {_SCHEMA_FORMS[name][1]}"
            yield Problem(f"bad-{name}", memory.path, memory.line, message)


def schema_form(name: str, value: str) -> str:
    """The value of a `key` or a `tag` as a schema has it: `Bad_Tag` is `bad-tag`. Empty if other characters are there.

    A value that has the form stays as it is.
    """
    form = re.sub(r"[\s_-]+", "-", value.casefold()).strip("-")
    return form if re.fullmatch(_SCHEMA_FORMS[name][0], form) else ""


def _surest_of_twins(memories: Sequence[Memory], layer: Layer, merge: Sequence[str]) -> list[Memory]:
    """The memories that a quota may take, without the ones that say the same as a surer one."""
    from contextasm.text.similarity import identities, text_fingerprint  # here: few layers have a quota

    patterns = [pattern for pattern, _ in layer.memories.key_quota]
    candidates = [
        memory for memory in memories if any(wildcard_matches(pattern, memory_key(memory)) for pattern in patterns)
    ]
    seen: set[tuple[str, ...]] = set()
    distinct: list[Memory] = []
    for memory in sorted(candidates, key=lambda memory: (-memory.confidence, -memory.importance, memory.text)):
        keys = {*identities(text_fingerprint(memory.text), memory.dedup, merge).values()}
        if not keys & seen:
            distinct.append(memory)
        seen |= keys
    return distinct


def _within_quota(memories: Sequence[Memory], layer: Layer) -> Iterator[tuple[Memory, Place]]:
    # The most important first; each memory is chosen once, by the first pattern with room for it.
    best_first = sorted(memories, key=lambda memory: (-memory.importance, -memory.confidence, memory.text, memory.id))
    chosen: set[str] = set()
    for place, (pattern, count) in enumerate(layer.memories.key_quota):
        matching = [
            memory for memory in best_first if memory.id not in chosen and wildcard_matches(pattern, memory_key(memory))
        ]
        for number, memory in enumerate(matching[:count]):
            chosen.add(memory.id)
            yield memory, (place, number)


def _group_places(keys: set[str], layer: Layer) -> dict[str, int]:
    # In the layer's order; keys that the layer does not name come after them, by name.

    def sort_key(key: str) -> tuple[int, str]:
        order = layer.display.group_order
        return next((at for at, pattern in enumerate(order) if wildcard_matches(pattern, key)), len(order)), key

    return {key: number for number, key in enumerate(sorted(keys, key=sort_key))}


# --- The sources -----------------------------------------------------------------------------------------------------


def recent_memories(query: SourceQuery) -> RetrievalResult:
    """Memories of the layer's files as fragments; each excluded one has its reason."""
    return use_memories(query, _recent_fragments)


def search_memories(query: SourceQuery) -> RetrievalResult:
    """Memories of the layer's files as fragments, matches of the topic with scores; none without a topic."""
    if not query.build.request.topic.strip():
        return RetrievalResult()
    return use_memories(query, _topic_fragments)


def _recent_fragments(query: SourceQuery, pool: EntryPool[Memory]) -> RetrievalResult:
    return _pool_fragments(query, pool)[0] if has_all(pool, query) else _best_fragments(query, pool, None)


def _best_fragments(query: SourceQuery, pool: EntryPool[Memory], scores: Mapping[int, Score] | None) -> RetrievalResult:
    """Fragments of the best memories of a large pool, and counts of the others."""
    best, counts = best_and_counts(query, pool, scores)
    fragments = [memory_fragment(memory, (), query, None)._replace(score=score) for memory, score in best]
    return RetrievalResult((*fragments, *counts), tuple(pool.documents), tuple(pool.problems))


def _topic_fragments(query: SourceQuery, pool: EntryPool[Memory]) -> RetrievalResult:
    keeps_newest = query.layer.query.keeps_newest
    if not has_all(pool, query):
        scores = topic_scores(query, pool)[0]
        return RetrievalResult() if keeps_newest and not scores else _best_fragments(query, pool, scores)
    result, memories = _pool_fragments(query, pool)
    candidates = [number for number, fragment in enumerate(result.fragments) if fragment.verdict.excluded is None]
    hits, problems = topic_matches(query, [memories[number] for number in candidates])
    if keeps_newest and not hits:
        return RetrievalResult(problems=problems)
    hits = best_half(hits, query.layer) if keeps_newest else hits
    fragments = [*result.fragments]
    for row, number in enumerate(candidates):
        if hit := hits.get(row):
            fragments[number] = fragments[number]._replace(score=(*hit, *_weighted_parts(memories[number], query)))
        elif not (memories[number].pin or keeps_newest):
            fragments[number] = fragments[number].exclude(Reason("no-match"))
    return result._replace(fragments=tuple(fragments), problems=(*result.problems, *problems))


def weighed_memories(query: SourceQuery) -> RetrievalResult:
    """Memories of the layer's files as fragments, with the parts of their scores that need no topic."""
    result, memories = _pool_fragments(query, read_pool(query.build.workspace, MEMORIES, query_paths(query)))
    fragments = []
    for fragment, memory in zip(result.fragments, memories, strict=True):
        parts = memory_score(0.0, memory.importance, memory.last_use, query.build.request.date)[1:]
        fragments.append(fragment._replace(score=parts + _weighted_parts(memory, query)))
    return result._replace(fragments=tuple(fragments))


def _weighted_parts(memory: Memory, query: SourceQuery) -> Score:
    # Parts that a memory gets only where the layer gives them a weight.
    weights = dict(query.layer.ranking.weights)
    parts = ("confidence", memory.confidence), ("open", float(names_open(memory, query.build.request)))
    return tuple(part for part in parts if part[0] in weights)


def names_open(memory: Memory, request: Request) -> bool:
    """Whether a memory names an open file of the request, by its path or by its name."""
    names = {name for path in request.open for name in (path, path.rpartition("/")[2])}
    folded = memory.text.casefold()
    return bool(names & set(memory.files)) or any(mentions(folded, name) for name in names)


def _pool_fragments(query: SourceQuery, pool: ReadPool[Memory]) -> tuple[RetrievalResult, tuple[Memory, ...]]:
    # With the memories of the fragments, in the same order.
    reasons = (
        (memory.id, reason or outside_reason(memory, query))
        for memory, reason in zip(pool.all_entries, pool.exclusions, strict=True)
    )
    exclusions = {name: reason for name, reason in reasons if reason}
    if query.layer.query.open_only:
        others = (memory.id for memory in pool.all_entries if not names_open(memory, query.build.request))
        exclusions = dict.fromkeys(others, Reason("no-match")) | exclusions
    members, problems = group_memories(pool.all_entries, query.layer, exclusions, query.build.profile.merge)
    fragments = tuple(memory_fragment(memory, place, query, exclusions.get(memory.id)) for memory, place in members)
    result = RetrievalResult(fragments, pool.documents, (*pool.problems, *problems))
    return result, tuple(memory for memory, _ in members)


def memory_fragment(memory: Memory, place: Place, query: SourceQuery, exclusion: Reason | None) -> Fragment:
    """A memory as the layer shows it; with an `exclusion`, it is excluded."""
    layer, today = query.layer, query.build.request.date
    template = layer.display.item_template
    values = _item_values(memory, today) if template else {}
    if "{words}" in template:
        from contextasm.text.graphemes import title_words  # here: few layers show titles only

        values["words"] = re.sub(r"([\[\]\\])", r"\\\1", title_words(memory.text))  # as the text of a link
    text = fill_item(template, values, _LINES) if template else memory.text
    text = with_validity("\n".join(line.rstrip() for line in text.split("\n")), memory, today)
    key = memory_key(memory)
    display = layer_display(layer, {"key": key, "name": group_name(key)}, place)
    if memory.writer:  # at the end of the section, in a fence; a key would be outside of it
        display = layer_display(layer, place=(1 << 59, *place))._replace(fence=WRITTEN)
    return Fragment(
        memory.id,
        Location(memory.path, memory.line),
        text,
        display,
        statement=memory.text,
        labels=Labels(
            day=memory.created,
            kind=memory.type,
            key=memory.key,
            dedup=memory.dedup,
            tags=memory.tags,
            confidence=memory.confidence,
            cites=memory.cites if layer.display.cited != "show" else (),
        ),
        verdict=Verdict(excluded=exclusion, pinned_by=PIN_FIELD if memory.pin and exclusion is None else ""),
    )


_LINES = frozenset({"text", "rest"})
"""Fields that may have several lines."""


_LINK_SIGNS = str.maketrans({sign: f"%{ord(sign):02X}" for sign in "%#?&<>:\\\t"})
"""Signs of a path that mean something else in a link of Markdown."""


def _item_values(memory: Memory, today: date) -> dict[str, str]:
    title, line_end, rest = memory.text.partition("\n")
    place = f"{memory.path.translate(_LINK_SIGNS)}#L{memory.line}"
    values = {"type": memory.type, "text": memory.text, "title": title, "rest": line_end + rest}
    values |= {"age": age_words(memory.created, today), "verified": age_words(memory.verified, today)}
    link = f"<{place}>" if any(sign in place for sign in " ()") else place
    return values | {"confidence": f"{memory.confidence:.2f}", "link": link}


INDEXED_SCORE_PARTS = {"similarity", "importance", "recency"}
"""Parts of a score that an indexed pool can compute."""


def use_memories(query: SourceQuery, use: Callable[[SourceQuery, EntryPool[Memory]], T]) -> T:
    """Result of `use` on the layer's memories; the query has no index if the layer needs all of them."""
    paths = [*query_paths(query)]
    if not can_use_index(query, paths):
        query = query._replace(build=query.build._replace(memory_index=None))
    return use_pool(query, MEMORIES, paths, partial(use, query))


def has_all(pool: EntryPool[Memory], query: SourceQuery) -> TypeGuard[ReadPool[Memory]]:
    """Whether each memory of the pool is a fragment; of a larger one, the others are counted (`best_and_counts`)."""
    lists_all = query.build.memory_index is None or (pool.size <= MANY and not counts_rest(query))
    return isinstance(pool, ReadPool) and lists_all


def can_use_index(query: SourceQuery, paths: Sequence[str]) -> bool:
    """Whether an indexed pool of these files can order and score the layer's memories.

    If the profile merges copies or settles conflicts, any memory may be one that takes the place of another. A rule
    that may apply to memories is applied to each of them.
    """
    layer, profile, rules = query.layer, query.build.profile, query.build.rules
    needs_memories = layer.memories != MemoryScope() or layer.display.group_template or layer.ranking.order != "best"
    return not (
        query.build.memory_index is None
        or "memories" in query.build.semantics
        or profile.merge
        or profile.conflicts
        or layer.query.open_only
        or needs_memories
        or {name for name, _ in layer.ranking.weights} - INDEXED_SCORE_PARTS
        or any(_may_mean_memory(effect.target, paths) for effect in (rules.effects if rules else ()))
    )


def _may_mean_memory(target: Target, paths: Sequence[str]) -> bool:
    """Whether the target of a rule may mean a memory of these files. No memory has an entity."""
    if target.kind == "path":
        return any(glob_matches(target.value, known) for path in paths for known in known_paths(path))
    if target.kind == "heading-path":
        return any(target.value in known_paths(path) for path in paths)
    return target.kind in {"id", "type", "tag"}
