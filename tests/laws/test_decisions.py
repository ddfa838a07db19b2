"""Decisions and sections agree with each other and with the files, on random workspaces."""

from collections import Counter
from collections.abc import Mapping
from unittest.mock import Mock

import regex
from hypothesis import assume, given
from hypothesis import strategies as st

from contextasm.model import OUTCOME, Build, Document, Profile, TokenCounter
from contextasm.pipeline import assemble
from contextasm.ranking.order import rank
from contextasm.rendering.formats import MARKER
from contextasm.rendering.wording import receipt
from contextasm.retrieval.retrieve import retrieve, with_layers_for_topic
from contextasm.selection.tokens import ESTIMATE
from tests.laws.lines import TEXT_LAYERS, is_beginning, lines_of, unmarked
from tests.workspaces import (
    Content,
    Files,
    agent,
    budgets,
    build,
    counters,
    limited,
    profiles,
    request,
    topics,
    workspaces,
)


@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets, topic=topics)
def test_every_fragment_found_has_exactly_one_decision(
    counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int, topic: str
) -> None:
    context = build(files, profile, counter, budget=budget, topic=topic)
    found = retrieve(Build(Files(files), profile, request(budget=budget, topic=topic), ESTIMATE))
    layers = with_layers_for_topic(profile, topic).layers
    ranked = [(layer.id, each.id) for layer in layers for each in rank(found[layer.id].fragments, layer)]
    assert [(each.layer, each.fragment) for each in context.decisions] == ranked
    assert len(set(ranked)) == len(ranked)


@given(
    files=workspaces(),
    profile=profiles(),
    budget=budgets,
    topic=topics,
    audience=st.sampled_from(("personal", "shared")),
)
def test_what_has_no_decision_is_in_exactly_one_count(
    files: Mapping[str, Content], profile: Profile, budget: int, topic: str, audience: str
) -> None:
    asked = Build(Files(files), profile, request(budget=budget, topic=topic, audience=audience), ESTIMATE)
    all_of_it = assemble(asked)
    nothing_stored = Mock(query=Mock(return_value=None))
    counted = assemble(asked._replace(memory_index=nothing_stored))
    assert all_of_it._replace(decisions=(), documents=()) == counted._replace(decisions=(), documents=())
    assert receipt(all_of_it) == receipt(counted)
    counts = [each for each in counted.decisions if each.reason.is_count]
    rest = Counter((each.layer, each.reason.code) for each in all_of_it.decisions)
    rest -= Counter((each.layer, each.reason.code) for each in counted.decisions if each not in counts)
    for each in counts:
        rest[each.layer, each.reason.code] -= int(dict(each.reason.facts)["count"])
    assert not any(rest.values())
    assert {*counted.decisions} - {*counts} <= {*all_of_it.decisions}
    assert not any(each.kept for each in counts)


@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets, topic=topics)
def test_decision_agrees_with_what_is_shown(
    counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int, topic: str
) -> None:
    context = build(files, profile, counter, budget=budget, topic=topic)
    folder = Files(files)
    for decision in context.decisions:
        first, last = decision.lines
        edges = [edge for span in decision.kept for edge in span]
        assert edges == sorted(edges)
        assert all(first <= edge <= last for edge in edges)
        assert len({*edges}) >= len(decision.kept)
        assert bool(decision.kept) == (decision.outcome in {"included", "truncated"})
        read = folder.read(decision.path)
        file_lines = read.whole.split("\n") if isinstance(read, Document) else []
        missing = {*range(first, last + 1)} - lines_of(decision.kept)
        # A line that made a heading of the one above it goes, and the heading stands for both.
        is_whole = bool(decision.kept) and all(not file_lines[line - 1].strip(" =-") for line in missing)
        assert is_whole == (decision.outcome == "included") or decision.outcome == "truncated"
        assert (decision.tokens_before is None) == (decision.outcome in {"excluded", "merged"})
        if counter is ESTIMATE:
            assert decision.tokens_after <= (decision.tokens_before or 0)
        assert (decision.tokens_after == 0) == (not decision.kept)
        if decision.lines != (0, 0):
            assert isinstance(read, Document)
            assert read.line <= first <= last <= read.line + read.text.count("\n")
    assert {each.reason.code for each in context.decisions} <= {*OUTCOME}
    for usage in context.allowances:
        own = [each for each in context.decisions if each.layer == usage.layer]
        assert (usage.considered, usage.kept) == (len(own), sum(bool(each.kept) for each in own))


