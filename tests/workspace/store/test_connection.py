"""Connections: what a role's settings can't change, and what is told of a transaction that the server undid."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contextasm.workspace.storage import NewMemory
from contextasm.workspace.store import schema
from contextasm.workspace.store.writing import StoredMemories
from tests.postgres import TEAM, Database, Server, new_database, remember, replicated, wait_for

pytestmark = pytest.mark.postgres

HOSTILE = {
    "extra_float_digits": "-15",
    "DateStyle": "'German, DMY'",
    "IntervalStyle": "sql_standard",
    "TimeZone": "'Pacific/Kiritimati'",
    "bytea_output": "escape",
    "client_encoding": "LATIN1",
    "standard_conforming_strings": "off",
    "search_path": "evil, pg_catalog",
    "row_security": "off",
    "default_transaction_isolation": "serializable",
}
"""Settings that a role may have, each with a value that would change an answer or refuse one."""


@pytest.fixture
def root(database: Database, tmp_path: Path) -> Path:
    """A workspace of luna's, whose store has fields of each form, and a schema that imitates functions."""
    database.add(
        'C:\\new "\u00fc\u20ac"',
        importance="0.1234567890123456",
        accessed="'2025-03-05'",
        tags="'{a,\"NULL\"}'",
        supersedes="'{1-x}'",
    )
    database.run(
        "CREATE SCHEMA evil",
        "GRANT USAGE ON SCHEMA evil TO PUBLIC",
        "CREATE FUNCTION evil.to_char(date, text) RETURNS text LANGUAGE sql RETURN '2001-01-01'",
        "CREATE FUNCTION evil.md5(text) RETURNS text LANGUAGE sql RETURN 'evil'",
        "CREATE FUNCTION evil.hashtextextended(text, bigint) RETURNS bigint LANGUAGE sql RETURN 1",
    )
    return database.workspace(tmp_path / "ws")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_setting_of_the_role_changes_nothing(database: Database, root: Path, tmp_path: Path, name: str) -> None:
    other = database.workspace(tmp_path / "other")
    database.run(f"ALTER ROLE luna IN DATABASE {database.name} SET {name} = {HOSTILE[name]}")
    stored = database.ctxasm(root, "remember", "-t", "q1", "b\\new '\u00fc\u20ac'")
    assert (stored.code, stored.out[:6]) == (0, "stored"), stored.err
    database.run("UPDATE ctxasm.memory SET importance = 0.9000000000000001 WHERE importance = 0.5", role="kenji")
    assert database.ctxasm(root, "store", "pull").code == 0
    assert database.ctxasm(other, "store", "pull", role="kenji").code == 0
    assert replicated(root) == replicated(other)
    assert "importance=0.1234567890123456 " in "".join(replicated(root).values())
    # Without a replica of the text, so that the server finds it.
    (root / ".ctxasm/store" / TEAM / "memories/2025-03.000000.luna.md").write_text("")
    again = database.ctxasm(root, "remember", "-t", "q1", "b\\new '\u00fc\u20ac'")
    assert (again.code, again.out[:10]) == (0, "reinforced"), again.err


def test_a_store_is_made_whatever_the_role_says(server: Server, tmp_path: Path) -> None:
    database = new_database(server, migrated=False)
    database.run(
        *(f"ALTER ROLE luna IN DATABASE {database.name} SET {name} = {value}" for name, value in HOSTILE.items())
    )
    database.run(f"GRANT CREATE ON DATABASE {database.name} TO luna")
    root = database.workspace(tmp_path)
    for words in (("store", "init"), ("remember", "-t", "q1", "The bell rings at dawn"), ("store", "pull")):
        result = database.ctxasm(root, *words)
        assert result.code == 0, result.err
    assert len(replicated(root)) == 1


def test_writers_that_wait_for_one_another_see_what_was_stored_whatever_the_role_says(
    database: Database, root: Path, tmp_path: Path
) -> None:
    for role in ("luna", "kenji"):
        database.run(f"ALTER ROLE {role} IN DATABASE {database.name} SET default_transaction_isolation = serializable")
    database.run(
        "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
        " RAISE EXCEPTION 'one state for all statements'; END$$",
        "CREATE TRIGGER isolation BEFORE INSERT ON ctxasm.memory FOR EACH ROW"
        " WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.refuse()",
    )
    overlays = [database.overlay(root), database.overlay(database.workspace(tmp_path / "other"), "kenji")]

    def outcome(overlay: StoredMemories) -> str:
        (outcome,) = remember(overlay, NewMemory("The bell rings at dawn"))
        return outcome.what

    holder = database.server.connect(database.name, "postgres")
    holder.cursor().execute("LOCK TABLE ctxasm.memory IN EXCLUSIVE MODE")
    waiting = f"SELECT pid FROM pg_stat_activity WHERE datname = '{database.name}' AND wait_event_type = 'Lock'"
    with ThreadPoolExecutor(2) as pool:
        outcomes = [pool.submit(outcome, overlay) for overlay in overlays]
        wait_for(lambda: len(database.run(waiting)) == 2)
        holder.rollback()
        holder.close()
        assert sorted(outcome.result() for outcome in outcomes) == ["reinforced", "stored"]


def failing_commits(database: Database, state: str, times: int) -> None:
    """Have the first commits of memories fail with a state."""
    database.run(
        "CREATE SEQUENCE public.commits",
        "GRANT USAGE ON public.commits TO PUBLIC",
        "CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
        f" IF nextval('public.commits') <= {times} THEN RAISE EXCEPTION 'not now' USING ERRCODE = '{state}'; END IF;"
        " RETURN NULL; END$$",
        "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON ctxasm.memory DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION public.fail()",
    )


@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_a_commit_that_the_server_undoes_for_another_is_tried_again(database: Database, root: Path, state: str) -> None:
    failing_commits(database, state, 2)
    result = database.ctxasm(root, "remember", "-t", "q1", "The bell rings at dawn")
    assert (result.code, result.err) == (0, "")
    assert database.texts()[1:] == ["The bell rings at dawn"]


@pytest.mark.parametrize("state", ["23514", "53100"])
def test_a_commit_that_the_server_refuses_is_told_as_that(database: Database, root: Path, state: str) -> None:
    failing_commits(database, state, 1)
    result = database.ctxasm(root, "remember", "-t", "q1", "The bell rings at dawn")
    assert (result.code, "not now" in result.err, "may be stored" in result.err) == (2, True, False)
    assert len(database.texts()) == 1


def test_a_pull_reads_no_script(database: Database, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "file_bytes", lambda *_: pytest.fail("a script is read"))
    assert database.ctxasm(root, "store", "pull").code == 0


@pytest.mark.parametrize("name", ["PGOPTIONS", "PGUSER"])
def test_an_environment_that_is_no_utf8_is_one_line(database: Database, root: Path, name: str) -> None:
    written = database.ctxasm(root, "remember", "-t", "q1", "x", **{name: "\udcff"})
    assert (written.code, written.err.count("\n")) == (2, 1), written.err
    read = database.ctxasm(root, "build", "-a", "luna", "-t", "q1", **{name: "\udcff"})
    assert (read.code, "store-" in read.err) == (0, True), read.err
