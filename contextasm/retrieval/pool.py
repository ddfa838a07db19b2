"""Pools of entries: the memories or log lines of some files, read in this build or stored by an earlier one.

A stored pool is in `memory_index`, with the same interface (`model.EntryPool`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from heapq import nlargest
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from contextasm.model import (
    LENGTH_PENALTY,
    Document,
    EntryPool,
    Fact,
    Fragment,
    Layer,
    Memory,
    NamedTuple,
    Problem,
    Reason,
    Score,
    ScoreInputs,
    SourceQuery,
    T,
    Workspace,
    least_similarity,
    memory_score,
    weighted_total,
)
from contextasm.retrieval.reading.files import count_fragment, pool_patterns, query_paths, read_files
from contextasm.text.cleaning.clean import hidden_problems
from contextasm.text.memories.parser import ACTIVE_STATUSES, distinct_memories, id_words, parse_memories
from contextasm.text.names.glob import wildcard_matches
from contextasm.text.names.matching import repository_address

if TYPE_CHECKING:
    from contextasm.retrieval.search.inverted_index import IndexEntry
    from contextasm.text.markdown.logs import LogLine

MANY = 1000
"""Size of the largest pool that is not stored; of a larger one, entries that are not shown are counted by reason.

As many are read to look for an id or a text, and nothing is stored for it.

