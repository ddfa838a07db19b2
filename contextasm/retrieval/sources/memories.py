"""Sources `search`, `recent` and `weighed`: memories that match the topic, all of them, or all with scores.

How memories are scored, and how a large pool is searched, is in `memory_pool`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from contextasm.model import (
    PIN_FIELD,
    Fragment,
    FragmentDisplay,
    Labels,
    Layer,
    Location,
    Memory,
    Problem,
    Reason,
    Request,
    RetrievalResult,
    Score,
    SourceQuery,
    Verdict,
    memory_score,
)
from contextasm.retrieval.pools.entries import ReadPool, read_pool
from contextasm.retrieval.pools.memory_groups import GroupedMemory, group_memories, group_name, memory_key
from contextasm.retrieval.pools.memory_pool import MEMORIES, future_reason, index_entry, layer_memories, score_inputs
from contextasm.retrieval.reading.files import query_paths
from contextasm.text.names.matching import mentions
from contextasm.text.names.templates import fill_item, fill_template

if TYPE_CHECKING:
    from contextasm.retrieval.reading.feedback import WorkspaceFeedback
    from contextasm.retrieval.search.hybrid import HybridHit


def recent_memories(query: SourceQuery) -> RetrievalResult:
    """Memories of the layer's files as fragments; each excluded one has its reason."""
    return layer_memories(query, lambda pool: _pool_fragments(query, pool)[0], _scored_fragment, by_topic=False)


def search_memories(query: SourceQuery) -> RetrievalResult:
    """Memories of the layer's files as fragments, those that match the topic with scores; none without a topic."""
    if not query.build.request.topic.strip():
        return RetrievalResult()
    return layer_memories(query, partial(_topic_fragments, query), _scored_fragment, by_topic=True)


def _scored_fragment(memory: Memory, layer: Layer, score: Score) -> Fragment:
    return memory_fragment(GroupedMemory(memory, ()), layer, None)._replace(score=score)


def _topic_fragments(query: SourceQuery, pool: ReadPool[Memory]) -> RetrievalResult:
    result, memories = _pool_fragments(query, pool)
    candidates = [number for number, fragment in enumerate(result.fragments) if fragment.verdict.excluded is None]
    hits, problems = _hits(query, [memories[number] for number in candidates])
    fragments = [*result.fragments]
    feedback = _feedback(query)
    for row, number in enumerate(candidates):
        if hit := hits.get(row):
            memory = memories[number]
            weighted = _weighted_parts(memory, query, feedback)
            score = (*_common_parts(memory, hit.similarity, query), *hit.parts, *weighted)
            fragments[number] = fragments[number]._replace(score=score)
        elif not memories[number].pin:
            fragments[number] = fragments[number].exclude(Reason("no-match"))
    result = result._replace(fragments=tuple(fragments), problems=(*result.problems, *problems))
    return feedback.added_to(result) if feedback else result


def _hits(query: SourceQuery, memories: Sequence[Memory]) -> tuple[Mapping[int, HybridHit], tuple[Problem, ...]]:
    # By position; by words, and by embeddings, too, where these are configured and in time.
    from contextasm.retrieval.search.bm25 import similarities
    from contextasm.retrieval.search.hybrid import HybridHit, fuse
    from contextasm.retrieval.search.inverted_index import build_index

    topic, min_match, semantics = query.build.request.topic, query.layer.query.min_match, query.build.semantics
    entries = [index_entry(memory) for memory in memories]
    index = build_index(entries)
    word_hits = similarities(topic, index, min_match)
    nearness = semantics(topic, [memory.text for memory in memories]) if semantics and memories else ()
    if isinstance(nearness, Problem) or not nearness:
        problems = (nearness,) if isinstance(nearness, Problem) else ()
        return {row: HybridHit(similarity) for row, similarity in word_hits.items()}, problems
    return fuse(word_hits, similarities(topic, index, 0.0), nearness, min_match, entries), ()


