"""Rooms of logs and memories: what a layer within another takes, and what they leave to the memories."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.input.yaml_loader import load_mapping
from contextasm.config.profiles.layers import in_scope, with_layer_changes
from contextasm.model import Context, ContextasmError, LayerUsage, Profile
from tests.command import SAMPLE, fill, inside
from tests.workspaces import DAY, DEFAULT, Content, agent, ago, budgets, build, limited, log, section, workspaces

WORDS = "\n\n".join(f"Paragraph {n} says something of the harbour." for n in range(400))
MEMORY = "".join(f"- [fact] The harbour has {n} boats and a long pier {{id=m{n}}}\n" for n in range(5))
FULL = (
    agent()
    | log(DAY, WORDS)
    | {"agents/luna/memories/a.md": MEMORY}
    | log(ago(50), "\n".join(f"- Line {n} of the harbour, which is long." for n in range(400)))
)


def usage(context: Context, layer: str) -> LayerUsage:
    return next(each for each in context.allowances if each.layer == layer)


SHARING = limited(related={"grow": False})


def test_with_a_topic_the_pair_shares_the_room_of_the_first() -> None:
    context = build(FULL, SHARING, topic="harbour")
    assert usage(context, "L3").limit == 600
    assert usage(context, "related").limit == 2400
    assert usage(build(FULL), "L3").limit == 3000
    assert usage(build(agent() | log(DAY, WORDS), topic="nothing of it"), "L3").limit == 3000


def test_lines_that_answer_take_what_is_left_and_then_the_newest_text_has_its_limit() -> None:
    shown = {budget: build(FULL, budget=budget, topic="harbour") for budget in (1000, 4000, 16_000)}
    assert usage(shown[1000], "L3").limit == 185  # a fifth of what both have
    assert usage(shown[4000], "L3").limit == 600
    assert shown[4000].tokens > 3950
    assert usage(shown[16_000], "L3").limit == 3000
    assert usage(shown[16_000], "related").used == usage(shown[16_000], "related").wanted


def test_share_that_the_second_leaves_to_the_first() -> None:
    limits = [
        usage(build(FULL, limited(related={"leaves": part}), budget=2000, topic="harbour"), "L3")
        for part in (0.05, 0.5)
    ]
    assert [each.limit for each in limits] == [96, 961]  # of 1,922


def test_limit_of_the_first_is_that_of_both() -> None:
    context = build(FULL, limited(L3={"max_tokens": 300}, related={"grow": False}), topic="harbour")
    assert (usage(context, "L3").limit, usage(context, "related").limit) == (60, 240)


def test_own_limit_of_the_second_is_kept_when_it_grows() -> None:
    context = build(FULL, limited(related={"max_tokens": 500}), topic="harbour")
    assert usage(context, "related").limit == 500


def test_without_the_first_the_second_has_its_room_and_grows() -> None:
    profile = DEFAULT._replace(layers=in_scope(DEFAULT.layers, "related,L5"))
    related = usage(build(FULL, profile, topic="harbour"), "related")
    assert related.used == related.wanted > 3000


def test_line_is_shown_once() -> None:
    context = build(agent() | log(DAY, "- The harbour is dry\n"), topic="harbour")
    assert context.text.count("The harbour is dry") == 1
    assert section(context, "Related Activity") == ""
    (decision,) = (each for each in context.decisions if each.layer == "related")
    assert (decision.outcome, decision.reason.code) == ("merged", "shown-above")


@pytest.mark.parametrize("topic", ["", "harbour"])
def test_memories_are_not_starved_by_logs(topic: str) -> None:
    wanted = usage(build(FULL, budget=16_000, topic=topic), "L5").wanted
    for budget in (300, 500, 800, 1500):
        assert usage(build(FULL, budget=budget, topic=topic), "L5").used == wanted, budget
    tight = build(FULL, budget=100, topic=topic)
    assert any(usage(tight, layer).used for layer in ("L3", "related") if topic or layer == "L3")


def test_documents_of_the_team_leave_nothing_to_the_memories() -> None:
    files = FULL | {"teams/writers/GOALS.md": WORDS}
    assert usage(build(files, budget=1000), "L2").used > 950


def test_plan_of_the_example_shows_no_empty_memory_layer() -> None:
    result = inside("plan", "-w", SAMPLE, "-a", "luna", "-t", "q1", "--date", "2025-03-10", "--budgets", "2000")
    rows = dict(line.split(maxsplit=1) for line in result.out.split("\n") if line.startswith(("L4", "L5")))
    assert len(rows) == 2
    assert all(int(row.split()[1]) > 0 for row in rows.values())


OLD_RULE: Profile = limited(L4={"reserve": 0, "reserve_against": ()}, L5={"reserve": 0, "reserve_against": ()})


@given(files=workspaces(), budget=budgets)
def test_nothing_changes_where_no_memory_layer_was_starved(files: Mapping[str, Content], budget: int) -> None:
    before, after = build(files, OLD_RULE, budget=budget), build(files, budget=budget)
    own = [usage(before, layer) for layer in ("L4", "L5")]
    if all(each.used >= min(300, each.wanted) for each in own):
        assert after.text == before.text


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ("{id: L4, leaves: 0.1}", "L4 shares no tokens"),
        ("{id: related, leaves: 5}", "is not a share"),
        ("{id: L4, within: L7}", "unknown earlier layer"),
        ("{id: L4, within: L1}", "L1 has no limit of its own to share"),
        ("{id: L4, within: L3}", "L4 is inside another layer"),
        ("{id: L4, within: L3, reserve: 0, reserve_against: []}", "related is already within L3"),
        ("{id: L7, within: related}", "related has no limit of its own to share"),
        ("{id: L4, reserve: 0}", "L4 has no reserve"),
        ("{id: L3, reserve: 5, reserve_against: L4}", "unknown earlier layer"),
    ],
)
def test_rooms_that_can_not_be_are_refused(layers: str, message: str) -> None:
    tables = load_mapping(f"layers:\n  - {layers}\n", "ctxasm.yaml")["layers"]
    with pytest.raises(ContextasmError, match=message):
        with_layer_changes(DEFAULT, tables, "ctxasm.yaml:1", new=False)


def test_switched_off_host_leaves_its_limit(tmp_path: Path) -> None:
    fill(
        tmp_path,
        {
            **FULL,
            "ctxasm.yaml": "layers:\n  - {id: L3, enabled: false, max_tokens: 600}\n  - {id: related, grow: false}\n",
        },
        base={},
    )
    request = ("-a", "luna", "--date", str(DAY), "--topic", "harbour")
    result = inside("explain", "--json", *request, "-w", tmp_path)
    assert '"layer": "L3"' not in result.out
    assert '"limit": 600' in result.out


def test_top_counts_what_the_first_does_not_show() -> None:
    files = agent() | log(DAY, "- The harbour\n") | log(ago(50), "- A long line that tells of the harbour, too\n")
    context = build(files, limited(related={"top": 1}), topic="harbour")
    assert "tells of the harbour" in section(context, "Related Activity")
    more = files | log(ago(60), "- A far longer line that tells of ships, of piers and of the old harbour\n")
    assert section(build(more, limited(related={"top": 1}), topic="harbour"), "Related Activity").count("\n") == 1


def test_room_held_for_the_second_is_no_more_than_the_budget() -> None:
    for budget in (1, 30, 200):
        context = build(FULL, limited(related={"reserve": 500}), budget=budget, topic="harbour")
        assert context.tokens <= max(budget, build(agent()).tokens)
    assert usage(context, "related").used


def test_part_of_a_room_that_holds_no_line_is_the_reason() -> None:
    files = agent() | log(ago(50), f"- {'harbour ' * 60}\n")
    context = build(files, limited(L3={"max_tokens": 60}, related={"grow": False}), topic="harbour")
    (decision,) = (each for each in context.decisions if each.layer == "related")
    assert (decision.reason.code, dict(decision.reason.facts)["limit"]) == ("no-room", "within")
    (problem,) = (each for each in context.problems if each.path == "related")
    assert "its part of L3, 60, is too small for one line" in problem.message
    wide = build(files, limited(L3={"max_tokens": None}, related={"grow": False}), budget=80, topic="harbour")
    assert "starved" not in {each.code for each in wide.problems if each.path == "related"}


@given(sizes=st.lists(st.integers(1, 60), min_size=1, max_size=40), budget=st.integers(30, 200))
def test_a_line_is_left_out_only_if_it_does_not_fit(sizes: Sequence[int], budget: int) -> None:
    lines = [f"harbour {number} {'x' * size}" for number, size in enumerate(sizes)]
    context = build(agent() | log(ago(50), "".join(f"- {line}\n" for line in lines)), budget=budget, topic="harbour")
    room = 4 * budget - len(context.text)
    left = [line for line in lines if line not in context.text]
    heading = len(f"\n\n## Related Activity\n### {ago(50)}\n") if len(left) == len(lines) else 0
    assert all(len(f"- {line}\n") + heading > room - len("\n... [truncated]\n") for line in left)
