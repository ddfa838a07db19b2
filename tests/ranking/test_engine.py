"""What every profile may ask of the engine: merging, conflicts, filters, a least score, a deadline, and updates."""

import json
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import contextasm
from contextasm.config.input.yaml_loader import load_yaml
from contextasm.config.profiles.layers import with_layer_values
from contextasm.config.profiles.loader import load_profile
from contextasm.model import (
    Build,
    Conflicts,
    Context,
    ContextasmError,
    Document,
    Filters,
    Layer,
    Problem,
    Profile,
    RetrievalResult,
    in_order,
)
from contextasm.pipeline import assemble
from contextasm.rendering.documents import context_data, decision_data
from contextasm.rendering.wording import decision_words
from contextasm.retrieval.deadline import run_until_deadline
from contextasm.selection.tokens import ESTIMATE
from tests.command import SAMPLE, SMALL, fill, inside, python
from tests.workspaces import Content, Files, codes, request


def memories(layer: str, **more: Any) -> Layer:
    values = {
        "source": ("recent",),
        "path": (f"{layer}/*.md",),
        "item": "- [{type}] {text}",
        "order": "best",
        "overflow": ("drop",),
        **more,
    }
    return with_layer_values(Layer(layer, (layer.title(),)), values)


def profile(*layers: Layer, **more: Any) -> Profile:
    return Profile("test", "", 16_000, "plain", layers)._replace(**more)


def build(files: Mapping[str, Content] | Files, own: Profile, *, run_sources: Any = in_order, **asked: Any) -> Context:
    workspace = files if isinstance(files, Files) else Files(files)
    asking = request(agent="", team="", **asked)
    return assemble(Build(workspace, own, asking, ESTIMATE, parse_yaml=load_yaml, run_sources=run_sources))


def pages(high: str, low: str) -> dict[str, Content]:
    """The files of two layers."""
    return {"high/a.md": high, "low/b.md": low}


def outcomes(context: Context) -> dict[str, str]:
    return {each.fragment: each.outcome for each in context.decisions}


TWO = (memories("high"), memories("low"))


def test_row_83_same_text_of_two_sources_shows_once_in_the_higher_layer_and_both_are_named() -> None:
    files = pages("- [fact] The harbour closes in winter {id=h}\n", "- [note] The harbour  closes in Winter {id=l}\n")
    context = build(files, profile(*TWO, merge=("content",)))
    assert context.text == "## High\n- [fact] The harbour closes in winter\n"
    merged = next(each for each in context.decisions if each.outcome == "merged")
    assert (merged.fragment, dict(merged.reason.facts)) == ("l", {"into": "h", "path": "high/a.md", "by": "content"})
    assert "## Low" in build(files, profile(*TWO)).text


def test_row_113_items_with_one_hint_show_once_and_the_best_ranked_wins() -> None:
    files = pages(
        "- [fact] Use tabs {id=h dedup=style created=2025-03-01}\n- [fact] Tabs it {id=n dedup=style}\n",
        "- [fact] We agreed on tabs {id=l dedup=style}\n",
    )
    context = build(files, profile(*TWO, merge=("content", "dedup")))
    assert outcomes(context) == {"h": "included", "n": "merged", "l": "merged"}


LONG = "The ferry leaves the old harbour every morning from pier {} when the weather allows it"


@pytest.mark.parametrize(
    ("other", "outcome"),
    [
        pytest.param(LONG.format(4).replace("weather", "wether"), "merged", id="a slip"),
        pytest.param(LONG.format(5), "included", id="another number"),
        pytest.param(LONG.format(4).replace("leaves", "never leaves"), "included", id="a negation"),
        pytest.param("Something else", "included", id="another text"),
    ],
)
def test_near_duplicates_are_merged_unless_they_differ_in_a_number_or_a_negation(other: str, outcome: str) -> None:
    files = pages(f"- [fact] {LONG.format(4)} {{id=h}}\n", f"- [fact] {other} {{id=l}}\n")
    context = build(files, profile(*TWO, merge=("content", "near")))
    assert outcomes(context) == {"h": "included", "l": outcome}


