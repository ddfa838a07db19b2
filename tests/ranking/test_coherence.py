"""Coherence as a part of a score: what it is, and what it weighs beside the other three parts."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import Fragment, FragmentDisplay, Layer, Location, Ranking, Reason
from contextasm.ranking.order import rank
from tests.command import fill, inside, refused

WEIGHTS = (("similarity", 0.4), ("recency", 0.2), ("credibility", 0.25), ("coherence", 0.15))


def fragment(name: str, text: str, similarity: float = 1.0) -> Fragment:
    score = (("similarity", similarity), ("recency", 0.25), ("credibility", 0.75))
    return Fragment(name, Location("m.md", 1), text, FragmentDisplay("Memories"), score=score)


def ranked(
    fragments: Sequence[Fragment], weights: Sequence[tuple[str, float]] = WEIGHTS
) -> dict[str, dict[str, float]]:
    layer = Layer("m", ranking=Ranking("best", tuple(weights)))
    return {each.id: dict(each.score) for each in rank(fragments, layer)}


def test_row_94_priority_is_the_sum_of_four_weighted_parts() -> None:
    fragments = [
        fragment("a", "the pier lamp burns", 0.5),
        fragment("b", "the pier net tears", 0.25),
        fragment("c", "gulls sleep", 1.0),
    ]
    parts = ranked(fragments)
    assert [parts[name]["coherence"] for name in "abc"] == [1, 1, 0]  # a and b share half of their words
    assert parts["a"]["total"] == pytest.approx(0.4 * 0.5 + 0.2 * 0.25 + 0.25 * 0.75 + 0.15 * 1, abs=1e-9)
    assert parts["b"]["total"] == pytest.approx(0.4 * 0.25 + 0.2 * 0.25 + 0.25 * 0.75 + 0.15 * 1, abs=1e-9)
    assert parts["c"]["total"] == pytest.approx(0.4 * 1 + 0.2 * 0.25 + 0.25 * 0.75, abs=1e-9)
    assert [*parts] == ["c", "a", "b"]


def test_row_94_overrides_must_add_up_to_one(tmp_path: Path) -> None:
    layers = "layers:\n  - {{id: L4, weights: {{similarity: 0.4, recency: 0.2, credibility: 0.25, {0}: {1}}}}}\n"
    root = fill(tmp_path, {"ctxasm.yaml": layers.format("coherence", 0.15)})
    assert inside("build", "--date", "2025-03-14", cwd=root).code == 0
    fill(tmp_path, {"ctxasm.yaml": layers.format("coherence", 0.25)})
    refused(inside("build", cwd=root), "the weights add up to 1.1")
    fill(tmp_path, {"ctxasm.yaml": layers.format("coherance", 0.15)})
    refused(inside("build", cwd=root), "did you mean coherence?")


def test_the_fragment_that_shares_most_words_with_the_others_has_one() -> None:
    parts = ranked([fragment("a", "pier lamp"), fragment("b", "pier fog"), fragment("c", "lamp net")])
    assert {name: each["coherence"] for name, each in parts.items()} == {"a": 1, "b": 0.5, "c": 0.5}


def test_an_only_candidate_has_one_and_fragments_without_common_words_have_none() -> None:
    assert ranked([fragment("a", "pier")])["a"]["coherence"] == 1
    parts = ranked([fragment("a", "pier"), fragment("b", "lamp")])
    assert {each["coherence"] for each in parts.values()} == {0}


def test_what_is_excluded_or_unscored_takes_no_part() -> None:
    excluded = fragment("x", "pier lamp fog").exclude(Reason("no-match"))
    unscored = fragment("y", "pier lamp fog")._replace(score=())
    parts = ranked([fragment("a", "pier"), fragment("b", "lamp"), excluded, unscored])
    assert "coherence" not in parts["x"]
    assert parts["y"] == {}
    assert parts["a"]["coherence"] == 0


def test_a_layer_that_does_not_weigh_it_has_scores_as_before() -> None:
    parts = ranked([fragment("a", "pier"), fragment("b", "pier")], (("similarity", 1.0),))
    assert parts["a"] == {"similarity": 1, "recency": 0.25, "credibility": 0.75, "total": 1}


@given(
    texts=st.lists(st.lists(st.sampled_from(("pier", "lamp", "fog", "net", "tide"))).map(" ".join), max_size=80),
    seed=st.randoms(use_true_random=False),
)
def test_coherence_is_a_share_and_depends_on_no_order(texts: list[str], seed: object) -> None:
    fragments = [fragment(str(number), text, number / 100) for number, text in enumerate(texts)]
    parts = ranked(fragments)
    assert all(0 <= each["coherence"] <= 1 for each in parts.values())
    shuffled = [*fragments]
    seed.shuffle(shuffled)  # type: ignore[attr-defined]
    assert ranked(shuffled) == parts
