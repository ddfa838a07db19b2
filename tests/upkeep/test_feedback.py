"""The planner of feedback: each figure beyond its limit proposes its change of settings, and changes nothing itself."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from contextasm.config.input.settings import load_settings_file
from contextasm.config.keys.upkeep import parse_upkeep
from contextasm.model import ContextasmError
from contextasm.upkeep.actions import Action
from contextasm.upkeep.feedback import completeness, contradiction_rate, mean_coherence, plan_feedback
from contextasm.upkeep.input import UpkeepInput
from contextasm.workspace.folder import Folder
from tests.command import fill, inside

LINES = "feedback/2025-03.jsonl"
FINE = {"shown": 20, "coherence": 0.9}


def said(record: str, **fields: Any) -> str:
    """One line of feedback."""
    values = {"type": "feedback", "time": "2025-03-10", "record": record, **FINE, **fields}
    return json.dumps(values) + "\n"


def planned(root: Path, *lines: str, settings: str = "", **files: str) -> list[Action]:
    """The proposals for a workspace with this feedback."""
    fill(root, {LINES: "".join(lines), "ctxasm.yaml": settings, **files})
    return planned_again(root)


def planned_again(root: Path) -> list[Action]:
    """The proposals for a workspace as it is."""
    folder = Folder(root)
    settings_file = load_settings_file(folder)
    upkeep = UpkeepInput(
        workspace=folder,
        settings=parse_upkeep(settings_file),
        settings_file=settings_file,
        today=date(2025, 3, 14),
        summarizer=None,
    )
    return [*plan_feedback(upkeep)]


def test_feedback_within_the_limits_proposes_nothing(tmp_path: Path) -> None:
    assert planned(tmp_path) == []
    lines = [said(f"r{number}", wrong=["a"], coherence=0.8) for number in range(4)]
    assert planned(tmp_path, *lines, said("r5", wrong=["a"], coherence=0.8, missing=["x"])) == []


def test_contradictions_propose_conflicts_that_are_more_severe(tmp_path: Path) -> None:
    (action,) = planned(tmp_path, said("r1", wrong=["a", "b"]))
    assert (action.verb, action.targets, action.needs_approval) == ("propose", ("profile default: conflicts",), True)
    assert (action.edits, action.moves) == ((), ())
    assert "2 of the 20 fragments in 1 build judged since 2025-02-12 were wrong: 10.0%" in action.reason
    assert "`conflicts: {otherwise: 0.6}` in a profile that has `extends: default`" in action.reason
    (action,) = planned(tmp_path, said("r1", wrong=["a", "b"]), settings="profile: memory\n")
    assert "severity: {preference: 0.24, insight: 0.24, context: 0.24}, otherwise: 0.6" in action.reason


def test_conflicts_that_can_not_be_more_severe_are_left(tmp_path: Path) -> None:
    (action,) = planned(tmp_path, said("r1", wrong=["a", "b"]))
    change = action.reason.partition("`")[2].partition("`")[0]
    own = f"extends: default\n{change}\n"
    (again,) = planned(tmp_path, said("r1", wrong=["a", "b"]), settings="profile: own.yaml\n", **{"own.yaml": own})
    assert "`conflicts: {otherwise: 0.72}` in own.yaml" in again.reason
    most = "extends: default\nconflicts: {severity: {fact: 1}, otherwise: 1}\n"
    assert planned(tmp_path, said("r1", wrong=["a", "b"]), settings="profile: own.yaml\n", **{"own.yaml": most}) == []


def test_incompleteness_proposes_that_entities_come_first(tmp_path: Path) -> None:
    lines = (said("r1"), said("r2", missing=["x", "y"]))
    (action,) = planned(tmp_path, *lines, settings="profile: query\n")
    assert action.targets == ("rules: set_priority entities",)
    assert "1 of 2 builds judged since 2025-02-12 lacked something: 50% complete, below 80%" in action.reason
    change = action.reason.partition("`")[2].partition("`")[0]
    rule = f"- name: entities-first\n  {change}\n"
    assert planned(tmp_path, *lines, settings="profile: query\n", **{"rules/r.yaml": rule}) == []
    assert inside("build", "-q", "--date", "2025-03-14", cwd=tmp_path).code == 0  # the rule is one
    (action,) = planned(tmp_path, *lines, settings="profile: default\n", **{"rules/r.yaml": ""})
    assert "a layer with `source: entities` in a profile that has `extends: default`" in action.reason


def test_incoherence_proposes_a_weight_for_coherence(tmp_path: Path) -> None:
    lines = (said("r1", coherence=0.7), said("r2", coherence=0.8), said("r3", coherence=None))
    (action,) = planned(tmp_path, *lines)
    assert action.targets == ("ctxasm.yaml: layers",)
    assert "the mean coherence of 3 builds judged since 2025-02-12 is 0.75, below 0.8" in action.reason
    assert "{id: L5, weights: {similarity: 0.425, importance: 0.255, recency: 0.17, coherence: 0.15}}" in action.reason
    change = action.reason.partition("`")[2].partition("`")[0]
    assert planned(tmp_path, *lines, settings=f"{change}\n") == []
    assert inside("build", "-q", "--date", "2025-03-14", cwd=tmp_path).code == 0


def test_old_feedback_and_that_of_later_days_count_for_nothing(tmp_path: Path) -> None:
    bad = said("r1", wrong=["a", "b"])
    assert len(planned(tmp_path, bad.replace("2025-03-10", "2025-02-12"))) == 1
    assert planned(tmp_path, bad.replace("2025-03-10", "2025-02-11")) == []
    assert planned(tmp_path, bad.replace("2025-03-10", "2025-03-15")) == []


def test_all_three_at_once_change_no_file(tmp_path: Path) -> None:
    lines = (said("r1", wrong=["a", "b"], missing=["x"], coherence=0.1),)
    actions = planned(tmp_path, *lines)
    assert len({action.id for action in actions}) == 3
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert planned(tmp_path, *lines) == actions
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_profile_that_is_not_there_is_an_error_only_where_it_is_asked(tmp_path: Path) -> None:
    assert planned(tmp_path, said("r1"), settings="profile: gone.yaml\n") == []
    with pytest.raises(ContextasmError, match="gone"):
        planned(tmp_path, said("r1", wrong=["a", "b"]), settings="profile: gone.yaml\n")


def test_rates_of_no_feedback_call_for_nothing() -> None:
    assert (contradiction_rate([]), completeness([]), mean_coherence([])) == (0, 1, None)


ROOMS = """extends: default
layers:
  - {id: L3, max_tokens: 100}
  - {id: L5, max_tokens: 40}
