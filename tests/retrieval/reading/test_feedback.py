"""Feedback in builds: the credibility of memories, the files that are read for it, and those that are not."""

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest

from contextasm.config.input.yaml_loader import load_yaml
from contextasm.config.profiles.layers import with_layer_values
from contextasm.model import Build, Context, Layer, Profile, credibility
from contextasm.pipeline import assemble
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.data.events import parse_events
from contextasm.workspace.recording import RecordingWorkspace
from tests.workspaces import Content, Files, codes, document, request

MEMORIES = "- [fact] The pier is wet {id=a}\n- [fact] The lamp is red {id=b}\n- [fact] The fog is thick {id=c}\n"
CREDIBLE = (("credibility", 1.0),)


def said(record: str, **fields: Any) -> str:
    """One line of feedback."""
    return json.dumps({"type": "feedback", "time": "2025-03-10", "record": record, "shown": 3, **fields}) + "\n"


def recorded(
    feedback: str | None, weights: tuple[tuple[str, float], ...] = CREDIBLE, memories: str = MEMORIES
) -> tuple[Context, RecordingWorkspace]:
    """A build of the three memories, best first, and what it read."""
    all_files: dict[str, Content] = {"m/m.md": memories}
    if feedback is not None:
        all_files["feedback/2025-03.jsonl"] = feedback
    values: Mapping[str, object] = {"source": ("weighed",), "path": ("m/*.md",), "order": "best", "weights": weights}
    layer = with_layer_values(Layer("M", ("Memories",)), {**values, "item": "- {text}", "overflow": ("drop",)})
    workspace = RecordingWorkspace(Files(all_files))
    profile = Profile("one", "", 4000, "plain", (layer,))
    return assemble(Build(workspace, profile, request(agent="", team=""), ESTIMATE, parse_yaml=load_yaml)), workspace


def credibilities(context: Context) -> dict[str, float]:
    """The part of each memory."""
    return {each.fragment: dict(each.score)["credibility"] for each in context.decisions}


@pytest.mark.parametrize(
    ("useful", "wrong", "prior", "expected"),
    [(0, 0, 0.5, 0.5), (1, 0, 0.5, 2 / 3), (0, 1, 0.5, 1 / 3), (3, 1, 0.5, 4 / 6), (0, 0, 0.9, 0.9), (0, 2, 0.9, 0.45)],
)
def test_credibility_is_the_mean_of_a_beta_distribution(useful: int, wrong: int, prior: float, expected: float) -> None:
    assert credibility(useful, wrong, prior) == pytest.approx(expected, abs=1e-12)


def test_what_was_useful_comes_before_what_nobody_judged_and_what_was_wrong() -> None:
    context, _ = recorded(said("r1", useful=["b"], wrong=["c"]) + said("r2", wrong=["c"]))
    assert credibilities(context) == pytest.approx({"b": 2 / 3, "a": 0.5, "c": 0.25})
    assert context.text == "## Memories\n- The lamp is red\n- The pier is wet\n- The fog is thick\n"


def test_without_feedback_a_memory_has_its_confidence() -> None:
    context, _ = recorded(None)
    assert credibilities(context) == dict.fromkeys("abc", 0.5)
    sure, _ = recorded(None, memories="- [fact] Sure {id=s confidence=0.9}\n")
    assert credibilities(sure) == {"s": 0.9}


def test_feedback_after_the_day_of_the_build_is_not_known_yet() -> None:
    line = said("r", wrong=["a"]).replace("2025-03-10", "2025-03-15")
    assert request().date == date(2025, 3, 14)
    assert recorded(line)[0].text == recorded(None)[0].text


def test_feedback_is_read_through_the_workspace_and_only_where_it_is_weighed() -> None:
    _, workspace = recorded(said("r", useful=["a"]))
    assert "feedback/2025-03.jsonl" in workspace.reads
    context, workspace = recorded(said("r", useful=["c"]), (("importance", 0.5), ("recency", 0.5)))
    assert not [name for name in (*workspace.reads, *workspace.lists) if "feedback" in name]
    assert context == recorded(None, (("importance", 0.5), ("recency", 0.5)))[0]


