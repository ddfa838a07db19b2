"""Rights in the store: what each role may read and write, asked of the server by hand, past all of our code."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextasm.config.input.values import is_name
from contextasm.model import AS_WRITTEN, Cleaning, Document
from contextasm.text.cleaning.clean import clean_text, decode_document
from contextasm.text.memories.parser import parse_memories
from contextasm.workspace.store.pages import COLUMNS, memory_of_row, page_text, readable_memory
from contextasm.workspace.store.schema import migrate_store
from tests.postgres import TEAM, Database, replicated

psycopg2: Any = pytest.importorskip("psycopg2", reason="psycopg2 is not installed")
errors = psycopg2.errors

pytestmark = pytest.mark.postgres


@pytest.fixture
def filled(database: Database) -> Database:
    """A store with a memory of luna's for all, and a private one."""
    database.add("open", id="'open'")
    database.add("mine", id="'mine'", private="true")
    return database


def read(database: Database, role: str, owner: str = TEAM) -> list[str]:
    """The texts of an owner that a role sees."""
    statement = f"SELECT text FROM ctxasm.memory WHERE owner = '{owner}' ORDER BY seq"
    return [text for (text,) in database.run(statement, role=role)]


def refusal(database: Database, role: str, statement: str) -> str:
    """What becomes of a statement: the state of its error, or the number of rows that it gives."""
    try:
        return str(len(database.run(statement, role=role)))
    except psycopg2.Error as error:
        return type(error).__name__


@pytest.mark.parametrize(
    ("role", "seen"),
    [
        ("luna", ["open", "mine"]),
        ("kenji", ["open"]),
        ("reader", ["open"]),
    ],
)
def test_who_reads_what(filled: Database, role: str, seen: list[str]) -> None:
    assert read(filled, role) == seen
    assert read(filled, role, "teams/other") == []


DENIED = "InsufficientPrivilege"

INSERT = "INSERT INTO ctxasm.memory (owner, id, text) VALUES ('{owner}', 'new', 'x') RETURNING id"
UPDATE = "UPDATE ctxasm.memory SET importance = 1 WHERE id LIKE '%-{id}' RETURNING id"
MATRIX = [
    ("luna", INSERT.format(owner=TEAM), "1"),
    ("kenji", INSERT.format(owner=TEAM), "1"),
    ("reader", INSERT.format(owner=TEAM), DENIED),
    ("outsider", INSERT.format(owner=TEAM), DENIED),
    ("luna", INSERT.format(owner="teams/other"), DENIED),
    ("luna", UPDATE.format(id="open"), "1"),
    ("kenji", UPDATE.format(id="open"), "1"),
    ("reader", UPDATE.format(id="open"), "0"),
    ("outsider", UPDATE.format(id="open"), DENIED),
    ("outsider", "SELECT FROM ctxasm.memory", DENIED),
    ("outsider", "SELECT FROM ctxasm.salt", DENIED),
    ("luna", UPDATE.format(id="mine"), "1"),
    ("kenji", UPDATE.format(id="mine"), "0"),
    *((role, "DELETE FROM ctxasm.memory", DENIED) for role in ("luna", "kenji", "reader", "outsider")),
    *((role, "TRUNCATE ctxasm.memory", DENIED) for role in ("luna", "outsider")),
    ("luna", "INSERT INTO ctxasm.member VALUES ('luna', 'teams/other', true)", DENIED),
    ("reader", "UPDATE ctxasm.member SET writes = true", DENIED),
    ("luna", "ALTER TABLE ctxasm.memory DISABLE ROW LEVEL SECURITY", DENIED),
    ("outsider", "SELECT * FROM ctxasm.member", "0"),
    ("reader", "SELECT * FROM ctxasm.member", "1"),
]


@pytest.mark.parametrize(("role", "statement", "result"), MATRIX)
def test_who_may_do_what(filled: Database, role: str, statement: str, result: str) -> None:
    assert refusal(filled, role, statement) == result


@pytest.mark.parametrize(
    "change",
    [
        "role = 'kenji'",
        "writer = 'mcp'",
        "owner = 'teams/other'",
        "id = 'other'",
        "private = true",
        "page = '2025-01.000001'",
        "slot = 7",
        "filled = 7",
        "changed = '1'",
    ],
)
def test_what_signs_a_memory_can_not_be_changed(filled: Database, change: str) -> None:
    statement = f"UPDATE ctxasm.memory SET {change} WHERE id LIKE '%-open' RETURNING id"
    assert refusal(filled, "luna", statement) == refusal(filled, "kenji", statement) == DENIED
    filled.run("GRANT UPDATE ON ctxasm.memory TO kenji, luna")
    if change.startswith("changed"):
        filled.run(statement, role="kenji")
        assert filled.run("SELECT 1 FROM ctxasm.memory WHERE changed = '1'") == []
    else:
        assert refusal(filled, "kenji", statement) == refusal(filled, "luna", statement) == DENIED


