"""Builders of one index at the same time, and builders that are interrupted: what is read is never a mixture."""

from __future__ import annotations

import os
import sqlite3
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from contextasm.model import Document, Problem
from contextasm.retrieval.memory_index import database, updater
from contextasm.retrieval.memory_index.index import INDEX_FOLDER
from contextasm.workspace.folder import Folder
from tests.retrieval.memory_index.test_memory_index import built, indexes, medium, memory, pools, same

__all__ = ["medium"]


def changes(folder: Path) -> Path:
    """The small file of the only index."""
    (path,) = pools(folder)
    return path.with_suffix(".changes")


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
    """Call `then` whenever a part of a first index has been stored."""
    store = database._store_copy

    def stored(made: str, path: Path) -> None:
        store(made, path)
        then()

    monkeypatch.setattr(database, "_store_copy", stored)


def test_changes_of_a_part_of_an_index_are_not_taken_for_those_of_the_whole(
    medium: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updater, "_BATCH", 500)
    late: list[bytes] = []

    def another_builds() -> None:
        if late:
            return
        late.append(b"")
        append(page(medium, 0), "- [fact] banning dors in the middle {id=x1}\n")
        built(medium, "banning dors")
        late[0] = changes(medium).read_bytes()

    after_each(monkeypatch, another_builds)
    built(medium, "banning dors")
    assert late[0]
    changes(medium).write_bytes(late[0])
    assert same(built(medium, "banning dors")) == same(built(medium, "banning dors", kept=False))


def test_first_index_goes_on_where_it_was_interrupted(medium: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updater, "_BATCH", 500)
    with monkeypatch.context() as patch:

        def interrupt() -> None:
            raise KeyboardInterrupt

        after_each(patch, interrupt)
        with pytest.raises(KeyboardInterrupt):
            built(medium, "banning dors")
    assert sorted(path.suffix for path in (medium / INDEX_FOLDER).iterdir()) == [".sqlite"]
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


def test_steps_of_a_first_index_are_counted(medium: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updater, "_BATCH", 100)
    shares: list[float] = []
    used = indexes(Folder(medium))
    assert used.steps.share is None
    after_each(monkeypatch, lambda: shares.append(used.steps.share or 0.0))
    used.store("memories", ["agents/a/memories/*.md"], Folder(medium).list("agents/a/memories/*.md"))
    assert 0 < shares[0] < shares[1] < shares[2] < 1
    assert used.steps.share is None


def test_parts_of_a_first_index_are_stored_whenever_they_have_doubled(
    medium: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updater, "_BATCH", 100)
    sizes: list[int] = []

    def note_size() -> None:
        with closing(sqlite3.connect(pools(medium)[0])) as store:
            sizes.append(store.execute("SELECT count(*) FROM rows").fetchone()[0])

    after_each(monkeypatch, note_size)
    built(medium)
    assert len(sizes) == 4
    assert all(1.9 < later / earlier < 2.1 for earlier, later in pairwise(sizes))


def test_files_with_new_times_alone_are_not_held(medium: Path) -> None:
    for number in range(12):
        long = f"- [fact] {'harbor lantern ' * 2000}{number}\n"
        page(medium, number).write_text("".join((f"- [fact] dors {number}\n" * 100, long * 20)))
    used = indexes(Folder(medium))
    patterns = ["agents/a/memories/*.md"]
    paths = Folder(medium).list(patterns[0])
    used.store("memories", patterns, paths)
    for path in paths[1:]:  # of an index that knows no file, nothing is believed
        os.utime(medium / path, (1_700_000_000, 1_700_000_000))
    tracemalloc.start()
    try:
        assert used.query("memories", patterns, paths, lambda pool: pool.size) == 12 * 120
        assert tracemalloc.get_traced_memory()[1] < 12 * 600_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("least", [0, 100_000])
def test_builders_that_add_memories_at_once(medium: Path, monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    monkeypatch.setattr(updater, "_LEAST_CHANGES", least)
    if not least:
        monkeypatch.setattr(updater, "_SHARE_OF_CHANGES", 10**6)
    built(medium)

    def add(number: int) -> None:
        chance = Random(number)
        for _ in range(6):
            append(page(medium, chance.randrange(12)), memory(chance))
            built(medium, "banning dors")

    def add_and_die(number: int) -> None:
        append(page(medium, number), memory(Random(number)))
        replace, times = os.replace, iter(range(number % 2))

        def dying(*names: object) -> None:
            if next(times, None) is None:
                os._exit(0)
            replace(*names)  # type: ignore[arg-type]

        os.replace = dying  # type: ignore[assignment]
        built(medium, "banning dors")

    children = [in_another_process(lambda number=number: add(number)) for number in range(3)]  # type: ignore[misc]
    children += [in_another_process(lambda number=number: add_and_die(number)) for number in range(4)]  # type: ignore[misc]
    assert {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children} == {0}
    assert changes(medium).exists() == bool(least)
    for _ in range(2):
        assert same(built(medium, "banning dors")) == same(built(medium, "banning dors", kept=False))


def test_index_that_is_replaced_while_its_changes_are_written(medium: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(medium)
    append(page(medium, 3), "- [fact] banning once more\n")
    stale = pools(medium)[0].read_bytes()
    built(medium, "banning")
    kept = changes(medium).read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(updater, "_LEAST_CHANGES", 0)
        patch.setattr(updater, "_SHARE_OF_CHANGES", 10**6)
        append(page(medium, 1), "- [fact] banning a third time\n")
        built(medium, "banning")
    assert pools(medium)[0].read_bytes() != stale
    assert not changes(medium).exists()
    changes(medium).write_bytes(kept)
    for _ in range(2):
        assert same(built(medium, "banning")) == same(built(medium, "banning", kept=False))
