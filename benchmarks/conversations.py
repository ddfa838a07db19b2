"""Labelled conversations as workspaces, with questions and the lines that answer them.

A folder holds memories.jsonl (turns) with questions.jsonl, and bullets.jsonl with bullet-questions.jsonl: the same
questions, answered by bullets that were drawn from the turns. A conversation becomes a workspace with a log for each
day, a line a turn, and one file of memories, with the bullets under the heading of their day. Measures nothing.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

IDENTITY: Final = "agents/ada/IDENTITY.md"
INSTRUCTIONS: Final = "agents/ada/INSTRUCTIONS.md"
MEMORIES: Final = "agents/ada/memories/facts.md"
TEXTS: Final = {
    IDENTITY: "You are Ada. You have listened to two friends for a long time, and you remember for them.\n",
    INSTRUCTIONS: "Answer what you are asked from the logs and memories below, with the day if one is known.\n"
    "If they do not hold the answer, say that you do not know. Keep apart who said what.\n",
}
SEED: Final = 53
"""One of 60 seeds: BM25 does on its 100 questions of a first set of data as it does on all of them."""

Rows = Sequence[Mapping[str, Any]]
NONE: Final[frozenset[str]] = frozenset()


class Line(NamedTuple):
    """A line of a log or of the file of memories."""

    id: str
    path: str
    number: int
    day: str
    mark: str
    """What stands before its words."""
    words: str

    @property
    def text(self) -> str:
        """The line as it is written."""
        return self.mark + self.words


class Conversation(NamedTuple):
    """A conversation as a workspace. Its lines are the turns in order, then the bullets in order."""

    name: str
    files: Mapping[str, str]
    lines: tuple[Line, ...]
    today: str
    """The day after the last turn."""

    def write(self, folder: Path) -> None:
        """Write its files below a folder."""
        for path, text in self.files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")

    def shown(self, text: str) -> list[str]:
        """The lines that stand whole in a text, as ids in its order; what stands before their words does not count."""
        ids: defaultdict[str, list[str]] = defaultdict(list)
        for line in self.lines:
            ids[line.words].append(line.id)
        found: dict[str, None] = {}
        for row in text.splitlines():
            parts = row.split(" ")
            ends = (" ".join(parts[at:]) for at in range(len(parts)))
            found |= dict.fromkeys(next((ids[end] for end in ends if end in ids), ()))
        return [*found]


class Question(NamedTuple):
    """A question about a conversation. Each turn that it needs is a set of lines, any one of which will do."""

    conversation: str
    text: str
    needs: tuple[frozenset[str], ...]

    def recall(self, ids: Collection[str]) -> float:
        """Share of what it needs that is among these lines."""
        return sum(not need.isdisjoint(ids) for need in self.needs) / len(self.needs)

    def precision(self, ids: Sequence[str]) -> float:
        """Share of these lines that it needs; 0 for no lines."""
        wanted = NONE.union(*self.needs)
        return sum(each in wanted for each in ids) / max(1, len(ids))


def load(folder: Path) -> tuple[dict[str, Conversation], list[Question]]:
    """The conversations by name, and the questions; those whose bullets can't be told apart are left out."""
    turns, bullets, asked, by_bullet = (
        [json.loads(row) for row in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines() if row.strip()]
        for name in ("memories", "bullets", "questions", "bullet-questions")
    )
    names = dict.fromkeys(row["corpus"] for row in turns)
    conversations = {name: of_turns(name, _of(name, turns), _of(name, bullets)) for name in names}
    return conversations, _questions(asked, by_bullet)


def sample(questions: Sequence[Question], count: int) -> list[Question]:
    """Questions drawn by lot, the same each time; all of them for 0."""
    chance = random.Random(SEED)  # noqa: S311 (no secret: the same sample each time)
    return chance.sample(questions, count) if 0 < count < len(questions) else [*questions]


def _of(name: str, rows: Rows) -> Rows:
    """The rows of one conversation."""
    return [row for row in rows if row["corpus"] == name]


