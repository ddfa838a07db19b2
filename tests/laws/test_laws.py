"""The laws that hold for every workspace, profile and budget (docs/DESIGN.md section 9), on random ones."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Self
from unittest.mock import patch

import pytest
import regex
from hypothesis import assume, given
from hypothesis import strategies as st

from contextasm.model import (
    OUTCOME,
    Build,
    Context,
    Document,
    Fragment,
    FragmentDisplay,
    Layer,
    Location,
    Problem,
    Profile,
    SectionFormat,
    Span,
    TokenCounter,
)
from contextasm.pipeline import assemble
from contextasm.ranking.order import rank
from contextasm.rendering.frame import MARKER, MARKERS
from contextasm.retrieval.retrieve import retrieve
from contextasm.selection.layout import Excerpt, section_body, shown_text
from contextasm.selection.tokens import ESTIMATE
from contextasm.selection.truncate import truncate
from contextasm.text.markdown import blocks, closes_fence, fence_opening
from contextasm.workspace.folder import Folder
from tests.workspaces import (
    BLOCKS,
    DAY,
    DEFAULT,
    OPEN_FENCES,
    Content,
    Files,
    agent,
    budgets,
    build,
    codes,
    counters,
    law,
    law_of_counters,
    limited,
    log,
    profiles,
    request,
    team,
    texts,
    workspaces,
)

TEXT_LAYERS = {"L1", "L2", "L3", "L7"}
"""Running text; the other layers hold ranked fragments."""


formats = pytest.mark.parametrize("form", ["markdown", "xml"])


@formats
@law_of_counters(250)
@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets)
def test_document_counted_anew_keeps_to_the_budget(
    counter: TokenCounter, form: str, files: Mapping[str, Content], profile: Profile, budget: int
) -> None:
    """Unless the required layers alone exceed it: then these are all that is shown, and a problem says so."""
    context = build(files, profile, counter, budget=budget, format=form)
    assert context.tokens == counter.count(context.text)
    required = profile._replace(layers=tuple(layer for layer in profile.layers if layer.limits.required))
    least = build(files, required, counter, budget=10**9, format=form)
    if least.tokens > budget:
        assert context.text == least.text
    else:
        assert context.tokens <= budget
    assert ("over-budget" in codes(context)) == (least.tokens > budget)


@law_of_counters(120)
@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets)
def test_no_layer_takes_more_than_its_limits(
    counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int
) -> None:
    """Heading, blank line and markers included."""
    context = build(files, profile, counter, budget=budget)
    for layer, allowance in zip(profile.layers, context.allowances, strict=True):
        assert allowance.layer == layer.id
        own = "".join(f"## {each.heading}\n{each.text}\n\n" for each in context.sections if each.layer == layer.id)
        if layer.limits.required:
            assert allowance.limit is None
            continue
        assert allowance.limit is not None
        assert allowance.used <= allowance.limit
        if counter is ESTIMATE:
            assert counter.count(own) == allowance.used
        assert allowance.used <= (budget if layer.limits.max_tokens is None else layer.limits.max_tokens)
        assert layer.limits.share is None or allowance.used <= budget * layer.limits.share / 100 + 1


def test_report_never_says_that_a_layer_took_more_than_it_might() -> None:
    """Whatever the share makes of the budget: a begun token counts on both sides, or on neither."""
    for budget in range(20, 200):
        context = build(agent() | team(GOALS="word " * 200), limited(L2={"share": 33.3}), budget=budget)
        assert all(each.limit is None or each.used <= each.limit for each in context.allowances), budget


@law_of_counters(80)
@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets, seed=st.integers(0, 99))
def test_equal_inputs_give_an_equal_context(
    counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int, seed: int
) -> None:
    """Also where the workspace holds the same files in another order."""
    shuffled = [*files.items()]
    Random(seed).shuffle(shuffled)
    assert build(files, profile, counter, budget=budget) == build(dict(shuffled), profile, counter, budget=budget)


@law(80)
@given(files=workspaces(), profile=profiles(), budget=budgets, seed=st.integers(0, 99))
def test_order_in_which_the_disk_lists_files_does_not_matter(
    files: Mapping[str, Content], profile: Profile, budget: int, seed: int
) -> None:
    """A folder on the disk gives what the dict gives, whatever the order of its entries."""
    with TemporaryDirectory() as name, shuffled_folders(seed):
        write(Path(name), files)
        there = assemble(Build(Folder(Path(name)), profile, request(budget=budget), ESTIMATE))
    assert there == build(files, profile, budget=budget)


class Shuffled(list[Any]):
    """Entries of a folder in an order of chance, as `os.scandir` gives them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def shuffled_folders(seed: int) -> AbstractContextManager[object]:
    """Let every folder list its entries in an order of chance."""
    scandir, random = os.scandir, Random(seed)

    def shuffled(path: str) -> Shuffled:
        with scandir(path) as entries:
            own = Shuffled(sorted(entries, key=lambda entry: entry.name))
        random.shuffle(own)
        return own

    return patch("os.scandir", shuffled)


