"""Audiences on the command line: defaults, the option, settings, records, and what commands tell."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.command import CASES, SMALL, fill, inside, refused

PRIVATE = "The locker opens with the spare key"
FILES = {
    **SMALL,
    "agents/a/KNOWLEDGE.md": f"# Notes\n\nPublic notes.\n\n- {PRIVATE} {{private=true}}\n",
    "agents/a/memories/m.md": f"- [fact] An open fact\n- [fact] {PRIVATE} {{private=true id=m7}}\n",
    "AGENTS.md": "# Agents\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fill(tmp_path, FILES, base={})
    return tmp_path


def test_defaults(folder: Path) -> None:
    at = ("-w", str(folder))
    assert PRIVATE in inside("build", *at).out
    inside("build", *at, "-o", str(folder / "out.md"))
    assert PRIVATE in (folder / "out.md").read_text()
    inside("build", *at, "-o", str(folder / "out.md"), "--into", str(folder / "AGENTS.md"))
    assert PRIVATE not in (folder / "out.md").read_text()
    assert PRIVATE not in (folder / "AGENTS.md").read_text()
    assert "An open fact" in (folder / "AGENTS.md").read_text()


def test_the_option_chooses(folder: Path) -> None:
    at = ("-w", str(folder))
    assert PRIVATE not in inside("build", *at, "--audience", "shared").out
    inside("build", *at, "--into", str(folder / "AGENTS.md"), "--audience", "personal")
    assert PRIVATE in (folder / "AGENTS.md").read_text()
    assert "personal" in inside("build", *at, "--audience", "everyone").err


def test_settings_choose(folder: Path) -> None:
    at = ("-w", str(folder))
    assert PRIVATE not in inside("build", *at, env={"CTXASM_AUDIENCE": "shared"}).out
    inside("build", *at, "--into", str(folder / "AGENTS.md"), env={"CTXASM_AUDIENCE": "personal"})
    assert PRIVATE in (folder / "AGENTS.md").read_text()
    (folder / "ctxasm.yaml").write_text("audience: shared\n")
    assert PRIVATE not in inside("build", *at).out
    (folder / "ctxasm.yaml").write_text("audience: personal\n")
    assert inside("build", *at).code == 2


def test_every_private_part_is_told(folder: Path) -> None:
    at = ("-w", str(folder), "--audience", "shared")
    told = inside("explain", *at)
    rows = [line for line in told.out.splitlines() if "it is private, and this context is shared" in line]
    assert len(rows) == 2
    assert "agents/a/memories/m.md:2" in rows[0]
    assert inside("explain", *at, "--line", "agents/a/KNOWLEDGE.md:5").out == (
        "out L7 excluded: it is private, and this context is shared\n"
    )
    assert inside("explain", *at, "--line", "agents/a/KNOWLEDGE.md:3").out.startswith("in L7")
    assert "2 private parts left out because the context is shared" in inside("build", *at).err


def test_search_and_the_goal_of_a_task_are_those_of_the_audience(folder: Path) -> None:
    assert inside("search", "-w", str(folder), "locker").code == 0
    assert inside("search", "-w", str(folder), "locker", "--audience", "shared").code == 1
    (folder / "tasks.yaml").write_text(f"tasks:\n  - {{id: t1, goal: {PRIVATE}, private: true}}\ncurrent: t1\n")
    at = ("-w", str(folder), "-p", "query", "-f", "json")
    assert json.loads(inside("build", *at).out)["request"]["topic"] == PRIVATE
    assert PRIVATE not in inside("build", *at, "--audience", "shared").out


def test_a_layer_out_of_scope_or_off_stays_private(folder: Path) -> None:
    (folder / "ctxasm.yaml").write_text("layers:\n  - {id: L7, private: true}\n")
    (folder / "teams" / "t").mkdir(parents=True)
    (folder / "teams" / "t" / "GOALS.md").write_text((folder / "agents/a/KNOWLEDGE.md").read_text())
    at = ("-w", str(folder), "-t", "t", "--audience", "shared")
    assert "Public notes" in inside("build", "-w", str(folder), "-t", "t").out
    assert "Public notes" not in inside("build", *at).out
    assert "Public notes" not in inside("build", *at, "--scope", "L2").out
    (folder / "ctxasm.yaml").write_text("layers:\n  - {id: L7, private: true, enabled: false}\n")
    assert "Public notes" not in inside("build", *at).out


def test_records_hold_the_audience_and_no_private_text(folder: Path) -> None:
    at = ("-w", str(folder))
    inside("build", *at, "--into", str(folder / "AGENTS.md"), "--record-inputs")
    (record,) = (folder / ".ctxasm" / "records").glob("*.json")
    stored = [path.read_text() for path in (folder / ".ctxasm").rglob("*") if path.is_file()]
    assert all(PRIVATE not in text for text in stored)
    assert inside("replay", record.stem, *at).code == 0
    assert PRIVATE not in inside("diff", record.stem, *at, "--text").out
    (folder / "agents/a/INSTRUCTIONS.md").write_text("Do it now.\n")
    told = inside("diff", record.stem, *at, "--json").out
    assert [each["fragment"] for each in json.loads(told)["changes"]] == ["agents/a/INSTRUCTIONS.md"]


def test_a_manifest_names_no_file_that_is_private_as_a_whole(folder: Path) -> None:
    (folder / "agents" / "a" / "KNOWLEDGE.md").write_text(f"---\nprivate: true\n---\n{PRIVATE}\n")
    at = ("-w", str(folder), "--audience", "shared", "-o", str(folder / "out.md"), "--manifest", "-")
    paths = [each["path"] for each in json.loads(inside("build", *at).out)["inputs"]]
    assert "agents/a/KNOWLEDGE.md" not in paths
    assert "agents/a/memories/m.md" in paths


def test_outputs_are_shared(folder: Path) -> None:
    (folder / "ctxasm.yaml").write_text("outputs:\n  - file: CONTEXT.md\n")
    at = ("-w", str(folder))
    inside("build", *at, "-o", str(folder / "CONTEXT.md"))
    assert PRIVATE not in (folder / "CONTEXT.md").read_text()
    assert "stale-output" not in inside("check", *at).out
    (folder / "ctxasm.yaml").write_text("outputs:\n  - file: CONTEXT.md\n    audience: personal\n")
    assert "ctxasm build --audience personal -o CONTEXT.md" in inside("check", *at).out
    inside("build", *at, "-o", str(folder / "CONTEXT.md"))
    assert PRIVATE in (folder / "CONTEXT.md").read_text()
    assert "stale-output" not in inside("check", *at).out


@pytest.mark.parametrize("audience", ["personal", "shared"])
def test_the_receipts_of_a_context_are_as_they_were_read_and_found_right(audience: str) -> None:
    at = ("-w", CASES / "audience" / "workspace", "--audience", audience)
    told = inside("explain", *at)
    text = f"{inside('build', '-q', *at).out}=== explain\n{told.out}=== receipt\n{told.err}"
    target = CASES / "audience" / f"{audience}.md"
    if os.environ.get("UPDATE_CASES"):
        target.write_text(text, encoding="utf-8")
    assert text == target.read_text(encoding="utf-8")


def test_server_does_not_start_for_an_audience_that_is_none(folder: Path) -> None:
    refused(inside("mcp", "-w", folder, "--audience", "shraed"), "--audience", "did you mean shared?")
