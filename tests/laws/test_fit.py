"""`fit` on random texts and on real ones: the budget holds, fences stay whole, and more room loses no line."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from contextasm.model import ContextasmError, TokenCounter
from contextasm.rendering.formats import MARKER, MARKERS
from contextasm.selection.tokens import ESTIMATE
from contextasm.selection.truncate import KEEP, WHOLE_CODE, fit_text
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

LONG_FENCE = "\n".join(("```python", *(f"row_{number} = {number}" for number in range(WHOLE_CODE + 5)), "```"))
"""A fence that may be cut between lines, which a shorter one may not."""

texts = st.builds(
    lambda parts, joint, end: joint.join(parts) + end,
    st.lists(st.sampled_from((*BLOCKS, *OPEN_FENCES, LONG_FENCE)), max_size=10),
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
    assert part is None or not part.closing or less == text
    closing = open_literal(more.rstrip("\n"))
    more += f"\n{closing.closing}" if closing else ""
    assert_fences_whole(text, less)
    originals = {*text.split("\n")}
    lines = iter(more.split("\n"))
    for line in (line for line in less.split("\n") if line.strip() and line != MARKER):
        # In their order. A line that is not in the text is the beginning of one, or closes a fence.
        assert any(longer == line if line in originals else longer.startswith(line) for longer in lines), line


def assert_fences_whole(text: str, fitted_text: str) -> None:
    """Each fence is one of the text, or has lines of one that is too long to be whole or not at all.

    A shorter one is cut only if nothing but headings is shown with it.
    """
    whole = fences(text)
    longest = 0 if is_one_fence(fitted_text) else WHOLE_CODE
    cut = [{*fence} for fence in whole if len(fence) > longest]
    for fence in fences(fitted_text):
        assert fence in whole or any({*fence} - {MARKER} <= lines for lines in cut), fence


def is_one_fence(text: str) -> bool:
    """Whether a text is one fence, below headings or without any, and markers."""
    tokens = [token for token in MarkdownIt().parse(text.replace(MARKER, "")) if token.level == 0]
    kinds = [token.type for token in tokens if not token.type.startswith("heading")]
    return kinds == ["fence"]


def fences(text: str) -> list[list[str]]:
    """The lines of each fence up to the last that is not blank, as a parser that is not ours reads them."""
    return [token.content.rstrip().split("\n") for token in MarkdownIt().parse(text) if token.type == "fence"]


@given(text=texts, small=st.integers(0, 150), more=st.integers(0, 60), keep=keeps, counter=counters)
def test_fit_keeps_to_the_budget_leaves_fences_whole_and_loses_no_line_to_more_room(
    text: str, small: int, more: int, keep: str, counter: TokenCounter
) -> None:
    assert_fits(text, small, small + more, keep, counter)


@given(text=texts, keep=keeps, counter=counters)
def test_a_text_that_fits_is_left_as_it_is(text: str, keep: str, counter: TokenCounter) -> None:
    assert fitted(text, counter.count(text), keep, counter) == text


CODE = "\n".join(("```sh", *(f"step {number}" for number in range(30)), "```"))
LOG = "\n".join(f"row {number} of a log" for number in range(30))
TABLE = "\n".join(("| a | b |", "|---|---|", *(f"| row {number} | c |" for number in range(30))))
COMMENTS = "\n".join(f"# comment {number}" for number in range(50))


@pytest.mark.parametrize("keep", [*KEEP])
@pytest.mark.parametrize(
    "text",
    [
        CODE,
        f"# Steps\n\n{CODE}\n",
        LOG,
        f"# Rows\n\n{LOG}\n\nend",
        f"{LOG}\n\n{TABLE}\n",
        f"## A\n\n{LONG_FENCE}\n\nend",
        COMMENTS,
        f"{COMMENTS}\n\nx=1\n",
        f"## A\n\n| a | b |\n|---|---|\n{'| c | d |' * 40}",
    ],
)
def test_a_text_of_headings_or_one_block_is_cut_between_lines_and_loses_none_to_more_room(text: str, keep: str) -> None:
    most = ESTIMATE.count(text)
    for budget in range(most):
        assert_fits(text, budget, budget + 1, keep, ESTIMATE)
    half = fitted(text, most // 2, keep)
    assert half.replace(MARKER, "").strip()
    if text.startswith(COMMENTS):
        assert ("# comment 49" in half) == (keep == "end")
    if keep != "both" and (rows := re.findall(r"(?:step|row)[ _]\d+", text)):
        assert (rows[0] in half, rows[-1] in half) == (keep == "start", keep == "end")
    if "|" not in text:
        assert ESTIMATE.count(half) > most // 2 - 10


@pytest.mark.parametrize("keep", [*KEEP])
def test_fit_on_real_texts(keep: str) -> None:
    assert len(REAL) >= 50
    for path in REAL:
        text = path.read_text(encoding="utf-8")
        for budget in (10, 100, 700):
            assert_fits(text, budget, budget * 2, keep, ESTIMATE)
        assert fitted(text, ESTIMATE.count(text), keep) == text
