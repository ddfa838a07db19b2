"""`--json`: every command that tells something tells it to programs, too."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import contextasm
from contextasm.cli.command_line import COMMANDS
from tests.command import SAMPLE, SMALL, fill, inside
from tests.workspace.test_watch import watching

OTHERWISE = {
    "build": "-f json",
    "edit": "opens an editor",
    "completion": "prints a script",
    "export": "-f jsonl",
    "hook": "answers in JSON",
    "mcp": "speaks JSON-RPC",
    "count": "prints a number",
    "fit": "prints a text",
}
"""Commands that have no `--json`, and why."""

SCHEMAS = Path(contextasm.__file__).parent / "rendering" / "schemas"

REQUEST = ("-a", "luna", "-t", "q1")

MORE = {
    "agents/luna/daily/archive/2024/2024-05-02.md": "- The vendor has quoted.\n",
    "new.jsonl": '{"text": "The gate is green.", "source": "brought"}\n{"text": "The bell rings at noon."}\n',
}
"""What the sample lacks: an archived log, and memories to import."""

DOCUMENTS: Mapping[str, Sequence[tuple[str, ...]]] = {
    "explain": [
        REQUEST,
        (*REQUEST, "--id", "agents/luna/IDENTITY.md"),
        (*REQUEST, "--line", "agents/luna/IDENTITY.md:1"),
        (*REQUEST, "--line", "agents/kenji/IDENTITY.md:1"),
        ("--host", "claude-code"),
    ],
    "plan": [REQUEST],
    "stats": [(), REQUEST],
    "search": [(*REQUEST, "demo date"), (*REQUEST, "xylophone"), ("--archive", "vendor"), ("--archive", "xylophone")],
    "remember": [("-a", "luna", "The dock is wet."), ("-a", "luna", "The demo date is the ninth of May.")],
    "feedback": [("{record}", "--missing", "the date of the demo")],
    "show": [("{memory}",)],
    "memory": [("list",), ("deprecate", "{memory}")],
    "log": [("-a", "luna", "An entry")],
    "tidy": [(), ("--apply", "--all"), ("--undo",)],
    "task": [("show",), ("push", "Ship it"), ("block", "No wind"), ("pop", "Done")],
    "import": [("jsonl", "new.jsonl", "-a", "luna", "--dry-run"), *[("jsonl", "new.jsonl", "-a", "luna")] * 2],
    "check": [(), ("--host", "codex")],
    "lock": [(), ()],
    "diff": [("{record}", *REQUEST)],
    "replay": [("{record}",)],
    "records": [()],
    "init": [("new",), ("new",)],
    "config": [(*REQUEST,), (*REQUEST, "--origin")],
    "profiles": [()],
    "rules": [(), ("eval", *REQUEST), ("eval", *REQUEST, "--topic", "a press text")],
    "tokenizers": [()],
}
"""Command lines of each command that print one document; those of a command run one after the other."""


def held_against_its_schema(document: Any) -> str:
    name = document["schema"]
    assert re.fullmatch(r"ctxasm\.[a-z-]+/[1-9]", name)
    path = SCHEMAS / f"{name.removeprefix('ctxasm.').replace('/', '-')}.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    assert schema["properties"]["schema"]["const"] == schema["title"] == name
    errors = [f"{error.json_path}: {error.message}" for error in Draft202012Validator(schema).iter_errors(document)]
    assert errors == [], name
    return str(name)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Sequence[Any]]:
    """What the lines of each command print, in a copy of the sample of its own."""
    return {command: documents_of(command, tmp_path_factory.mktemp(command)) for command in DOCUMENTS}


def documents_of(command: str, folder: Path) -> list[Any]:
    root = fill(Path(copytree(SAMPLE, folder / "ws")), MORE, base={})
    inside("build", *REQUEST, "--record", "-o", os.devnull, cwd=root)
    (record,) = (root / ".ctxasm" / "records").glob("*.json")
    memory = told("remember", "-a", "luna", "The bell rings at noon.", "--json", cwd=root)["memories"][0]["id"]
    found = []
    for line in DOCUMENTS[command]:
        words = [word.format(record=record, memory=memory) for word in line]
        result = inside(command, *words, "--json", cwd=root)
        assert result.code in {0, 1}, result.err
        found.append(json.loads(result.out))
    return found


def test_the_list_of_documents_has_every_command() -> None:
    assert {*DOCUMENTS} == {*COMMANDS} - {*OTHERWISE} - {"watch", "store"}


def test_every_document_names_its_schema_and_fits_it(documents: Mapping[str, Sequence[Any]]) -> None:
    """A schema of nothing would promise what no command prints."""
    found = {held_against_its_schema(document) for own in documents.values() for document in own}
    files = {f"ctxasm.{path.stem[:-2]}/{path.stem[-1]}" for path in SCHEMAS.glob("*.json")}
    assert files - found == {"ctxasm.manifest/1", "ctxasm.record/1", "ctxasm.store/1", "ctxasm.watch/1"}


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in OTHERWISE])
def test_command_has_json(command: str) -> None:
    assert "--json" in inside(command, "--help").out


def test_every_other_command_has_none() -> None:
    assert {*OTHERWISE} <= {*COMMANDS}
    assert [name for name in OTHERWISE if re.search(r"--json\b", inside(name, "--help").out)] == []


def told(*words: str | Path, cwd: Path, code: int = 0) -> Any:
    result = inside(*words, cwd=cwd)
    assert result.code == code, result.err
    return json.loads(result.out)


def test_log_tells_the_file(tmp_path: Path) -> None:
    fill(tmp_path, {"ctxasm.yaml": "date: 2025-03-14\n"})
    path = "agents/a/daily/2025-03-14.md"
    first, second = (told("log", "-a", "a", "An entry", "--json", "-q", cwd=tmp_path) for _ in range(2))
    assert first == {"schema": "ctxasm.log/1", "path": path, "made": True}
    assert second == {**first, "made": False}


def test_init_tells_each_file(tmp_path: Path) -> None:
    first, second = (told("init", "ws", "--json", cwd=tmp_path)["files"] for _ in range(2))
    assert {file["made"] for file in first} == {True}
    assert second == [{**file, "made": False} for file in first]
    assert all((tmp_path / file["path"]).exists() for file in first)


def test_lock_tells_changes_and_digests(tmp_path: Path) -> None:
    """The digests are those of `ctxasm.lock`."""
    fill(tmp_path, {"ctxasm.yaml": "date: 2025-03-14\n"})
    data = told("lock", "--json", cwd=tmp_path)
    assert data["written"]
    assert {change["kind"] for change in data["changes"]} == {"added"}
    lock = (tmp_path / "ctxasm.lock").read_text()
    assert all(f"{file['sha256']}  {file['path']}" in lock for file in data["files"])
    again = told("lock", "--json", cwd=tmp_path)
    assert (again["written"], again["changes"], again["files"]) == (False, [], data["files"])


def test_replay_tells_what_changed(tmp_path: Path) -> None:
    fill(tmp_path, {"ctxasm.yaml": "date: 2025-03-14\n"})
    inside("build", "--record", "-o", os.devnull, cwd=tmp_path)
    (record,) = (tmp_path / ".ctxasm" / "records").glob("*.json")
    same = told("replay", record, "--json", cwd=tmp_path)
    assert (same["same"], same["changes"], same["etag"]) == (True, [], same["etag_before"])
    fill(tmp_path, {"agents/a/IDENTITY.md": "I am another.\n"}, base={})
    other = told("replay", record, "--json", cwd=tmp_path, code=1)
    assert (other["same"], other["changes"]) == (False, [{"path": "agents/a/IDENTITY.md", "kind": "changed"}])
    assert other["etag"] != other["etag_before"] == same["etag"]


def test_watch_tells_an_event_a_line(tmp_path: Path) -> None:
    with watching(tmp_path, "--json", "--date", "2025-03-14", files=SMALL, ready="watching") as watch:
        fill(watch.workspace, {"agents/a/IDENTITY.md": "I am another.\n"}, base={})
        watch.shows("I am another.")
        (watch.workspace / "agents" / "a" / "IDENTITY.md").unlink()
        watch.tells('"errors": ["')
        events = [json.loads(line) for line in watch.log.split("\n") if line]
    assert [event["event"] for event in events[:3]] == ["build", "watching", "build"]
    assert {*map(held_against_its_schema, events)} == {"ctxasm.watch/1"}
    first, later = events[0], events[2]
    assert (first["why"], first["written"], first["errors"]) == (["start"], ["out.md"], [])
    assert later["why"] == ["agents/a/IDENTITY.md"]
    assert later["etag"] != first["etag"]
