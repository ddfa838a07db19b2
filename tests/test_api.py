"""`import contextasm`: what programs call, and that it does what the command line does."""

import doctest
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from enum import Enum
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import contextasm
from contextasm.api import RequestOptions
from contextasm.config.input.options import Options
from contextasm.model import Context
from tests.command import ROOT, SAMPLE, SMALL_TEXT, fill, inside, python


class _Format(str, Enum):  # noqa: UP042 - the older kind, whose own text is `_Format.JSON`
    JSON = "json"


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CTXASM_AGENT", "CTXASM_TEAM", "CTXASM_WORKSPACE", "CTXASM_LOCKED"):
        monkeypatch.delenv(name, raising=False)


def test_every_option_of_a_request_has_its_parameter() -> None:
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
        (("--exclude", "teams/q1/daily/*"), {"exclude": "teams/q1/daily/*"}),
        (("--open", "game/ui/menu.tide"), {"open": Path("game/ui/menu.tide")}),
        (("--scope", "L3,L7"), {"scope": "L3,L7"}),
        (("--scope", "L3,L7", "-b", "4000"), {"scope": {"L7", "L3"}, "budget": 4000.0}),
        (("--date", "2025-03-10"), {"date": datetime(2025, 3, 10, 23, 59, tzinfo=UTC)}),
        (("-f", "json", "--layer", "L3=2k"), {"format": _Format.JSON, "layers": {"L3": "2k"}}),
        (("--var", "phase=3"), {"variables": {"phase": 3}}),
    ],
)
def test_build_gives_the_bytes_of_the_command(words: tuple[str, ...], options: Mapping[str, Any]) -> None:
    context = contextasm.build(agent="luna", team="q1", workspace=SAMPLE, **options)
    assert contextasm.render(context) == inside("build", "-q", "-w", SAMPLE, "-a", "luna", "-t", "q1", *words).out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": True}, "budget: is of the type bool: give a number"),
        ({"budget": 4000.5}, "`4000.5` is not a number of tokens"),
        ({"budget": float("nan")}, "budget: the number is out of range"),
        ({"agent": 5}, "agent: is of the type int: give a text"),
        ({"exclude": ["a", 1]}, "exclude: is of the type int: give a text"),
        ({"exclude": {"a": 1}}, "exclude: is of the type dict: give a text, or a list of texts"),
        ({"exclude": b"a"}, "exclude: is of the type bytes"),
        ({"open": 7}, "open: is of the type int: give a path, or a list of paths"),
        ({"layers": "L3=300"}, "layers: is of the type str: give a mapping"),
        ({"layers": {"L3": [1]}}, "layers: L3: is of the type list: give a number"),
        ({"variables": {"a=b": "c"}}, "variables: has an empty name, or a name with `=`"),
        ({"workspace": "a\0b"}, "workspace: contains a NUL character"),
        ({"topic": "\ud800"}, "topic: character 1 is not valid Unicode"),
        ({"date": 20250310}, "date: is of the type int"),
        ({"workspace": "x" * 5000}, "File name too long"),
    ],
)
def test_value_of_the_wrong_type_is_refused_in_one_line(options: Mapping[str, Any], words: str) -> None:
    with pytest.raises(contextasm.ContextasmError, match=re.escape(words)) as raised:
        contextasm.build(**{"agent": "luna", "workspace": SAMPLE, **options})
    assert "\n" not in str(raised.value)


def test_parameters_beside_the_options_are_checked(tmp_path: Path) -> None:
    fill(tmp_path, {})
    remember = partial(contextasm.remember, workspace=tmp_path)
    for call, words in (
        (lambda: contextasm.owners("agnt", tmp_path), "kind: unknown value `agnt`: did you mean agent?"),  # type: ignore[arg-type]
        (lambda: contextasm.count("x", tokenizer="o200k"), "--tokenizer: unknown tokenizer `o200k`: did you mean"),
        (lambda: contextasm.fit("x", "many"), "budget: `many` is not a number of tokens"),
        (lambda: contextasm.fit("x", 5, keep="top"), "keep: unknown value `top`"),  # type: ignore[arg-type]
        (lambda: contextasm.fit("x" * 99, 4), "budget: 4 tokens are too few for a line and its marker: give more"),
        (lambda: contextasm.count(7), "text: is of the type int"),  # type: ignore[arg-type]
        (lambda: contextasm.search("x", top=0, workspace=tmp_path), "top: the number is out of range"),
        (lambda: contextasm.search("x", everywhere=1, workspace=tmp_path), "everywhere: is of the type int"),  # type: ignore[arg-type]
        (lambda: contextasm.find_memory(7, workspace=tmp_path), "name: is of the type int"),  # type: ignore[arg-type]
        (lambda: contextasm.render("text"), "context: is of the type str"),  # type: ignore[arg-type]
        (lambda: remember("a", audience="Shraed"), "audience: unknown value `Shraed`: did you mean shared?"),
        (lambda: remember("a", audience=""), "audience: unknown value"),
        (lambda: remember("a", force="no"), "force: is of the type str: give True or False"),  # type: ignore[arg-type]
        (lambda: remember("a", tags=["b", None]), "tags: is of the type NoneType"),  # type: ignore[list-item]
        (lambda: remember("a", supersedes="m-1"), "m-1"),
        (lambda: remember(b"a"), "text: is of the type bytes"),  # type: ignore[arg-type]
        (lambda: remember("a", expires="Friday"), "expires: `Friday` is not a date"),
        (lambda: remember("a", expires=5), "expires: is of the type int: give a text"),  # type: ignore[arg-type]
        (lambda: remember("a", valid_from=date(2025, 3, 2), expires="2025-03-01"), "expires: is before the first day"),
        (lambda: contextasm.log(5, workspace=tmp_path), "text: is of the type int"),  # type: ignore[arg-type]
    ):
        with pytest.raises(contextasm.ContextasmError, match=re.escape(words)):
            call()
    assert not (tmp_path / "agents/a/memories").exists()
    assert not (tmp_path / "agents/a/daily").exists()