Up to this size, reading adds no more than a tenth of a second to the time of a stored pool, which is the same for any
size, and the first build takes half the time of one that makes an index (benchmarks/run.py, rows of 1,000 and 10,000
memories).
"""


EntryT = TypeVar("EntryT", bound="Memory | LogLine")

Settled = tuple[Sequence[EntryT], Sequence[Problem], Sequence[Reason | None]]
"""All entries of a pool with their final ids, problems of ids, and the reason that excludes each entry, if any."""


class EntryKind(NamedTuple, Generic[EntryT]):
    """How entries of one kind are parsed, searched and stored; each is a named tuple of values that JSON can hold."""

    name: str
    parse: Callable[[Document], tuple[Sequence[EntryT], Sequence[Problem]]]
    """The entries of a file in their order, and its problems."""
    settle: Callable[[Sequence[EntryT]], Settled[EntryT]] | None
    """Decides on the entries of all files, in order; None for entries without ids and states: all are active."""
    index_entry: Callable[[EntryT], IndexEntry]
    score_inputs: Callable[[EntryT], ScoreInputs]
    is_marked: Callable[[EntryT], bool]
    restore: Callable[[Sequence[Any]], EntryT]
    """The entry of its values, tuples as lists."""
    length_penalty: float = LENGTH_PENALTY
    """Penalty of a long entry in a search, from 0 to 1."""


class ReadPool(Generic[EntryT]):
    """The entries of some files, as just read (`model.EntryPool`)."""

    def __init__(
        self,
        kind: EntryKind[EntryT],
        entries: Sequence[EntryT],
        documents: Sequence[Document] = (),
        problems: Sequence[Problem] = (),
    ) -> None:
        """Pool of the entries of `documents`; the position of an entry among the active ones is its row."""
        self._kind = kind
        settled = kind.settle(entries) if kind.settle else (entries, (), [None] * len(entries))
        self.all_entries, duplicates, self.exclusions = settled
        self.active = [entry for entry, reason in zip(self.all_entries, self.exclusions, strict=True) if reason is None]
        self.documents = tuple(documents)
        self.problems = (*problems, *duplicates)
        self.excluded = count_reasons(self.exclusions)
        self.rows, self.size = len(self.active), len(self.all_entries)

    def outside(self, query: SourceQuery) -> Mapping[int, str]:
        """Rows of the active entries that count for nothing in the layer, each with the code of its reason."""
        inputs = map(self._kind.score_inputs, self.active)
        return {row: code for row, each in enumerate(inputs) if (code := outside_code(each, query))}

    def similar(
        self, query: SourceQuery, min_match: float, min_cover: float = 0.0, *, authors_follow: bool = False
    ) -> Mapping[int, float]:
        """Similarity of each row that answers the topic, from 0 to 1, as if there were no `outside` ones."""
        from contextasm.retrieval.search.bm25 import similarities
        from contextasm.retrieval.search.inverted_index import build_index

        outside = self.outside(query)
        rows = [row for row in range(self.rows) if row not in outside]
        index = build_index([self._kind.index_entry(self.active[row]) for row in rows], self._kind.length_penalty)
        topic = query.build.request.topic
        found = similarities(topic, index, min_match, min_cover, authors_follow=authors_follow)
        return {rows[at]: value for at, value in found.items()}

    def newest(self, count: int) -> Sequence[int]:
        """Rows of the newest entries, entries of one day by path, then the later in the file; all for a count of 0."""
        days = {row: self._kind.score_inputs(entry).created for row, entry in enumerate(self.active)}
        return first_rows(self, days, count)

    def marked(self) -> Sequence[int]:
        """Rows of the entries with the mark of their kind."""
        return [row for row, entry in enumerate(self.active) if self._kind.is_marked(entry)]

    def score_inputs(self, rows: Sequence[int]) -> Sequence[ScoreInputs]:
        """Score inputs of each row."""
        return [self._kind.score_inputs(self.active[row]) for row in rows]

    def entries(self, rows: Sequence[int]) -> Sequence[EntryT]:
        """The entry of each row."""
        return [self.active[row] for row in rows]


def read_pool(workspace: Workspace, kind: EntryKind[EntryT], paths: Iterable[str]) -> ReadPool[EntryT]:
    """Read the entries of files, in the order of the paths; a file that does not exist is left out."""
    pool = read_pool_up_to(workspace, kind, paths, None)
    assert pool
    return pool


def read_pool_up_to(
    workspace: Workspace, kind: EntryKind[EntryT], paths: Iterable[str], most: int | None
) -> ReadPool[EntryT] | None:
    """As `read_pool`; None as soon as there are more entries than `most`, which is None for no limit."""
    entries: list[EntryT] = []
    documents: list[Document] = []
    problems: list[Problem] = []
    for path in paths:
        for document in read_files(workspace, [path], problems):
            documents.append(document)
            file_entries, file_problems = kind.parse(document)
            entries += file_entries
            problems += file_problems
        if most is not None and len(entries) > most:
            return None
    return ReadPool(kind, entries, documents, problems)


def use_pool(
    query: SourceQuery, kind: EntryKind[EntryT], paths: Sequence[str], use: Callable[[EntryPool[EntryT]], T]
) -> T:
    """Result of `use` on the pool of these files of the layer.

    Up to `MANY` entries are read. A larger pool comes from the build's index, if it has one that can be used.
    """
    index, workspace = query.build.memory_index, query.build.workspace
    if index is None:
        return use(read_pool(workspace, kind, paths))
    patterns = pool_patterns(query)
    answer = index.query(kind, patterns, paths, use)
    if answer is None:
        if pool := read_pool_up_to(workspace, kind, paths, MANY):
            return use(pool)
        answer = index.query(kind, patterns, paths, use, new=True)
    return use(read_pool(workspace, kind, paths)) if answer is None else answer


def count_reasons(exclusions: Iterable[Reason | None]) -> tuple[Reason, ...]:
    """Each reason once, with its number as `count`; the id of a superseding memory is dropped."""
    numbers = Counter((reason.code, reason.facts if reason.code == "status" else ()) for reason in exclusions if reason)
    return tuple(Reason(code, (("count", count), *facts)) for (code, facts), count in sorted(numbers.items()))


def outside_code(entry: ScoreInputs | Memory, query: SourceQuery) -> str:
    """Code of the reason why an active entry counts for nothing in a layer of a build; empty if it counts."""
    request, own = query.build.request, entry.repositories
    today = request.date.isoformat()
    if entry.created > today:
        return "future"
    if not request.show_expired and (code := validity_code(entry, today)):
        return code
    if globs := [glob for glob in (own.split(",") if isinstance(own, str) else own) if glob]:
        names = [name.casefold() for name in query.build.repository()]
        if not any(wildcard_matches(repository_address(glob).casefold(), name) for glob in globs for name in names):
            return "other-repository"
    return "written" if entry.writer and query.layer.instructs else ""


def validity_code(days: ScoreInputs | Memory, today: str) -> str:
    """The code of the reason why an entry does not hold on a day, YYYY-MM-DD; empty if it does."""
    if days.valid_from > today:
        return "not-yet"
    return "expired" if "" < days.expires < today else ""


def with_validity(text: str, memory: Memory, today: date) -> str:
    """A text that shows a memory, its first line with a label if the memory does not hold today."""
    words = validity_words(memory, today)
    return labelled(text, words) if words else text


def validity_words(memory: Memory, today: date) -> str:
    """Says when a memory holds that does not hold today; empty for one that does."""
    words = {"not-yet": f"holds from {memory.valid_from}", "expired": f"held until {memory.expires}"}
    return words.get(validity_code(memory, str(today)), "")


def labelled(text: str, words: str) -> str:
    """A text with words in round brackets at the end of its first line."""
    first, line_end, rest = text.partition("\n")
    return f"{first} ({words}){line_end}{rest}"


def first_rows(pool: EntryPool[Memory | LogLine], keys: Mapping[int, object], count: int) -> list[int]:
    """Rows with the largest keys, largest first; among equals by path, then the later in its file. All for 0."""
    limit = count or len(keys)
    smallest = min(nlargest(limit, keys.values()), default=None)  # type: ignore[type-var]
    candidates = [row for row, key in keys.items() if key >= smallest]  # type: ignore[operator]
    entries = dict(zip(candidates, pool.entries(candidates), strict=True))
    candidates.sort(key=lambda row: (entries[row].path, -entries[row].line))
    candidates.sort(key=lambda row: keys[row], reverse=True)  # type: ignore[arg-type,return-value]
    return candidates[:limit]


KERNEL = 0.5
"""Weight of the matches of a memory's neighbours: in a list of memories half of that in a log."""