def test_texts_with_one_hint_and_different_numbers_are_never_merged() -> None:
    files: dict[str, Content] = {
        "high/a.md": "- [fact] Keep 3 copies {id=h dedup=copies}\n- [fact] Keep 5 copies {id=o dedup=copies}\n"
    }
    assert set(outcomes(build(files, profile(memories("high"), merge=("dedup",)))).values()) == {"included"}


def test_what_is_merged_takes_no_place_among_the_topmost() -> None:
    lines = [f"- [fact] {text} {{id=m{n} created=2025-03-{14 - n:02}}}" for n, text in enumerate(["One", "One", "Two"])]
    context = build({"high/a.md": "\n".join(lines)}, profile(memories("high", top=2), merge=("content",)))
    assert outcomes(context) == {"m0": "included", "m1": "merged", "m2": "included"}


# Conflicts.

CLAIMS = pages(
    "- [preference] Answers are short {id=h key=length}\n",
    "- [preference] Answers are long {id=l key=length}\n",
)


def settling(severity: float, precedence: Sequence[str] = (), **more: Any) -> Profile:
    return profile(*TWO, conflicts=Conflicts((("preference", severity),), 0.9, tuple(precedence)), **more)


def test_row_98_no_conflict_is_merged_a_minor_one_settled_and_a_major_one_flagged() -> None:
    same = {**CLAIMS, "low/b.md": "- [preference] answers are short {id=l key=length}\n"}
    assert outcomes(build(same, settling(0.9, merge=("content",)))) == {"h": "included", "l": "merged"}
    minor = build(CLAIMS, settling(0.29))
    assert outcomes(minor) == {"h": "included", "l": "excluded"}
    assert codes(minor) == []
    for severity in (0.3, 0.9):
        major = build(CLAIMS, settling(severity))
        assert outcomes(major) == {"h": "included", "l": "included"}
        assert codes(major) == ["conflict"]
        assert "low/b.md:1" in major.problems[0].message


def test_row_99_the_configured_order_decides_minor_conflicts() -> None:
    assert outcomes(build(CLAIMS, settling(0.1, ["low", "high"]))) == {"h": "excluded", "l": "included"}
    assert outcomes(build(CLAIMS, settling(0.1, ["low"]))) == {"h": "excluded", "l": "included"}
    assert outcomes(build(CLAIMS, settling(0.1, ["high"]))) == {"h": "included", "l": "excluded"}


def test_person_settles_a_conflict_by_naming_what_to_prefer() -> None:
    context = build(CLAIMS, settling(0.9), prefer=("l",))
    assert outcomes(context) == {"h": "excluded", "l": "included"}
    assert codes(context) == []
    reason = next(each.reason for each in context.decisions if each.fragment == "h")
    assert reason.code == "overruled"


@pytest.mark.parametrize(
    ("severity", "prefer", "strategy", "confidence"),
    [(0.1, (), "precedence", 0.8), (0.1, ("h",), "user_choice", 1.0), (0.9, ("h",), "user_choice", 1.0)],
)
def test_source_003_a_conflict_has_its_strategy_a_confidence_and_a_reason(
    severity: float, prefer: tuple[str, ...], strategy: str, confidence: float
) -> None:
    decision = next(each for each in build(CLAIMS, settling(severity), prefer=prefer).decisions if each.fragment == "l")
    facts = {"by": "h", "key": "length", "strategy": strategy, "confidence": confidence, "severity": severity}
    assert decision_data(decision)["reason"] == {"code": "overruled", **facts}
    words = f"h differs on length, and wins by {strategy} (severity {severity}, confidence {confidence})"
    assert decision_words(decision) == words


def test_source_003_a_conflict_that_is_flagged_has_its_confidence_in_its_problem() -> None:
    (problem,) = build(CLAIMS, settling(0.9)).problems
    assert (
        "say different things about length (severity 0.9, strategy flag, confidence 0.6); correct one"
        in problem.message
    )


def test_profile_without_conflicts_settles_none() -> None:
    assert set(outcomes(build(CLAIMS, profile(*TWO))).values()) == {"included"}


# A least score.