def test_unknown_parameter_is_a_type_error_with_the_known_ones() -> None:
    with pytest.raises(
        TypeError, match=r"unexpected keyword argument 'agnt': did you mean agent\? \(available: agent, "
    ):
        contextasm.build(agnt="luna")  # type: ignore[call-arg]


def test_a_memory_has_its_two_days(tmp_path: Path) -> None:
    fill(tmp_path, {})
    days: dict[str, Any] = {"valid_from": date(2025, 3, 2), "expires": "2025-03-04"}
    memory = contextasm.remember("The lift is out", **days, workspace=tmp_path).memory
    assert (memory.valid_from, memory.expires) == ("2025-03-02", "2025-03-04")


def test_one_tag_is_one_tag(tmp_path: Path) -> None:
    fill(tmp_path, {})
    old = contextasm.remember("The demo is at noon", tags="art", workspace=tmp_path).memory
    assert old.tags == ("art",)
    contextasm.remember("The demo is at six", supersedes=old.id, workspace=tmp_path)
    assert contextasm.find_memory(old.id, workspace=tmp_path).status == "superseded"


def test_option_that_is_none_is_as_if_it_were_missing() -> None:
    assert contextasm.build(agent="luna", workspace=SAMPLE, team=None, topic=None) == contextasm.build(
        agent="luna", workspace=SAMPLE
    )


@pytest.mark.parametrize("function", [contextasm.build, contextasm.explain])
def test_lock_in_the_environment_lets_approved_files_in_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: Callable[..., Context]
) -> None:
    fill(tmp_path, {})
    monkeypatch.setenv("CTXASM_LOCKED", "1")
    with pytest.raises(contextasm.ContextasmError, match=r"ctxasm\.lock"):
        function(workspace=tmp_path)
    assert inside("lock", "-w", tmp_path).code == 0
    assert function(workspace=tmp_path).text == SMALL_TEXT
    (tmp_path / "agents/a/INSTRUCTIONS.md").write_text("Do something else.\n")
    with pytest.raises(contextasm.ContextasmError, match=r"agents/a/INSTRUCTIONS\.md"):
        function(workspace=tmp_path)


def test_text_to_remember_is_checked_as_that_of_the_command(tmp_path: Path) -> None:
    fill(tmp_path, {})
    outcome = contextasm.remember(
        "Token ghp_016C7mB4nQw8eXyZ12345678abcdefABCD1234 is\u200b here",
        agent="a",
        workspace=tmp_path,
        importance="high",
        tags=["x"],
        key="k",
        cites="agents/a/IDENTITY.md:1",
    )
    assert (outcome.what, outcome.memory.importance, outcome.memory.tags) == ("stored", 0.75, ("x",))
    assert outcome.memory.cites[0].startswith("agents/a/IDENTITY.md:1-1@")
    assert {problem.code for problem in outcome.problems} == {"hidden-text", "secret"}
    assert "\u200b" not in (tmp_path / outcome.memory.path).read_text()
    for fields in (
        {"file": "notes.md"},
        {"type": "a]b"},
        {"importance": 7.0},
        {"tags": ["a,b"]},
        {"cites": "none.py:1"},
    ):
        with pytest.raises(contextasm.ContextasmError):
            contextasm.remember("Other words", workspace=tmp_path, **fields)