def write(root: Path, files: Mapping[str, Content]) -> None:
    """The files, on the disk."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        assert not isinstance(content, Problem)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


NAMES = ("a", "b", "a.md", "b.md", ".hidden", "é.md", "2025-03-14.md", "[x].md", "A.md", "a b.md")

trees = st.dictionaries(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join),
    st.sampled_from(
        (b"", b"text", b"\xff", b"\xef\xbb\xbfbom", b"---\ntype: a\n---\nx", b"a\r\nb", "é".encode("utf-16"))
    ),
    max_size=12,
)

PATTERNS = (
    "*",
    "*.md",
    "a/*.md",
    "a/b",
    "a",
    "**/*.md",
    "**/a",
    "a/**/*.md",
    "*/*/*",
    "**",
    "a/**",
    "[ab].md",
    "?.md",
    "**/.hidden",
    ".hidden/*",
    "*/a/*.md",
    "b.md/*",
    "**/**/b",
)


@law(100)
@given(trees)
def test_workspace_in_memory_lists_and_reads_what_a_folder_does(tree: dict[str, bytes]) -> None:
    """So whatever is tested in memory holds on the disk."""
    folders = {path.rpartition("/")[0] for path in tree}
    assume(not any(path == each or each.startswith(f"{path}/") for path in tree for each in folders))
    with TemporaryDirectory() as name:
        write(Path(name), tree)
        disk, memory = Folder(Path(name)), Files(tree)
        for pattern in PATTERNS:
            assert memory.list(pattern) == disk.list(pattern), pattern
        for path in (
            *tree,
            *folders - {""},
            "missing.md",
            "a/missing.md",
            "../a.md",
            "a//b",
            "",
            *(f"{each}/x" for each in tree),
        ):
            assert memory.read(path) == disk.read(path), path


@law_of_counters(120)
@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets)
def test_every_fragment_found_has_exactly_one_decision(
    counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int
) -> None:
    """In the order in which they were ranked."""
    context = build(files, profile, counter, budget=budget)
    found = retrieve(Build(Files(files), profile, request(budget=budget), ESTIMATE))
    ranked = [(layer.id, each.id) for layer in profile.layers for each in rank(found[layer.id].fragments, layer)]
    assert [(each.layer, each.fragment) for each in context.decisions] == ranked
    assert len(set(ranked)) == len(ranked)


@law_of_counters(150)
@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets)
def test_decision_agrees_with_what_is_shown(
    counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int
) -> None:
    """Kept lines lie in the fragment and in its file, in order; what is out keeps none; no part passes the whole."""
    context = build(files, profile, counter, budget=budget)
    for decision in context.decisions:
        first, last = decision.lines
        edges = [edge for span in decision.kept for edge in span]
        assert edges == sorted(edges)
        assert all(first <= edge <= last for edge in edges)
        assert len({*edges}) >= len(decision.kept)
        assert bool(decision.kept) == (decision.outcome in {"included", "truncated"})
        assert (decision.kept == (decision.lines,)) == (
            decision.outcome == "included"
        ) or decision.outcome == "truncated"
        assert (decision.tokens_before is None) == (decision.outcome == "excluded")
        if counter is ESTIMATE:
            assert decision.tokens_after <= (decision.tokens_before or 0)
        assert (decision.tokens_after == 0) == (not decision.kept)
        if decision.lines != (0, 0):
            read = Files(files).read(decision.path)
            assert isinstance(read, Document)
            assert read.line <= first <= last <= read.line + read.text.count("\n")
    assert {each.reason.code for each in context.decisions} <= {*OUTCOME}


@formats
@law_of_counters(60)
@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets)
def test_required_layer_is_whole(
    form: str, counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int
) -> None:
    """IDENTITY.md and INSTRUCTIONS.md, byte for byte, at any budget."""
    context = build(files, profile, counter, budget=budget, format=form)
    whole = {each.heading: each.text for each in context.sections}
    for heading, name in (("Identity", "IDENTITY"), ("Instructions", "INSTRUCTIONS")):
        read = Files(files).read(f"agents/luna/{name}.md")
        assert isinstance(read, Document)
        lines = read.text.rstrip().split("\n")
        while lines and not lines[0].strip():
            del lines[0]
        assert whole.get(heading, "") == "\n".join(lines)


@law_of_counters(500)
@given(
    counter=counters,
    files=workspaces(),
    profile=profiles(reserves=False),
    budget=budgets,
    more=st.one_of(st.integers(1, 40), st.integers(1, 4_000)),
)
def test_larger_budget_never_loses_a_line_of_text(
    counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int, more: int
) -> None:
    """What a smaller one kept, be it a line or the first words of one (law 7)."""
    small, large = (build(files, profile, counter, budget=size) for size in (budget, budget + more))
    loses_nothing(small, large)


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param({}, id="as shipped"),
        pytest.param({"L3": {"share": 30.0}, "L7": {"max_tokens": None, "share": 50.0}}, id="shares"),
        pytest.param({"L2": {"share": 50.0}, "L3": {"ceiling": 60.0}, "L7": {"ceiling": 90.0}}, id="ceilings"),
        pytest.param({"L7": {"reserve": 200}}, id="a reserve"),
        pytest.param({"L3": {"reserve": 100}, "L7": {"reserve": 200}}, id="two reserves"),
        pytest.param({"L3": {"reserve": 270, "share": 69.0}, "L7": {"max_tokens": None}}, id="reserve and share"),
        pytest.param({"L7": {"reserve": 200, "ceiling": 60.0, "max_tokens": None}}, id="reserve and ceiling"),
    ],
)
def test_larger_budget_never_loses_a_line_of_long_files(limits: Any) -> None:
    """Every file longer than its room, one budget after the other, whatever holds the layers back."""
    text = "\n\n".join(f"Paragraph {n} says something worth about fifteen tokens." for n in range(120))
    files = agent(KNOWLEDGE=text) | team(GOALS=text) | log(DAY, text)
    contexts = [build(files, limited(**limits), budget=budget) for budget in range(20, 1_500, 13)]
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
                assert any(each.startswith(line) for each in there), line


def lines_of(kept: tuple[Span, ...]) -> set[int]:
    """The lines of spans, one by one."""
    return {line for first, last in kept for line in range(first, last + 1)}


def text_lines(text: str) -> Iterator[str]:
    """The lines that are no markers."""
    return (line for line in text.split("\n") if not line.startswith(MARKER))


@law_of_counters(150)
@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets)
def test_section_ends_in_the_marker_just_where_it_lacks_anything(
    counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int
) -> None:
    """And says of itself that it is cut."""
    context = build(files, profile, counter, budget=budget)
    found = retrieve(Build(Files(files), profile, request(), ESTIMATE))
    title = {(layer, each.id): each.display.heading for layer, own in found.items() for each in own.fragments}
    for section in context.sections:
        lacking = any(
            each.outcome in {"truncated", "dropped"}
            for each in context.decisions
            if each.layer == section.layer and title[each.layer, each.fragment] == section.heading
        )
        assert section.truncated == lacking
        if lacking:
            assert section.text.rpartition("\n")[2].startswith(MARKER)
    assert context.truncated == any(each.outcome in {"truncated", "dropped"} for each in context.decisions)


@law(250)
@given(files=workspaces(), profile=profiles(), budget=budgets)
def test_text_that_is_shown_stands_in_a_file(files: Mapping[str, Content], profile: Profile, budget: int) -> None:
    """Every line of running text is one of its files, or begins one; else a marker, a date, a fence's end."""
    context = build(files, profile, budget=budget)
    known = {line for each in context.documents for line in each.text.split("\n")}
    for section in context.sections:
        if section.layer not in TEXT_LAYERS:
            continue
        for line in section.text.split("\n"):
            added = line.startswith((MARKER, "### 2025-")) or bool(regex.fullmatch(r"\s*(`{3,}|~{3,})", line))
            assert added or line in known or any(is_beginning(line, each) for each in known), line


