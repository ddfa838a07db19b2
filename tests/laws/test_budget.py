"""Budgets hold, for every workspace, profile and budget (docs/architecture.md, Laws), on random ones."""

from collections.abc import Mapping

import pytest
import regex
from hypothesis import given

from contextasm.model import Document, Layer, Profile, TokenCounter
from contextasm.rendering.wording import token_parts
from contextasm.retrieval.retrieve import with_layers_for_topic
from contextasm.selection.tokens import ESTIMATE
from tests.laws.lines import TEXT_LAYERS, words_of_lines
from tests.workspaces import (
    DEFAULT,
    Content,
    Files,
    agent,
    budgets,
    build,
    codes,
    counters,
    limited,
    profiles,
    team,
    topics,
    workspaces,
)

formats = pytest.mark.parametrize("form", ["markdown", "xml"])


@formats
@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets, topic=topics)
def test_document_counted_anew_keeps_to_the_budget(
    counter: TokenCounter, form: str, files: Mapping[str, Content], profile: Profile, budget: int, topic: str
) -> None:
    """P25: unless the required layers alone exceed it: then these are all that is shown, and a problem says so."""
    context = build(files, profile, counter, budget=budget, topic=topic, format=form)
    assert context.tokens == counter.count(context.text)
    required = profile._replace(layers=tuple(layer for layer in profile.layers if layer.limits.required))
    least = build(files, required, counter, budget=10**9, format=form)
    if least.tokens > budget:
        assert context.text == least.text
    else:
        assert context.tokens <= budget
    assert ("over-budget" in codes(context)) == (least.tokens > budget)


@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets, topic=topics)
def test_no_layer_takes_more_than_its_limits(
    counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int, topic: str
) -> None:
    context = build(files, profile, counter, budget=budget, topic=topic)
    for layer, allowance in zip(with_layers_for_topic(profile, topic).layers, context.allowances, strict=True):
        assert allowance.layer == layer.id
        own = "".join(f"## {each.heading}\n{each.text}\n\n" for each in context.sections if each.layer == layer.id)
        if layer.limits.required:
            assert allowance.limit is None
            continue
        assert allowance.limit is not None
        assert allowance.used <= allowance.limit
        if counter is ESTIMATE:
            assert counter.count(own) == allowance.used
        share, most = layer.limits.share, layer.limits.max_tokens
        # `grow` lets a layer pass its share, or without one its tokens.
        assert most is None or (layer.limits.grow and share is None) or allowance.used <= most
        assert share is None or layer.limits.grow or allowance.used <= budget * share / 100 + 1


def test_report_never_says_that_a_layer_took_more_than_it_might() -> None:
    for budget in range(20, 200):
        context = build(agent() | team(GOALS="word " * 200), limited(L2={"share": 33.3}), budget=budget)
        assert all(each.limit is None or each.used <= each.limit for each in context.allowances), budget


@formats
@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets, topic=topics)
def test_required_layer_is_whole(
    form: str, counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int, topic: str
) -> None:
    """P26: every word of IDENTITY.md and INSTRUCTIONS.md at any budget; headings of their section's level move down."""
    context = build(files, profile, counter, budget=budget, topic=topic, format=form)
    whole = {each.heading: each.text for each in context.sections}
    for heading, name in (("Identity", "IDENTITY"), ("Instructions", "INSTRUCTIONS")):
        read = Files(files).read(f"agents/luna/{name}.md")
        assert isinstance(read, Document)
        shown = whole.get(heading, "")
        assert words_of_lines(shown) == words_of_lines(read.text)
        if not regex.search(r"^ {0,3}(#|=|-|`|~|<)|\t", read.text, regex.MULTILINE):
            assert shown == regex.sub(r"\A(?:[^\S\n]*\n)+", "", read.text).rstrip()


def test_default_profile_is_the_one_the_laws_speak_of() -> None:
    ranked = {layer.id for layer in DEFAULT.layers if is_ranked(layer)}
    assert ranked | TEXT_LAYERS == {layer.id for layer in DEFAULT.layers}
    assert not ranked & TEXT_LAYERS


def is_ranked(layer: Layer) -> bool:
    return layer.ranking.order == "best"


@given(counter=counters, files=workspaces(), profile=profiles(), budget=budgets, topic=topics)
def test_a_layer_has_one_number_of_tokens_everywhere(
    counter: TokenCounter, files: Mapping[str, Content], profile: Profile, budget: int, topic: str
) -> None:
    context = build(files, profile, counter, budget=budget, topic=topic)
    parts = token_parts(context)
    assert sum(parts.values()) == context.tokens
    assert {layer: tokens for layer, tokens in parts.items() if layer != "joints"} == {
        usage.layer: usage.used for usage in context.allowances if usage.used
    }
    for usage in context.allowances:
        sections = [f"## {each.heading}\n{each.text}\n\n" for each in context.sections if each.layer == usage.layer]
        assert usage.used == counter.tokens(sum(map(counter.units, sections)))
        own = [each.tokens for each in context.sections if each.layer == usage.layer]
        assert own == [counter.count(section) for section in sections]
        assert len(own) != 1 or own == [usage.used]
    wanted = {usage.layer: usage.wanted for usage in context.allowances}
    for problem in context.problems:
        if problem.code in {"starved", "no-room"}:
            assert f"needs {wanted[problem.path]} tokens" in problem.message
        if problem.code == "over-budget" and counter is ESTIMATE:
            assert f" take {context.tokens:,} tokens, more than the budget of {budget:,}," in problem.message
