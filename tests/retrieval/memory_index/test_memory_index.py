"""Kept pools: the same answers with and without, whatever changes, however many build at once, whatever is damaged."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import cast

import pytest

import contextasm.retrieval.memory_index.index as kept_module
from contextasm.model import (
    LABEL_KINDS,
    Build,
    Context,
    Document,
    EntryPool,
    IndexedPools,
    Location,
    Memory,
    Problem,
    Request,
    SourceQuery,
)
from contextasm.pipeline import assemble
from contextasm.retrieval.memory_index.index import INDEX_FOLDER, MemoryIndexes
from contextasm.retrieval.memory_index.schema import seal
from contextasm.retrieval.pools import memory_search as source
from contextasm.retrieval.pools.memory_pool import MANY
from contextasm.retrieval.pools.memory_search import topic_hits
from contextasm.selection.tokens import ESTIMATE
from contextasm.workspace.folder import Folder
from contextasm.workspace.state import state_folder
from tests.command import SAMPLE, ctxasm, fill, inside, start
from tests.workspaces import DAY, DEFAULT

LETTERS = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("n", "ning", "r", "rs", "", "ko", "ved", "ts")]
NAMES = ("Ana ", "Ben: ", "Carla's ", "**Dora**: ", "The ")
TOPICS = (
    "",
    "banning dors",
    "xanning guved",
    "10 March 2025 fun",
    "日本語 rars",
    "zzzz",
    "when did maved and lutsko",
    "did Ana pan Ben's rars",
    "dora ana tsbanning",
    "kars bani",
)


def memory(chance: Random) -> str:
    """A bullet of random words, some with attributes that concern others."""
    words = " ".join(chance.choices([*LETTERS, "the", "of", "when", "日本語"], k=chance.randrange(4, 18)))
    if chance.random() < 0.4:
        words = chance.choice(NAMES) + words
    stated = [f"importance=0.{chance.randrange(10)}"]
    for share, attribute in (
        (0.05, f"id=x{chance.randrange(300)}"),
        (0.05, f"supersedes=x{chance.randrange(300)}"),
        (0.03, "status=draft"),
        (0.03, "status=completed"),
        (0.1, f"accessed={DAY - timedelta(days=chance.randrange(90))}"),
        (0.02, "colour=red"),
    ):
        if chance.random() < share:
            stated.append(attribute)
    return f"- [fact] {words} {{{' '.join(stated)}}}\n"


def page(chance: Random, size: int) -> str:
    """A file of memories under dates."""
    lines = []
    for _ in range(size):
        if chance.random() < 0.1:
            lines.append(f"\n## {DAY - timedelta(days=chance.randrange(400))}\n\n")
        lines.append(memory(chance))
    return "".join(lines)


def workspace(folder: Path, chance: Random, *, files: int, size: int) -> Path:
    """Agent `a` with many memories, in files of so many."""
    pages = {f"agents/a/memories/{number:03}.md": page(chance, size) for number in range(files)}
    return fill(folder, pages)


def later() -> float:
    """A clock for which every file is old."""
    return time.time() + 60


def indexes(home: Folder) -> MemoryIndexes:
    """The indexes of a workspace, by that clock."""
    return MemoryIndexes(home, later, lambda: state_folder(home.root, "memories"))


class _NoIndexes:
    """A memory index that stores nothing (`model.IndexedPools`)."""

    def query(self, *_: object) -> None:
        """None: nothing is stored."""

    def store(self, *_: object) -> None:
        """Store nothing."""


NO_INDEXES = cast("IndexedPools", _NoIndexes())


def built(folder: Path, topic: str = "", *, kept: bool | None = True) -> Context:
    """What is built of a workspace; None lists every memory."""
    request = Request("a", "", topic, DAY, 16_000, "estimate", "markdown")
    home = Folder(folder)
    pools = indexes(home) if kept else NO_INDEXES if kept is False else None
    return assemble(Build(home, DEFAULT, request, ESTIMATE, memory_index=pools))


def same(context: Context) -> tuple[object, ...]:
    """What must not depend on whether a pool is kept."""
    return context.text, context.etag, context.sections, context.decisions, context.problems, context.allowances


def pools(folder: Path) -> list[Path]:
    """The files of the kept pools."""
    return sorted((folder / INDEX_FOLDER).glob("*.sqlite"))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of 5,000 memories; tests leave its files alone."""
    return workspace(tmp_path_factory.mktemp("large"), Random(1), files=50, size=100)


@pytest.fixture
def medium(tmp_path: Path) -> Path:
    """A workspace of a few more memories than are listed."""
    return workspace(tmp_path, Random(2), files=12, size=100)


