"""The plug-in of `llm`: contexts as fragments and templates, and tools."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from llm.cli import cli
from llm.plugins import pm

from contextasm.integrations import llm_plugin
from tests.command import ROOT, SAMPLE, fill, inside


@pytest.fixture(autouse=True)
def _plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The plug-in, registered once however it was installed; a database of its own."""
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    monkeypatch.setenv("CTXASM_WORKSPACE", str(SAMPLE))
    is_new = not pm.is_registered(llm_plugin)
    if is_new:
        pm.register(llm_plugin)
    yield
    if is_new:
        pm.unregister(llm_plugin)


def run(*words: str) -> str:
    result = CliRunner().invoke(cli, [*words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def built(*words: str) -> str:
    return inside("build", "-q", "-w", SAMPLE, "--audience", "shared", *words).out


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("luna/q1@4k", ("-a", "luna", "-t", "q1", "-b", "4k")),
        ("luna", ("-a", "luna")),
        ("luna/q1@2k?who breaks the lamp?", ("-a", "luna", "-t", "q1", "-b", "2k", "--topic", "who breaks the lamp?")),
    ],
)
def test_fragment_is_the_document(argument: str, words: tuple[str, ...]) -> None:
    told = json.loads(run("-m", "echo", "-f", f"ctxasm:{argument}", "Go on.", "--no-log", "-n"))
    assert told["prompt"].startswith(built(*words).rstrip("\n"))
    assert told["prompt"].endswith("Go on.")


PAGE = (ROOT / "docs/how-to/llm.md").read_text(encoding="utf-8")
LINES = [line for line in PAGE.splitlines() if line.startswith("llm -")]


@pytest.mark.parametrize("line", LINES)
def test_line_of_the_page_works(line: str) -> None:
    _, *words = shlex.split(line)
    told = json.loads(run(*words, "-m", "echo", "--no-log", "-n"))
    assert "## Identity" in told["prompt"] + (told.get("system") or "")


def test_page_shows_a_fragment_and_a_template() -> None:
    assert sorted(line.split()[1] for line in LINES) == ["-f", "-t"]


def test_template_is_the_system_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, {"agents/a/KNOWLEDGE.md": "It costs $5, or ${PRICE}.\n"})
    monkeypatch.setenv("CTXASM_WORKSPACE", str(tmp_path))
    told = json.loads(run("-m", "echo", "-t", "ctxasm:a", "Go on.", "--no-log", "-n"))
    assert told["system"].strip() == inside("build", "-q", "-w", tmp_path).out.strip()
    assert "It costs $5, or ${PRICE}." in told["system"]


def test_unknown_agent_is_one_line() -> None:
    result = CliRunner().invoke(cli, ["-m", "echo", "-f", "ctxasm:lune", "x", "--no-log"])
    assert result.exit_code == 1
    assert "did you mean luna?" in result.output
    assert "Traceback" not in result.output


def test_tools_search_and_build() -> None:
    assert "ctxasm_search" in run("tools", "list")
    assert "Build the context that an agent starts from" in run("tools", "list")
    assert llm_plugin.ctxasm_build("luna", "q1", budget="2k") == built("-a", "luna", "-t", "q1", "-b", "2k")
    line = llm_plugin.ctxasm_search("the date of the demo", top=1)
    assert line.startswith("harbor-demo-date ")
    with pytest.raises(ValueError, match="did you mean luna"):
        llm_plugin.ctxasm_search("x", agent="lune")


def test_loaders_say_what_they_take() -> None:
    assert "ctxasm:AGENT[/TEAM][@BUDGET][?TOPIC]" in run("fragments", "loaders")


def test_nothing_private_gets_to_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "- [fact] The vault opens at noon\n- [fact] The vault code is moon {private=true}\n"
    fill(tmp_path, {"agents/a/memories/m.md": text})
    monkeypatch.setenv("CTXASM_WORKSPACE", str(tmp_path))
    words = ("Go on.", "--no-log", "-n")
    told = [run("-m", "echo", option, "ctxasm:a?the vault", *words) for option in ("-f", "-t")]
    told += [llm_plugin.ctxasm_build("a", topic="the vault"), llm_plugin.ctxasm_search("the vault")]
    assert [("opens at noon" in each, "moon" in each) for each in told] == [(True, False)] * 4
    assert "ctxasm: 1 private part left out because the context is shared\n" in capsys.readouterr().err


def test_problems_of_a_build_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path, {"agents/a/KNOWLEDGE.md": b"\xff\xfe\xff"})
    monkeypatch.setenv("CTXASM_WORKSPACE", str(tmp_path))
    told = inside("build", "-w", tmp_path, "--audience", "shared").err.splitlines()
    llm_plugin.load_fragment("a")
    warnings = [line for line in told if line.startswith("ctxasm: warning: agents/a/KNOWLEDGE.md")]
    assert warnings
    assert [line for line in capsys.readouterr().err.splitlines() if line in warnings] == warnings
