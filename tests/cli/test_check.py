"""`ctxasm check` as people, hooks and CI run it: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator

import contextasm
from contextasm.checks.formats import FORMATS
from contextasm.config.build import PreparedBuild
from contextasm.model import Build, Context
from contextasm.pipeline import assemble
from tests.checks.test_checks import DAY, KNOWN, MEMORY, TOKEN
from tests.command import SMALL, Result, ctxasm, fill, inside, refused

WARNING = "See [it](GONE.md).\n"
NOTE = "日本語の文" * 9 + "\n"


def check(folder: Path, *words: str | Path, **env: str) -> Result:
    return inside("check", *words, cwd=folder, env=env)


@pytest.mark.parametrize(
    ("text", "plain", "strict"),
    [("Sound.\n", 0, 0), (NOTE, 0, 0), (WARNING, 0, 1), (f"{TOKEN}\n", 1, 1)],
    ids=["nothing", "note", "warning", "error"],
)
def test_exit_code_tells_how_bad_it_is(tmp_path: Path, text: str, plain: int, strict: int) -> None:
    fill(tmp_path, {**DAY, KNOWN: text})
    assert check(tmp_path).code == plain
    assert check(tmp_path, "--strict").code == strict


def test_a_finding_is_a_line_with_place_severity_remedy_and_id(tmp_path: Path) -> None:
    result = ctxasm("check", cwd=fill(tmp_path, {**DAY, KNOWN: WARNING}))
    assert (result.code, result.err) == (0, "")
    line, summary = result.out.splitlines()
    assert line.startswith(f"{KNOWN}:1: warning: refers to GONE.md, and there is no file agents/a/GONE.md: correct the")
    assert line.endswith(" [reference]")
    assert summary == "1 finding: 1 warning"


def test_a_sound_workspace_says_so(tmp_path: Path) -> None:
    assert check(fill(tmp_path, DAY)) == (0, "no findings\n", "")


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


def test_github_is_chosen_in_actions_with_paths_from_the_top_of_the_repository(tmp_path: Path) -> None:
    folder = _repository(tmp_path)
    result = check(folder, GITHUB_ACTIONS="true")
    assert result.code == 1
    assert result.out.startswith(f"::error file=docs/ctx/{KNOWN},line=2,title=secret::")
    assert result.out == check(folder, "--format", "github").out
    assert check(folder, "--format", "text", GITHUB_ACTIONS="true").out.startswith(f"{KNOWN}:2: error: ")


def test_sarif_has_paths_from_the_top_of_the_repository(tmp_path: Path) -> None:
    sarif: Any = json.loads(check(_repository(tmp_path), "-f", "sarif").out)
    place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": f"docs/ctx/{KNOWN}"}, "region": {"startLine": 2}}


@pytest.mark.parametrize(("words", "failures"), [((), "0"), (("--strict",), "1")])
def test_junit_fails_a_warning_only_if_strict(tmp_path: Path, words: tuple[str, ...], failures: str) -> None:
    fill(tmp_path, {**DAY, KNOWN: WARNING, MEMORY: f"- [fact] {NOTE!s}"})
    suite = ET.fromstring(check(tmp_path, "-f", "junit", *words).out)  # noqa: S314 - of our own making
    assert (suite.get("tests"), suite.get("failures")) == ("2", failures)


def test_paths_limit_what_is_told_and_what_fails(tmp_path: Path) -> None:
    fill(tmp_path, {**DAY, KNOWN: f"{TOKEN}\n", MEMORY: "- [fact] A fact {importance=7}\n"})
    assert check(tmp_path, MEMORY).code == 0
    assert "[memory]" in check(tmp_path, MEMORY).out
    assert check(tmp_path / "agents", "a/memories").out == check(tmp_path, MEMORY).out
    assert check(tmp_path / "agents", KNOWN).code == 1
    assert check(tmp_path, "agents", "ctxasm.yaml").out == check(tmp_path, ".").out == check(tmp_path).out


def test_a_path_that_no_build_reads_is_checked_when_named(tmp_path: Path) -> None:
    fill(tmp_path, {**DAY, "README.md": f"{TOKEN}\n"})
    assert check(tmp_path).code == 0
    assert check(tmp_path, "README.md").out.startswith("README.md:1: error: ")


def test_a_file_that_is_a_link_goes_by_its_own_name(tmp_path: Path) -> None:
    fill(tmp_path / "in", {**DAY, "shared.md": f"{TOKEN}\n"})
    (tmp_path / "in" / KNOWN).symlink_to("../../shared.md")
    (tmp_path / "link").symlink_to("in")
    assert check(tmp_path / "in", KNOWN).out.startswith(f"{KNOWN}:1: error: ")
    assert check(tmp_path, f"link/{KNOWN}", "-w", "in").out.startswith(f"{KNOWN}:1: error: ")
    assert check(tmp_path, "link", "-w", "in").code == 1


@pytest.mark.parametrize(("path", "part"), [("no.md", "no such file"), ("../x.md", "outside the workspace")])
def test_a_path_that_can_not_be_checked_is_refused(tmp_path: Path, path: str, part: str) -> None:
    (tmp_path / "x.md").touch()
    refused(check(fill(tmp_path / "in", DAY), path), path, part)


def test_a_baseline_accepts_what_is_there_and_fails_on_what_is_new(tmp_path: Path) -> None:
    fill(tmp_path, {**DAY, KNOWN: f"{TOKEN}\n"})
    words = ("--baseline", "accepted.json")
    written = check(tmp_path, *words, "--update-baseline")
    assert written == (0, "", "accepted.json: written: 1 accepted\n")
    assert TOKEN not in (tmp_path / "accepted.json").read_text()
    assert check(tmp_path, *words) == (0, "no findings\n", "accepted.json: 1 accepted\n")
    fill(tmp_path, {KNOWN: f"Above.\n{TOKEN}\n"})
    assert check(tmp_path, *words).code == 0
    fill(tmp_path, {KNOWN: f"Above.\n{TOKEN}\nText \u202e txet.\n"})
    result = check(tmp_path, *words)
    assert (result.code, "[secret]" in result.out, "[hidden]" in result.out) == (1, False, True)


def test_a_baseline_shrinks_on_request_only(tmp_path: Path) -> None:
    fill(tmp_path, {**DAY, KNOWN: f"{TOKEN}\n"})
    words = ("--baseline", "accepted.json")
    check(tmp_path, *words, "--update-baseline")
    before = (tmp_path / "accepted.json").read_bytes()
    fill(tmp_path, {KNOWN: "Sound.\n"})
    assert "1 no longer found: --update-baseline removes them" in check(tmp_path, *words).err
    assert (tmp_path / "accepted.json").read_bytes() == before
    assert "0 accepted" in check(tmp_path, *words, "--update-baseline").err
    assert (tmp_path / "accepted.json").read_bytes() != before


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--update-baseline",), "--baseline FILE"),
        (("--baseline", "none.json"), "--update-baseline"),
        (("--baseline", KNOWN), "not valid JSON"),
        (("--baseline", "b.json", "--update-baseline", KNOWN), "leave the paths out"),
        (("--format", "html"), "html"),
        (("-a", "zz"), "unknown agent zz"),
        (("--date", "2025-02-30"), "--date"),
        (("-p", "nosuch"), "unknown profile nosuch"),
    ],
)
def test_what_can_not_be_done_is_refused(tmp_path: Path, words: tuple[str, ...], part: str) -> None:
    refused(check(fill(tmp_path, {**DAY, KNOWN: "x\n"}), *words), part)
    assert not (tmp_path / "b.json").exists()


def test_no_workspace_is_refused(tmp_path: Path) -> None:
    refused(check(tmp_path), "no workspace here or above")


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


def test_the_budget_that_a_remedy_names_is_enough(tmp_path: Path) -> None:
    files = {"ctxasm.yaml": "date: 2025-03-14\nbudget: 50\n", "agents/a/IDENTITY.md": "word " * 100}
    named = re.search(r"give `budget` (\d+)", check(fill(tmp_path, files)).out)
    assert named
    assert check(tmp_path, "--budget", named[1]).code == 0


def test_a_typed_setting_holds_for_every_build(tmp_path: Path) -> None:
    fill(tmp_path, {**DAY, "agents/a/daily/2025-03-20.md": "x\n"})
    assert "[future]" in check(tmp_path).out
    assert check(tmp_path, "--date", "2025-03-20").out == "no findings\n"
    assert "[non-ascii]" in check(fill(tmp_path, {KNOWN: NOTE}), "--date", "2025-03-20").out
    assert "[non-ascii]" not in check(tmp_path, "--tokenizer", "o200k_base").out


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

    monkeypatch.setattr("contextasm.checks.inspection.run", run)
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
