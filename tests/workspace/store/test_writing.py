"""Writing: `remember` for an owner in the store, by the real command, and what two writers do to each other."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest

from contextasm.model import Document, Problem
from contextasm.retrieval.memory_index import files as index_files
from contextasm.text.cleaning.private_parts import private_lines
from contextasm.text.memories.writer import clean_lines
from contextasm.workspace.folder import Folder
from contextasm.workspace.storage import NewMemory
from contextasm.workspace.store import writing
from contextasm.workspace.store.connection import Session, TransactionLostError, open_session
from contextasm.workspace.store.rows import lock_texts, locked_rows
from contextasm.workspace.store.schema import in_transaction
from tests.postgres import DAY, TEAM, Database, remember, replicated, wait_for
from tests.retrieval.memory_index.test_memory_index import LETTERS

errors: Any = pytest.importorskip("psycopg2", reason="psycopg2 is not installed").errors

pytestmark = pytest.mark.postgres


@pytest.fixture
def root(database: Database, tmp_path: Path) -> Path:
    """A workspace of luna's."""
    return database.workspace(tmp_path / "ws")


def test_a_memory_is_stored_and_seen_at_its_place(database: Database, root: Path) -> None:
    result = database.ctxasm(root, "remember", "-t", "q1", "The launch is on Friday", "--type", "fact", "--tag", "demo")
    assert result.code == 0, result.err
    match = re.fullmatch(r"stored (1-\w+) teams/q1/memories/(2025-03\.000000\.luna\.md):1\n", result.out)
    assert match
    expected = f"- [fact] The launch is on Friday {{id={match[1]} created={DAY} tags=demo}}\n"
    assert replicated(root) == {match[2]: expected}
    assert not (root / TEAM / "memories").exists()
    assert "The launch is on Friday" in database.ctxasm(root, "show", match[1]).out
    assert "launch is on Friday" in database.ctxasm(root, "build", "-q", "-a", "luna", "-t", "q1").out


def test_a_memory_that_says_the_same_is_reinforced_whoever_wrote_it(database: Database, root: Path) -> None:
    database.ctxasm(root, "remember", "-t", "q1", "The launch is on Friday")
    result = database.ctxasm(root, "remember", "-t", "q1", "The launch is on Friday.", "--tag", "new", role="kenji")
    assert result.out.startswith("reinforced 1-")
    assert "importance now 0.6" in result.out
    rows = database.run("SELECT role, importance, tags, accessed::text FROM ctxasm.memory")
    assert rows == [("luna", 0.6, ["new"], str(DAY))]
    forced = database.ctxasm(root, "remember", "-t", "q1", "The launch is on Friday", "--force")
    assert forced.out.startswith("stored")


def test_many_memories_are_stored_all_or_none(database: Database, root: Path) -> None:
    lines = "one thing\nanother matter\none thing\n"
    result = database.inside(root, "remember", "-t", "q1", "-", "--json", stdin=lines)
    outcomes = [(each["outcome"], each["line"]) for each in json.loads(result.out)["memories"]]
    assert outcomes == [("stored", 1), ("stored", 2), ("reinforced", 1)]
    assert database.texts() == ["one thing", "another matter"]
    database.run("ALTER TABLE ctxasm.memory ADD CHECK (text <> 'refused')")
    result = database.inside(root, "remember", "-t", "q1", "-", stdin="a third\nrefused\n")
    assert (result.code, result.out) == (2, "")
    assert "check constraint" in result.err
    assert len(database.texts()) == 2


def test_a_superseded_memory_is_marked_also_one_of_another_writer(database: Database, root: Path) -> None:
    database.add("old", id="'old-1'")
    result = database.ctxasm(root, "remember", "-t", "q1", "new words", "--supersedes", "1-old-1", role="kenji")
    assert result.code == 0, result.err
    assert database.run("SELECT status FROM ctxasm.memory WHERE id LIKE '%-old-1'") == [("superseded",)]
    result = database.ctxasm(root, "remember", "-t", "q1", "newer", "--supersedes", "1-old-2")
    assert (result.code, "did you mean 1-old-1?" in result.err) == (2, True)


