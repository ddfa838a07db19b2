"""Use of the budget: room that one layer leaves unused goes to others, and shortened text is told."""

import json
from base64 import b64encode
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.input.yaml_loader import load_mapping, load_yaml
from contextasm.config.profiles.layers import with_layer_changes, with_layer_values
from contextasm.model import Build, Context, ContextasmError, Profile
from contextasm.pipeline import assemble
from contextasm.rendering.formats import MARKER
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.data.task_stack import TaskStack, pop, push
from contextasm.workspace.editing.tasks import changed_task_text
from tests.laws.test_profiles import SHIPPED, build
from tests.workspaces import Content, Files, agent, limited, o200k, request, team
from tests.workspaces import build as build_default

LINES = " ".join(f"Line {number} of the output." for number in range(140))


def events(*contents: str, kind: str = "tool_result") -> dict[str, Content]:
    rows = (
        json.dumps({"id": str(n), "type": kind, "timestamp": f"2025-03-12T09:{n:02}:00Z", "content": content})
        for n, content in enumerate(contents)
    )
    return {"sessions/s.jsonl": "\n".join(rows) + "\n"}


def capped(tokens: int) -> Profile:
    """The profile librarian with results that take so many tokens and no more."""
    profile = SHIPPED["librarian"]
    layers = (
        layer._replace(limits=layer.limits.capped(tokens)) if layer.id == "results" else layer
        for layer in profile.layers
    )
    return profile._replace(layers=tuple(layers))


def used(context: Context) -> dict[str, int]:
    return {usage.layer: usage.used for usage in context.allowances}


def test_long_tool_result_fills_its_room() -> None:
    context = build_default(agent() | events(LINES), capped(600), budget=8000)
    assert 590 <= used(context)["results"] <= 600
    assert context.decisions[-1].outcome == "truncated"


def test_shorter_forms_come_before_the_cut_and_the_cut_takes_the_rest() -> None:
    results = (f"Result {number}. {LINES}" for number in range(3))
    context = build_default(agent() | events(*results), capped(600), budget=8000)
    shown = [decision.outcome for decision in context.decisions if decision.layer == "results"]
    assert sorted(shown) == ["shortened", "shortened", "truncated"]
    assert 590 <= used(context)["results"] <= 600


def test_events_take_the_share_that_nothing_else_takes() -> None:
    context = build(events(*[f"{n} {'word ' * 60}" for n in range(50)], kind="note"), SHIPPED["query"], 8000, "")
    assert set(outcomes_of(context, "recent")) == {"included"}
    assert used(context)["recent"] > 8000 * 0.4


def test_row_93_pages_alone_fill_the_budget_with_detail() -> None:
    page = "# Gate {0}\n" + "".join(f"\nParagraph {n} of gate {{0}}. {'It has more words. ' * 9}\n" for n in range(8))
    files: dict[str, Content] = {f"knowledge/{n}.md": page.format(n) for n in range(9)}
    context = build(files, SHIPPED["memory"], 1500, "gate")
    assert "shortened" in outcomes_of(context, "world")
    assert 0.9 * 1500 <= context.tokens <= 1500


@pytest.mark.parametrize("limits", [{"share": 50.0, "max_tokens": None}, {"max_tokens": 500}], ids=["share", "tokens"])
@pytest.mark.parametrize("grow", [False, True])
def test_limit_is_a_wall_without_grow_and_a_part_under_pressure_with_it(limits: dict[str, Any], grow: bool) -> None:
    text = "\n\n".join(f"Paragraph {n} of the knowledge." for n in range(90))
    files = agent(KNOWLEDGE=text) | team(GOALS=text)
    alone, pressed = (
        used(build_default(files, limited(L2=second, L7={**limits, "grow": grow}), budget=1000))["L7"]
        for second in ({"max_tokens": 0}, {})
    )
    assert alone > 500 if grow else 480 < alone <= 500
    assert pressed <= 500


def test_layer_that_is_cut_leaves_the_rest_of_its_room_to_later_ones() -> None:
    files: dict[str, Content] = {"PROJECT.md": "P\n"}
    files["memories/m.md"] = (
        f"- [fact] {'Word ' * 80} {{key=root/stack confidence=0.9 tier=1}}\n"
        f"- [fact] {'Bug ' * 200} {{key=root/bugs confidence=0.9 tier=2}}\n"
        f"- [fact] {'A todo ' * 16} {{key=root/todo confidence=0.9 tier=3}}\n"
    )
    context = build(files, SHIPPED["brain"], 300, "")
    assert outcomes_of(context, "tier2") == ["dropped"]
    assert outcomes_of(context, "tier3") == ["included"]


def test_unused_room_goes_to_an_earlier_layer_that_wants_it() -> None:
    memories = "".join(f"- [fact] Number {n} of the memories {'word ' * 10}\n" for n in range(20))
    files = agent() | {"memories/m.md": memories, "sessions/s.jsonl": ""} | events("x" * 4000)
    profile = SHIPPED["memory"]
    layers = [
        with_layer_values(layer, {"share": None, "grow": False, "overflow": ("drop",), "top": 0, "detail": "atomic"})
        for layer in profile.layers
        if layer.id in {"workshop", "experience"}
    ]
    workshop, experience = layers
    layers = [experience, with_layer_values(workshop, {"reserve": 300})]
    context = build(files, profile._replace(layers=tuple(layers), fill=0, merge=()), 400, "")
    assert outcomes_of(context, "workshop") == ["dropped"]
    assert context.tokens > 360


