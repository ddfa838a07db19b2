"""Coherence: the share of words that two texts have in common."""

from hypothesis import given
from hypothesis import strategies as st

from contextasm.text.similarity import common_share, words_of

WORDS = st.frozensets(st.sampled_from(("tide", "pier", "lamp", "fog", "gull", "net")))


def test_words_are_told_apart_without_case() -> None:
    assert words_of(["The pier, a PIER", "is-wet"]) == {"the", "pier", "is", "wet"}
    assert words_of([]) == frozenset()


@given(one=WORDS, other=WORDS)
def test_the_share_is_that_of_the_smaller_text(one: frozenset[str], other: frozenset[str]) -> None:
    share = common_share(one, other)
    assert 0 <= share <= 1
    assert share == common_share(other, one)
    assert (share == 1) == bool(one and other and (one <= other or other <= one))
    assert (share == 0) == (not one & other)
