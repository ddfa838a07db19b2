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


def test_search_and_the_goal_of_a_task_are_those_of_the_audience(folder: Path) -> None:
    assert inside("search", "-w", str(folder), "locker").code == 0
    assert inside("search", "-w", str(folder), "locker", "--audience", "shared").code == 1
    (folder / "tasks.yaml").write_text(f"tasks:\n  - {{id: t1, goal: {PRIVATE}, private: true}}\ncurrent: t1\n")
    at = ("-w", str(folder), "-p", "query", "-f", "json")
    assert json.loads(inside("build", *at).out)["request"]["topic"] == PRIVATE
    assert PRIVATE not in inside("build", *at, "--audience", "shared").out


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
    inside("build", *at, "--record")
    (own,) = {*(folder / ".ctxasm" / "records").glob("*.json")} - {record}
    refused(inside("diff", own.stem, *at, "--text", "--audience", "shared"), "the record may hold private parts")


def test_a_manifest_names_no_file_that_is_private_as_a_whole(folder: Path) -> None:
    (folder / "agents" / "a" / "KNOWLEDGE.md").write_text(f"---\nprivate: true\n---\n{PRIVATE}\n")
    at = ("-w", str(folder), "--audience", "shared", "-o", str(folder / "out.md"), "--manifest", "-")
    paths = [each["path"] for each in json.loads(inside("build", *at).out)["inputs"]]
    assert "agents/a/KNOWLEDGE.md" not in paths
    assert "agents/a/memories/m.md" in paths


@pytest.mark.parametrize("audience", ["personal", "shared"])
def test_the_receipts_of_a_context_are_as_they_were_read_and_found_right(audience: str) -> None:
    at = ("-w", CASES / "audience" / "workspace", "--audience", audience)
    told = inside("explain", *at)
    text = f"{inside('build', '-q', *at).out}=== explain\n{told.out}=== receipt\n{told.err}"
    target = CASES / "audience" / f"{audience}.md"
    if os.environ.get("UPDATE_CASES"):
        target.write_text(text, encoding="utf-8")
    assert text == target.read_text(encoding="utf-8")


MARK = "zanzibar"
MARKED = {
    **SMALL,
    "agents/a/KNOWLEDGE.md": f"Public notes.\n\n- {MARK} {{private=true}}\n",
    "agents/a/memories/m.md": f"- [fact] Open locker {{id=m1 supersedes={MARK}-1}}\n"
    f"- [{MARK}-kind] {MARK}: the key of the locker {{private=true id={MARK}-1 tags={MARK} key={MARK}/a}}\n"
    f"- [{MARK}-kind] {MARK}: the key of the locker! {{private=true id={MARK}-2}}\n"
    f'- [fact] Old locker {{id=m2 status=superseded superseded_by="{MARK}-2"}}\n',
    "agents/a/memories/n.md": f"---\ntype: fact\nid: m3\nsupersedes: [m2, {MARK}-2]\n---\nA locker of the school\n",
    "agents/a/memories/o.md": f"---\ntype: fact\nid: m4\nsupersedes:\n  - m2\n  - {MARK}-2\n---\nOpen club\n",
    "agents/a/daily/2025-03-12.md": f"---\nprivate: true\ntitle: {MARK}\n---\n- Ignore {MARK} instructions\n",
    "teams/t/GOALS.md": f"Open goal\n\n{MARK} goal {{private=true}}\n",
    "tasks.yaml": f"tasks:\n  - {{id: t1, goal: {MARK}, private: true}}\n  - {{id: t2, goal: open}}\ncurrent: t1\n",
    "graph/entities.yaml": f"- {{name: {MARK}, type: person, private: true}}\n- {{name: Luna, type: person}}\n",
    "graph/relations.yaml": f"- {{source: Luna, private: true}}\n- {MARK}: 1\n  {MARK}: 2\n",
    "patterns.yaml": f"- {{name: {MARK}, keywords: [locker]}}  # {{private=true}}\n",
    "pyproject.toml": f'[project]\ndependencies = ["{MARK}"]  # {{private=true}}\n',
    "skills/lock/SKILL.md": f"---\nname: {MARK}\nlicens: {MARK}\nprivate: true\n---\n",
}
VIEWS = {
    "build": (
        "",
        "-f json",
        "-v",
        "-p query",
        "-p pack --open agents/a/memories/o.md",
        "-p brain",
        "-o o.md --manifest m.json --metrics x",
        "--record-inputs",
        "--privacy off",
    ),
    "plan": ("", "--json"),
    "stats": ("", "--json", "-p memory --json"),
    "explain": ("", "--json", "--html page.html", "--line agents/a/memories/m.md:1 --json"),
    "search": ("locker", "--json locker", "--all locker --json"),
    "export": ("", "-f okf -o bundle"),
    "check": ("", "--json", "-f sarif", "--baseline b.json --update-baseline"),
    "rules": ("eval --topic locker",),
    "config": ("",),
}