def test_a_reader_stores_nothing(database: Database, root: Path) -> None:
    result = database.ctxasm(root, "remember", "-t", "q1", "x", role="reader")
    assert (result.code, result.out) == (2, "")
    assert "row-level security" in result.err


def test_equal_texts_of_eight_writers_at_once_become_one_memory(database: Database, tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(8)]
    for folder in folders:
        folder.mkdir()

    def write(folder: Path) -> str:
        overlay = database.overlay(folder, ("luna", "kenji")[int(folder.name) % 2])
        entries = [NewMemory("the same text"), NewMemory(f"text {folder.name * 9}"), NewMemory("another, too")]
        outcomes = remember(overlay, *entries)
        return outcomes[0].what

    with ThreadPoolExecutor(8) as pool:
        results = sorted(pool.map(write, folders))
    assert results == ["reinforced"] * 7 + ["stored"]
    assert database.texts().count("the same text") == database.texts().count("another, too") == 1
    assert database.run("SELECT importance FROM ctxasm.memory WHERE text = 'the same text'") == [(1.0,)]


def test_writers_who_reinforce_at_once_lose_no_step(database: Database, tmp_path: Path) -> None:
    database.add("known fact", importance="0.1")
    overlay = database.overlay(tmp_path)
    overlay.pull()

    def reinforce(_number: int) -> None:
        remember(overlay, NewMemory("known fact"))

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(reinforce, range(5)))
    assert database.run("SELECT round(importance::numeric, 4)::text FROM ctxasm.memory") == [("0.6000",)]


def test_touch_sets_the_day_of_what_is_shown(database: Database, root: Path) -> None:
    database.add("shown", id="'a'")
    database.add("shown as well", id="'b'", accessed="'2025-04-01'")
    result = database.ctxasm(root, "build", "-q", "-a", "luna", "-t", "q1", "--topic", "shown", "--touch")
    assert result.code == 0, result.err
    days = database.run("SELECT id, accessed::text FROM ctxasm.memory ORDER BY id")
    assert days == [("1-a", str(DAY)), ("1-b", "2025-04-01")]


@pytest.mark.parametrize("words", [("edit", "1-a"), ("remember", "--file", f"{TEAM}/memories/x.md", "text")])
def test_the_replica_is_not_edited(database: Database, root: Path, words: tuple[str, ...]) -> None:
    database.add("one", id="'a'")
    result = database.ctxasm(root, *words, EDITOR="false")
    assert result.code == 2
    assert "is in the shared store" in result.err
    assert list(root.glob(f"{TEAM}/memories/*")) == []


def test_owners_outside_the_store_keep_their_files(database: Database, root: Path) -> None:
    result = database.ctxasm(root, "remember", "-a", "luna", "my own")
    assert result.out.endswith(" agents/luna/memories/2025-03.md:1\n")
    assert (root / "agents/luna/memories/2025-03.md").read_text().startswith("- [note] my own")
    assert database.texts() == []


@pytest.mark.parametrize(("name", "role"), [("2-x", "kenji"), ("1p-x", "luna")])
def test_two_roles_give_one_name_to_two_memories_with_ids_of_their_own(
    database: Database, root: Path, name: str, role: str
) -> None:
    database.add("shown to luna alone", id="'x'", private="true")
    database.add("shown to all", id="'x'", role="kenji")
    assert "duplicate-id" not in database.ctxasm(root, "check").out
    result = database.ctxasm(root, "memory", "deprecate", name, "-t", "q1")
    assert result.code == 0, result.err
    states = dict(database.run("SELECT role::text, status FROM ctxasm.memory"))
    assert states == {"luna": "active", "kenji": "active", role: "deprecated"}