def settle_memories(memories: Sequence[Memory]) -> Settled[Memory]:
    """Memories of one id keep the first one's; the others get ids of their own, and a problem."""
    distinct, duplicates = distinct_memories(memories)
    states = ((memory.id, memory.status, memory.supersedes) for memory in distinct)
    return distinct, duplicates, exclusion_reasons(states)


def exclusion_reasons(memories: Iterable[tuple[str, str, Sequence[str]]]) -> list[Reason | None]:
    """Reason that excludes each memory, given as id, status and superseded ids; None for an active one."""
    rows = [*memories]
    successors = {old: new for new, status, supersedes in rows if status in ACTIVE_STATUSES for old in supersedes}
    return [exclusion_reason(id_, status, successors.get(id_, id_)) for id_, status, _ in rows]


def exclusion_reason(memory_id: str, status: str, successor: str) -> Reason | None:
    """Reason that excludes a memory; `successor` is the id of the one that supersedes it, or its own for none."""
    is_superseded = successor != memory_id and status == "superseded"
    if status not in ACTIVE_STATUSES and not is_superseded:
        return Reason.of("status", status=status)
    return None if successor == memory_id else Reason.of("superseded", by=successor)


def outside_reason(memory: Memory, query: SourceQuery) -> Reason | None:
    """Reason that excludes an active memory from a layer; None if it may be shown."""
    code = outside_code(memory, query)
    facts: dict[str, dict[str, Fact]] = {
        "not-yet": {"day": memory.valid_from},
        "expired": {"day": memory.expires},
        "other-repository": {"repositories": ", ".join(memory.repositories)},
    }
    if code == "future":
        return Reason.of(code, age=(query.build.request.date - date.fromisoformat(memory.created)).days)
    return Reason.of(code, **facts.get(code, {})) if code else None


def score_inputs(memory: Memory) -> ScoreInputs:
    """Score inputs of a memory."""
    days = (memory.last_use, memory.created, memory.valid_from, memory.expires)
    return ScoreInputs(memory.importance, *days, ",".join(memory.repositories), memory.writer)


def index_entry(memory: Memory) -> IndexEntry:
    """A memory as an entry of an inverted index; memories of one file and day are one section.

    It is found by the words of its id, its key and its tags, too.
    """
    from contextasm.retrieval.search.inverted_index import IndexEntry, leading_name

    section = f"{memory.path} {memory.created}"
    labels = " ".join((id_words(memory.id), memory.key, *memory.tags)).strip()
    return IndexEntry(memory.text, section, memory.created, leading_name(memory.text), KERNEL, labels)


MEMORIES = EntryKind(
    name="memories",
    parse=parse_memories,
    settle=settle_memories,
    index_entry=index_entry,
    score_inputs=score_inputs,
    is_marked=lambda memory: memory.pin,
    restore=lambda values: Memory._make(tuple(each) if isinstance(each, list) else each for each in values),
)
"""Memories; a memory that pins itself has the mark."""