@pytest.mark.parametrize("change", ["owner = 'teams/other'", "private = true"])
def test_the_policy_of_changes_holds_without_the_trigger(filled: Database, change: str) -> None:
    filled.run("GRANT UPDATE ON ctxasm.memory TO kenji", "ALTER TABLE ctxasm.memory DISABLE TRIGGER sign")
    assert refusal(filled, "kenji", f"UPDATE ctxasm.memory SET {change}") == DENIED
    assert refusal(filled, "kenji", "UPDATE ctxasm.memory SET importance = 1 RETURNING id") == "1"


def test_nobody_writes_in_the_name_of_another(filled: Database) -> None:
    statement = f"INSERT INTO ctxasm.memory (owner, id, text, role) VALUES ('{TEAM}', 'n', 'x', 'kenji')"
    assert refusal(filled, "luna", statement) == DENIED
    filled.run("GRANT INSERT ON ctxasm.memory TO luna")
    filled.run(statement, role="luna")
    assert filled.run("SELECT role FROM ctxasm.memory WHERE id LIKE '%-n'") == [("luna",)]


def test_only_its_writer_changes_a_text(filled: Database) -> None:
    statement = "UPDATE ctxasm.memory SET text = 'other' WHERE id LIKE '%-open' RETURNING id"
    assert refusal(filled, "kenji", statement) == DENIED
    assert refusal(filled, "luna", statement) == "1"


def test_the_owner_of_the_tables_is_held_to_the_rights(filled: Database) -> None:
    filled.run(
        "CREATE ROLE owner LOGIN", *(f"ALTER TABLE ctxasm.{table} OWNER TO owner" for table in ("memory", "member"))
    )
    filled.run("GRANT USAGE ON SCHEMA ctxasm TO owner")
    assert read(filled, "owner") == []
    filled.run(f"INSERT INTO ctxasm.member VALUES ('owner', '{TEAM}', false)", role="owner")
    assert read(filled, "owner") == ["open"]
    filled.run("REASSIGN OWNED BY owner TO postgres", "DROP OWNED BY owner", "DROP ROLE owner")


def test_a_taken_id_does_not_tell_of_a_private_memory(filled: Database) -> None:
    for text, id_ in (("open, too", "'mine'"), ("again", "'open'")):
        filled.add(text, role="kenji", id=id_)
        with pytest.raises(errors.UniqueViolation):
            filled.add("taken", role="kenji", id=id_)
    assert read(filled, "kenji") == ["open", "open, too", "again"]


def test_an_id_begins_with_the_number_of_the_role_which_no_other_one_gets(filled: Database) -> None:
    filled.add("kenji's", role="kenji", id="'1-open'")
    ids = "SELECT id FROM ctxasm.memory ORDER BY seq"
    assert filled.run(ids) == [("1-open",), ("1p-mine",), ("2-1-open",)]
    filled.run("CREATE ROLE guest LOGIN")
    for number in (4, 5):
        filled.run(f"INSERT INTO ctxasm.member VALUES ('guest', '{TEAM}', true)")
        filled.add("a guest's", role="guest", id=f"'g{number}'")
        assert filled.run(ids)[-1] == (f"{number}-g{number}",)
        filled.run("DELETE FROM ctxasm.member WHERE role = 'guest'")
    filled.run("DROP ROLE guest")


