"""Rows 1 to 22 of the digest's capability table: what the first source document promises."""

from collections.abc import Mapping

import pytest

from contextasm.config.input.yaml_loader import load_mapping
from contextasm.config.profiles.layers import layer_id, with_layer_changes
from contextasm.model import Context, ContextasmError, Document
from contextasm.rendering.formats import MARKER
from contextasm.selection.tokens import ESTIMATE
from tests.command import CASES
from tests.tables import files_of
from tests.workspaces import (
    DAY,
    DEFAULT,
    Content,
    Files,
    agent,
    ago,
    build,
    codes,
    headings,
    limited,
    log,
    outcomes,
    section,
    team,
)

LONG = "\n\n".join(f"Paragraph {n} says something that is worth about fifteen tokens." for n in range(2_000))

_files, _, SHOWN = (CASES / "example.md").read_text(encoding="utf-8").partition("=== builds\n")
EXAMPLE: dict[str, Content] = {**files_of(_files)}
"""The workspace behind the example in the source document, and what is built of it."""

NINE = [
    "Identity",
    "Instructions",
    "Team Goals",
    "Team Context",
    "Team Rules",
    "Recent Activity",
    "Team Knowledge",
    "Personal Memories",
    "Knowledge Base",
]

FULL = EXAMPLE | team(CONTEXT="Q1 planning.", RULES="Two reviews.")
"""The same with every file that may be there."""


def used(context: Context, layer: str) -> int:
    """The tokens of a layer, as emitted."""
    own = (each for each in context.sections if each.layer == layer)
    return ESTIMATE.count("".join(f"## {each.heading}\n{each.text}\n\n" for each in own))


def test_row_01_the_example_of_the_source_document_comes_out_byte_for_byte() -> None:
    assert build(EXAMPLE).text == SHOWN


def test_row_01_nine_sections_stand_in_the_fixed_order_and_nothing_else() -> None:
    files = dict(reversed([*FULL.items()])) | {
        "README.md": "no",
        "agents/luna/NOTES.md": "no",
        "agents/max/KNOWLEDGE.md": "no",
    }
    context = build(files)
    assert headings(context) == NINE
    assert [line[3:] for line in context.text.split("\n") if line.startswith("## ")] == NINE
    assert "no" not in context.text.split("\n")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        *[("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("😀", 1), ("😀😀", 1), ("😀😀a", 2)],
        *[("日本語で", 4), ("ab日", 2), ("é" * 8, 2)],
    ],
)
def test_row_02_estimate_is_a_quarter_of_the_utf16_length_of_latin_text(text: str, tokens: int) -> None:
    assert ESTIMATE.count(text) == tokens


@pytest.mark.parametrize("budget", [40, 41, 100, 500, 1_000, 4_000, 16_000])
def test_row_03_document_keeps_to_the_budget(budget: int) -> None:
    files = {path: LONG for path in FULL if "memories" not in path} | agent()
    context = build(files, budget=budget)
    assert ESTIMATE.count(context.text) == context.tokens <= budget
    assert context.tokens > budget * 0.7 or budget > 10_000


def test_row_04_larger_budget_never_shows_less_of_the_text_layers() -> None:
    files = agent(KNOWLEDGE=LONG[:4_000]) | team(GOALS=LONG[:2_000], RULES=LONG[:500]) | log(DAY, LONG[:3_000])
    before: set[str] = set()
    for budget in range(20, 2_600, 20):
        now = {line for line in build(files, budget=budget).text.split("\n") if line.startswith("Paragraph")}
        assert all(any(line.startswith(old) for line in now) for old in before), budget
        before = now
    assert len(before) > 50


@pytest.mark.parametrize("budget", [0, 1, 50, 16_000, 1_000_000])
def test_row_05_identity_and_instructions_stand_byte_for_byte_at_any_budget(budget: int) -> None:
    identity, instructions = "# Luna\t \n\n\n\n  indented  \n日本 😀 </section>", LONG
    context = build(agent(identity, instructions) | log(DAY, "A log."), budget=budget)
    assert section(context, "Identity") == f"##{identity}"
    assert section(context, "Instructions") == instructions
    assert {*outcomes(context, "L1").values()} == {"included: required"}


