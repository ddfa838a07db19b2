"""Into the store and out of it: nothing is lost on the way, and leaving gives files that read the same."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextasm.model import ContextasmError, Memory
from contextasm.text.cleaning.private_parts import private_lines
from contextasm.workspace import atomic
from contextasm.workspace.store import replica, transfer
from contextasm.workspace.store.connection import Session, open_session
from contextasm.workspace.store.pages import FIELDS, row_of_memory, storable_memory, with_references
from contextasm.workspace.store.transfer import export_pages, import_files
from tests.postgres import DAY, FILES, TEAM, Database, Server, new_database, replicated
from tests.workspace.store.test_pages import MEMORIES

pytestmark = pytest.mark.postgres


def exported(database: Database, root: Path, target: Path) -> dict[str, str]:
    """The files of an export, by name."""
    overlay = database.overlay(root)
    overlay.pull()
    export_pages(overlay, [TEAM], target)
    return {path.name: path.read_bytes().decode() for path in sorted((target / TEAM / "memories").glob("*"))}


@pytest.fixture
def stores(server: Server) -> tuple[Database, Database]:
    """Two databases with a store."""
    return new_database(server), new_database(server)


def emptied(one: Database, other: Database) -> tuple[Database, Database]:
    """The stores without a memory."""
    for database in (one, other):
        database.run("TRUNCATE ctxasm.memory")
    return one, other


NAMED = ("1-x", "1-y", "2-x", "7-unknown")
"""Ids of memories that others supersede."""

in_private_parts = partial(private_lines, parse=None)
"""The lines of a file that its own text says are private."""


def storable(memories: list[Memory]) -> list[Memory]:
    """The memories that the store takes, each id once; they supersede memories of other roles, or of none."""
    stored: dict[str, Memory] = {}
    ids = {memory.id for memory in memories}
    for memory in memories:
        if ids & {*memory.supersedes, memory.superseded_by}:
            continue  # without the number of its role, the name would be the id of one of them
        try:
            named = with_references(memory, lambda name: name if name in NAMED else f"1-{name}")
            stored.setdefault(memory.id, storable_memory(named, ""))
        except ContextasmError:
            continue
    return [*stored.values()]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=settings.default.max_examples // 2)  # type: ignore[union-attr]
@given(memories=st.lists(MEMORIES, min_size=1, max_size=8))
def test_export_read_import_export_gives_the_same_bytes(
    stores: tuple[Database, Database], tmp_path_factory: pytest.TempPathFactory, memories: list[Memory]
) -> None:
    one, other = emptied(*stores)
    first, second, third = (tmp_path_factory.mktemp("export") for _ in range(3))
    with open_session(one.config()) as session:
        rows = [[TEAM, *row_of_memory(memory)] for memory in storable(memories) if "\0" not in memory.text]
        session.insert_rows("ctxasm.memory", ("owner", *FIELDS), rows)
        session.commit()
    before = exported(one, tmp_path_factory.mktemp("replica"), first)
    assert import_files(one.overlay(first), TEAM, in_private_parts) == (0, 0, len(rows))
    assert exported(one, tmp_path_factory.mktemp("replica"), second) == before
    assert import_files(other.overlay(first), TEAM, in_private_parts) == (len(rows), 0, 0)
    assert exported(other, tmp_path_factory.mktemp("replica"), third) == before


IDS = ("x", "y")
"""Few, so that memories of several roles are called by one."""

SHARED = st.tuples(
    st.builds(
        lambda memory, id_, supersedes: memory._replace(id=id_, supersedes=tuple(supersedes)),
        MEMORIES,
        st.sampled_from(IDS),
        st.lists(st.sampled_from(NAMED), max_size=2, unique=True),
    ),
    st.sampled_from(["luna", "kenji"]),
    st.booleans(),
)
"""A memory, the role that stores it, and whether that role deletes it again."""


def fill_store(database: Database, rows: list[tuple[Memory, str, bool]]) -> None:
    """Store memories of several roles, but for those whose id is taken."""
    taken: set[tuple[str, str]] = set()
    for memory, role, deleted in rows:
        named = f"{memory.id}-own" if memory.private else memory.id
        for stored in storable([memory._replace(id=named)]):
            if (stored.id, role) in taken or "\0" in stored.text:
                continue
            taken.add((stored.id, role))
            with open_session(database.config(role)) as session:
                session.insert_rows("ctxasm.memory", ("owner", *FIELDS), [[TEAM, *row_of_memory(stored)]])
                if deleted:
                    whose = "role = current_user AND id LIKE '%%-' || %s"
                    session.rows(f"UPDATE ctxasm.memory SET deleted = true WHERE {whose}", stored.id)
                session.commit()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=settings.default.max_examples // 2)  # type: ignore[union-attr]
@given(rows=st.lists(SHARED, min_size=1, max_size=8))
def test_an_export_of_memories_of_several_roles_comes_in_again(
    stores: tuple[Database, Database], tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Memory, str, bool]]
) -> None:
    one, other = emptied(*stores)
    first, second, third = (tmp_path_factory.mktemp("export") for _ in range(3))
    fill_store(one, rows)
    before = exported(one, tmp_path_factory.mktemp("replica"), first)
    stored, changed, unchanged = import_files(one.overlay(first), TEAM, in_private_parts)
    assert (stored, changed) == (0, 0)
    assert exported(one, tmp_path_factory.mktemp("replica"), second) == before
    if before:
        assert import_files(other.overlay(first), TEAM, in_private_parts) == (unchanged, 0, 0)
        assert [*exported(other, tmp_path_factory.mktemp("replica"), third).values()] == [*before.values()]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=settings.default.max_examples // 8)  # type: ignore[union-attr]
@given(rows=st.lists(SHARED, min_size=2, max_size=6))
def test_contexts_of_a_store_its_files_and_a_second_store_are_the_same(
    stores: tuple[Database, Database], tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Memory, str, bool]]
) -> None:
    one, other = emptied(*stores)
    fill_store(one, rows)
    root = one.workspace(tmp_path_factory.mktemp("one"))
    files = one.workspace(tmp_path_factory.mktemp("files"))
    assert one.ctxasm(root, "store", "export", "--to", files).code == 0
    moved = other.workspace(tmp_path_factory.mktemp("other"))
    import_files(other.overlay(files), TEAM, in_private_parts)
    (files / "ctxasm.yaml").write_text(f"date: {DAY}\n")
    build = ("build", "-q", "-a", "luna", "-t", "q1", "--audience", "personal")
    contexts = [place[0].ctxasm(place[1], *build) for place in ((one, root), (one, files), (other, moved))]
    assert {context.code for context in contexts} == {0}
    assert len({context.out for context in contexts}) == 1


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
    assert [hit["id"] for hit in found] == [f"1-{hit['id']}" for hit in listed] == ["1-demo"]
    ((text, created, tags, private),) = database.run(
        "SELECT text, created::text, tags, private FROM ctxasm.memory WHERE text LIKE '%ghp%'"
    )
    assert (text, created, tags, private) == (SOME.splitlines()[8][2:-15], "2025-03-10", ["release"], True)
    assert "masked:github-token" in database.ctxasm(root, "search", "-t", "q1", "token").out


def test_an_import_that_is_repeated_changes_what_changed(database: Database, tmp_path: Path) -> None:
    root = database.workspace(tmp_path, {**FILES, f"{TEAM}/memories/old.md": "- one {id=a}\n- two {id=b}\n"})
    assert import_files(database.overlay(root), TEAM, in_private_parts) == (2, 0, 0)
    (root / TEAM / "memories/old.md").write_text("- one {id=a importance=0.9}\n- two {id=b}\n- three {id=c}\n")
    assert import_files(database.overlay(root), TEAM, in_private_parts) == (1, 1, 1)
    assert import_files(database.overlay(root, "kenji"), TEAM, in_private_parts) == (0, 0, 3)
    (root / TEAM / "memories/old.md").write_text("- four {id=d}\n- other words {id=a}\n")
    assert import_files(database.overlay(root, "kenji"), TEAM, in_private_parts) == (2, 0, 0)
    rows = database.run("SELECT id, text FROM ctxasm.memory ORDER BY seq")
    expected = {"1-a": "one", "1-b": "two", "1-c": "three", "2-d": "four", "2-a": "other words"}
    assert dict(rows) == expected


def test_only_the_role_that_stored_a_memory_changes_its_text_by_an_import(database: Database, tmp_path: Path) -> None:
    database.add("one", id="'a'")
    root = database.workspace(tmp_path, {**FILES, f"{TEAM}/memories/old.md": "- other words {id=1-a}\n"})
    with pytest.raises(ContextasmError, match=r"old\.md:1: 1-a: was stored by the role luna"):
        import_files(database.overlay(root, "kenji"), TEAM, in_private_parts)
    assert database.texts() == ["one"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("---\ntype: a]b\n---\nA type that no brackets hold\n", "old.md:4: m-4a8221ca47e1: can't be stored"),
        ("- one {id=a}\n", "older.md:1: a: the memory at teams/q1/memories/old.md:1 has the same id: "),
        (f"- one {{id=b key={'k' * 1001}}}\n", "old.md:1: b: a value has 1,001 characters"),
        (f"- one {{id=b tags={'t' * 900}{',t' * 4000}}}\n", "old.md:1: b: tags has 8,900 characters"),
    ],
)
def test_a_file_that_can_not_be_imported_is_named_and_nothing_is_stored(
    database: Database, tmp_path: Path, text: str, words: str
) -> None:
    files = {f"{TEAM}/memories/old.md": text, f"{TEAM}/memories/older.md": "- two {id=a}\n"}
    root = database.workspace(tmp_path, {**FILES, **files})
    result = database.ctxasm(root, "store", "import", TEAM)
    assert (result.code, words in result.err) == (2, True), result.err
    assert database.texts() == []


def test_an_export_stands_beside_no_other_memories(database: Database, tmp_path: Path) -> None:
    database.add("one")
    (tmp_path / "ws").mkdir()
    exported(database, tmp_path / "ws", tmp_path / "out")
    exported(database, tmp_path / "ws", tmp_path / "out")
    (tmp_path / "out" / TEAM / "memories/mine.md").write_text("- mine\n")
    with pytest.raises(ContextasmError, match="would be read with the export"):
        exported(database, tmp_path / "ws", tmp_path / "out")


def test_an_exported_file_that_was_edited_stays_and_nothing_else_is_written(database: Database, tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    database.add("two", created="'2025-02-05'")
    exported(database, tmp_path / "ws", tmp_path / "out")
    (edited,) = (tmp_path / "out" / TEAM / "memories").iterdir()
    edited.write_text("- mine\n")
    database.add("one", created="'2025-01-05'")
    with pytest.raises(ContextasmError, match="differs from the page"):
        exported(database, tmp_path / "ws", tmp_path / "out")
    assert [path.read_text() for path in edited.parent.iterdir()] == ["- mine\n"]


@pytest.mark.parametrize("link", ["teams", TEAM, f"{TEAM}/memories", f"{TEAM}/memories/2025-03.private.000000.luna.md"])
@pytest.mark.parametrize("is_there", [True, False])
def test_nothing_is_exported_through_a_link(database: Database, tmp_path: Path, link: str, is_there: bool) -> None:
    root = database.workspace(tmp_path / "ws")
    database.add("one", private="true")
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")
    path, outside = tmp_path / "out" / link, tmp_path / "outside"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(outside)
    if is_there and not link.endswith(".md"):
        outside.mkdir()
    result = database.ctxasm(root, "store", "export", "--to", tmp_path / "out")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "leads through a link" in result.err
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and "ws" not in file.parts]
    path.unlink()
    assert database.ctxasm(root, "store", "export", "--to", tmp_path / "out").code == 0
    assert len([*(tmp_path / "real").rglob("*.md")]) == 1


def test_no_pull_comes_between_the_pages_of_an_export(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = database.workspace(tmp_path / "ws")
    for month in (1, 2):
        database.add(f"old {month}", id=f"'m-{month}'", created=f"'2025-0{month}-01'")
    real, told = atomic.write, []

    def write_between(*arguments: Any, **options: Any) -> bool:
        monkeypatch.setattr(replica, "_LOCK_SECONDS", 0.0)
        database.run("UPDATE ctxasm.memory SET deleted = true WHERE id LIKE '%-m-2'", role="luna")
        told.append(database.ctxasm(root, "store", "pull").err)
        return real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(transfer, "write", write_between)
        result = database.ctxasm(root, "store", "export", "--to", tmp_path / "out")
    assert (result.code, len([*(tmp_path / "out").rglob("*.md")])) == (0, 2), result.err
    assert all("another ctxasm writes in the workspace" in words for words in told)


@pytest.mark.parametrize("words", [(), ("teams/other",)])
def test_an_owner_that_the_role_may_not_read_is_not_exported(
    database: Database, tmp_path: Path, words: tuple[str, ...]
) -> None:
    root = database.workspace(tmp_path / "ws", owners=f"{TEAM}, teams/other")
    database.add("one")
    result = database.ctxasm(root, "store", "export", *words, "--to", tmp_path / "out")
    assert (result.code, result.out) == (2, "")
    assert "ctxasm: error: ctxasm store export: this role may not read teams/other" in result.err
    assert not (tmp_path / "out").exists()
    assert database.ctxasm(root, "store", "export", TEAM, "--to", tmp_path / "out").code == 0


def test_a_page_that_was_edited_is_not_exported(database: Database, tmp_path: Path) -> None:
    root = database.workspace(tmp_path / "ws")
    database.add("one")
    database.ctxasm(root, "store", "pull")
    (page,) = (root / ".ctxasm/store" / TEAM / "memories").iterdir()
    page.write_text("- what nobody stored\n")
    result = database.ctxasm(root, "store", "export", "--offline", "--to", tmp_path / "out")
    assert (result.code, "was changed since it was pulled" in result.err) == (2, True)
    assert not (tmp_path / "out").exists()
    assert database.ctxasm(root, "store", "export", "--to", tmp_path / "out").code == 0
    (file,) = (tmp_path / "out").rglob("*.md")
    assert file.read_text().startswith("- [note] one {")


def test_the_exported_files_are_found_in_the_same_order_as_the_store(database: Database, tmp_path: Path) -> None:
    words = ["harbor", "lantern", "demo", "friday", "booth", "bell"]
    for number in range(120):
        text = f"{words[number % 6]} and {words[number % 5]} in row {number}"
        day = f"'2025-0{1 + number % 3}-{1 + number % 9:02}'"
        database.add(text, role=("luna", "kenji")[number % 2], created=day, importance=f"{number % 10} / 10.0")
    root = database.workspace(tmp_path / "ws")
    files = database.workspace(tmp_path / "files")
    assert database.ctxasm(root, "store", "export", "--to", files).code == 0
    (files / "ctxasm.yaml").write_text("date: 2025-03-14\n")
    assert replicated(root)
    for topic in ("lantern friday", "row 17", "booth"):
        hits = [
            database.ctxasm(place, "search", "-t", "q1", topic, "--top", "20", "--json").out for place in (root, files)
        ]
        assert hits[0].replace('"1-', '"') == hits[1]
        assert json.loads(hits[0])["hits"]
    build = ("build", "-q", "-a", "luna", "-t", "q1", "-f", "json", "--topic", "lantern")
    assert database.ctxasm(root, *build).out.replace('"1-', '"') == database.ctxasm(files, *build).out


def test_ids_that_a_memory_supersedes_lose_and_get_the_number_of_the_role(database: Database, tmp_path: Path) -> None:
    file = f"{TEAM}/memories/old.md"
    text = "- old {id=a}\n- new {id=b supersedes=a,2-other,gone}\n- mine {id=p private=true supersedes=a,q}\n"
    root = database.workspace(tmp_path / "ws", {**FILES, file: f"{text}- mine, too {{id=q private=true}}\n"})
    database.add("other", role="kenji", id="'other'")
    assert import_files(database.overlay(root), TEAM, in_private_parts) == (4, 0, 0)
    rows = dict(database.run("SELECT id, supersedes FROM ctxasm.memory WHERE supersedes <> '{}'"))
    assert rows == {"1-b": ["1-a", "2-other", "1-gone"], "1p-p": ["1-a", "1p-q"]}
    pages = "".join(exported(database, root, tmp_path / "out").values())
    assert "{id=b supersedes=a,2-other,gone}" in pages
    assert "{id=p private=true supersedes=a,q}" in pages
    (root / file).write_text(text.replace("supersedes=a,2-other", "supersedes=q,2-other"))
    with pytest.raises(ContextasmError, match=r"old\.md:2: b: is not private, but names a private memory"):
        import_files(database.overlay(root), TEAM, in_private_parts)


def test_an_import_finds_its_own_of_two_memories_that_are_called_the_same(database: Database, tmp_path: Path) -> None:
    database.add("mine", id="'x'", private="true")
    database.add("for all", id="'x'", role="kenji")
    file = f"{TEAM}/memories/old.md"
    root = database.workspace(tmp_path, {**FILES, file: "- mine {id=x private=true importance=0.9}\n"})
    assert import_files(database.overlay(root), TEAM, in_private_parts) == (0, 1, 0)
    rows = database.run("SELECT role::text, importance FROM ctxasm.memory ORDER BY role")
    assert rows == [("kenji", 0.5), ("luna", 0.9)]


@pytest.mark.parametrize(("stored", "file"), [("true", "- x {id=x}\n"), ("false", "- x {id=x private=true}\n")])
def test_an_import_makes_no_memory_private_or_open(database: Database, tmp_path: Path, stored: str, file: str) -> None:
    database.add("x", id="'x'", private=stored)
    root = database.workspace(tmp_path, {**FILES, f"{TEAM}/memories/old.md": file})
    with pytest.raises(ContextasmError, match=r"old\.md:1: x: is (not )?private in the store"):
        import_files(database.overlay(root), TEAM, in_private_parts)
    database.run("UPDATE ctxasm.memory SET deleted = true", role="luna")
    assert import_files(database.overlay(root), TEAM, in_private_parts) == (1, 0, 0)


def test_what_the_server_refuses_is_named_by_its_place(database: Database, tmp_path: Path) -> None:
    database.add("one", id="'a'", importance="0.9")
    files = {f"{TEAM}/memories/old.md": "- one {id=a importance=0.1}\n", f"{TEAM}/memories/new.md": "- two {id=b}\n"}
    root = database.workspace(tmp_path, {**FILES, **files})
    with pytest.raises(ContextasmError, match=r"old\.md:1: a: can't be changed: other roles than"):
        import_files(database.overlay(root, "kenji"), TEAM, in_private_parts)
    with pytest.raises(ContextasmError, match=r"new\.md:1: b: can't be stored: .*row-level security"):
        import_files(database.overlay(root, "reader"), TEAM, in_private_parts)
    database.run("ALTER TABLE ctxasm.memory ADD CHECK (text <> 'three')")
    (root / f"{TEAM}/memories/new.md").write_text("- two {id=b}\n- three {id=c}\n")
    with pytest.raises(ContextasmError, match=r"new\.md:2: c: can't be stored: .*check constraint"):
        import_files(database.overlay(root), TEAM, in_private_parts)
    assert database.texts() == ["one"]


@pytest.mark.parametrize("mark", ["", " private=true"])
def test_two_memories_of_files_with_one_id_are_refused(database: Database, tmp_path: Path, mark: str) -> None:
    both = {f"{TEAM}/memories/{name}.md": f"- {name} {{id=x{mark}}}\n" for name in ("one", "two")}
    root = database.workspace(tmp_path, {**FILES, **both})
    with pytest.raises(ContextasmError, match=r"two\.md:1: x: the memory at .*one\.md:1 has the same id"):
        import_files(database.overlay(root), TEAM, in_private_parts)


def test_a_memory_that_another_role_deleted_is_told_as_that(database: Database, tmp_path: Path) -> None:
    database.add("gone", id="'x'")
    database.run("UPDATE ctxasm.memory SET deleted = true", role="luna")
    for name, role in (("1-x", "kenji"), ("x", "luna")):
        root = database.workspace(tmp_path / role, {**FILES, f"{TEAM}/memories/old.md": f"- gone {{id={name}}}\n"})
        if role == "kenji":
            with pytest.raises(ContextasmError, match=r"old\.md:1: 1-x: was deleted by the role luna"):
                import_files(database.overlay(root, role), TEAM, in_private_parts)
        else:
            assert import_files(database.overlay(root), TEAM, in_private_parts) == (1, 0, 0)


def test_two_imports_of_the_same_files_at_once_store_each_memory_once(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {**FILES, f"{TEAM}/memories/old.md": "- one {id=a}\n- two {id=b}\n"}
    overlays = [database.overlay(database.workspace(tmp_path / name, files)) for name in ("here", "there")]
    both, real = Barrier(2), Session.insert_rows
    calls = count()

    def insert_together(*arguments: Any) -> None:
        if next(calls) < 2:
            both.wait(20)
        real(*arguments)

    monkeypatch.setattr(Session, "insert_rows", insert_together)
    with ThreadPoolExecutor(2) as pool:
        results = [pool.submit(import_files, overlay, TEAM, in_private_parts) for overlay in overlays]
        assert sorted(result.result() for result in results) == [(0, 0, 2), (2, 0, 0)]
    assert database.texts() == ["one", "two"]


def test_what_another_program_gets_comes_in_again_and_changes_nothing(database: Database, tmp_path: Path) -> None:
    root = database.workspace(tmp_path)
    database.add("kenji's", role="kenji", id="'v1'")
    database.add("luna's own", id="'v1'", private="true")
    exported = database.ctxasm(root, "export", "-t", "q1", "--audience", "personal", "-o", tmp_path / "x.jsonl")
    assert exported.code == 0, exported.err
    assert '"1p-v1"' in (tmp_path / "x.jsonl").read_text()
    rows = "SELECT id, text, private FROM ctxasm.memory ORDER BY seq"
    before = database.run(rows)
    for words in ((), ("--update",), ("--dry-run",)):
        result = database.ctxasm(root, "import", "jsonl", tmp_path / "x.jsonl", "-t", "q1", *words)
        assert result.code == 0, result.err
        assert database.run(rows) == before
    changed = (tmp_path / "x.jsonl").read_text().replace("luna's own", "luna's own, changed")
    (tmp_path / "x.jsonl").write_text(changed)
    assert database.ctxasm(root, "import", "jsonl", tmp_path / "x.jsonl", "-t", "q1", "--update").code == 0
    assert database.run(rows) == [before[0], ("1p-v1", "luna's own, changed", True)]


@pytest.mark.parametrize("name", ["x" * 300, "y/" * 3000 + "z"])
def test_a_folder_that_can_not_be_is_one_line(database: Database, tmp_path: Path, name: str) -> None:
    root = database.workspace(tmp_path / "ws")
    database.add("one")
    result = database.ctxasm(root, "store", "export", "--to", tmp_path / name)
    assert (result.code, result.err.count("\n"), "name another folder" in result.err) == (2, 1, True), result.err


def test_a_page_that_can_not_be_looked_at_is_one_line(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = database.workspace(tmp_path / "ws")
    database.add("one")
    assert database.ctxasm(root, "store", "pull").code == 0

    def refuse(_path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(transfer, "file_stamp", refuse)
    result = database.ctxasm(root, "store", "export", "--offline", "--to", tmp_path / "to")
    assert (result.code, ".luna.md: can't be read: Permission denied" in result.err) == (2, True), result.err