def test_a_build_that_can_not_touch_the_store_is_a_build(database: Database, root: Path) -> None:
    database.add("in the store")
    (root / "agents/luna/memories").mkdir()
    (root / "agents/luna/memories/own.md").write_text("- in a file {created=2025-03-01}\n")
    build = ("build", "-a", "luna", "-t", "q1", "--touch")
    assert database.ctxasm(root, "build", "-q", "-a", "luna", "-t", "q1").code == 0
    result = database.ctxasm(root, *build, "--offline")
    assert result.code == 0, result.err
    assert "in the store" in result.out
    assert result.err.count("store-untouched") == 1
    assert f"accessed={DAY}" in (root / "agents/luna/memories/own.md").read_text()
    assert database.run("SELECT accessed FROM ctxasm.memory") == [(None,)]


def test_a_role_that_only_reads_touches_nothing_and_is_told(database: Database, root: Path) -> None:
    database.add("in the store")
    result = database.ctxasm(root, "build", "-a", "luna", "-t", "q1", "--touch", role="reader")
    assert (result.code, "in the store" in result.out) == (0, True)
    assert "your role may not write in teams/q1" in result.err
    assert result.err.count("store-untouched") == 1
    assert database.run("SELECT accessed FROM ctxasm.memory") == [(None,)]


def test_no_lock_is_waited_for_without_end(database: Database, root: Path) -> None:
    database.add("one", id="'a'")
    waits = {"PGOPTIONS": "-c lock_timeout=50ms"}  # They may name another role, so a replica is for one value of them.
    assert database.ctxasm(root, "search", "-t", "q1", "one", **waits).code == 0
    holder = database.server.connect(database.name, "postgres")
    holder.cursor().execute("LOCK TABLE ctxasm.memory")
    try:
        read = database.ctxasm(root, "search", "-t", "q1", "one", **waits)
        written = database.ctxasm(root, "remember", "-t", "q1", "two", **waits)
    finally:
        holder.close()
    assert ("one" in read.out, "another transaction holds a lock that this one needs" in read.err) == (True, True)
    assert (written.code, written.out) == (2, "")
    assert "another transaction holds a lock that this one needs" in written.err
    assert "[store-busy]" in read.err
    assert database.texts() == ["one"]


def test_waits_are_bounded_unless_the_person_says_otherwise(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = []
    for options in ("", "-c lock_timeout=7s"):
        monkeypatch.setenv("PGOPTIONS", options)
        with open_session(database.config()) as session:
            limits += [session.rows("SHOW lock_timeout")[0][0], session.rows("SHOW statement_timeout")[0][0]]
    assert limits == ["5s", "1min", "7s", "1min"]


def test_an_outsider_can_not_keep_a_writer_waiting(database: Database, root: Path) -> None:
    outsider = database.server.connect(database.name, "outsider")
    outsider.cursor().execute(f"SELECT pg_advisory_lock(hashtextextended('{TEAM}' || chr(10) || 'known', 0))")
    try:
        result = database.ctxasm(root, "remember", "-t", "q1", "known", PGOPTIONS="-c lock_timeout=50ms")
    finally:
        outsider.close()
    assert result.out.startswith("stored"), result.err


def test_a_role_that_may_not_connect_is_told_so(database: Database, root: Path) -> None:
    result = database.ctxasm(root, "remember", "-t", "q1", "x", role="nobody_knows")
    assert result.code == 2
    assert "the server does not let you in" in result.err
    assert "can't be reached" not in result.err


def test_writers_of_each_others_memories_all_get_through(database: Database, tmp_path: Path) -> None:
    for name in ("one", "two"):
        database.add(f"the {name} fact", id=f"'{name}'")
    overlay = database.overlay(tmp_path)
    overlay.pull()

    def write(number: int) -> None:
        names = ["one", "two"] if number % 2 else ["two", "one"]
        entries = [NewMemory(f"the {name} fact") for name in names] + [
            NewMemory("a new fact"),
            NewMemory(f"{number}" * 9),
        ]
        remember(overlay, *entries)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(6)))
    assert database.run("SELECT count(*) FROM ctxasm.memory WHERE text = 'a new fact'") == [(1,)]
    assert database.run("SELECT importance FROM ctxasm.memory WHERE id IN ('1-one', '1-two')") == [(1.0,), (1.0,)]


