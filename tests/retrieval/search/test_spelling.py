"""Words that are written alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from contextasm.retrieval.search.query_words import similar_words


def test_nearest_words_are_found_with_their_ratios() -> None:
    found = dict(similar_words("harbour", ["harbor", "labour", "arbor", "board"], 75))
    assert found == {
        "harbor": pytest.approx(1200 / 13),
        "labour": pytest.approx(1000 / 13),
        "arbor": pytest.approx(1000 / 12),
    }


WORDS = st.text("abcdé", min_size=1, max_size=9)


@given(WORDS, st.lists(WORDS, max_size=8), st.sampled_from((0, 50, 75, 80, 100)))
def test_ratios_are_those_of_rapidfuzz(word: str, candidates: list[str], cutoff: int) -> None:
    ratios = {candidate: fuzz.ratio(word, candidate) for candidate in candidates}
    assert dict(similar_words(word, candidates, cutoff)) == {
        candidate: ratio for candidate, ratio in ratios.items() if ratio >= cutoff
    }


def test_many_words_are_compared_like_few() -> None:
    few = [f"harb{number}" for number in range(20)]
    many = [*few, *(f"{number}" for number in range(4000))]
    assert dict(similar_words("harb7", many, 75)) == dict(similar_words("harb7", few, 75))
