"""Into the store and out of it: nothing is lost on the way, and leaving gives files that read the same."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextasm.model import ContextasmError, Memory
from contextasm.text.private_parts import private_lines
from contextasm.workspace.store.connection import open_session
from contextasm.workspace.store.importing import import_files
from contextasm.workspace.store.pages import FIELDS, row_of_memory, storable_memory
from contextasm.workspace.store.transfer import export_pages
from tests.postgres import FILES, TEAM, Database, Server, mirrored, new_database
from tests.workspace.store.test_pages import MEMORIES

pytestmark = pytest.mark.postgres


def exported(database: Database, root: Path, target: Path) -> dict[str, str]:
    """The files of an export, by name."""
    overlay = database.overlay(root)
    overlay.pull()
    export_pages(overlay, [TEAM], target)
    return {path.name: path.read_bytes().decode() for path in sorted((target / TEAM / "memories").glob("*"))}


in_private_parts = partial(private_lines, parse=None)
"""The lines of a file that its own text says are private."""


def storable(memories: list[Memory]) -> list[Memory]:
    """Those that the store takes, each id once."""
    stored: dict[str, Memory] = {}
    for memory in memories:
        try:
            stored.setdefault(memory.id, storable_memory(memory, ""))
        except ContextasmError:
            continue
    return [*stored.values()]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=settings.default.max_examples // 2)  # type: ignore[union-attr]
@given(memories=st.lists(MEMORIES, min_size=1, max_size=8))
def test_export_read_import_export_gives_the_same_bytes(
    server: Server, tmp_path_factory: pytest.TempPathFactory, memories: list[Memory]
) -> None:
    """Into the same store, where nothing changes, and into an empty one."""
    one, other = new_database(server), new_database(server)
    first, second, third = (tmp_path_factory.mktemp("export") for _ in range(3))
    with open_session(one.config()) as session:
        rows = [[TEAM, *row_of_memory(memory)] for memory in storable(memories) if "\0" not in memory.text]
        session.insert_rows("ctxasm.memory", ("home", *FIELDS), rows)
        session.commit()
    before = exported(one, tmp_path_factory.mktemp("mirror"), first)
    again = import_files(one.overlay(first), TEAM, in_private_parts)
    assert (again.stored, again.changed) == (0, 0)
    assert exported(one, tmp_path_factory.mktemp("mirror"), second) == before
    assert import_files(other.overlay(first), TEAM, in_private_parts).stored == again.unchanged == len(rows)
    assert exported(other, tmp_path_factory.mktemp("mirror"), third) == before
    for database in (one, other):
        server.run(f"DROP DATABASE {database.name}")


SOME = """---
tags: [release]
---
## 2025-03-10

- [fact] The demo is on Friday {id=demo importance=0.9}
- [decision] Two lines
  of one memory {status=superseded}