def is_beginning(part: str, line: str) -> bool:
    """Whether a line begins with this part, no letter being torn."""
    ends = {found.end() for found in regex.finditer(r"\X", line)}
    return line.startswith(part) and len(part) in ends


# Cuts by themselves: here every state of a cut can be looked at.


def fragments_of(contents: list[str], keep: str) -> list[Fragment]:
    """Fragments in keep order."""
    return [
        Fragment(
            f"{n}.md", Location(f"{n}.md", 1), text, FragmentDisplay("Text", group=f"### {n}", place=(n,), keep=keep)
        )
        for n, text in enumerate(contents)
    ]


def framed(marker: str) -> SectionFormat:
    """Sections without anything around them."""
    return SectionFormat(lambda _layer, _heading, text: text, MARKERS[marker](ESTIMATE.count))


def cut_to(fragments: list[Fragment], room: int, marker: str) -> tuple[tuple[Excerpt, ...], str]:
    """What is kept in a room of so many UTF-16 units, and the text."""

    def text(kept: object) -> str:
        assert isinstance(kept, list | tuple)
        there = {each.fragment.id for each in kept}
        missing = [each for each in fragments if each.id not in there]
        return section_body(kept, missing, "\n\n", framed(marker).marker)

    kept = truncate(fragments, room, ESTIMATE.units, lambda kept: ESTIMATE.units(text(kept)))
    return kept, text(kept)


