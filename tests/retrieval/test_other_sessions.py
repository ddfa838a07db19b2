"""Every event of every session has a decision, or is in one count with its reason (rows 59 and 85)."""

import json
import re
from pathlib import Path
from typing import Any

import contextasm
from contextasm.config.profiles.loader import load_profile
from tests.command import fill, inside

EVENT = '{"type": "note", "time": "2025-03-0%dT0%d:00:00Z", "content": "note"}\n'

SESSIONS = {f"sessions/{day}.jsonl": "".join(EVENT % (day, hour) for hour in (7, 8, 9)) for day in range(1, 9)}
"""Eight sessions of three events: the last one is the current one, five show a highlight, two are older."""


def test_rows_59_and_85_a_build_counts_the_events_of_other_sessions_by_reason(tmp_path: Path) -> None:
    root = fill(tmp_path, {**SESSIONS})
    context = contextasm.build(workspace=str(root), profile="query", date="2025-03-14")
    counts = {each.reason.code: dict(each.reason.facts)["count"] for each in context.decisions if each.reason.is_count}
    assert counts == {"no-highlight": 10, "older-session": 6}
    assert len(context.decisions) == 3 + 5 + 2


def test_rows_59_and_85_explain_has_a_decision_for_each_event_of_every_session(tmp_path: Path) -> None:
    root = fill(tmp_path, {**SESSIONS})
    context = contextasm.explain(workspace=str(root), profile="query", date="2025-03-14")
    assert {(each.path, each.lines[0]) for each in context.decisions} == {
        (path, line) for path in SESSIONS for line in (1, 2, 3)
    }
    of_layer = [each.reason.code for each in context.decisions if each.outcome == "excluded"]
    assert of_layer.count("no-highlight") == 10
    assert of_layer.count("older-session") == 6


def test_row_85_the_table_folds_them_and_a_line_is_explained(tmp_path: Path) -> None:
    root = fill(tmp_path, {**SESSIONS})
    query = ("explain", "-p", "query", "--date", "2025-03-14")
    table = inside(*query, cwd=root).out
    assert "sessions/1.jsonl:1 .. 2.jsonl:3" in table
    assert "10 fragments: it is not among the last 3 highlights of its session" in table
    line = inside(*query, "--line", "sessions/1.jsonl:1", cwd=root).out
    assert "its session is older than the 5 other sessions that show highlights" in line


def _talk(turns: int) -> dict[str, str]:
    """A session of so many turns, each of a first sentence and forty more words."""
    rest = "And so it goes on and on. " * 6
    events = (
        {
            "type": "turn",
            "role": "user",
            "content": f"Point {n} comes first. {rest}",
            "time": f"2025-03-14T08:{n:02}",
        }
        for n in range(turns)
    )
    return {"sessions/s.jsonl": "".join(f"{json.dumps(event)}\n" for event in events)}


def test_turns_beyond_the_shown_ones_are_shortened_as_source_002_compresses_older_turns(tmp_path: Path) -> None:
    root = fill(tmp_path, _talk(30))
    context = contextasm.build(workspace=str(root), profile="librarian", date="2025-03-14")
    recent, _, earlier = context.text.partition("## Earlier Turns in Brief\n")
    assert re.findall(r"Point (\d+) comes first\. And so", recent) == [str(number) for number in range(10, 30)]
    lines = [line for line in earlier.splitlines() if line.startswith("- ")]
    assert lines == [f"- [2025-03-14T08:{n:02}:00Z] user: Point {n} comes first." for n in range(10)]
    assert {each.outcome for each in context.decisions if each.layer == "earlier"} == {"shortened"}
    assert contextasm.explain(workspace=str(root), profile="librarian", date="2025-03-14").text == context.text


def test_shortened_turns_take_only_the_room_that_all_layers_leave(tmp_path: Path) -> None:
    root = fill(tmp_path, {**_talk(30), "knowledge/point.md": "# Point\n\n" + "The point of it.\n\n" * 40})
    asked: dict[str, Any] = {"workspace": str(root), "profile": "librarian", "date": "2025-03-14", "topic": "point"}
    layers = [layer for layer in load_profile("librarian", "tests", tmp_path).layers if layer.id != "earlier"]
    rooms = set()
    for budget in range(200, 3200, 250):
        with_them = contextasm.build(**asked, budget=budget)
        without = contextasm.build(**asked, budget=budget, scope=[layer.id for layer in layers])
        shown, others = [each.text for each in with_them.sections], [each.text for each in without.sections]
        assert shown[: len(others)] == others
        assert with_them.tokens <= budget
        rooms.add(sum(each.used for each in with_them.allowances if each.layer == "earlier"))
    assert len(rooms) > 1


def test_no_turn_is_shortened_beyond_if_all_are_shown(tmp_path: Path) -> None:
    root = fill(tmp_path, _talk(20))
    context = contextasm.build(workspace=str(root), profile="librarian", date="2025-03-14")
    assert not [each for each in context.decisions if each.layer == "earlier"]