- my token is ghp_abcdefghijklmnopqrstuvwxyz0123456789 {private=true}
"""


def test_files_keep_their_ids_and_fields(database: Database, tmp_path: Path) -> None:
    """Ids, also those that no file names; dates of headings; text as it is written, a secret in it included."""
    root = database.workspace(tmp_path, {**FILES, f"{TEAM}/memories/old.md": SOME})
    settings_file = (root / "ctxasm.yaml").read_text()
    (root / "ctxasm.yaml").unlink()
    listed = json.loads(database.ctxasm(root, "search", "-t", "q1", "demo lines", "--json").out)["hits"]
    (root / "ctxasm.yaml").write_text(settings_file)
    result = database.ctxasm(root, "store", "import")
    assert (result.code, result.out) == (0, "")
    assert "teams/q1: 3 stored, 0 changed, 0 unchanged" in result.err
    (root / TEAM / "memories/old.md").unlink()
    found = json.loads(database.ctxasm(root, "search", "-t", "q1", "demo lines", "--json").out)["hits"]
    assert [hit["id"] for hit in found] == [hit["id"] for hit in listed] == ["demo"]
    ((text, created, tags, private),) = database.run(
        "SELECT text, created::text, tags, private FROM ctxasm.memory WHERE text LIKE '%ghp%'"
    )
    assert (text, created, tags, private) == (SOME.splitlines()[8][2:-15], "2025-03-10", ["release"], True)
    assert "masked:github-token" in database.ctxasm(root, "search", "-t", "q1", "token").out


def test_an_import_that_is_repeated_changes_what_changed(database: Database, tmp_path: Path) -> None:
    """By id; a memory of another writer keeps its text."""
    root = database.workspace(tmp_path, {**FILES, f"{TEAM}/memories/old.md": "- one {id=a}\n- two {id=b}\n"})
    assert import_files(database.overlay(root), TEAM, in_private_parts) == (2, 0, 0)
    (root / TEAM / "memories/old.md").write_text("- one {id=a importance=0.9}\n- two {id=b}\n- three {id=c}\n")
    assert import_files(database.overlay(root), TEAM, in_private_parts) == (1, 1, 1)
    assert import_files(database.overlay(root, "kenji"), TEAM, in_private_parts) == (0, 0, 3)
    (root / TEAM / "memories/old.md").write_text("- four {id=d}\n- other words {id=a}\n")
    with pytest.raises(ContextasmError, match="the role that stored it"):
        import_files(database.overlay(root, "kenji"), TEAM, in_private_parts)
    assert database.texts() == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("---\ntype: a]b\n---\nA type that no brackets hold\n", "old.md:4: can't be stored"),
        ("- one {id=a}\n", "older.md:1: the id a is taken"),
        (f"- one {{id=b key={'k' * 1001}}}\n", "old.md:1: a value has 1,001 characters"),
        (f"- one {{id=b tags={'t' * 900}{',t' * 4000}}}\n", "old.md:1: tags has 8,900 characters"),
    ],
)
def test_a_file_that_can_not_be_imported_is_named_and_nothing_is_stored(
    database: Database, tmp_path: Path, text: str, words: str
) -> None:
    """All or none."""
    files = {f"{TEAM}/memories/old.md": text, f"{TEAM}/memories/older.md": "- two {id=a}\n"}
    root = database.workspace(tmp_path, {**FILES, **files})
    result = database.ctxasm(root, "store", "import", TEAM)
    assert (result.code, words in result.err) == (2, True), result.err
    assert database.texts() == []


def test_an_export_stands_beside_no_other_memories(database: Database, tmp_path: Path) -> None:
    """Nothing is written over, and a second export of the same is fine."""
    database.add("one")
    (tmp_path / "ws").mkdir()
    exported(database, tmp_path / "ws", tmp_path / "out")
    exported(database, tmp_path / "ws", tmp_path / "out")
    (tmp_path / "out" / TEAM / "memories/mine.md").write_text("- mine\n")
    with pytest.raises(ContextasmError, match="is in the way"):
        exported(database, tmp_path / "ws", tmp_path / "out")


def test_an_exported_file_that_was_edited_stays_and_nothing_else_is_written(database: Database, tmp_path: Path) -> None:
    """Not even the pages before it."""
    (tmp_path / "ws").mkdir()
    database.add("two", created="'2025-02-05'")
    exported(database, tmp_path / "ws", tmp_path / "out")
    (edited,) = (tmp_path / "out" / TEAM / "memories").iterdir()
    edited.write_text("- mine\n")
    database.add("one", created="'2025-01-05'")
    with pytest.raises(ContextasmError, match="differs from the page"):
        exported(database, tmp_path / "ws", tmp_path / "out")
    assert [path.read_text() for path in edited.parent.iterdir()] == ["- mine\n"]


def test_the_exported_files_are_found_in_the_same_order_as_the_store(database: Database, tmp_path: Path) -> None:
    """The same top 20, with the same scores to the digit, whoever wrote what in between."""
    words = ["harbor", "lantern", "demo", "friday", "booth", "bell"]
    for number in range(120):
        text = f"{words[number % 6]} and {words[number % 5]} in row {number}"
        day = f"'2025-0{1 + number % 3}-{1 + number % 9:02}'"
        database.add(text, role=("luna", "kenji")[number % 2], created=day, importance=f"{number % 10} / 10.0")
    root = database.workspace(tmp_path / "ws")
    files = database.workspace(tmp_path / "files")
    assert database.ctxasm(root, "store", "export", "--to", files).code == 0
    (files / "ctxasm.yaml").write_text("date: 2025-03-14\n")
    assert mirrored(root)
    for topic in ("lantern friday", "row 17", "booth"):
        hits = [
            database.ctxasm(place, "search", "-t", "q1", topic, "--top", "20", "--json").out for place in (root, files)
        ]
        assert hits[0] == hits[1]
        assert json.loads(hits[0])["hits"]
    build = ("build", "-q", "-a", "luna", "-t", "q1", "-f", "json", "--topic", "lantern")
    assert database.ctxasm(root, *build).out == database.ctxasm(files, *build).out


def test_of_equal_ids_the_import_finds_its_own(database: Database, tmp_path: Path) -> None:
    """A private memory of luna's and an open one of kenji's share an id: luna's file is hers."""
    database.add("mine", id="'x'", private="true")
    database.add("for all", id="'x'", role="kenji")
    file = f"{TEAM}/memories/old.md"
    root = database.workspace(tmp_path, {**FILES, file: "- mine {id=x private=true importance=0.9}\n"})
    assert import_files(database.overlay(root), TEAM, in_private_parts) == (0, 1, 0)
    rows = database.run("SELECT role::text, importance FROM ctxasm.memory ORDER BY role")
    assert rows == [("kenji", 0.5), ("luna", 0.9)]


def test_a_memory_that_another_role_deleted_is_told_as_that(database: Database, tmp_path: Path) -> None:
    """Its id stays taken, and the line says by whom."""
    database.add("gone", id="'x'")
    database.run("UPDATE ctxasm.memory SET deleted = true WHERE id = 'x'", role="luna")
    root = database.workspace(tmp_path, {**FILES, f"{TEAM}/memories/old.md": "- gone {id=x}\n"})
    with pytest.raises(ContextasmError, match="x was deleted by the role luna"):
        import_files(database.overlay(root, "kenji"), TEAM, in_private_parts)
    assert import_files(database.overlay(root), TEAM, in_private_parts) == (1, 0, 0)