def test_row_95_below_the_least_score_nothing_shows_and_an_empty_layer_warns() -> None:
    files: dict[str, Content] = {
        "high/a.md": "- [fact] Sure {id=s confidence=0.8}\n- [fact] Unsure {id=u confidence=0.3}\n"
    }
    layer = memories("high", source=("weighed",), weights=(("confidence", 1.0),))
    some = build(files, profile(layer._replace(ranking=layer.ranking._replace(min_score=0.8))))
    assert outcomes(some) == {"s": "included", "u": "excluded"}
    assert codes(some) == []
    none = build(files, profile(layer._replace(ranking=layer.ranking._replace(min_score=0.9))))
    assert none.text == ""
    assert codes(none) == ["low-quality"]


# Filters.

EVENTS = """{"type": "error", "time": "2025-03-10T10:00:00Z", "message": "disk full"}
{"type": "file_read", "time": "2025-03-12T10:00:00Z", "path": "a.py"}
"""
THINGS = "entities:\n  - {name: Harbor, type: project}\n  - {name: Luna, type: person}\n"
FILTERED: dict[str, Content] = {
    "sessions/s.jsonl": EVENTS,
    "graph/entities.yaml": THINGS,
    "high/a.md": "- [fact] Old {id=old created=2025-03-01}\n- [fact] New {id=new created=2025-03-11}\n",
}


def data_layer(name: str, heading: str, source: str, path: str, item: str = "- {name}", **more: Any) -> Layer:
    return with_layer_values(
        Layer(name, (heading,)), {"source": (source,), "path": (path,), "item": item, "overflow": ("drop",), **more}
    )


ALL = profile(
    memories("high"),
    data_layer("E", "Events", "events", "sessions/*.jsonl", "- {text}"),
    data_layer("T", "Things", "entities", "graph/entities.yaml", "- {name}"),
)


@pytest.mark.parametrize(
    ("filters", "gone"),
    [
        pytest.param(Filters(since="2025-03-11"), {"Old", "disk full"}, id="since"),
        pytest.param(Filters(since="2025-03-10T10:00:00"), {"Old"}, id="since a time"),
        pytest.param(Filters(since="2025-03-10T10:00:00.5"), {"Old", "disk full"}, id="since half a second later"),
        pytest.param(Filters(since="2025-03-11T23:00:00"), {"Old", "disk full"}, id="only a day counts by its day"),
        pytest.param(Filters(event_types=("error",)), {"a.py"}, id="event type"),
        pytest.param(Filters(entity_types=("person",)), {"Harbor"}, id="entity type"),
        pytest.param(Filters(exclude=("new",)), {"New"}, id="an id"),
        pytest.param(Filters(exclude=("graph/*",)), {"Harbor", "Luna"}, id="files"),
    ],
)
def test_row_55_each_filter_removes_exactly_what_it_names(filters: Filters, gone: set[str]) -> None:
    words = {"Old", "New", "disk full", "a.py", "Harbor", "Luna"}
    assert {word for word in words if word in build(FILTERED, ALL).text} == words
    text = build(FILTERED, ALL, filters=filters).text
    assert {word for word in words if word not in text} == gone


def test_no_filter_removes_what_is_required() -> None:
    own = profile(memories("high", required=True))
    assert outcomes(build(FILTERED, own, filters=Filters(exclude=("high/*",)))) == {
        "old": "included",
        "new": "included",
    }


def test_filters_are_flags_of_the_command(tmp_path: Path) -> None:
    root = fill(tmp_path, {"agents/a/memories/m.md": "- [note] Gone {id=x}\n- [note] Here {created=2025-03-10}\n"})
    done = inside("build", "-q", "--date", "2025-03-14", "--exclude", "x", "--since", "2025-03-01", cwd=root)
    assert "Here" in done.out
    assert "Gone" not in done.out
    assert inside("build", "--since", "yesterday", cwd=root).code == 2


