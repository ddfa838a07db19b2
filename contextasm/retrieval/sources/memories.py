"""Sources `search_memories`, `recent_memories` and `weighed_memories`: memories that match the topic, all of them, or all with scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from contextasm.model import (
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
from contextasm.retrieval.memory_groups import GroupedMemory, group_memories, group_name, memory_key
from contextasm.retrieval.memory_pool import ReadPool, index_entry, read_pool, score_inputs
from contextasm.retrieval.memory_search import all_rows, search_pool, topic_scores
from contextasm.retrieval.reading import query_paths
from contextasm.text.matching import mentions
from contextasm.text.templates import fill_template

if TYPE_CHECKING:
    from contextasm.retrieval.search.hybrid import HybridHit


def recent_memories(query: SourceQuery) -> RetrievalResult:
    """Every memory of the layer's files; those that do not count say why."""
    return search_pool(query, lambda pool: _found(query, pool)[0], all_rows, _shown_alone)


def search_memories(query: SourceQuery) -> RetrievalResult:
    """The memories of the layer's files, those that match the request's topic with the parts of their scores.

    Nothing at all where there is no topic.
    """
    if not query.build.request.topic.strip():
        return RetrievalResult()
    return search_pool(query, partial(_searched, query), topic_scores, _shown_alone)


def _shown_alone(memory: Memory, layer: Layer, score: Score) -> Fragment:
    """A memory that counts, in the form in which the layer shows it."""
    return memory_fragment(GroupedMemory(memory, ()), layer, None)._replace(score=score)


def _searched(query: SourceQuery, pool: ReadPool) -> RetrievalResult:
    """Every memory of the layer's files, those that match with their scores."""
    found, own = _found(query, pool)
    asked = [number for number, each in enumerate(found.fragments) if each.verdict.excluded is None]
    hits, problems = _hits(query, [own[number] for number in asked])
    fragments = [*found.fragments]
    for row, number in enumerate(asked):
        if hit := hits.get(row):
            score = (*_parts(own[number], hit.similarity, query), *hit.parts, *_own_parts(own[number], query))
            fragments[number] = fragments[number]._replace(score=score)
        else:
            fragments[number] = fragments[number].exclude(Reason("no-match"))
    return found._replace(fragments=tuple(fragments), problems=(*found.problems, *problems))


def _hits(query: SourceQuery, pool: Sequence[Memory]) -> tuple[Mapping[int, HybridHit], tuple[Problem, ...]]:
    """The memories that answer the topic, by their place: by words, and by meaning too where that can be asked."""
    from contextasm.retrieval.search.bm25 import similarities
    from contextasm.retrieval.search.hybrid import HybridHit, fuse
    from contextasm.retrieval.search.inverted_index import build_index

    topic, floor = query.build.request.topic, query.layer.query.min_match
    entries = [index_entry(each) for each in pool]
    postings = build_index(entries)
    words = similarities(topic, postings, floor)
    near = query.build.semantics(topic, [each.text for each in pool]) if query.build.semantics and pool else ()
    if isinstance(near, Problem) or not near:
        problems = (near,) if isinstance(near, Problem) else ()
        return {row: HybridHit(similarity) for row, similarity in words.items()}, problems
    return fuse(words, similarities(topic, postings, 0.0), near, floor, entries), ()


def weighed_memories(query: SourceQuery) -> RetrievalResult:
    """Every memory of the layer's files, with the parts of its score that no topic decides."""
    found, own = _found(query, read_pool(query.build.workspace, [*query_paths(query)]))
    fragments = []
    for each, memory in zip(found.fragments, own, strict=True):
        fragments.append(each._replace(score=_parts(memory, 0.0, query)[1:] + _own_parts(memory, query)))
    return found._replace(fragments=tuple(fragments))


def _own_parts(memory: Memory, query: SourceQuery) -> tuple[tuple[str, float], ...]:
    """Further parts, as far as the layer weighs them: how sure a memory is, whether it names a file that is open."""
    weighed = dict(query.layer.ranking.weights)
    further = (("confidence", memory.confidence), ("open", float(names_open(memory, query.build.request))))
    return tuple(part for part in further if part[0] in weighed)


def names_open(memory: Memory, request: Request) -> bool:
    """Whether a memory names a file that is open, by its path or by its name."""
    names = {name for path in request.open for name in (path, path.rpartition("/")[2])}
    folded = memory.text.casefold()
    return bool(names & set(memory.files)) or any(mentions(folded, name) for name in names)


def _parts(memory: Memory, similarity: float, query: SourceQuery) -> Score:
    """The parts of a memory's score that every layer knows."""
    own = score_inputs(memory)
    return memory_score(similarity, own.importance, own.last, query.build.request.date)


def _found(query: SourceQuery, pool: ReadPool) -> tuple[RetrievalResult, tuple[Memory, ...]]:
    """Every memory of the layer as a fragment, and as it stands."""
    out = {memory.id: reason for memory, reason in zip(pool.every, pool.outs, strict=True) if reason}
    chosen, unfit = group_memories(pool.every, query.layer, out)
    fragments = tuple(memory_fragment(each, query.layer, out.get(each.memory.id)) for each in chosen)
    return RetrievalResult(fragments, pool.documents, (*pool.problems, *unfit)), tuple(each.memory for each in chosen)


def memory_fragment(placed: GroupedMemory, layer: Layer, out: Reason | None) -> Fragment:
    """A memory in the form in which the layer shows it."""
    memory = placed.memory
    text = fill_template(layer.display.item_template, _shown(memory)) if layer.display.item_template else memory.text
    return Fragment(
        memory.id,
        Location(memory.path, memory.line),
        "\n".join(line.rstrip() for line in text.split("\n")),
        FragmentDisplay(
            layer.heading[0],
            group=fill_template(
                layer.display.group_template, {"key": memory_key(memory), "name": group_name(memory_key(memory))}
            ),
            place=placed.place,
            keep=layer.overflow.keep,
        ),
        statement=memory.text,
        labels=Labels(day=memory.created, tags=memory.tags, kind=memory.type, key=memory.key, dedup=memory.dedup),
        verdict=Verdict(excluded=out),
    )


def _shown(memory: Memory) -> dict[str, str]:
    """What a layer's line may say of a memory."""
    text = memory.text.replace("\n", "\n  ")
    title, mark, rest = text.partition("\n")
    confidence = f"{memory.confidence:.2f}"
    return {"type": memory.type, "text": text, "title": title, "rest": mark + rest, "confidence": confidence}
