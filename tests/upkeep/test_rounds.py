"""Rounds of one application: what a later round settles, what waits for the others, and what takes all of them back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import pytest

from contextasm.config.input.settings import load_settings_file
from contextasm.config.keys.upkeep import parse_upkeep
from contextasm.model import ContextasmError
from contextasm.upkeep import apply as tidy
from contextasm.upkeep.actions import Action
from contextasm.upkeep.apply import Applied
from contextasm.upkeep.input import UpkeepInput
from contextasm.workspace.editing.memory_file import Edit
from contextasm.workspace.folder import Folder
from tests.command import fill, inside
from tests.upkeep.trees import tree

DAY = date(2026, 3, 14)


def action(path: str, old: bytes, new: bytes) -> Action:
    """One that changes the beginning of a file."""
    return Action("test", (path,), "a test wants it", needs_approval=False, edits=(Edit(path, 0, old, new),))


def applied(root: Path, monkeypatch: pytest.MonkeyPatch, *plans: Sequence[Action] | BaseException) -> Applied:
    """What comes of an application whose rounds have these plans, the last of them empty."""
    left = [*plans, ()]

    def next_plan(_: UpkeepInput) -> Sequence[Action]:
        plan = left.pop(0)
        if isinstance(plan, BaseException):
            raise plan
        return plan

    monkeypatch.setattr(tidy, "make_plan", next_plan)
    folder = Folder(root)
    settings = load_settings_file(folder)
    upkeep = UpkeepInput(folder, parse_upkeep(settings), settings, DAY)
    return tidy.apply_all(upkeep, lambda _: True)


def test_what_one_round_left_out_is_settled_where_the_next_finds_nothing_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, {"a.md": b"One"})
    both = [action("a.md", b"One", b"1"), action("a.md", b"On", b"x")]
    done = applied(tmp_path, monkeypatch, both)
    assert (done.actions, done.left_out) == ((both[0],), ())


def test_what_no_round_can_do_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, {"a.md": b"One"})
    stale = action("a.md", b"Two", b"2")
    done = applied(tmp_path, monkeypatch, [stale], [stale], [stale])
    assert [action for action, _ in done.left_out] == [stale]


def test_a_plan_that_fails_in_a_later_round_takes_back_the_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, {"a.md": b"One"})
    before = tree(tmp_path)
    failed = ContextasmError("ctxasm.yaml", "can't be read", "make it readable")
    with pytest.raises(ContextasmError, match="can't be read"):
        applied(tmp_path, monkeypatch, [action("a.md", b"One", b"1")], failed)
    assert tree(tmp_path) == before


def test_policies_count_what_stays_after_the_memories_are_in_order(tmp_path: Path) -> None:
    long = "word " * 60
    memories = (
        f"- [fact] Alpha {long}\n- [fact] Beta {'harbor ' * 45}\n- [fact] Gone {'x' * 400} {{status=deprecated}}\n"
    )
    policy = "upkeep:\n  retention:\n    all: {types: fact, evict: {max_kb: 0.8, lru: 0}}\n"
    root = fill(tmp_path, {"agents/a/memories/m.md": memories, "ctxasm.yaml": policy})
    planned = inside("tidy", "-w", root, "--date", str(DAY), "--json")
    assert [action["verb"] for action in json.loads(planned.out)["actions"]] == ["archive"]
    done = inside("tidy", "-w", root, "--date", str(DAY), "--apply", "--all")
    assert done.code == 0, done.err
    left = (root / "agents/a/memories/m.md").read_text(encoding="utf-8")
    assert ("Alpha" in left, "Beta" in left, "Gone" in left) == (True, True, False)


@pytest.mark.parametrize("max_kb", [0.1, 0.5, 0.9, 1.4])
def test_a_bare_plan_evicts_what_an_application_evicts(tmp_path: Path, max_kb: float) -> None:
    files = {
        "agents/a/memories/m.md": "".join(f"- [fact] {name} {word * 30}\n" for name, word in _TEXTS)
        + f"- [fact] Alpha {'harbor ' * 30}{{created=2026-03-01}}\n- [fact] Gone {'x' * 200} {{status=deprecated}}\n",
        "agents/a/memories/old.md": f"---\ntype: fact\nstatus: deprecated\n---\n{'stone ' * 40}\n",
        "ctxasm.yaml": f"upkeep:\n  retention:\n    all: {{types: fact, evict: {{max_kb: {max_kb}, lru: 0}}}}\n",
    }
    root = fill(tmp_path, files)
    words = ("tidy", "-w", root, "--date", str(DAY), "--json")
    planned = json.loads(inside(*words).out)["actions"]
    assert len([action for action in planned if action["verb"] == "archive"]) == 2
    applied = json.loads(inside(*words, "--apply", "--all").out)["applied"]
    assert _evicted(planned) == _evicted(applied)


_TEXTS = [("Alpha", "harbor "), ("Beta", "winter "), ("Delta", "copper ")]


def _evicted(actions: Sequence[Mapping[str, object]]) -> list[str]:
    """The memories that are evicted: their ids are made of their texts."""
    return sorted(str(action["targets"]) for action in actions if action["verb"] == "evict")


class _Killed(BaseException):
    """In place of a signal that ends the process between two rounds: nothing after it runs."""


def test_an_application_that_is_killed_between_two_rounds_is_taken_back_by_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, {"a.md": b"One", "agents/a/memories/m.md": "- Two\n"})
    before = tree(tmp_path)
    monkeypatch.setattr(tidy, "withdraw", lambda *_: None)
    with pytest.raises(_Killed):
        applied(tmp_path, monkeypatch, [action("a.md", b"One", b"1")], _Killed())
    assert (tmp_path / "a.md").read_bytes() == b"1"
    told = inside("log", "Something else", "-a", "a", "-w", tmp_path)
    assert "an interrupted `ctxasm tidy` was undone: 1 file is as before" in told.err
    assert (tmp_path / "a.md").read_bytes() == b"One"
    assert {path: data for path, data in tree(tmp_path).items() if path in before} == before
