"""Every event of every session has a decision, or is in one count with its reason (rows 59 and 85)."""

from pathlib import Path

import contextasm
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