@pytest.mark.parametrize("lines", [10, 400])
def test_text_that_grows_with_what_others_claim_is_not_stable(lines: int) -> None:
    files = agent() | team(RULES="\n\n".join(f"Rule {n} of the house." for n in range(lines)))
    context = build_default(files, SHIPPED["librarian"])
    stable = {section.heading: section.stable for section in context.sections}
    assert stable == {"Identity": True, "Instructions": True, "Rules": lines == 10}
    assert not context.truncated


def test_grow_without_a_limit_is_refused() -> None:
    table = load_mapping("layers:\n  - {id: L4, max_tokens: null, grow: true}\n", "p.yaml")
    with pytest.raises(ContextasmError, match="L4 has `grow`, but no `share`"):
        with_layer_changes(limited(), table["layers"], "p.yaml", new=False)


def outcomes_of(context: Context, layer: str) -> list[str]:
    shown = (decision for decision in context.decisions if decision.layer == layer)
    return [decision.outcome for decision in shown if decision.outcome != "excluded"]


def shortened(marker: str) -> Context:
    profile = limited(marker=marker, L5={"max_tokens": 40, "overflow": ("detail",)})
    memories = "- [fact] Small.\n- [fact] First sentence. " + "More of it that is long. " * 8 + "\n"
    return build_default(agent() | {"agents/luna/memories/m.md": memories}, profile)


def test_shortened_counts_as_truncated_and_is_marked() -> None:
    context = shortened("plain")
    assert sorted(outcomes_of(context, "L5")) == ["included", "shortened"]
    assert context.truncated
    assert context.sections[-1].truncated
    assert context.sections[-1].text.endswith(f"\n{MARKER}")
    assert used(context)["L5"] <= 40


def test_detailed_marker_gives_the_number_of_shortened_fragments() -> None:
    assert shortened("detailed").sections[-1].text.endswith(f"\n{MARKER} 1 fragment shortened")


def test_detailed_marker_names_what_is_left_out_and_what_is_shortened() -> None:
    profile = limited(marker="detailed", L5={"max_tokens": 60, "overflow": ("drop", "detail")})
    long = "First sentence. " + "More of it that is long. " * 20
    memories = f"- [fact] {long}\n- [fact] {'word ' * 300}\n"
    context = build_default(agent() | {"agents/luna/memories/m.md": memories}, profile)
    last = context.sections[-1].text.rpartition("\n")[2]
    assert last.startswith(f"{MARKER} agents/luna/memories/m.md:2, ")
    assert last.endswith("tokens left out; 1 fragment shortened")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b64encode(Random(1).randbytes(30_000)).decode(), id="base64"),
        pytest.param(">" * 60_000, id="one sign"),
        pytest.param("日本語の文章はここで切れることがある。" * 500, id="Japanese"),
    ],
)
def test_line_without_blanks_fills_its_room_with_an_exact_tokenizer(line: str) -> None:
    context = build_default(agent(KNOWLEDGE=line), limited(L7={"max_tokens": 300}), o200k())
    assert 280 <= used(context)["L7"] <= 300


def test_summary_is_not_replaced_by_a_cut() -> None:
    files = Files(agent() | events(LINES))
    librarian = Build(files, capped(600), request(budget=8000), ESTIMATE, summarizer=lambda _text: "In short.")
    assert "In short." in assemble(librarian).text


def test_row_60_query_shows_pages_in_fewer_words_before_it_leaves_them_out() -> None:
    first = f"# Ledger\n\nThe ledger is the truth. {'It says more. ' * 60}\n"
    second = f"# Ledger in use\n\nOpen the ledger at night. {'It says even more. ' * 60}\n"
    third = f"# Ledger by night\n\nA ledger sleeps. {'It says even less. ' * 60}\n"
    files: dict[str, Content] = {"knowledge/a.md": first, "knowledge/b.md": second, "knowledge/c.md": third}
    context = build_default(files, SHIPPED["query"], budget=420, topic="ledger")
    shown = outcomes_of(context, "semantic")
    assert len(shown) == 3
    assert "dropped" not in shown
    assert "shortened" in shown


@given(*[st.integers(1, 60)] * 3, st.integers(0, 60), st.integers(60, 1_500), st.sampled_from(("layers", "across")))
def test_row_65_the_root_loses_no_text_while_room_is_free(
    root: int, goal: int, result: int, additional: int, budget: int, select: str
) -> None:
    def sentences(count: int) -> str:
        return " ".join(f"Sentence {number} says more." for number in range(count))

    stack = push(pop(push(push(TaskStack(), sentences(root)), "Side"), sentences(result)), sentences(goal))
    files = Files({"tasks.yaml": changed_task_text("", TaskStack(), push(stack, "Now"))})
    asked = request(budget=budget, additional=sentences(additional))
    profile = SHIPPED["query"]._replace(select=select)
    context = assemble(Build(files, profile, asked, ESTIMATE, parse_yaml=load_yaml))
    usage = context.allowances[0]
    # A sentence and the marker of a cut take less than 20 tokens.
    assert (usage.layer, usage.used == usage.wanted or budget - context.tokens < 20) == ("root", True)