def test_a_line_that_is_no_feedback_is_a_problem_of_the_build() -> None:
    context, _ = recorded(said("r", useful=["b"]) + "{torn\n" + said("", wrong=["b"]))
    assert codes(context) == ["bad-event", "bad-feedback"]
    assert [each.line for each in context.problems] == [2, 3]
    assert credibilities(context)["b"] == pytest.approx(2 / 3)


FOUR = (("similarity", 0.4), ("recency", 0.2), ("credibility", 0.25), ("coherence", 0.15))
PAGE = "---\nupdated: 2025-03-14\nconfidence: high\n---\nThe pier is wet.\n\n## Lamps\n\nA lamp on the pier is red.\n"
EVENT = {"type": "note", "time": "2025-03-14T10:00:00Z", "content": "the pier"}
SOURCES: dict[str, Content] = {
    "knowledge/a.md": PAGE,
    "knowledge/b.md": "A pier without a day.\n",
    "sessions/s.jsonl": f"{json.dumps({**EVENT, 'confidence': 0.9})}\n{json.dumps(EVENT)}\n",
    "src/pier.py": "print('pier')\n",
}


def judged(source: str, path: str, feedback: str = "", weights: tuple[tuple[str, float], ...] = FOUR) -> Context:
    """A build of one layer for the topic "pier"."""
    values = {"source": (source,), "path": (path,), "order": "best", "weights": weights, "overflow": ("drop",)}
    profile = Profile("one", "", 4000, "plain", (with_layer_values(Layer("M", ("Found",)), values),))
    asked = request(agent="", team="", topic="pier")
    workspace = Files({**SOURCES, "feedback/2025-03.jsonl": feedback})
    return assemble(Build(workspace, profile, asked, ESTIMATE, parse_yaml=load_yaml))


@pytest.mark.parametrize(
    ("source", "path", "confidences"),
    [
        ("knowledge", "knowledge/*.md", {"knowledge/a.md:5": 0.8, "knowledge/a.md:9": 0.8, "knowledge/b.md:1": 0.5}),
        ("events", "sessions/*.jsonl", {"sessions/s.jsonl:1": 0.9, "sessions/s.jsonl:2": 0.5}),
    ],
)
def test_source_003_pages_and_events_have_the_four_parts_that_memories_have(
    source: str, path: str, confidences: dict[str, float]
) -> None:
    context = judged(source, path)
    assert credibilities(context) == confidences
    for each in context.decisions:
        parts = dict(each.score)
        assert {name for name, _ in FOUR} <= parts.keys()
        assert parts["total"] == pytest.approx(sum(weight * parts[name] for name, weight in FOUR))
    recencies = {each.fragment: dict(each.score)["recency"] for each in context.decisions}
    assert recencies.get("knowledge/a.md:9", 1.0) == 1.0
    assert recencies.get("knowledge/b.md:1", 0.0) == 0.0


def test_a_section_has_the_judgements_of_its_page_whatever_line_it_is_in() -> None:
    said_of_page = said("r1", wrong=["knowledge/a.md:5", "knowledge/a.md:40"]) + said("r2", useful=["knowledge/b.md:1"])
    found = credibilities(judged("knowledge", "knowledge/*.md", said_of_page))
    assert found == pytest.approx({"knowledge/a.md:5": 1.6 / 3, "knowledge/a.md:9": 1.6 / 3, "knowledge/b.md:1": 2 / 3})


def test_events_and_files_are_judged_each_by_itself() -> None:
    said_of_both = said("r1", wrong=["sessions/s.jsonl:2"], useful=["src/pier.py"])
    found = credibilities(judged("events", "sessions/*.jsonl", said_of_both))
    assert found == pytest.approx({"sessions/s.jsonl:1": 0.9, "sessions/s.jsonl:2": 1 / 3})
    of_files = (("named", 0.5), ("credibility", 0.5))
    assert credibilities(judged("files", "src/*.py", said_of_both, of_files)) == pytest.approx({"src/pier.py": 2 / 3})


def test_a_confidence_of_an_event_that_is_not_a_share_is_a_problem() -> None:
    (problem,) = parse_events(document('{"type": "note", "confidence": 7}'))[1]
    assert problem.message == "confidence is 7, not a number from 0 to 1"
