"""Days and events: nothing of a later day is shown, a day of logs is shared fairly, events are ranked."""

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.input.values import parse_intents
from contextasm.config.profiles.loader import load_profile, with_strategy
from contextasm.model import Context, ContextasmError, Document
from contextasm.retrieval.pool import MANY
from contextasm.text.markdown.front_matter import front_matter
from contextasm.text.memories.parser import unique_ids
from tests.command import fill, inside
from tests.workspaces import DAY, Content, agent, build, codes, limited, log, team

TOMORROW = DAY + timedelta(days=1)


def event(kind: str, time: str, content: object) -> str:
    """One line of a session."""
    return json.dumps({"type": kind, "timestamp": time, "content": content})


def query(files: Mapping[str, Content], topic: str = "", strategy: str = "", budget: int = 8000) -> Context:
    """A build with the profile `query`."""
    profile = load_profile("query", "tests", Path())
    profile = with_strategy(profile, strategy, "tests") if strategy else profile
    return build(files, profile, topic=topic, budget=budget)


# A pinned date shows nothing later.


@pytest.mark.parametrize("topic", ["", "harbor"])
def test_a_memory_of_a_later_day_is_excluded_as_future(topic: str) -> None:
    memories = (
        f"- [fact] The harbor opens {{created={TOMORROW} id=later}}\n- [fact] The harbor is {{created={DAY} id=now}}\n"
    )
    context = build({**agent(), "agents/luna/memories/a.md": memories}, topic=topic)
    reasons = {decision.fragment: decision.reason for decision in context.decisions}
    assert (reasons["later"].code, dict(reasons["later"].facts)) == ("future", {"age": -1})
    assert "harbor is" in context.text
    assert "harbor opens" not in context.text


@pytest.mark.parametrize("topic", ["", "harbor"])
def test_an_indexed_pool_shows_no_memory_of_a_later_day(tmp_path: Path, topic: str) -> None:
    past = "".join(f"- [fact] The harbor has {n} boats {{created=2025-01-01}}\n" for n in range(MANY))
    later = "".join(f"- [fact] The harbor wants {n} boats {{created=2025-04-01}}\n" for n in range(100))
    root = fill(tmp_path, {"agents/a/memories/m.md": past + later})
    words = ("build", "-w", root, "--date", "2025-03-14", "--topic", topic)
    for _ in range(2):
        done = inside(*words, "-f", "json")
        context = json.loads(done.out)
        assert "wants" not in context["content"]
        assert context["content"].count(" boats") == (10 if topic else 5)
        counts = {
            row["reason"]["code"]: row["reason"].get("count") for row in context["decisions"] if row["layer"] == "L5"
        }
        assert counts["future"] == 100
    assert "wants" not in inside("search", "-w", root, "--date", "2025-03-14", "harbor").out


def test_an_event_of_a_later_day_is_excluded_as_future() -> None:
    files: dict[str, Content] = {
        "sessions/now.jsonl": event("note", f"{DAY}T09:00:00Z", "today")
        + "\n"
        + event("note", f"{TOMORROW}T09:00:00Z", "later"),
        "sessions/next.jsonl": event("note", f"{TOMORROW}T10:00:00Z", "much later"),
    }
    context = query(files)
    assert "today" in context.text
    assert "later" not in context.text
    assert "### Session now" in context.text
    assert sorted(decision.reason.code for decision in context.decisions) == ["fits", "future", "future"]


# A day of logs.


def test_a_long_log_of_the_agent_does_not_push_out_the_log_of_the_team() -> None:
    chatter = "\n\n".join(f"Entry {n} of a very long day that nobody asked about." for n in range(300))
    files = {**agent(), **log(DAY, chatter), **log(DAY, "We decided to ship on Monday.\n", "teams/writers")}
    context = build(files, limited(L3={"max_tokens": 200}))
    assert "We decided to ship on Monday." in context.text
    assert "Entry 299 " in context.text


def test_sections_of_a_day_take_turns_newest_first() -> None:
    own = "\n\n".join(f"## Own {n}\n{'own words ' * 12}" for n in range(4))
    shared = "\n\n".join(f"## Shared {n}\n{'team words ' * 12}" for n in range(4))
    files = {**agent(), **log(DAY, own), **log(DAY, shared, "teams/writers")}
    shown = build(files, limited(L3={"max_tokens": 165})).text
    assert [name for name in ("Own 3", "Own 2", "Own 1") if name in shown] == ["Own 3", "Own 2"]
    assert [name for name in ("Shared 3", "Shared 2", "Shared 1") if name in shown] == ["Shared 3", "Shared 2"]


# Events.


@pytest.mark.parametrize(
    ("content", "text"),
    [([1, "two"], '[1,"two"]'), (7, "7"), (True, "true"), ({"a": 1}, '{"a":1}'), ("plain", '"plain"')],
)
def test_content_of_an_event_that_is_no_object_is_shown(content: object, text: str) -> None:
    context = query({"sessions/s.jsonl": event("note", f"{DAY}T08:00:00Z", content)})
    assert f"note: {text}\n" in context.text + "\n"


