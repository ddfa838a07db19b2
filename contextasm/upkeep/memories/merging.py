"""Memories of one owner that are alike: memories that say the same are merged into one, and clusters are consolidated.

Two say the same by the measure of `remember`: at least 92 per cent alike, with the same numbers and negations. Of an
owner with many memories, three or more that are alike become one new memory. They name it as their successor, and they
stay in their files with the status `consolidated`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import chain, islice, pairwise

from contextasm.model import Document, Memory, NamedTuple, Problem, SemanticSimilarity, Summarizer, grouped
from contextasm.text.cleaning.clean import clean_text, decode_document
from contextasm.text.memories.parser import DEFAULTS, FIELDS, memory_id, parse_memories
from contextasm.text.memories.writer import clean_lines, field_text, format_bullet, is_value
from contextasm.text.names.templates import one_line
from contextasm.text.similarity import (
    RELATED,
    SAME,
    cased_words,
    find_candidates,
    find_similar,
    fold_text,
    similarity,
    text_fingerprint,
    words_and_names,
)
from contextasm.upkeep.actions import Action, change_action, memory_place, memory_tokens, quoted
from contextasm.upkeep.input import OwnerMemories
from contextasm.upkeep.memories.states import can_merge, changed_fields, is_stale_task, memory_audience, merge_memories
from contextasm.workspace.editing.remember import raised_importance

MAX_COMPARED = 500
"""Number of texts that are all compared with each other; of more, only texts that share a rare part."""

MAX_LENGTH = 10_000
"""Characters of the longest text that is compared by its letters; a longer one must be equal."""

_RAREST = 8
"""Parts of a text by which others are found: the ones in the fewest texts, but in more than one."""

_MAX_POSTINGS = 64
"""Texts, the earliest, that are found by one part."""

_MAX_CANDIDATES = 32
"""Texts that one is compared with: the ones that share the most of its rarest parts."""

_LONG_WORD = 5
_FEW_WORDS = 8
"""Texts of fewer words share too few pairs of words; they are parted into letters."""


def similar_pairs(texts: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """The pairs of texts as written that belong together, by the measure of `remember`; each pair once.

    Each is the place of the earlier text, that of the later one, and their similarity, from `RELATED` on. The numbers,
    names and negations of the two are the same. Of equal texts, the first one represents the others in pairs with
    different texts. Takes a time that grows with the number of texts, not with its square.
    """
    first_of: dict[tuple[str, ...], int] = {}
    distinct: list[int] = []
    folded = [*map(fold_text, texts)]
    counts = Counter(folded)
    for at, text in enumerate(folded):
        key = (text, *cased_words(texts[at])) if counts[text] > 1 else (text,)
        if key in first_of:
            yield first_of[key], at, 1.0
        elif text:
            first_of[key] = at
            if len(text) <= MAX_LENGTH:
                distinct.append(at)
    is_many = len(distinct) > MAX_COMPARED
    others_of = _sharing_rare_parts([folded[at] for at in distinct]) if is_many else map(range, range(len(distinct)))
    for at, others in zip(distinct, others_of, strict=True):
        earlier = [distinct[other] for other in others]
        for place in find_candidates(folded[at], [folded[other] for other in earlier], RELATED):
            if (share := similarity(texts[at], texts[earlier[place]])) >= RELATED:
                yield earlier[place], at, share


def _sharing_rare_parts(texts: Sequence[str]) -> Iterator[Sequence[int]]:
    """For each text the numbers of earlier ones that share its rarest parts; a part of one text only does not count."""
    all_parts = [_parts(text) for text in texts]
    counts = Counter(chain.from_iterable(all_parts))
    shared = {part: (count, part) for part, count in counts.items() if count > 1}
    postings: dict[str, list[int]] = {}
    for number, parts in enumerate(all_parts):
        rarest = sorted(map(shared.__getitem__, shared.keys() & parts))[: 2 * _RAREST]
        hits = Counter(chain.from_iterable(postings.get(part, ()) for _, part in rarest[:_RAREST]))
        # One text is found by more of its parts than it asks for: of two alike, one has a rare part more.
        for _, part in rarest:
            posting = postings.setdefault(part, [])
            if len(posting) < _MAX_POSTINGS:
                posting.append(number)
        # Most share one part: they need no sorting, for of texts with as many the first found comes first.
        often = sorted((other for other, count in hits.items() if count > 1), key=hits.__getitem__, reverse=True)
        once = (other for other, count in hits.items() if count == 1)
        yield sorted(islice(chain(often, once), _MAX_CANDIDATES))


def _parts(text: str) -> set[str]:
    words = text.split()
    if len(words) < _FEW_WORDS or not text.isascii():
        return {text[at : at + 4] for at in range(max(1, len(text) - 3))}
    pairs = {f"{one} {other}" for one, other in pairwise(words)}
    return pairs.union(word for word in words if len(word) >= _LONG_WORD)


MAX_EQUAL = 64
"""Memories of one text, the earliest, that another one is tried with; more than one stay if their fields contradict."""


class SimilarMemories:
    """Which memories of an owner are alike; only memories of one audience are compared.

    Memories of equal text are one class, named by the id of its first one. A class is compared as one, so that any
    number of equal memories takes a time that grows with it.
    """

    def __init__(self, memories: Sequence[Memory], semantics: SemanticSimilarity | None = None) -> None:
        """Compare the memories, whose order decides which of two comes first; also by meaning if that is given."""
        self.problem: Problem | None = None
        """Why memories are not compared by meaning."""
        self._class_of = {memory.id: memory.id for memory in memories}
        self._shares: dict[str, dict[str, float]] = {}
        for of_audience in grouped((memory_audience(memory), memory) for memory in memories).values():
            for at, later_at, share in similar_pairs([memory.text for memory in of_audience]):
                earlier, later = of_audience[at].id, of_audience[later_at].id
                if share == 1:
                    self._class_of[later] = earlier
                else:
                    self._add(earlier, later, share)
            if semantics:
                self._compare_meanings(of_audience[:MAX_COMPARED], semantics)

    def _add(self, one: str, other: str, share: float) -> None:
        self._shares.setdefault(one, {}).setdefault(other, share)
        self._shares.setdefault(other, {}).setdefault(one, share)

    def _compare_meanings(self, memories: Sequence[Memory], semantics: SemanticSimilarity) -> None:
        """Find the memories of equal numbers, negations and names that are alike by meaning."""
        comparable = grouped(
            ((text_fingerprint(memory.text).figures, words_and_names(memory.text)[1]), memory)
            for memory in memories
            if self.class_of(memory) == memory.id
        )
        groups = [group for group in comparable.values() if group[1:]]
        texts = [memory.text for group in groups for memory in group]
        semantics("".join(texts[:1]), texts)  # one question for all vectors
        for memory, later in ((group[at], group[at + 1 :]) for group in groups for at in range(len(group) - 1)):
            shares = semantics(memory.text, [other.text for other in later])
            if isinstance(shares, Problem):
                self.problem = shares
                return
            for other, share in zip(later, shares, strict=True):
                if share >= 0:
                    self._add(memory.id, other.id, RELATED)

    def class_of(self, memory: Memory) -> str:
        """The class of a memory; of one that was not compared, a class of its own."""
        return self._class_of.get(memory.id, memory.id)

    def alike(self, name: str) -> Mapping[str, float]:
        """Similarity, from `RELATED` to 1, of the classes like this one, itself first, then the most similar."""
        shares = self._shares.get(name)
        return {name: 1.0, **dict(sorted(shares.items(), key=lambda item: -item[1]))} if shares else {name: 1.0}


class DuplicateGroup(NamedTuple):
    """A memory with the memories that say the same."""

    kept: Memory
    """The one that stays: a pinned one, else the oldest of the newest text."""
    merged: Memory
    """The one that stays with the fields of all."""
    others: tuple[Memory, ...] = ()

    @property
    def memories(self) -> tuple[Memory, ...]:
        """All of them, the one that stays first."""
        return (self.kept, *self.others)


def group_duplicates(
    owner: OwnerMemories, memories: Sequence[Memory], similar: SimilarMemories, today: date
) -> list[DuplicateGroup]:
    """The memories in groups, each memory in one, and many groups of one; the first of a group is the first in order.

    A memory joins another one only if it can be archived, and if its fields do not contradict the fields of the group.
    """
    groups: dict[str, DuplicateGroup] = {}
    firsts: dict[str, list[str]] = {}
    for memory in memories:
        own = similar.class_of(memory)
        candidates = [*_groups_to_join(similar, own, firsts)]
        for id_ in candidates if candidates and owner.can_archive(memory) else ():
            group = groups[id_]
            if owner.can_change(group.kept) and can_merge(group.merged, memory):
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
        if share >= SAME:
            yield from firsts.get(other, ())[:MAX_EQUAL]


def reinforce(owner: OwnerMemories, group: DuplicateGroup, written: Mapping[str, Memory]) -> Action:
    """The action that sets what the kept memory gains, and archives the others; `written` has all as they stand."""
    others = [written[memory.id] for memory in group.others]
    kept = written[group.kept.id]
    fields = changed_fields(kept, group.merged)
    says = "say" if others[1:] else "says"
    reason = f"{_places(others)} {says} the same as {memory_place(kept)}, {quoted(kept)}"
    is_reworded = any(words_and_names(kept.text)[0] != words_and_names(memory.text)[0] for memory in others)
    action = change_action("reinforce", [kept, *others], reason, needs_approval=is_reworded)
    if fields:
        action = owner.set_fields(action, kept, fields)
    return owner.archive(action, others)._replace(tokens_saved=memory_tokens(others))


def _places(memories: Sequence[Memory]) -> str:
    """The places of memories, for a reason; of many the first, for the archive repeats a reason at every text."""
    named = memories if len(memories) <= _MOST_NAMED else memories[: _MOST_NAMED - 1]
    places = ", ".join(map(memory_place, named))
    rest = len(memories) - len(named)
    return f"{places} and {rest:,} more" if rest else places


_MOST_NAMED = 4


MAX_ACTIVE = 20
"""Active memories of an owner up to which nothing is consolidated (digest 1.6)."""

MIN_MEMBERS = 3
"""Memories that are worth one of their own."""


def find_clusters(
    owner: OwnerMemories, groups: Sequence[DuplicateGroup], similar: SimilarMemories
) -> Iterator[tuple[Sequence[DuplicateGroup], Memory]]:
    """The groups of each cluster, and its first memory with the fields of all; a group is part of one at most."""
    by_id = {group.kept.id: group for group in groups}
    results = {memory.superseded_by for memory in owner.memories}
    by_class = grouped((similar.class_of(group.kept), group.kept.id) for group in groups)
    alike_of = {
        id_: [other for name in similar.alike(class_) for other in by_class.get(name, ())[:MAX_EQUAL] if other != id_]
        for class_, ids in by_class.items()
        for id_ in ids
    }
    involved = {id_ for id_, alike in alike_of.items() if len(alike) >= MIN_MEMBERS - 1}
    involved |= {other for id_ in involved for other in alike_of[id_]}
    free = {id_: by_id[id_] for id_ in involved - results if _can_consolidate(owner, by_id[id_])}
    for leader in groups:
        alike = [free[id_] for id_ in alike_of[leader.kept.id] if id_ in free]
        if leader.kept.id not in free or len(alike) < MIN_MEMBERS - 1:
            continue
        cluster, merged = [leader], leader.merged
        for group in sorted(alike, key=lambda group: (group.kept.created, group.kept.path, group.kept.line)):
            if can_merge(merged, group.merged):
                cluster.append(group)
                merged = merge_memories(merged, group.merged)
        if len(cluster) >= MIN_MEMBERS:
            for group in cluster:
                del free[group.kept.id]
            yield cluster, merged


def _can_consolidate(owner: OwnerMemories, group: DuplicateGroup) -> bool:
    """Whether all memories of a group are list items that may leave, with an id that a list of ids can hold."""
    return all(
        owner.can_archive(memory)
        and not owner.file(memory).is_one_memory
        and is_value(memory.id)
        and "," not in memory.id
        and "```" not in memory.text
        and "~~~" not in memory.text
        for memory in group.memories
    )


def consolidate(
    owner: OwnerMemories,
    cluster: Sequence[DuplicateGroup],
    merged: Memory,
    written: Mapping[str, Memory],
    summarizer: Summarizer | None,
    today: date,
) -> Action:
    """The action that makes one memory of a cluster, with the fields of `merged`.

    `written` has the memories as they stand. Its text is by the summarizer, unless that says the same as another
    memory; else the first of the cluster stays, which all others are like.
    """
    members, best = [memory for group in cluster for memory in group.memories], cluster[0].kept
    last = written[max(members, key=lambda memory: (memory.path, memory.line)).id]
    ids = dict.fromkeys([*(memory.id for memory in members), *merged.supersedes])
    merged = merged._replace(importance=raised_importance(merged.importance), supersedes=tuple(ids))
    text = _summary([group.kept.text for group in cluster], summarizer)
    new = merged._replace(id=memory_id(last.path, text), path=last.path, text=text, created=str(today), accessed="")
    bullet = format_bullet(text, new.type, _bullet_fields(new, owner.file(last).document.front))
    reason = f"{len(members)} memories like {quoted(best)} become one, its text by the summarizer"
    others = [memory.text for memory in written.values() if text and memory.id not in ids]
    is_new = bool(text) and new.id not in written and _reads_back(bullet, new)
    if not is_new or find_similar(text, others, [*map(fold_text, others)]):
        del ids[best.id]
        new, bullet = merged._replace(accessed=str(today), supersedes=tuple(ids)), ""
        reason = f"{len(members)} memories are alike: only {memory_place(best)}, {quoted(best)}, stays"
    action = change_action("consolidate", members, reason, needs_approval=True)
    for known in members:
        changed = known._replace(status="consolidated", superseded_by=new.id) if known.id != new.id else new
        # A pointer must still lead here after the text was edited, so the id is written down.
        fields = {**changed_fields(written[known.id], changed), "id": known.id}
        action = owner.set_fields(action, written[known.id], fields, bullet if known.id == last.id else "")
    return action._replace(tokens_saved=memory_tokens(members) - memory_tokens([new]))


def _bullet_fields(new: Memory, front: Mapping[str, object]) -> Mapping[str, str]:
    """The fields of the new memory, including the ones that the front matter sets for other memories."""
    names = ["id", "importance", "created", "supersedes"]
    names += (name for name in FIELDS if name in front or getattr(new, name) != DEFAULTS.get(name))
    fields = {name: field_text(getattr(new, name)) for name in dict.fromkeys(names)}
    return {name: value for name, value in fields.items() if value and name not in {"type", "superseded_by"}}


def _reads_back(bullet: str, new: Memory) -> bool:
    document = decode_document(new.path, f"{bullet}\n".encode(errors="surrogatepass"))
    memories = parse_memories(document)[0] if isinstance(document, Document) else ()
    return [memory._replace(line=new.line) for memory in memories] == [new]


def _summary(texts: Sequence[str], summarizer: Summarizer | None) -> str:
    """The text of the summarizer, in one line; empty without one that is shorter than all texts together."""
    summary = summarizer("\n".join(f"- {one_line(text)}" for text in texts)) if summarizer else None
    text = clean_lines(one_line(clean_text(summary).text)) if isinstance(summary, str) else ""
    return text if len(text) < sum(map(len, texts)) else ""
