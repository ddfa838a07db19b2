"""Order and top: which fragments of a layer may enter, by similarity and by the whole score."""

from collections.abc import Sequence

import pytest

from contextasm.model import Fragment, FragmentDisplay, Layer, Location, Ranking, Score, Verdict, least_similarity
from contextasm.ranking.order import rank
from contextasm.selection.rooms import keep_top_k

BEST = 1.0
NEARLY = 0.71**3
OUT_OF_REACH = 0.69**3


def scored(similarity: float, importance: float) -> Score:
    return (("similarity", similarity), ("importance", importance))


def entering(scores: Sequence[Score], top: int, pinned: Sequence[int] = ()) -> list[int]:
    """The fragments that enter a layer, best first, by their positions in `scores`."""
    layer = Layer("L5", ranking=Ranking("best", (("similarity", 0.5), ("importance", 0.5)), top=top))
    fragments = [
        Fragment(
            str(number),
            Location("m.md", number + 1),
            "text",
            FragmentDisplay("Memories"),
            score=score,
            verdict=Verdict(pinned_by="pin" if number in pinned else ""),
        )
        for number, score in enumerate(scores)
    ]
    ranked = keep_top_k(rank(fragments, layer), layer.ranking.top)
    entered = [fragment for fragment in ranked if fragment.verdict.excluded is None]
    return [int(fragment.id) for fragment in sorted(entered, key=lambda fragment: fragment.display.place)]


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([(NEARLY, 0.9)], [1]),
        ([(OUT_OF_REACH, 1.0)], [0]),
        ([(0.9, 0.0), (NEARLY, 1.0), (OUT_OF_REACH, 1.0)], [2]),
    ],
)
def test_importance_decides_within_reach_alone(others: list[tuple[float, float]], expected: list[int]) -> None:
    assert entering([scored(BEST, 0.0), *(scored(*other) for other in others)], top=1) == expected


def test_the_most_similar_are_within_reach() -> None:
    scores = [scored(BEST, 0.0), scored(0.1, 0.2), scored(0.1, 1.0), scored(0.01, 1.0)]
    assert entering(scores, top=2) == [2, 0]
    assert entering(scores, top=3) == [2, 0, 1]
    assert entering(scores, top=0) == [2, 3, 0, 1]


def test_matches_out_of_reach_are_numbered_after_all_others() -> None:
    layer = Layer("L5", ranking=Ranking("best", (("similarity", 0.5), ("importance", 0.5)), top=1))
    pairs = [scored(BEST, 0.0), scored(OUT_OF_REACH, 1.0), scored(0.9, 0.0)]
    fragments = [
        Fragment(str(number), Location("m.md", number), "text", FragmentDisplay("Memories"), score=score)
        for number, score in enumerate(pairs)
    ]
    ranks = {
        fragment.id: dict(fragment.verdict.excluded.facts)["rank"]
        for fragment in keep_top_k(rank(fragments, layer), layer.ranking.top)
        if fragment.verdict.excluded
    }
    assert ranks == {"2": 2, "1": 3}


def test_what_has_no_similarity_is_in_reach() -> None:
    assert entering([(("importance", 0.1),), (("importance", 0.9),)], top=1) == [1]
    assert entering([scored(BEST, 0.0), scored(0.1, 1.0), ()], top=1, pinned=[2]) == [0, 2]


def test_least_similarity_of_few_matches_is_none() -> None:
    assert least_similarity([1.0, 0.1], top=3) == 0
    assert least_similarity([], top=3) == 0
    assert least_similarity([1.0, 0.1, 0.2], top=2) == 0.2


@pytest.mark.parametrize("order", ["given", "best", "steady"])
@pytest.mark.parametrize(("boost", "expected"), [(1.0, ["sure"]), (4.0, ["sure", "boosted"])])
def test_a_least_score_is_compared_with_the_total_in_any_order(order: str, boost: float, expected: list[str]) -> None:
    weights = (("similarity", 0.8), ("importance", 0.2))
    layer = Layer("L5", ranking=Ranking(order, weights, min_score=0.5))
    fragments = [
        Fragment(name, Location("m.md", line), name, FragmentDisplay("Memories"), score=score, verdict=verdict)
        for line, (name, score, verdict) in enumerate(
            [
                ("sure", scored(0.9, 0.0), Verdict()),
                ("unsure", scored(0.1, 1.0), Verdict()),
                ("boosted", scored(0.2, 0.0), Verdict(boost=boost)),
            ],
            1,
        )
    ]
    entered = {fragment.id for fragment in rank(fragments, layer) if fragment.verdict.excluded is None}
    assert entered == {*expected}