"""
MEMORIES = "".join(f"- [fact] Number {word} of the boats is in the harbour {{id={word}}}\n" for word in "abcdefgh")


def judge(root: Path, day: int, *words: str) -> None:
    """Build with a record on a day of March 2025, and say something of it."""
    date_of = ("--date", f"2025-03-{day:02}")
    assert inside("build", "-q", "--record", *date_of, cwd=root).code == 0
    newest = max(root.glob(".ctxasm/records/*.json"), key=lambda path: path.stat().st_mtime_ns)
    assert inside("feedback", newest.stem, *words, *date_of, "-q", cwd=root).code == 0


def log_of(day: int) -> str:
    return f"agents/a/daily/2025-03-{day:02}.md:1"


def rooms(root: Path) -> list[Action]:
    """The proposals on the room of layers."""
    return [action for action in planned_again(root) if action.targets[0].startswith("ctxasm.yaml: layers L")]


def boats(root: Path) -> Path:
    log = {f"agents/a/daily/2025-03-{day:02}.md": "We sailed.\n" for day in (5, 6, 7, 8, 9, 10)}
    return fill(
        root, {"ctxasm.yaml": "profile: own.yaml\n", "own.yaml": ROOMS, "agents/a/memories/m.md": MEMORIES, **log}
    )


def test_a_layer_of_which_nothing_was_useful_gives_room_to_one_that_has_too_little(tmp_path: Path) -> None:
    root = boats(tmp_path)
    for day in (8, 9):
        judge(root, day, "--useful", "h", "--wrong", log_of(day))
    assert rooms(root) == []  # two builds are too few
    judge(root, 10, "--useful", "g", "--missing", "the other boats", "--wrong", log_of(10))
    (action,) = rooms(root)
    assert (action.verb, action.targets) == ("propose", ("ctxasm.yaml: layers L3, L5",))
    assert action.for_you
    assert "since 2025-02-12, nothing of L3 was useful in the 3 judged builds that showed it" in action.reason
    assert "and L5 had too little room in 3; move a quarter of the room: `layers: [" in action.reason
    change = action.reason.partition("`")[2].partition("`")[0]
    assert change == "layers: [{id: L3, max_tokens: 75}, {id: L5, max_tokens: 65}]"
    fill(root, {"ctxasm.yaml": f"profile: own.yaml\n{change}\n"}, base={})
    assert rooms(root) == []  # figures of the old limits say nothing of the new ones
    assert inside("build", "-q", "--date", "2025-03-14", cwd=root).code == 0


def test_memories_that_nobody_called_useful_give_room_to_others(tmp_path: Path) -> None:
    root = fill(boats(tmp_path), {"teams/t/memories/m.md": "- [fact] An old crane {id=crane}\n"}, base={})
    limits = f"{ROOMS}  - {{id: L4, max_tokens: 80}}\n"
    fill(root, {"ctxasm.yaml": "profile: own.yaml\nteam: t\n", "own.yaml": limits}, base={})
    for day in (8, 9, 10):
        judge(root, day, "--useful", "h")
    (action,) = rooms(root)
    assert action.targets == ("ctxasm.yaml: layers L4, L5",)
    assert "`layers: [{id: L4, max_tokens: 60}, {id: L5, max_tokens: 60}]`" in action.reason


@pytest.mark.parametrize("said_of_last", [("--useful", log_of(10), "--useful", "h"), ("--useful", "h")])
def test_a_layer_that_was_useful_once_or_of_which_nobody_spoke_keeps_its_room(
    tmp_path: Path, said_of_last: tuple[str, ...]
) -> None:
    root = boats(tmp_path)
    for day in (7, 8, *((9,) if log_of(10) in said_of_last else ())):
        judge(root, day, "--useful", "h", "--wrong", log_of(day))
    judge(root, 10, *said_of_last)
    assert rooms(root) == []


def test_a_record_that_is_gone_or_damaged_counts_for_nothing(tmp_path: Path) -> None:
    root = boats(tmp_path)
    for day in (8, 9, 10):
        judge(root, day, "--useful", "h", "--wrong", log_of(day))
    assert len(rooms(root)) == 1
    path = next(iter(root.glob(".ctxasm/records/*.json")))
    path.write_text(
        path.read_text(encoding="utf-8").replace("Luna", "Lina").replace("decisions", "d"), encoding="utf-8"
    )
    assert rooms(root) == []
