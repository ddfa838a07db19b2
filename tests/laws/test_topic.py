"""A topic costs nothing that it does not use, on random workspaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import Context, Profile, TokenCounter
from contextasm.text.markdown.literals import open_literal
from tests.laws.test_monotony import loses_nothing
from tests.workspaces import (
    Content,
    Files,
    agent,
    ago,
    budgets,
    build,
    counters,
    limited,
    log,
    profiles,
    section,
    workspaces,
)

NO_MATCH = "qwfpgj 2031"


@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets)
def test_topic_without_a_match_gives_the_document_without_a_topic(
    counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int
) -> None:
    opened = Files(files)
    plain = build(opened, profile, counter, budget=budget)
    assert build(opened, profile, counter, budget=budget, topic=NO_MATCH).text == plain.text


@given(days=st.lists(st.lists(st.booleans(), max_size=25), min_size=2, max_size=7), step=st.integers(15, 60))
def test_recent_activity_has_what_the_topic_leaves_and_loses_no_line_at_a_larger_budget(
    days: Sequence[Sequence[bool]], step: int
) -> None:
    files = agent()
    for number, lines in enumerate(days):
        words = (f"{'The lantern' if lit else 'Rain'} of day {number}, line {n}." for n, lit in enumerate(lines))
        files |= log(ago(number), "\n\n".join(words))
    profile = limited(L3={"max_tokens": 500})
    opened = Files(files)
    contexts = [build(opened, profile, budget=budget, topic="lantern") for budget in range(20, 620, step)]
    for small, large in pairwise(contexts):
        loses_nothing(small, large)
    full, plain = (build(opened, profile, topic=topic) for topic in ("lantern", ""))
    assert units(full, "L3") == units(plain, "L3") or units(full, "L3") + units(full, "related") > 450


def units(context: Context, layer: str) -> int:
    """The tokens that a layer uses."""
    return sum(section.tokens for section in context.sections if section.layer == layer)


ROWS = st.lists(
    st.sampled_from(["lantern | a", "rain", "x", "  lantern()", "", "# lantern", "- rain", "a | ``` b"]), max_size=6
)


@given(st.lists(st.tuples(st.sampled_from(["table", "fence", "open", "item"]), ROWS), max_size=5), budgets)
def test_rows_that_a_topic_finds_are_rows_of_the_file_in_whole_tables_and_fences(
    parts: Sequence[tuple[str, Sequence[str]]], budget: int
) -> None:
    heads = {"table": "| h |\n|---|", "fence": "```sh", "open": "~~~", "item": "- ```"}
    ends = {"fence": "\n```", "item": "\n  ```"}
    texts = ("\n".join((heads[kind], *rows)) + ends.get(kind, "") for kind, rows in parts)
    text = "\n\n".join([*texts, "- the lantern"])
    context = build(agent() | log(ago(100), text), budget=budget, topic="lantern")
    lines = text.split("\n")
    for each in (each for each in context.decisions if each.layer == "related" and each.outcome == "included"):
        assert lines[each.lines[0] - 1].lstrip(" -\\#").rstrip() in context.text
    shown = section(context, "Related Activity") if "## Related Activity" in context.text else ""
    assert open_literal(shown) is None
    words = {line.lstrip(" -\\#").rstrip() for line in lines} | {"~~~", f"{ago(100)}", f"{ago(100)}: lantern"}
    assert {line.lstrip(" -\\#").rstrip() for line in shown.split("\n") if "truncated" not in line} - {""} <= words