def weighed_memories(query: SourceQuery) -> RetrievalResult:
    """Memories of the layer's files as fragments, with the parts of their scores that need no topic."""
    result, memories = _pool_fragments(query, read_pool(query.build.workspace, MEMORIES, [*query_paths(query)]))
    feedback = _feedback(query)
    fragments = []
    for fragment, memory in zip(result.fragments, memories, strict=True):
        parts = _common_parts(memory, 0.0, query)[1:] + _weighted_parts(memory, query, feedback)
        fragments.append(fragment._replace(score=parts))
    result = result._replace(fragments=tuple(fragments))
    return feedback.added_to(result) if feedback else result


def _feedback(query: SourceQuery) -> WorkspaceFeedback | None:
    """The feedback up to the day of the request; None, and nothing read, where the layer does not weigh credibility."""
    if "credibility" not in dict(query.layer.ranking.weights):
        return None
    from contextasm.retrieval.reading.feedback import read_feedback  # here: most layers do not weigh it

    return read_feedback(query.build.workspace, query.build.request.date)


def _common_parts(memory: Memory, similarity: float, query: SourceQuery) -> Score:
    inputs = score_inputs(memory)
    return memory_score(similarity, inputs.importance, inputs.last, query.build.request.date)


def _weighted_parts(memory: Memory, query: SourceQuery, feedback: WorkspaceFeedback | None) -> Score:
    # Parts that a memory gets only where the layer gives them a weight.
    weights = dict(query.layer.ranking.weights)
    parts = (
        ("confidence", memory.confidence),
        ("credibility", feedback.credibility(memory) if feedback else 0.0),
        ("open", float(names_open(memory, query.build.request))),
    )
    return tuple(part for part in parts if part[0] in weights)


def names_open(memory: Memory, request: Request) -> bool:
    """Whether a memory names an open file of the request, by its path or by its name."""
    names = {name for path in request.open for name in (path, path.rpartition("/")[2])}
    folded = memory.text.casefold()
    return bool(names & set(memory.files)) or any(mentions(folded, name) for name in names)


def _pool_fragments(query: SourceQuery, pool: ReadPool[Memory]) -> tuple[RetrievalResult, tuple[Memory, ...]]:
    # With the memories of the fragments, in the same order.
    today = query.build.request.date
    reasons = (
        (memory.id, reason or future_reason(memory.created, today))
        for memory, reason in zip(pool.all_entries, pool.exclusions, strict=True)
    )
    exclusions = {name: reason for name, reason in reasons if reason}
    members, problems = group_memories(pool.all_entries, query.layer, exclusions, query.build.profile.merge)
    fragments = tuple(memory_fragment(member, query.layer, exclusions.get(member.memory.id)) for member in members)
    result = RetrievalResult(fragments, pool.documents, (*pool.problems, *problems))
    return result, tuple(member.memory for member in members)


def memory_fragment(member: GroupedMemory, layer: Layer, exclusion: Reason | None) -> Fragment:
    """A memory as the layer shows it; with an `exclusion`, it is excluded."""
    memory = member.memory
    template = layer.display.item_template
    text = fill_item(template, _item_values(memory), _LINES) if template else memory.text
    key = memory_key(memory)
    return Fragment(
        memory.id,
        Location(memory.path, memory.line),
        "\n".join(line.rstrip() for line in text.split("\n")),
        FragmentDisplay(
            layer.heading[0],
            group=fill_template(layer.display.group_template, {"key": key, "name": group_name(key)}),
            place=member.place,
            keep=layer.overflow.keep,
        ),
        statement=memory.text,
        labels=Labels(
            day=memory.created,
            kind=memory.type,
            key=memory.key,
            dedup=memory.dedup,
            tags=memory.tags,
            confidence=memory.confidence,
        ),
        verdict=Verdict(excluded=exclusion, pinned_by=PIN_FIELD if memory.pin and exclusion is None else ""),
    )


_LINES = frozenset({"text", "rest"})
"""Fields that may have several lines."""


def _item_values(memory: Memory) -> dict[str, str]:
    title, line_end, rest = memory.text.partition("\n")
    confidence = f"{memory.confidence:.2f}"
    return {"type": memory.type, "text": memory.text, "title": title, "rest": line_end + rest, "confidence": confidence}