@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets, topic=topics)
def test_section_has_the_marker_just_where_it_lacks_anything(
    counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int, topic: str
) -> None:
    context = build(files, profile, counter, budget=budget, topic=topic)
    found = retrieve(Build(Files(files), profile, request(topic=topic), ESTIMATE))
    title = {(layer, each.id): each.display.heading for layer, own in found.items() for each in own.fragments}
    for section in context.sections:
        own = [
            each
            for each in context.decisions
            if each.layer == section.layer and title[each.layer, each.fragment] == section.heading
        ]
        lacking = {each.outcome for each in own} & {"truncated", "dropped"}
        assert section.truncated == bool(lacking)
        assert not lacking or any(line.startswith(MARKER) for line in section.text.split("\n"))
        # A log that keeps its end has the marker above that.
        if "dropped" in lacking or any(each.outcome == "truncated" and each.layer != "L3" for each in own):
            assert section.text.rpartition("\n")[2].startswith(MARKER)
    assert context.truncated == any(each.outcome in {"truncated", "dropped"} for each in context.decisions)


@given(files=workspaces(), profile=profiles(), budget=budgets, topic=topics)
def test_text_that_is_shown_stands_in_a_file(
    files: Mapping[str, Content], profile: Profile, budget: int, topic: str
) -> None:
    context = build(files, profile, budget=budget, topic=topic)
    known = {unmarked(line) for each in context.documents for line in each.text.split("\n")}
    for section in context.sections:
        if section.layer not in TEXT_LAYERS:
            continue
        for line in section.text.split("\n"):
            added = line.startswith((MARKER, "### 2025-")) or bool(regex.fullmatch(r"\s*(`{3,}|~{3,})", line))
            shown = unmarked(line)
            assert added or shown in known or any(is_beginning(shown, each) for each in known), line


@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets, topic=topics)
def test_no_room_that_is_told_is_larger_than_the_budget(
    counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int, topic: str
) -> None:
    context = build(files, profile, counter, budget=budget, topic=topic)
    rooms = [fact for each in context.decisions for name, fact in each.reason.facts if name == "allowance"]
    assert all(int(room) <= budget for room in rooms)
    assert all(each.limit is None or each.limit <= budget for each in context.allowances)


@given(
    sizes=st.lists(st.integers(1, 60), min_size=2, max_size=8),
    most=st.integers(1, 200),
    budget=st.integers(20, 400),
    removed=st.integers(1, 3),
)
def test_what_ranks_later_changes_no_decision_on_what_ranks_earlier(
    sizes: list[int], most: int, budget: int, removed: int
) -> None:
    profile = limited(L5={"max_tokens": most, "overflow": ("drop",)})
    profile = profile._replace(layers=tuple(each for each in profile.layers if each.id in {"L1", "L5"}))
    lines = [f"- {'abcdefgh'[number] * 3} {'word ' * size}" for number, size in enumerate(sizes)]
    contexts = [
        build({**agent(), "agents/luna/memories/m.md": "\n".join(own)}, profile, budget=budget)
        for own in (lines, lines[removed:])  # of one day, the first memory of a file ranks last
    ]
    decided = [{each.fragment: (each.outcome, each.tokens_after) for each in own.decisions} for own in contexts]
    is_cut = [any(each.outcome == "dropped" for each in own.decisions) for own in contexts]
    assume(is_cut[0] == is_cut[1])  # else the marker takes room in one of them only
    assert decided[1].items() <= decided[0].items()
    assert len(decided[0]) == len(decided[1]) + min(removed, len(lines))