@pytest.mark.parametrize(
    "since",
    ["2025-03-12T09:30", "2025-03-12T10:30+01:00", "2025-03-12T09:30:00Z", datetime(2025, 3, 12, 9, 30)],  # noqa: DTZ001 - UTC
)
def test_row_55_since_takes_a_time_as_the_source_does(since: str | datetime, tmp_path: Path) -> None:
    root = fill(tmp_path, {"sessions/s.jsonl": EVENTS + EVENTS.replace("12T10", "12T09")})
    context = contextasm.build(workspace=str(root), profile="query", date="2025-03-14", since=since)
    assert "2025-03-12T10:00:00Z" in context.text
    assert "2025-03-12T09:00:00Z" not in context.text
    assert "2025-03-10T10:00:00Z" not in context.text


def built(root: Path, **asked: Any) -> Context:
    return contextasm.build(workspace=str(root), profile="query", date="2025-03-14", **asked)


def test_task_shows_the_events_of_one_task_as_source_001_filters_them(tmp_path: Path) -> None:
    lines = (
        '{"type": "turn", "task": "t1", "text": "Of the first"}',
        '{"type": "turn", "taskId": 2, "text": "Of the second"}',
        '{"type": "turn", "text": "Of none"}',
    )
    root = fill(tmp_path, {"sessions/s.jsonl": "\n".join(lines)})
    shown = built(root, task="2")
    assert [part in shown.text for part in ("the first", "the second", "none")] == [False, True, False]
    assert outcomes(shown)["sessions/s.jsonl:1"] == "excluded"
    assert [problem.advice for problem in built(root, task="9").problems] == ["no event belongs to this task"]


GRAPH: dict[str, Content] = {
    "graph/entities.yaml": "entities:\n- {name: Harbour}\n- {name: Anna}\n",
    "knowledge/p.md": "# Piers\n\nThe Harbour has four piers.\n\n# Trams\n\nThe tram ends here.\n",
}


def test_entity_counts_as_named_by_the_topic_as_source_003_asks(tmp_path: Path) -> None:
    root = fill(tmp_path, {**GRAPH})
    shown = built(root, topic="the tram", entities=["Harbour"], scope=["entities", "semantic"])
    assert {each.fragment: dict(each.score).get("named") for each in shown.decisions if each.layer == "entities"} == {
        "Harbour": 1,
        "Anna": 0,
    }
    assert {"four piers", "tram ends"} == {part for part in ("four piers", "tram ends") if part in shown.text}
    assert built(root, topic="the harbour", entities=["Harbour"]).request.topic == "the harbour"


def test_least_score_and_detail_of_a_request_as_source_003_asks(tmp_path: Path) -> None:
    root = fill(tmp_path, {**GRAPH, "PROJECT.md": "# Piers\n\nFour. All of wood.\n"})
    assert "four piers" in built(root, topic="harbour tram").text
    below = built(root, topic="harbour tram", min_score=0.99)
    assert "four piers" not in below.text
    assert {each.reason.code for each in below.decisions if each.outcome == "excluded"} == {"below-floor"}
    brief = built(root, topic="four piers and a tram", detail="macro")
    assert brief.tokens <= built(root, topic="four piers and a tram").tokens
    for asked, part in (({"min_score": 2}, "--min-score"), ({"detail": "mcro"}, "did you mean micro")):
        with pytest.raises(ContextasmError, match=part):
            built(root, **asked)


def test_least_score_says_which_layers_it_does_not_limit(tmp_path: Path) -> None:
    root = fill(tmp_path, {**GRAPH})
    words = ("build", "--date", "2025-03-14", "--topic", "harbour tram", "--min-score", "0.01", "-v")
    shown = inside(*words, "-p", "query", cwd=root).err
    (line,) = (line for line in shown.splitlines() if line.startswith("min_score: no effect on "))
    assert "recent" not in line
    assert "additional, which have no scores" in line
    assert "no-effect" not in shown
    none = inside(*words, "-p", "openclaw", "--scope", "memory,tools", cwd=root).err
    assert "min_score: profile openclaw has it only for layers without scores [no-effect]" in none
    assert "no effect on" not in inside(*words[:-3], "-v", "-p", "query", cwd=root).err


def test_request_id_is_in_json_record_and_metrics(tmp_path: Path) -> None:
    root = fill(tmp_path, {**GRAPH})
    words = ("build", "-p", "query", "--date", "2025-03-14", "--request-id", "r-7", "--record", "--metrics", "m.prom")
    assert inside(*words, cwd=root).code == 0
    assert 'request_id="r-7"' in (root / "m.prom").read_text()
    (record,) = (root / ".ctxasm/records").glob("*.json")
    assert json.loads(record.read_text())["request"]["request_id"] == "r-7"


