"""Indexes of log lines: the same answers as from the files, whatever became of them since."""

import gzip
import shutil
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from random import Random

import pytest

from contextasm.model import Build, Context, Document, IndexedPools, Problem, Request
from contextasm.pipeline import assemble
from contextasm.selection.tokens import ESTIMATE
from contextasm.workspace.folder import Folder
from tests.retrieval.memory_index.test_memory_index import (
    LETTERS,
    NO_INDEXES,
    TOPICS,
    indexes,
    pools,
    pools_above,
    same,
)
from tests.workspaces import DAY, DEFAULT

LOGS = "agents/a/daily"


def log(chance: Random) -> str:
    """A log of bullets, sentences and headings of random words."""
    lines = [f"# {' '.join(chance.choices(LETTERS, k=3))}\n"]
    for _ in range(chance.randrange(6, 14)):
        words = " ".join(chance.choices([*LETTERS, "Ada", "the", "日本語"], k=chance.randrange(4, 12)))
        lines.append(
            chance.choice((f"- {words}\n", f"{words.capitalize()}.\n", f"\n## {words}\n\n", f"Ada: {words}\n"))
        )
    return "".join(lines)


@pytest.fixture(autouse=True)
def _large_pools() -> Iterator[None]:
    with pools_above(300):
        yield


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A log for each of 100 days, some of later days, and some in the archive."""
    chance = Random(3)
    for number in range(100):
        day = DAY + timedelta(days=5 - number)
        path = tmp_path / LOGS / ("archive/2024" if number > 75 else "") / f"{day}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(log(chance))
    return tmp_path


def built(folder: Path, topic: str, memory_index: IndexedPools | None, day: date = DAY) -> Context:
    """The context of agent `a`."""
    request = Request("a", "", topic, day, 4000, "estimate", "markdown")
    return assemble(Build(Folder(folder), DEFAULT, request, ESTIMATE, memory_index=memory_index))


def assert_same(folder: Path, topic: str, day: date = DAY) -> None:
    """Hold the context with an index against that without one."""
    assert same(built(folder, topic, indexes(Folder(folder)), day)) == same(built(folder, topic, NO_INDEXES, day))


@pytest.mark.parametrize("topic", [topic for topic in TOPICS if topic])
def test_same_result_with_and_without_an_index(workspace: Path, topic: str) -> None:
    for _ in range(2):
        assert_same(workspace, topic)
    assert pools(workspace) != []
    assert_same(workspace, topic, DAY - timedelta(days=3))
    assert_same(workspace, topic)


def _edit(folder: Path, chance: Random) -> None:
    chance.choice(sorted(folder.rglob("*.md"))).write_text(log(chance))


def _add(folder: Path, chance: Random) -> None:
    (folder / f"{DAY - timedelta(days=chance.randrange(400))} {chance.randrange(10**6)}.md").write_text(log(chance))


def _remove(folder: Path, chance: Random) -> None:
    chance.choice(sorted(folder.rglob("*.md"))).unlink()


def _archive(folder: Path, chance: Random) -> None:
    path = chance.choice(sorted(folder.glob("*.md")))
    archived = folder / "archive" / f"{path.name}.gz"
    archived.parent.mkdir(exist_ok=True)
    archived.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()


def _damage(folder: Path, chance: Random) -> None:
    chance.choice(sorted(folder.glob("*.md"))).write_bytes(b"\xff\xfe\x00")


CHANGES: tuple[Callable[[Path, Random], None], ...] = (_edit, _edit, _add, _remove, _archive, _damage)


@pytest.mark.parametrize("seed", range(4))
def test_law_any_sequence_of_changes_gives_what_a_fresh_read_gives(workspace: Path, seed: int) -> None:
    chance = Random(seed)
    for _ in range(8):
        for _ in range(chance.randrange(1, 4)):
            chance.choice(CHANGES)(workspace / LOGS, chance)
        assert_same(workspace, chance.choice([topic for topic in TOPICS if topic]))


def test_logs_that_did_not_change_are_not_opened(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = TOPICS[1]
    built(workspace, topic, indexes(Folder(workspace)))
    changed = workspace / LOGS / f"{DAY - timedelta(days=50)}.md"
    changed.write_text("Banning dors.\n")
    opened: list[str] = []
    read = Folder.read

    def noted(folder: Folder, path: str) -> Document | Problem | None:
        opened.append(path)
        return read(folder, path)

    monkeypatch.setattr(Folder, "read", noted)
    context = built(workspace, topic, indexes(Folder(workspace)))
    old = {path for path in opened if path.startswith(LOGS) and path < f"{LOGS}/{DAY - timedelta(days=30)}"}
    assert old == {f"{LOGS}/{changed.name}"}
    assert "Banning dors." in context.text


def test_another_workspace_at_the_same_place_is_read(workspace: Path, tmp_path: Path) -> None:
    topic = TOPICS[1]
    built(workspace, topic, indexes(Folder(workspace)))
    shutil.copytree(workspace / "agents", tmp_path / "copy")
    for path in tmp_path.glob("copy/**/*.md"):
        path.write_text("- banning dors, as it was never said\n")
    shutil.rmtree(workspace / "agents")
    (tmp_path / "copy").rename(workspace / "agents")
    assert_same(workspace, topic)