def test_text_of_a_log_is_checked_as_that_of_the_command(tmp_path: Path) -> None:
    fill(tmp_path, {})
    text = "Token ghp_016C7mB4nQw8eXyZ12345678abcdefABCD1234 is\u200b here"
    outcome = contextasm.log(text, workspace=tmp_path, date="2025-03-14")
    assert (outcome.path, outcome.made) == ("agents/a/daily/2025-03-14.md", True)
    assert {problem.code for problem in outcome.problems} == {"hidden-text", "secret"}
    assert "\u200b" not in (tmp_path / outcome.path).read_text()
    assert contextasm.log("Calm.", workspace=tmp_path, date="2025-03-14") == (outcome.path, False, ())
    stored = (tmp_path / outcome.path).read_bytes()
    for bad in ("", " \n", "a\0b"):
        with pytest.raises(contextasm.ContextasmError, match="text: "):
            contextasm.log(bad, workspace=tmp_path, date="2025-03-14")
    assert (tmp_path / outcome.path).read_bytes() == stored


def test_error_of_the_machine_is_the_line_that_the_command_prints(tmp_path: Path) -> None:
    fill(tmp_path, {"agents/a/daily": "no folder\n"})
    printed = inside("log", "Calm.", "-w", tmp_path, "--date", "2025-03-14")
    with pytest.raises(contextasm.ContextasmError) as raised:
        contextasm.log("Calm.", workspace=tmp_path, date="2025-03-14")
    assert printed.err == f"ctxasm: error: {raised.value}\n"


def test_importing_the_package_loads_none_of_its_rooms() -> None:
    code = "import sys, contextasm; print([n for n in sys.modules if n.startswith('contextasm.')], dir(contextasm)[0])"
    assert python(code).out == "[] ContextasmError\n"
    with pytest.raises(AttributeError, match="has no attribute 'asemble'"):
        contextasm.asemble  # noqa: B018 - the misspelt name


@pytest.mark.parametrize(("page", "least"), [("python.md", 10), ("chat.md", 5)])
def test_examples_of_the_manual_run(page: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    copy = copytree(SAMPLE, tmp_path / "copy")
    failed, tried = doctest.testfile(
        str(ROOT / "docs" / page), module_relative=False, globs={"copy": copy}, encoding="utf-8"
    )
    assert (failed, tried > least) == (0, True)


@pytest.mark.parametrize(
    ("files", "text"),
    [({}, "The key is under the mat {private=true}"), ({"x.md": "---\nprivate: true\n---\n- Here\n"}, "The key")],
)
def test_a_shared_audience_is_told_that_it_can_store_nothing_private(
    tmp_path: Path, files: Mapping[str, str], text: str
) -> None:
    fill(tmp_path, {f"agents/a/memories/{name}": content for name, content in files.items()})
    place = tmp_path / "agents/a/memories/x.md"
    with pytest.raises(contextasm.ContextasmError, match="the memory would be private there"):
        contextasm.remember(text, agent="a", workspace=tmp_path, file=place, audience="shared")
    contextasm.remember(text, agent="a", workspace=tmp_path, file=place)
    assert text in place.read_text()


@pytest.mark.parametrize(("tokenizer", "tokens"), [(None, 6), ("o200k_base", 6), ("chars", 22), ("bytes", 22)])
def test_count_gives_the_tokens_of_a_text_and_0_of_none(tokenizer: str | None, tokens: int) -> None:
    assert contextasm.count("The demo is on Friday.", tokenizer=tokenizer) == tokens
    assert contextasm.count("", tokenizer=tokenizer) == 0


def test_fit_gives_a_text_that_fits_as_it_is_and_else_the_end_that_is_spared() -> None:
    """Source 001: `compress(content, maxTokens)`."""
    text = "# Log\n\nMonday was calm.\n\nTuesday had rain.\n\nWednesday had wind and snow.\n"
    assert contextasm.fit(text, "1k") == text
    assert contextasm.fit(text, 12) == "# Log\n\nMonday was calm.\n... [truncated]\n"
    assert contextasm.fit(text, 16, keep="end") == "# Log\n... [truncated]\nWednesday had wind and snow.\n"


def test_fit_masks_secrets_and_removes_hidden_characters() -> None:
    assert contextasm.fit("a\u200bb AKIA" + "IOSFODNN7EXAMPLZ", 100) == "ab [masked:aws-access-key-id]"


def test_a_text_is_counted_as_the_variable_or_the_settings_here_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, {"ctxasm.yaml": "tokenizer: bytes\n"})
    monkeypatch.chdir(tmp_path)
    assert contextasm.count("é") == 2
    monkeypatch.setenv("CTXASM_TOKENIZER", "chars")
    assert contextasm.count("é") == 1
    assert contextasm.count("ééé", tokenizer="estimate") == 1


def test_count_agrees_with_build() -> None:
    context = contextasm.build(agent="luna", team="q1", workspace=SAMPLE, tokenizer="o200k_base")
    assert contextasm.count(context.text, tokenizer="o200k_base") == context.tokens
