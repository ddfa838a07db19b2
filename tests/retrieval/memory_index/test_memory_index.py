"""The index: the same answers with and without, whatever changes, however many build at once, whatever is damaged."""

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import cast
from unittest.mock import patch

import pytest

from contextasm.model import Build, Context, Document, IndexedPools, Location, Memory, Problem, Request, SourceQuery
from contextasm.pipeline import assemble
from contextasm.retrieval import pool
from contextasm.retrieval.memory_index import index
from contextasm.retrieval.memory_index.index import MemoryIndexes
from contextasm.retrieval.pool import MANY, MEMORIES, topic_hits, use_pool
from contextasm.retrieval.sources import log_search
from contextasm.retrieval.sources import memories as sources_memories
from contextasm.selection.tokens import ESTIMATE
from contextasm.workspace.cache import index_database
from contextasm.workspace.folder import Folder
from tests.command import COMMAND, SAMPLE, UNPRIVILEGED, clean, ctxasm, fill, inside, start
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


def database(folder: Path | str) -> Path:
    """The file with the index of a workspace."""
    path = index_database(str(folder), clean())
    assert path
    return Path(path)


def indexes(home: Folder) -> MemoryIndexes:
    """The index of a workspace, by that clock."""
    return MemoryIndexes(home, later, str(database(home.root)), {})


class _NoIndexes:
    """A memory index that stores nothing (`model.IndexedPools`)."""

    def query(self, *_: object, new: bool = False) -> None:
        """None: nothing is stored."""


NO_INDEXES = cast("IndexedPools", _NoIndexes())


@contextmanager
def pools_above(size: int) -> Iterator[None]:
    """Have every pool of more entries count as large."""
    with (
        patch.object(pool, "MANY", size),
        patch.object(sources_memories, "MANY", size),
        patch.object(log_search, "MANY", size),
        patch.object(index, "MANY", size),
    ):
        yield


def built(folder: Path, topic: str = "", *, kept: bool | None = True) -> Context:
    """What is built of a workspace; None lists every memory."""
    request = Request("a", "", topic, DAY, 16_000, "estimate", "markdown")
    home = Folder(folder)
    pools = indexes(home) if kept else NO_INDEXES if kept is False else None
    return assemble(Build(home, DEFAULT, request, ESTIMATE, memory_index=pools))


def same(context: Context) -> tuple[object, ...]:
    """What must not depend on whether a pool is kept."""
    return context.text, context.etag, context.sections, context.decisions, context.problems, context.allowances


def pools(folder: Path) -> list[str]:
    """The stored pools."""
    if not database(folder).exists():
        return []
    with closing(sqlite3.connect(database(folder))) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM pools ORDER BY name")]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of 2,000 memories; tests leave its files alone."""
    return workspace(tmp_path_factory.mktemp("large"), Random(1), files=20, size=100)


