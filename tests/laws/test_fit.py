"""`fit` on random texts and on real ones: the budget holds, fences stay whole, and more room loses no line."""

import operator
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from contextasm.model import ContextasmError, TokenCounter
from contextasm.rendering.formats import MARKER, MARKERS
from contextasm.selection.tokens import ESTIMATE, LENGTHS
from contextasm.selection.truncate import HEAD_LINES, KEEP, WHOLE_CODE, fit_text
from contextasm.text.markdown.blocks import blocks
from contextasm.text.markdown.literals import closes_fence, open_literal
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
    rest = more.split("\n")
    for line in kept_lines(less, originals):
        # In their order. A line that is not in the text is an end of one, or closes a fence.
        is_same = partial(operator.eq, line) if line in originals else partial(is_part, line)
        while rest and not is_same(rest[0]):
            del rest[0]
        assert rest, line
        # The other end of the same line may follow.
        rest[0] = rest[0][len(line) :] if line not in originals and rest[0].startswith(line) else ""


def is_part(part: str, line: str) -> bool:
    """Whether a line begins or ends with a part."""
    return line.startswith(part) or line.endswith(part)


def kept_lines(fitted_text: str, originals: set[str]) -> Iterator[str]:
    """The lines of a cut text without markers, and without what a marker within a fence or a table repeats.

    That is the line above it that closes the fence, and the opening or the head below it.
    """
    parts = [
        [line for line in part.split("\n") if line.strip()]
        for part in re.split(rf"(?m)^{re.escape(MARKER)}$", fitted_text)
    ]
    for number, lines in enumerate(parts):
        kind = next((block.kind for block in blocks(lines) if not block.levels), "") if number else ""
        head = HEAD_LINES.get(kind, 0)
        assert {*lines[:head]} <= originals
        is_closed = number + 1 < len(parts) and lines[-1:] and closes_fence(lines[-1], "```")
        yield from lines[head : len(lines) - bool(is_closed)]


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
    """Whether a text is one fence, or the two ends of one, below headings or without any, and markers."""
    tokens = [token for token in MarkdownIt().parse(text.replace(MARKER, "")) if token.level == 0]
    kinds = [token.type for token in tokens if not token.type.startswith("heading")]
    return kinds in (["fence"], ["fence"] * 2)


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


@pytest.mark.parametrize("keep", [*KEEP])
def test_more_room_loses_no_row_when_a_gap_closes(keep: str) -> None:
    """The last row below the headings costs less than it saves: two markers. So a state may fit, and not the last."""
    rows = [f"Row {number}" for number in range(100, 110)]
    text = "\n\n".join(("Begin 0.", "Begin 0.", "# H", "## H", "### H", "\n".join(rows)))
    shown: set[str] = set()
    for budget in range(25, len(text)):
        before, shown = shown, {*fitted(text, budget, keep, LENGTHS["chars"]).split("\n")} & {*rows}
        assert before <= shown, budget


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
        assert ("# comment 49" in half) == (keep != "start")
    if rows := re.findall(r"(?:step|row)[ _]\d+", text):
        assert (rows[0] in half, rows[-1] in half) == (keep != "end", keep != "start")
    if "|" not in text:
        assert ESTIMATE.count(half) > most // 2 - 10


@pytest.mark.parametrize("keep", [*KEEP])
@pytest.mark.parametrize(
    "text",
    [
        *("\n".join(f"line {number} of a log" for number in range(200)), " ".join(f"word{n}" for n in range(900))),
        *("\u65e5\u672c\u8a9e" * 900, "one line\n" + " ".join(f"w{number}" for number in range(900)) + "\nlast line"),
        "intro\n\n<!-- never closed\n" + "\n".join(f"row {number}" for number in range(200)),
        "```\n" + "\n".join(f"never closed {number}" for number in range(200)),
        "- item\n" + "\n".join(f"  goes on {number}" for number in range(200)),
        "{" + ",".join(f'"key{number}":{number}' for number in range(900)) + "}",
    ],
    ids=["log", "line", "wide", "three lines", "comment", "fence", "item", "data"],
)
def test_the_end_that_is_kept_is_shown_of_any_long_text(text: str, keep: str) -> None:
    shown = fitted(text, 100, keep)
    assert ESTIMATE.count(shown) > 75
    assert shown.startswith(text[:3]) == (keep != "end")
    assert shown.removesuffix("\n-->").removesuffix("\n```").endswith(text[-3:]) == (keep != "start")


@pytest.mark.parametrize("keep", [*KEEP])
def test_fit_on_real_texts(keep: str) -> None:
    assert len(REAL) >= 50
    for path in REAL:
        text = path.read_text(encoding="utf-8")
        for budget in (10, 100, 700):
            assert_fits(text, budget, budget * 2, keep, ESTIMATE)
        assert fitted(text, ESTIMATE.count(text), keep) == text