def best_rows(pool: EntryPool[Memory], scores: Mapping[int, Score], layer: Layer, more: int = 0) -> list[int]:
    """Rows in the order in which ranking puts them, up to the layer's `top`: candidates only (`least_similarity`).

    With so many `more`, which come after its `top`.
    """
    last = layer.ranking.top and layer.ranking.top + more
    similarity_of = {row: dict(score)["similarity"] for row, score in scores.items()}
    least = least_similarity(similarity_of.values(), layer.ranking.top)
    least_listed = least_similarity(similarity_of.values(), last) if more else least
    rows = [row for row, similarity in similarity_of.items() if similarity >= least_listed]
    keys = {
        row: (min(similarity_of[row], least), weighted_total(scores[row], layer.ranking.weights), inputs.created)
        for row, inputs in zip(rows, pool.score_inputs(rows), strict=True)
    }
    return first_rows(pool, keys, last)


TopicHits = tuple[tuple[tuple[Memory, Score], ...], int, tuple[Problem, ...]]
"""Memories with their score parts and `total`, best first; the number of memories that were searched; problems."""


def topic_hits(query: SourceQuery) -> TopicHits:
    """The layer's memories that match the request's topic, by meaning, too, if there is an embedder; up to its `top`.

    Active memories that are not outside their days are searched. If none matches, recent ones do not take their place.
    """

    def hits(pool: EntryPool[Memory]) -> TopicHits:
        scores, problems = topic_scores(query, pool)
        rows = best_rows(pool, scores, query.layer)
        totals = [(*scores[row], ("total", weighted_total(scores[row], query.layer.ranking.weights))) for row in rows]
        searched = pool.rows - len(pool.outside(query))
        hidden = (problem for document in pool.documents for problem in hidden_problems(document))
        return tuple(zip(pool.entries(rows), totals, strict=True)), searched, (*pool.problems, *problems, *hidden)

    if "memories" in query.build.semantics:
        return hits(read_pool(query.build.workspace, MEMORIES, query_paths(query)))
    return use_pool(query, MEMORIES, [*query_paths(query)], hits)


def searched_memories(query: SourceQuery) -> list[Memory]:
    """The layer's active memories as read, without the ones that count for nothing there."""
    pool = read_pool(query.build.workspace, MEMORIES, query_paths(query))
    return [memory for memory in pool.active if not outside_code(memory, query)]


def topic_scores(query: SourceQuery, pool: EntryPool[Memory]) -> tuple[dict[int, Score], tuple[Problem, ...]]:
    """Score parts of the rows that match the request's topic; `outside` rows count for nothing.

    An embedder is asked only about memories that were read.
    """
    if isinstance(pool, ReadPool):
        outside = pool.outside(query)
        rows = [row for row in range(pool.rows) if row not in outside]
        found, problems = topic_matches(query, pool.entries(rows))
        return {rows[at]: score for at, score in found.items()}, problems
    own = query.layer.query
    similar = pool.similar(query, own.min_match, own.min_cover)
    matches = zip(similar.items(), pool.score_inputs([*similar]), strict=True)
    scores = {
        row: memory_score(similarity, inputs.importance, inputs.last, query.build.request.date)
        for (row, similarity), inputs in matches
    }
    return scores, ()


def topic_matches(query: SourceQuery, memories: Sequence[Memory]) -> tuple[dict[int, Score], tuple[Problem, ...]]:
    """By position, the score parts of each memory that matches the topic; and the embedder's problem.

    By words, and by embeddings, too, where these are configured and in time.
    """
    entries, own = [*map(index_entry, memories)], query.layer.query
    texts = [memory.text for memory in memories]
    found, problems = matches(query, "memories", entries, texts, own.min_match, own.min_cover)
    scores = {}
    for row, ((_, similarity), *parts) in found.items():
        memory = memories[row]
        score = memory_score(similarity, memory.importance, memory.last_use, query.build.request.date)
        scores[row] = (*score, *parts)
    return scores, problems


