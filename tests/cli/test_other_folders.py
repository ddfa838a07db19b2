"""Every verb works in folders of other programs: what is remembered or logged there is where the program keeps it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import contextasm
from tests.command import fill, inside

make = partial(fill, base={})

DAY = {"CTXASM_DATE": "2025-03-14"}
OPENCLAW = {"SOUL.md": "Calm.\n", "AGENTS.md": "Rules.\n", "MEMORY.md": "# Memory\n\nThe crane is green.\n"}
REPO = {"CLAUDE.md": "Rules.\n"}

BEGINNINGS = [
    "",
    "# Memory\n\nProse of a person.\n",
    "- One\n- Two",
    "# Gedächtnis\r\n\r\n- Eins\r\n",
    "\ufeff# 記憶\n\n- 会議は水曜日 🦀\n",
    "---\ntitle: Mine\n---\n- One {created=2025-01-01}\n",
    "## 2025-03-14\n- One\n",
]


@pytest.mark.parametrize("beginning", BEGINNINGS, ids=range(len(BEGINNINGS)))
@pytest.mark.parametrize(("files", "path"), [(OPENCLAW, "MEMORY.md"), (REPO, ".agents/memories.md")])
def test_what_is_remembered_is_added_shown_and_found(
    tmp_path: Path, files: dict[str, str], path: str, beginning: str
) -> None:
    make(tmp_path, {**files, path: beginning})
    assert inside("remember", "The ferry leaves at ten", cwd=tmp_path, env=DAY).out.startswith("stored m-")
    data = (tmp_path / path).read_bytes()
    assert data.startswith(beginning.encode())
    assert b"The ferry leaves at ten" in data.removeprefix(beginning.encode())
    assert "The ferry leaves at ten" in inside("build", cwd=tmp_path, env=DAY).out
    found = inside("search", "ferry", cwd=tmp_path, env=DAY)
    assert (found.code, f"{path}:" in found.out) == (0, True)
    again = inside("remember", "The ferry leaves at ten", cwd=tmp_path, env=DAY).out
    assert again.startswith("reinforced m-")
    assert [*tmp_path.glob("agents")] == []


def test_a_memory_has_an_id_for_all_commands(tmp_path: Path) -> None:
    make(tmp_path, OPENCLAW)
    name = inside("remember", "The ferry leaves at ten", cwd=tmp_path, env=DAY).out.split()[1]
    assert "The ferry leaves at ten" in inside("show", name, cwd=tmp_path, env=DAY).out
    assert name in inside("search", "ferry", cwd=tmp_path, env=DAY).out
    assert name in inside("export", "--audience", "personal", cwd=tmp_path, env=DAY).out
    assert name in inside("memory", "list", cwd=tmp_path, env=DAY).out
    assert inside("memory", "deprecate", name, cwd=tmp_path, env=DAY).code == 0
    assert "ferry" not in inside("search", "ferry", cwd=tmp_path, env=DAY).out
    assert "status=deprecated" in (tmp_path / "MEMORY.md").read_text()


def test_a_log_goes_to_the_note_of_the_day(tmp_path: Path) -> None:
    make(tmp_path, {**OPENCLAW, "memory/2025-03-13.md": "The lock was oiled.\n"})
    assert inside("log", "The ferry sank.", cwd=tmp_path, env=DAY).out == "made memory/2025-03-14.md\n"
    assert inside("log", "It was raised.", cwd=tmp_path, env=DAY).out == "appended to memory/2025-03-14.md\n"
    assert (tmp_path / "memory/2025-03-14.md").read_text() == "The ferry sank.\n\nIt was raised.\n"
    assert "The ferry sank." in inside("build", cwd=tmp_path, env=DAY).out
    for words, place in (
        ("ferry", "memory/2025-03-14.md:1"),
        ("lock oiled", "memory/2025-03-13.md:1"),
        ("crane", "MEMORY.md:3"),
    ):
        assert place in inside("search", words, cwd=tmp_path, env=DAY).out
    later = inside("search", "ferry", cwd=tmp_path, env={"CTXASM_DATE": "2025-03-13"})
    assert (later.code, later.out, later.err.count("none of ")) == (1, "", 1)


def test_an_agent_of_openclaw_has_its_own(tmp_path: Path) -> None:
    make(tmp_path, {**OPENCLAW, "agents/ops/SOUL.md": "Brave.\n"})
    assert "agents/ops/MEMORY.md:1" in inside("remember", "-a", "ops", "The ferry leaves", cwd=tmp_path, env=DAY).out
    assert "agents/ops/memory/2025-03-14.md" in inside("log", "-a", "ops", "It left.", cwd=tmp_path, env=DAY).out
    assert "agents/ops/MEMORY.md:1" in inside("search", "-a", "ops", "ferry", cwd=tmp_path, env=DAY).out
    assert inside("search", "ferry", cwd=tmp_path, env=DAY).code == 1
    assert (tmp_path / "MEMORY.md").read_text() == OPENCLAW["MEMORY.md"]


@pytest.mark.parametrize("name", ["-a", "-t"])
@pytest.mark.parametrize("files", [OPENCLAW, REPO])
def test_a_name_that_nothing_reads_is_refused(tmp_path: Path, files: dict[str, str], name: str) -> None:
    make(tmp_path, files)
    refused = inside("remember", name, "x", "The ferry leaves", cwd=tmp_path, env=DAY)
    assert (refused.code, "leave it out" in refused.err) == (2, True)


def test_a_repository_keeps_no_logs(tmp_path: Path) -> None:
    make(tmp_path, REPO)
    refused = inside("log", "The ferry sank.", cwd=tmp_path, env=DAY)
    assert (refused.code, "profile repo: names no file for `log`" in refused.err) == (2, True)


def test_agents_of_a_workspace_keep_their_memories_under_the_profile_of_a_repository(tmp_path: Path) -> None:
    fill(tmp_path, {"ctxasm.yaml": "profile: repo\n", "CLAUDE.md": "Rules.\n"})
    assert "agents/a/memories/2025-03.md" in inside("remember", "-a", "a", "The ferry", cwd=tmp_path, env=DAY).out
    assert ".agents/memories.md:1" in inside("remember", "The crane", cwd=tmp_path, env=DAY).out


def test_a_private_line_is_found_only_by_its_owner(tmp_path: Path) -> None:
    make(tmp_path, {**OPENCLAW, "memory/2025-03-13.md": "The ferry is insured {private=true}\n"})
    assert inside("search", "ferry", cwd=tmp_path, env=DAY).code == 0
    assert inside("search", "ferry", "--audience", "shared", cwd=tmp_path, env=DAY).code == 1


def test_python_takes_the_same_places(tmp_path: Path) -> None:
    make(tmp_path, OPENCLAW)
    assert contextasm.remember("The ferry leaves", workspace=tmp_path, date="2025-03-14").memory.path == "MEMORY.md"
    assert contextasm.log("It left.", workspace=tmp_path, date="2025-03-14").path == "memory/2025-03-14.md"
    (hit,) = contextasm.search("left", workspace=tmp_path, date="2025-03-14").hits
    assert (hit[0].path, hit[0].created, hit[0].text) == ("memory/2025-03-14.md", "2025-03-14", "It left.")


def test_tidy_archives_old_notes_and_names_long_files(tmp_path: Path) -> None:
    old = {"memory/2025-01-01.md": "The ferry sank.\n", "memory/2025-01-02-slug.md": "It was raised.\n"}
    make(tmp_path, {**OPENCLAW, **old, "memory/2025-03-13.md": "New.\n", "USER.md": "word " * 1000})
    planned = inside("tidy", cwd=tmp_path, env=DAY)
    assert "memory/2025-01-01.md" in planned.out
    assert "OpenClaw shows 4,000 of its 4,999 characters: shorten it" in planned.out
    before = inside("build", cwd=tmp_path, env=DAY).out
    assert inside("tidy", "--apply", "--safe", cwd=tmp_path, env=DAY).code == 0
    assert sorted(path.name for path in (tmp_path / "memory/archive/2025").iterdir()) == [path[7:] for path in old]
    assert inside("build", cwd=tmp_path, env=DAY).out == before
    assert "The ferry sank." in inside("build", "--topic", "ferry", cwd=tmp_path, env=DAY).out
    assert "memory/archive/2025/2025-01-01.md:1" in inside("search", "ferry", cwd=tmp_path, env=DAY).out
    assert "archive " not in inside("tidy", cwd=tmp_path, env=DAY).out
    assert inside("tidy", "--undo", cwd=tmp_path, env=DAY).code == 0
    assert (tmp_path / "memory/2025-01-01.md").read_text() == "The ferry sank.\n"


def test_search_of_a_vault_finds_lines_of_its_daily_notes(tmp_path: Path) -> None:
    make(tmp_path, {".obsidian/app.json": "{}", "2025-03-13.md": "The ferry sank.\n"})
    assert "2025-03-13.md:1" in inside("search", "ferry", cwd=tmp_path, env=DAY).out
