"""Truncation by itself, on random texts: here every state of it can be looked at."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import Fragment, FragmentDisplay, Location, TokenCounter
from contextasm.rendering.formats import MARKER, MARKERS
from contextasm.selection.sections import Excerpt, LineRange, section_body, shown_text
from contextasm.selection.tokens import ESTIMATE
from contextasm.selection.truncate import HEAD_LINES, truncate
from contextasm.text.markdown.blocks import blocks, is_structural, structural_length
from contextasm.text.markdown.literals import closes_fence, fence_opening
from tests.laws.lines import is_beginning, lines_of
from tests.workspaces import BLOCKS, OPEN_FENCES, counters


def fragments_of(contents: list[str], keep: str) -> list[Fragment]:
    return [
        Fragment(
            f"{n}.md", Location(f"{n}.md", 1), text, FragmentDisplay("Text", group=f"### {n}", place=(n,), keep=keep)
        )
        for n, text in enumerate(contents)
    ]


def cut_to(
    fragments: list[Fragment], room: int, marker: str, counter: TokenCounter = ESTIMATE
) -> tuple[tuple[Excerpt, ...], str]:
    def text(kept: object) -> str:
        assert isinstance(kept, list | tuple)
        there = {each.fragment.id for each in kept}
        missing = [each for each in fragments if each.id not in there]
        return section_body(kept, missing, "\n\n", MARKERS[marker](ESTIMATE.count))

    kept = truncate(fragments, room, counter, lambda kept: counter.units(text(kept)))
    return kept, text(kept)


contents = st.lists(
    st.lists(st.sampled_from((*BLOCKS, *OPEN_FENCES)), min_size=1, max_size=8)
    .map("\n\n".join)
    .map(str.strip)
    .filter(bool),
    min_size=1,
    max_size=3,
)


keeps = st.sampled_from(("start", "end", "ends", "tail"))


markers = st.sampled_from(("plain", "detailed"))


@given(contents, keeps, markers, st.one_of(st.integers(0, 200), st.integers(0, 2_000)))
def test_cut_tears_no_letter_no_row_and_no_fence(contents: list[str], keep: str, marker: str, room: int) -> None:
    kept, text = cut_to(fragments_of(contents, keep), room, marker)
    assert ESTIMATE.units(text) <= room or not kept
    for each in kept:
        lines = each.fragment.text.split("\n")
        for stretch in each.ranges:
            assert 0 <= stretch.first <= stretch.stop <= len(lines)
            assert_begins_well(stretch, lines)
            block = next((block for block in blocks(lines) if block.first <= stretch.stop < block.stop), None)
            if stretch.length:
                assert block is not None
                assert block.kind == "text"
                assert is_beginning(lines[stretch.stop][: stretch.length], lines[stretch.stop])
            if block is None or stretch.stop == block.first:
                continue
            # What is kept of an end has the last heading above it.
            is_above_more = stretch.stop <= block.body and stretch is not each.ranges[-1]
            if is_above_more:
                continue
            assert stretch.stop >= block.body + (not stretch.length), "a heading stands alone"
            if block.kind == "table":
                assert stretch.stop >= block.body + 3
            if block.kind == "fence":
                fence = fence_opening(lines[block.body])
                assert fence is not None
                assert closes_fence(stretch.fence, fence[1]) or closes_fence(lines[stretch.stop - 1], fence[1])
                assert stretch.stop >= block.body + 2


def assert_begins_well(stretch: LineRange, lines: list[str]) -> None:
    """An end of a block has the head of its table, or the opening of its fence, above it; one of a line is words."""
    block = next(block for block in blocks(lines) if block.first <= stretch.first < block.stop)
    assert bool(stretch.lead) == (stretch.first > block.body and block.kind != "text")
    if stretch.lead:
        head = lines[block.body : block.body + HEAD_LINES[block.kind]]
        assert stretch.lead.split("\n") == head
        assert stretch.first > block.body + len(head)
    if stretch.skip:
        assert block.kind == "text"
        line = lines[stretch.first]
        assert is_beginning(line[: stretch.skip], line)
        assert not is_structural(line[stretch.skip :].lstrip())


@given(contents, keeps, markers, st.integers(0, 1_200), st.integers(1, 200))
def test_cut_in_more_room_keeps_at_least_as_much(
    contents: list[str], keep: str, marker: str, room: int, more: int
) -> None:
    fragments = fragments_of(contents, keep)
    small, large = (
        {each.fragment.id: each for each in cut_to(fragments, size, marker)[0]} for size in (room, room + more)
    )
    for key, each in small.items():
        assert key in large
        assert lines_of(each.spans) <= lines_of(large[key].spans)
        there = shown_text(large[key]).split("\n")
        # A fence that was closed where it was cut need not be closed there any more.
        added = {stretch.fence for stretch in each.ranges}
        assert all(
            line in added or any(other.startswith(line) or other.endswith(line) for other in there)
            for line in shown_text(each).split("\n")
        )


@given(
    st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=9).map("\n\n".join).filter(str.strip),
    keeps,
    st.integers(0, 1_500),
)
def test_marker_never_stands_inside_a_fence(text: str, keep: str, room: int) -> None:
    _, cut_text = cut_to(fragments_of([text.strip()], keep), room, "plain")
    open_ticks = ""
    for line in cut_text.split("\n"):
        if open_ticks:
            assert line != MARKER or "... [truncated]" in text
            open_ticks = "" if closes_fence(line, open_ticks) else open_ticks
        elif found := fence_opening(line):
            open_ticks = found[1]
    assert not open_ticks


def last_that_fits(pieces: Sequence[object], fits: Callable[[Sequence[object]], bool]) -> Sequence[object]:
    return next((pieces[:count] for count in range(len(pieces), 0, -1) if fits(pieces[:count])), ())


LINES = st.text(st.sampled_from("ab1_.,:- \u00e9\u65e5'\t/"), max_size=12)


@given(
    st.one_of(contents, st.lists(LINES, min_size=1, max_size=60).map(lambda lines: ["\n".join(lines).strip() or "x"])),
    keeps,
    markers,
    st.integers(0, 300),
    counters,
)
def test_cut_is_the_same_as_one_that_tries_every_state(
    contents: list[str], keep: str, marker: str, room: int, counter: TokenCounter
) -> None:
    fragments = fragments_of(contents, keep)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "contextasm.selection.truncate._with_least_units", lambda pieces, *_: ((each, 0) for each in pieces)
        )
        patch.setattr("contextasm.selection.truncate._most", last_that_fits)
        plain = cut_to(fragments, room, marker, counter)
    assert cut_to(fragments, room, marker, counter) == plain


@pytest.mark.parametrize(
    "text", ["word word\n" * 20_000, "```\n" + "let x = 1;\n" * 20_000 + "```\n", "\u65e5" * 50_000]
)
def test_cut_of_one_block_lays_out_few_states(text: str) -> None:
    costs = []

    def cost(kept: object) -> int:
        assert isinstance(kept, list | tuple)
        costs.append(ESTIMATE.units(section_body(kept, [], "\n\n", MARKERS["plain"](ESTIMATE.count))))
        return costs[-1]

    truncate(fragments_of([text], "start"), 30_000, ESTIMATE, cost)
    assert len(costs) < 60


@pytest.mark.parametrize(
    "line", ["\u65e5\u672c\u8a9e" * 5_000, "<!-- a word " * 2_000, "- - " * 2_000, "<div> a " * 2_000]
)
def test_cut_of_a_long_line_looks_at_few_beginnings_of_it_for_structure(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def look(beginning: str) -> bool:
        looked.append(beginning)
        return is_structural(beginning)

    monkeypatch.setattr("contextasm.text.markdown.blocks.is_structural", look)
    cut_to(fragments_of([line], "start"), 9_000, "plain")
    assert len(looked) < 40


parts_of_structure = st.sampled_from(
    [
        *"<!>`~#=/x? \t-",
        "--",
        "```",
        "~~~",
        "]]>",
        "-->",
        "<!--",
        "<![CDATA[",
        "<pre",
        "</pre>",
        "<div",
        "* ",
        "1. ",
        "\u00e9",
    ]
)


@given(st.lists(parts_of_structure, max_size=12).map("".join))
def test_longest_structural_beginning_of_a_line_is_known(line: str) -> None:
    ends = [end for end in range(len(line) + 1) if is_structural(line[:end])]
    assert structural_length(line) == max(ends, default=0)
