"""Rounds of one application: what a later round settles, what waits for the others, and what takes all of them back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from contextasm.config.settings import load_settings_file
from contextasm.config.upkeep import parse_upkeep
from contextasm.config.yaml_loader import load_yaml
from contextasm.model import ContextasmError
from contextasm.upkeep import tidy
from contextasm.upkeep.action import Action, Edit
from contextasm.upkeep.apply import Applied
from contextasm.upkeep.plan import Plan
from contextasm.upkeep.upkeep_input import MemoryFiles, UpkeepInput
from contextasm.workspace.folder import Folder
from tests.command import fill, inside
from tests.upkeep.trees import tree

DAY = date(2026, 3, 14)


def action(path: str, old: bytes, new: bytes) -> Action:
    """One that changes the beginning of a file."""
    return Action("test", (path,), "a test wants it", needs_approval=False, edits=(Edit(path, 0, old, new),))


def applied(root: Path, monkeypatch: pytest.MonkeyPatch, *plans: Sequence[Action] | Exception) -> Applied:
    """What comes of an application whose rounds have these plans, the last of them empty."""
    left = [*plans, ()]

    def next_plan(_: UpkeepInput) -> Plan:
        plan = left.pop(0)
        if isinstance(plan, Exception):
            raise plan
        return Plan(tuple(plan))

    monkeypatch.setattr(tidy, "make_plan", next_plan)
    folder = Folder(root)
    settings = load_settings_file(folder)
    upkeep = UpkeepInput(folder, parse_upkeep(settings), settings, DAY, load_yaml, None, MemoryFiles(folder))
    return tidy.apply_all(upkeep, lambda _: True)


def test_what_one_round_left_out_is_settled_where_the_next_finds_nothing_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left to do, so nothing was left out."""
    fill(tmp_path, {"a.md": b"One"})
    both = [action("a.md", b"One", b"1"), action("a.md", b"On", b"x")]
    done = applied(tmp_path, monkeypatch, both)
    assert (done.actions, done.left_out) == ((both[0],), ())


def test_what_no_round_can_do_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told once."""
    fill(tmp_path, {"a.md": b"One"})
    stale = action("a.md", b"Two", b"2")
    done = applied(tmp_path, monkeypatch, [stale], [stale], [stale])
    assert [left.action for left in done.left_out] == [stale]


def test_a_plan_that_fails_in_a_later_round_takes_back_the_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workspace is changed as a whole, or not at all."""
    fill(tmp_path, {"a.md": b"One"})
    before = tree(tmp_path)
    failed = ContextasmError("ctxasm.yaml", "can't be read", "make it readable")
    with pytest.raises(ContextasmError, match="can't be read"):
        applied(tmp_path, monkeypatch, [action("a.md", b"One", b"1")], failed)
    assert tree(tmp_path) == before


def test_policies_count_what_stays_after_the_memories_are_in_order(tmp_path: Path) -> None:
    """A retired memory makes the room for the others, so that none of them is evicted."""
    long = "word " * 60
    memories = (
        f"- [fact] Alpha {long}\n- [fact] Beta {'harbor ' * 45}\n- [fact] Gone {'x' * 400} {{status=deprecated}}\n"
    )
    policy = "upkeep:\n  retention:\n    all: {types: fact, evict: {max_kb: 0.8, lru: 0}}\n"
    root = fill(tmp_path, {"agents/a/memories/m.md": memories, "ctxasm.yaml": policy})
    done = inside("tidy", "-w", root, "--date", str(DAY), "--apply", "--all")
    assert done.code == 0, done.err
    left = (root / "agents/a/memories/m.md").read_text(encoding="utf-8")
    assert ("Alpha" in left, "Beta" in left, "Gone" in left) == (True, True, False)
