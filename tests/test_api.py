"""`import contextasm`: what programs call, and that it does what the command line does."""

from __future__ import annotations

import doctest
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import contextasm
from contextasm.api import RequestOptions
from contextasm.config.options import Options
from tests.command import ROOT, SAMPLE, fill, inside, python


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the person who runs the tests gets in."""
    for name in ("CTXASM_AGENT", "CTXASM_TEAM", "CTXASM_WORKSPACE", "CTXASM_LOCKED"):
        monkeypatch.delenv(name, raising=False)


def test_every_option_of_a_request_has_its_parameter() -> None:
    """And no other."""
    assert [*RequestOptions.__annotations__] == [*Options._fields]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ((), {}),
        (("--topic", "the date of the demo", "-b", "2k"), {"topic": "the date of the demo", "budget": 2000}),
        (("-f", "xml", "--date", "2025-03-10"), {"format": "xml", "date": date(2025, 3, 10)}),
        (
            ("--layer", "L3=200", "--layer", "L7=100", "--scope", "L3,L7", "--exclude", "teams/q1/daily/*"),
            {"layers": {"L3": 200, "L7": 100}, "scope": ["L3", "L7"], "exclude": ["teams/q1/daily/*"]},
        ),
        (("--var", "phase=beta", "--deadline", "60000"), {"variables": {"phase": "beta"}, "deadline": 60000}),
        (("--topic", "", "--since", "2025-03-10"), {"topic": "", "since": date(2025, 3, 10)}),
    ],
)
def test_build_gives_the_bytes_of_the_command(words: tuple[str, ...], options: Mapping[str, Any]) -> None:
    """With options as a program has them: numbers, dates, lists, mappings."""
    context = contextasm.build(agent="luna", team="q1", workspace=SAMPLE, **options)
    assert contextasm.render(context) == inside("build", "-q", "-w", SAMPLE, "-a", "luna", "-t", "q1", *words).out


def test_option_that_is_none_is_as_if_it_were_missing() -> None:
    """A program passes on what it was given."""
    assert contextasm.build(agent="luna", workspace=SAMPLE, team=None, topic=None) == contextasm.build(
        agent="luna", workspace=SAMPLE
    )


def test_build_with_a_lock_in_the_environment_reads_approved_files_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the command does."""
    fill(tmp_path, {})
    monkeypatch.setenv("CTXASM_LOCKED", "1")
    with pytest.raises(contextasm.ContextasmError, match=r"ctxasm\.lock"):
        contextasm.build(workspace=tmp_path)


def test_text_to_remember_is_checked_as_that_of_the_command(tmp_path: Path) -> None:
    """A hidden character goes, a secret is told, and a file that no build reads is refused."""
    fill(tmp_path, {})
    outcome = contextasm.remember(
        "Token ghp_016C7mB4nQw8eXyZ12345678abcdefABCD1234 is\u200b here",
        agent="a",
        workspace=tmp_path,
        importance="high",
        tags=["x"],
        key="k",
    )
    assert (outcome.what, outcome.memory.importance, outcome.memory.tags) == ("stored", 0.75, ("x",))
    assert {problem.code for problem in outcome.problems} == {"hidden-text", "secret"}
    assert "\u200b" not in (tmp_path / outcome.memory.path).read_text()
    for fields in ({"file": "notes.md"}, {"type": "a]b"}, {"importance": 7.0}, {"tags": ["a,b"]}):
        with pytest.raises(contextasm.ContextasmError):
            contextasm.remember("Other words", workspace=tmp_path, **fields)


def test_importing_the_package_loads_none_of_its_rooms() -> None:
    """Nor a library; the first call does."""
    code = "import sys, contextasm; print([n for n in sys.modules if n.startswith('contextasm.')], dir(contextasm)[0])"
    assert python(code).out == "[] ContextasmError\n"
    with pytest.raises(AttributeError, match="has no attribute 'asemble'"):
        contextasm.asemble  # noqa: B018 - the misspelt name


def test_examples_of_the_manual_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Word for word, in the repository; what they change is a copy."""
    monkeypatch.chdir(ROOT)
    copy = copytree(SAMPLE, tmp_path / "copy")
    failed, tried = doctest.testfile(
        str(ROOT / "docs" / "python.md"), module_relative=False, globs={"copy": copy}, encoding="utf-8"
    )
    assert (failed, tried > 10) == (0, True)
