"""Selection across layers (`select: across`): scores decide between the layers, within the limits of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.input.yaml_loader import load_yaml
from contextasm.config.profiles.loader import load_profile
from contextasm.model import Build, Context, ContextasmError, Layer, Limits, Overflow, Profile, Query, Ranking
from contextasm.model.profile import LayerDisplay
from contextasm.pipeline import assemble
from contextasm.selection.tokens import ESTIMATE
from tests.command import fill, inside
from tests.workspaces import Files, request

LINE = 9
"""Tokens of one line of a layer in these tests, about; a heading takes three."""


def layer(name: str, **limits: Any) -> Layer:
    """Entities of one file by their salience, a line each."""
    return Layer(
        name,
        (name.title(),),
        Query(("entities",), (f"graph/{name}.yaml",)),
        ranking=Ranking("best", (("salience", 1.0),)),
        limits=Limits(**limits),
        overflow=Overflow(("drop",)),
        display=LayerDisplay("- {name}"),
    )


def graph(name: str, saliences: list[float]) -> str:
    rows = (
        f"- {{name: {name} {number:02} {'word ' * 5}, salience: {each}}}\n" for number, each in enumerate(saliences)
    )
    return "".join(rows)


def selected(layers: dict[str, tuple[Layer, list[float]]], budget: int, select: str = "across") -> Context:
    files = {f"graph/{name}.yaml": graph(name, saliences) for name, (_, saliences) in layers.items()}
    profile = Profile("p", "", budget, "plain", tuple(own for own, _ in layers.values()), select=select)
    return assemble(Build(Files(files), profile, request(budget=budget), ESTIMATE, parse_yaml=load_yaml))


def scores(context: Context, *, shown: bool) -> list[float]:
    return sorted(dict(each.score)["total"] for each in context.decisions if bool(each.kept) == shown)


def used(context: Context) -> dict[str, int]:
    return {each.layer: each.kept for each in context.allowances}


HIGH, LOW = [0.9, 0.8, 0.7], [0.3, 0.2, 0.1]


def test_one_selection_over_all_sources_by_score_as_source_001_describes() -> None:
    layers = {"low": (layer("low"), LOW), "high": (layer("high"), HIGH)}
    by_layers, across = (selected(layers, 45, select) for select in ("layers", "across"))
    assert used(by_layers) == {"low": 3, "high": 1}
    assert used(across) == {"low": 1, "high": 3}
    assert [section.layer for section in across.sections] == ["low", "high"]
    assert max(scores(across, shown=False)) < min(scores(across, shown=True))


@given(
    low=st.lists(st.integers(0, 99), max_size=12),
    high=st.lists(st.integers(0, 99), max_size=12),
    budget=st.integers(10, 200),
)
def test_no_line_is_left_out_for_one_with_a_lower_score(low: list[int], high: list[int], budget: int) -> None:
    layers = {name: (layer(name), [each / 100 for each in own]) for name, own in (("aaaa", low), ("bbbb", high))}
    context = selected(layers, budget)
    assert context.tokens <= budget
    # The first line of a layer is larger than the others: it has the heading. The last one is smaller: without it, a
    # marker is shown.
    cut = {each.layer for each in context.decisions if not each.kept}
    if len([each for each in context.allowances if each.kept]) == 2:
        lowest = min(
            (dict(each.score)["total"] for each in context.decisions if each.kept and each.layer in cut), default=1
        )
        assert max(scores(context, shown=False), default=0) <= lowest
    again = selected(layers, budget)
    assert again == context


@pytest.mark.parametrize(
    ("low", "high", "kept"),
    [
        pytest.param({}, {"max_tokens": 25}, {"low": 2, "high": 2}, id="max_tokens"),
        pytest.param({}, {"share": 50.0}, {"low": 2, "high": 2}, id="share"),
        pytest.param({"reserve": 24}, {}, {"low": 2, "high": 2}, id="reserve"),
        pytest.param({"share": 50.0, "grow": True}, {"share": 50.0, "grow": True}, {"low": 2, "high": 2}, id="grow"),
        pytest.param({"required": True}, {}, {"low": 3, "high": 1}, id="required"),
    ],
)
def test_scores_decide_within_the_limits_of_each_layer(
    low: dict[str, Any], high: dict[str, Any], kept: dict[str, int]
) -> None:
    assert used(selected({"low": (layer("low", **low), LOW), "high": (layer("high", **high), HIGH)}, 48)) == kept


def test_room_above_the_shares_goes_to_the_best_scores_too() -> None:
    room = {"share": 30.0, "grow": True}
    layers = {
        "low": (layer("low", **room), LOW[:1]),
        "mid": (layer("mid", **room), [0.5] * 4),
        "high": (layer("high", **room), HIGH),
    }
    assert used(selected(layers, 70)) == {"low": 1, "mid": 2, "high": 3}


def test_the_receipt_says_that_a_score_decided(tmp_path: Path) -> None:
    profile = "extends: query\nselect: across\n"
    fields = f"text: {'words ' * 9}, intent: fix, applied: 9, succeeded: 9"
    rows = "".join(f"- {{name: Pattern {number}, {fields}}}\n" for number in range(9))
    files = {"p.yaml": profile, "patterns.yaml": rows, "graph/entities.yaml": graph("entity", [0.1] * 4)}
    folder = fill(tmp_path, {"ctxasm.yaml": "profile: p.yaml\n", **files})
    words = ("-w", folder, "--topic", "fix it", "-b", "120")
    decisions = json.loads(inside("explain", "--json", *words).out)["decisions"]
    limits = {(each["layer"], each["reason"].get("limit")) for each in decisions if each["outcome"] == "dropped"}
    assert limits == {("patterns", "score"), ("entities", "score")}
    table = inside("explain", *words).out
    assert "(score)" in table
    told = inside("build", *words, "-v").err
    assert "; scores decide between layers: entities, patterns" in told
    assert "shows nothing" in told
    assert "entities: shows nothing: it needs 53 tokens, and higher scores in other layers left" in told


def test_a_profile_in_which_nothing_is_selected_across_layers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("extends: brain\nselect: across\n")
    with pytest.raises(ContextasmError, match=r"p.yaml:2: select: fewer than two layers rank by score"):
        load_profile("./p.yaml", "tests", tmp_path)