@pytest.fixture
def medium(tmp_path: Path) -> Path:
    """A workspace of a few more memories than are listed."""
    return workspace(tmp_path, Random(2), files=12, size=100)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A workspace of a few more memories than are listed, where 100 count as many."""
    with pools_above(100):
        yield workspace(tmp_path, Random(2), files=12, size=10)


@pytest.fixture
def _few() -> Iterator[None]:
    with pools_above(0):
        yield


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
        found += len(without[0])
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


def test_same_result_whatever_was_changed(small: Path) -> None:
    chance = Random(3)
    folder = small / "agents/a/memories"
    for round_ in range(12):
        for topic in chance.sample(TOPICS, 2):
            assert same(built(small, topic)) == same(built(small, topic, kept=False)), round_
        names = sorted(path.name for path in folder.glob("*.md"))
        for name in chance.sample(names, 2):
            text = (folder / name).read_bytes()
            edit = chance.choice([b"", text[: len(text) // 2], text + b"- new {supersedes=x1,x2,x3 id=x4}\n", b"\xff"])
            (folder / name).write_bytes(edit)
        if chance.random() < 0.5:
            (folder / chance.choice(names)).unlink()
        (folder / f"{chance.randrange(100):03}.md").write_text(page(chance, 25))
    assert pools(small)


def test_memories_not_shown_are_told_by_number(large: Path) -> None:
    listed = [each.reason.code for each in built(large, "banning dors", kept=None).decisions if each.layer == "L5"]
    told: dict[str, int] = {}
    for each in built(large, "banning dors").decisions:
        if each.layer == "L5":
            told[each.reason.code] = told.get(each.reason.code, 0) + int(dict(each.reason.facts).get("count", 1))
    assert told == {code: listed.count(code) for code in listed}
    assert sum(told.values()) == 2000


def test_files_that_did_not_change_are_not_opened(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    read = Folder.read

    def watched(self: Folder, path: str) -> Document | Problem | None:
        opened.append(path)
        return read(self, path)

    built(small, "banning")
    monkeypatch.setattr(Folder, "read", watched)
    built(small, "banning")
    assert [path for path in opened if "memories" in path] == []
    changed = small / "agents/a/memories/003.md"
    changed.write_text(changed.read_text() + "- banning once more\n")
    assert "- [note] banning once more" in built(small, "banning once more").text
    assert [path for path in opened if "memories" in path] == ["agents/a/memories/003.md"]


def test_edit_that_keeps_size_and_time_is_noticed(small: Path) -> None:
    """P9: by the time of the change itself."""
    path = small / "agents/a/memories/005.md"
    path.write_text(f"- aaaa quartz\n{path.read_text()}")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert "aaaa quartz" in built(small, "quartz").text
    path.write_text(path.read_text().replace("aaaa", "bbbb"))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert "bbbb quartz" in built(small, "quartz").text


def test_edit_within_one_tick_of_the_clock_is_noticed(small: Path) -> None:
    """P9: a file that changed just now is not trusted to be unchanged."""
    path = small / "agents/a/memories/005.md"
    stamp = path.stat()
    real = MemoryIndexes(Folder(small), lambda: stamp.st_mtime, str(database(small)), {})
    request = Request("a", "", "quartz", DAY, 16_000, "estimate", "markdown")
    assemble(Build(Folder(small), DEFAULT, request, ESTIMATE, memory_index=real))
    with closing(sqlite3.connect(database(small))) as store:
        assert store.execute("SELECT count(*) FROM files WHERE stamp != ''").fetchone() == (0,)
    built(small)
    with closing(sqlite3.connect(database(small))) as store:
        assert store.execute("SELECT count(*) FROM files WHERE stamp = ''").fetchone() == (0,)


SPOILS: Mapping[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "foreign": lambda _: b"no database at all, but long enough to be taken for one" * 20,
    "short": lambda whole: whole[: len(whole) // 2],
    "overwritten": lambda whole: whole[:5000] + b"\xff" * (len(whole) - 5000),
}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
@pytest.mark.parametrize("topic", ["", "banning dors"])
def test_p7_damaged_index_is_made_again(small: Path, spoil: Callable[[bytes], bytes], topic: str) -> None:
    """P7: what SQLite can't read is removed."""
    without = same(built(small, topic, kept=False))
    built(small, topic)
    path = database(small)
    path.write_bytes(spoil(path.read_bytes()))
    for _ in range(3):
        assert same(built(small, topic)) == without
    assert pools(small)


@pytest.mark.parametrize("column", ["files.problems", "files.decided", "rows.held", "columns.held", "lists.held"])
@pytest.mark.parametrize("value", ["5", "'[5]'", "x'00'"])
@pytest.mark.parametrize("topic", ["", "banning dors"])
def test_p7_index_of_values_without_a_meaning_is_no_error(small: Path, column: str, value: str, topic: str) -> None:
    """P7: it is removed as well."""
    without = same(built(small, topic, kept=False))
    built(small, topic)
    table, name = column.split(".")
    with closing(sqlite3.connect(database(small), isolation_level=None)) as store:
        store.execute(f"UPDATE {table} SET {name} = {value}")
    (small / "agents/a/memories/003.md").touch()
    assert built(small, topic).text == without[0]


