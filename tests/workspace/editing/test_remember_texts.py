"""Remembering and finding in a large folder: stored texts and ids spare reading its files, and decide nothing."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
import tracemalloc
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import ContextasmError, Document, FileStamp, FolderFacts, Memory, Problem
from contextasm.retrieval.memory_index.files import folder_facts
from contextasm.text.memories.parser import unique_ids
from contextasm.workspace.editing import known_ids, memories
from contextasm.workspace.editing.known_ids import WorkspaceIds
from contextasm.workspace.editing.remember import store_memories
from contextasm.workspace.folder import Folder
from contextasm.workspace.storage import MemoryPlace, NewMemory, RememberOutcome
from tests.command import fill, inside
from tests.retrieval.memory_index.test_memory_index import LETTERS, database
from tests.workspaces import DAY

FOLDER = "agents/a/memories"
WORDS = ("the harbor bell", "a lantern", "never", "3 copies", "５ Copies", "of the log", "at dawn", "日本語", "rope")
STATED = (
    "",
    " {id=x1}",
    " {supersedes=x1,x2}",
    " {id=x2 status=draft}",
    " {importance=0.7}",
    "\n  and more {pin=true}",
)


def facts(root: Path, kind: type[Folder] = Folder) -> FolderFacts:
    """The stored texts and ids, by a clock for which every file is old."""
    return folder_facts(kind(root), FOLDER, lambda: time.time() + 60, database(root))


def stored(root: Path) -> int:
    """Number of files whose texts are stored."""
    if not database(root).exists():
        return 0
    with closing(sqlite3.connect(database(root))) as connection:
        return int(connection.execute("SELECT count(*) FROM facts WHERE kind = 'texts'").fetchone()[0])


def remember(root: Path, text: str, *, with_texts: bool = True, **fields: object) -> RememberOutcome:
    """Remember one text in the file of the month."""
    place = MemoryPlace(FOLDER, f"{FOLDER}/2025-03.md", facts(root) if with_texts else None)
    entry = NewMemory(text, **fields)  # type: ignore[arg-type]
    return store_memories(Folder(root), place, [entry], DAY, force=False)[0]


def write_page(root: Path, number: int, seed: int) -> None:
    """A file of memories that say much the same."""
    chance = Random(seed)
    lines = (f"- {' '.join(chance.choices(WORDS, k=3))}{chance.choice(STATED)}\n" for _ in range(chance.randrange(9)))
    front = "---\ntype: fact\n---\n" if chance.random() < 0.1 else ""
    (root / FOLDER / f"{number}.md").write_text(front + "".join(lines))


def content(root: Path) -> dict[str, bytes]:
    """All files of memories."""
    return {path.name: path.read_bytes() for path in sorted((root / FOLDER).iterdir())}


STEP = st.tuples(
    st.integers(0, 4), st.integers(0, 10**6), st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
)


@given(st.lists(STEP, min_size=2, max_size=8))
def test_law_stored_texts_change_no_outcome(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, str]]
) -> None:
    one, other = (tmp_path_factory.mktemp("w") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memories, "MANY", 0)
        for root in (one, other):
            (root / FOLDER).mkdir(parents=True)
        for number, seed, text in steps:
            for root in (one, other):
                if seed % 5 == 0:
                    (root / FOLDER / f"{number}.md").unlink(missing_ok=True)
                elif seed % 5 < 4:
                    write_page(root, number, seed)
            assert remember(one, text) == remember(other, text, with_texts=False)
            assert content(one) == content(other)
    assert not stored(other)


def found(root: Path, name: str, *, with_ids: bool = True) -> list[Memory] | str:
    """The memories with an id, or the message where there is none."""
    try:
        return WorkspaceIds(Folder(root), "", (lambda _: facts(root).ids) if with_ids else None).find(name)
    except ContextasmError as error:
        return str(error)


NAMES = ("x1", "x2", "x1~2", "x2~3", "x3")


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 10**6), st.sampled_from(NAMES)), min_size=2, max_size=8))
def test_law_stored_ids_change_nothing_that_is_found(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, str]]
) -> None:
    root = tmp_path_factory.mktemp("w")
    (root / FOLDER).mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_ids, "MANY", -1)
        for step, (number, seed, name) in enumerate(steps):
            if seed % 5 == 0:
                (root / FOLDER / f"{number}.md").unlink(missing_ok=True)
            else:
                write_page(root, number, seed)
            memories_found = found(root, name)
            assert memories_found == found(root, name, with_ids=False)
            if isinstance(memories_found, list):
                remember(root, f"step {step}", supersedes=(name,), with_texts=seed % 2 == 0)
                (memory,) = WorkspaceIds(Folder(root)).find(name)
                assert (memory[:3], memory.status != "active") == (memories_found[0][:3], True)


def test_many_names_are_looked_up_in_one_pass_over_the_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []

    def counted(ids: Iterable[str]) -> list[str]:
        unique = unique_ids(ids)
        passes.append(len(unique))
        return unique

    monkeypatch.setattr(known_ids, "unique_ids", counted)
    names = [f"k{number}" for number in range(200)]
    page = fill(tmp_path, {f"{FOLDER}/a.md": "".join(f"- about {name} {{id={name}}}\n" for name in names)})
    ids = WorkspaceIds(Folder(page))
    assert [memory.text for name in names for memory in ids.find(name)] == [f"about {name}" for name in names]
    assert passes == [len(names)]


def statement(page: int, number: int) -> str:
    """A text that no other is like."""
    return " ".join(Random(100 * page + number).choices(LETTERS, k=9))


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A folder of 1,500 memories."""
    (tmp_path / FOLDER).mkdir(parents=True)
    for page in range(15):
        lines = "".join(f"- {statement(page, number)}\n" for number in range(100))
        (tmp_path / FOLDER / f"{page:02}.md").write_text(lines)
    return tmp_path