@pytest.mark.parametrize("text", ["The word is herring {private=true}", "One\nis {private=true}\nand two"])
def test_a_text_that_says_private_is_private_in_the_store(database: Database, root: Path, text: str) -> None:
    entry = json.dumps({"text": text})
    assert database.inside(root, "remember", "-t", "q1", "-", stdin=f"{entry}\n").code == 0
    assert database.run("SELECT private FROM ctxasm.memory") == [(True,)]
    assert database.run("SELECT text FROM ctxasm.memory", role="kenji") == []


@pytest.mark.parametrize("named", ["1p-mine", "7p-x", "mine", "mine~2", "p-mine"])
def test_no_open_memory_names_a_private_one_or_what_is_no_id(database: Database, root: Path, named: str) -> None:
    database.add("luna is shy of squid", id="'mine'", private="true")
    database.add("luna is fond of squid", id="'open'")
    for field, value in (("supersedes", f"'{{{named}}}'"), ("superseded_by", f"'{named}'")):
        with pytest.raises(errors.CheckViolation):
            database.add("kenji knows", role="kenji", id="'theirs'", **{field: value})
        for role in ("luna", "kenji"):
            with pytest.raises(errors.CheckViolation):
                database.run(f"UPDATE ctxasm.memory SET {field} = {value} WHERE id = '1-open'", role=role)
    assert "luna is shy of squid" in database.ctxasm(root, "search", "shy", "-t", "q1").out


def test_a_private_memory_is_superseded_by_a_private_one_and_by_its_status(database: Database, root: Path) -> None:
    database.add("luna is shy of squid", id="'mine'", private="true")
    database.add("luna is fond of squid", id="'again'", private="true", supersedes="'{1p-mine}'")
    assert "shy" not in database.ctxasm(root, "search", "squid", "-t", "q1").out
    result = database.ctxasm(root, "remember", "-t", "q1", "luna eats anything", "--supersedes", "1p-again")
    assert result.code == 0, result.err
    rows = "SELECT private, status, supersedes FROM ctxasm.memory WHERE text LIKE '%fond%' OR text LIKE '%eats%'"
    assert database.run(f"{rows} ORDER BY seq") == [(True, "superseded", ["1p-mine"]), (False, "active", [])]


def test_what_a_reinforced_memory_supersedes_grows_whoever_stored_it(database: Database, root: Path) -> None:
    database.add("luna is fond of squid", id="'open'", supersedes="'{1-older}'")
    database.add("an old one", role="kenji", id="'old'")
    text = ["remember", "-t", "q1", "luna is fond of squid", "--supersedes", "2-old"]
    assert database.ctxasm(root, *text, role="kenji").code == 0
    rows = "SELECT id, status, supersedes, importance FROM ctxasm.memory ORDER BY id"
    assert database.run(rows) == [("1-open", "active", ["1-older", "2-old"], 0.6), ("2-old", "superseded", [], 0.5)]


def test_a_tag_that_nobody_sees_is_refused_and_named(database: Database, root: Path) -> None:
    result = database.ctxasm(root, "remember", "-t", "q1", "Some text", "--tag", "\u200b")
    assert result.code == 2
    assert "'\\u200b' of its tags would be read differently" in result.err
    database.add("luna's", id="'luna-1'", status="'deprecated'")
    with pytest.raises(errors.CheckViolation):
        database.run("UPDATE ctxasm.memory SET tags = tags || array[U&'\\200B'] WHERE id LIKE '%-luna-1'", role="kenji")


def test_rows_are_locked_in_one_order_wherever_they_lie(database: Database) -> None:
    for number in range(40):
        database.add(f"text {number}", id=f"'m-{number}'")
    for number in range(0, 40, 3):  # a changed row lies behind all others
        database.run(f"UPDATE ctxasm.memory SET importance = 0.7 WHERE id LIKE '%-m-{number}'", role="luna")
    with open_session(database.config("kenji")) as session:
        rows = locked_rows(session, TEAM, "importance > %s", 0.1)
    assert [row.seq for row in rows.values()] == sorted(row.seq for row in rows.values())
    assert len(rows) == 40