@pytest.mark.parametrize("since", ["2025-03-12T25:00", "2025-03-99T10:00", "12 March"])
def test_a_time_that_no_clock_shows_is_refused(since: str) -> None:
    with pytest.raises(ContextasmError, match=r"--since: .* is not a date"):
        contextasm.build(workspace=str(SAMPLE), agent="luna", since=since)


# The report.


def test_row_104_coverage_quality_and_coherence_are_between_0_and_1() -> None:
    files: dict[str, Content] = {
        "high/a.md": "- [fact] One harbour {confidence=0.8}\n- [fact] Two harbours {confidence=0.4}\n"
    }
    layer = memories("high", source=("weighed",), weights=(("confidence", 1.0),))
    report = context_data(build(files, profile(layer)))["report"]
    assert isinstance(report, dict)
    assert report["coverage"] == 1
    assert 0.4 <= report["quality"] <= 0.8
    assert 0 <= report["coherence"] <= 1
    nothing = context_data(build({}, profile(layer)))["report"]
    assert nothing == {"coverage": 1.0, "quality": None, "coherence": None}


# A deadline.


class Slow(Files):
    """A workspace one of whose folders is on a disk that sleeps."""

    def __init__(self, files: Mapping[str, Content], folder: str, seconds: float) -> None:
        super().__init__(files)
        self._folder, self._seconds = folder, seconds

    def read(self, path: str) -> Document | Problem | None:
        """The document, after a while."""
        if path.startswith(self._folder):
            time.sleep(self._seconds)
        return super().read(path)


def test_row_97_past_the_deadline_the_rest_comes_with_a_code() -> None:
    files = pages("- [fact] In time\n", "- [fact] Too late\n")
    context = build(Slow(files, "low", 5), profile(*TWO), run_sources=run_until_deadline(0.3))
    assert context.text == "## High\n- [fact] In time\n"
    assert [(each.code, each.path) for each in context.problems] == [("source-timeout", "low")]
    report = context_data(context)["report"]
    assert isinstance(report, dict)
    assert report["coverage"] == 0.5


def test_row_103_each_code_has_its_result() -> None:
    files = pages("- [fact] In time\n", "- [fact] Too late\n")
    slow = build(Slow(files, "low", 5), profile(*TWO), run_sources=run_until_deadline(0.3))
    assert (codes(slow), bool(slow.text)) == (["source-timeout"], True)
    required = (TWO[0]._replace(limits=TWO[0].limits._replace(required=True)), TWO[1])
    small = build(files, profile(*required), budget=1)
    assert (codes(small)[0], small.text) == ("over-budget", "## High\n- [fact] In time\n")


def test_with_time_enough_a_deadline_changes_nothing() -> None:
    assert build(FILTERED, ALL, run_sources=run_until_deadline(60)) == build(FILTERED, ALL)


def test_layer_that_starts_from_a_late_one_finds_nothing_and_fails_not() -> None:
    late = data_layer("T", "Things", "entities", "graph/entities.yaml")
    after = data_layer("R", "Relations", "relations", "graph/relations.yaml", start_from=("T",))
    context = build(FILTERED, profile(late, after), run_sources=lambda tasks: [None for _ in tasks])
    assert codes(context) == ["source-timeout"] * 2


def test_error_of_a_source_is_raised_where_it_is_waited_for() -> None:
    def fails() -> RetrievalResult:
        raise ContextasmError("here", "is wrong", "put it right")

    with pytest.raises(ContextasmError, match="is wrong"):
        run_until_deadline(60)([fails])


SLEEPING = """
import sys, time
from contextasm.retrieval.retrieve import SOURCES
plain = SOURCES["recent"]
def sleeping(ask):
    time.sleep(60)
    return plain(ask)
SOURCES["recent"] = sleeping
from contextasm.__main__ import main
main()
"""


