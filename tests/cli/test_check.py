"""`ctxasm check` as people, hooks and CI run it: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import contextasm
from contextasm.checks.formats import FORMATS
from contextasm.config.build import PreparedBuild
from contextasm.model import Build, Context
from contextasm.pipeline import assemble
from tests.checks.test_checks import DAY, KNOWN, TOKEN
from tests.command import SMALL, Result, fill, inside

WARNING = "See [it](GONE.md).\n"


def check(folder: Path, *words: str | Path, **env: str) -> Result:
    return inside("check", *words, cwd=folder, env=env)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_can_be_chosen(tmp_path: Path, name: str) -> None:
    result = check(fill(tmp_path, {**DAY, KNOWN: WARNING}), "--format", name)
    assert (result.code, KNOWN in result.out) == (0, True)
    assert re.search(rf"\b{name}\b", check(tmp_path, "--help").out)


def test_json_holds_the_fields(tmp_path: Path) -> None:
    result = check(fill(tmp_path, {**DAY, KNOWN: WARNING}), "--format", "json")
    whole = json.loads(result.out)
    schema = Path(contextasm.__file__).parent / "rendering" / "schemas" / "findings-1.json"
    Draft202012Validator(json.loads(schema.read_text(encoding="utf-8"))).validate(whole)
    assert whole["schema"] == "ctxasm.findings/1"
    (finding,) = whole["findings"]
    assert (finding["id"], finding["severity"], finding["path"], finding["line"]) == ("reference", "warning", KNOWN, 1)
    assert finding["message"] and finding["hint"]  # noqa: PT018 - either would do


def _repository(folder: Path) -> Path:
    (folder / ".git").mkdir()
    return fill(folder / "docs" / "ctx", {**DAY, KNOWN: f"Text\n{TOKEN}\n"})


def test_sarif_has_paths_from_the_top_of_the_repository(tmp_path: Path) -> None:
    sarif: Any = json.loads(check(_repository(tmp_path), "-f", "sarif").out)
    place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": f"docs/ctx/{KNOWN}"}, "region": {"startLine": 2}}


def test_check_writes_nothing(tmp_path: Path) -> None:
    outputs = "outputs:\n  - file: OUT.md\n    agent: a\n"
    fill(tmp_path, {"ctxasm.yaml": f"{DAY['ctxasm.yaml']}{outputs}", "OUT.md": "old\n"})
    before = {path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes()) for path in tmp_path.rglob("*")}
    assert check(tmp_path).code == 1
    assert before == {
        path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes()) for path in tmp_path.rglob("*")
    }


def test_a_dangerous_text_is_shown_in_a_form_that_does_no_harm(tmp_path: Path) -> None:
    result = check(fill(tmp_path, {**DAY, KNOWN: "Text \u202e txet \x1b[31m.\n"}))
    assert result.out.isprintable() or set(result.out) - {"\n"} == set(result.out.replace("\n", ""))
    assert "\u202e" not in result.out
    assert "\x1b" not in result.out


@pytest.mark.parametrize("text", ["# K\n\n" + "A line of words.\n\n" * 600, "word " * 1520], ids=["cut", "nearly full"])
def test_the_limit_that_a_remedy_names_is_enough(tmp_path: Path, text: str) -> None:
    told = check(fill(tmp_path, {**DAY, KNOWN: text}), "--strict")
    named = re.search(r"set its `max_tokens` to (\d+)", told.out)
    assert told.code == 1
    assert named
    fill(tmp_path, {"ctxasm.yaml": f"{DAY['ctxasm.yaml']}layers:\n  - id: L7\n    max_tokens: {named[1]}\n"})
    assert "[cut]" not in check(tmp_path).out


def test_a_typed_setting_holds_for_every_build(tmp_path: Path) -> None:
    fill(tmp_path, {**DAY, "agents/a/daily/2025-03-20.md": "x\n"})
    assert "[future]" in check(tmp_path).out
    assert check(tmp_path, "--date", "2025-03-20").out == "no findings\n"


def test_only_what_a_named_path_concerns_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owners = {path.replace("/a/", f"/{name}/"): text for name in "abc" for path, text in SMALL.items()}
    long_text = "# K\n\n" + "A line of words.\n\n" * 600
    teams = {f"teams/{name}/GOALS.md": "Goals.\n" for name in "xyz"}
    root = fill(tmp_path, {**owners, **teams, "agents/b/KNOWLEDGE.md": long_text})
    built: list[tuple[str, str]] = []

    def run(_: PreparedBuild, build: Build | None = None) -> Context:
        assert build
        built.append((build.request.agent, build.request.team))
        return assemble(build)

    monkeypatch.setattr(PreparedBuild, "run", run)
    whole = inside("check", "-w", root).out.split("\n")[0]
    assert len(built) == 9
    built.clear()
    assert inside("check", "-w", root, "agents/b/KNOWLEDGE.md").out.split("\n")[0] == whole
    assert built == [("b", "x"), ("b", "y"), ("b", "z")]
    built.clear()
    inside("check", "-w", root, "teams/y", "teams/z/GOALS.md")
    assert built == [(agent, team) for agent in "abc" for team in "yz"]
    built.clear()
    assert inside("check", "-w", root, "--baseline", root / "b.json", "--update-baseline").code == 0
    built.clear()
    assert "no longer found" not in inside("check", "-w", root, "--baseline", root / "b.json", "teams/y").err
    assert len(built) == 9