def test_a_connection_that_breaks_in_the_commit_is_told_as_that(
    database: Database, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = 0
    commit = Session.commit

    def broken(session: Session) -> None:
        nonlocal commits
        commits += 1
        of_luna = f"FROM pg_stat_activity WHERE datname = '{database.name}' AND usename = 'luna'"
        database.run(f"SELECT pg_terminate_backend(pid) {of_luna}")
        wait_for(lambda: not database.run(f"SELECT pid {of_luna}"))
        commit(session)

    monkeypatch.setattr(Session, "commit", broken)
    result = database.ctxasm(root, "remember", "-t", "q1", "The bell rings at dawn")
    assert (result.code, result.out, commits) == (2, "", 1)
    assert "the change may be stored or not" in result.err
    assert "check with `ctxasm search`" in result.err
    assert "nothing was stored" not in result.err


@pytest.mark.parametrize("lost", [2, 9])
def test_a_transaction_that_is_undone_for_another_is_tried_again_and_not_for_ever(
    database: Database, root: Path, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    database.add("a draft", id="'a'", status="'draft'")
    commit, commits = Session.commit, 0

    def lose(session: Session) -> None:
        nonlocal commits
        commits += 1
        if commits <= lost:
            raise TransactionLostError("store", "deadlock detected", "try again")
        commit(session)

    monkeypatch.setattr(Session, "commit", lose)
    for words in (("remember", "The bell rings at dawn"), ("memory", "approve", "1-a")):
        commits = 0
        result = database.ctxasm(root, *words, "-t", "q1")
        assert (result.code, result.out.count("\n"), commits) == ((0, 1, 3) if lost == 2 else (2, 0, 5))
    found = database.run("SELECT text, status FROM ctxasm.memory ORDER BY seq")
    stored = [("a draft", "approved"), ("The bell rings at dawn", "active")]
    assert found == (stored if lost == 2 else [("a draft", "draft")])


def test_a_text_may_replace_a_memory_with_the_same_text(database: Database, root: Path) -> None:
    database.add("The bell rings at dawn", id="'old'")
    result = database.ctxasm(root, "remember", "-t", "q1", "The bell rings at dawn", "--supersedes", "1-old")
    assert result.out.startswith("stored"), result.err
    statuses = database.run("SELECT status, importance FROM ctxasm.memory ORDER BY seq")
    assert statuses == [("superseded", 0.5), ("active", 0.5)]


def changed_meanwhile(database: Database, monkeypatch: pytest.MonkeyPatch, statement: str) -> None:
    """Have kenji run a statement between the pull of a writer and its transaction."""
    real = in_transaction

    def after_it(*arguments: Any) -> Any:
        database.run(statement, role="kenji")
        return real(*arguments)

    monkeypatch.setattr(writing, "in_transaction", after_it)


def test_a_memory_that_is_deprecated_meanwhile_is_not_reinforced(
    database: Database, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.add("The bell rings at dawn", id="'old'")
    changed_meanwhile(database, monkeypatch, "UPDATE ctxasm.memory SET status = 'deprecated' WHERE id LIKE '%-old'")
    result = database.ctxasm(root, "remember", "-t", "q1", "The bell rings at dawn")
    assert result.out.startswith("stored"), result.err
    assert database.run("SELECT importance FROM ctxasm.memory WHERE id LIKE '%-old'") == [(0.5,)]


def test_a_memory_that_is_completed_meanwhile_stays_completed(
    database: Database, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.add("The bell rings at dawn", id="'old'")
    changed_meanwhile(database, monkeypatch, "UPDATE ctxasm.memory SET status = 'completed' WHERE id LIKE '%-old'")
    assert database.ctxasm(root, "remember", "-t", "q1", "It rings at noon", "--supersedes", "1-old").code == 0
    assert database.run("SELECT status FROM ctxasm.memory WHERE id LIKE '%-old'") == [("completed",)]


def test_a_writer_for_others_reinforces_no_private_memory(database: Database, root: Path) -> None:
    database.add("shown to luna alone", id="'x'", private="true")
    database.add("shown to all", id="'x'", role="kenji")

    def hidden(document: Document) -> frozenset[int]:
        return frozenset(private_lines(document, None))

    entries = [NewMemory("shown to all"), NewMemory("shown to luna alone")]
    outcomes = remember(database.overlay(root), *entries, private_lines=hidden)
    assert [outcome.what for outcome in outcomes] == ["reinforced", "stored"]
    private = database.run("SELECT importance FROM ctxasm.memory WHERE private")
    assert private == [(0.5,)]


def test_texts_are_locked_in_one_order(database: Database) -> None:
    texts = [f"text {number}" for number in range(30)]
    locks = (
        "SELECT pid, granted, (classid::bigint << 32) + objid::bigint FROM pg_locks"
        f" JOIN pg_database d ON d.oid = database WHERE locktype = 'advisory' AND datname = '{database.name}'"
    )
    with open_session(database.config()) as holder, open_session(database.config("kenji")) as other:
        lock_texts(holder, TEAM, texts[14:15])
        ((pid, _, held),) = database.run(locks)
        with ThreadPoolExecutor(1) as pool:
            waiter = pool.submit(lock_texts, other, TEAM, texts)
            wait_for(lambda: [granted for _, granted, _ in database.run(locks) if not granted])
            before = [key for of, granted, key in database.run(locks) if of != pid and granted]
            holder.rows("ROLLBACK")
            waiter.result()
        every = [key for _, _, key in database.run(locks)]
    assert len(every) == 30
    assert sorted(before) == sorted(key for key in every if key < held)


def test_only_pages_that_are_concerned_are_opened_once_the_others_are_known(
    database: Database, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [" ".join(Random(number).choices(LETTERS, k=9)) for number in range(1_200)]
    rows = [[TEAM, f"m-{at}", text, "draft", f"2024-{1 + at // 100:02}-01"] for at, text in enumerate(words)]
    with open_session(database.config()) as session:
        session.insert_rows("ctxasm.memory", ("owner", "id", "text", "status", "created"), rows)
        session.commit()
    opened: list[str] = []
    read = Folder.read

    def watched(folder: Folder, path: str) -> Document | Problem | None:
        opened.append(path.partition(f"{TEAM}/memories/")[2].partition(".")[0])
        return read(folder, path)

    monkeypatch.setattr(index_files, "_YOUNG", -60)  # files of this second count as old ones
    monkeypatch.setattr(Folder, "read", watched)

    def pages_of(*words: str) -> set[str]:
        opened.clear()
        result = database.ctxasm(root, *words, "-t", "q1")
        assert result.code == 0, result.err
        return {*filter(None, opened)}

    months = {f"2024-{month:02}" for month in range(1, 13)}
    assert pages_of("remember", "harbor bell") > months
    assert pages_of("remember", "quay rope") == {"new", "2025-03"}
    assert pages_of("show", "1-m-750") == months | {"2025-03"}
    assert pages_of("show", "1-m-750") == {"2024-08"}
    assert pages_of("memory", "approve", "1-m-1150") == {"2024-12"}
    assert pages_of("remember", "anchor light", "--supersedes", "1-m-210") == {"new", "2024-03", "2024-12", "2025-03"}


@pytest.mark.parametrize("text", ["Race text here  ", "Race text here\n", "Race text here \nin two lines"])
def test_a_text_that_another_stores_meanwhile_is_found_as_the_row_has_it(
    database: Database, root: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    overlay, real = database.overlay(root), in_transaction
    stored = clean_lines(text)

    def after_another(*args: Any) -> Any:
        database.add(stored, role="kenji")
        return real(*args)

    monkeypatch.setattr(writing, "in_transaction", after_another)
    (outcome,) = remember(overlay, NewMemory(text))
    assert (outcome.what, database.texts()) == ("reinforced", [stored])
