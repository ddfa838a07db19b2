"""A larger budget never loses a line of running text, on random workspaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import Context, Profile, TokenCounter
from contextasm.rendering.formats import MARKER
from tests.laws.lines import TEXT_LAYERS, lines_of
from tests.workspaces import (
    DAY,
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
    team,
    topics,
    workspaces,
)


@given(
    counter=counters,
    files=workspaces(),
    profile=profiles(reserves=False),
    budget=budgets,
    topic=topics,
    more=st.one_of(st.integers(1, 40), st.integers(1, 4_000)),
)
def test_larger_budget_never_loses_a_line_of_text(
    counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int, topic: str, more: int
) -> None:
    """What a smaller one kept, be it a line or the first or last words of one (law 7)."""
    opened = Files(files)
    small, large = (build(opened, profile, counter, budget=size, topic=topic) for size in (budget, budget + more))
    loses_nothing(small, large)


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param({}, id="as shipped"),
        pytest.param({"L3": {"share": 30.0}, "L7": {"max_tokens": None, "share": 50.0}}, id="shares"),
        pytest.param({"L2": {"share": 50.0}, "L3": {"ceiling": 60.0}, "L7": {"ceiling": 90.0}}, id="ceilings"),
        pytest.param({"L7": {"reserve": 200}}, id="a reserve"),
        pytest.param(
            {"related": {"reserve": 200, "reserve_share": 25.0}, "L7": {"grow": True}}, id="a follower's reserve"
        ),
        pytest.param({"related": {"leaves": 0.05}}, id="a twentieth left"),
        pytest.param({"L3": {"reserve": 300, "reserve_share": 33.3}, "L7": {"reserve": 100}}, id="a share held"),
        pytest.param({"L3": {"reserve": 100}, "L7": {"reserve": 200}}, id="two reserves"),
        pytest.param({"L3": {"reserve": 270, "share": 69.0}, "L7": {"max_tokens": None}}, id="reserve and share"),
        pytest.param({"L7": {"reserve": 200, "ceiling": 60.0, "max_tokens": None}}, id="reserve and ceiling"),
        pytest.param(
            {
                "L2": {"share": 33.3, "grow": True},
                "L3": {"share": 14.3, "max_tokens": None, "grow": True},
                "L7": {"max_tokens": 50, "grow": True},
            },
            id="growth",
        ),
        pytest.param(
            {"L2": {"max_chars": 700, "keep": "ends"}, "L7": {"max_tokens": 50, "grow": True}}, id="characters"
        ),
    ],
)
def test_larger_budget_never_loses_a_line_of_long_files(limits: Any) -> None:
    text = "\n\n".join(f"Paragraph {n} says something worth about fifteen tokens." for n in range(120))
    files = Files(agent(KNOWLEDGE=text) | team(GOALS=text) | log(DAY, text))
    topic = "worth fifteen" if "related" in limits else ""
    contexts = [build(files, limited(**limits), budget=budget, topic=topic) for budget in range(20, 1_500, 13)]
    for small, large in pairwise(contexts):
        loses_nothing(small, large)


@pytest.mark.parametrize("top", [0, 1])
def test_larger_budget_never_loses_a_line_next_to_lines_that_answer(top: int) -> None:
    sizes = [1, 2, 40, 3, 2, 1, 40, 1]
    recent = "".join(f"- puppy {' '.join(f'o{n}x{m}' for m in range(sizes[n % 8]))}\n" for n in range(50))
    facts = "\n\n".join(f"Fact {n} of it." for n in range(60))
    files = Files(agent(KNOWLEDGE=facts) | log(DAY, recent) | log(ago(63), f"- puppy {'old ' * 120}\n"))
    profile = limited(related={"top": top})
    contexts = [build(files, profile, budget=budget, topic="puppy") for budget in range(100, 1_200, 7)]
    for small, large in pairwise(contexts):
        loses_nothing(small, large)


def loses_nothing(small: Context, large: Context) -> None:
    """Every line of running text in one context is in the other, at least as long."""
    for before, after in zip(small.decisions, large.decisions, strict=True):
        if before.layer in TEXT_LAYERS:
            assert lines_of(before.kept) <= lines_of(after.kept), (before, after)
    for section in small.sections:
        if section.layer in TEXT_LAYERS:
            there = [
                line for each in large.sections if each.heading == section.heading for line in each.text.split("\n")
            ]
            for line in text_lines(section.text):
                assert any(each.startswith(line) or each.endswith(line) for each in there), line


def text_lines(text: str) -> Iterator[str]:
    return (line for line in text.split("\n") if not line.startswith(MARKER))