@pytest.fixture
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every pool count as large."""
    monkeypatch.setattr(source, "MANY", 0)
    monkeypatch.setattr(kept_module, "MANY", 0)


@pytest.mark.parametrize("topic", TOPICS)
def test_same_result_with_and_without_a_kept_pool(large: Path, topic: str) -> None:
    without = built(large, topic, kept=False)
    assert same(built(large, topic)) == same(without)
    assert same(built(large, topic)) == same(without)
    assert built(large, topic, kept=None).text == without.text


def test_topics_of_any_words_find_the_same_with_and_without_an_index(medium: Path) -> None:
    chance = Random(4)
    home = Folder(medium)
    (layer,) = (layer for layer in DEFAULT.layers if layer.id == "L5")
    found = 0
    for _ in range(60):
        words = chance.choices(LETTERS, k=chance.randrange(1, 4))
        at = chance.randrange(len(words))
        words[at] = chance.choice([words[at][1:], words[at] + "x", f"ab{words[at]}cde", words[at][:4], words[at]])
        topic = " ".join((chance.choice(("", "Ana", "ben", "Dora's", "10 March")), *words))
        request = Request("a", "", topic, DAY, 16_000, "estimate", "markdown")
        own = layer._replace(ranking=layer.ranking._replace(top=chance.choice((1, 5, 20, 0))))
        with_index, without = (
            topic_hits(SourceQuery(Build(home, DEFAULT, request, ESTIMATE, memory_index=index), own))
            for index in (indexes(home), NO_INDEXES)
        )
        assert with_index == without, topic
        found += len(without.found)
    assert found > 100
    assert pools(medium)


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize(
    "topic", ["", "the foghorn", "怖いとき", "mortgage refinancing", "on 10 March", "signimg keys"]
)
@pytest.mark.parametrize(("agent", "team"), [("luna", "q1"), ("kenji", "platform")])
def test_same_result_in_the_example_workspace(tmp_path: Path, agent: str, team: str, topic: str) -> None:
    root = tmp_path / "w"
    for path in SAMPLE.rglob("*.md"):
        fill(root, {str(path.relative_to(SAMPLE)): path.read_bytes()}, base={})
    request = Request(agent, team, topic, DAY, 16_000, "estimate", "markdown")

    def build(*, kept: bool) -> Context:
        home = Folder(root)
        return assemble(Build(home, DEFAULT, request, ESTIMATE, memory_index=indexes(home) if kept else NO_INDEXES))

    without = build(kept=False)
    assert same(build(kept=True)) == same(build(kept=True)) == same(without)
    assert len(pools(root)) == (3 if topic else 2)
    assert same(without)[0] == assemble(Build(Folder(root), DEFAULT, request, ESTIMATE)).text


def test_same_result_whatever_was_changed(medium: Path) -> None:
    chance = Random(3)
    folder = medium / "agents/a/memories"
    for round_ in range(12):
        for topic in chance.sample(TOPICS, 2):
            assert same(built(medium, topic)) == same(built(medium, topic, kept=False)), round_
        names = sorted(path.name for path in folder.glob("*.md"))
        for name in chance.sample(names, 2):
            text = (folder / name).read_bytes()
            edit = chance.choice([b"", text[: len(text) // 2], text + b"- new {supersedes=x1,x2,x3 id=x4}\n", b"\xff"])
            (folder / name).write_bytes(edit)
        if chance.random() < 0.5:
            (folder / chance.choice(names)).unlink()
        (folder / f"{chance.randrange(100):03}.md").write_text(page(chance, 250))
    assert pools(medium)


def test_memories_not_shown_are_told_by_number(large: Path) -> None:
    listed = [each.reason.code for each in built(large, "banning dors", kept=None).decisions if each.layer == "L5"]
    told: dict[str, int] = {}
    for each in built(large, "banning dors").decisions:
        if each.layer == "L5":
            told[each.reason.code] = told.get(each.reason.code, 0) + int(dict(each.reason.facts).get("count", 1))
    assert told == {code: listed.count(code) for code in listed}
    assert sum(told.values()) == 5000


def test_files_that_did_not_change_are_not_opened(medium: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    read = Folder.read

    def watched(self: Folder, path: str) -> Document | Problem | None:
        opened.append(path)
        return read(self, path)

    built(medium, "banning")
    monkeypatch.setattr(Folder, "read", watched)
    built(medium, "banning")
    assert [path for path in opened if "memories" in path] == []
    changed = medium / "agents/a/memories/003.md"
    changed.write_text(changed.read_text() + "- banning once more\n")
    assert "- [note] banning once more" in built(medium, "banning once more").text
    assert [path for path in opened if "memories" in path] == ["agents/a/memories/003.md"]


def test_edit_that_keeps_size_and_time_is_noticed(medium: Path) -> None:
    """P9: by the time of the change itself."""
    path = medium / "agents/a/memories/005.md"
    path.write_text(f"- aaaa quartz\n{path.read_text()}")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert "aaaa quartz" in built(medium, "quartz").text
    path.write_text(path.read_text().replace("aaaa", "bbbb"))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert "bbbb quartz" in built(medium, "quartz").text


def test_edit_within_one_tick_of_the_clock_is_noticed(medium: Path) -> None:
    """P9: a file that changed just now is not trusted to be unchanged."""
    path = medium / "agents/a/memories/005.md"
    stamp = path.stat()
    real = MemoryIndexes(Folder(medium), lambda: stamp.st_mtime, lambda: state_folder(medium, "memories"))
    request = Request("a", "", "quartz", DAY, 16_000, "estimate", "markdown")
    assemble(Build(Folder(medium), DEFAULT, request, ESTIMATE, memory_index=real))
    with sqlite3.connect(pools(medium)[0]) as store:
        assert store.execute("SELECT count(*) FROM files WHERE stamp != ''").fetchone() == (0,)
    built(medium)
    with sqlite3.connect(pools(medium)[0]) as store:
        assert store.execute("SELECT count(*) FROM files WHERE stamp = ''").fetchone() == (0,)


SPOILS: Mapping[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "foreign": lambda _: b"no database at all, but long enough to be taken for one" * 20,
    "short": lambda whole: whole[: len(whole) // 2],
    "overwritten": lambda whole: whole[:5000] + b"\xff" * (len(whole) - 5000),
    "holes": lambda whole: b"".join(
        whole[at : at + 4096] if at // 4096 % 7 != 3 else bytes(4096) for at in range(0, len(whole), 4096)
    ),
    "bits": lambda whole: bytes(byte ^ 1 if at > 20_000 and at % 997 == 0 else byte for at, byte in enumerate(whole)),
}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
@pytest.mark.parametrize("topic", ["", "banning dors"])
def test_damaged_pool_is_made_again(medium: Path, spoil: Callable[[bytes], bytes], topic: str) -> None:
    without = same(built(medium, topic, kept=False))
    built(medium, topic)
    (path,) = pools(medium)
    path.write_bytes(spoil(path.read_bytes()))
    for _ in range(3):
        assert same(built(medium, topic)) == without


SPOILED_VALUES = ("5", "'5'", "'[5]'", "'[[1, 2]]'", "x'00'", "9e999")


@pytest.mark.parametrize(
    "column",
    [
        *("files.problems", "files.duplicates", "files.excluded"),
        *("entries.out", "entries.supersedes", "entries.held", "entries.line", "entries.root"),
        *("units.first", "units.digest", "rows.held", "columns.held", "lists.held"),
        *("terms.blocks", "postings.held"),
    ],
)
@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize("topic", ["", "banning dors"])
def test_damaged_column_is_made_again(tmp_path: Path, column: str, topic: str) -> None:
    chance = Random(5)
    pages = {f"agents/a/memories/{number}.md": page(chance, 20) for number in range(3)}
    pages["agents/a/memories/0.md"] += (
        "- [fact] zif {id=one}\n- [fact] zof {id=one}\n- [fact] zaf {id=two, supersedes=one}\n"
        "- [fact] zuf {importance=9}\n- [fact] zyf {status=draft}\n- [fact] z\u200bef\n"
    )
    folder = fill(tmp_path, pages)
    without = same(built(folder, topic, kept=False))
    table, name = column.split(".")
    for value in SPOILED_VALUES:
        for path in (folder / INDEX_FOLDER).glob("*"):
            path.unlink()
        assert same(built(folder, topic)) == without
        with closing(sqlite3.connect(pools(folder)[0])) as store, suppress(sqlite3.Error):
            store.execute(f"UPDATE {table} SET {name} = {value}")
            store.commit()
        assert same(built(folder, topic)) == without
    (folder / "agents/a/memories/0.md").write_text("- [fact] zaf {id=two, supersedes=one}\n")
    assert same(built(folder, topic)) == same(built(folder, topic, kept=False))


def plant(index: Path, old: bytes, new: bytes) -> None:
    """Change the text in the rows of an index, check sums included."""
    with sqlite3.connect(index) as store:
        for row, held in store.execute("SELECT row, held FROM rows").fetchall():
            store.execute("UPDATE rows SET held = ? WHERE row = ?", (seal(held[4:].replace(old, new)), row))


def with_quartz(folder: Path) -> None:
    """Add a memory that no other is like."""
    page = folder / "agents/a/memories/005.md"
    page.write_text(f"- [fact] aaaa quartz\n{page.read_text()}")


def test_p8_index_with_another_text_is_not_believed_in_a_copy(medium: Path, tmp_path: Path) -> None:
    """P8: paths, digests, sizes, times and check sums are right; inodes and change times can't be."""
    with_quartz(medium)
    without = same(built(medium, "quartz", kept=False))
    built(medium, "quartz")
    plant(pools(medium)[0], b"aaaa", b"planted")
    assert "planted" in built(medium, "quartz").text  # where it was made, it is believed
    copy = Path(shutil.copytree(medium, tmp_path / "copy", symlinks=True, ignore=shutil.ignore_patterns("copy")))
    assert same(built(copy, "quartz")) == without
    assert same(built(copy, "quartz")) == without


