"""Indexes that change: after any edits, additions, moves, deletions and kills, a pool is as from a fresh index."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from contextasm.model import Build, EntryPool, Layer, Memory, Request, SourceQuery
from contextasm.retrieval.memory_index import index, stored_pool
from contextasm.retrieval.memory_index.database import IndexConnection
from contextasm.retrieval.memory_index.reader import IndexedPool
from contextasm.retrieval.pool import MEMORIES, index_entry, read_pool
from contextasm.retrieval.search import inverted_index
from contextasm.retrieval.search.inverted_index import build_index
from contextasm.selection.tokens import ESTIMATE
from contextasm.workspace.folder import Folder
from tests.retrieval.memory_index.test_memory_index import TOPICS, indexes
from tests.workspaces import DAY, DEFAULT

PATTERNS = ("memories/*.md",)
SMALL = (
    (index, "MANY", 0),
    (stored_pool, "_BATCH", 20),
    (stored_pool, "_HOLES", 30),
)
"""Limits so small that a few memories reach them."""

TODAYS = (DAY, DAY - timedelta(days=1), DAY - timedelta(days=4), DAY - timedelta(days=20))
"""Days of builds: on each one some more memories are of a later day."""

WORDS = ("ban", "dors", "bandors", "fun", "mavedr", "kars", "lut", "gun", "日本語", "Ana")


def line(chance: Random) -> str:
    """A memory of few words, often with an id that others have, too, or replace."""
    stated = [f"importance=0.{chance.randrange(10)}"]
    most = chance.choice((4, 40))  # of few ids nearly all are replaced, and of many a few
    for share, attribute in (
        (0.4, f"id=x{chance.randrange(most)}{chance.choice(('', '', '~2'))}"),
        (0.2, f"supersedes=x{chance.randrange(most)},x{chance.randrange(most)}~2"),
        (0.2, f"created={DAY - timedelta(days=chance.randrange(3))}"),
        (0.1, f"status={chance.choice(('draft', 'superseded', 'verified'))}"),
        (0.1, f"{chance.choice(('expires', 'valid_from'))}={DAY - timedelta(days=chance.randrange(-1, 9))}"),
        (0.1, f"repositories={chance.choice(('here/*', 'there/*', 'there/*,here/one'))}"),
        (0.1, "writer=mcp"),
        (0.1, "pin=true"),
    ):
        if chance.random() < share:
            stated.append(attribute)
    text = " ".join(chance.choices(WORDS, k=chance.randint(1, 6)))
    return f"- [fact] {text} {{{' '.join(stated)}}}\n"


def page(chance: Random, size: int) -> str:
    """A file of memories under some dates."""
    day = f"\n## {DAY - timedelta(days=chance.randrange(9))}\n\n"
    return "".join(day if chance.random() < 0.1 else line(chance) for _ in range(size))


def question(topic: str, today: date, layer: Layer) -> SourceQuery:
    request = Request("a", "", topic, today, 16_000, "estimate", "markdown")
    return SourceQuery(Build(Folder("."), DEFAULT, request, ESTIMATE, repository=lambda: ("here/one",)), layer)


LAYERS = [Layer("x"), Layer("x", locked=True)]
QUESTIONS = [
    question(topic, today, LAYERS[number % 2]) for topic in TOPICS if topic for number, today in enumerate(TODAYS)
]


def facts(pool: EntryPool[Memory], turn: int) -> tuple[object, ...]:
    """What a pool says, by its memories in place of rows; a fifth of the questions is asked at each turn."""
    every = [*pool.newest(0)]
    names = dict(zip(every, pool.entries(every), strict=True))
    similar = [
        sorted((names[row], value) for row, value in pool.similar(query, 0.1).items())
        for query in QUESTIONS[turn % 5 :: 5]
    ]
    outside = [
        sorted((names[row], code) for row, code in pool.outside(each).items()) for each in QUESTIONS[: len(TODAYS)]
    ]
    inputs = [*zip(names.values(), pool.score_inputs([*names]), strict=True)]
    marked = [names[row] for row in pool.marked()]
    return (pool.size, pool.rows, [*pool.excluded], [*pool.problems], inputs, sorted(marked), similar, outside)


def facts_and_terms(pool: EntryPool[Memory], turn: int) -> tuple[object, ...]:
    """What an indexed pool says, and the terms that its index knows on each day."""
    assert isinstance(pool, IndexedPool)
    indexes_of_days = [pool.index(each)[0] for each in QUESTIONS[: len(TODAYS)]]
    return (
        *facts(pool, turn),
        [[name for name in each.beginning("") if each.postings(name)[0]] for each in indexes_of_days],
    )


def _dying(call: Callable[..., object], after: int) -> Callable[..., object]:
    """The same call, which ends the process after so many times."""
    times = iter(range(after))

    def counted(*given: object, **named: object) -> object:
        if next(times, None) is None:
            os._exit(0)
        return call(*given, **named)

    return counted


class ChangingPool(RuleBasedStateMachine):
    """A folder of memories with an index that is asked now and then."""

    turn = 0

    @initialize(seed=st.integers(0, 10**6), files=st.integers(1, 6))
    def start(self, seed: int, files: int) -> None:
        """Some files, and limits that they reach."""
        self.patches = pytest.MonkeyPatch()
        for module, name, value in SMALL:
            self.patches.setattr(module, name, value)
        self.root = Path(os.path.realpath(tempfile.mkdtemp()))
        (self.root / "memories").mkdir()
        for number in range(files):
            self.file(number).write_text(page(Random(seed + number), 12))

    def file(self, number: int) -> Path:
        """A file by its number."""
        return self.root / "memories" / f"{number:02}.md"

    @rule(number=st.integers(0, 8), seed=st.integers(0, 10**6), size=st.integers(0, 30))
    def write(self, number: int, seed: int, size: int) -> None:
        """Write a file anew."""
        self.file(number).write_text(page(Random(seed), size))

    @rule(number=st.integers(0, 8), seed=st.integers(0, 10**6))
    def append(self, number: int, seed: int) -> None:
        """Add two memories to the end of a file."""
        with self.file(number).open("a") as file:
            file.write(page(Random(seed), 2))

    @rule(number=st.integers(0, 8), at=st.floats(0, 1, exclude_max=True), seed=st.integers(0, 10**6))
    def edit(self, number: int, at: float, seed: int) -> None:
        """Write another memory in place of one."""
        if self.file(number).exists():
            lines = self.file(number).read_text().splitlines(keepends=True) or [""]
            lines[int(at * len(lines))] = line(Random(seed))
            self.file(number).write_text("".join(lines))

    @rule(number=st.integers(0, 8), keep=st.floats(0, 1))
    def cut(self, number: int, keep: float) -> None:
        """Take lines off the top or the end of a file."""
        if self.file(number).exists():
            lines = self.file(number).read_text().splitlines(keepends=True)
            at = int(keep * len(lines))
            self.file(number).write_text("".join(lines[at:] if number % 2 else lines[:at]))

    @rule(number=st.integers(0, 8), other=st.integers(0, 8))
    def move(self, number: int, other: int) -> None:
        """Give a file another name."""
        if self.file(number).exists():
            self.file(number).rename(self.file(other))

    @rule(number=st.integers(0, 8))
    def remove(self, number: int) -> None:
        """Remove a file."""
        self.file(number).unlink(missing_ok=True)

    @rule(after=st.integers(0, 60))
    def kill_while_writing(self, after: int) -> None:
        """End a process that updates the index, after so many memories."""

        def die_at_a_memory() -> None:
            self.patches.setattr(stored_pool, "entry_facts", _dying(inverted_index.entry_facts, after))

        self.ask_in_another_process(die_at_a_memory)

    @rule(after=st.integers(0, 3), name=st.sampled_from(["begin_writing", "__exit__"]))
    def kill_beside_a_transaction(self, after: int, name: str) -> None:
        """End a process that updates the index, right before a transaction begins or ends."""

        def die_at_a_transaction() -> None:
            self.patches.setattr(IndexConnection, name, _dying(getattr(IndexConnection, name), after))

        self.ask_in_another_process(die_at_a_transaction)

    def ask_in_another_process(self, begin: Callable[[], None]) -> None:
        """Fork a process that calls `begin`, asks the index, and ends."""
        if not (child := os.fork()):
            gc.disable()  # it would copy all that this process shares with its parent
            try:
                begin()
                self.ask()
            finally:
                os._exit(0)
        os.waitpid(child, 0)

    def ask(self) -> tuple[object, ...] | None:
        """What the index says, which is made where there is none."""
        home = Folder(self.root)
        paths = home.list(PATTERNS[0])
        use = partial(facts_and_terms, turn=self.turn)
        answer = indexes(home).query(MEMORIES, PATTERNS, paths, use)
        return answer or indexes(home).query(MEMORIES, PATTERNS, paths, use, new=True)

    @rule()
    def compare(self) -> None:
        """Hold the index against the files."""
        self.turn += 1
        home = Folder(self.root)
        pool = read_pool(home, MEMORIES, home.list(PATTERNS[0]))
        answer = self.ask()
        assert (answer is None) == (pool.size == 0)
        if answer:
            outside = map(pool.outside, QUESTIONS[: len(TODAYS)])
            inside = [[memory for row, memory in enumerate(pool.active) if row not in rows] for rows in outside]
            terms = [build_index([*map(index_entry, memories)]).beginning("") for memories in inside]
            assert answer == (*facts(pool, self.turn), terms)

    @invariant()
    def ask_at_every_other_step(self) -> None:
        """Hold the index against the files, and let it fall behind in between."""
        self.steps = getattr(self, "steps", 0) + 1
        if self.steps % 2 == 0:
            self.compare()

    def teardown(self) -> None:
        """Compare once more, and clean up."""
        if hasattr(self, "root"):
            try:
                self.compare()
                self.compare()
            finally:
                self.patches.undo()
                shutil.rmtree(self.root)


TestChangingPool = ChangingPool.TestCase
TestChangingPool.settings = settings(stateful_step_count=12)


def test_memory_that_no_longer_replaces_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "MANY", 0)
    home = Folder(Path(os.path.realpath(tmp_path)))
    (tmp_path / "memories").mkdir()

    def active(**files: str) -> list[str]:
        for name, text in files.items():
            (tmp_path / f"memories/{name}.md").write_text(text)
        paths = home.list(PATTERNS[0])
        said = indexes(home).query(
            MEMORIES, PATTERNS, paths, lambda pool: pool.entries(sorted(pool.newest(0))), new=True
        )
        assert said is not None
        return sorted(memory.text for memory in said)

    assert active(a="- ban {supersedes=x1}\n", b="- fun {id=x1}\n", c="- kars\n") == ["ban", "kars"]
    assert active(a="- ban {supersedes=x1}\n- lut\n") == ["ban", "kars", "lut"]
    assert active(a="- ban\n- lut\n") == ["ban", "fun", "kars", "lut"]
    assert active(b="- more fun {id=x1}\n") == ["ban", "kars", "lut", "more fun"]


def test_index_of_which_a_later_batch_leaves_few_rows_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in SMALL:
        monkeypatch.setattr(module, name, value)
    home = Folder(Path(os.path.realpath(tmp_path)))
    (tmp_path / "memories").mkdir()
    (tmp_path / "memories/a.md").write_text("".join(f"- ban {number} {{id=x{number}}}\n" for number in range(40)))
    replaced = ",".join(f"x{number}" for number in range(40))
    (tmp_path / "memories/b.md").write_text(f"- fun {{supersedes={replaced}}}\n")
    active = indexes(home).query(MEMORIES, PATTERNS, home.list(PATTERNS[0]), lambda pool: [*pool.newest(0)], new=True)
    assert active is not None
    assert len(active) == 1