@pytest.mark.parametrize(
    "values",
    [
        {"text": "ends in a blank "},
        {"text": "\x93\x9c\x15"},
        {"text": "two\r\nlines"},
        {"text": ""},
        {"id": "'a\"b'"},
        {"type": "'a]b'"},
        {"type": "'x'"},
        {"type": "U&'\\00A0'"},
        {"key": "' a'"},
        {"key": "U&'a\\2003'"},
        {"key": "repeat('k', 1001)"},
        {"tags": "ARRAY['a ']"},
        {"tags": "ARRAY['']"},
        {"tags": "ARRAY[U&'\\200B']"},
        {"tags": "ARRAY[U&'a\\FEFF']"},
        {"files": "ARRAY[U&'\\200D']"},
        {"key": "U&'a\\+0E0041'"},
        {"type": "U&'\\200B'"},
        {"text": "\n".join("a" for _ in range(30_100))},
        {"text": "\N{GRINNING FACE}" * 30_001},
        {"tags": "ARRAY[repeat('a', 900), repeat('b', 900)] || array_fill(repeat('c', 900), ARRAY[9])"},
        {"text": "x" * 65537},
        {"tags": "ARRAY['a,b']"},
        {"key": "E'a\\nb'"},
        {"importance": "1.5"},
        {"importance": "'NaN'"},
        {"created": "'infinity'"},
        {"status": "'Active'"},
        {"owner": "'teams/../x'"},
        {"page": "'../../x'"},
    ],
)
def test_a_row_that_no_page_could_hold_is_refused(database: Database, values: dict[str, str]) -> None:
    with pytest.raises((errors.CheckViolation, errors.InsufficientPrivilege, errors.NotNullViolation)):
        database.add(**{"text": "fine", **values})


WHITE = "\t\x0b\x0c\x1c\x1f \x85\xa0\u1680\u2003\u2028\u2029\u202f\u3000"
HIDDEN = "\u200b\u200c\u200d\u2060\ufe0f\ufeff\u3164\U000e0041"
LETTERS = st.characters(codec="utf-8", exclude_characters="\0")
WORDS = st.text(st.one_of(st.sampled_from(WHITE + HIDDEN + "ab,ß"), LETTERS), min_size=1, max_size=6)
LINES = st.lists(
    st.one_of(WORDS, st.text(LETTERS, max_size=8), st.sampled_from(["```", "- b", "# c", "<!--", "-->", "{id=x}", ""])),
    min_size=1,
    max_size=4,
).map("\n".join)
ROWS = st.fixed_dictionaries(
    {"text": LINES},
    optional={
        "type": WORDS,
        "status": WORDS,
        "importance": st.floats(0, 1),
        "confidence": st.floats(0, 1),
        "created": st.dates(),
        "expires": st.dates(),
        **dict.fromkeys(("key", "tier", "dedup", "superseded_by", "writer"), WORDS),
        **{name: st.lists(WORDS, max_size=3) for name in ("tags", "files", "supersedes")},
        "private": st.booleans(),
        "pin": st.booleans(),
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(WORDS, ROWS), min_size=1, max_size=6))
def test_a_row_that_the_table_takes_can_be_read_back_from_its_page(
    database: Database, rows: list[tuple[str, dict[str, object]]]
) -> None:
    connection = database.server.connect(database.name, "luna")
    connection.autocommit = True
    cursor = connection.cursor()
    database.run("TRUNCATE ctxasm.memory")
    for id_, fields in rows:
        names, values = ("owner", "id", *fields), (TEAM, id_, *fields.values())
        with suppress(psycopg2.Error):
            cursor.execute(f"INSERT INTO ctxasm.memory ({', '.join(names)}) VALUES %s", (values,))
    cursor.execute(f"SELECT page, {COLUMNS} FROM ctxasm.memory ORDER BY page, seq")
    taken = [(page, memory_of_row(row)) for page, *row in cursor.fetchall()]
    connection.close()
    for page in {page for page, _ in taken}:
        memories = [memory for of_page, memory in taken if of_page == page]
        for cleaning in (AS_WRITTEN, Cleaning(secrets="keep")):
            document = decode_document("", page_text(memories).encode(), cleaning)
            assert isinstance(document, Document)
            read, problems = parse_memories(document)
            assert problems == ()
            if cleaning == AS_WRITTEN:
                assert [memory._replace(line=0) for memory in read] == [readable_memory(memory) for memory in memories]
            else:  # a text of hidden characters alone is no memory any more, and that is all that is lost
                seen = [memory for memory in memories if clean_text(memory.text, cleaning).text.strip()]
                assert [memory._replace(line=0, text="") for memory in read] == [
                    readable_memory(memory)._replace(text="") for memory in seen
                ]


@pytest.mark.parametrize("white", WHITE)
def test_white_space_that_a_page_would_lose_is_refused(database: Database, white: str) -> None:
    for text in (f"{white}a", f"a{white}", f"a{white}\nb", f"a\n{white}\nb"):
        with pytest.raises(errors.CheckViolation):
            database.add(text)
    for text in (f"a{white}b", f"a\n{white}b", "a\n\nb"):
        database.add(text)


@pytest.mark.parametrize("page", ["2025-03.000007", "2025-03.private.000007"])
def test_no_page_has_private_and_open_memories(database: Database, page: str) -> None:
    private = "private" in page
    database.add("fits", page=f"'{page}'", private=str(private))
    with pytest.raises(errors.CheckViolation):
        database.add("does not", page=f"'{page}'", private=str(not private))


