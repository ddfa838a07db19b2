"""Quality of the search for memories, on labelled data: `python benchmarks/retrieval.py FOLDER [--model DIR]`.

Prints recall, hits and mean reciprocal rank of our similarity, of the whole score, and of plain baselines; with --model
also those of our similarity and a sentence-transformers model, half and half, which needs the extra `semantic`. Entries
are made as a build makes them: no author is told. Ships no data: the folder holds memories.jsonl with questions.jsonl
(turns, as their text alone and as `Name: text`), and bullets.jsonl with bullet-questions.jsonl.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sqlite3
import string
from array import array
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from operator import add, mul
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any, Final

from contextasm.model import Document, EmbedderConfig, Layer, Memory, least_similarity, memory_score, weighted_total
from contextasm.retrieval.embeddings.local_model import embed_by_folder
from contextasm.retrieval.embeddings.request import EmbeddingRequest
from contextasm.retrieval.pool import index_entry
from contextasm.retrieval.search.bm25 import similarities
from contextasm.retrieval.search.inverted_index import SPEAKER_MARK, STOP, Index, IndexEntry, analyze, build_index
from contextasm.text.memories.parser import parse_memories
from contextasm.workspace.processes import run_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Scores = dict[int, float]
    Ranker = Callable[[str, "Pool"], Scores]

# Name, memories, questions, kernel (turns are a log, bullets a memory file), and the form of a memory.
SETS: Final = (
    ("turns", "memories.jsonl", "questions.jsonl", 1.0, "{text}"),
    ("turns as `Name: text`", "memories.jsonl", "questions.jsonl", 1.0, "{speaker}: {text}"),
    ("bullets", "bullets.jsonl", "bullet-questions.jsonl", 0.5, "{text}"),
)
# Memories that a layer of the default profile shows.
TOP: Final = 5
IMPORTANCE: Final = 0.5
TYPO_SEED: Final = 20250310


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The memories of one conversation, in order, and their index."""

    ids: tuple[str, ...]
    entries: tuple[IndexEntry, ...]
    index: Index


@dataclass(frozen=True, slots=True)
class Question:
    """A query and its answers: each part of `gold` is a set of ids, any one of which answers it."""

    query: str
    pool: Pool
    gold: tuple[frozenset[str], ...]


def main() -> None:
    """Measure every ranker on every set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", type=Path, help="folder of a sentence-transformers model with an ONNX file")
    chosen = parser.parse_args()
    rankers = dict(RANKERS)
    for name, memories, questions, kernel, form in SETS:
        labelled = load(chosen.folder / memories, chosen.folder / questions, kernel, form)
        if chosen.model:
            rankers["similarity and model"] = hybrid_ranker(chosen.model.resolve(), labelled)
        print(f"\n{name}, kernel {kernel}: {len(labelled)} questions\n{'':40}  R@5  R@10 hit@5   MRR")
        for label, ranker in rankers.items():
            show(label, labelled, ranker)
        for label, first in (("one typo a question", 1), ("one typo, first letters too", 0)):
            chance = random.Random(TYPO_SEED)  # noqa: S311 (no secret: the same typos each time)
            typos = [mistyped(question, chance, first) for question in labelled]
            for measured in ("similarity", "full score"):
                show(f"{measured}, {label}", typos, rankers[measured])


def show(label: str, questions: Sequence[Question], ranker: Ranker) -> None:
    """Print one line of a table."""
    print(f"{label:40}" + "".join(f"{100 * figure:6.1f}" for figure in measure(questions, ranker)), flush=True)


def load(memories: Path, questions: Path, kernel: float, form: str) -> list[Question]:
    """The questions of a set, each with the pool that holds its answers."""
    rows: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in read(memories):
        rows[row["corpus"]].append(row)
    pools = {corpus: pool(members, kernel, form) for corpus, members in rows.items()}
    return [Question(row["query"], pools[row["corpus"]], choices(row["gold"])) for row in read(questions)]


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a JSON Lines file."""
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


def pool(rows: Sequence[dict[str, Any]], kernel: float, form: str) -> Pool:
    """One conversation's memories; a session is a file."""
    entries = tuple(index_entry(memory(row, form))._replace(kernel=kernel) for row in rows)
    return Pool(tuple(row["id"] for row in rows), entries, build_index(entries))


def memory(row: dict[str, Any], form: str) -> Memory:
    """A row as a memory in the file of its session, in one of the forms of `SETS`."""
    bullet = " ".join(form.format(**row).split())
    document = Document(f"{row['group']}.md", f"## {row['date'][:10]}\n\n- {bullet}\n", 1, {}, b"")
    return parse_memories(document)[0][0]


def choices(gold: Sequence[str | Sequence[str]]) -> tuple[frozenset[str], ...]:
    """Answers of a question, each part as the set of ids any one of which answers it."""
    return tuple(frozenset([part] if isinstance(part, str) else part) for part in gold)


def measure(questions: Sequence[Question], ranker: Ranker) -> tuple[float, ...]:
    """Recall at 5 and 10, a hit among 5, reciprocal rank of the first hit: means over the questions."""
    sums = [0.0] * 4
    for question in questions:
        scores = ranker(question.query, question.pool)
        best = sorted(scores, key=lambda row: (-scores[row], row))
        rank = {question.pool.ids[row]: place for place, row in enumerate(best, 1)}
        ranks = [min(rank.get(one, math.inf) for one in part) for part in question.gold]
        five, ten = (sum(place <= limit for place in ranks) / len(ranks) for limit in (5, 10))
        sums = [total + part for total, part in zip(sums, (five, ten, float(five > 0), 1 / min(ranks)), strict=True)]
    return tuple(total / len(questions) for total in sums)


