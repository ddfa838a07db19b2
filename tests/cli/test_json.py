"""`--json`: every command that tells something tells it to programs, too."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from contextasm.cli.app import COMMANDS
from tests.command import SMALL, fill, inside
from tests.workspace.test_watch import watching

OTHERWISE = {
    "build": "-f json",
    "edit": "opens an editor",
    "completion": "prints a script",
    "export": "-f jsonl",
    "hook": "answers in JSON",
    "mcp": "speaks JSON-RPC",
}
"""Commands that have no `--json`, and why."""


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in OTHERWISE])
def test_command_has_json(command: str) -> None:
    """By the same name everywhere."""
    assert "--json" in inside(command, "--help").out


def test_every_other_command_has_none() -> None:
    """A command that gets `--json` leaves the list, and one that is gone as well."""
    assert {*OTHERWISE} <= {*COMMANDS}
    assert [name for name in OTHERWISE if re.search(r"--json\b", inside(name, "--help").out)] == []


def told(*words: str | Path, cwd: Path, code: int = 0) -> Any:
    """What a command tells as JSON."""
    result = inside(*words, cwd=cwd)
    assert result.code == code, result.err
    return json.loads(result.out)


def test_log_tells_the_file(tmp_path: Path) -> None:
    """And whether it made it; --quiet does not silence what a program asked for."""
    fill(tmp_path, {"ctxasm.yaml": "date: 2025-03-14\n"})
    path = "agents/a/daily/2025-03-14.md"
    first, second = (told("log", "-a", "a", "An entry", "--json", "-q", cwd=tmp_path) for _ in range(2))
    assert first == {"schema": "ctxasm.log/1", "path": path, "made": True}
    assert second == {**first, "made": False}


def test_init_tells_each_file(tmp_path: Path) -> None:
    """Made at first, kept the second time."""
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
    """In place of the context, with the exit code of a replay."""
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
    """Each line is an object as soon as it happens, a failed build included."""
    with watching(tmp_path, "--json", "--date", "2025-03-14", files=SMALL, ready="watching") as watch:
        fill(watch.workspace, {"agents/a/IDENTITY.md": "I am another.\n"}, base={})
        watch.shows("I am another.")
        (watch.workspace / "agents" / "a" / "IDENTITY.md").unlink()
        watch.tells('"errors": ["')
        events = [json.loads(line) for line in watch.log.split("\n") if line]
    assert [event["event"] for event in events[:3]] == ["build", "watching", "build"]
    assert {event["schema"] for event in events} == {"ctxasm.watch/1"}
    first, later = events[0], events[2]
    assert (first["why"], first["written"], first["errors"]) == (["start"], ["out.md"], [])
    assert later["why"] == ["agents/a/IDENTITY.md"]
    assert later["etag"] != first["etag"]