def test_p9_changed_text_of_the_same_size_and_time_is_seen_in_a_copy(medium: Path, tmp_path: Path) -> None:
    """P9: the index came along, and knows the other text."""
    with_quartz(medium)
    built(medium, "quartz")
    copy = Path(shutil.copytree(medium, tmp_path / "copy", symlinks=True, ignore=shutil.ignore_patterns("copy")))
    for page in copy.glob("agents/a/memories/*.md"):
        status = page.stat()
        page.write_text(page.read_text().replace("aaaa quartz", "bbbb quarry"))
        os.utime(page, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert page.stat().st_size == status.st_size
    assert "aaaa quartz" not in built(copy, "quartz").text
    assert "bbbb quarry" in built(copy, "quarry").text


def test_pool_of_another_version_is_made_again(medium: Path) -> None:
    without = same(built(medium, "banning", kept=False))
    built(medium)
    (path,) = pools(medium)
    with sqlite3.connect(path) as store:
        store.execute("PRAGMA user_version = 99")
        store.execute("ALTER TABLE rows RENAME TO lines")
    assert same(built(medium, "banning")) == without


def test_pool_that_shrinks_is_forgotten(medium: Path) -> None:
    built(medium)
    assert len(pools(medium)) == 1
    for path in sorted((medium / "agents/a/memories").glob("*.md"))[:6]:
        path.unlink()
    assert len([each for each in built(medium).decisions if each.layer == "L5"]) == 600
    assert pools(medium) == []


def test_workspace_where_nothing_can_be_made_is_searched_all_the_same(medium: Path) -> None:
    without = same(built(medium, "banning", kept=False))
    (medium / ".ctxasm").write_text("in the way")
    assert same(built(medium, "banning")) == without
    (medium / ".ctxasm").unlink()
    elsewhere = medium.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    (medium / ".ctxasm").symlink_to(elsewhere)
    assert same(built(medium, "banning")) == without
    assert list(elsewhere.rglob("*.sqlite")) == []


def test_pool_that_another_process_writes_to_is_done_without(medium: Path) -> None:
    built(medium)
    changed = medium / "agents/a/memories/003.md"
    changed.write_text(changed.read_text() + "- banning once more\n")
    other = sqlite3.connect(pools(medium)[0], isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        assert same(built(medium, "banning")) == same(built(medium, "banning", kept=False))
    finally:
        other.close()
    assert pools(medium)


# The command.


def request(folder: Path, *words: str) -> tuple[str, ...]:
    """A build of such a workspace."""
    return ("build", "-q", "-w", str(folder), "--date", str(DAY), *words)


def test_two_builders_at_once_give_the_same_bytes(medium: Path) -> None:
    alone = ctxasm(*request(medium, "--topic", "banning dors"), env={"CTXASM_NO_CACHE": "1"}).out
    for _ in range(2):
        every = [start(*request(medium, "--topic", "banning dors"), stdout=-1, stderr=-1) for _ in range(4)]
        outs = [process.communicate(timeout=60) for process in every]
        assert {out.decode() for out, _ in outs} == {alone}
        assert {process.returncode for process in every} == {0}


def test_builder_that_is_killed_leaves_nothing_wrong(medium: Path) -> None:
    alone = ctxasm(*request(medium, "--topic", "banning dors"), env={"CTXASM_NO_CACHE": "1"}).out
    chance = Random(4)
    for _ in range(6):
        process = start(*request(medium, "--topic", "banning dors"), stdout=-1, stderr=-1)
        time.sleep(chance.uniform(0.1, 0.6))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert ctxasm(*request(medium, "--topic", "banning dors")).out == alone


def test_pool_is_kept_in_the_workspace_and_out_of_git(medium: Path) -> None:
    before = {path for path in medium.rglob("*") if path.is_file()}
    assert inside(*request(medium)).code == 0
    new = {path.relative_to(medium).as_posix() for path in medium.rglob("*") if path.is_file() and path not in before}
    assert new == {".ctxasm/.gitignore", pools(medium)[0].relative_to(medium).as_posix()}
    assert (medium / ".ctxasm/.gitignore").read_text() == "*\n"


def test_nothing_is_kept_where_that_is_not_wanted(medium: Path) -> None:
    assert inside(*request(medium), env={"CTXASM_NO_CACHE": "1"}).code == 0
    assert not (medium / ".ctxasm").exists()


def test_search_finds_the_same_with_and_without(medium: Path) -> None:
    for words in (("-a", "a"), ("--all",)):
        line = ("search", "-w", str(medium), *words, "banning dors", "--date", str(DAY), "--json", "--top", "20")
        alone = inside(*line, env={"CTXASM_NO_CACHE": "1"})
        assert inside(*line) == inside(*line) == alone
        assert alone.code == 0
    assert len(pools(medium)) == 2


def test_explain_lists_every_memory_of_a_large_pool(medium: Path) -> None:
    result = inside("explain", "-w", medium, "--date", DAY.isoformat(), "--line", "agents/a/memories/000.md:1")
    assert result.out.startswith(("in L5", "out L5"))
    rows = inside("explain", "-w", medium, "--date", DAY.isoformat()).out.split("\n")
    assert sum(row.startswith("L5") for row in rows) == 1200 > MANY


def test_build_with_a_topic_tells_by_number(medium: Path) -> None:
    result = inside("build", "-w", medium, "--date", str(DAY), "--topic", "banning")
    assert "1,195 excluded" in result.err


def test_an_index_of_entries_with_other_fields_has_another_version() -> None:
    from contextasm.retrieval.memory_index.schema import VERSION, index_version
    from contextasm.text.markdown.logs import LogLine

    others = [
        (Memory._fields[:-1], LogLine._fields, LABEL_KINDS),
        ((*Memory._fields, "new"), LogLine._fields, LABEL_KINDS),
        (Memory._fields[::-1], LogLine._fields, LABEL_KINDS),
        (Memory._fields, (*LogLine._fields, "new"), LABEL_KINDS),
        (Memory._fields, LogLine._fields, (*LABEL_KINDS, "new")),
    ]
    versions = {index_version((memory, line, Location._fields, labels)) for memory, line, labels in others}
    assert len(versions) == 5
    assert VERSION not in versions
    assert index_version((Memory._fields, LogLine._fields, Location._fields, LABEL_KINDS)) == VERSION


@pytest.mark.parametrize("error", [KeyError("x"), ValueError("x"), OSError("x"), RuntimeError("x")], ids=repr)
@pytest.mark.parametrize("state", ["as it is", "with changes", "made anew"])
def test_an_error_of_who_uses_a_pool_is_no_damage(medium: Path, error: Exception, state: str) -> None:
    built(medium)
    (path,) = pools(medium)
    if state == "with changes":
        with_quartz(medium)
    if state == "made anew":
        path.write_bytes(b"")
    calls = []

    def use(pool: EntryPool[Memory]) -> None:
        calls.append(pool.size)
        raise error

    home = Folder(medium)
    patterns = ["agents/a/memories/*.md"]
    with pytest.raises(type(error)) as raised:
        indexes(home).query("memories", patterns, home.list(patterns[0]), use)
    assert raised.value is error
    assert len(calls) == 1
    before = path.stat()
    assert indexes(home).query("memories", patterns, home.list(patterns[0]), lambda pool: pool.size) == calls[0]
    assert path.stat() == before


HIDDEN_PAGES = {
    "agents/a/memories/bad.md": b"\xff\xfe- [fact] kars\n",
    "agents/a/memories/tag.md": b"- a\xe2\x80\x8bb lut\n",
}


@pytest.mark.parametrize("topic", ["kars lut", "banning"])
def test_a_search_tells_the_same_problems_with_and_without_an_index(medium: Path, topic: str) -> None:
    for path, data in HIDDEN_PAGES.items():
        (medium / path).write_bytes(data)
    words = ("search", "-w", medium, "-a", "a", "--date", str(DAY), topic)
    first, warm = inside(*words), inside(*words)
    assert pools(medium)
    without = inside(*words, env={"CTXASM_NO_CACHE": "1"})
    assert first == warm == without
    assert "hidden-text" in without.err
