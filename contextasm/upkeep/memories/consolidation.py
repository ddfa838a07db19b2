"""Consolidation: of an owner with many memories, three or more that are alike become one.

They name it as their successor, and none is taken out: the members stay in their files with the status `consolidated`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from contextasm.model import Document, Memory, Summarizer
from contextasm.text.cleaning.clean import clean_text
from contextasm.text.cleaning.decode import decode_document
from contextasm.text.memories.fields import DEFAULTS, FIELDS, memory_id
from contextasm.text.memories.parser import parse_memories
from contextasm.text.memories.writer import clean_lines, field_text, format_bullet, is_value
from contextasm.text.names.templates import one_line
from contextasm.text.similarity import fold_text, is_same, similarity
from contextasm.upkeep.base.action import Action
from contextasm.upkeep.memories.duplicates import MAX_EQUAL, DuplicateGroup, SimilarMemories
from contextasm.upkeep.memories.edits import OwnerEdits, change_action, memory_tokens, quoted
from contextasm.upkeep.memories.states import can_merge, changed_fields, merge_memories

MAX_ACTIVE = 20
"""Active memories of an owner up to which nothing is consolidated (digest 1.6)."""

MIN_MEMBERS = 3
"""Memories that are worth one of their own."""

STEP = 0.1
"""Gain of importance over the most important member, up to 1 (digest 1.6)."""


class Cluster(NamedTuple):
    """Memories that are alike, duplicates of them included."""

    members: tuple[Memory, ...]
    merged: Memory
    """The first one with the fields of all."""
    texts: tuple[str, ...]
    """What they say, without duplicates."""


def find_clusters(
    edits: OwnerEdits, groups: Sequence[DuplicateGroup], similar: SimilarMemories
) -> Iterator[tuple[Cluster, Sequence[DuplicateGroup]]]:
    """The clusters, with the groups that each takes; a group is part of one at most."""
    by_id = {group.kept.id: group for group in groups}
    results = {memory.superseded_by for memory in edits.owner.memories}
    by_class: dict[str, list[str]] = {}
    for group in groups:
        by_class.setdefault(similar.class_of(group.kept), []).append(group.kept.id)
    alike_of = {
        id_: [other for name in similar.alike(class_) for other in by_class.get(name, ())[:MAX_EQUAL] if other != id_]
        for class_, ids in by_class.items()
        for id_ in ids
    }
    involved = {id_ for id_, alike in alike_of.items() if len(alike) >= MIN_MEMBERS - 1}
    involved |= {other for id_ in involved for other in alike_of[id_]}
    free = {id_: by_id[id_] for id_ in involved - results if _can_consolidate(edits, by_id[id_])}
    for leader in groups:
        alike = [free[id_] for id_ in alike_of[leader.kept.id] if id_ in free]
        if leader.kept.id not in free or len(alike) < MIN_MEMBERS - 1:
            continue
        taken, merged = [leader], leader.merged
        for group in sorted(alike, key=lambda group: (group.kept.created, group.kept.path, group.kept.line)):
            if can_merge(merged, group.merged):
                taken.append(group)
                merged = merge_memories(merged, group.merged)
        if len(taken) >= MIN_MEMBERS:
            for group in taken:
                del free[group.kept.id]
            members = tuple(memory for group in taken for memory in group.memories)
            yield Cluster(members, merged, tuple(group.kept.text for group in taken)), taken


def _can_consolidate(edits: OwnerEdits, group: DuplicateGroup) -> bool:
    """Whether all memories of a group are list items that may leave, with an id that a list of ids can hold."""
    return all(
        edits.can_archive(memory)
        and not edits.file(memory).is_one_memory
        and is_value(memory.id)
        and "," not in memory.id
        and "```" not in memory.text
        and "~~~" not in memory.text
        for memory in group.memories
    )


def consolidate(
    edits: OwnerEdits,
    cluster: Cluster,
    written: Mapping[str, Memory],
    others: Iterable[Memory],
    summarizer: Summarizer | None,
    today: date,
) -> Action | None:
    """The action that makes one memory of a cluster; None where no text for it can be had.

    `written` has the memories as they stand, and `others` are like a member and no members: a text that says the same
    as one of them would be a duplicate.
    """
    others_folded = [fold_text(memory.text) for memory in others]
    last = written[max(cluster.members, key=lambda memory: (memory.path, memory.line)).id]
    for text, origin in _texts(cluster.texts, summarizer):
        new = _new_memory(cluster, last.path, text, today)
        bullet = format_bullet(text, new.type, _bullet_fields(new, edits.file(last).front))
        if new.id in written or not _reads_back(bullet, new):
            continue
        if any(is_same(fold_text(text), folded) for folded in others_folded):
            continue
        changes = [
            edits.set_fields(
                written[memory.id],
                _member_fields(written[memory.id], memory, new.id),
                bullet if memory.id == last.id else "",
            )
            for memory in cluster.members
        ]
        count = len(cluster.members)
        reason = f"{count} memories like {quoted(cluster.members[0])} become one, its text {origin}"
        action = change_action("consolidate", cluster.members, reason, needs_approval=True)
        saved = memory_tokens(cluster.members) - memory_tokens([new])
        return action._replace(edits=tuple(changes), tokens_saved=saved)
    return None


def _member_fields(written: Memory, known: Memory, successor: str) -> Mapping[str, str]:
    changed = known._replace(status="consolidated", superseded_by=successor)
    # A pointer must still lead here after the text was edited, so the id is written down.
    return {**changed_fields(written, changed), "id": known.id}


def _new_memory(cluster: Cluster, path: str, text: str, today: date) -> Memory:
    merged = cluster.merged
    ids = tuple(dict.fromkeys([*(memory.id for memory in cluster.members), *merged.supersedes]))
    importance = round(min(merged.importance + STEP, 1.0), 4)
    return merged._replace(
        id=memory_id(path, text),
        path=path,
        text=text,
        created=str(today),
        accessed="",
        importance=importance,
        supersedes=ids,
    )


def _bullet_fields(new: Memory, front: Mapping[str, object]) -> Mapping[str, str]:
    """The fields of the new memory; those that the front matter sets for other memories are stated, too."""
    names = ["id", "importance", "created", "supersedes"]
    names += (name for name in FIELDS if name in front or getattr(new, name) != DEFAULTS.get(name))
    fields = {name: field_text(getattr(new, name)) for name in dict.fromkeys(names)}
    return {name: value for name, value in fields.items() if value and name not in {"type", "superseded_by"}}


def _reads_back(bullet: str, new: Memory) -> bool:
    document = decode_document(new.path, f"{bullet}\n".encode(errors="surrogatepass"))
    memories = parse_memories(document)[0] if isinstance(document, Document) else ()
    return [memory._replace(line=new.line) for memory in memories] == [new]


def _texts(texts: Sequence[str], summarizer: Summarizer | None) -> Iterator[tuple[str, str]]:
    """Texts for the new memory, the best first, with the words that say where they come from."""
    if summarizer:
        summary = summarizer("\n".join(f"- {one_line(text)}" for text in texts))
        if isinstance(summary, str):
            text = clean_lines(one_line(clean_text(summary).text))
            if 0 < len(text) < sum(map(len, texts)):
                yield text, "by the summarizer"
    yield extracted_text(texts), "taken from them"


def extracted_text(texts: Sequence[str]) -> str:
    """Two of the texts in one line: the one that is most like the others, and the one that is least like that one.

    Of very many texts the first ones are compared.
    """
    texts = texts[:_MAX_COMPARED]
    folded = [fold_text(text) for text in texts]
    central = max(range(len(texts)), key=lambda at: (sum(similarity(folded[at], other) for other in folded), -at))
    second = min(
        (at for at in range(len(texts)) if at != central), key=lambda at: similarity(folded[central], folded[at])
    )
    first = one_line(texts[central])
    return f"{first if first[-1:] in _SENTENCE_ENDS else first + '.'} {one_line(texts[second])}"


_MAX_COMPARED = 50
_SENTENCE_ENDS = ".!?:;\u3002\uff01\uff1f"