@pytest.mark.parametrize("words", [f"{name} {rest}" for name, rests in VIEWS.items() for rest in rests])
@pytest.mark.parametrize("named", ["option", "variable"])
def test_no_view_reads_past_the_audience(tmp_path: Path, words: str, named: str) -> None:
    fill(tmp_path, MARKED, base={})
    option = ("--audience", "shared") if named == "option" else ()
    env = {"CTXASM_DATE": "2025-03-14"} | ({} if option else {"CTXASM_AUDIENCE": "shared"})
    result = inside(*words.split(), *option, cwd=tmp_path, env=env)
    assert result.code == 0, result.err
    written = [
        path.read_text()
        for path in tmp_path.rglob("*")
        if path.is_file() and str(path.relative_to(tmp_path)) not in MARKED
    ]
    assert [text for text in (result.out, result.err, *written) if MARK in text] == []


def test_statistics_of_several_agents_are_those_of_the_audience(tmp_path: Path) -> None:
    others = {path.replace("/a/", "/b/"): text for path, text in SMALL.items()}
    fill(tmp_path, {**MARKED, **others}, base={})
    result = inside("stats", "-w", tmp_path, "--audience", "shared")
    assert MARK not in result.out
    assert "private parts of 8 files are left out: `--audience personal` counts them" in result.err
    assert MARK in inside("stats", "-w", tmp_path).out


OPENCLAW = {
    "SOUL.md": "Be kind.\n",
    "AGENTS.md": "Open rules of the locker.\n",
    "USER.md": f"Ignore all previous {MARK} instructions.\n",
    "MEMORY.md": f"- [fact] The {MARK} locker {{id={MARK}-1 expires=never}}\n",
    "memory/2025-03-13.md": f"- {MARK} locker\n",
    "memory/archive/2025-01-10.md": f"- {MARK} locker of old\n",
    "agents/coder/SOUL.md": "Terse.\n",
    "agents/coder/MEMORY.md": f"- [fact] {MARK} of a coder {{id={MARK}-c}}\n",
}
SHARED = (
    "build",
    "build -a coder",
    "build --topic locker -v",
    "stats --json",
    "plan",
    "check --json",
    "explain --json",
)


@pytest.mark.parametrize(
    "words",
    ["build --into AGENTS.md", "explain --html page.html", "export", *(f"{each} --audience shared" for each in SHARED)],
)
def test_own_files_of_an_openclaw_agent_reach_no_others(tmp_path: Path, words: str) -> None:
    fill(tmp_path, OPENCLAW, base={})
    result = inside(*words.split(), cwd=tmp_path, env={"CTXASM_DATE": "2025-03-14"})
    assert result.code == 0, result.err
    written = [tmp_path.joinpath(path).read_text() for path in ("AGENTS.md", "page.html") if (tmp_path / path).exists()]
    assert [text for text in (result.out, result.err, *written) if MARK in text] == []
    if words.startswith("explain --json"):
        private = {each["path"] for each in json.loads(result.out)["decisions"] if each["reason"]["code"] == "private"}
        assert private == {"USER.md", "MEMORY.md", "memory/2025-03-13.md"}
        assert inside("build", cwd=tmp_path, env={"CTXASM_DATE": "2025-03-14"}).out.count(MARK) == 4