def test_row_06_required_layer_over_the_budget_stands_alone_and_says_so() -> None:
    context = build(FULL | agent("i" * 400, "You."), budget=100)
    assert headings(context) == ["Identity", "Instructions"]
    assert context.tokens > 100
    assert "over-budget" in codes(context)


@pytest.mark.parametrize("length", [40, 41, 42, 43])
def test_row_06_required_layer_that_just_fits_is_no_problem(length: int) -> None:
    files = agent("i" * length)
    tokens = build(files).tokens
    assert codes(build(files, budget=tokens)) == []
    assert codes(build(files, budget=tokens - 1)) == ["over-budget"]


def test_row_07_team_files_follow_the_agents() -> None:
    assert headings(build(FULL))[2:5] == ["Team Goals", "Team Context", "Team Rules"]


def test_row_07_without_a_team_none_of_its_files_is_read() -> None:
    context = build(FULL, team="")
    assert headings(context) == ["Identity", "Instructions", "Personal Memories", "Knowledge Base"]
    assert not [each.path for each in context.documents if each.path.startswith("teams/")]


@pytest.mark.parametrize(
    ("layer", "heading", "files", "cap"),
    [
        pytest.param("L3", "Recent Activity", log(DAY, LONG) | log(ago(1), LONG), 3_000, id="row_08_L3"),
        pytest.param("L7", "Knowledge Base", agent(KNOWLEDGE=LONG), 2_000, id="row_11_L7"),
        pytest.param(
            "L4", "Team Knowledge", {"teams/writers/memories/a.md": f"- {'long ' * 4_000}"}, 2_000, id="row_09_L4"
        ),
        pytest.param(
            "L5", "Personal Memories", {"agents/luna/memories/a.md": f"- {'long ' * 4_000}"}, 2_000, id="row_10_L5"
        ),
    ],
)
def test_rows_08_to_11_layer_keeps_to_its_cap_marker_included(
    layer: str, heading: str, files: Mapping[str, Content], cap: int
) -> None:
    context = build(agent() | dict(files))
    assert cap - 30 < used(context, layer) <= cap
    assert section(context, heading).endswith(f"\n{MARKER}")


@pytest.mark.parametrize(
    ("layer", "folder"), [("L4", "teams/writers"), ("L5", "agents/luna")], ids=["row_09_L4", "row_10_L5"]
)
def test_rows_09_and_10_at_most_five_memories_show(layer: str, folder: str) -> None:
    lines = (f"- [fact] Memory {n} {{created=2025-01-{n:02}}}" for n in range(1, 9))
    context = build(agent() | {f"{folder}/memories/a.md": "\n".join(lines)})
    shown = next(each.text for each in context.sections if each.layer == layer)
    assert shown == "\n".join(f"- [fact] Memory {n}" for n in (8, 7, 6, 5, 4))
    out = [each.reason.code for each in context.decisions if each.layer == layer and each.outcome == "excluded"]
    assert out == ["not-in-top"] * 3


def test_row_09_a_memory_too_long_for_what_is_left_gives_way_to_the_next() -> None:
    memories = f"- [a] first {{importance=1}}\n- [b] {'long ' * 2_000}{{created=2025-01-02}}\n"
    memories += "- [c] last {created=2025-01-01}"
    context = build(agent() | {"teams/writers/memories/a.md": memories})
    assert section(context, "Team Knowledge") == f"- [c] last\n- [a] first\n{MARKER}"


def test_row_12_no_profile_has_a_layer_l6() -> None:
    assert [layer.id for layer in DEFAULT.layers] == ["L1", "L2", "L3", "related", "L4", "L5", "L7"]


def test_row_12_config_that_names_l6_is_told_that_it_is_reserved() -> None:
    with pytest.raises(ContextasmError, match="L6 is reserved"):
        layer_id("L6", ["L5", "L7"], "ctxasm.yaml:3")


def test_row_13_cap_in_the_config_replaces_the_default_and_the_report_shows_it() -> None:
    tables = load_mapping("layers:\n  - id: L7\n    max_tokens: 50\n", "ctxasm.yaml")["layers"]
    profile = with_layer_changes(DEFAULT, tables, "ctxasm.yaml:1", new=False)
    context = build(agent(KNOWLEDGE=LONG), profile)
    allowance = next(each for each in context.allowances if each.layer == "L7")
    assert (allowance.limit, used(context, "L7")) == (50, allowance.used)
    assert 40 < allowance.used <= 50
    decision = next(each for each in context.decisions if each.layer == "L7")
    assert dict(decision.reason.facts) == {"allowance": 50, "limit": "max_tokens"}