def test_p8_index_that_came_with_a_workspace_is_not_read_and_stays(small: Path) -> None:
    """P8: earlier versions stored theirs there."""
    fill(small, {".ctxasm/memories/0123456789abcdef.sqlite": b"SQLite format 3"}, base={})
    assert same(built(small, "banning")) == same(built(small, "banning", kept=False))
    assert [path.read_bytes() for path in (small / ".ctxasm/memories").iterdir()] == [b"SQLite format 3"]


def test_p9_another_workspace_at_the_same_place_is_read(small: Path, tmp_path: Path) -> None:
    """P9: with files of the same names, sizes and times."""
    page = small / "agents/a/memories/005.md"
    page.write_text(f"- [fact] aaaa quartz\n{page.read_text()}")
    built(small, "quartz")
    copy = Path(shutil.copytree(small / "agents", tmp_path / "copy"))
    for page in copy.glob("a/memories/*.md"):
        status = page.stat()
        page.write_text(page.read_text().replace("aaaa quartz", "bbbb quarry"))
        os.utime(page, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert page.stat().st_size == status.st_size
    shutil.rmtree(small / "agents")
    copy.rename(small / "agents")
    assert "aaaa quartz" not in built(small, "quartz").text
    assert "bbbb quarry" in built(small, "quarry").text


def test_index_of_another_version_is_made_again(small: Path) -> None:
    without = same(built(small, "banning", kept=False))
    built(small)
    with closing(sqlite3.connect(database(small))) as store:
        version = store.execute("PRAGMA user_version").fetchone()
        store.execute("PRAGMA user_version = 99")
        store.execute("ALTER TABLE rows RENAME TO lines")
    assert same(built(small, "banning")) == without
    with closing(sqlite3.connect(database(small))) as store:
        assert store.execute("PRAGMA user_version").fetchone() == version


def test_pool_that_shrinks_is_forgotten(small: Path) -> None:
    built(small)
    assert len(pools(small)) == 1
    for path in sorted((small / "agents/a/memories").glob("*.md"))[:6]:
        path.unlink()
    facts = [dict(each.reason.facts) for each in built(small).decisions if each.layer == "L5"]
    assert sum(int(each.get("count", 1)) for each in facts) == 60
    assert pools(small) == []


@pytest.mark.parametrize("mode", [0o500, 0o700])
def test_index_that_can_not_be_written_is_done_without(medium: Path, mode: int) -> None:
    line = request(medium, "--topic", "banning dors")
    before = ctxasm(*line, env={"CTXASM_NO_CACHE": "1"}).out
    env = {"XDG_CACHE_HOME": str(medium / "cache")}
    if mode == 0o700:  # of an index that is there, and that falls behind
        assert ctxasm(*line, env=env).out == before
        (medium / "agents/a/memories/003.md").write_text("- banning dors, once more\n")
        before = ctxasm(*line, env={"CTXASM_NO_CACHE": "1"}).out
        for path in (medium / "cache").rglob("*"):
            path.chmod(0o400 if path.is_file() else 0o500)
    (medium / "cache").mkdir(exist_ok=True)
    (medium / "cache").chmod(0o500)
    try:
        command = [*UNPRIVILEGED, *COMMAND, *line]
        done = subprocess.run(command, env=clean(env), capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, before)
    finally:
        for path in (medium / "cache", *(medium / "cache").rglob("*")):
            path.chmod(0o700)


def test_index_that_something_is_in_the_way_of_is_done_without(medium: Path) -> None:
    line = request(medium, "--topic", "banning dors")
    before = ctxasm(*line, env={"CTXASM_NO_CACHE": "1"}).out
    for name in ("cache/ctxasm", "other/ctxasm/memories"):
        fill(medium, {name: "in the way"}, base={})
        assert ctxasm(*line, env={"XDG_CACHE_HOME": str(medium / name.partition("/")[0])}).out == before


def test_index_that_another_process_writes_to_is_done_without(small: Path) -> None:
    built(small)
    changed = small / "agents/a/memories/003.md"
    changed.write_text(changed.read_text() + "- banning once more\n")
    with closing(sqlite3.connect(database(small), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert same(built(small, "banning")) == same(built(small, "banning", kept=False))
    assert pools(small)


def test_databases_that_no_build_uses_are_removed(small: Path) -> None:
    env = {"XDG_CACHE_HOME": str(small / "cache")}
    folder = small / "cache/ctxasm/memories"
    folder.mkdir(parents=True)
    now = time.time()
    for number in range(25):
        other = folder / f"{number:02}.sqlite"
        other.touch()
        os.utime(other, (now, now - (61 if number == 24 else number) * 86400))
    assert inside(*request(small), env=env).code == 0
    own = Path(index_database(str(small), env) or "")
    assert {path.name for path in folder.iterdir()} == {own.name, *(f"{number:02}.sqlite" for number in range(19))}
    for path in folder.iterdir():
        if path != own:
            path.unlink()
    os.utime(own, (now, now - 59 * 86400))
    assert inside(*request(small), env=env).code == 0
    assert own.stat().st_mtime > now - 60


def test_texts_that_are_deleted_leave_the_file(small: Path) -> None:
    page = small / "agents/a/memories/005.md"
    page.write_text(f"- [fact] aaaa quartz xylophone\n{page.read_text()}")
    built(small)
    assert b"aaaa quartz xylophone" in database(small).read_bytes()
    page.write_text(page.read_text().partition("\n")[2])
    built(small)
    assert b"aaaa quartz xylophone" not in database(small).read_bytes()


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


def test_index_is_its_owners_alone_and_out_of_the_workspace(small: Path) -> None:
    before = {path for path in small.rglob("*") if path.is_file()}
    old = os.umask(0)
    try:
        assert inside(*request(small), env={"XDG_CACHE_HOME": str(small.parent / "own")}).code == 0
    finally:
        os.umask(old)
    assert {path for path in small.rglob("*") if path.is_file()} == before
    (path,) = (small.parent / "own/ctxasm/memories").iterdir()
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


def test_nothing_is_stored_if_that_is_not_wanted(small: Path) -> None:
    env = {"XDG_CACHE_HOME": str(small / "cache")}
    assert inside(*request(small), env={**env, "CTXASM_NO_CACHE": "1"}).code == 0
    for words in (("--privacy", "off"), ("--privacy", "drop"), ("--audience", "shared")):
        assert inside(*request(small, *words), env=env).code == 0
    assert not list(small.glob("cache/**/*.sqlite"))


def test_search_finds_the_same_with_and_without(small: Path) -> None:
    for words in (("-a", "a"), ("--all",)):
        line = ("search", "-w", str(small), *words, "banning dors", "--date", str(DAY), "--json", "--top", "20")
        alone = inside(*line, env={"CTXASM_NO_CACHE": "1"})
        assert inside(*line) == inside(*line) == alone
        assert alone.code == 0
    assert len(pools(small)) == 2


def test_explain_lists_every_memory_of_a_large_pool(medium: Path) -> None:
    result = inside("explain", "-w", medium, "--date", DAY.isoformat(), "--line", "agents/a/memories/000.md:1")
    assert result.out.startswith(("in L5", "out L5"))
    rows = inside("explain", "-v", "-w", medium, "--date", DAY.isoformat()).out.split("\n")
    assert sum(row.startswith("L5") for row in rows) == 1200 > MANY


def test_build_with_a_topic_tells_by_number(medium: Path) -> None:
    result = inside("build", "-w", medium, "--date", str(DAY), "--topic", "banning")
    assert "1,190 excluded" in result.err


def test_an_index_of_entries_with_other_fields_has_another_version() -> None:
    from contextasm.retrieval.memory_index.database import VERSION, index_version
    from contextasm.text.markdown.logs import LogLine

    others = [
        (Memory._fields[:-1], LogLine._fields),
        ((*Memory._fields, "new"), LogLine._fields),
        (Memory._fields[::-1], LogLine._fields),
        (Memory._fields, (*LogLine._fields, "new")),
    ]
    versions = {index_version((memory, line, Location._fields)) for memory, line in others}
    assert len(versions) == 4
    assert VERSION not in versions
    assert index_version((Memory._fields, LogLine._fields, Location._fields)) == VERSION


@pytest.mark.parametrize("error", [KeyError("x"), OSError("x"), RuntimeError("x")], ids=repr)
def test_an_error_of_who_uses_a_pool_is_told(small: Path, error: Exception) -> None:
    built(small)

    def use(_pool: object) -> None:
        raise error

    home = Folder(small)
    request = Request("a", "", "", DAY, 16_000, "estimate", "markdown")
    (layer,) = (layer for layer in DEFAULT.layers if layer.id == "L5")
    query = SourceQuery(Build(home, DEFAULT, request, ESTIMATE, memory_index=indexes(home)), layer)
    with pytest.raises(type(error)) as raised:
        use_pool(query, MEMORIES, home.list("agents/a/memories/*.md"), use)
    assert raised.value is error


HIDDEN_PAGES = {
    "agents/a/memories/bad.md": b"\xff\xfe- [fact] kars\n",
    "agents/a/memories/tag.md": b"- a\xe2\x80\x8bb lut\n",
}


@pytest.mark.parametrize("topic", ["kars lut", "banning"])
def test_a_search_tells_the_same_problems_with_and_without_an_index(small: Path, topic: str) -> None:
    for path, data in HIDDEN_PAGES.items():
        (small / path).write_bytes(data)
    words = ("search", "-w", small, "-a", "a", "--date", str(DAY), topic)
    first, warm = inside(*words), inside(*words)
    assert pools(small)
    without = inside(*words, env={"CTXASM_NO_CACHE": "1"})
    assert first == warm == without
    assert "hidden-text" in without.err


@pytest.mark.parametrize("topic", ["", "banning dors"])
def test_figures_of_a_build_are_the_same_with_and_without_an_index(medium: Path, topic: str) -> None:
    line = request(medium, "--topic", topic, "--metrics", "-") if topic else request(medium, "--metrics", "-")
    runs = [inside(*line, env=env).out for env in ({"CTXASM_NO_CACHE": "1"}, {}, {})]
    times = ("memory_assembly_duration", "memory_source_latency", "memory_cache_hit_ratio")
    figures = [[row for row in out.split("\n") if not row.startswith(times)] for out in runs]
    assert figures[0] == figures[1] == figures[2]


@pytest.mark.parametrize("table", ["rows", "files", "columns"])
@pytest.mark.parametrize("topic", ["", "banning dors"])
def test_index_that_lacks_entries_is_made_again(medium: Path, table: str, topic: str) -> None:
    before = built(medium, topic)
    with closing(sqlite3.connect(database(medium))) as other:
        other.execute(
            f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} LIMIT 5)"
            if table != "rows"
            else "DELETE FROM rows WHERE row < 5"
        )
        other.commit()
    assert same(built(medium, topic)) == same(before)
    assert pools(medium)


def test_a_locked_index_is_waited_for_once(medium: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(medium)
    waits: list[float] = []
    connect = sqlite3.connect

    def watched(address: str, timeout: float, **others: object) -> sqlite3.Connection:
        waits.append(timeout)
        return connect(address, timeout=timeout, **others)  # type: ignore[call-overload, no-any-return]

    with closing(sqlite3.connect(database(medium), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(sqlite3, "connect", watched)
        built(medium, "banning")
        assert len(waits) > 1
        assert [wait for wait in waits if wait] == waits[:1]
        other.execute("ROLLBACK")
    built(medium, "banning")
    del waits[:]
    built(medium, "banning")
    assert all(waits)
