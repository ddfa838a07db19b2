"""Sizes of pages: none becomes a file that nobody reads, however many write at once and however texts grow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.postgres import TEAM, Database

psycopg2: Any = pytest.importorskip("psycopg2", reason="psycopg2 is not installed")

pytestmark = pytest.mark.postgres

MANY = "INSERT INTO ctxasm.memory (owner, id, text, created) SELECT '{}', '{}-' || n, {}, '2025-03-14' FROM {}"


def pages(database: Database) -> dict[str, tuple[int, int]]:
    """Rows and characters of each page."""
    rows = database.run("SELECT page, count(*), sum(length(text)) FROM ctxasm.memory GROUP BY page ORDER BY page")
    return {page: (count, size) for page, count, size in rows}


@pytest.fixture
def transactions(database: Database) -> Iterator[list[Any]]:
    """Open transactions of one role."""
    connections = [database.server.connect(database.name, "luna") for _ in range(6)]
    yield connections
    for connection in connections:
        connection.close()


def test_a_page_is_closed_by_its_size_as_well(database: Database) -> None:
    database.run(MANY.format(TEAM, "big", "repeat('x', 65000)", "generate_series(1, 200) AS n"), role="luna")
    sizes = pages(database)
    assert len(sizes) > 1
    assert max(size for _, size in sizes.values()) <= 4_000_000


def test_one_writer_fills_one_page_after_the_other(database: Database) -> None:
    database.run(MANY.format(TEAM, "many", "'x' || n", "generate_series(1, 1500) AS n"), role="luna")
    database.add("one more", id="'many-more'")
    with pytest.raises(psycopg2.errors.UniqueViolation):
        database.add("again", id="'many-more'")
    assert [count for count, _ in pages(database).values()] == [512, 512, 477]
    assert [*pages(database)] == ["2025-03.000000", "2025-03.000001", "2025-03.000002"]


def test_transactions_that_are_open_at_once_fill_pages_of_their_own(
    database: Database, transactions: list[Any]
) -> None:
    for number, connection in enumerate(transactions):
        statement = MANY.format(TEAM, f"w{number}", "repeat('y', 60000) || n", "generate_series(1, 60) AS n")
        connection.cursor().execute(statement)
    for number, connection in enumerate(transactions):
        connection.cursor().execute(MANY.format(TEAM, f"v{number}", "'z'", "generate_series(1, 600) AS n"))
        connection.commit()
    sizes = pages(database)
    assert sum(count for count, _ in sizes.values()) == 6 * 660
    assert max(count for count, _ in sizes.values()) == 512
    assert max(size for _, size in sizes.values()) <= 4_000_000


def test_pages_that_were_begun_at_once_are_filled_later(database: Database, transactions: list[Any]) -> None:
    for number, connection in enumerate(transactions):
        connection.cursor().execute(MANY.format(TEAM, f"w{number}", "'x'", "generate_series(1, 3) AS n"))
    for connection in transactions:
        connection.commit()
    assert len(pages(database)) == 6
    database.run(MANY.format(TEAM, "late", "'x'", "generate_series(1, 509) AS n"), role="luna")
    assert pages(database)["2025-03.000000"][0] == 512
    assert len(pages(database)) == 6


def test_an_old_view_of_a_page_gives_no_slot_twice(transactions: list[Any]) -> None:
    old, new, *_ = transactions
    old.set_session(isolation_level="REPEATABLE READ")
    old.cursor().execute("SELECT count(*) FROM ctxasm.memory")
    new.cursor().execute(MANY.format(TEAM, "new", "'x'", "generate_series(1, 3) AS n"))
    new.commit()
    with pytest.raises(psycopg2.errors.UniqueViolation):
        old.cursor().execute(MANY.format(TEAM, "old", "'x'", "generate_series(1, 3) AS n"))


def test_texts_that_grow_stay_within_a_file(database: Database) -> None:
    database.run(MANY.format(TEAM, "small", "'x'", "generate_series(1, 512) AS n"), role="luna")
    with pytest.raises(psycopg2.errors.CheckViolation):
        database.run("UPDATE ctxasm.memory SET text = repeat(U&'\\+01F600', 65536)", role="luna")
    database.run("UPDATE ctxasm.memory SET text = repeat(U&'\\+01F600', 29900)", role="luna")
    assert len(pages(database)) == 1
    assert database.run("SELECT sum(octet_length(text)) < 64000000 FROM ctxasm.memory") == [(True,)]


def test_a_page_that_is_asked_for_and_full_is_another_one(database: Database) -> None:
    names = "INSERT INTO ctxasm.memory (owner, id, text, created, page) SELECT"
    statement = f"{names} '{TEAM}', 'n-' || n, 'x', '2025-03-14', '2025-03.000007' FROM generate_series(1, 600) AS n"
    database.run(statement, role="luna")
    assert {page: count for page, (count, _) in pages(database).items()} == {
        "2025-03.000007": 512,
        "2025-03.000008": 88,
    }
