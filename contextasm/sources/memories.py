"""Sources `search`, `recent` and `weighed`: memories that match the topic, all of them, or all with scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from contextasm.model import Ask, Found, Fragment, Layer, Memory, Problem, Reason, Request
from contextasm.sources.pooled import Pick, everyone, fits, keep, kept, matches
from contextasm.sources.pools import COUNTING, KERNEL, replaced
from contextasm.sources.reading import texts
from contextasm.sources.sorting import Sorted, belonging, group_name, key
from contextasm.text.memories import distinct, memories
from contextasm.text.names import names_it
from contextasm.text.scores import Parts, recency
from contextasm.text.templates import fill

if TYPE_CHECKING:
    from contextasm.search.fusion import Hit


def recent(ask: Ask) -> Found:
    """Every memory of the layer's files; those that do not count say why."""
    return _pooled(ask, lambda: _found(ask)[0], everyone)


def search(ask: Ask) -> Found:
    """The memories of the layer's files, those that match the request's topic with the parts of their scores.

    Nothing at all where there is no topic.
    """
    return _pooled(ask, lambda: _searched(ask), matches) if ask.request.topic.strip() else Found()


def _pooled(ask: Ask, look: Callable[[], Found], pick: Pick) -> Found:
    """What a look at every memory finds; of many memories, what a kept pool tells instead."""
    if not fits(ask):
        return look()
    told = kept(ask, pick, _shown_alone)
    return keep(ask, look(), pick, _shown_alone) if told is None else told


def _shown_alone(memory: Memory, layer: Layer, score: Parts) -> Fragment:
    """A memory that counts, in the form in which the layer shows it."""
    return fragment(Sorted(memory, ()), layer, None)._replace(score=score)


def _searched(ask: Ask) -> Found:
    """Every memory of the layer's files, those that match with their scores."""
    found, own = _found(ask)
    asked = [number for number, each in enumerate(found.fragments) if each.out is None]
    hits, problems = _hits(ask, [own[number] for number in asked])
    fragments = [*found.fragments]
    for row, number in enumerate(asked):
        if hit := hits.get(row):
            parts = score_parts(own[number], hit.similarity, ask.request.date)
            score = (*parts, *hit.parts, *_own_parts(own[number], ask))
            fragments[number] = fragments[number]._replace(score=score)
        else:
            fragments[number] = fragments[number]._replace(out=Reason("no-match"))
    return found._replace(fragments=tuple(fragments), problems=(*found.problems, *problems))


def _hits(ask: Ask, pool: Sequence[Memory]) -> tuple[Mapping[int, Hit], tuple[Problem, ...]]:
    """The memories that answer the topic, by their place: by words, and by meaning too where that can be asked."""
    from contextasm.search import Entry, index, similarities
    from contextasm.search.fusion import Hit, fused

    topic, floor = ask.request.topic, ask.layer.floor
    entries = [Entry(each.text, f"{each.path} {each.created}", each.created, kernel=KERNEL) for each in pool]
    postings = index(entries)
    words = similarities(topic, postings, floor)
    near = ask.meaning(topic, [each.text for each in pool]) if ask.meaning and pool else ()
    if isinstance(near, Problem) or not near:
        problems = (near,) if isinstance(near, Problem) else ()
        return {row: Hit(similarity) for row, similarity in words.items()}, problems
    return fused(words, similarities(topic, postings, 0.0), near, floor, entries), ()


def weighed(ask: Ask) -> Found:
    """Every memory of the layer's files, with the parts of its score that no topic decides."""
    found, own = _found(ask)
    fragments = []
    for each, memory in zip(found.fragments, own, strict=True):
        parts = score_parts(memory, 0.0, ask.request.date)[1:]
        fragments.append(each._replace(score=parts + _own_parts(memory, ask)))
    return found._replace(fragments=tuple(fragments))


def _own_parts(memory: Memory, ask: Ask) -> tuple[tuple[str, float], ...]:
    """Further parts, as far as the layer weighs them: how sure a memory is, whether it names a file that is open."""
    weighed = dict(ask.layer.weights)
    parts = (("confidence", memory.confidence), ("open", float(names_open(memory, ask.request))))
    return tuple(part for part in parts if part[0] in weighed)


def names_open(memory: Memory, request: Request) -> bool:
    """Whether a memory names a file that is open, by its path or by its name."""
    names = {name for path in request.open for name in (path, path.rpartition("/")[2])}
    folded = memory.text.casefold()
    return bool(names & set(memory.files)) or any(names_it(folded, name) for name in names)


def score_parts(memory: Memory, similarity: float, today: date) -> Parts:
    """The parts of a memory's score, each from 0 to 1."""
    young = recency(memory.accessed or memory.created, today)
    return (("similarity", similarity), ("importance", memory.importance), ("recency", young))


def _found(ask: Ask) -> tuple[Found, tuple[Memory, ...]]:
    """Every memory of the layer as a fragment, and as it stands."""
    documents, problems = texts(ask)
    found: list[Memory] = []
    for document in documents:
        own, wrong = memories(document)
        found += own
        problems += wrong
    every, doubled = distinct(found)
    out = _outs(every)
    chosen, unfit = belonging(every, ask.layer, out)
    fragments = tuple(fragment(each, ask.layer, out.get(each.memory.id)) for each in chosen)
    problems += [*doubled, *unfit]
    return Found(fragments, tuple(documents), tuple(problems)), tuple(each.memory for each in chosen)


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


def _outs(every: Iterable[Memory]) -> dict[str, Reason]:
    """Why memories do not count, by their ids; nothing for those that do."""
    superseded = replaced(every)
    return {memory.id: reason for memory in every if (reason := _out(memory, superseded))}


def _out(memory: Memory, superseded: Mapping[str, str]) -> Reason | None:
    """Why a memory does not count; None if it does."""
    if memory.status not in COUNTING:
        return Reason.of("status", status=memory.status)
    if memory.id in superseded and superseded[memory.id] != memory.id:
        return Reason.of("superseded", by=superseded[memory.id])
    return None