def opened_by(monkeypatch: pytest.MonkeyPatch, call: Callable[[], object]) -> list[str]:
    """Names of the files of memories that a call opens."""
    opened: list[str] = []
    read = Folder.read

    def watched(self: Folder, path: str) -> Document | Problem | None:
        opened.append(path)
        return read(self, path)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "read", watched)
        call()
    return [Path(path).name for path in opened if path.startswith(FOLDER)]


def test_files_that_did_not_change_are_not_opened(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(opened_by(monkeypatch, lambda: remember(large, "the first lantern is lit"))) == 16
    assert opened_by(monkeypatch, lambda: remember(large, "a second bell rings")) == ["2025-03.md"]
    (large / FOLDER / "03.md").write_text("- the quay is painted green\n")
    outcomes: list[RememberOutcome] = []
    opened = opened_by(monkeypatch, lambda: outcomes.append(remember(large, "the quay is painted green")))
    assert opened == ["2025-03.md", "03.md"]
    assert outcomes[0].what == "reinforced"
    assert opened_by(monkeypatch, lambda: remember(large, statement(7, 42))) == [*("2025-03.md", "03.md", "07.md")]


def test_a_memory_is_found_in_the_one_file_that_has_it(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = large / FOLDER / "07.md"
    page.write_text(page.read_text() + "- the quay is green {id=quay}\n")
    assert len(opened_by(monkeypatch, lambda: found(large, "quay"))) == 15
    assert opened_by(monkeypatch, lambda: found(large, "quay")) == ["07.md"]
    (large / FOLDER / "03.md").write_text("- the quay is red {id=quay}\n")
    assert opened_by(monkeypatch, lambda: found(large, "quay~2")) == ["03.md", "07.md"]

    class Changing(Folder):
        """A folder in which a file changes as soon as it is known to be as before."""

        def stamp(self, path: str) -> FileStamp | None:
            stamp = super().stamp(path)
            if path.endswith("/14.md"):
                page.write_text("- nothing else {id=other}\n- moved {id=quay}\n")
            return stamp

    (memory,) = WorkspaceIds(Folder(large), "", lambda _: facts(large, Changing).ids).find("quay~2")
    assert (memory.text, memory.line) == ("moved", 2)


@pytest.mark.parametrize("with_texts", [True, False])
def test_of_a_large_folder_its_texts_alone_are_held(tmp_path: Path, *, with_texts: bool) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    remember(tmp_path, "the quay is green", with_texts=False)  # loads modules
    for number in range(12):
        lines = "".join(f"- {'harbor lantern ' * 20}{line}\n" for line in range(2000))
        (tmp_path / FOLDER / f"{number:02}.md").write_text(lines)
    size = 12 * len(lines)
    tracemalloc.start()
    try:
        assert remember(tmp_path, "a bell rings at noon", with_texts=with_texts).what == "stored"
        assert tracemalloc.get_traced_memory()[1] < 2 * size
    finally:
        tracemalloc.stop()
    assert bool(stored(tmp_path)) == with_texts


def test_texts_of_another_workspace_at_the_same_place_are_not_used(large: Path, tmp_path: Path) -> None:
    remember(large, "the first lantern is lit")
    copy = Path(shutil.copytree(large / "agents", tmp_path / "copy"))
    page = copy / "a/memories/03.md"
    status = page.stat()
    old, new = statement(3, 5), statement(99, 5)[: len(statement(3, 5))].ljust(len(statement(3, 5)), "x")
    page.write_text(page.read_text().replace(old, new))
    assert page.stat().st_size == status.st_size
    os.utime(page, ns=(status.st_atime_ns, status.st_mtime_ns))
    shutil.rmtree(large / "agents")
    copy.rename(large / "agents")
    assert remember(large, new).what == "reinforced"


@pytest.mark.parametrize(
    "spoil", [lambda _: b"", lambda data: data[:5000], lambda data: data[:4000] + bytes(len(data) - 4000)]
)
def test_damaged_texts_are_stored_again(
    large: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[bytes], bytes]
) -> None:
    remember(large, "the first lantern is lit")
    path = database(large)
    path.write_bytes(spoil(path.read_bytes()))
    assert remember(large, statement(4, 4)).what == "reinforced"
    remember(large, "another lantern, blue")
    opened = opened_by(monkeypatch, lambda: remember(large, "a third bell, of brass, far out at sea"))
    assert opened == ["2025-03.md", "04.md"]  # those that were written to since


def test_nothing_is_stored_if_that_is_not_wanted(large: Path) -> None:
    line = ("remember", "-q", "-w", str(large), "-a", "a", "--date", str(DAY))
    (large / "agents/a/IDENTITY.md").write_text("I am a.\n")
    assert inside(*line, "the first lantern is lit", env={"CTXASM_NO_CACHE": "1"}).code == 0
    assert not stored(large)
    (large / "cache").write_text("in the way")
    assert inside(*line, "the second lantern is lit, too", env={"XDG_CACHE_HOME": str(large / "cache")}).code == 0
    assert inside(*line, "a third one hangs at the stern").code == 0
    assert database(large).exists()
    assert len((large / FOLDER / "2025-03.md").read_text().split("\n- ")) >= 3