def mistyped(question: Question, chance: random.Random, first: int) -> Question:
    """The question with one typo (letter lost, added, wrong, swapped) in a topical word, from letter `first`."""
    parts = re.split(r"([^\W\d_]{5,})", question.query)
    places = [at for at in range(1, len(parts), 2) if parts[at].lower() not in STOP and parts[at].islower()]
    if not places:
        places = list(range(1, len(parts), 2))
    if places:
        at = chance.choice(places)
        parts[at] = typo(parts[at], chance, first)
    return replace(question, query="".join(parts))


def typo(word: str, chance: random.Random, first: int) -> str:
    """A word with one letter wrong."""
    at = chance.randrange(first, len(word) - 1)
    letter = chance.choice(string.ascii_lowercase)
    changed = (
        word[:at] + word[at + 1 :],
        word[:at] + letter + word[at:],
        word[:at] + letter + word[at + 1 :],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    )
    return chance.choice(changed)


def similarity(query: str, pool: Pool) -> Scores:
    """Our similarity alone, of every row."""
    return similarities(query, pool.index, min_match=0.0)


def full_score(query: str, pool: Pool) -> Scores:
    """Our whole score, as a build ranks: similarity, importance (the same for all) and age at the last session."""
    today = max(date.fromisoformat(entry.day) for entry in pool.entries)
    hits = similarities(query, pool.index)
    least = least_similarity(hits.values(), TOP)
    weights = Layer("L5").ranking.weights
    scores = {row: memory_score(near, IMPORTANCE, pool.entries[row].day, today) for row, near in hits.items()}
    # Candidates first: no total is above 1.
    return {row: weighted_total(score, weights) + (hits[row] >= least) for row, score in scores.items()}


def plain_fts(query: str, pool: Pool) -> Scores:
    """SQLite's full text search with its defaults: unicode61, bm25, any word but stop words."""
    words = [word for word in analyze(query) if word not in STOP]
    if not words:
        return {}
    match = " OR ".join(f'"{word}"' for word in words)
    hits = fts_table(pool).execute("SELECT rowid, bm25(memories) FROM memories WHERE memories MATCH ?", (match,))
    return {row - 1: -score for row, score in hits}


@cache
def fts_table(pool: Pool) -> sqlite3.Connection:
    """A full text table of a pool."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE memories USING fts5(text, tokenize='unicode61')")
    connection.executemany("INSERT INTO memories VALUES (?)", [(entry.text,) for entry in pool.entries])
    return connection


def token_set_ratio(query: str, pool: Pool) -> Scores:
    """A fuzzy match of the whole query."""
    from rapidfuzz import fuzz, utils

    ratio = fuzz.token_set_ratio
    return {row: ratio(query, entry.text, processor=utils.default_process) for row, entry in enumerate(pool.entries)}


def hybrid_ranker(model: Path, questions: Sequence[Question]) -> Ranker:
    """Our similarity and that of a sentence model, half and half."""
    texts = {entry.text for question in questions for entry in question.pool.entries}
    vectors = embed(model, [*texts, *{nameless(question.query, question.pool) for question in questions}])

    def ranker(query: str, pool: Pool) -> Scores:
        topic = vectors[nameless(query, pool)]
        cosines = [sum(map(mul, topic, vectors[entry.text])) for entry in pool.entries]
        smooth = [near + shared(cosines, row, pool) for row, near in enumerate(cosines)]
        # Similarity is cubed for the whole score; squared, its best hits stand out about as far as cosines' do.
        ours = similarity(query, pool)
        words = standard([ours.get(row, 0.0) ** (2 / 3) for row in range(len(smooth))])
        return dict(enumerate(map(add, words, standard(smooth))))

    return ranker


def nameless(query: str, pool: Pool) -> str:
    """A query without the names of the pool's authors."""
    names = {entry.author.removesuffix(SPEAKER_MARK) for entry in pool.entries}
    return re.sub(
        r"\w+(?:['’]s)?",
        lambda word: "" if analyze(word[0])[:1] and analyze(word[0])[0] in names else word[0],
        query,
    )


def embed(model: Path, texts: Sequence[str]) -> dict[str, array[float]]:
    """Vectors of length one, by the package's own embedder."""
    config = EmbedderConfig("folder", 0, folder=str(model))
    vectors = embed_by_folder(EmbeddingRequest(config, "", {}, texts, math.inf, run_program))
    return {text: array("d", unit(vector)) for text, vector in zip(texts, vectors, strict=True)}


def unit(vector: Sequence[float]) -> Iterator[float]:
    """A vector at length one."""
    norm = math.hypot(*vector)
    return (value / norm for value in vector)


def standard(values: Sequence[float]) -> list[float]:
    """Values as standard deviations from their mean: so that neither similarity outweighs the other in any pool."""
    mean, spread = fmean(values), pstdev(values) or 1.0
    return [(value - mean) / spread for value in values]


def shared(cosines: Sequence[float], row: int, pool: Pool) -> float:
    """Share that the neighbours in the same section add to a row's cosine."""
    section = pool.index.columns.sections
    steps = ((-1, 0.2), (1, 0.2), (-2, 0.1), (2, 0.1))
    return sum(share * cosines[row + step] for step, share in steps if section[row + step] == section[row])


RANKERS: Final[dict[str, Ranker]] = {
    "similarity": similarity,
    "full score": full_score,
    "FTS5 bm25": plain_fts,
    "rapidfuzz token_set_ratio": token_set_ratio,
}

if __name__ == "__main__":
    main()
