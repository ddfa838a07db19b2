"""Similarity: which near-equal texts say the same, and which say the opposite."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.text.similarity import find_candidates, fold_text, is_same, similarity
from tests.tables import rows

FILLER = "when the release of the ledger service for the European region is prepared by the team in the big room"
"""Words behind a text that make the letters of two texts nearly equal."""


@pytest.mark.parametrize(("one", "other"), rows("search/opposites"), ids=str)
def test_texts_of_other_polarity_never_say_the_same(one: str, other: str) -> None:
    first, second = fold_text(f"{one} {FILLER}"), fold_text(f"{other} {FILLER}")
    assert find_candidates(first, [second]), "their letters are not alike enough to show anything"
    assert not is_same(first, second)
    assert similarity(first, second) == 0


@pytest.mark.parametrize(("one", "other"), rows("search/twins"), ids=str)
def test_texts_of_one_polarity_still_say_the_same(one: str, other: str) -> None:
    assert is_same(fold_text(f"{one} {FILLER}"), fold_text(f"{other} {FILLER}"))


@given(
    st.lists(st.sampled_from(FILLER.split()), min_size=12, max_size=40),
    st.sampled_from(["not", "never", "without", "cannot", "nicht", "nie", "ohne", "kein"]),
    st.integers(0, 40),
)
def test_law_a_negation_more_is_another_text(words: list[str], negation: str, place: int) -> None:
    negated = [*words[:place], negation, *words[place:]]
    assert not is_same(fold_text(" ".join(words)), fold_text(" ".join(negated)))