@pytest.mark.parametrize("cap", [12, 20, 33, 100, 500])
def test_row_14_cut_section_ends_in_the_marker_and_stays_within_its_cap(cap: int) -> None:
    context = build(agent(KNOWLEDGE=LONG), limited(L7={"max_tokens": cap}))
    assert section(context, "Knowledge Base").endswith(f"\n{MARKER}")
    assert used(context, "L7") <= cap


def test_row_15_allowance_too_small_for_a_line_and_the_marker_drops_the_section() -> None:
    context = build(agent(KNOWLEDGE=LONG), limited(L7={"max_tokens": 6}))
    assert section(context, "Knowledge Base") == ""
    assert outcomes(context, "L7") == {"agents/luna/KNOWLEDGE.md": "dropped: no-room"}
    assert [(each.code, each.path) for each in context.problems] == [("no-room", "L7")]


def test_row_15_allowance_of_nothing_switches_a_layer_off() -> None:
    context = build(agent(KNOWLEDGE=LONG), limited(L7={"max_tokens": 0}))
    assert outcomes(context, "L7") == {"agents/luna/KNOWLEDGE.md": "dropped: no-room"}
    assert codes(context) == []


@pytest.mark.parametrize("blank", ["", "\n", "  \n\t\n\n", "\ufeff", "---\ntitle: x\n---\n\n"])
def test_row_16_file_with_only_blanks_yields_no_heading(blank: str) -> None:
    files = agent(KNOWLEDGE=blank) | team(GOALS=blank, RULES=blank) | log(DAY, blank)
    files |= {"agents/luna/memories/a.md": blank, "teams/writers/memories/a.md": blank}
    context = build(files)
    assert headings(context) == ["Identity", "Instructions"]
    assert codes(context) == []
    assert outcomes(context, "L3").popitem()[1] == "excluded: blank"


def test_row_17_missing_file_yields_no_section_and_no_problem() -> None:
    context = build(agent())
    assert context.text == "## Identity\nYou are Luna.\n\n## Instructions\nBe kind.\n"
    assert codes(context) == []


def test_row_17_file_that_cannot_be_read_is_a_problem_and_the_rest_goes_on() -> None:
    files: dict[str, str | bytes] = {**EXAMPLE, "teams/writers/daily/2025-03-13.md": b"caf\xe9"}
    files["agents/luna/KNOWLEDGE.md/inner.md"] = files.pop("agents/luna/KNOWLEDGE.md")
    context = build(files)
    assert [*codes(context)] == ["not-text", "not-a-file"]
    assert "byte 3" in context.problems[0].message
    assert "Discussed character arc revisions" in section(context, "Recent Activity")
    with pytest.raises(ContextasmError, match=r"agents/luna/IDENTITY\.md"):
        build(EXAMPLE | {"agents/luna/IDENTITY.md": b"\xff\xfe\x00"})


def test_row_18_layer_that_got_nothing_because_of_earlier_ones_is_named() -> None:
    context = build(EXAMPLE | team(GOALS=LONG), budget=500)
    starved = [each.path for each in context.problems if each.code == "starved"]
    assert starved == ["L3", "L4", "L5", "L7"]
    assert set(outcomes(context, "L7").values()) == {"dropped: starved"}


def test_row_18_reserve_holds_room_against_earlier_layers() -> None:
    context = build(EXAMPLE | team(GOALS=LONG), limited(L7={"reserve": 1_000}), budget=500)
    assert section(context, "Knowledge Base") == "Reference materials for storytelling frameworks..."
    assert 450 < context.tokens <= 500


def test_row_19_logs_of_the_team_and_of_the_agent_show_and_without_a_team_the_agents() -> None:
    files = agent() | log(DAY, "Mine.") | log(DAY, "Ours.", "teams/writers") | log(DAY, "Other.", "agents/max")
    assert section(build(files), "Recent Activity") == "### 2025-03-14\nOurs.\n\nMine."
    assert section(build(files, team=""), "Recent Activity") == "### 2025-03-14\nMine."