def test_deadline_103_late_source_is_a_warning_and_the_process_ends(tmp_path: Path) -> None:
    root = fill(tmp_path, {"agents/a/memories/m.md": "- [note] A memory\n"})
    done = python(SLEEPING, "build", "-w", str(root), "--deadline", "300")
    assert done.code == 0
    assert done.out.startswith("## Identity\n")
    assert "[source-timeout]" in done.err
    assert python(SLEEPING, "build", "-q", "-w", str(root), "--deadline", "300", "--strict").code == 1
    assert inside("build", "--deadline", "soon", cwd=root).code == 2


def test_build_without_a_deadline_starts_no_thread(tmp_path: Path) -> None:
    fill(tmp_path, dict(SMALL))
    script = "import sys, os; os._exit = lambda code: print('contextasm.retrieval.deadline' in sys.modules); "
    done = python(script + "from contextasm.__main__ import main; main()", "build", "-q", "-w", str(tmp_path))
    assert done.out.endswith("False\n")


# Pages that declare a key, preferred ids, coherence: the shipped profile `memory`.

MEMORY = load_profile("memory", "", Path())


def settled(front: str, *, profile: Profile = MEMORY, **asked: Any) -> Context:
    """A page with this front matter and a memory of the same key, which say different things."""
    files: dict[str, Content] = {
        "knowledge/answers.md": f"---\n{front}---\n# Answers\n\nThe length of answers is short.\n\n"
        "## Why\n\nAnswers of some length tire.\n",
        "memories/m.md": "- [preference] The length of answers is long {id=m key=answers/length}\n",
    }
    return build(files, profile, topic="length of answers", **asked)


def test_row_99_precedence_settles_a_key_of_a_page_and_a_memory_in_the_shipped_profile() -> None:
    context = settled("key: answers/length\ntype: preference\n")
    assert outcomes(context)["m"] == "excluded"
    assert "included" in outcomes(context).values()
    assert "conflict" not in codes(context)
    assert MEMORY.conflicts
    last = MEMORY._replace(conflicts=MEMORY.conflicts._replace(precedence=("experience", "world")))
    turned = outcomes(settled("key: answers/length\ntype: preference\n", profile=last))
    assert turned.pop("m") == "included"
    assert {*turned.values()} == {"excluded"}


def test_sections_of_one_page_do_not_contradict_each_other() -> None:
    files: dict[str, Content] = {
        "knowledge/answers.md": "---\nkey: a\n---\n# Answers\n\nAnswers are short.\n\n## Why\n\nAnswers tire.\n"
    }
    assert "conflict" not in codes(build(files, MEMORY, topic="answers"))


@pytest.mark.parametrize("name", ["knowledge/answers.md", "m"])
def test_preferred_id_may_be_that_of_a_page(name: str) -> None:
    shown = {
        fragment
        for fragment, outcome in outcomes(settled("key: answers/length\n", prefer=(name,))).items()
        if outcome == "included"
    }
    assert shown
    assert ("m" in shown) == (name == "m")


def test_row_98_preferred_id_that_no_fragment_has_is_a_problem() -> None:
    context = build(CLAIMS, settling(0.9), prefer=("x1",))
    assert [problem.code for problem in context.problems if problem.path == "--prefer x1"] == ["no-effect"]
    (problem,) = build(CLAIMS, profile(*TWO), prefer=("l",)).problems
    assert "settles no conflicts" in problem.message
    assert codes(build(CLAIMS, settling(0.1), prefer=("l",))) == []


def test_row_103_context_below_the_least_coherence_has_a_problem_and_is_the_plain_one() -> None:
    files: dict[str, Content] = {"high/a.md": "- [fact] Red boats\n- [fact] Blue lamps\n"}
    plain = build(files, profile(memories("high")))
    failed = build(files, profile(memories("high"), min_coherence=0.9))
    assert (codes(plain), codes(failed), failed.text) == ([], ["low-coherence"], plain.text)
    assert failed.text == "## High\n- [fact] Blue lamps\n- [fact] Red boats\n"
    assert 0 < MEMORY.min_coherence < 0.5


PLAIN = {"min_coherence": 0.9, "fallback": "concatenate"}