def of_turns(name: str, turns: Rows, bullets: Rows = ()) -> Conversation:
    """One conversation from its rows; without bullets it has no file of memories."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    lines = []
    for row in turns:
        day = row["date"][:10]
        path = f"agents/ada/daily/{day}.md"
        lines.append(Line(row["id"], path, len(texts[path]) + 1, day, "- ", f"{row['speaker']}: {_flat(row['text'])}"))
        texts[path].append(lines[-1].text)
    today = date.fromisoformat(max(line.day for line in lines)) + timedelta(days=1)
    facts = texts[MEMORIES] = ["# What is known"]
    day = ""
    for row in bullets:
        if row["date"][:10] != day:
            day = row["date"][:10]
            facts += ["", f"## {day}", ""]
        lines.append(Line(row["id"], MEMORIES, len(facts) + 1, day, "- [fact] ", _flat(row["text"])))
        facts.append(lines[-1].text)
    files = {path: "\n".join(rows) + "\n" for path, rows in texts.items() if path != MEMORIES or bullets}
    return Conversation(name, TEXTS | files, tuple(lines), str(today))


def _flat(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def _questions(asked: Rows, by_bullet: Rows) -> list[Question]:
    """The questions of which it is sure what bullets stand for what turn."""
    groups = {
        row["id"]: [frozenset([each] if isinstance(each, str) else each) for each in row["gold"]] for row in by_bullet
    }
    sure: dict[tuple[str, str], frozenset[str]] = {}
    for row in asked:
        own = groups.get(row["id"]) or [NONE] * len(row["gold"])
        if len(own) == len(row["gold"]):
            sure |= {(row["corpus"], turn): group for turn, group in zip(row["gold"], own, strict=True)}
    questions = []
    for row in asked:
        known = {turn: sure[row["corpus"], turn] for turn in row["gold"] if (row["corpus"], turn) in sure}
        ways = [*_ways(row["gold"], groups.get(row["id"], []), known)]
        if len(ways) == 1:
            needs = tuple(frozenset({turn}) | group for turn, group in zip(row["gold"], ways[0], strict=True))
            questions.append(Question(row["corpus"], row["query"], needs))
    return questions


def _ways(
    turns: Sequence[str], groups: Sequence[frozenset[str]], known: Mapping[str, frozenset[str]]
) -> Iterator[list[frozenset[str]]]:
    """The ways to give each group of bullets to one turn of its session, in order, that agree with what is known."""
    for places in combinations(range(len(turns)), len(groups)):
        way = [NONE] * len(turns)
        for place, group in zip(places, groups, strict=True):
            way[place] = group
        if all(
            known.get(turn, group) == group and all(_session(each) == _session(turn) for each in group)
            for turn, group in zip(turns, way, strict=True)
        ):
            yield way


def _session(name: str) -> str:
    """The session of a turn (D3:7) or of a bullet (O3:2)."""
    return name[1:].partition(":")[0]


def write_example(folder: Path) -> Path:
    """A tiny folder of this form, made up, to try a benchmark on; the folder again."""
    said = (
        ("D1:1", "2024-05-01T10:00", "Nora", "I planted two pear trees behind the shed."),
        ("D1:2", "2024-05-01T10:01", "Tom", "My brother sells his bakery in Leeds."),
        ("D2:1", "2024-05-09T10:00", "Nora", "The trees have aphids, so I ordered ladybirds."),
        ("D2:2", "2024-05-09T10:01", "Tom", "I start to learn the cello on Monday."),
    )
    known = (
        ("O1:1", "2024-05-01T10:00", "Nora", "Nora planted two pear trees."),
        ("O2:1", "2024-05-09T10:00", "Tom", "Tom learns the cello."),
    )
    asked = (
        ("q1", "Which trees did Nora plant?", ["D1:1"], ["O1:1"]),
        ("q2", "What instrument does Tom learn?", ["D2:2"], ["O2:1"]),
        ("q3", "What did Nora order for the trees she planted?", ["D1:1", "D2:1"], ["O1:1"]),
    )
    keys = ("id", "date", "speaker", "text")
    files: dict[str, list[dict[str, Any]]] = {
        "memories": [dict(zip(keys, row, strict=True)) for row in said],
        "bullets": [dict(zip(keys, row, strict=True)) for row in known],
        "questions": [{"id": name, "query": text, "gold": turns} for name, text, turns, _ in asked],
        "bullet-questions": [{"id": name, "query": text, "gold": bullets} for name, text, _, bullets in asked],
    }
    for name, rows in files.items():
        lines = (json.dumps({"corpus": "example", **row}) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder
