"""Sources `search`, `recent` and `weighed`: memories that match the topic, all of them, or all with scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from contextasm.model import Ask, Found, Fragment, Layer, Memory, Problem, Reason, Request
from contextasm.model.score import Parts, parts
from contextasm.retrieval.memory_groups import Sorted, belonging, group_name, key
from contextasm.retrieval.memory_pool import ReadPool, entry, read, standing
from contextasm.retrieval.memory_search import everyone, matches, pooled
from contextasm.retrieval.reading import named
from contextasm.text.matching import names_it
from contextasm.text.templates import fill

if TYPE_CHECKING:
    from contextasm.retrieval.search.hybrid import Hit


def recent(ask: Ask) -> Found:
    """Every memory of the layer's files; those that do not count say why."""
    return pooled(ask, lambda pool: _found(ask, pool)[0], everyone, _shown_alone)


def search(ask: Ask) -> Found:
    """The memories of the layer's files, those that match the request's topic with the parts of their scores.

    Nothing at all where there is no topic.
    """
    if not ask.request.topic.strip():
        return Found()
    return pooled(ask, partial(_searched, ask), matches, _shown_alone)


def _shown_alone(memory: Memory, layer: Layer, score: Parts) -> Fragment:
    """A memory that counts, in the form in which the layer shows it."""
    return fragment(Sorted(memory, ()), layer, None)._replace(score=score)


def _searched(ask: Ask, pool: ReadPool) -> Found:
    """Every memory of the layer's files, those that match with their scores."""
    found, own = _found(ask, pool)
    asked = [number for number, each in enumerate(found.fragments) if each.out is None]
    hits, problems = _hits(ask, [own[number] for number in asked])
    fragments = [*found.fragments]
    for row, number in enumerate(asked):
        if hit := hits.get(row):
            score = (*_parts(own[number], hit.similarity, ask), *hit.parts, *_own_parts(own[number], ask))
            fragments[number] = fragments[number]._replace(score=score)
        else:
            fragments[number] = fragments[number]._replace(out=Reason("no-match"))
    return found._replace(fragments=tuple(fragments), problems=(*found.problems, *problems))


def _hits(ask: Ask, pool: Sequence[Memory]) -> tuple[Mapping[int, Hit], tuple[Problem, ...]]:
    """The memories that answer the topic, by their place: by words, and by meaning too where that can be asked."""
    from contextasm.retrieval.search.bm25 import index, similarities
    from contextasm.retrieval.search.hybrid import Hit, fused

    topic, floor = ask.request.topic, ask.layer.floor
    entries = [entry(each) for each in pool]
    postings = index(entries)
    words = similarities(topic, postings, floor)
    near = ask.meaning(topic, [each.text for each in pool]) if ask.meaning and pool else ()
    if isinstance(near, Problem) or not near:
        problems = (near,) if isinstance(near, Problem) else ()
        return {row: Hit(similarity) for row, similarity in words.items()}, problems
    return fused(words, similarities(topic, postings, 0.0), near, floor, entries), ()


def weighed(ask: Ask) -> Found:
    """Every memory of the layer's files, with the parts of its score that no topic decides."""
    found, own = _found(ask, read(ask.workspace, [*named(ask)]))
    fragments = []
    for each, memory in zip(found.fragments, own, strict=True):
        fragments.append(each._replace(score=_parts(memory, 0.0, ask)[1:] + _own_parts(memory, ask)))
    return found._replace(fragments=tuple(fragments))


def _own_parts(memory: Memory, ask: Ask) -> tuple[tuple[str, float], ...]:
    """Further parts, as far as the layer weighs them: how sure a memory is, whether it names a file that is open."""
    weighed = dict(ask.layer.weights)
    further = (("confidence", memory.confidence), ("open", float(names_open(memory, ask.request))))
    return tuple(part for part in further if part[0] in weighed)


def names_open(memory: Memory, request: Request) -> bool:
    """Whether a memory names a file that is open, by its path or by its name."""
    names = {name for path in request.open for name in (path, path.rpartition("/")[2])}
    folded = memory.text.casefold()
    return bool(names & set(memory.files)) or any(names_it(folded, name) for name in names)


def _parts(memory: Memory, similarity: float, ask: Ask) -> Parts:
    """The parts of a memory's score that every layer knows."""
    own = standing(memory)
    return parts(similarity, own.importance, own.last, ask.request.date)


def _found(ask: Ask, pool: ReadPool) -> tuple[Found, tuple[Memory, ...]]:
    """Every memory of the layer as a fragment, and as it stands."""
    out = {memory.id: reason for memory, reason in zip(pool.every, pool.outs, strict=True) if reason}
    chosen, unfit = belonging(pool.every, ask.layer, out)
    fragments = tuple(fragment(each, ask.layer, out.get(each.memory.id)) for each in chosen)
    return Found(fragments, pool.documents, (*pool.problems, *unfit)), tuple(each.memory for each in chosen)


def fragment(placed: Sorted, layer: Layer, out: Reason | None) -> Fragment:
    """A memory in the form in which the layer shows it."""
    memory = placed.memory
    text = fill(layer.line, _shown(memory)) if layer.line else memory.text
    return Fragment(
        id=memory.id,
        path=memory.path,
        line=memory.line,
        text="\n".join(line.rstrip() for line in text.split("\n")),
        heading=layer.heading[0],
        group=fill(layer.group, {"key": key(memory), "name": group_name(key(memory))}),
        place=placed.place,
        day=memory.created,
        keep=layer.keep,
        tags=memory.tags,
        kind=memory.type,
        key=memory.key,
        dedup=memory.dedup,
        said=memory.text,
        out=out,
    )


def _shown(memory: Memory) -> dict[str, str]:
    """What a layer's line may say of a memory."""
    text = memory.text.replace("\n", "\n  ")
    title, mark, rest = text.partition("\n")
    confidence = f"{memory.confidence:.2f}"
    return {"type": memory.type, "text": text, "title": title, "rest": mark + rest, "confidence": confidence}