def test_row_103_too_little_coherence_falls_back_to_fragments_in_their_order_whatever_their_scores() -> None:
    files: dict[str, Content] = {"high/a.md": "- Red boats {id=r}\n- Blue lamps of red {id=b}\n- Green tea {id=g}\n"}
    layer = memories("high", source=("search",), top=2, min_score=0.1, weights=(("similarity", 1.0),), item="- {text}")
    ranked = build(files, profile(layer), topic="red lamps, tea")
    plain = build(files, profile(layer, **PLAIN), topic="red lamps, tea")
    assert "Red boats" not in ranked.text
    assert plain.text == "## High\n- Red boats\n- Blue lamps of red\n- Green tea\n"
    (problem,) = plain.problems
    assert problem.code == "low-coherence"
    assert problem.message.endswith("; scores are ignored, and the fragments keep the order of their sources")
    coherent = build(files, profile(layer, min_coherence=0.01, fallback="concatenate"), topic="red lamps, tea")
    assert (coherent.text, coherent.problems) == (ranked.text, ())


def test_row_103_a_fallback_keeps_the_budget_merges_and_has_the_receipts_of_private_parts() -> None:
    hidden = "- [fact] Nobody knows {id=p private=true}\n"
    files = pages("- [fact] One boat\n- [fact] Two lamps\n- [fact] Three cups\n" + hidden, "- [note] One  boat\n")
    asked = {"budget": 16, "audience": "shared"}
    context = build(files, profile(*TWO, merge=("content",), **PLAIN), **asked)
    assert context.tokens <= 16
    assert codes(context) == ["low-coherence"]
    assert {each.outcome for each in context.decisions} == {"included", "dropped", "merged", "excluded"}
    (receipt,) = (each for each in context.decisions if each.outcome == "excluded")
    assert (receipt.reason.code, receipt.path, receipt.lines) == ("private", "high/a.md", (4, 4))


def test_row_103_a_layer_that_was_late_stays_late_in_a_fallback() -> None:
    files = pages("- [fact] In time\n- [fact] Blue lamps\n", "- [fact] Too late\n")
    late = build(Slow(files, "low", 5), profile(*TWO, **PLAIN), run_sources=run_until_deadline(0.3))
    assert (codes(late), late.text) == (
        ["source-timeout", "low-coherence"],
        "## High\n- [fact] In time\n- [fact] Blue lamps\n",
    )


def test_row_103_a_fallback_is_replayed_byte_for_byte(tmp_path: Path) -> None:
    own = "extends: memory\nmin_coherence: 0.9\nfallback: concatenate\n"
    notes = "- [fact] Red boats\n- [fact] Blue lamps of red\n- [fact] Green tea\n"
    root = fill(tmp_path, {"ctxasm.yaml": "profile: own.yaml\n", "own.yaml": own, "memories/m.md": notes})
    built = inside("build", "-q", "--date", "2025-03-14", "--topic", "lamps and boats", "--record", cwd=root)
    assert built.out == "## Experience\n- [fact] Red boats\n- [fact] Blue lamps of red\n- [fact] Green tea\n"
    (record,) = root.glob(".ctxasm/records/*.json")
    assert inside("replay", "-q", str(record), cwd=root).out == built.out


def test_row_103_a_fallback_that_nothing_sets_off_is_refused(tmp_path: Path) -> None:
    root = fill(
        tmp_path, {"ctxasm.yaml": "profile: own.yaml\n", "own.yaml": "extends: default\nfallback: concatenate\n"}
    )
    refused = inside("build", "-q", cwd=root)
    assert (refused.code, refused.out) == (2, "")
    assert (
        "own.yaml:2: fallback: has no effect, because no coherence is below 0: add `min_coherence: 0.05`" in refused.err
    )


def test_row_118_strategy_of_pack_that_needs_no_name_has_one(tmp_path: Path) -> None:
    root = fill(tmp_path, {"PROJECT.md": "P\n", "memories/m.md": "- [fact] The gate {key=root/stack}\n"})
    plain = inside("build", "-q", "-p", "pack", "--topic", "gate", cwd=root)
    named = inside("build", "-q", "-p", "pack", "--topic", "gate", "--strategy", "relevant", cwd=root)
    assert (named.code, named.out) == (0, plain.out)
