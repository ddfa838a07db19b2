"""`ctxasm stats`: sizes, growth, contributors, duplicates and layers, as tables and as JSON."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from rich.cells import cell_len

import contextasm
from contextasm.model import Document
from contextasm.records.uses import RecordedUses
from contextasm.selection.tokens import ESTIMATE
from contextasm.upkeep.stats import WorkspaceStats
from tests.command import LUNA, fill, inside, on_terminal
from tests.workspaces import DAY, Content, Files, workspaces

SCHEMA = json.loads(
    (Path(contextasm.__file__).parent / "rendering" / "schemas" / "stats-1.json").read_text(encoding="utf-8")
)
DATE = ("--date", "2025-03-14")
NO_USES = RecordedUses((), {}, [])

MEMORIES = """\
- [fact] Mara: the demo is on the pier at dusk {created=2025-03-11}
- [fact] Mara: the demo is on the pier at dusk! {created=2025-03-12}
- [fact] Keep 3 copies of the tide tables {created=2025-03-03}
- [fact] Keep 5 copies of the tide tables {created=2025-03-03}
- [task] Old and gone {created=2001-01-01 status=archived}
- [note] Nobody knows when
- [note] Not yet {created=2025-04-01}
"""


def figures(*words: str | Path) -> dict[str, Any]:
    result = inside("stats", "--json", *words)
    assert (result.code, result.err) == (0, "")
    value: dict[str, Any] = json.loads(result.out)
    Draft202012Validator(SCHEMA).validate(value)
    return value


def test_sizes_are_those_of_the_files_on_the_disk(tmp_path: Path) -> None:
    folder = fill(tmp_path, {"agents/a/daily/2025-03-10.md": "- Rain.\n", "teams/t/GOALS.md": "Go.\n"})
    fill(folder, {"memories/m.md": "- [fact] One\n- [fact] Two {status=archived}\n"}, base={})
    owners = {each["owner"]: each for each in figures("-w", folder, *DATE)["owners"]}
    assert {*owners} == {"agents/a", "teams/t", "project"}
    sizes = [path.stat().st_size for path in (folder / "agents").rglob("*.md")]
    assert (owners["agents/a"]["files"], owners["agents/a"]["bytes"]) == (len(sizes), sum(sizes))
    assert owners["agents/a"]["logs"] == 1
    assert (owners["project"]["memories"], owners["project"]["active_memories"]) == (2, 1)


def test_growth_goes_by_the_dates_in_the_workspace(tmp_path: Path) -> None:
    folder = fill(tmp_path, {"agents/a/memories/m.md": MEMORIES, "agents/a/daily/2025-03-10.md": "- Rain.\n"})
    os.utime(folder / "agents/a/memories/m.md", (0, 0))
    growth = figures("-w", folder, *DATE, "--weeks", "2")["growth"]
    assert [(week["monday"], week["logs"], week["memories"]) for week in growth["weeks"]] == [
        ("2025-03-03", 0, 2),
        ("2025-03-10", 1, 2),
    ]
    assert (growth["earlier"], growth["later"], growth["undated"]) == (1, 1, 1)


def test_duplicates_are_what_remember_would_have_merged(tmp_path: Path) -> None:
    folder = fill(tmp_path, {"agents/a/memories/m.md": MEMORIES})
    duplicates = figures("-w", folder, *DATE)["duplicates"]
    (only,) = duplicates["largest"]
    assert (only["memory"]["line"], only["same_as"]["line"], duplicates["memories"]) == (2, 1, 1)
    assert 0.92 <= only["similarity"] < 1
    said = inside("remember", "-w", folder, "-a", "a", "Mara: the demo is on the pier at dusk!!", *DATE)
    assert "reinforced" in said.out


def test_contributors_are_files_authors_and_types(tmp_path: Path) -> None:
    folder = fill(tmp_path, {"agents/a/memories/m.md": MEMORIES, "agents/a/KNOWLEDGE.md": "Know. " * 200})
    value = figures("-w", folder, *DATE, "--top", "2")
    assert [each["path"] for each in value["files"]] == ["agents/a/KNOWLEDGE.md", "agents/a/memories/m.md"]
    assert [(each["name"], each["memories"]) for each in value["authors"]] == [("mara", 2)]
    assert len(value["types"]) == 2


def test_memories_that_no_recorded_build_shows_are_counted(tmp_path: Path) -> None:
    known = "- [fact] The bell rings {created=2025-03-01}\n- [fact] The quay is closed {created=2025-03-01}\n"
    others = "- [fact] It opens later {created=2025-04-01}\n- [fact] It was open {expires=2025-02-01}\n"
    folder = fill(tmp_path, {"agents/a/memories/m.md": known + others, "teams/t/memories/m.md": known})
    at = ("-w", folder, "--date")
    assert {each["unshown_memories"] for each in figures(*at, "2025-04-02")["owners"]} == {None}
    built = inside("build", *at, "2025-03-10", "-a", "a", "--topic", "the quay", "--record")
    assert ("bell" in built.out, "quay" in built.out) == (False, True)
    for days, of_agent, records in (("23", 1, ["2025-03-10"]), ("22", None, [])):
        value = figures(*at, "2025-04-02", "--unshown", days)
        unshown = {each["owner"]: (each["active_memories"], each["unshown_memories"]) for each in value["owners"]}
        assert unshown == {"agents/a": (3, of_agent), "teams/t": (2, None)}  # no build was for the team
        assert value["records"] == records
    assert figures(*at, "2025-03-09")["records"] == []
    assert (
        "unshown: active memories that recorded builds could show and did not; builds: 1, 2025-03-10)"
        in inside("stats", *at, "2025-04-02").out
    )


def test_a_file_of_memories_that_is_shown_as_a_document_shows_its_memories(tmp_path: Path) -> None:
    folder = fill(tmp_path, {"SOUL.md": "Calm.\n", "MEMORY.md": "- The bell rings at six\n"}, base={})
    at = ("-w", folder, "-p", "openclaw", *DATE)
    assert inside("build", *at, "--record").code == 0
    value = figures(*at)
    assert [each["unshown_memories"] for each in value["owners"]] == [0]
    assert value["hosts"] == {"openclaw": sum(each["tokens"] for each in value["files"])}


@pytest.mark.parametrize("word", ["April", "Monday", "Note", "TODO", "Decision", "Update", "Hinweis"])
def test_a_month_or_a_label_before_a_colon_is_no_author(tmp_path: Path, word: str) -> None:
    text = f"- [fact] {word}: the pier opens\n- [fact] **{word}:** it closes\n- [fact] Mara: I open it\n"
    folder = fill(tmp_path, {"agents/a/memories/m.md": text})
    assert [(each["name"], each["memories"]) for each in figures("-w", folder, *DATE)["authors"]] == [("mara", 1)]


def test_layers_are_those_that_plan_computes() -> None:
    plan = json.loads(inside("plan", *LUNA, "--budgets", "1500", "--json").out)["budgets"][0]
    context = figures(*LUNA, "-b", "1500")["context"]
    layers = [{"layer": each["layer"], "wanted": each["wanted"], "used": each["used"]} for each in context["layers"]]
    assert layers == plan["layers"]
    assert (context["budget"], context["tokens"]) == (1500, plan["tokens"])


def test_without_an_agent_to_choose_the_rest_is_shown() -> None:
    at = ("-w", LUNA[1])
    result = inside("stats", *at)
    assert result.code == 0
    assert "Sizes by owner" in result.out
    assert "Layers of a build" not in result.out
    assert "the layers are left out: name one with -a NAME" in result.err
    assert figures(*at)["context"] is None
    assert inside("stats", *at, "-a", "nobody").code == 2


def test_a_file_that_can_not_be_read_is_told_and_the_rest_counted(tmp_path: Path) -> None:
    folder = fill(tmp_path, {"agents/a/KNOWLEDGE.md": b"\xff"})
    result = inside("stats", "-w", folder)
    assert result.code == 0
    assert "agents/a/KNOWLEDGE.md: is not valid UTF-8" in result.err
    assert [each["path"] for each in figures("-w", folder)["problems"]] == ["agents/a/KNOWLEDGE.md"]


def test_in_a_pipe_it_is_ascii_and_secrets_and_hidden_characters_are_not_printed(tmp_path: Path) -> None:
    secret = "ghp_" + "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA3cD6"
    text = f"- [fact] The key of the pier\u202e is {secret}\n- [fact] The key of the pier\u202e is {secret}\n"
    result = inside("stats", "-w", fill(tmp_path, {"agents/a/memories/m.md": text, "agents/a/b\x1b[31m.md": "x"}))
    assert "Duplicates: 1 memory" in result.out
    assert result.out.isascii()
    assert secret not in result.out
    assert "\x1b" not in result.out


@pytest.mark.parametrize("columns", [30, 59, 80, 200])
def test_on_a_terminal_only_a_title_or_a_path_is_wider_than_it(tmp_path: Path, columns: int) -> None:
    files = {
        f"teams/{'t' * 60}/memories/m.md": "- [fact] 潮の満ち引き 潮の満ち引き\n" * 2,
        "agents/a/KNOWLEDGE.md": "K " * 900,
    }
    shown = on_terminal("stats", "-w", fill(tmp_path, files), *DATE, columns=columns)
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip("\r") for line in shown.split("\n")]
    titles = ("Sizes by owner", "Growth a week", "Duplicates", "A build")
    wide = [line for line in lines if cell_len(line) > columns and " " in line.strip()]
    assert [line for line in wide if not line.startswith(titles)] == []
    assert "####" in shown


@given(workspaces(), st.integers(1, 30))
def test_figures_of_any_workspace_add_up(files: dict[str, Content], weeks: int) -> None:
    workspace = Files(files)
    reads = [workspace.read(path) for path in files]
    documents = [read for read in reads if isinstance(read, Document)]
    stats = WorkspaceStats(documents, ESTIMATE, DAY, NO_USES)
    growth = stats.growth(weeks)
    memories = sum(owner.memories for owner in stats.owners)
    assert sum(owner.files for owner in stats.owners) == len(stats.files) == len(documents)
    assert sum(owner.tokens for owner in stats.owners) == sum(each.tokens for each in stats.files)
    assert memories == sum(each.memories for each in stats.types) == sum(each.memories for each in stats.files)
    dated = sum(week.logs + week.memories for week in growth.weeks) + growth.earlier + growth.later
    assert dated + growth.undated == memories + sum(owner.logs for owner in stats.owners)
    assert len(growth.weeks) == weeks
    assert len(stats.duplicates) <= sum(owner.active_memories for owner in stats.owners)
    assert WorkspaceStats(documents[::-1], ESTIMATE, DAY, NO_USES).growth(weeks) == growth