def matches(
    query: SourceQuery,
    searched: str,
    entries: Sequence[IndexEntry],
    texts: Sequence[str],
    min_match: float,
    min_cover: float = 0.0,
) -> tuple[Mapping[int, Score], tuple[Problem, ...]]:
    """By position, `similarity` of each entry that matches the topic, and its halves; and the embedder's problem.

    By words, and the entry's text by embeddings, too, where these are configured for what is `searched` and in time.
    """
    from contextasm.retrieval.search.bm25 import fuse, similarities
    from contextasm.retrieval.search.inverted_index import build_index

    topic, index = query.build.request.topic, build_index(entries)
    word_hits = similarities(topic, index, min_match, min_cover)
    near, problems = nearness(query, searched, texts)
    word_similarities = similarities(topic, index, 0.0) if near else {}
    return fuse(word_hits, word_similarities, near, min_match, entries), problems


def nearness(query: SourceQuery, searched: str, texts: Sequence[str]) -> tuple[Sequence[float], tuple[Problem, ...]]:
    """Nearness of each text to the topic, above 0 for a match; none without an embedder, or with its problem."""
    semantics = query.build.semantics.get(searched)
    answer = semantics(query.build.request.topic, texts) if semantics and texts else ()
    return ((), (answer,)) if isinstance(answer, Problem) else (answer, ())


_SPARE = 4
"""Memories that are listed for each of the `top`, if the ones that cite changed text are left out."""


def best_and_counts(
    query: SourceQuery, pool: EntryPool[Memory], scores: Mapping[int, Score] | None
) -> tuple[list[tuple[Memory, Score]], list[Fragment]]:
    """The best memories of a large pool, and the ones that pin themselves; a count of the others for each reason.

    `scores` has the score parts of each row that matches; None if all rows match and none has a score.
    """
    outside, layer = pool.outside(query), query.layer
    more = layer.most_named(query.build.request.budget)
    if layer.display.cited == "leave-out":
        more = max(more, _SPARE * layer.ranking.top)
    pins = [row for row in pool.marked() if row not in outside]
    has_newest = scores is None or layer.query.keeps_newest
    if scores is None or has_newest:
        scores = best_half(scores or {}, layer)
        rows = [*scores, *_newest(pool, outside, layer.ranking.top and layer.ranking.top + more)]
    else:
        rows = _most_relevant(pool, scores, layer, more, has_pins=bool(pins))
    shown = [*dict.fromkeys((*rows, *pins))]
    scores_shown = [scores.get(row, ()) for row in shown]
    unmatched = 0 if has_newest else pool.rows - len(outside) - len(scores.keys() | {*shown})
    unlisted = pool.rows - len(outside) - len(shown) - unmatched
    counts = [
        *pool.excluded,
        *(Reason.of(code, count=count) for code, count in sorted(Counter(outside.values()).items())),
        Reason.of("no-match", count=unmatched),
        Reason.of("not-in-top", count=unlisted, top=layer.ranking.top),
    ]
    best = [*zip(pool.entries(shown), scores_shown, strict=True)]
    return best, [count_fragment(query, reason) for reason in counts if dict(reason.facts)["count"]]


def best_half(scores: Mapping[int, Score], layer: Layer) -> dict[int, Score]:
    """The best matches, for half of the layer's places: the newest have the others."""
    best = sorted(scores, key=lambda row: (-weighted_total(scores[row], layer.ranking.weights), row))
    return {row: scores[row] for row in best[: (layer.ranking.top + 1) // 2 or None]}


def _newest(pool: EntryPool[Memory], outside: Collection[int], top: int) -> list[int]:
    """Rows of the newest memories that are not `outside`, up to `top`; all for 0."""
    rows = pool.newest(top + len(outside) if top else 0)
    return [row for row in rows if row not in outside][: top or None]


def _most_relevant(
    pool: EntryPool[Memory], scores: Mapping[int, Score], layer: Layer, more: int, *, has_pins: bool
) -> list[int]:
    """The rows that ranking may show or name, best first.

    A pin is shown for any topic, so it may raise the similarity that a candidate needs (`least_similarity`). Then only
    the `top` most similar rows may be shown, and these are listed, too.
    """
    able = scores
    if least := 0.0 if layer.limits.required else layer.ranking.min_score:
        able = {row: score for row, score in scores.items() if weighted_total(score, layer.ranking.weights) >= least}
    # If every row is below the least score, all are listed: the build then says that nothing is good enough.
    best = best_rows(pool, able or scores, layer, more)
    if not has_pins:
        return best
    similarity_of = {row: dict(score)["similarity"] for row, score in able.items()}
    return [*best, *first_rows(pool, similarity_of, layer.ranking.top and layer.ranking.top + more)]