contents = st.lists(
    st.lists(st.sampled_from((*BLOCKS, *OPEN_FENCES)), min_size=1, max_size=8)
    .map("\n\n".join)
    .map(str.strip)
    .filter(bool),
    min_size=1,
    max_size=3,
)
keeps = st.sampled_from(("start", "end"))
markers = st.sampled_from(("plain", "detailed"))


@law(600)
@given(contents, keeps, markers, st.one_of(st.integers(0, 200), st.integers(0, 2_000)))
def test_cut_tears_no_letter_no_row_and_no_fence(contents: list[str], keep: str, marker: str, room: int) -> None:
    """Words are cut between graphemes, in running text only; a cut fence is closed; headings head something."""
    kept, text = cut_to(fragments_of(contents, keep), room, marker)
    assert ESTIMATE.units(text) <= room or not kept
    for each in kept:
        lines = each.fragment.text.split("\n")
        for stretch in each.ranges:
            assert 0 <= stretch.first <= stretch.stop <= len(lines)
            block = next((block for block in blocks(lines) if block.first <= stretch.stop < block.stop), None)
            if stretch.words:
                assert block is not None
                assert block.kind == "text"
                assert is_beginning(stretch.words, lines[stretch.stop])
            if block is None or stretch.stop == block.first:
                continue
            assert stretch.stop >= block.body + (not stretch.words), "a heading stands alone"
            if block.kind == "table":
                assert stretch.stop >= block.body + 3
            if block.kind == "fence":
                fence = fence_opening(lines[block.body])
                assert fence is not None
                assert closes_fence(stretch.fence, fence[1]) or closes_fence(lines[stretch.stop - 1], fence[1])
                assert stretch.stop >= block.body + 2


@law(600)
@given(contents, keeps, markers, st.integers(0, 1_200), st.integers(1, 200))
def test_cut_in_more_room_keeps_at_least_as_much(
    contents: list[str], keep: str, marker: str, room: int, more: int
) -> None:
    """Line by line, and of a line that is cut the more words."""
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
            line in added or any(other.startswith(line) for other in there) for line in shown_text(each).split("\n")
        )


@law(300)
@given(
    st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=9).map("\n\n".join).filter(str.strip),
    keeps,
    st.integers(0, 1_500),
)
def test_marker_never_stands_inside_a_fence(text: str, keep: str, room: int) -> None:
    """A reader who renders the document sees it as a line of text."""
    _, cut_text = cut_to(fragments_of([text.strip()], keep), room, "plain")
    open_ticks = ""
    for line in cut_text.split("\n"):
        if open_ticks:
            assert line != MARKER or "... [truncated]" in text
            open_ticks = "" if closes_fence(line, open_ticks) else open_ticks
        elif found := fence_opening(line):
            open_ticks = found[1]
    assert not open_ticks


@law(200)
@given(texts)
def test_blocks_hold_every_line_once(text: str) -> None:
    """In file order, without a gap."""
    lines = text.split("\n")
    found = [*blocks(lines)]
    assert [line for block in found for line in lines[block.first : block.stop]] == lines
    assert all(block.first <= block.body <= block.stop for block in found)


def test_default_profile_is_the_one_the_laws_speak_of() -> None:
    """A new layer has to be sorted into those of running text and those of ranked fragments."""
    ranked = {layer.id for layer in DEFAULT.layers if is_ranked(layer)}
    assert ranked | TEXT_LAYERS == {layer.id for layer in DEFAULT.layers}
    assert not ranked & TEXT_LAYERS


def is_ranked(layer: Layer) -> bool:
    """Whether a layer's fragments are chosen best first."""
    return layer.ranking.order == "best"