@pytest.mark.parametrize(
    "change",
    [
        "type = 'rule'",
        "key = 'other'",
        "tags = '{}'",
        "supersedes = '{}'",
        "pin = true",
        "created = '2020-01-01'",
        "confidence = 1",
        "expires = '2020-01-01'",
        "deleted = true",
        "importance = 0.1",
        "accessed = NULL",
    ],
)
def test_others_than_its_writer_change_little_of_a_memory(database: Database, change: str) -> None:
    fields = {"type": "'fact'", "key": "'k'", "tags": "'{a}'", "supersedes": "'{1-b}'", "accessed": "'2025-03-01'"}
    database.add("one", id="'a'", **fields)
    statement = f"UPDATE ctxasm.memory SET {change} WHERE id LIKE '%-a' RETURNING id"
    assert refusal(database, "kenji", statement) == DENIED
    assert refusal(database, "luna", statement) == "1"


def test_others_than_its_writer_reinforce_a_memory(filled: Database) -> None:
    change = "importance = 1, accessed = '2025-03-14', type = 'fact', key = 'k', tags = '{a}', status = 'superseded'"
    statement = f"UPDATE ctxasm.memory SET {change} WHERE id LIKE '%-open' RETURNING id"
    assert refusal(filled, "kenji", statement) == "1"


def test_the_salt_of_locks_is_for_those_who_write(filled: Database) -> None:
    seen = {role: len(filled.run("SELECT salt FROM ctxasm.salt", role=role)) for role in ("luna", "reader")}
    assert seen == {"luna": 1, "reader": 0}
    assert refusal(filled, "luna", "UPDATE ctxasm.salt SET salt = ''") == DENIED


def sql_of_docs(beginning: str) -> str:
    """The statement of the page on the store that begins so, with the ids of these tests."""
    page = (Path(__file__).parents[3] / "docs/store.md").read_text()
    return page[page.index(beginning) :].partition(";")[0].replace("id = '...'", "id = '1-open'")


def test_a_text_is_erased_as_the_page_on_the_store_says(filled: Database, tmp_path: Path) -> None:
    overlay = filled.overlay(tmp_path, "kenji")
    overlay.pull()
    assert "open" in "".join(replicated(tmp_path).values())
    statement = sql_of_docs("UPDATE ctxasm.memory SET text = 'erased'")
    filled.run(statement, role="kenji")
    assert "open" in read(filled, "luna")
    filled.run(statement, role="luna")
    overlay.pull()
    assert replicated(tmp_path) == {}
    assert filled.run("SELECT 1 FROM ctxasm.memory WHERE text = 'open'") == []


def test_restored_rows_get_new_transaction_numbers(filled: Database) -> None:
    ahead = "SELECT count(*) FROM ctxasm.memory WHERE changed > pg_current_xact_id()"
    filled.run(
        "ALTER TABLE ctxasm.memory DISABLE TRIGGER sign",
        "UPDATE ctxasm.memory SET changed = '99999999'",
        "ALTER TABLE ctxasm.memory ENABLE TRIGGER sign",
    )
    assert filled.run(ahead) == [(2,)]
    filled.run(sql_of_docs("UPDATE ctxasm.memory SET changed"))
    assert filled.run(ahead) == [(0,)]
    assert read(filled, "luna") == ["open", "mine"]


def test_an_owner_in_letters_of_any_script_is_one_in_every_locale(database: Database) -> None:
    name = f"{database.name}_c"
    database.server.run(f"CREATE DATABASE {name} TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C' ENCODING 'UTF8'")
    plain = Database(database.server, name)
    migrate_store(plain.config("postgres"))
    for owner in ("teams/équipe", "agents/日本", "teams/q-1_x.y"):
        assert is_name(owner.partition("/")[2])
        plain.run(f"INSERT INTO ctxasm.member VALUES ('luna', '{owner}', true)")
        plain.add("text", owner=f"'{owner}'")
    for owner in ("teams/", "teams/.x", "teams/a b", "teams/a/b", "teams/a:b", "owners/a", "teams/a\u200b"):
        assert not is_name(owner.partition("/")[2]) or not owner.startswith("teams")
        plain.run(f"INSERT INTO ctxasm.member VALUES ('luna', '{owner}', true)")
        with pytest.raises(errors.CheckViolation):
            plain.add("text", owner=f"'{owner}'")
    database.server.run(f"DROP DATABASE {name}")
