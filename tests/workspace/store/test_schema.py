"""Migrations: numbered, each applied once whoever runs them, and nothing is done to a newer store."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contextasm.model import ContextasmError
from contextasm.workspace.store.schema import SCRIPTS, load_migrations, migrate_store
from tests.postgres import TEAM, Database, Server, new_database

pytestmark = pytest.mark.postgres


@pytest.fixture
def empty(server: Server) -> Database:
    """A database without a store."""
    return new_database(server, migrated=False)


def applied(database: Database) -> list[tuple[int, str]]:
    """The migrations that the store says it has."""
    return [
        (number, name) for number, name in database.run("SELECT number, name FROM ctxasm.migration ORDER BY number")
    ]


def test_migrations_that_race_are_applied_once(empty: Database) -> None:
    with ThreadPoolExecutor(8) as pool:
        results = [*pool.map(lambda _: migrate_store(empty.config("postgres")), range(8))]
    expected = [(each.number, each.name) for each in load_migrations()]
    assert sorted((each.number, each.name) for result in results for each in result) == expected
    assert applied(empty) == expected
    assert migrate_store(empty.config("postgres")) == []


def test_no_other_role_keeps_a_migration_waiting(empty: Database, tmp_path: Path) -> None:
    shutil.copytree(SCRIPTS, tmp_path, dirs_exist_ok=True)
    migrate_store(empty.config("postgres"))
    (tmp_path / f"{len(load_migrations()) + 1:03}_more.sql").write_text("CREATE TABLE ctxasm.more (x int);")
    outsider = empty.server.connect(empty.name, "outsider")
    try:
        cursor = outsider.cursor()
        cursor.execute("SELECT pg_advisory_lock(6517880), count(*) FROM ctxasm.migration")
        assert [each.name for each in migrate_store(empty.config("postgres"), tmp_path)] == ["more"]
        with pytest.raises(Exception, match="permission denied"):
            cursor.execute("LOCK TABLE ctxasm.migration IN SHARE ROW EXCLUSIVE MODE")
    finally:
        outsider.close()
    assert migrate_store(empty.config("luna"), tmp_path) == []


def test_an_older_store_gets_what_it_lacks(empty: Database, tmp_path: Path) -> None:
    shutil.copytree(SCRIPTS, tmp_path, dirs_exist_ok=True)
    last = len(load_migrations())
    migrate_store(empty.config("postgres"))
    bad = tmp_path / f"{last + 1:03}_broken.sql"
    bad.write_text("CREATE TABLE ctxasm.half (x int); SELECT nonsense;")
    with pytest.raises(ContextasmError, match="nonsense"):
        migrate_store(empty.config("postgres"), tmp_path)
    assert len(applied(empty)) == last
    bad.write_text("CREATE TABLE ctxasm.half (x int);")
    assert [each.name for each in migrate_store(empty.config("postgres"), tmp_path)] == ["broken"]
    assert empty.run("SELECT * FROM ctxasm.half") == []


def test_a_newer_store_is_refused(database: Database, tmp_path: Path) -> None:
    database.run("INSERT INTO ctxasm.migration (number, name) VALUES (99, 'future')")
    with pytest.raises(ContextasmError, match="has version 99") as failure:
        migrate_store(database.config("postgres"))
    assert "newer ctxasm" in str(failure.value)
    root = database.workspace(tmp_path)
    for words in (("remember", "-t", "q1", "x"), ("store", "pull"), ("build", "-q", "-a", "luna", "--strict")):
        result = database.ctxasm(root, *words)
        assert (result.code, "has version 99" in result.err) == (1 if "--strict" in words else 2, True), result.err


@pytest.mark.parametrize(
    "words",
    [
        ("memory", "approve", "m-one"),
        ("memory", "deprecate", "m-one"),
        ("remember", "-t", "q1", "another"),
        ("store", "import"),
        ("import", "jsonl", "{root}/kept.jsonl", "-t", "q1"),
        ("build", "-q", "-a", "luna", "-t", "q1", "--touch"),
    ],
)
def test_nothing_is_written_into_a_newer_store(database: Database, tmp_path: Path, words: tuple[str, ...]) -> None:
    root = database.workspace(tmp_path)
    database.add("One thing to know.", id="'m-one'")
    assert database.ctxasm(root, "store", "pull").code == 0
    (root / TEAM / "memories").mkdir()
    (root / TEAM / "memories/a.md").write_text("- [note] of a file {id=m-file}\n")
    (root / "kept.jsonl").write_text('{"id": "m-kept", "text": "of another program"}\n')
    rows = "SELECT * FROM ctxasm.memory"
    before = database.run(rows)
    database.run("INSERT INTO ctxasm.migration (number, name) VALUES (99, 'future')")
    result = database.ctxasm(root, *(word.format(root=root) for word in words))
    assert (result.code, "has version 99" in result.err) == (0 if "--touch" in words else 2, True), result
    assert database.run(rows) == before
    if "--touch" in words:
        assert "the store could not set the day of access: has version 99" in result.err


def test_a_role_without_the_right_makes_no_store(empty: Database, tmp_path: Path) -> None:
    root = empty.workspace(tmp_path)
    result = empty.ctxasm(root, "store", "init")
    assert result.code == 2
    assert "permission denied" in result.err
    assert result.err.count("\n") == 1


def test_a_gap_in_the_scripts_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "002_second.sql").write_text("SELECT 1;")
    with pytest.raises(ContextasmError, match="not the next migration"):
        load_migrations(tmp_path)


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_is_not_of_utf8_gets_no_store(server: Server, tmp_path: Path, encoding: str) -> None:
    name = f"of_{encoding.lower()}"
    server.run(f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    odd = Database(server, name)
    root = odd.workspace(tmp_path)
    result = odd.ctxasm(root, "store", "init", role="postgres")
    assert (result.code, f"encoding of the database is {encoding}, not UTF8" in result.err) == (2, True), result.err
    assert odd.run("SELECT to_regnamespace('ctxasm')") == [(None,)]
    server.run(f"DROP DATABASE {name}")