def test_events_are_ranked_by_relevance_recency_and_importance() -> None:
    lines = [event("turn", f"{DAY}T08:00:00Z", {"role": "user", "text": "The ledger was migrated to a new schema."})]
    lines += [
        event("turn", f"{DAY}T09:{n:02}:00Z", {"role": "user", "text": f"Lunch was good, number {n}."})
        for n in range(30)
    ]
    files: dict[str, Content] = {"sessions/s.jsonl": "\n".join(lines)}
    assert "ledger" not in query(files, budget=400).text
    context = query(files, "what happened to the ledger schema?", budget=400)
    assert "The ledger was migrated" in context.text
    score = dict(next(decision.score for decision in context.decisions if decision.lines[0] == 1))
    assert score["total"] == pytest.approx(
        0.3 * score["similarity"] + 0.1 * score["intent"] + 0.3 * score["recency"] + 0.3 * score["importance"]
    )


def test_the_intent_of_a_topic_says_which_types_of_events_count_as_source_001_describes() -> None:
    types = ("error", "file_read", "file_write", "note")
    lines = [event(type_, f"{DAY}T08:00:00Z", {"text": "the weather"}) for type_ in types]
    files: dict[str, Content] = {"sessions/s.jsonl": "\n".join(lines)}

    def counted(topic: str) -> list[str]:
        scores = {each.lines[0]: dict(each.score) for each in query(files, topic).decisions}
        return [type_ for line, type_ in enumerate(types, 1) if scores[line].get("intent")]

    assert counted("fix the weather") == ["error", "file_write"]
    assert counted("explain the weather") == counted("the weather?") == ["file_read"]
    assert counted("show the weather") == ["file_write"]
    assert counted("") == []
    shown = [query(files, topic, budget=40).text for topic in ("fix the weather", "explain the weather")]
    assert ["Read:" in text for text in shown] == [False, True]


def test_an_intent_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ContextasmError, match="unknown intent `fixx`: did you mean fix"):
        parse_intents({"fixx": ["error"]}, "intents")


def test_strategies_change_the_scores_of_events() -> None:
    files: dict[str, Content] = {"sessions/s.jsonl": event("turn", f"{DAY}T08:00:00Z", {"text": "The ledger."})}
    totals = {
        name: dict(query(files, "ledger", name).decisions[0].score)["total"]
        for name in ("coding", "writing", "research", "support")
    }
    assert len({*totals.values()}) == 4


def test_the_newest_events_are_the_newest_by_time_not_the_last_lines() -> None:
    lines = [event("note", f"{DAY}T20:00:00Z", "evening")]
    lines += [event("note", f"{DAY}T08:{n:02}:00Z", f"morning {n}") for n in range(50)]
    context = query({"sessions/s.jsonl": "\n".join(lines)})
    reasons = {decision.lines[0]: decision.reason.code for decision in context.decisions}
    assert reasons[1] != "not-in-pool"
    assert [line for line, code in reasons.items() if code == "not-in-pool"] == [2]


# Nothing is quadratic.


class Counted(str):
    """A text that counts how often it is hashed."""

    __slots__ = ()
    hashes = 0

    def __hash__(self) -> int:
        Counted.hashes += 1
        return super().__hash__()


@given(st.lists(st.sampled_from(("a", "b", "a~2", "a~3", "b~2")), max_size=30))
def test_unique_ids_are_the_first_free_ones(names: list[str]) -> None:
    ids = unique_ids(names)
    assert len({*ids}) == len(ids) == len(names)
    for number, (name, unique) in enumerate(zip(names, ids, strict=True)):
        taken = {*ids[:number]}
        assert unique == next(free for free in (name, *(f"{name}~{n}" for n in range(2, 40))) if free not in taken)


def test_equal_bullets_cost_no_more_than_their_number() -> None:
    costs = []
    for size in (1000, 2000, 4000):
        Counted.hashes = 0
        assert unique_ids([Counted("m")] * size)[-1] == f"m~{size}"
        costs.append(Counted.hashes)
    assert costs[2] <= 2.2 * costs[1] <= 2.2 * 2.2 * costs[0]


def test_a_long_list_in_front_matter_is_read_whole() -> None:
    lines = ["---", "tags:", *(f"  - t{n}" for n in range(48_000)), "other: x", "empty: []", "  - one", "---"]
    values = front_matter(lines).values
    assert len(values["tags"]) == 48_000
    assert values["tags"][-1] == "t47999"
    assert (values["other"], values["empty"]) == ("x", ("one",))


def test_a_build_does_not_hang_on_a_long_list_in_front_matter(tmp_path: Path) -> None:
    for count, shown in ((10_000, True), (400_000, False)):  # the second is too large
        items = "  - t\n" * count
        fill(tmp_path, {"agents/a/KNOWLEDGE.md": f"---\ntags:\n{items}---\nText.\n"})
        result = inside("build", "-q", "-w", tmp_path)
        assert result.code == 0, result.err
        assert ("Text." in result.out) == shown


def test_a_day_that_no_log_was_cut_for_is_shown_as_before() -> None:
    files = {**agent(), **team(GOALS="G."), **log(DAY, "One.\n"), **log(DAY, "Two.\n", "teams/writers")}
    context = build(files)
    assert context.text.endswith(f"## Recent Activity\n### {DAY}\nTwo.\n\nOne.\n")
    assert codes(context) == []
    assert all(isinstance(document, Document) for document in context.documents)
