"""What the server's own tools tell a role of rows that it may not see: plans, counters and estimates, asked by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from tests.postgres import TEAM, Database

psycopg2: Any = pytest.importorskip("psycopg2", reason="psycopg2 is not installed")

pytestmark = pytest.mark.postgres

SECRETS = ("1p-m-secret", "4-m-other")
"""Ids and texts: of a private memory of luna's, and of one of an owner of whom nobody else is a member."""

SETTINGS = ("seqscan", "indexscan", "bitmapscan", "indexonlyscan", "tidscan")

GUESSES = [
    "id = '{}'",
    "id >= '{}'",
    "id < '{}'",
    "(id, owner) = ('{}', 'teams/q1')",
    "owner = 'teams/{}'",
    "scope > 'teams/{}'",
    "text = '{}'",
    "text < '{}'",
    "md5(text) = md5('{}')",
    "md5(text) >= md5('{0}') AND md5(text) <= md5('{0}')",
    "key = '{}'",
    "owner = 'teams/q1' AND (id = '{0}' OR md5(text) = md5('{0}'))",
]


@pytest.fixture
def secrets(database: Database) -> Database:
    """An owner with open memories and a private one of luna's, and one that has no other member, with samples."""
    database.run("INSERT INTO ctxasm.member VALUES ('luna', 'teams/4-m-other', true)")
    for number in range(20):
        database.add(f"open {number}", id=f"'m-{number}'")
    for name, owner, private in ((SECRETS[0], TEAM, "true"), (SECRETS[1], "teams/4-m-other", "false")):
        prefix, _, id_ = name.partition("-")
        database.add(name, id=f"'{id_}'", owner=f"'{owner}'", private=private, key=f"'{name}'")
        assert database.run(f"SELECT 1 FROM ctxasm.memory WHERE id = '{prefix}-{id_}'") == [(1,)]
    database.run("ANALYZE ctxasm.memory", "ANALYZE ctxasm.member")
    return database


def plans(database: Database, role: str, conditions: list[str]) -> Iterator[list[str]]:
    """What `EXPLAIN` tells of each condition under each choice of ways, but for the condition itself and for times."""
    connection = database.server.connect(database.name, role)
    connection.autocommit = True
    cursor = connection.cursor()
    try:
        for ways in product(("on", "off"), repeat=len(SETTINGS)):
            for setting, way in zip(SETTINGS, ways, strict=True):
                cursor.execute(f"SET enable_{setting} = {way}")
            told = []
            for condition in conditions:
                statement = f"SELECT 1 FROM ctxasm.memory WHERE {condition}"
                cursor.execute(statement)  # what is read for the first time is counted, too
                cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, TIMING off, SUMMARY off) {statement}")
                plan = "\n".join(line for (line,) in cursor.fetchall())
                told.append(re.sub(r"'[^']*'|(?s:\nPlanning:.*)| Memory: .*", "", plan))
            yield told
    finally:
        connection.close()


@pytest.mark.parametrize("guess", GUESSES)
@pytest.mark.parametrize("role", ["kenji", "reader"])
def test_a_guess_that_is_right_looks_like_one_that_is_wrong(secrets: Database, role: str, guess: str) -> None:
    for told in plans(secrets, role, [guess.format(name) for name in (*SECRETS, "1p-m-secreu", "4-m-othes")]):
        assert told[0] == told[2]
        assert told[1] == told[3]


def test_the_owner_of_a_secret_sees_the_difference(secrets: Database) -> None:
    told = next(plans(secrets, "luna", [f"id = '{name}'" for name in ("1p-m-secret", "1p-m-secreu")]))
    assert told[0] != told[1]


def test_memberships_of_others_are_not_to_be_found_by_halving(secrets: Database) -> None:
    connection = secrets.server.connect(secrets.name, "outsider")
    connection.autocommit = True
    cursor = connection.cursor()
    told = []
    for setting, (role, owner) in product(
        ("seqscan", "bitmapscan"), (("luna", "teams/4-m-other"), ("lunb", "teams/x"))
    ):
        cursor.execute(f"RESET ALL; SET enable_{setting} = off")
        for condition in (f"role = '{role}'", f"owner = '{owner}'", f"role = '{role}' AND owner < '{owner}'"):
            cursor.execute(
                f"EXPLAIN (ANALYZE, BUFFERS, TIMING off, SUMMARY off) SELECT 1 FROM ctxasm.member WHERE {condition}"
            )
            plan = "\n".join(line for (line,) in cursor.fetchall())
            told.append(re.sub(r"'[^']*'|(?s:\nPlanning:.*)", "", plan))
    connection.close()
    assert told[:3] == told[3:6]
    assert told[6:9] == told[9:]


def test_the_server_keeps_no_samples_of_memories(secrets: Database) -> None:
    sampled = "SELECT count(*) FROM pg_stats WHERE schemaname = 'ctxasm' AND tablename <> 'migration'"
    assert secrets.run(sampled) == [(0,)]


def test_no_operator_of_a_role_gets_into_the_rights(secrets: Database) -> None:
    secrets.run("CREATE SCHEMA kenji AUTHORIZATION kenji")
    secrets.run(
        "CREATE FUNCTION kenji.yes(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        "CREATE OPERATOR kenji.= (LEFTARG = text, RIGHTARG = text, FUNCTION = kenji.yes)",
        role="kenji",
    )
    connection = secrets.server.connect(secrets.name, "kenji")
    cursor = connection.cursor()
    cursor.execute("SET search_path = kenji, pg_catalog; SELECT count(*) FROM ctxasm.memory")
    assert cursor.fetchall() == [(20,)]
    connection.close()


def test_a_member_gets_its_rights_with_its_row_and_loses_them_with_the_last(secrets: Database) -> None:
    secrets.run(
        "CREATE ROLE guest LOGIN", "INSERT INTO ctxasm.member VALUES ('guest', 'teams/q1'), ('guest', 'teams/x')"
    )
    count = "SELECT count(*) FROM ctxasm.memory"
    assert secrets.run(count, role="guest") == [(20,)]
    secrets.run("DELETE FROM ctxasm.member WHERE role = 'guest' AND owner = 'teams/q1'")
    assert secrets.run(count, role="guest") == [(0,)]
    with pytest.raises(psycopg2.errors.DependentObjectsStillExist):
        secrets.run("DROP ROLE guest")
    secrets.run("DELETE FROM ctxasm.member WHERE role = 'guest'")
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        secrets.run(count, role="guest")
    secrets.run("DROP ROLE guest")
    with pytest.raises(psycopg2.errors.UndefinedObject):
        secrets.run("INSERT INTO ctxasm.member VALUES ('guest', 'teams/q1')")
