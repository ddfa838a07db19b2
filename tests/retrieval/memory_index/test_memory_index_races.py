"""Builders of one index at the same time, and builders that are interrupted: what is read is never a mixture."""

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from contextasm.model import Document, Problem
from contextasm.retrieval.memory_index import stored_pool
from contextasm.retrieval.memory_index.database import IndexConnection, remove_database
from contextasm.retrieval.pool import MEMORIES
from contextasm.workspace.folder import Folder
from tests.retrieval.memory_index.test_memory_index import built, database, indexes, medium, memory, pools, same

__all__ = ["medium"]


def page(folder: Path, number: int) -> Path:
    """A file of memories."""
    return folder / f"agents/a/memories/{number:03}.md"


def append(path: Path, text: str) -> None:
    """Add to a file."""
    with path.open("a") as file:
        file.write(text)


def in_another_process(call: Callable[[], object]) -> int:
    """Fork a process that makes a call; its id. It ends with 0 if nothing was raised."""
    if child := os.fork():
        return child
    code = 1
    try:
        call()
        code = 0
    finally:
        os._exit(code)


def after_each(monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> None:
    """Call `then` after each part of an index that is stored."""
    leave = IndexConnection.__exit__

    def stored(connection: IndexConnection, *error: Any) -> Any:
        was_changed = connection.in_transaction and connection.total_changes
        answer = leave(connection, *error)
        if was_changed:
            then()
        return answer

    monkeypatch.setattr(IndexConnection, "__exit__", stored)


@pytest.mark.parametrize("batch", [500, 1 << 15])
def test_another_build_in_the_middle_of_a_first_index(
    medium: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(stored_pool, "_BATCH", batch)
    others: list[object] = []

    def another_builds() -> None:
        if not others:
            others.append(None)
            append(page(medium, 0), "- [fact] banning dors in the middle {id=x1}\n")
            others[0] = same(built(medium, "banning dors"))

    after_each(monkeypatch, another_builds)
    built(medium, "banning dors")
    without = same(built(medium, "banning dors", kept=False))
    assert others == [without]
    assert same(built(medium, "banning dors")) == without


def test_first_index_goes_on_where_it_was_interrupted(medium: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_pool, "_BATCH", 500)
    with monkeypatch.context() as patch:

        def interrupt() -> None:
            raise KeyboardInterrupt

        after_each(patch, interrupt)
        with pytest.raises(KeyboardInterrupt):
            built(medium, "banning dors")
    assert pools(medium)
    opened: list[str] = []
    read = Folder.read

    def watched(self: Folder, path: str) -> Document | Problem | None:
        opened.append(path)
        return read(self, path)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "read", watched)
        after = same(built(medium, "banning dors"))
    assert after == same(built(medium, "banning dors", kept=False))
    of_memories = {path for path in opened if "memories" in path}
    assert {f"agents/a/memories/{number:03}.md" for number in range(5, 12)} <= of_memories
    assert len(of_memories) < 12


def test_files_with_new_times_alone_are_not_held(medium: Path) -> None:
    for number in range(12):
        long = f"- [fact] {'harbor lantern ' * 2000}{number}\n"
        page(medium, number).write_text("".join((f"- [fact] dors {number}\n" * 100, long * 20)))
    used = indexes(Folder(medium))
    patterns = ["agents/a/memories/*.md"]
    paths = Folder(medium).list(patterns[0])
    used.query(MEMORIES, patterns, paths, lambda pool: pool.size, new=True)
    for path in paths:
        os.utime(medium / path, (1_700_000_000, 1_700_000_000))
    tracemalloc.start()
    try:
        assert used.query(MEMORIES, patterns, paths, lambda pool: pool.size) == 12 * 120
        assert tracemalloc.get_traced_memory()[1] < 12 * 600_000
    finally:
        tracemalloc.stop()


def test_builders_that_add_memories_at_once(medium: Path) -> None:
    built(medium)

    def add(number: int) -> None:
        chance = Random(number)
        for _ in range(6):
            append(page(medium, chance.randrange(12)), memory(chance))
            built(medium, "banning dors")

    def add_and_die(number: int) -> None:
        append(page(medium, number), memory(Random(number)))
        leave, times = IndexConnection.__exit__, iter(range(number % 3))

        def dying(connection: IndexConnection, *error: Any) -> Any:
            if next(times, None) is None:
                os._exit(0)
            return leave(connection, *error)

        IndexConnection.__exit__ = dying  # type: ignore[assignment, method-assign]
        built(medium, "banning dors")

    children = [in_another_process(lambda number=number: add(number)) for number in range(3)]  # type: ignore[misc]
    children += [in_another_process(lambda number=number: add_and_die(number)) for number in range(4)]  # type: ignore[misc]
    assert {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children} == {0}
    for _ in range(2):
        assert same(built(medium, "banning dors")) == same(built(medium, "banning dors", kept=False))
    assert pools(medium)


def test_index_that_is_removed_while_it_is_used_leaves_the_next_one_alone(medium: Path) -> None:
    built(medium)
    append(page(medium, 3), "- [fact] banning once more\n")
    begin = IndexConnection.begin_writing

    def removed_first(connection: IndexConnection) -> None:
        remove_database(database(medium))
        begin(connection)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IndexConnection, "begin_writing", removed_first)
        assert same(built(medium, "banning")) == same(built(medium, "banning", kept=False))
    assert not [path for path in database(medium).parent.iterdir() if path.name.startswith(database(medium).name)]
    assert same(built(medium, "banning")) == same(built(medium, "banning", kept=False))
    assert pools(medium)
