"""`fit` on random texts and on real ones: the budget holds, nothing stays open, and more room loses no line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import ContextasmError, TokenCounter
from contextasm.rendering.formats import MARKER, MARKERS
from contextasm.selection.tokens import ESTIMATE
from contextasm.selection.truncate import KEEP, fit_text
from contextasm.text.markdown.literals import open_literal
from tests.workspaces import BLOCKS, OPEN_FENCES, counters

ROOT = Path(__file__).parents[2]

REAL = sorted(
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "man/*",
        "contextasm/cli/*.py",
        "contextasm/selection/*.py",
        "tests/cases/**/*.md",
    )
    for path in ROOT.glob(pattern)
    if path.is_file() and path.stat().st_size < 100_000
)[:60]
"""Prose, code, and manual pages of this repository."""

texts = st.builds(
    lambda parts, joint, end: joint.join(parts) + end,
    st.lists(st.sampled_from((*BLOCKS, *OPEN_FENCES)), max_size=10),
    st.sampled_from(("\n\n", "\n")),
    st.sampled_from(("\n", "", "\n\n")),
)

keeps = st.sampled_from([*KEEP])


def fitted(text: str, budget: int, keep: str, counter: TokenCounter = ESTIMATE) -> str:
    """What is printed: nothing if no line fits."""
    try:
        return fit_text(text, budget, counter, MARKERS["plain"](counter.count), keep)
    except ContextasmError:
        return ""


def assert_fits(text: str, small: int, large: int, keep: str, counter: TokenCounter) -> None:
    less, more = (fitted(text, budget, keep, counter) for budget in (small, large))
    assert counter.count(less) <= small
    part = open_literal(less.rstrip("\n"))
    assert part is None or not part.closing
    lines = more.split("\n")
    for line in less.split("\n"):
        assert line == MARKER or any(longer.startswith(line) for longer in lines)


@given(text=texts, small=st.integers(0, 150), more=st.integers(0, 60), keep=keeps, counter=counters)
def test_fit_keeps_to_the_budget_leaves_nothing_open_and_loses_no_line_to_more_room(
    text: str, small: int, more: int, keep: str, counter: TokenCounter
) -> None:
    assert_fits(text, small, small + more, keep, counter)


@given(text=texts, keep=keeps)
def test_a_text_that_fits_is_left_as_it_is_but_for_a_fence_that_is_closed(text: str, keep: str) -> None:
    whole = fitted(text, 10_000, keep)
    assert whole == text or (open_literal(text.rstrip("\n")) and whole.startswith(text.rstrip("\n")))


@pytest.mark.parametrize("keep", [*KEEP])
def test_fit_on_real_texts(keep: str) -> None:
    assert len(REAL) >= 50
    for path in REAL:
        text = path.read_text(encoding="utf-8")
        for budget in (10, 100, 700):
            assert_fits(text, budget, budget * 2, keep, ESTIMATE)
        assert fitted(text, ESTIMATE.count(text) + 5, keep).startswith(text.rstrip("\n"))
