"""Commands that change memories, where these lie in a shared store: through its table, or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import contextasm
from tests import command
from tests.postgres import FILES, TEAM, Database, replicated

pytestmark = pytest.mark.postgres

AWAY = {"PGREQUIREPEER": "nobody-at-all"}
SCHEMA = json.loads((Path(contextasm.__file__).parent / "rendering/schemas/store-1.json").read_text(encoding="utf-8"))


@pytest.fixture
def root(database: Database, tmp_path: Path) -> Path:
    """A workspace whose team has a draft and a memory of another role in the store."""
    database.add("The launch is on Friday", id="'launch'", status="'draft'")
    database.add("The booth is in hall 4", id="'booth'", role="kenji")
    return database.workspace(tmp_path / "ws")


def states(database: Database) -> dict[str, str]:
    return dict(database.run("SELECT id, status FROM ctxasm.memory WHERE NOT deleted"))


def told(database: Database, root: Path, *words: str | Path) -> Any:
    result = database.ctxasm(root, *words, "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def test_every_action_has_the_form_of_the_schema(database: Database, root: Path, tmp_path: Path) -> None:
    export = ("export", "--to", str(tmp_path / "out"))
    for words in (("init",), ("migrate",), ("status",), ("pull",), ("import",), export):
        role = "postgres" if words[0] in {"init", "migrate"} else "luna"
        result = database.ctxasm(root, "store", *words, "--json", role=role)
        data = json.loads(result.out)
        assert data["action"] == words[0]
        Draft202012Validator(SCHEMA).validate(data)
        assert not Draft202012Validator(SCHEMA).is_valid({**data, "more": 1})


def test_a_status_is_set_in_the_table(database: Database, root: Path) -> None:
    data = told(database, root, "memory", "approve", "1-launch", "2-booth")["memories"]
    assert [(each["id"], each["status_before"], each["status"]) for each in data] == [
        ("1-launch", "draft", "approved"),
        ("2-booth", "active", "active"),
    ]
    assert states(database) == {"1-launch": "approved", "2-booth": "active"}
    line = (root / ".ctxasm/store" / data[0]["path"]).read_text().splitlines()[data[0]["line"] - 1]
    assert ("Friday" in line, "status=approved" in line) == (True, True)
    assert database.ctxasm(root, "memory", "complete", "1-launch", "2-booth").code == 0
    assert set(states(database).values()) == {"completed"}


def test_of_several_states_all_change_or_none(database: Database, root: Path) -> None:
    (root / "agents/luna/memories").mkdir()
    (root / "agents/luna/memories/x.md").write_text("- mine {id=mine}\n")
    refused = database.ctxasm(root, "memory", "deprecate", "mine", "2-booth", "1-launch")
    assert (refused.code, "memory `1-launch`: has the status draft" in refused.err) == (1, True)
    assert database.ctxasm(root, "memory", "deprecate", "mine", "2-booth").code == 0
    assert (states(database), "status=deprecated" in (root / "agents/luna/memories/x.md").read_text()) == (
        {"1-launch": "draft", "2-booth": "deprecated"},
        True,
    )


@pytest.mark.parametrize(("role", "env"), [("reader", {}), ("luna", AWAY)])
def test_who_may_not_or_can_not_write_changes_no_status(
    database: Database, root: Path, role: str, env: dict[str, str]
) -> None:
    database.ctxasm(root, "store", "pull", role=role)
    pages = replicated(root)
    result = database.ctxasm(root, "memory", "approve", "1-launch", role=role, **env)
    assert (result.code, result.err.count("error: ")) == (2, 1)
    assert (states(database)["1-launch"], replicated(root)) == ("draft", pages)


LINES = (
    '{"id": "launch", "text": "The launch is on Monday", "type": "fact"}\n'
    '{"id": "new", "text": "The tickets are sold", "created": "2025-01-02", "private": true}\n'
)


def test_an_import_of_another_program_goes_to_the_table(database: Database, root: Path) -> None:
    dry = json.loads(database.inside(root, "import", "jsonl", "-", "-t", "q1", "--dry-run", "--json", stdin=LINES).out)
    assert ([each["outcome"] for each in dry["memories"]], len(states(database))) == (["differs", "added"], 2)
    first = json.loads(database.inside(root, "import", "jsonl", "-", "-t", "q1", "--json", stdin=LINES).out)
    assert [(each["outcome"], each["differing"]) for each in first["memories"]] == [
        ("differs", ["text", "type"]),
        ("added", []),
    ]
    for each in first["memories"]:
        page = root / ".ctxasm/store" / each["path"]
        assert f"id={each['id']}" in page.read_text().splitlines()[each["line"] - 1]
    again = json.loads(database.inside(root, "import", "jsonl", "-", "-t", "q1", "--update", "--json", stdin=LINES).out)
    assert [each["outcome"] for each in again["memories"]] == ["changed", "left"]
    columns = "text, type, status, created::text, private"
    rows = database.run(f"SELECT {columns} FROM ctxasm.memory ORDER BY seq", role="luna")
    assert rows == [
        ("The launch is on Monday", "fact", "draft", "2025-03-14", False),
        ("The booth is in hall 4", "note", "active", "2025-03-14", False),
        ("The tickets are sold", "note", "active", "2025-01-02", True),
    ]
    assert not (root / TEAM / "memories").exists()


def test_an_import_that_is_refused_stores_nothing(database: Database, root: Path) -> None:
    lines = '{"id": "first", "text": "x"}\n{"id": "2-booth", "text": "other words"}\n'
    result = database.inside(root, "import", "jsonl", "-", "-t", "q1", "--update", stdin=lines)
    assert (result.code, "only that role can change its text" in result.err) == (2, True)
    assert [*states(database)] == ["1-launch", "2-booth"]


def test_an_export_for_other_programs_is_of_the_store(database: Database, root: Path) -> None:
    ids = [json.loads(line)["id"] for line in database.ctxasm(root, "export", "-t", "q1").out.splitlines()]
    assert sorted(ids) == ["1-launch", "2-booth"]
    away = database.ctxasm(root, "export", "-t", "q1", **AWAY)
    assert (len(away.out.splitlines()), "store-unreachable" in away.err) == (2, True)
    assert "store-unreachable" not in database.ctxasm(root, "export", "-t", "q1", "--offline", **AWAY).err


def test_private_parts_of_files_are_private_in_the_store(database: Database, tmp_path: Path) -> None:
    text = "- open {id=open}\n\n## Mine {private=true}\n\n- below {id=below}\n"
    whole = "---\nprivate: true\n---\n- all of it {id=all}\n"
    root = database.workspace(tmp_path, {**FILES, f"{TEAM}/memories/a.md": text, f"{TEAM}/memories/b.md": whole})
    assert database.ctxasm(root, "store", "import").code == 0
    rows = dict(database.run("SELECT id, private FROM ctxasm.memory", role="luna"))
    assert rows == {"1-open": False, "1p-below": True, "1p-all": True}
    assert database.run("SELECT id FROM ctxasm.memory", role="kenji") == [("1-open",)]
    assert "0 stored, 0 changed, 3 unchanged" in database.ctxasm(root, "store", "import").err


PROFILE = (
    "extends: default\nlayers:\n  - {{id: diary, heading: Diary, source: weighed, path: '{path}', private: true}}\n"
)


@pytest.mark.parametrize(("path", "private"), [("teams/q1/memories/diary.md", True), ("teams/*/memories/*.md", False)])
def test_files_of_private_layers_are_private_in_the_store(
    database: Database, tmp_path: Path, path: str, private: bool
) -> None:
    files = {f"{TEAM}/memories/diary.md": "- dear diary {id=dear}\n", f"{TEAM}/memories/a.md": "- said {id=said}\n"}
    root = database.workspace(tmp_path, {**FILES, **files, "mine.yaml": PROFILE.format(path=path)})
    (root / "ctxasm.yaml").write_text((root / "ctxasm.yaml").read_text() + "profile: mine.yaml\n")
    result = database.ctxasm(root, "store", "import")
    assert result.code == 0, result.err
    rows = dict(database.run("SELECT id, private FROM ctxasm.memory", role="luna"))
    assert rows == {"1-said": False, "1p-dear" if private else "1-dear": private}
    for name in ("diary", "a"):
        (root / TEAM / f"memories/{name}.md").unlink()
    shared = database.ctxasm(root, "build", "-a", "luna", "-t", "q1", "--topic", "diary", "--audience", "shared")
    assert (shared.code, "dear diary" in shared.out) == (0, False)


def test_tidy_leaves_the_store_alone_and_says_so(database: Database, root: Path) -> None:
    for place in (f"{TEAM}/memories", "agents/luna/memories"):
        (root / place).mkdir()
        (root / place / "x.md").write_text("- old {id=old expires=2024-01-01}\n")
    for role in ("luna", "kenji"):
        database.run("UPDATE ctxasm.memory SET expires = '2024-01-01' WHERE role = current_user", role=role)
    database.ctxasm(root, "store", "pull")
    before = (replicated(root), states(database), (root / TEAM / "memories/x.md").read_text())
    plan = database.ctxasm(root, "tidy")
    assert ("agents/luna/memories/x.md" in plan.out, f"{TEAM}/memories/" in plan.out) == (True, False)
    assert plan.err.count("store-untidied") == 1
    assert database.ctxasm(root, "tidy", "--apply", "--all").code == 0
    assert (replicated(root), states(database), (root / TEAM / "memories/x.md").read_text()) == before
    assert "status=expired" in (root / "agents/luna/memories/x.md").read_text()


def test_tidy_asks_no_server(database: Database, root: Path) -> None:
    assert "store-unreachable" not in database.ctxasm(root, "tidy", **AWAY).err


def test_stats_count_the_store(database: Database, root: Path) -> None:
    owners = told(database, root, "stats", "-t", "q1", "-a", "luna")["owners"]
    assert [each["memories"] for each in owners if each["owner"] == TEAM] == [2]


def test_python_and_other_programs_store_in_the_table(
    database: Database, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in database.environment(root).items():
        monkeypatch.setenv(name, value)
    outcome = contextasm.remember("Badges are printed on site", team="q1", workspace=root, writer="mcp")
    assert outcome.what == "stored"
    assert database.run("SELECT role, writer FROM ctxasm.memory WHERE writer <> ''") == [("luna", "mcp")]
    assert contextasm.find_memory(outcome.memory.id, team="q1", agent="luna", workspace=root).writer == "mcp"
    assert "id=" in (root / ".ctxasm/store" / outcome.memory.path).read_text().splitlines()[outcome.memory.line - 1]
    again = contextasm.remember("Badges are printed on site", team="q1", workspace=root, audience="shared")
    assert (again.what, again.memory.id) == ("reinforced", outcome.memory.id)


def test_python_reads_the_replica_offline(database: Database, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**database.environment(root), **AWAY}.items():
        monkeypatch.setenv(name, value)
    told = {
        offline: [problem.code for problem in contextasm.build(agent="luna", workspace=root, offline=offline).problems]
        for offline in (None, False)
    }
    assert told == {None: ["store-unreachable"], False: ["store-unreachable"]}
    database.ctxasm(root, "store", "pull")
    context = contextasm.build(agent="luna", team="q1", workspace=root, offline=True)
    assert ("hall 4" in context.text, context.problems) == (True, ())


def test_a_shared_audience_neither_finds_nor_reinforces_what_is_private(
    database: Database, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in database.environment(root).items():
        monkeypatch.setenv(name, value)
    database.add("The price is 40 euros", id="'price'", private="true")
    shared = contextasm.remember("The price is 40 euros", team="q1", workspace=root, audience="shared")
    assert shared.what == "stored"
    assert contextasm.remember("The price is 40 euros", team="q1", workspace=root).what == "reinforced"


def test_a_memory_that_is_deleted_meanwhile_is_not_revived(database: Database, root: Path) -> None:
    database.ctxasm(root, "store", "pull")
    (root / "ctxasm.yaml").write_text((root / "ctxasm.yaml").read_text().replace("max_age: 0s", "max_age: 1h"))
    database.run("UPDATE ctxasm.memory SET deleted = true WHERE id = '2-booth'", role="kenji")
    result = database.ctxasm(root, "memory", "complete", "2-booth")
    assert (result.code, "it was deleted" in result.err) == (2, True)
    assert "2-booth" not in states(database)


def test_feedback_on_a_record_stays_a_file(database: Database, root: Path) -> None:
    database.ctxasm(root, "build", "-a", "luna", "-t", "q1", "--record", "-o", os.devnull)
    (record,) = (root / ".ctxasm/records").glob("*.json")
    result = database.ctxasm(root, "feedback", record, "--wrong", "2-booth")
    assert (result.code, result.err) == (0, "")
    assert '"2-booth"' in next((root / "feedback").glob("*.jsonl")).read_text()


def test_a_hook_goes_on_without_the_server(database: Database, root: Path) -> None:
    database.ctxasm(root, "store", "pull")
    event = json.dumps({"hook_event_name": "SessionStart", "source": "startup", "cwd": str(root)})
    for words, says in (([], True), (["--offline"], False)):
        line = ["hook", "--for", "claude-code", "-a", "luna", "-t", "q1", "-w", str(root), *words]
        result = command.inside(*line, env={**database.environment(root), **AWAY}, stdin=event)
        answer = json.loads(result.out)
        assert (result.code, "hall 4" in answer["hookSpecificOutput"]["additionalContext"]) == (0, True)
        assert ("can't be reached" in answer.get("systemMessage", "")) == says
    config = command.inside("hook", "--print-config", "claude-code", "-a", "luna", "--offline").out
    assert "--agent luna --offline" in config