def test_row_20_days_aged_0_to_7_show_and_others_say_why_not() -> None:
    files = agent()
    for days in (-1, 0, 7, 8):
        files |= log(ago(days), f"Aged {days}.")
    context = build(files)
    assert section(context, "Recent Activity") == "### 2025-03-14\nAged 0.\n\n### 2025-03-07\nAged 7."
    assert outcomes(context, "L3") == {
        "agents/luna/daily/2025-03-15.md": "excluded: future",
        "agents/luna/daily/2025-03-14.md": "included: fits",
        "agents/luna/daily/2025-03-07.md": "included: fits",
        "agents/luna/daily/2025-03-06.md": "excluded: outside-window",
    }
    assert {each.path for each in context.documents if "daily" in each.path} == {
        "agents/luna/daily/2025-03-14.md",
        "agents/luna/daily/2025-03-07.md",
    }


def test_row_21_newest_day_comes_first_each_under_its_own_date() -> None:
    files = agent() | log(ago(1), "Yesterday.") | log("2025-03-14-evening", "Evening.")
    files |= log(ago(0), "Today.") | log("2025-03-14-10", "Ten.")
    shown = section(build(files), "Recent Activity")
    assert shown == "### 2025-03-14\nToday.\n\nTen.\n\nEvening.\n\n### 2025-03-13\nYesterday."


def test_row_21_oldest_day_is_lost_first() -> None:
    files = (
        agent() | log(ago(1), "Old " * 50) | log(ago(0), "## Morning\n\n" + "Talk " * 50 + "\n\n## Evening\n\nDone.")
    )
    shown = section(build(files, limited(L3={"max_tokens": 22})), "Recent Activity")
    assert shown == f"### 2025-03-14\n{MARKER}\n#### Evening\n\nDone.\n{MARKER}"


@pytest.mark.parametrize(
    "name", ["2025-02-30", "2025-3-14", "14-03-2025", "today", "2025-03-140", "x2025-03-14", "2025-13-01", "٢٠٢٥-٠٣-١٤"]
)
def test_row_22_name_that_is_no_date_is_skipped_with_a_problem(name: str) -> None:
    context = build(agent() | log(name, "Never shown.") | log(DAY, "Shown."))
    assert section(context, "Recent Activity") == "### 2025-03-14\nShown."
    assert [(each.code, each.path) for each in context.problems] == [("bad-log-name", f"agents/luna/daily/{name}.md")]


@pytest.mark.parametrize("name", ["2025-03-14-evening", "2025-03-14 evening", "2025-03-14_2", "2025-03-14.draft"])
def test_row_22_suffix_is_allowed(name: str) -> None:
    context = build(agent() | log(name, "Shown."))
    assert section(context, "Recent Activity") == "### 2025-03-14\nShown."
    assert codes(context) == []


def test_record_of_what_was_read_holds_every_file_that_was_opened() -> None:
    context = build(EXAMPLE)
    assert [each.path for each in context.documents] == sorted(EXAMPLE)
    for document in context.documents:
        read = Files(EXAMPLE).read(document.path)
        assert isinstance(read, Document)
        assert document.digest == read.digest


@pytest.mark.parametrize("budget", [60, 200, 16_000])
def test_row_59_considered_and_kept_are_both_reported(budget: int) -> None:
    context = build(FULL, budget=budget)
    considered = [each for each in context.decisions if each.tokens_before is not None]
    assert sum(each.tokens_before or 0 for each in considered) >= sum(each.tokens_after for each in considered)
    assert {each.layer: each.wanted >= each.used for each in context.allowances} == dict.fromkeys(
        [each.layer for each in context.allowances], True
    )


def test_row_61_same_inputs_give_the_same_tag_and_a_changed_file_another() -> None:
    again = {**FULL, "agents/luna/KNOWLEDGE.md": "Something else."}
    assert build(FULL).etag == build(dict(reversed(FULL.items()))).etag != build(again).etag


@pytest.mark.parametrize("budget", [40, 80, 400])
def test_row_81_limits_of_layers_and_of_the_whole_hold_at_once(budget: int) -> None:
    text = "A sentence of some length stands here. " * 40
    files = agent(KNOWLEDGE=text) | log(DAY, text)
    context = build(files, limited(L3={"max_tokens": 100}, L7={"max_tokens": 50}), budget=budget)
    assert context.tokens <= budget
    used = {each.layer: each.used for each in context.allowances}
    assert used["L3"] <= 100
    assert used["L7"] <= 50
